-- Weights of an adapter of rank 1 on every product with weights in the layers, experts excluded: number of the product's inputs
-- plus number of its outputs (Hu et al. 2021, LoRA).
-- Grain: run
CREATE VIEW adapter_weight AS
SELECT
    k.run,
    -- Number of weights of the adapter of rank 1.
    SUM(k.kernel_count * (p.n + p.k)) AS adapter_width
FROM trained_kernel AS k
INNER JOIN shape_step AS p ON p.run = k.run AND p.shape_id = k.shape_id
WHERE NOT k.is_backward AND k.place = 'block' AND k.is_weighted AND p.is_product AND NOT k.is_expert
GROUP BY k.run
