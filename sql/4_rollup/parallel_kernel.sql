-- How every kernel of a run behaves when the model is split over several parts. Tensor parallel pairs the
-- kernels that multiply by weights along the depth of the graph: the first of a pair is split by columns,
-- the next by rows, after which an all-reduce adds the partial results (Shoeybi et al. 2019, Megatron-LM);
-- everything from the first to the second is split with them, the rest is done by every part. A
-- normalization over features needs whole rows, so pairs do not reach over one, nor into or out of a
-- module of experts; a first without a second is followed by an all-gather. Partial results of experts are
-- added up before those of a token are, so that all-reduce is an upper bound. Expert parallel splits the
-- kernels of modules named as experts, but for those every token passes.
-- Grain: model_id, scenario_id, hardware_id, subgraph_id
CREATE VIEW parallel_kernel (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Kernel.
    subgraph_id,
    -- Place in the order of execution.
    position,
    -- What it adds to the run. [s]
    latency_s,
    -- Part of it in which the device works. [s]
    busy_s,
    -- Host time to issue it. [s]
    host_issue_s,
    -- Share of it that tensor parallel splits: 1 or 0.
    split_share,
    -- Bytes an all-reduce after it adds up in tensor parallel; 0 without one. [byte]
    all_reduce_byte,
    -- Bytes an all-gather after it collects in tensor parallel: the result of a pair without a second; else 0. [byte]
    all_gather_byte,
    -- Share of it that expert parallel splits: 1 or 0.
    expert_share,
    -- Bytes expert parallel sends to the experts before it or back after it; 0 elsewhere. [byte]
    all_to_all_byte,
    -- Weights it needs in memory, however many of them it reads. [byte]
    weight_byte,
    -- Time of the run up to its middle. [s]
    middle_s,
    -- Time of the whole run. [s]
    model_latency_s
) AS
WITH barriers AS (
    SELECT DISTINCT so.model_id, so.backend, so.subgraph_id
    FROM subgraph_operator AS so
    INNER JOIN operator AS o ON o.model_id = so.model_id AND o.operator_id = so.operator_id
    INNER JOIN module AS md ON md.model_id = o.model_id AND md.module_id = o.module_id
    WHERE
        o.operator_class = 'norm'
        OR (o.operator_class = 'reduction' AND md.class_name LIKE '%Norm%')
),

held_weights AS (
    SELECT
        r.model_id,
        r.scenario_id,
        st.subgraph_id,
        SUM(z.elements * p.bits / 8e0) AS weight_byte
    FROM run AS r
    INNER JOIN subgraph_tensor AS st
        ON st.model_id = r.model_id AND st.backend = r.backend AND st.role = 'weight' AND st.direction = 'read'
    INNER JOIN tensor_size AS z
        ON z.model_id = r.model_id AND z.scenario_id = r.scenario_id AND z.tensor_id = st.tensor_id
    INNER JOIN tensor_precision AS tp
        ON tp.model_id = r.model_id AND tp.policy = r.policy AND tp.tensor_id = st.tensor_id
    INNER JOIN precision AS p ON p.precision = tp.precision
    GROUP BY r.model_id, r.scenario_id, st.subgraph_id
),

