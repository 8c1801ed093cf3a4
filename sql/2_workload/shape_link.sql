-- Links of the chains (domain flow, depth first) of every distinct shape: tensors that must be held on chip between a producer and a
-- matrix operator of the same kernel.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, tensor_id
CREATE TABLE shape_link AS
SELECT
    s.model,
    s.backend,
    s.precision,
    s.batch,
    s.sequence,
    s.scenario_id,
    s.shape_id,
    c.tensor_id,
    c.held_byte,
    s.kernel_class,
    s.memory_format,
    s.weight_byte,
    s.run_weight_byte,
    s.run_activation_byte,
    s.cache_state
FROM shape AS s
INNER JOIN chain_tensor AS c ON c.model = s.model AND c.scenario_id = s.scenario_id AND c.kernel_id = s.shape_id
