-- Algorithm of a depthwise convolution in PyTorch on a GPU, if it differs from the algorithm that the layout's efficiency rows
-- describe (`use_cudnn_depthwise` and `check_cudnn_depthwise_workload_with_filter` in ATen). Backends that do not call ATen have no
-- rows.
-- Grain: run, kernel_id
CREATE VIEW depthwise_call AS
WITH aten_backends AS (
    SELECT backend
    FROM backend
    WHERE calls_aten
),

limits AS (
    SELECT
        MAX(CASE WHEN library_constant = 'depthwise_taps' THEN value END) AS most_taps,
        MAX(CASE WHEN library_constant = 'depthwise_half_taps' THEN value END) AS most_half_taps,
        MAX(CASE WHEN library_constant = 'depthwise_short_taps' THEN value END) AS most_short_taps,
        MAX(CASE WHEN library_constant = 'depthwise_least_channels' THEN value END) AS least_channels,
        MAX(CASE WHEN library_constant = 'depthwise_least_width' THEN value END) AS least_width,
        MAX(CASE WHEN library_constant = 'depthwise_strided_channels' THEN value END) AS strided_channels,
        MAX(CASE WHEN library_constant = 'depthwise_large_channels' THEN value END) AS large_channels,
        MAX(CASE WHEN library_constant = 'depthwise_large_width' THEN value END) AS large_width,
        MAX(CASE WHEN library_constant = 'depthwise_large_elements' THEN value END) AS large_elements
    FROM library_constant
),

-- Each table is materialized, because the planner would otherwise join every tensor of a run with every other first.
called_kernels AS MATERIALIZED (
    SELECT
        w.run,
        w.kernel_id,
        w.anchor_operator_id,
        w.layout,
        w.compute_precision,
        r.context,
        r.logit_tokens,
        r.chunk_count,
        ei.tensor_id AS image_id,
        ew.tensor_id AS weight_id
    FROM run AS r
    INNER JOIN aten_backends AS a ON a.backend = r.run.backend
    INNER JOIN executed_kernel AS w ON w.run = r.run AND w.kernel_class = 'depthwise_conv'
    INNER JOIN edge AS ei ON ei.model = w.run.model AND ei.consumer_operator_id = w.anchor_operator_id AND ei.position = 0
    INNER JOIN edge AS ew ON ew.model = w.run.model AND ew.consumer_operator_id = w.anchor_operator_id AND ew.position = 1
),

kernel_images AS MATERIALIZED (
    SELECT w.*, z.elements AS image_elements
    FROM called_kernels AS w
    INNER JOIN tensor_size AS z
        ON z.model = w.run.model AND z.batch = w.run.batch AND z.sequence = w.run.sequence AND z.context = w.context
        AND z.logit_tokens = w.logit_tokens AND z.chunk_count = w.chunk_count AND z.tensor_id = w.image_id
),

sized_kernels AS MATERIALIZED (
    SELECT w.*, z.elements AS weight_elements
    FROM kernel_images AS w
    INNER JOIN tensor_size AS z
        ON z.model = w.run.model AND z.batch = w.run.batch AND z.sequence = w.run.sequence AND z.context = w.context
        AND z.logit_tokens = w.logit_tokens AND z.chunk_count = w.chunk_count AND z.tensor_id = w.weight_id
),

convolutions AS (
    SELECT
        w.run,
        w.kernel_id,
        w.layout,
        GREATEST(w.image_elements, z.threads) AS most_elements,
        w.compute_precision = 'fp16' AS is_half,
        w.run.batch = 1 AS is_one_sample,
        -- A result needs one multiplication per tap.
        z.macs / NULLIF(z.threads, 0e0) AS taps,
        -- The square of the stride, changed by rounding at the border.
        w.image_elements / NULLIF(z.threads, 0e0) AS thinning,
        w.weight_elements * z.threads / NULLIF(z.macs, 0e0) AS channels,
        SQRT(w.image_elements * z.macs / NULLIF(w.run.batch * w.weight_elements * z.threads, 0e0)) AS width
    FROM sized_kernels AS w
    INNER JOIN step_size AS z
        ON z.model = w.run.model AND z.batch = w.run.batch AND z.sequence = w.run.sequence AND z.context = w.context
        AND z.logit_tokens = w.logit_tokens AND z.chunk_count = w.chunk_count
        AND z.operator_id = w.anchor_operator_id AND z.step = 'main'
),

-- In nchw, cuDNN runs half-precision convolutions with square kernels of side 1, 3 and 5 at stride 1 and, for enough work, stride
-- 2; PyTorch's kernel with one thread per result runs all others. In channels-last, cuDNN runs all, with tuned kernels up to 7 x 7.
given_convolutions AS (
    SELECT
        c.*,
        l.most_taps,
        l.most_short_taps,
        l.large_elements,
        c.is_half AND c.taps <= l.most_half_taps AND c.channels >= l.least_channels AND c.width >= l.least_width
        -- The side must be odd.
        AND POWER(ROUND(SQRT(c.taps)), 2e0) = c.taps AND ROUND(SQRT(c.taps)) % 2e0 = 1e0
        -- The stride must be 1 or 2: the limits 2 and 6 separate the squares 1, 4 and 9.
        AND (
            c.thinning <= 2e0
            OR (
                c.thinning <= 6e0
                AND (
                    c.is_one_sample OR c.channels >= l.strided_channels
                    OR (c.channels >= l.large_channels AND c.width >= l.large_width)
                )
            )
        ) AS is_given
    FROM convolutions AS c
    CROSS JOIN limits AS l
)

SELECT
    run,
    kernel_id,
    -- Algorithm: `own` (PyTorch's kernel for few taps), `wide` (PyTorch's kernel for many taps in nchw, cuDNN's kernel for all
    -- sizes in channels-last), `large` (cuDNN's kernel for tensors that 31 bits cannot index in channels-last), or null (the kernel
    -- that the layout's efficiency rows describe).
    CASE
        WHEN layout = 'nhwc' AND most_elements >= large_elements THEN 'large'
        WHEN layout = 'nhwc' AND taps > most_taps THEN 'wide'
        WHEN layout = 'nchw' AND NOT is_given AND taps > most_short_taps THEN 'wide'
        WHEN layout = 'nchw' AND NOT is_given THEN 'own'
    END AS algorithm
FROM given_convolutions
