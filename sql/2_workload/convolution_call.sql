-- Algorithm and reordered bytes of each convolution in PyTorch: cuDNN on a GPU, oneDNN or PyTorch's own matrix product on a processor
-- (`use_mkldnn` and `slow_conv2d_forward` in ATen). Backends that do not call ATen have no rows.
-- Grain: run, kernel_id
CREATE VIEW convolution_call AS
WITH aten_backends AS (
    SELECT backend, plans_layout
    FROM backend
    WHERE calls_aten
),

convolutions AS (
    SELECT
        w.run,
        w.kernel_id,
        weight.elements * p.bits / 8e0 AS weight_byte,
        image.elements * p.bits / 8e0 AS image_byte,
        w.output_byte,
        -- PyTorch computes the convolution of one small image as its own matrix product (im2col).
        w.compute_precision = 'fp32' AND COALESCE(z.samples = 1e0 AND z.image <= cn.value, FALSE) AS is_native,
        NOT a.plans_layout AND w.layout = 'nchw' AS is_nchw,
        -- A view of one sample has a batch stride of 0, which ATen does not recognize as channels-last. ATen then copies the image
        -- and convolves in nchw, unless weights of several taps show the format (`mkldnn_conv_use_channels_last`).
        a.plans_layout AND r.run_layout = 'nhwc' AND r.run.batch = 1 AND COALESCE(z.taps, 1e0) = 1e0
        AND t.is_batch_first AND t.shape <> s.shape AS hides_format,
        c.tensor_id IS NOT NULL AS is_copied,
        -- oneDNN reads images with fewer channels than a block without reordering.
        COALESCE(z.k >= cb.value * z.taps, TRUE) AS is_image_blocked,
        -- A backend that plans channels-last reorders weights of several taps in every run.
        a.plans_layout AND COALESCE(z.taps > 1e0, FALSE) AS is_put_last,
        -- cuDNN converts channels-last groups to nchw and back unless their number of channels is a power of two: groups of 24, 40,
        -- 48, 56, 112, 120 and 168 channels take longer in channels-last by the time of two such copies (timm's RegNets on RTX 3090
        -- and 4090); groups of 8, 16 and 128 do not.
        w.layout = 'nhwc' AND COALESCE(z.gemm_count > 1e0, FALSE)
        AND COALESCE(POWER(2e0, ROUND(LOG2(z.k / NULLIF(z.taps, 0e0)))) <> z.k / NULLIF(z.taps, 0e0), FALSE) AS is_uneven,
        -- cuDNN's tiles for tensor cores contain at most 16 groups, each of at least 4 channels. Narrower groups of halves in
        -- channels-last run on the vector units.
        w.layout = 'nhwc' AND p.bits = 16 AND COALESCE(z.gemm_count > 1e0 AND z.k < cg.value * z.taps, FALSE) AS is_direct,
        -- For a kernel of one tap and stride 1, the image needs no im2col copy.
        CASE WHEN z.m * z.k = z.image THEN 0e0 ELSE z.m * z.k * p.bits / 8e0 END AS column_byte,
        a.plans_layout OR w.compute_precision = 'fp32' AS is_never_converted,
        -- A kernel of one tap and stride 1 is a product in nchw if the rows of the image begin at multiples of 16 bytes. Of rows of 98
        -- bytes cuDNN converts the image; of rows of 392 bytes it runs a kernel without wgmma in the time of a conversion.
        COALESCE(z.m * z.k = z.image, FALSE)
        AND COALESCE(FLOOR(z.m * p.bits / NULLIF(128e0 * z.samples, 0e0)) * 128e0 * z.samples = z.m * p.bits, TRUE) AS is_product,
        -- Images of fewer than eight channels, such as a network's input, are padded in nhwc too.
        COALESCE(z.k < 8e0 * z.taps AND COALESCE(z.gemm_count, 1e0) = 1e0, FALSE) AS is_narrow,
        -- Channels are padded to a vector of eight.
        image.elements * CEIL(z.k / NULLIF(z.taps, 0e0) / 8e0) * 8e0 * z.taps / NULLIF(z.k, 0e0) AS padded_elements,
        image.elements AS image_elements,
        weight.elements AS weight_elements,
        z.m * z.n * COALESCE(z.gemm_count, 1e0) AS result_elements,
        cw.value AS slow_ratio,
        p.bits / 8e0 AS element_byte
    FROM run AS r
    INNER JOIN aten_backends AS a ON a.backend = r.run.backend
    INNER JOIN executed_kernel AS w ON w.run = r.run
    INNER JOIN operator_class AS oc ON oc.operator_class = w.kernel_class AND oc.is_convolution
    INNER JOIN precision AS p ON p.precision = w.compute_precision
    INNER JOIN library_constant AS cn ON cn.library_constant = 'native_convolution_elements'
    INNER JOIN library_constant AS cb ON cb.library_constant = 'blocked_channels'
    INNER JOIN library_constant AS cw ON cw.library_constant = 'slow_conversion_ratio'
    INNER JOIN library_constant AS cg ON cg.library_constant = 'tensor_group_channels'
    INNER JOIN edge AS ei ON ei.model = w.run.model AND ei.consumer_operator_id = w.anchor_operator_id AND ei.position = 0
    INNER JOIN tensor AS t ON t.model = ei.model AND t.tensor_id = ei.tensor_id
    INNER JOIN tensor AS s ON s.model = t.model AND s.tensor_id = t.storage_tensor_id
    LEFT JOIN layout_copy AS c
        ON c.model = ei.model AND c.memory_format = r.run_layout
        AND c.operator_id = ei.consumer_operator_id AND c.tensor_id = ei.tensor_id
    INNER JOIN tensor_size AS image
        ON image.model = r.run.model AND image.batch = r.run.batch AND image.sequence = r.run.sequence AND image.context = r.context
        AND image.logit_tokens = r.logit_tokens AND image.chunk_count = r.chunk_count AND image.tensor_id = ei.tensor_id
    INNER JOIN edge AS ew ON ew.model = w.run.model AND ew.consumer_operator_id = w.anchor_operator_id AND ew.position = 1
    INNER JOIN tensor_size AS weight
        ON weight.model = r.run.model AND weight.batch = r.run.batch AND weight.sequence = r.run.sequence AND weight.context = r.context
        AND weight.logit_tokens = r.logit_tokens AND weight.chunk_count = r.chunk_count AND weight.tensor_id = ew.tensor_id
    INNER JOIN step_size AS z
        ON z.model = r.run.model AND z.batch = r.run.batch AND z.sequence = r.run.sequence AND z.context = r.context
        AND z.logit_tokens = r.logit_tokens AND z.chunk_count = r.chunk_count
        AND z.operator_id = w.anchor_operator_id AND z.step = 'main'
),

