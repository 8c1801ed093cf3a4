-- Bytes that a library writes and reads again at every call: weights and images in its own order, results preset to a bias, weights
-- with rows that evict one another on a processor, grouped images that a GPU library cannot take channels-last (`convolution_call`,
-- `linear_call`).
-- Term: reorder, exposed, reorder_byte, dram_byte_per_s, reorder_fraction, reorder_s, reorder_energy_j
-- Grain: run, shape_id, hardware
CREATE VIEW cost_reorder AS
SELECT
    *,
    -- Written and read again. [byte]
    CASE
        WHEN reorder_fraction IS NULL THEN 0e0
        WHEN family = 'gpu' THEN converted_byte
        WHEN family <> 'cpu' THEN 0e0
        WHEN layout = 'aliased' THEN linear_reorder_byte + weight_byte
        ELSE convolution_reorder_byte + linear_reorder_byte
    END AS reorder_byte,
    -- Time of it: reorder_byte over peak bandwidth and its efficiency; 0 where operands are used as they lie. [s]
    COALESCE(reorder_byte / NULLIF(dram_byte_per_s * reorder_fraction, 0e0), 0e0) AS reorder_s,
    -- Energy of it; null when a coefficient is missing. [J]
    reorder_byte * dram_j_per_byte AS reorder_energy_j
FROM cost_team
