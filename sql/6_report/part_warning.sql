-- Numbers of a part that contradict one another although each is possible. Answers use the stated numbers, so these are warnings,
-- not faults: `charz hardware check`, `add` and `show` and questions about designs print them.
-- Grain: hardware, warning
CREATE VIEW part_warning AS
WITH arrays AS (
    SELECT hardware, MAX(array_rows * array_columns) AS elements
    FROM hardware_cluster
    GROUP BY hardware
),

-- Bandwidth that arrays need at their full rate: one element per row and cycle for weight- or input-stationary arrays, plus one
-- element per column and cycle for output-stationary arrays.
streams AS (
    SELECT
        r.hardware,
        r.matrix_precision,
        r.matrix_ops_per_s * p.bits / 8e0
        * (r.matrix_array_rows + CASE WHEN h.dataflow IN ('weight_stationary', 'input_stationary') THEN 0e0 ELSE r.matrix_array_columns END)
        / NULLIF(2e0 * r.matrix_array_rows * r.matrix_array_columns, 0e0) AS stream_byte_per_s
    FROM hardware_rate AS r
    INNER JOIN part AS h ON h.hardware = r.hardware
    INNER JOIN precision AS p ON p.precision = r.matrix_precision
    WHERE r.is_native AND r.matrix_array_rows > 1e0 AND h.dataflow IS NOT NULL
),

most_bytes AS (
    SELECT hardware, MAX(stream_byte_per_s) AS stream_byte_per_s
    FROM streams
    GROUP BY hardware
),

widest_streams AS (
    SELECT s.hardware, s.stream_byte_per_s, MIN(s.matrix_precision) AS matrix_precision
    FROM streams AS s
    INNER JOIN most_bytes AS w ON w.hardware = s.hardware AND w.stream_byte_per_s = s.stream_byte_per_s
    GROUP BY s.hardware, s.stream_byte_per_s
),

-- Memory that feeds the arrays: the first level, the tile memory or the last-level cache.
feeding_levels AS (
    SELECT
        hardware,
        COALESCE(stream_level, tile_memory_level, cache_level) AS level,
        CASE
            WHEN stream_level IS NOT NULL THEN stream_memory_byte_per_s
            WHEN tile_memory_level IS NOT NULL THEN tile_memory_byte_per_s
            ELSE cache_byte_per_s
        END AS byte_per_s
    FROM part
),

static_powers AS (
    SELECT
        hardware,
        tdp_w,
        static_w,
        static_power(
            static_w, clocking_w, standby_w, reference_fraction,
            voltage_square(1e0, reference_fraction, voltage_slope, voltage_floor, voltage_ceiling)
        ) AS drawn_w
    FROM part
)

SELECT
    h.hardware,
    -- Contradicted number: `array`, `bandwidth` or `static`.
    'array' AS warning,
    -- Description of the contradiction.
    'it has arrays but states no dataflow: its tiles ignore them' AS reason,
    -- Next thing to do.
    'state dataflow (hardware.dataflow)' AS next
FROM part AS h
INNER JOIN arrays AS a ON a.hardware = h.hardware
WHERE a.elements > 1 AND h.dataflow IS NULL
UNION ALL
SELECT
    f.hardware,
    'bandwidth' AS warning,
    CONCAT(
        f.level, ' is assumed to give ', CAST(CAST(FLOOR(f.byte_per_s / 1e9 + 0.5e0) AS BIGINT) AS VARCHAR), ' GB/s',
        CASE WHEN t.stated_value IS NULL THEN CONCAT(' (', t.formula, ')') ELSE '' END, ' and its arrays take ', CAST(CAST(FLOOR(s.stream_byte_per_s / 1e9 + 0.5e0) AS BIGINT) AS VARCHAR), ' GB/s at their peak in ',
        s.matrix_precision, ': the assumption starves them'
    ) AS reason,
    CONCAT('state ', t.field) AS next
FROM feeding_levels AS f
INNER JOIN widest_streams AS s ON s.hardware = f.hardware
INNER JOIN traced_number AS t
    ON t.hardware = f.hardware AND t.field = CONCAT('memory.', f.level, '.bandwidth_byte_per_s')
WHERE t.is_guess AND f.byte_per_s < s.stream_byte_per_s
UNION ALL
SELECT
    p.hardware,
    'static' AS warning,
    CASE
        WHEN p.drawn_w > p.tdp_w
            THEN CONCAT(
                CAST(FLOOR(p.drawn_w * 100e0 + 0.5e0) / 100e0 AS VARCHAR), ' W of static power at its own clock, ', t.standing,
                ', are above its power limit of ', CAST(p.tdp_w AS VARCHAR), ' W'
            )
        ELSE
            CONCAT(
                CAST(FLOOR(p.static_w * 100e0 + 0.5e0) / 100e0 AS VARCHAR), ' W of static power at the reference clock, ', t.standing,
                ', are above its power limit of ', CAST(p.tdp_w AS VARCHAR), ' W; at its own clock it draws ',
                CAST(FLOOR(p.drawn_w * 100e0 + 0.5e0) / 100e0 AS VARCHAR), ' W of them'
            )
    END AS reason,
    'state what it draws (power.default.idle_w, energy.static.chip), or correct power.default.tdp_w' AS next
FROM static_powers AS p
INNER JOIN traced_number AS t ON t.hardware = p.hardware AND t.field = 'energy.static.chip'
WHERE GREATEST(p.static_w, p.drawn_w) > p.tdp_w
