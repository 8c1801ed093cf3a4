-- Every number of every part as one long list, each with where it comes from: the live value beside the
-- one the catalog file states, so that an edit shows and any number is traced in one query.
-- Grain: hardware, field
CREATE VIEW hardware_value AS
WITH live_numbers AS (
    SELECT hardware, 'hardware' AS kind, 'hardware.process_nm' AS field, CAST(process_nm AS DOUBLE) AS value
    FROM hardware WHERE process_nm IS NOT NULL
    UNION ALL
    SELECT hardware, 'hardware' AS kind, 'hardware.year' AS field, CAST(year AS DOUBLE) AS value
    FROM hardware WHERE year IS NOT NULL
    UNION ALL
    SELECT hardware, 'cluster' AS kind, CONCAT('cluster.', cluster, '.unit_count') AS field, CAST(unit_count AS DOUBLE) AS value
    FROM hardware_cluster WHERE unit_count IS NOT NULL
    UNION ALL
    SELECT hardware, 'cluster' AS kind, CONCAT('cluster.', cluster, '.lanes') AS field, CAST(lanes AS DOUBLE) AS value
    FROM hardware_cluster WHERE lanes IS NOT NULL
    UNION ALL
    SELECT hardware, 'cluster' AS kind, CONCAT('cluster.', cluster, '.array_rows') AS field, CAST(array_rows AS DOUBLE) AS value
    FROM hardware_cluster WHERE array_rows IS NOT NULL
    UNION ALL
    SELECT hardware, 'cluster' AS kind, CONCAT('cluster.', cluster, '.array_columns') AS field, CAST(array_columns AS DOUBLE) AS value
    FROM hardware_cluster WHERE array_columns IS NOT NULL
    UNION ALL
    SELECT hardware, 'cluster' AS kind, CONCAT('cluster.', cluster, '.thread_count') AS field, CAST(thread_count AS DOUBLE) AS value
    FROM hardware_cluster WHERE thread_count IS NOT NULL
    UNION ALL
    SELECT hardware, 'cluster' AS kind, CONCAT('cluster.', cluster, '.clock_base_hz') AS field, CAST(clock_base_hz AS DOUBLE) AS value
    FROM hardware_cluster WHERE clock_base_hz IS NOT NULL
    UNION ALL
    SELECT hardware, 'cluster' AS kind, CONCAT('cluster.', cluster, '.clock_boost_hz') AS field, CAST(clock_boost_hz AS DOUBLE) AS value
    FROM hardware_cluster WHERE clock_boost_hz IS NOT NULL
    UNION ALL
    SELECT hardware, 'cluster' AS kind, CONCAT('cluster.', cluster, '.clock_matrix_hz') AS field, CAST(clock_matrix_hz AS DOUBLE) AS value
    FROM hardware_cluster WHERE clock_matrix_hz IS NOT NULL
    UNION ALL
    SELECT hardware, 'memory' AS kind, CONCAT('memory.', level, '.capacity_byte') AS field, CAST(capacity_byte AS DOUBLE) AS value
    FROM hardware_memory WHERE capacity_byte IS NOT NULL
    UNION ALL
    SELECT hardware, 'memory' AS kind, CONCAT('memory.', level, '.bandwidth_byte_per_s') AS field, CAST(bandwidth_byte_per_s AS DOUBLE) AS value
    FROM hardware_memory WHERE bandwidth_byte_per_s IS NOT NULL
    UNION ALL
    SELECT hardware, 'memory' AS kind, CONCAT('memory.', level, '.unit_bandwidth_byte_per_s') AS field, CAST(unit_bandwidth_byte_per_s AS DOUBLE) AS value
    FROM hardware_memory WHERE unit_bandwidth_byte_per_s IS NOT NULL
    UNION ALL
    SELECT hardware, 'memory' AS kind, CONCAT('memory.', level, '.achievable_fraction') AS field, CAST(achievable_fraction AS DOUBLE) AS value
    FROM hardware_memory WHERE achievable_fraction IS NOT NULL
    UNION ALL
    SELECT hardware, 'peak' AS kind, CONCAT('peak.', precision, '.', unit, '.', accumulator, '.peak_ops_per_s') AS field, CAST(peak_ops_per_s AS DOUBLE) AS value
    FROM hardware_peak WHERE peak_ops_per_s IS NOT NULL
    UNION ALL
    SELECT hardware, 'peak' AS kind, CONCAT('peak.', precision, '.', unit, '.', accumulator, '.ops_per_clock_per_unit') AS field, CAST(ops_per_clock_per_unit AS DOUBLE) AS value
    FROM hardware_peak WHERE ops_per_clock_per_unit IS NOT NULL
    UNION ALL
    SELECT hardware, 'peak' AS kind, CONCAT('peak.', precision, '.', unit, '.', accumulator, '.clock_hz') AS field, CAST(clock_hz AS DOUBLE) AS value
    FROM hardware_peak WHERE clock_hz IS NOT NULL
    UNION ALL
    SELECT hardware, 'power' AS kind, CONCAT('power.', mode, '.tdp_w') AS field, CAST(tdp_w AS DOUBLE) AS value
    FROM hardware_power WHERE tdp_w IS NOT NULL
    UNION ALL
    SELECT hardware, 'power' AS kind, CONCAT('power.', mode, '.idle_w') AS field, CAST(idle_w AS DOUBLE) AS value
    FROM hardware_power WHERE idle_w IS NOT NULL
    UNION ALL
    SELECT hardware, 'power' AS kind, CONCAT('power.', mode, '.clock_fraction') AS field, CAST(clock_fraction AS DOUBLE) AS value
    FROM hardware_power WHERE clock_fraction IS NOT NULL
    UNION ALL
    SELECT hardware, 'overhead' AS kind, CONCAT('overhead.', overhead, '.overhead_s') AS field, CAST(overhead_s AS DOUBLE) AS value
    FROM hardware_overhead WHERE overhead_s IS NOT NULL
    UNION ALL
    SELECT hardware, 'interconnect' AS kind, CONCAT('interconnect.', interconnect, '.bandwidth_byte_per_s') AS field, CAST(bandwidth_byte_per_s AS DOUBLE) AS value
    FROM hardware_interconnect WHERE bandwidth_byte_per_s IS NOT NULL
    UNION ALL
    SELECT hardware, 'interconnect' AS kind, CONCAT('interconnect.', interconnect, '.latency_s') AS field, CAST(latency_s AS DOUBLE) AS value
    FROM hardware_interconnect WHERE latency_s IS NOT NULL
    UNION ALL
    SELECT hardware, 'interconnect' AS kind, CONCAT('interconnect.', interconnect, '.device_count') AS field, CAST(device_count AS DOUBLE) AS value
    FROM hardware_interconnect WHERE device_count IS NOT NULL
    UNION ALL
    SELECT hardware, 'energy' AS kind, CONCAT('energy.', what, '.', key) AS field, value AS value
    FROM energy_profile
    UNION ALL
    SELECT hardware, 'price' AS kind, 'price.price_usd_per_hour' AS field, price_usd_per_hour AS value
    FROM price
)

