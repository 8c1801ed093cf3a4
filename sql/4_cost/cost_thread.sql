-- Threads of a processor: where the backend leaves a short loop to few of them, their share of the bandwidth bounds it; all
-- but a single thread wait for their team to begin and end. Libraries share every product.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_thread AS
SELECT
    *,
    -- Units whose threads run it, on average.
    CASE
        WHEN chunk_element IS NULL OR macs > 0e0 THEN unit_count
        WHEN shares_by_chunk THEN GREATEST(LEAST(loop_elements / NULLIF(chunk_element, 0e0), unit_count), 1e0)
        WHEN loop_elements >= chunk_element * unit_count THEN unit_count
        ELSE 1e0
    END AS team_size
FROM cost_latency_bound
