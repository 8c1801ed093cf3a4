-- Convolutions with a bias. cuDNN's forward kernels take no bias: eager PyTorch adds the bias to the result with a separate kernel
-- (`output.add_(reshape_bias(...))` in ATen's Convolution.cpp). Inductor adds the bias in the loop that follows.
-- Grain: model, operator_id
CREATE VIEW added_bias AS
SELECT
    o.model,
    o.operator_id,
    -- Bias of the convolution.
    e.tensor_id AS bias_tensor_id,
    -- Result of the convolution.
    MIN(r.tensor_id) AS result_tensor_id
FROM operator AS o
-- Operands in the order of the call: input, weight, bias. A gradient reads other tensors and adds no bias.
INNER JOIN edge AS e ON e.model = o.model AND e.consumer_operator_id = o.operator_id AND e.position = 2
INNER JOIN tensor AS r ON r.model = o.model AND r.producer_operator_id = o.operator_id
INNER JOIN operator_class AS c ON c.operator_class = o.operator_class AND c.is_convolution
WHERE NOT o.is_backward OR o.is_repeated
GROUP BY o.model, o.operator_id, e.tensor_id

