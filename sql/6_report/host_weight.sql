-- Runs whose weights exceed the memories on the chip of a part without main memory of its own: the rest crosses the link to the host in
-- every run.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW host_weight AS
WITH chip_memories AS (
    SELECT
        m.hardware,
        MAX(CASE WHEN m.technology = 'host' THEN 1 ELSE 0 END) AS is_hosted,
        SUM(
            CASE
                WHEN m.technology = 'host' THEN 0e0
                WHEN m.scope = 'unit' THEN m.capacity_byte * p.unit_count
                ELSE m.capacity_byte
            END
        ) AS chip_byte
    FROM hardware_memory AS m
    INNER JOIN part AS p ON p.hardware = m.hardware
    GROUP BY m.hardware
)

SELECT
    r.run.model,
    t.hardware,
    r.run.backend,
    r.run.precision,
    r.run.batch,
    r.run.sequence,
    r.run.scenario_id,
    -- Parameters, buffers and constants. [byte]
    m.weight_byte + m.buffer_byte AS weight_byte,
    -- Memories on the chip, all units together. [byte]
    c.chip_byte
FROM run AS r
INNER JOIN part_support AS t ON t.backend = r.run.backend AND t.precision = r.run.precision
INNER JOIN run_memory AS m ON m.run = r.run
INNER JOIN chip_memories AS c ON c.hardware = t.hardware
WHERE c.is_hosted = 1 AND m.weight_byte + m.buffer_byte > c.chip_byte