weighted_kernels AS (
    SELECT
        k.model_id,
        k.scenario_id,
        k.hardware_id,
        k.subgraph_id,
        k.position,
        k.latency_s,
        k.latency_s - k.overhead_s AS busy_s,
        k.host_issue_s,
        -- That of its product: what is fused behind one may read a kernel as deep, as in SiLU(gate) * up.
        o.stage,
        COALESCE(h.weight_byte, 0e0) AS weight_byte,
        COALESCE(w.input_byte, 0e0) AS input_byte,
        COALESCE(w.output_byte, 0e0) AS output_byte,
        CASE
            WHEN w.weight_byte > 0e0 AND k.macs > 0e0 AND k.kernel_class <> 'depthwise_conv' THEN 1e0 ELSE 0e0
        END AS is_weighted,
        CASE WHEN n.subgraph_id IS NULL THEN 0e0 ELSE 1e0 END AS is_barrier,
        CASE
            WHEN md.path LIKE '%expert%' AND md.path NOT LIKE '%shared_expert%' THEN 1e0 ELSE 0e0
        END AS expert_share
    FROM kernel_latency AS k
    INNER JOIN run AS r ON r.model_id = k.model_id AND r.scenario_id = k.scenario_id
    INNER JOIN subgraph_operator AS so
        ON so.model_id = k.model_id AND so.backend = r.backend AND so.operator_id = k.anchor_operator_id
    INNER JOIN subgraph AS s
        ON s.model_id = so.model_id AND s.backend = so.backend AND s.subgraph_id = so.subgraph_id
    INNER JOIN operator AS o ON o.model_id = k.model_id AND o.operator_id = k.anchor_operator_id
    INNER JOIN module AS md ON md.model_id = o.model_id AND md.module_id = o.module_id
    LEFT JOIN barriers AS n
        ON n.model_id = s.model_id AND n.backend = s.backend AND n.subgraph_id = s.subgraph_id
    LEFT JOIN kernel_work AS w
        ON w.model_id = k.model_id AND w.scenario_id = k.scenario_id AND w.subgraph_id = k.subgraph_id
    LEFT JOIN held_weights AS h
        ON h.model_id = k.model_id AND h.scenario_id = k.scenario_id AND h.subgraph_id = k.subgraph_id
),

regions AS (
    SELECT
        *,
        SUM(is_barrier) OVER (
            PARTITION BY model_id, scenario_id, hardware_id ORDER BY stage
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS region,
        CASE
            WHEN is_weighted = 1e0
                AND ROW_NUMBER() OVER (
                    PARTITION BY model_id, scenario_id, hardware_id, expert_share, stage
                    ORDER BY is_weighted DESC, position, subgraph_id
                ) = 1
                THEN 1e0
            ELSE 0e0
        END AS opens_stage,
        SUM(latency_s) OVER (
            PARTITION BY model_id, scenario_id, hardware_id ORDER BY position, subgraph_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) - 0.5e0 * latency_s AS middle_s,
        SUM(latency_s) OVER (PARTITION BY model_id, scenario_id, hardware_id) AS model_latency_s
    FROM weighted_kernels
),

ranked_stages AS (
    SELECT
        *,
        SUM(opens_stage) OVER (
            PARTITION BY model_id, scenario_id, hardware_id, region, expert_share ORDER BY stage
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS weighted_rank,
        SUM(opens_stage) OVER (PARTITION BY model_id, scenario_id, hardware_id, region, expert_share) AS last_rank
    FROM regions
),

placed_kernels AS (
    SELECT
        *,
        CASE
            WHEN weighted_rank = 0e0 THEN 'whole'
            WHEN weighted_rank = 2e0 * FLOOR(weighted_rank / 2e0)
                THEN CASE WHEN is_weighted = 1e0 THEN 'second' ELSE 'whole' END
            WHEN weighted_rank < last_rank THEN 'first'
            WHEN is_weighted = 1e0 THEN 'alone'
            ELSE 'whole'
        END AS place
    FROM ranked_stages
)

SELECT
    model_id,
    scenario_id,
    hardware_id,
    subgraph_id,
    position,
    latency_s,
    busy_s,
    host_issue_s,
    CASE WHEN place = 'whole' THEN 0e0 ELSE 1e0 END AS split_share,
    CASE WHEN place = 'second' THEN output_byte ELSE 0e0 END AS all_reduce_byte,
    CASE WHEN place = 'alone' THEN output_byte ELSE 0e0 END AS all_gather_byte,
    expert_share,
    CASE
        WHEN expert_share = 0e0 THEN 0e0
        WHEN place = 'second' THEN output_byte
        WHEN opens_stage = 1e0 THEN input_byte
        ELSE 0e0
    END AS all_to_all_byte,
    weight_byte,
    middle_s,
    model_latency_s
FROM placed_kernels
