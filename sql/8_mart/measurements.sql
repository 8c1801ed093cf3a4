-- Imported measurements of whole runs. Key: measurement_id; source_id is of `mart.sources`.
-- Grain: measurement_id
CREATE VIEW measurements AS
SELECT
    measurement_id,
    model,
    hardware,
    device_count,
    backend,
    software,
    mode,
    precision,
    memory_format,
    batch,
    sequence,
    resolution,
    latency_s,
    throughput_per_s,
    energy_j,
    energy_scope,
    energy_per,
    peak_memory_byte,
    source_id,
    note
FROM measurement
