-- Precision policies that use formats of fewer than 16 bits; a model's accuracy under such a policy must be checked.
-- Grain: policy
CREATE VIEW rounded_policy AS
SELECT DISTINCT r.policy
FROM precision_policy AS r
INNER JOIN precision AS p ON p.precision IN (r.compute_precision, r.weight_precision, r.activation_precision)
WHERE p.bits < 16e0
