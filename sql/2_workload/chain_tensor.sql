-- Tensors that stay inside a kernel although a matrix operator of the kernel reads them: the links of a domain-flow chain, which
-- must fit on the chip between producer and consumer. A KV cache is always read from memory.
-- Grain: run, kernel_id, tensor_id
CREATE VIEW chain_tensor AS
WITH matrix_reads AS MATERIALIZED (
    SELECT e.model, e.consumer_operator_id, t.storage_tensor_id
    FROM edge AS e
    INNER JOIN operator AS o ON o.model = e.model AND o.operator_id = e.consumer_operator_id
    INNER JOIN operator_class AS c ON c.operator_class = o.operator_class
    INNER JOIN tensor AS t ON t.model = e.model AND t.tensor_id = e.tensor_id
    WHERE c.is_matrix AND o.operator_class <> 'rnn'
),

made_reads AS MATERIALIZED (
    SELECT e.model, e.consumer_operator_id, root.tensor_id, root.producer_operator_id
    FROM matrix_reads AS e
    INNER JOIN tensor AS root ON root.model = e.model AND root.tensor_id = e.storage_tensor_id
    WHERE root.role <> 'kv_cache' AND root.producer_operator_id IS NOT NULL
),

inner_reads AS MATERIALIZED (
    SELECT DISTINCT consumer.model, consumer.backend, consumer.kernel_id, e.tensor_id
    FROM made_reads AS e
    INNER JOIN kernel_operator AS consumer
        ON consumer.model = e.model AND consumer.operator_id = e.consumer_operator_id
    INNER JOIN kernel_operator AS producer
        ON producer.model = e.model AND producer.backend = consumer.backend AND producer.operator_id = e.producer_operator_id
        AND producer.kernel_id = consumer.kernel_id
),

chain_links AS (
    SELECT
        r.model,
        r.backend,
        r.precision,
        e.kernel_id,
        e.tensor_id,
        p.bits
    FROM (SELECT DISTINCT run.model, run.backend, run.precision FROM run) AS r
    INNER JOIN inner_reads AS e ON e.model = r.model AND e.backend = r.backend
    INNER JOIN tensor_precision AS tp ON tp.model = r.model AND tp.policy = r.precision AND tp.tensor_id = e.tensor_id
    INNER JOIN precision AS p ON p.precision = tp.precision
),

-- The table is materialized, because the planner would otherwise join every tensor with every run first.
run_links AS MATERIALIZED (
    SELECT
        r.run,
        r.context,
        r.logit_tokens,
        r.chunk_count,
        c.kernel_id,
        c.tensor_id,
        c.bits
    FROM run AS r
    INNER JOIN chain_links AS c ON c.model = r.run.model AND c.backend = r.run.backend AND c.precision = r.run.precision
)

SELECT
    c.run,
    c.kernel_id,
    c.tensor_id,
    -- Size of the tensor. [byte]
    z.elements * c.bits / 8e0 AS held_byte
FROM run_links AS c
INNER JOIN tensor_size AS z
    ON z.model = c.run.model AND z.batch = c.run.batch AND z.sequence = c.run.sequence AND z.context = c.context
    AND z.logit_tokens = c.logit_tokens AND z.chunk_count = c.chunk_count AND z.tensor_id = c.tensor_id

