-- Precision policies under which no model is trained: a format that they compute, keep weights or write results in has no
-- gradients. One of wider weights with autocast, say, is not among them.
-- Grain: precision
CREATE VIEW untrained_policy AS
SELECT DISTINCT p.policy AS precision
FROM precision_policy AS p
INNER JOIN precision AS f ON f.precision IN (p.compute_precision, p.weight_precision, p.activation_precision)
WHERE NOT f.trains
