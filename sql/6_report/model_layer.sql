-- Modules of a model in order. A module's parameters and work include those of its submodules. Sizes are those with which the model was
-- ingested. If a model calls a module several times, the view shows the shapes of the first call. It counts calls as one if no operator
-- outside the module runs between them.
-- Grain: model, module_id
CREATE VIEW model_layer AS
WITH module_operators AS (
    SELECT
        a.model,
        a.module_id,
        o.operator_id,
        MIN(o.operator_id) OVER (PARTITION BY a.model, a.module_id) AS first_operator_id,
        ROW_NUMBER() OVER (PARTITION BY a.model, a.module_id ORDER BY o.operator_id) AS place
    FROM operator AS o
    INNER JOIN module AS d ON d.model = o.model AND d.module_id = o.module_id
    INNER JOIN module AS a
        ON a.model = d.model AND (a.path = '' OR a.path = d.path OR STARTS_WITH(d.path, CONCAT(a.path, '.')))
    WHERE NOT o.is_backward
),

-- An operator outside the module ends its first call.
first_calls AS (
    SELECT model, module_id, MIN(operator_id) AS first_operator_id, MAX(operator_id) AS last_operator_id
    FROM module_operators
    WHERE operator_id = first_operator_id + place - 1
    GROUP BY model, module_id
),

-- The first operand from outside that is not a weight.
layer_inputs AS (
    SELECT
        c.model,
        c.module_id,
        t.shape AS input_shape,
        ROW_NUMBER() OVER (PARTITION BY c.model, c.module_id ORDER BY e.consumer_operator_id, e.position) AS place
    FROM first_calls AS c
    INNER JOIN edge AS e
        ON e.model = c.model AND e.consumer_operator_id BETWEEN c.first_operator_id AND c.last_operator_id
    INNER JOIN tensor AS t ON t.model = e.model AND t.tensor_id = e.tensor_id AND t.role IN ('activation', 'input')
    WHERE COALESCE(t.producer_operator_id, -1) < c.first_operator_id
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

-- The last operator that reads each tensor in the forward pass.
last_readers AS (
    SELECT e.model, e.tensor_id, MAX(e.consumer_operator_id) AS operator_id
    FROM edge AS e
    INNER JOIN operator AS o ON o.model = e.model AND o.operator_id = e.consumer_operator_id AND NOT o.is_backward
    GROUP BY e.model, e.tensor_id
),

-- The last result that an operator outside reads or the model returns.
layer_results AS (
    SELECT
        c.model,
        c.module_id,
        t.shape AS output_shape,
        z.elements * p.bits / 8e0 AS output_byte,
        ROW_NUMBER() OVER (PARTITION BY c.model, c.module_id ORDER BY t.producer_operator_id DESC, t.tensor_id) AS place
    FROM first_calls AS c
    INNER JOIN tensor AS t
        ON t.model = c.model AND t.producer_operator_id BETWEEN c.first_operator_id AND c.last_operator_id
    INNER JOIN tensor_elements AS z ON z.model = t.model AND z.tensor_id = t.tensor_id
    INNER JOIN precision AS p ON p.precision = t.precision
    LEFT JOIN last_readers AS r ON r.model = t.model AND r.tensor_id = t.tensor_id
    WHERE t.is_output OR r.operator_id > c.last_operator_id
),

-- A weight that several layers share belongs to the first of these layers.
weight_readers AS (
    SELECT e.model, e.tensor_id, MIN(e.consumer_operator_id) AS operator_id
    FROM edge AS e
    INNER JOIN tensor AS t ON t.model = e.model AND t.tensor_id = e.tensor_id AND t.role = 'weight'
    GROUP BY e.model, e.tensor_id
),

operator_parameters AS (
    SELECT w.model, w.operator_id, SUM(z.elements) AS parameter_count
    FROM weight_readers AS w
    INNER JOIN tensor_elements AS z ON z.model = w.model AND z.tensor_id = w.tensor_id
    GROUP BY w.model, w.operator_id
),

operator_macs AS (
    SELECT
        t.model,
        t.operator_id,
        SUM(
            t.coefficient * POWER(m.default_batch, t.batch_power)
            * POWER(m.default_sequence, t.sequence_power + t.context_power)
        ) AS macs
    FROM term AS t
    INNER JOIN model AS m ON m.model = t.model
    WHERE t.quantity = 'macs'
    GROUP BY t.model, t.operator_id
),

module_sums AS (
    SELECT
        o.model,
        o.module_id,
        SUM(COALESCE(w.parameter_count, 0e0)) AS parameter_count,
        SUM(COALESCE(k.macs, 0e0)) AS macs
    FROM module_operators AS o
    LEFT JOIN operator_parameters AS w ON w.model = o.model AND w.operator_id = o.operator_id
    LEFT JOIN operator_macs AS k ON k.model = o.model AND k.operator_id = o.operator_id
    GROUP BY o.model, o.module_id
)

SELECT
    s.model,
    s.module_id,
    d.path,
    d.class_name,
    d.depth,
    -- Shape of the first operand from outside that is not a weight; null if the module reads no activation.
    i.input_shape,
    -- Shape of the module's last result that is read outside; null if no operator outside reads one.
    r.output_shape,
    -- Number of parameters that the module and its submodules are the first to read.
    CAST(s.parameter_count AS BIGINT) AS parameter_count,
    -- Number of multiply-accumulates of all calls, submodules included.
    s.macs,
    -- Size of that result. [byte]
    r.output_byte
FROM module_sums AS s
INNER JOIN module AS d ON d.model = s.model AND d.module_id = s.module_id
LEFT JOIN layer_inputs AS i ON i.model = s.model AND i.module_id = s.module_id AND i.place = 1
LEFT JOIN layer_results AS r ON r.model = s.model AND r.module_id = s.module_id AND r.place = 1
