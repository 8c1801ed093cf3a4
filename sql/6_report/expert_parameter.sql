-- Parameters of a model's experts: weights of which each token uses those of the experts that it chooses.
-- Grain: model
CREATE VIEW expert_parameter AS
WITH expert_weights AS (
    -- A product may read a weight through views, such as experts' transposed weights.
    SELECT DISTINCT
        e.model,
        t.storage_tensor_id AS tensor_id
    FROM operator_split AS s
    INNER JOIN edge AS e ON e.model = s.model AND e.consumer_operator_id = s.operator_id
    INNER JOIN tensor AS t ON t.model = e.model AND t.tensor_id = e.tensor_id
    INNER JOIN tensor AS w ON w.model = t.model AND w.tensor_id = t.storage_tensor_id
    WHERE s.is_expert AND w.role = 'weight'
)

SELECT
    w.model,
    -- Number of the experts' parameters.
    CAST(SUM(s.coefficient) AS BIGINT) AS expert_parameter_count
FROM expert_weights AS w
INNER JOIN tensor_term AS s ON s.model = w.model AND s.tensor_id = w.tensor_id
GROUP BY w.model
