-- Every number of every part as one long list, each with where it comes from: the live value beside the
-- one the catalog file states, so that an edit shows and any number is traced in one query.
-- Grain: hardware, field
CREATE VIEW hardware_value AS
WITH listed_numbers AS (
    SELECT
        hardware,
        'hardware' AS kind,
        'hardware' AS row_key,
        UNNEST(['process_nm', 'year']) AS column_name,
        UNNEST([process_nm, year]) AS value
    FROM hardware
    UNION ALL
    SELECT
        hardware,
        'cluster' AS kind,
        CONCAT('cluster.', cluster) AS row_key,
        UNNEST([
            'unit_count', 'lanes', 'array_rows', 'array_columns', 'thread_count', 'clock_base_hz', 'clock_boost_hz',
            'clock_matrix_hz'
        ]) AS column_name,
        UNNEST([
            unit_count, lanes, array_rows, array_columns, thread_count, clock_base_hz, clock_boost_hz, clock_matrix_hz
        ]) AS value
    FROM hardware_cluster
    UNION ALL
    SELECT
        hardware,
        'memory' AS kind,
        CONCAT('memory.', level) AS row_key,
        UNNEST([
            'capacity_byte', 'bandwidth_byte_per_s', 'unit_bandwidth_byte_per_s', 'achievable_fraction'
        ]) AS column_name,
        UNNEST([capacity_byte, bandwidth_byte_per_s, unit_bandwidth_byte_per_s, achievable_fraction]) AS value
    FROM hardware_memory
    UNION ALL
    SELECT
        hardware,
        'peak' AS kind,
        CONCAT('peak.', precision, '.', unit, '.', accumulator) AS row_key,
        UNNEST(['peak_ops_per_s', 'ops_per_clock_per_unit', 'clock_hz']) AS column_name,
        UNNEST([peak_ops_per_s, ops_per_clock_per_unit, clock_hz]) AS value
    FROM hardware_peak
    UNION ALL
    SELECT
        hardware,
        'power' AS kind,
        CONCAT('power.', mode) AS row_key,
        UNNEST(['tdp_w', 'idle_w', 'clock_fraction']) AS column_name,
        UNNEST([tdp_w, idle_w, clock_fraction]) AS value
    FROM hardware_power
    UNION ALL
    SELECT
        hardware,
        'interconnect' AS kind,
        CONCAT('interconnect.', interconnect) AS row_key,
        UNNEST(['bandwidth_byte_per_s', 'latency_s', 'device_count']) AS column_name,
        UNNEST([bandwidth_byte_per_s, latency_s, device_count]) AS value
    FROM hardware_interconnect
),

live_numbers AS (
    SELECT hardware, kind, CONCAT(row_key, '.', column_name) AS field, value FROM listed_numbers WHERE value IS NOT NULL
    UNION ALL
    SELECT hardware, 'overhead' AS kind, CONCAT('overhead.', overhead, '.overhead_s') AS field, overhead_s AS value
    FROM hardware_overhead WHERE overhead_s IS NOT NULL
    UNION ALL
    SELECT hardware, 'energy' AS kind, CONCAT('energy.', what, '.', key) AS field, value FROM part_energy
    UNION ALL
    SELECT hardware, 'price' AS kind, 'price.price_usd_per_hour' AS field, price_usd_per_hour AS value FROM price
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
    COALESCE(e.is_stated, TRUE) AND (p.catalog_value IS NULL OR p.catalog_value <> n.value) AS is_edited,
    -- Unit of both.
    COALESCE(p.unit, CASE e.what WHEN 'op' THEN 'J/op' WHEN 'byte' THEN 'J/byte' WHEN 'static' THEN 'W' END) AS unit,
    -- Source of the catalog's value; null for a number without provenance.
    COALESCE(p.source_id, e.source_id) AS source_id,
    -- How far the catalog's value can be trusted.
    COALESCE(p.confidence, e.confidence) AS confidence,
    -- True when it is a guess, or has no provenance.
    COALESCE(c.is_guess, TRUE) AS is_guess,
    -- How a derived value was computed.
    COALESCE(p.formula, e.formula) AS formula,
    -- Anything a reader must know.
    p.note,
    -- Address, paper or file of the source.
    s.locator
FROM live_numbers AS n
LEFT JOIN hardware_provenance AS p ON p.hardware = n.hardware AND p.field = n.field
LEFT JOIN part_energy AS e
    ON e.hardware = n.hardware AND n.kind = 'energy' AND NOT e.is_stated AND n.field = CONCAT('energy.', e.what, '.', e.key)
LEFT JOIN confidence AS c ON c.confidence = COALESCE(p.confidence, e.confidence)
LEFT JOIN source AS s ON s.source_id = COALESCE(p.source_id, e.source_id)