SELECT
    n.hardware,
    -- What it is a number of: `hardware`, `cluster`, `memory`, `peak`, `power`, `overhead`, `interconnect`, `energy` or `price`.
    n.kind,
    -- Place of the number, `table.row_key.column`, e.g. `memory.dram.bandwidth_byte_per_s`.
    n.field,
    -- Value as the cost model reads it now, in SI.
    n.value,
    -- Value as the catalog file states it; null for a number without provenance.
    p.catalog_value,
    -- True when the value was changed since, or added without the catalog.
    p.catalog_value IS NULL OR p.catalog_value <> n.value AS is_edited,
    -- Unit of both.
    p.unit,
    -- Source of the catalog's value; null for a number without provenance.
    p.source_id,
    -- How far the catalog's value can be trusted.
    p.confidence,
    -- True when it is a guess, or has no provenance.
    COALESCE(c.is_guess, TRUE) AS is_guess,
    -- How a derived value was computed.
    p.formula,
    -- Anything a reader must know.
    p.note,
    -- Address, paper or file of the source.
    s.locator
FROM live_numbers AS n
LEFT JOIN hardware_provenance AS p ON p.hardware = n.hardware AND p.field = n.field
LEFT JOIN confidence AS c ON c.confidence = p.confidence
LEFT JOIN source AS s ON s.source_id = p.source_id
