-- Tensors that stay inside a kernel although a matrix operator of the same kernel reads them: the links of a
-- domain-flow chain, which must be held on chip between producer and consumer. A key-value cache is read from
-- memory, whatever kernel the operator that stands for it is in.
-- Grain: model, scenario_id, kernel_id, tensor_id
CREATE VIEW chain_tensor AS
WITH chain_links AS (
    SELECT DISTINCT
        r.model,
        r.backend,
        r.precision,
        consumer.kernel_id,
        root.tensor_id,
        p.bits
    FROM (SELECT DISTINCT model, backend, precision FROM run) AS r
    INNER JOIN edge AS e ON e.model = r.model
    INNER JOIN operator AS o ON o.model = e.model AND o.operator_id = e.consumer_operator_id
    INNER JOIN operator_class AS c ON c.operator_class = o.operator_class
    INNER JOIN tensor AS t ON t.model = e.model AND t.tensor_id = e.tensor_id
    INNER JOIN tensor AS root ON root.model = t.model AND root.tensor_id = t.storage_tensor_id
    INNER JOIN kernel_operator AS producer
        ON producer.model = r.model AND producer.backend = r.backend
        AND producer.operator_id = root.producer_operator_id
    INNER JOIN kernel_operator AS consumer
        ON consumer.model = r.model AND consumer.backend = r.backend
        AND consumer.operator_id = e.consumer_operator_id
    INNER JOIN tensor_precision AS tp
        ON tp.model = r.model AND tp.policy = r.precision AND tp.tensor_id = root.tensor_id
    INNER JOIN precision AS p ON p.precision = tp.precision
    WHERE producer.kernel_id = consumer.kernel_id
        AND root.role <> 'kv_cache'
        AND c.is_matrix AND o.operator_class <> 'rnn'
)

SELECT
    r.model,
    r.scenario_id,
    c.kernel_id,
    c.tensor_id,
    -- Its size. [byte]
    z.elements * c.bits / 8e0 AS held_byte
FROM run AS r
INNER JOIN chain_links AS c ON c.model = r.model AND c.backend = r.backend AND c.precision = r.precision
INNER JOIN tensor_size AS z
    ON z.model = r.model AND z.batch = r.batch AND z.sequence = r.sequence AND z.context = r.context
    AND z.logit_tokens = r.logit_tokens AND z.chunk_count = r.chunk_count
    AND z.tensor_id = c.tensor_id

