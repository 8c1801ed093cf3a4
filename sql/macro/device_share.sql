-- Share of what comes in pieces that no device shares, such as heads or experts, of the device that has most of them: at least one
-- whole piece. Without pieces (null or 0) it is divided evenly.
CREATE MACRO device_share(pieces, device_count) AS
    COALESCE(
        CEIL(pieces / NULLIF(CAST(device_count AS DOUBLE), 0e0)) / NULLIF(CAST(pieces AS DOUBLE), 0e0),
        1e0 / NULLIF(CAST(device_count AS DOUBLE), 0e0)
    );
