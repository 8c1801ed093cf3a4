-- Share of one device (`device_share`) in work of which a fraction consists of fewer pieces, such as key-value heads.
CREATE MACRO split_share(pieces, fewer_pieces, fewer_fraction, device_count) AS
    device_share(pieces, device_count)
    + COALESCE(fewer_fraction * (device_share(COALESCE(fewer_pieces, pieces), device_count) - device_share(pieces, device_count)), 0e0);
