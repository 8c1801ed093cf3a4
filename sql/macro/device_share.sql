-- Largest share of one device in work that consists of indivisible pieces, such as heads or experts; a share is at least one piece.
-- Without pieces (null or 0), the work is divided evenly.
CREATE MACRO device_share(pieces, device_count) AS
    COALESCE(
        CEIL(pieces / NULLIF(CAST(device_count AS DOUBLE), 0e0)) / NULLIF(CAST(pieces AS DOUBLE), 0e0),
        1e0 / NULLIF(CAST(device_count AS DOUBLE), 0e0)
    );
