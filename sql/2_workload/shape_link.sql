-- Links of the chains (domain flow, depth first) of every distinct shape: tensors that must fit on the chip between a producer and
-- a matrix operator of the same kernel.
-- Grain: run, shape_id, tensor_id
CREATE TABLE shape_link AS
SELECT
    s.run,
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
INNER JOIN chain_tensor AS c ON c.run = s.run AND c.kernel_id = s.shape_id
