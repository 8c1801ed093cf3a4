-- Data that a library reorders at every call. It is written and read back. On a processor a library reorders weights and images,
-- presets results to a bias, and copies weights whose rows evict one another from the cache. On a GPU it converts the images of
-- grouped convolutions in channels-last, and those of convolutions in nchw (`convolution_call`, `linear_call`).
-- Term: reorder, exposed, reorder_byte, dram_byte_per_s, reorder_fraction, reorder_s, reorder_energy_j
-- Grain: run, shape_id, hardware
CREATE VIEW cost_reorder AS
WITH converted_shapes AS (
    SELECT *, CASE WHEN reads_channels_last THEN nchw_elements ELSE 0e0 END AS flying_elements
    FROM cost_team
),

reordered_shapes AS (
    SELECT
        *,
        CASE
            WHEN reorder_fraction IS NULL THEN 0e0
            WHEN family = 'gpu' THEN converted_byte + CASE WHEN flying_elements > 0e0 THEN nchw_byte ELSE 0e0 END
            WHEN family <> 'cpu' THEN 0e0
            WHEN layout = 'aliased' THEN linear_reorder_byte + weight_byte
            ELSE convolution_reorder_byte + linear_reorder_byte
        END AS reorder_byte
    FROM converted_shapes
)

SELECT
    * EXCLUDE (flying_elements, reorder_byte),
    -- Bytes that reordering reads and writes. [byte]
    reorder_byte,
    -- Time of the reordering: `reorder_byte` divided by peak bandwidth and efficiency, or for a conversion from nchw the time of its
    -- loads in flight and the gaps of its three kernels; 0 without reordering. [s]
    GREATEST(
        COALESCE(reorder_byte / NULLIF(dram_byte_per_s * reorder_fraction, 0e0), 0e0),
        COALESCE(flying_elements * element_s / NULLIF(flight_fraction, 0e0), 0e0)
    ) + CASE WHEN flying_elements > 0e0 THEN 3e0 * kernel_gap_s ELSE 0e0 END AS reorder_s,
    -- Energy to move `reorder_byte`; null when a coefficient is missing. [J]
    reorder_byte * dram_j_per_byte AS reorder_energy_j
FROM reordered_shapes
