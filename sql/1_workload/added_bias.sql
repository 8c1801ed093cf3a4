-- Convolutions with a bias. cuDNN's forward kernels take none: eager PyTorch adds it to the result with a kernel of
-- its own (`output.add_(reshape_bias(...))` in ATen's Convolution.cpp). Inductor adds it in the loop that follows.
-- Grain: model_id, operator_id
CREATE VIEW added_bias (
    -- Model.
    model_id,
    -- Convolution.
    operator_id,
    -- Its bias.
    bias_tensor_id,
    -- Its result.
    result_tensor_id
) AS
SELECT
    o.model_id,
    o.operator_id,
    e.tensor_id AS bias_tensor_id,
    MIN(r.tensor_id) AS result_tensor_id
FROM operator AS o
-- Operands in the order of the call: input, weight, bias.
INNER JOIN edge AS e ON e.model_id = o.model_id AND e.consumer_operator_id = o.operator_id AND e.position = 2
INNER JOIN tensor AS r ON r.model_id = o.model_id AND r.producer_operator_id = o.operator_id
WHERE o.operator_class IN ('conv', 'depthwise_conv', 'conv_transposed')
GROUP BY o.model_id, o.operator_id, e.tensor_id
