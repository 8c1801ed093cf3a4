-- Classes of batch size by which `prediction_band` separates errors: a small batch leaves units idle that a large one fills.
-- Grain: batch_class
CREATE VIEW batch_class AS
SELECT
    -- Range of the number of samples: `1`, `2-8`, `9-64` or `>64`.
    '1' AS batch_class,
    -- Smallest batch of the class.
    CAST(1 AS BIGINT) AS from_batch,
    -- Largest batch of the class; null without a limit.
    CAST(1 AS BIGINT) AS to_batch
UNION ALL
SELECT '2-8' AS batch_class, CAST(2 AS BIGINT) AS from_batch, CAST(8 AS BIGINT) AS to_batch
UNION ALL
SELECT '9-64' AS batch_class, CAST(9 AS BIGINT) AS from_batch, CAST(64 AS BIGINT) AS to_batch
UNION ALL
SELECT '>64' AS batch_class, CAST(65 AS BIGINT) AS from_batch, CAST(NULL AS BIGINT) AS to_batch
