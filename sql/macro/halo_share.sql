-- Share of the columns of a tile of input that are loaded, of a square kernel over a square image: overlapping windows share the rest.
-- A tile of all rows loads the image and nothing beyond its border.
CREATE MACRO halo_share(taps, tile_rows, tile_depth, row_count, image_share, stride, window_side) AS
    CASE
        WHEN taps > 1 AND tile_depth >= taps
            THEN LEAST(
                1e0,
                CASE
                    WHEN tile_rows >= row_count THEN image_share
                    ELSE POWER((SQRT(CAST(tile_rows AS DOUBLE)) - 1e0) * stride + window_side, 2) / NULLIF(CAST(tile_rows AS DOUBLE) * taps, 0e0)
                END
            )
        ELSE 1e0
    END;
