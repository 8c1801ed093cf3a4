-- What every kernel of a run computes and moves: the fused kernels of its backend, the conversions its precision policy
-- inserts where the backend runs them as kernels of their own, the copies that operators make of tensors whose strides
-- they cannot take (all of them where the backend follows strides, those of convolutions where it plans layouts), and the
-- biases of convolutions where the backend adds them by kernels of their own on some parts
-- (`part_support.bias_is_kernel`).
-- Grain: model, scenario_id, kernel_id
CREATE VIEW executed_kernel AS
WITH all_kernels AS (
    SELECT * FROM fused_kernel
    UNION ALL
    SELECT * FROM cast_kernel
    UNION ALL
    SELECT * FROM copy_kernel
    UNION ALL
    SELECT * FROM bias_kernel
),

-- Inserted kernels are numbered after the fused ones.
numbered_kernels AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY model, scenario_id ORDER BY issue_place, insertion, insertion_id
        ) - 1 AS position,
        ROW_NUMBER() OVER (PARTITION BY model, scenario_id ORDER BY insertion, insertion_id) - 1 AS number
    FROM all_kernels
)

SELECT
    model,
    scenario_id,
    -- Kernel; conversions, copies and biases that the backend inserts are numbered after the fused ones.
    CASE WHEN insertion = 0 THEN kernel_id ELSE number END AS kernel_id,
    -- Fused kernel that it is, or is made for.
    kernel_id AS fused_kernel_id,
    -- Place in the order of execution, from 0.
    position,
    kernel,
    kernel_class,
    anchor_operator_id,
    operator_name,
    compute_precision,
    layout,
    operator_count,
    view_count,
    input_byte,
    weight_byte,
    kv_cache_byte,
    output_byte,
    produced_byte,
    loop_byte,
    -- Everything that crosses its border. [byte]
    input_byte + weight_byte + kv_cache_byte + output_byte AS traffic_byte
FROM numbered_kernels
