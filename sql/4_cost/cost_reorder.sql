-- Bytes that a library writes and reads again at every call: reordered weights and images, results preset to a bias, weights with
-- rows that evict one another on a processor, and grouped images that a GPU library cannot use in channels-last
-- (`convolution_call`, `linear_call`).
-- Term: reorder, exposed, reorder_byte, dram_byte_per_s, reorder_fraction, reorder_s, reorder_energy_j
-- Grain: run, shape_id, hardware
CREATE VIEW cost_reorder AS
SELECT
    *,
    -- Bytes written and read again. [byte]
    CASE
        WHEN reorder_fraction IS NULL THEN 0e0
        WHEN family = 'gpu' THEN converted_byte
        WHEN family <> 'cpu' THEN 0e0
        WHEN layout = 'aliased' THEN linear_reorder_byte + weight_byte
        ELSE convolution_reorder_byte + linear_reorder_byte
    END AS reorder_byte,
    -- Time to move these bytes: `reorder_byte` divided by peak bandwidth and its efficiency; 0 without reordering. [s]
    COALESCE(reorder_byte / NULLIF(dram_byte_per_s * reorder_fraction, 0e0), 0e0) AS reorder_s,
    -- Energy to move these bytes; null when a coefficient is missing. [J]
    reorder_byte * dram_j_per_byte AS reorder_energy_j
FROM cost_team
