-- Precision policies under which no model is trained: a format that they keep weights or write results in has no gradients. One
-- that computes in a narrower format than its weights have, as autocast does, is not among them.
-- Grain: precision
CREATE VIEW untrained_policy AS
SELECT DISTINCT p.policy AS precision
FROM precision_policy AS p
INNER JOIN precision AS f ON f.precision IN (p.weight_precision, p.activation_precision)
WHERE NOT f.trains
