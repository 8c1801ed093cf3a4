-- Fresh pages that the operating system of a processor gives a kernel for its results and scratch memory (`page_fault`).
-- Term: paging, exposed, paged_byte, dram_byte_per_s, paging_fraction, paging_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_paging AS
SELECT
    *,
    -- Fresh pages. [byte]
    CASE WHEN paging_fraction IS NULL OR family <> 'cpu' THEN 0e0 ELSE fault_byte END AS paged_byte,
    -- Time to get these pages: `paged_byte` divided by peak bandwidth and its efficiency; 0 where memory is kept between runs. [s]
    COALESCE(paged_byte / NULLIF(dram_byte_per_s * paging_fraction, 0e0), 0e0) AS paging_s
FROM cost_convert
