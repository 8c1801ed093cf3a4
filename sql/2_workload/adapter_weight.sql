-- Weights of an adapter of rank 1 beside each of the layers' products with weights, but for those of experts: as many as the
-- product has inputs and outputs (Hu et al. 2021, LoRA).
-- Grain: model, scenario_id
CREATE VIEW adapter_weight AS
SELECT
    k.model,
    k.scenario_id,
    -- Weights.
    SUM(k.kernel_count * (p.n + p.k)) AS adapter_width
FROM trained_kernel AS k
INNER JOIN shape_step AS p
    ON p.model = k.model AND p.backend = k.backend AND p.precision = k.precision AND p.batch = k.batch
    AND p.sequence = k.sequence AND p.scenario_id = k.scenario_id AND p.shape_id = k.shape_id
WHERE NOT k.is_backward AND k.place = 'block' AND k.is_weighted AND p.is_product AND NOT k.is_expert
GROUP BY k.model, k.scenario_id
