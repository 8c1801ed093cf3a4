-- Edges that do not resolve: the tensor or operator is missing, the edge names another producer than the tensor does, or the
-- producer comes after the reader.
-- Grain: model, consumer_operator_id, position
CREATE VIEW dangling_edge AS
SELECT
    e.model,
    -- Operator that reads the tensor.
    e.consumer_operator_id,
    -- Index of the tensor among the tensors that the operator reads.
    e.position,
    e.tensor_id,
    -- Producer that the edge names.
    e.producer_operator_id,
    -- Producer that the tensor names.
    t.producer_operator_id AS tensor_producer_id
FROM edge AS e
LEFT JOIN tensor AS t ON t.model = e.model AND t.tensor_id = e.tensor_id
LEFT JOIN operator AS o ON o.model = e.model AND o.operator_id = e.consumer_operator_id
WHERE
    t.tensor_id IS NULL
    OR o.operator_id IS NULL
    OR COALESCE(e.producer_operator_id, -1) <> COALESCE(t.producer_operator_id, -1)
    OR COALESCE(e.producer_operator_id, -1) >= e.consumer_operator_id
