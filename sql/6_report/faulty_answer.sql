-- Parts and models whose answers are null, with the impossible number that is the cause (`impossible_number`).
-- Grain: subject, field
CREATE VIEW faulty_answer AS
SELECT DISTINCT
    -- Part or model.
    hardware AS subject,
    -- Name of the impossible number as in `impossible_number`; for an efficiency, the row that contains the number.
    COALESCE(fault, tile_fault) AS field
FROM part_support
WHERE COALESCE(fault, tile_fault) IS NOT NULL
UNION ALL
SELECT DISTINCT b.hardware AS subject, CONCAT('efficiency.', CAST(e.faulty_efficiency_id AS VARCHAR)) AS field
FROM chain_efficiency AS e
INNER JOIN part_backend AS b ON b.efficiency_chain = e.efficiency_chain
WHERE e.faulty_efficiency_id IS NOT NULL
UNION ALL
SELECT DISTINCT run.model AS subject, COALESCE(fault, memory_fault) AS field
FROM run
WHERE COALESCE(fault, memory_fault) IS NOT NULL
