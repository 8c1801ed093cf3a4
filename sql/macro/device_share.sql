-- Largest share that one device gets of work in indivisible pieces such as heads or experts: at least one piece. Without pieces (null
-- or 0) the work is divided evenly.
CREATE MACRO device_share(pieces, device_count) AS
    COALESCE(
        CEIL(pieces / NULLIF(CAST(device_count AS DOUBLE), 0e0)) / NULLIF(CAST(pieces AS DOUBLE), 0e0),
        1e0 / NULLIF(CAST(device_count AS DOUBLE), 0e0)
    );
