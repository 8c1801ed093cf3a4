-- How every kernel of a run behaves when the model is split over several parts, whichever they are. Tensor parallel pairs the
-- kernels that multiply by weights along the depth of the graph: the first of a pair is split by columns, the next by rows,
-- after which an all-reduce adds the partial results (Shoeybi et al. 2019, Megatron-LM); everything from the first to the
-- second is split with them, the rest is done by every part. A normalization over features needs whole rows, so pairs do not
-- reach over one, nor into or out of a module of experts; a first without a second is followed by an all-gather. Partial
-- results of experts are added up before those of a token are, so that all-reduce is an upper bound. Expert parallel splits
-- the kernels of modules named as experts, but for those every token passes.
-- Grain: model, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE TABLE split_kernel AS
WITH barriers AS (
    SELECT DISTINCT k.model, k.backend, k.kernel_id
    FROM kernel_operator AS k
    INNER JOIN operator AS o ON o.model = k.model AND o.operator_id = k.operator_id
    INNER JOIN module AS d ON d.model = o.model AND d.module_id = o.module_id
    WHERE o.operator_class = 'norm' OR (o.operator_class = 'reduction' AND d.class_name LIKE '%Norm%')
),

weighted_kernels AS (
    SELECT
        k.model,
        k.backend,
        k.precision,
        k.batch,
        k.sequence,
        k.scenario_id,
        k.kernel_id,
        k.position,
        -- That of its product: what is fused behind one may read a kernel as deep, as in SiLU(gate) * up.
        o.stage,
        COALESCE(h.held_byte, 0e0) AS weight_byte,
        c.crossing_byte,
        s.input_byte,
        s.output_byte,
        s.weight_byte > 0e0 AND s.macs > 0e0 AND s.kernel_class <> 'depthwise_conv' AS is_weighted,
        n.kernel_id IS NOT NULL AS is_barrier,
        d.path LIKE '%expert%' AND d.path NOT LIKE '%shared_expert%' AS is_expert
    FROM run_kernel AS k
    INNER JOIN shape AS s
        ON s.model = k.model AND s.backend = k.backend AND s.precision = k.precision AND s.batch = k.batch
        AND s.sequence = k.sequence AND s.scenario_id = k.scenario_id AND s.shape_id = k.shape_id
    INNER JOIN operator AS o ON o.model = k.model AND o.operator_id = k.anchor_operator_id
    INNER JOIN module AS d ON d.model = o.model AND d.module_id = o.module_id
    LEFT JOIN barriers AS n ON n.model = k.model AND n.backend = k.backend AND n.kernel_id = k.fused_kernel_id
    LEFT JOIN held_weight AS h ON h.model = k.model AND h.scenario_id = k.scenario_id AND h.kernel_id = k.kernel_id
    LEFT JOIN cut_byte AS c ON c.model = k.model AND c.scenario_id = k.scenario_id AND c.kernel_id = k.kernel_id
),

-- Runs whose kernels are weighted, barriers and of experts alike are paired alike: those of the first of them are ranked.
run_patterns AS (
    SELECT
        model,
        scenario_id,
        BIT_XOR(HASH(kernel_id, position, stage, is_weighted, is_barrier, is_expert)) AS pattern
    FROM weighted_kernels
    GROUP BY model, scenario_id
),

first_runs AS (
    SELECT model, scenario_id, MIN(scenario_id) OVER (PARTITION BY model, pattern) AS first_scenario_id
    FROM run_patterns
),

regions AS (
    SELECT
        k.model,
        k.scenario_id,
        k.kernel_id,
        k.stage,
        k.is_weighted,
        k.is_expert,
        SUM(CASE WHEN k.is_barrier THEN 1 ELSE 0 END) OVER (
            PARTITION BY k.model, k.scenario_id ORDER BY k.stage RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS region,
        k.is_weighted AND ROW_NUMBER() OVER (
            PARTITION BY k.model, k.scenario_id, k.is_expert, k.stage ORDER BY k.is_weighted DESC, k.position
        ) = 1 AS opens_stage
    FROM weighted_kernels AS k
    INNER JOIN first_runs AS r
        ON r.model = k.model AND r.scenario_id = k.scenario_id AND r.first_scenario_id = k.scenario_id
),

ranked_stages AS (
    SELECT
        *,
        SUM(CASE WHEN opens_stage THEN 1 ELSE 0 END) OVER (
            PARTITION BY model, scenario_id, region, is_expert ORDER BY stage
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS weighted_rank,
        SUM(CASE WHEN opens_stage THEN 1 ELSE 0 END) OVER (PARTITION BY model, scenario_id, region, is_expert) AS last_rank
    FROM regions
),

paired_kernels AS (
    SELECT
        *,
        CASE
            WHEN weighted_rank = 0 THEN 'whole'
            WHEN MOD(weighted_rank, 2) = 0 THEN CASE WHEN is_weighted THEN 'second' ELSE 'whole' END
            WHEN weighted_rank < last_rank THEN 'first'
            WHEN is_weighted THEN 'alone'
            ELSE 'whole'
        END AS split
    FROM ranked_stages
)

SELECT
    k.model,
    k.backend,
    k.precision,
    k.batch,
    k.sequence,
    k.scenario_id,
    k.kernel_id,
    -- True when tensor parallel splits it.
    p.split <> 'whole' AS is_split,
    -- Bytes an all-reduce after it adds up in tensor parallel; 0 without one. [byte]
    CASE WHEN p.split = 'second' THEN k.output_byte ELSE 0e0 END AS all_reduce_byte,
    -- Bytes an all-gather after it collects in tensor parallel: the result of a pair without a second; else 0. [byte]
    CASE WHEN p.split = 'alone' THEN k.output_byte ELSE 0e0 END AS all_gather_byte,
    -- True when expert parallel splits it.
    k.is_expert,
    -- Bytes expert parallel sends to the experts before it or back after it; 0 elsewhere. [byte]
    CASE
        WHEN NOT k.is_expert THEN 0e0
        WHEN p.split = 'second' THEN k.output_byte
        WHEN p.opens_stage THEN k.input_byte
        ELSE 0e0
    END AS all_to_all_byte,
    -- Weights it needs in memory, however many of them it reads. [byte]
    k.weight_byte,
    -- Bytes that cross a cut of the run after it (`cut_byte`); null after a kernel that the backend inserts. [byte]
    k.crossing_byte
FROM weighted_kernels AS k
INNER JOIN first_runs AS r ON r.model = k.model AND r.scenario_id = k.scenario_id
INNER JOIN paired_kernels AS p
    ON p.model = r.model AND p.scenario_id = r.first_scenario_id AND p.kernel_id = k.kernel_id
