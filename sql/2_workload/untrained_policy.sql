-- Precision policies under which no model is trained, because a format of their weights or results has no gradients. A policy that
-- only computes in a narrower format than its weights, as autocast does, is not among them.
-- Grain: precision
CREATE VIEW untrained_policy AS
SELECT DISTINCT p.policy AS precision
FROM precision_policy AS p
INNER JOIN precision AS f ON f.precision IN (p.weight_precision, p.activation_precision)
WHERE NOT f.trains
