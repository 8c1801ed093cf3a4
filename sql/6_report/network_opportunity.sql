-- Changes of the network itself that the kernels of a target suggest, each with the most that it can save per sample: copies between
-- layouts and concatenations, kernels that wait for the host and could merge or be captured in a graph, normalizations in wide formats
-- where products take narrow ones, and products whose width is not a multiple of 8. The savings of two changes can overlap.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, change
CREATE VIEW network_opportunity AS
WITH changes AS (
    SELECT 'copies' AS change
    UNION ALL
    SELECT 'small kernels' AS change
    UNION ALL
    SELECT 'wide normalizations' AS change
    UNION ALL
    SELECT 'widths' AS change
),

shape_widths AS (
    SELECT run, shape_id, MAX(n) AS width
    FROM shape_step
    GROUP BY run, shape_id
),

known_kernels AS (
    SELECT
        k.*,
        c.is_matrix,
        c.is_normalizing,
        b.bits,
        w.width,
        8e0 * CEIL(w.width / 8e0) AS even_width,
        MIN(CASE WHEN c.is_matrix THEN b.bits END) OVER (
            PARTITION BY k.model, k.hardware, k.backend, k.precision, k.batch, k.sequence, k.scenario_id
        ) AS product_bits
    FROM kernel_time AS k
    INNER JOIN operator_class AS c ON c.operator_class = k.kernel_class
    INNER JOIN operator_precision AS p
        ON p.model = k.model AND p.policy = k.precision AND p.operator_id = k.anchor_operator_id
    INNER JOIN precision AS b ON b.precision = p.precision
    LEFT JOIN shape_widths AS w
        ON w.run.model = k.model AND w.run.backend = k.backend AND w.run.precision = k.precision AND w.run.batch = k.batch
        AND w.run.sequence = k.sequence AND w.run.scenario_id = k.scenario_id AND w.shape_id = k.shape_id
),

saved_shares AS (
    SELECT
        k.*,
        a.change,
        CASE a.change
            WHEN 'copies' THEN CASE WHEN k.kernel_class = 'copy' THEN 1e0 ELSE 0e0 END
            WHEN 'small kernels' THEN CASE WHEN k.bottleneck = 'overhead' THEN k.overhead_s / NULLIF(k.latency_s, 0e0) ELSE 0e0 END
            WHEN 'wide normalizations'
                THEN CASE WHEN k.is_normalizing AND k.bits > k.product_bits THEN 1e0 - k.product_bits / NULLIF(k.bits, 0e0) ELSE 0e0 END
            ELSE CASE WHEN k.is_matrix AND k.matrix_ideal_s > 0e0 AND k.width > 8e0 THEN 1e0 - k.width / NULLIF(k.even_width, 0e0) ELSE 0e0 END
        END AS saved_share
    FROM known_kernels AS k
    CROSS JOIN changes AS a
),

savings AS (
    SELECT
        model,
        hardware,
        backend,
        precision,
        batch,
        sequence,
        scenario_id,
        change,
        SUM(CASE WHEN saved_share > 0e0 THEN 1 ELSE 0 END) AS kernel_count,
        SUM(latency_s) + MAX(run_call_s) AS run_s,
        SUM(energy_j) + MAX(static_w * run_call_s) + CASE WHEN COUNT(*) = COUNT(energy_j) THEN 0e0 END AS run_j,
        SUM(saved_share * latency_s) AS saved_s,
        -- Waiting for the host costs static energy alone.
        SUM(saved_share * CASE WHEN change = 'small kernels' THEN static_energy_j ELSE energy_j END)
        + CASE WHEN COUNT(*) = COUNT(energy_j) THEN 0e0 END AS saved_j
    FROM saved_shares
    GROUP BY model, hardware, backend, precision, batch, sequence, scenario_id, change
)

SELECT
    s.model,
    s.hardware,
    s.backend,
    s.precision,
    s.batch,
    s.sequence,
    s.scenario_id,
    -- Property of the network: `copies`, `small kernels`, `wide normalizations` or `widths`.
    s.change,
    -- Number of kernels that have this property.
    CAST(s.kernel_count AS BIGINT) AS kernel_count,
    -- Time of one sample before the change. [s]
    s.run_s / NULLIF(s.batch, 0) AS sample_s,
    -- Most time that the change saves per sample. [s]
    s.saved_s / NULLIF(s.batch, 0) AS saved_s,
    -- Share of the sample's time that the change saves at most.
    s.saved_s / NULLIF(s.run_s, 0e0) AS saved_time_fraction,
    -- Most energy that the change saves per sample; null when a coefficient is missing. [J]
    s.saved_j / NULLIF(s.batch, 0) AS saved_j,
    -- Share of the sample's energy that the change saves at most.
    s.saved_j / NULLIF(s.run_j, 0e0) AS saved_energy_fraction,
    -- Change in words.
    CASE s.change
        WHEN 'copies' THEN 'keep one memory format, and write results in place of concatenating them'
        WHEN 'small kernels' THEN 'merge kernels that wait for the host, or capture a graph of them'
        WHEN 'wide normalizations' THEN 'normalize in the format of the products'
        ELSE 'take widths that are multiples of 8: the padding does work too'
    END AS advice
FROM savings AS s
WHERE s.saved_s > 0e0
