-- Layers of a model in order, at the sizes the model was ingested with. A layer is a module whose forward method itself calls
-- operators.
-- Grain: model, module_id
CREATE VIEW model_layer AS
WITH layer_operators AS (
    SELECT model, module_id, MIN(operator_id) AS first_operator_id, MAX(operator_id) AS last_operator_id
    FROM operator
    WHERE NOT is_backward
    GROUP BY model, module_id
),

-- The first operand that is not a weight.
layer_inputs AS (
    SELECT l.model, l.module_id, MIN_BY(t.shape, e.position) AS input_shape
    FROM layer_operators AS l
    INNER JOIN edge AS e ON e.model = l.model AND e.consumer_operator_id = l.first_operator_id
    INNER JOIN tensor AS t ON t.model = e.model AND t.tensor_id = e.tensor_id AND t.role IN ('activation', 'input')
    GROUP BY l.model, l.module_id
),

tensor_elements AS (
    SELECT
        z.model,
        z.tensor_id,
        SUM(
            z.coefficient * POWER(m.default_batch, z.batch_power)
            * POWER(m.default_sequence, z.sequence_power + z.context_power)
        ) AS elements
    FROM tensor_term AS z
    INNER JOIN model AS m ON m.model = z.model
    GROUP BY z.model, z.tensor_id
),

layer_results AS (
    SELECT
        l.model,
        l.module_id,
        MIN_BY(t.shape, t.tensor_id) AS output_shape,
        MIN_BY(z.elements * p.bits / 8e0, t.tensor_id) AS output_byte
    FROM layer_operators AS l
    INNER JOIN tensor AS t ON t.model = l.model AND t.producer_operator_id = l.last_operator_id
    INNER JOIN tensor_elements AS z ON z.model = t.model AND z.tensor_id = t.tensor_id
    INNER JOIN precision AS p ON p.precision = t.precision
    GROUP BY l.model, l.module_id
),

-- A weight that several layers share belongs to the first of these layers.
weight_readers AS (
    SELECT e.model, e.tensor_id, MIN(e.consumer_operator_id) AS operator_id
    FROM edge AS e
    INNER JOIN tensor AS t ON t.model = e.model AND t.tensor_id = e.tensor_id AND t.role = 'weight'
    GROUP BY e.model, e.tensor_id
),

layer_weights AS (
    SELECT o.model, o.module_id, SUM(z.elements) AS parameter_count
    FROM weight_readers AS w
    INNER JOIN operator AS o ON o.model = w.model AND o.operator_id = w.operator_id
    INNER JOIN tensor_elements AS z ON z.model = w.model AND z.tensor_id = w.tensor_id
    GROUP BY o.model, o.module_id
),

layer_work AS (
    SELECT
        o.model,
        o.module_id,
        SUM(
            t.coefficient * POWER(m.default_batch, t.batch_power)
            * POWER(m.default_sequence, t.sequence_power + t.context_power)
        ) AS macs
    FROM term AS t
    INNER JOIN operator AS o ON o.model = t.model AND o.operator_id = t.operator_id AND NOT o.is_backward
    INNER JOIN model AS m ON m.model = t.model
    WHERE t.quantity = 'macs'
    GROUP BY o.model, o.module_id
)

SELECT
    l.model,
    l.module_id,
    d.path,
    d.class_name,
    d.depth,
    -- Shape of the layer's first operand that is not a weight; null if the layer reads no activation.
    i.input_shape,
    -- Shape of the layer's last result.
    r.output_shape,
    -- Number of parameters that the layer is the first to read.
    CAST(COALESCE(w.parameter_count, 0e0) AS BIGINT) AS parameter_count,
    -- Number of multiply-accumulates.
    COALESCE(k.macs, 0e0) AS macs,
    -- Size of the layer's last result. [byte]
    r.output_byte
FROM layer_operators AS l
INNER JOIN module AS d ON d.model = l.model AND d.module_id = l.module_id
LEFT JOIN layer_inputs AS i ON i.model = l.model AND i.module_id = l.module_id
LEFT JOIN layer_results AS r ON r.model = l.model AND r.module_id = l.module_id
LEFT JOIN layer_weights AS w ON w.model = l.model AND w.module_id = l.module_id
LEFT JOIN layer_work AS k ON k.model = l.model AND k.module_id = l.module_id
