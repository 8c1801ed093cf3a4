-- Runs that read their weights from main memory although all weights would fit in the software-managed last level. Either programs
-- of the part do not keep weights there (`part.keeps_weights`), or the scenario streams weights.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW streamed_weight AS
SELECT
    r.run.model,
    t.hardware,
    r.run.backend,
    r.run.precision,
    r.run.batch,
    r.run.sequence,
    r.run.scenario_id,
    r.cache_state,
    t.cache_level,
    t.cache_byte,
    -- Parameters, buffers and constants. [byte]
    m.weight_byte + m.buffer_byte AS weight_byte
FROM run AS r
INNER JOIN part_support AS t ON t.backend = r.run.backend AND t.precision = r.run.precision
INNER JOIN run_memory AS m ON m.run = r.run
WHERE t.is_cache_placed
    AND m.weight_byte + m.buffer_byte BETWEEN 1e0 AND t.cache_byte
    AND (r.cache_state = 'weights_streamed' OR (NOT t.keeps_weights AND r.cache_state = 'warm'))
