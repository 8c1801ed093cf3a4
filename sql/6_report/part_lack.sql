-- Reasons why a part has no answer for any model, or no energies, and a remedy for each; no model needs to be ingested. A part
-- without a row has answers under each stored scenario with one of its backends and precisions, except for the models in
-- `missing_answer`.
-- Grain: hardware, backend, lack
CREATE VIEW part_lack AS
WITH reached_parts AS (
    SELECT DISTINCT t.hardware
    FROM part_support AS t
    INNER JOIN scenario AS s ON s.backend = t.backend AND s.precision = t.precision
),

backed_parts AS (
    SELECT DISTINCT hardware FROM supported_backend
),

tiled_parts AS (
    SELECT DISTINCT hardware FROM part_tile
),

faults AS (
    SELECT hardware, MIN(CONCAT(field, ': ', rule)) AS first_fault, COUNT(*) AS fault_count
    FROM part_fault
    WHERE kind IN ('cluster', 'memory', 'peak', 'power', 'overhead', 'energy', 'shipped_part')
    GROUP BY hardware
)

SELECT
    h.hardware,
    -- Backend under which the item is missing; `*` for all.
    '*' AS backend,
    -- Missing item: `family`, `backend`, `rate`, `tile`, `number`, `memory`, `efficiency` or `scenario` if answers are missing,
    -- `energy` if only energies are missing.
    'family' AS lack,
    -- Description of the missing item.
    CONCAT('its family ', h.family, ' is unknown') AS reason,
    -- Next thing to do.
    'add the family to hardware_family' AS next
FROM hardware AS h
LEFT JOIN hardware_family AS f ON f.family = h.family
WHERE f.family IS NULL
UNION ALL
SELECT
    h.hardware,
    '*' AS backend,
    'backend' AS lack,
    CONCAT('no backend runs the family ', h.family, ' of the maker ', h.vendor) AS reason,
    'add a row to backend_support' AS next
FROM hardware AS h
LEFT JOIN backed_parts AS b ON b.hardware = h.hardware
WHERE b.hardware IS NULL
UNION ALL
SELECT
    b.hardware,
    '*' AS backend,
    'rate' AS lack,
    'it has no peak in a precision that a policy computes in' AS reason,
    'state a peak in fp32, fp16, bf16 or int8 (hardware_peak)' AS next
FROM backed_parts AS b
LEFT JOIN part_proposal AS t ON t.hardware = b.hardware
WHERE t.hardware IS NULL
UNION ALL
SELECT
    h.hardware,
    '*' AS backend,
    'tile' AS lack,
    CONCAT('its family ', h.family, ' cuts no tiles that its units compute') AS reason,
    'add a row to tiling_strategy' AS next
FROM part AS h
INNER JOIN part_proposal AS t ON t.hardware = h.hardware
LEFT JOIN tiled_parts AS p ON p.hardware = h.hardware
WHERE p.hardware IS NULL
UNION ALL
SELECT
    hardware,
    '*' AS backend,
    'number' AS lack,
    CONCAT(
        'an impossible number: ', first_fault, CASE WHEN fault_count > 1 THEN CONCAT(', and ', CAST(fault_count - 1 AS VARCHAR), ' more') ELSE '' END
    ) AS reason,
    CONCAT('correct it: SELECT * FROM part_fault WHERE hardware = ''', hardware, '''') AS next
FROM faults
UNION ALL
SELECT
    hardware,
    '*' AS backend,
    'memory' AS lack,
    'it states no memory level for tiles' AS reason,
    'state a level on the chip (hardware_memory), e.g. a scratchpad' AS next
FROM part
WHERE tile_memory_byte IS NULL
UNION ALL
SELECT
    hardware,
    backend,
    'efficiency' AS lack,
    CONCAT('no efficiency of ', resource, ' applies under ', backend) AS reason,
    'add a row to efficiency' AS next
FROM missing_efficiency
UNION ALL
SELECT
    t.hardware,
    '*' AS backend,
    'scenario' AS lack,
    'no stored scenario names a backend and a precision that it computes in' AS reason,
    CONCAT('`charz scenario add --backend ', t.backend, ' --precision ', t.precision, '`') AS next
FROM part_proposal AS t
LEFT JOIN reached_parts AS r ON r.hardware = t.hardware
WHERE r.hardware IS NULL
UNION ALL
SELECT
    hardware,
    '*' AS backend,
    'energy' AS lack,
    CONCAT('neither the part nor a rule gives ', field) AS reason,
    'state it (energy_profile), or add a row to silicon_rule' AS next
FROM missing_energy