handed_over AS (
    SELECT
        *,
        is_uneven AND NOT is_direct AS is_converted,
        hides_format AND NOT is_native AS is_misread,
        -- oneDNN reorders the weights at every call, and images that are not channels-last into blocks of channels and back.
        is_nchw OR (hides_format AND NOT is_native) AS is_blocked
    FROM convolutions
),

blocked_images AS (
    SELECT
        *,
        CASE WHEN is_misread THEN image_byte ELSE 0e0 END AS copied_byte,
        CASE WHEN is_blocked AND is_image_blocked THEN image_byte ELSE 0e0 END AS blocked_image_byte,
        CASE WHEN is_blocked THEN output_byte ELSE 0e0 END AS blocked_output_byte,
        CASE WHEN is_put_last THEN weight_byte ELSE 0e0 END AS channels_last_byte,
        -- cuDNN's kernels for groups of warps read channels last and convert tensors in nchw; weights, narrow images, and groups that
        -- cuDNN converts to nchw first, take `slow_conversion_ratio` times as long an element
        -- (benchmarks/measured/h200_operators.parquet).
        (is_nchw OR is_converted) AND NOT is_never_converted AND NOT is_product AS needs_channels_last,
        is_narrow AND NOT is_nchw AND NOT is_never_converted AS is_padded,
        CASE
            WHEN needs_channels_last
                THEN COALESCE(padded_elements * CASE WHEN is_narrow THEN slow_ratio ELSE 1e0 END + weight_elements * slow_ratio + result_elements, 0e0)
                    + CASE WHEN is_converted THEN (image_elements + result_elements) * slow_ratio ELSE 0e0 END
            WHEN is_padded THEN image_elements
            ELSE 0e0
        END AS nchw_elements,
        CASE
            WHEN needs_channels_last THEN COALESCE(2e0 * (padded_elements + weight_elements + result_elements) * element_byte, 0e0)
            WHEN is_padded THEN (image_elements + padded_elements) * element_byte
            ELSE 0e0
        END AS nchw_byte
    FROM handed_over
)

SELECT
    run,
    kernel_id,
    -- True if PyTorch computes the convolution as its own matrix product instead of calling oneDNN.
    is_native,
    -- True if ATen copies a channels-last image, because it does not recognize the format.
    is_misread,
    -- Algorithm: `wide` (cuDNN's kernel for all sizes, which uses vector units) for narrow groups in channels-last, or null.
    CASE WHEN is_direct AND NOT is_native THEN 'wide' END AS algorithm,
    -- Scratch memory during the call: oneDNN's reordered tensors, or the im2col matrix. [byte]
    CASE
        WHEN is_native THEN column_byte
        ELSE copied_byte + GREATEST(weight_byte + blocked_image_byte, blocked_output_byte)
    END AS scratch_byte,
    -- Scratch memory during the call for channels-last weights. [byte]
    channels_last_byte,
    -- Bytes that a GPU library reads and writes to convert the memory format of image and result. [byte]
    CASE WHEN is_converted THEN 2e0 * (image_byte + output_byte) ELSE 0e0 END AS converted_byte,
    -- Elements that a GPU library converts from nchw for matrix units that read channels last: image, weights and result, where an
    -- element of a slow conversion counts several times; in channels-last the elements of an image whose channels are padded.
    nchw_elements,
    -- Bytes that this conversion reads and writes. [byte]
    nchw_byte,
    -- Bytes that a processor's library reads and writes to reorder tensors. [byte]
    2e0 * (
        channels_last_byte
        + CASE WHEN is_native THEN column_byte ELSE weight_byte + blocked_image_byte + blocked_output_byte END
        -- A copy listed in `layout_copy` is a separate kernel.
        + CASE WHEN is_copied THEN 0e0 ELSE copied_byte END
    ) AS reorder_byte
FROM blocked_images

