-- Page faults: the operating system of a processor supplies a kernel with fresh pages for results and scratch memory
-- (`page_fault`).
-- Term: paging, exposed, paged_byte, dram_byte_per_s, paging_fraction, paging_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_paging AS
SELECT
    *,
    -- Size of the fresh pages. [byte]
    CASE WHEN paging_fraction IS NULL OR family <> 'cpu' THEN 0e0 ELSE fault_byte END AS paged_byte,
    -- Time of the page faults: `paged_byte` divided by peak bandwidth and efficiency; 0 where memory is kept between runs. [s]
    COALESCE(paged_byte / NULLIF(dram_byte_per_s * paging_fraction, 0e0), 0e0) AS paging_s
FROM cost_convert
