-- Precision policies under which no model is trained, because the format of weights or results has no gradients. Policies that only
-- compute in a narrower format than the weights, such as autocast, are not listed.
-- Grain: precision
CREATE VIEW untrained_policy AS
SELECT DISTINCT p.policy AS precision
FROM precision_policy AS p
INNER JOIN precision AS f ON f.precision IN (p.weight_precision, p.activation_precision)
WHERE NOT f.trains
