-- Share of a tile's input columns that are loaded, for a square kernel over a square image: overlapping windows share the rest. A
-- tile with all rows loads exactly the image; 1 for other products.
CREATE MACRO halo_share(taps, image, tile_rows, tile_depth, m, k, gemm_count) AS
    CASE
        WHEN taps > 1 AND tile_depth >= taps
            THEN LEAST(
                1e0,
                CASE
                    WHEN tile_rows >= m THEN image / NULLIF(CAST(m AS DOUBLE) * k * gemm_count, 0e0)
                    -- Ratio of the pixels in the tile's windows to the pixels of separate windows, along one side.
                    ELSE POWER(
                        (SQRT(CAST(tile_rows AS DOUBLE)) - 1e0) * SQRT(image / NULLIF(CAST(m AS DOUBLE) * k * gemm_count, 0e0)) + 1e0, 2
                    ) / NULLIF(CAST(tile_rows AS DOUBLE), 0e0)
                END
            )
        ELSE 1e0
    END;
