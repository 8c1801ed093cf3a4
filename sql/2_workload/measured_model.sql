-- Ingested model that each measurement belongs to, found by the source's name (with the resolution if it differs from the source's
-- default) or by the model's name. A model whose number of parameters differs is refused, because the measured network is another
-- one of the same name (for instance re-parameterized for inference). The tolerance is the rounding to two decimals of a million
-- (timm's result files). The view also tells the precision policy of each measured run.
-- Grain: measurement_id
CREATE VIEW measured_model AS
WITH named_models AS (
    SELECT model, resolution, parameter_count, source AS model_key, TRUE AS is_source FROM model
    UNION ALL
    SELECT model, resolution, parameter_count, model AS model_key, FALSE AS is_source FROM model WHERE model <> source
),

candidates AS (
    SELECT
        x.measurement_id,
        COALESCE(v.followed_policy, t.precision, x.precision) AS precision,
        m.model,
        COALESCE(ABS(x.parameter_count - m.parameter_count) <= 5e3 + 5e-3 * m.parameter_count, TRUE) AS is_same
    FROM measurement AS x
    LEFT JOIN named_models AS m
        ON m.model_key = x.model_source AND (NOT m.is_source OR x.resolution IS NULL OR x.resolution = m.resolution)
    LEFT JOIN policy_version AS v ON v.policy = x.precision AND v.software = x.software
    LEFT JOIN part_support AS t
        ON x.precision = 'fp32' AND t.hardware = x.hardware AND t.backend = x.backend AND t.precision = t.default_precision
)

SELECT
    measurement_id,
    -- Ingested model; the first by name if several match, null if no model matches.
    COALESCE(MIN(CASE WHEN is_same THEN model END), MIN(model)) AS model,
    -- Result of the search: `matched`, `refused` if the numbers of parameters differ, or `none` if no ingested model has the name.
    CASE
        WHEN COUNT(model) = 0 THEN 'none'
        WHEN COUNT(CASE WHEN is_same THEN model END) = 0 THEN 'refused'
        ELSE 'matched'
    END AS match,
    -- Precision policy of the run: that of its version of the framework; for `fp32`, the one in which its backend runs single precision
    -- on the part by default.
    precision
FROM candidates
GROUP BY measurement_id, precision
