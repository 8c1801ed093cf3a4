-- Every number of every part that the cost model reads, stated or derived. New columns of clusters, memory levels, power modes,
-- interconnects and meshes are included without a change of this view.
-- Grain: hardware, field
CREATE VIEW part_number AS
WITH listed_numbers AS (
    SELECT
        hardware,
        'hardware' AS kind,
        'hardware' AS row_key,
        UNNEST(['process_nm', 'year', 'die_count']) AS column_name,
        UNNEST([process_nm, year, die_count]) AS value
    FROM hardware
    UNION ALL
    SELECT hardware, 'cluster' AS kind, CONCAT('cluster.', cluster) AS row_key, column_name, value
    FROM part_cluster UNPIVOT (value FOR column_name IN (COLUMNS(* EXCLUDE (hardware, cluster, kind, cluster_rank))))
    UNION ALL
    SELECT hardware, 'memory' AS kind, CONCAT('memory.', level) AS row_key, column_name, value
    FROM part_memory UNPIVOT (
        value FOR column_name IN (COLUMNS(* EXCLUDE (hardware, level, depth, scope, management, technology, keeps_weights)))
    )
    UNION ALL
    SELECT
        hardware,
        'peak' AS kind,
        CONCAT('peak.', precision, '.', unit, '.', accumulator) AS row_key,
        'peak_ops_per_s' AS column_name,
        peak_ops_per_s AS value
    FROM part_peak
    UNION ALL
    SELECT
        hardware,
        'peak' AS kind,
        CONCAT('peak.', precision, '.', unit, '.', accumulator) AS row_key,
        UNNEST(['ops_per_clock_per_unit', 'performance_fraction']) AS column_name,
        UNNEST([ops_per_clock_per_unit, performance_fraction]) AS value
    FROM hardware_peak
    UNION ALL
    SELECT hardware, 'power' AS kind, CONCAT('power.', mode) AS row_key, column_name, value
    FROM hardware_power UNPIVOT (value FOR column_name IN (COLUMNS(* EXCLUDE (hardware, mode, is_default))))
    UNION ALL
    SELECT hardware, 'interconnect' AS kind, CONCAT('interconnect.', interconnect) AS row_key, column_name, value
    FROM hardware_interconnect UNPIVOT (value FOR column_name IN (COLUMNS(* EXCLUDE (hardware, interconnect))))
    UNION ALL
    SELECT hardware, 'mesh' AS kind, CONCAT('mesh.', mesh) AS row_key, column_name, value
    FROM hardware_mesh UNPIVOT (value FOR column_name IN (COLUMNS(* EXCLUDE (hardware, mesh))))
)

SELECT
    hardware,
    -- Kind of the number: `hardware`, `cluster`, `memory`, `peak`, `power`, `overhead`, `interconnect`, `mesh`, `energy`, `price`,
    -- `list_price` or `usual_host`.
    kind,
    -- Field name of the number, `table.row_key.column`, e.g. `memory.dram.bandwidth_byte_per_s`.
    CONCAT(row_key, '.', column_name) AS field,
    -- Value of the number, in SI.
    value
FROM listed_numbers
WHERE value IS NOT NULL
UNION ALL
SELECT hardware, 'overhead' AS kind, CONCAT('overhead.', overhead, '.overhead_s') AS field, overhead_s AS value
FROM part_overhead WHERE overhead_s IS NOT NULL
UNION ALL
SELECT hardware, 'energy' AS kind, CONCAT('energy.', what, '.', key) AS field, value FROM part_energy
UNION ALL
SELECT hardware, 'price' AS kind, 'price.price_usd_per_hour' AS field, price_usd_per_hour AS value FROM price
UNION ALL
SELECT hardware, 'list_price' AS kind, 'list_price.list_price_usd' AS field, list_price_usd AS value FROM list_price
UNION ALL
SELECT hardware, 'usual_host' AS kind, 'usual_host.dispatch_ratio' AS field, dispatch_ratio AS value FROM usual_host
