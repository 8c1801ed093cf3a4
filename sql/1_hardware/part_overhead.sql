-- Fixed times of every part, stated and derived.
-- Grain: hardware, overhead
CREATE VIEW part_overhead AS
SELECT hardware, overhead, overhead_s FROM hardware_overhead
UNION ALL
SELECT hardware, overhead, overhead_s FROM derived_overhead
