-- The same of what comes in fewer pieces in part, as heads of keys are fewer than those of queries.
CREATE MACRO split_share(pieces, fewer_pieces, fewer_fraction, device_count) AS
    device_share(pieces, device_count)
    + COALESCE(fewer_fraction * (device_share(COALESCE(fewer_pieces, pieces), device_count) - device_share(pieces, device_count)), 0e0);
