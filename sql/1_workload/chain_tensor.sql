-- Tensors that stay inside a kernel although a matrix operator of the same kernel reads them: the links of a
-- domain-flow chain, which must be held on chip between producer and consumer. A key-value cache is read from
-- memory, whatever kernel the operator that stands for it is in.
-- Grain: model_id, scenario_id, subgraph_id, tensor_id
CREATE VIEW chain_tensor (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Kernel.
    subgraph_id,
    -- Tensor that owns the storage.
    tensor_id,
    -- Its size. [byte]
    held_byte
) AS
WITH chain_links AS (
    SELECT DISTINCT
        r.model_id,
        r.scenario_id,
        r.policy,
        consumer.subgraph_id,
        root.tensor_id
    FROM run AS r
    INNER JOIN edge AS e ON e.model_id = r.model_id
    INNER JOIN operator AS o ON o.model_id = e.model_id AND o.operator_id = e.consumer_operator_id
    INNER JOIN tensor AS t ON t.model_id = e.model_id AND t.tensor_id = e.tensor_id
    INNER JOIN tensor AS root ON root.model_id = t.model_id AND root.tensor_id = t.storage_tensor_id
    INNER JOIN subgraph_operator AS producer
        ON producer.model_id = r.model_id AND producer.backend = r.backend
        AND producer.operator_id = root.producer_operator_id
    INNER JOIN subgraph_operator AS consumer
        ON consumer.model_id = r.model_id AND consumer.backend = r.backend
        AND consumer.operator_id = e.consumer_operator_id
    WHERE producer.subgraph_id = consumer.subgraph_id
        AND root.role <> 'kv_cache'
        AND o.operator_class IN ('conv', 'depthwise_conv', 'conv_transposed', 'linear', 'matmul', 'attention')
)

SELECT
    c.model_id,
    c.scenario_id,
    c.subgraph_id,
    c.tensor_id,
    z.elements * p.bits / 8e0 AS held_byte
FROM chain_links AS c
INNER JOIN tensor_size AS z
    ON z.model_id = c.model_id AND z.scenario_id = c.scenario_id AND z.tensor_id = c.tensor_id
INNER JOIN tensor_precision AS tp
    ON tp.model_id = c.model_id AND tp.policy = c.policy AND tp.tensor_id = c.tensor_id
INNER JOIN precision AS p ON p.precision = tp.precision
