-- Every product of every shape with every candidate tile of every dataflow.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware, step_id, candidate
CREATE VIEW tile_step AS
SELECT * FROM tile_listed
UNION ALL
SELECT * FROM tile_square
UNION ALL
SELECT * FROM tile_weight_stationary
UNION ALL
SELECT * FROM tile_wavefront
UNION ALL
SELECT * FROM tile_direct
UNION ALL
SELECT * FROM tile_query_block
