-- Every run on every part that can execute it: the backend supports the part's family and the part
-- executes the policy's precision itself.
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW target (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Hardware family.
    family,
    -- Maker of the part.
    vendor,
    -- Precision policy.
    policy,
    -- Backend.
    backend,
    -- `nchw` or `nhwc`.
    memory_format,
    -- Samples in one run.
    batch,
    -- 1 when the last-level cache may hold a tensor from its producer, 2 when also weights and inputs from
    -- the run before, else 0.
    is_cache_warm,
    -- `async_queue`, `serial` or `graph`.
    dispatch,
    -- Host time to issue one kernel. [s]
    host_kernel_s,
    -- Host time of a view. [s]
    host_view_s,
    -- Host time of one whole run, paid once. [s]
    run_s,
    -- Share of the part's gap between kernels that remains under the backend.
    kernel_gap_fraction,
    -- True where the bias of a convolution is added by a kernel of its own.
    bias_is_kernel,
    -- True where vector units sum products of half precision in half precision.
    sums_in_half,
    -- Elements of a loop of the backend's own that each thread must get, or not all of them run it; null where not known.
    chunk_element,
    -- True where a loop goes to as many threads as it has such chunks for, not to all or one.
    shares_by_chunk,
    -- True where PyTorch's own kernels run, each in the layout its tensors have.
    follows_strides,
    -- True where ATen calls the library of a matrix product; files from before it was known: not.
    calls_aten
) AS
WITH policy_precisions AS (
    SELECT policy, MAX_BY(compute_precision, CASE WHEN operator_class = 'linear' THEN 1 ELSE 0 END) AS precision
    FROM precision_policy
    WHERE operator_class IN ('*', 'linear') AND compute_precision IS NOT NULL
    GROUP BY policy
),

native_policies AS (
    SELECT r.hardware_id, p.policy
    FROM policy_precisions AS p
    INNER JOIN hardware_rate AS r ON r.precision = p.precision
    WHERE r.is_native
)

SELECT
    r.model_id,
    r.scenario_id,
    s.hardware_id,
    s.family,
    s.vendor,
    r.policy,
    r.backend,
    r.memory_format,
    r.batch,
    r.is_cache_warm,
    s.dispatch,
    s.host_kernel_s * r.host_factor AS host_kernel_s,
    s.host_view_s * r.host_factor AS host_view_s,
    s.run_s * r.host_factor AS run_s,
    s.kernel_gap_fraction,
    s.bias_is_kernel,
    s.sums_in_half,
    s.chunk_element,
    s.shares_by_chunk,
    b.follows_strides,
    COALESCE(b.calls_aten, FALSE) AS calls_aten
FROM run AS r
INNER JOIN backend AS b ON b.backend = r.backend
INNER JOIN supported_backend AS s ON s.backend = r.backend
INNER JOIN native_policies AS n ON n.hardware_id = s.hardware_id AND n.policy = r.policy
