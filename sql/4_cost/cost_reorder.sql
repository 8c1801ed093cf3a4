-- Data that a library reorders at every call, so that it is written and read back: weights and images, results preset to a bias,
-- weights whose rows evict one another from a processor's cache, and images of grouped convolutions that a GPU library cannot use
-- in channels-last (`convolution_call`, `linear_call`).
-- Term: reorder, exposed, reorder_byte, dram_byte_per_s, reorder_fraction, reorder_s, reorder_energy_j
-- Grain: run, shape_id, hardware
CREATE VIEW cost_reorder AS
SELECT
    *,
    -- Bytes that reordering reads and writes. [byte]
    CASE
        WHEN reorder_fraction IS NULL THEN 0e0
        WHEN family = 'gpu' THEN converted_byte
        WHEN family <> 'cpu' THEN 0e0
        WHEN layout = 'aliased' THEN linear_reorder_byte + weight_byte
        ELSE convolution_reorder_byte + linear_reorder_byte
    END AS reorder_byte,
    -- Time of the reordering: `reorder_byte` divided by peak bandwidth and efficiency; 0 without reordering. [s]
    COALESCE(reorder_byte / NULLIF(dram_byte_per_s * reorder_fraction, 0e0), 0e0) AS reorder_s,
    -- Energy to move `reorder_byte`; null when a coefficient is missing. [J]
    reorder_byte * dram_j_per_byte AS reorder_energy_j
FROM cost_team
