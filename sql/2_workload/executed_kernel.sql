-- Work and traffic of every kernel of a run: the fused kernels of its backend, and the kernels that the backend inserts for
-- conversions (`cast_kernel`), copies of tensors (`copy_kernel`) and biases of convolutions (`bias_kernel`).
-- Grain: run, kernel_id
CREATE VIEW executed_kernel AS
WITH planned_kernels AS (
    SELECT * FROM fused_kernel
    UNION ALL
    SELECT * FROM cast_kernel
    UNION ALL
    SELECT * FROM copy_kernel
    UNION ALL
    SELECT * FROM bias_kernel
),

-- Kernels that run only in prefill, not in a decode step.
prompt_kernels AS (
    SELECT r.run, k.kernel_id
    FROM run AS r
    INNER JOIN kernel AS k ON k.model = r.run.model AND k.backend = r.run.backend AND k.is_prompt_only
    WHERE r.phase = 'decode'
),

all_kernels AS (
    SELECT k.*
    FROM planned_kernels AS k
    LEFT JOIN prompt_kernels AS p ON p.run = k.run AND p.kernel_id = k.kernel_id
    WHERE p.kernel_id IS NULL
),

-- Runs of a backend under one policy and layout have the same kernels, except for prompts. So only the first run is numbered.
first_runs AS (
    SELECT
        r.run,
        MIN(r.run.scenario_id) OVER (
            PARTITION BY r.run.model, r.run.backend, r.run.precision, r.memory_format, r.run_layout, p.run.model IS NULL
        ) AS first_scenario_id
    FROM run AS r
    LEFT JOIN (SELECT DISTINCT run FROM prompt_kernels) AS p ON p.run = r.run
),

-- Inserted kernels are numbered after the fused kernels.
numbered_kernels AS (
    SELECT
        k.run,
        k.insertion,
        k.insertion_id,
        ROW_NUMBER() OVER (PARTITION BY k.run ORDER BY k.issue_place, k.insertion, k.insertion_id) - 1 AS position,
        -- Numbering starts after the last fused kernel, because a policy's framework version may not run all inserted kernels.
        ROW_NUMBER() OVER (PARTITION BY k.run ORDER BY k.insertion, k.insertion_id)
        - SUM(CASE WHEN k.insertion = 0 THEN 1 ELSE 0 END) OVER (PARTITION BY k.run)
        + MAX(CASE WHEN k.insertion = 0 THEN k.kernel_id ELSE -1 END) OVER (PARTITION BY k.run) AS number,
        SUM(k.view_count) OVER (
            PARTITION BY k.run ORDER BY k.issue_place, k.insertion, k.insertion_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS issued_view_count,
        SUM(CASE WHEN k.kernel_class = 'bias' THEN 1 ELSE 0 END) OVER (
            PARTITION BY k.run ORDER BY k.issue_place, k.insertion, k.insertion_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS issued_bias_count
    FROM all_kernels AS k
    INNER JOIN first_runs AS r ON r.run = k.run AND r.first_scenario_id = k.run.scenario_id
),

placed_kernels AS (
    SELECT k.*, n.position, n.number, n.issued_view_count, n.issued_bias_count
    FROM all_kernels AS k
    INNER JOIN first_runs AS r ON r.run = k.run
    INNER JOIN numbered_kernels AS n
        ON n.run.model = r.run.model AND n.run.scenario_id = r.first_scenario_id AND n.insertion = k.insertion
        AND n.insertion_id = k.insertion_id
)

SELECT
    run,
    -- Kernel number; inserted conversions, copies and biases have numbers after the fused kernels.
    CASE WHEN insertion = 0 THEN kernel_id ELSE CAST(number AS BIGINT) END AS kernel_id,
    -- Number of the fused kernel; for an inserted kernel, of the fused kernel that it serves.
    kernel_id AS fused_kernel_id,
    -- Position in the order of execution, from 0.
    position,
    kernel,
    kernel_class,
    anchor_operator_id,
    operator_name,
    compute_precision,
    layout,
    operator_count,
    view_count,
    -- Number of views that the host dispatches from the start of the run up to this kernel.
    CAST(issued_view_count AS BIGINT) AS issued_view_count,
    -- Number of bias kernels of convolutions up to and including this kernel; some parts run no bias kernels
    -- (`part_support.bias_is_kernel`).
    CAST(issued_bias_count AS BIGINT) AS issued_bias_count,
    input_byte,
    weight_byte,
    kv_cache_byte,
    output_byte,
    produced_byte,
    loop_byte,
    -- Sum of all bytes that cross the kernel's border. [byte]
    input_byte + weight_byte + kv_cache_byte + output_byte AS traffic_byte
FROM placed_kernels
