-- Properties of a backend on a part that it supports: the row of `backend_support` for the part's vendor, else the row for all
-- vendors. An unfused counterpart without rows (`backend.unfused_backend`) uses the rows of the backend whose graph it runs with
-- one kernel per operator.
-- Grain: hardware, backend
CREATE VIEW supported_backend AS
WITH supporting_backends AS (
    SELECT DISTINCT backend AS row_backend, backend, FALSE AS is_counterpart FROM backend_support
    UNION ALL
    SELECT b.backend AS row_backend, b.unfused_backend AS backend, TRUE AS is_counterpart
    FROM backend AS b
    LEFT JOIN backend_support AS own ON own.backend = b.unfused_backend
    WHERE b.unfused_backend IS NOT NULL AND own.backend IS NULL
),

chosen_vendors AS (
    SELECT h.hardware, b.backend, MAX_BY(b.vendor, CASE WHEN b.vendor = '*' THEN 0 ELSE 1 END) AS row_vendor
    FROM hardware AS h
    INNER JOIN backend_support AS b ON b.family = h.family AND b.vendor IN ('*', h.vendor)
    GROUP BY h.hardware, b.backend
),

-- An unfused counterpart of several backends uses the rows of the first by name.
chosen_rows AS (
    SELECT
        v.hardware,
        s.backend,
        s.is_counterpart,
        MIN(s.row_backend) AS row_backend,
        MIN_BY(v.row_vendor, s.row_backend) AS row_vendor
    FROM chosen_vendors AS v
    INNER JOIN supporting_backends AS s ON s.row_backend = v.backend
    GROUP BY v.hardware, s.backend, s.is_counterpart
)

SELECT
    h.hardware,
    a.backend,
    -- Backend whose rows apply: the backend itself, or for an unfused counterpart the backend that it is compared with.
    a.row_backend,
    -- Row of `backend_support` that applies: the columns of its key, joined by points.
    CONCAT(a.row_backend, '.', h.family, '.', a.row_vendor) AS support_row,
    -- True for an unfused counterpart that uses the rows of another backend.
    a.is_counterpart,
    -- Hardware family.
    h.family,
    -- Vendor of the part.
    h.vendor,
    -- True for the backend assumed on this part when the user names none; for language models, for the default among serving
    -- backends.
    b.is_default AND NOT a.is_counterpart AS is_default,
    -- Precision policy used when the user asks for fp32 without naming a policy.
    b.default_precision,
    -- True for a server of language models.
    COALESCE(n.serves, FALSE) AS serves,
    -- Way in which the host issues kernels: `async_queue`, `serial` or `graph`.
    b.dispatch,
    -- Host time to issue one kernel, on the part's usual host. [s]
    b.host_kernel_s * COALESCE(u.dispatch_ratio, 1e0) AS host_kernel_s,
    -- Host time to dispatch a view, on the part's usual host. [s]
    b.host_view_s * COALESCE(u.dispatch_ratio, 1e0) AS host_view_s,
    -- Host time of a run's call, paid once per run, on the part's usual host. [s]
    b.run_s * COALESCE(u.dispatch_ratio, 1e0) AS call_s,
    -- Share of the part's gap between kernels that remains under the backend.
    b.kernel_gap_fraction,
    -- True if a separate kernel adds the bias of a convolution.
    b.bias_is_kernel,
    -- True if vector units accumulate half-precision products in half precision.
    b.sums_in_half,
    -- Least number of elements per thread in loops of the backend; a shorter loop does not run on all threads; null when unknown.
    b.chunk_element,
    -- True if a loop runs on one thread per chunk of `chunk_element` elements, false if it runs on all threads or on one.
    b.shares_by_chunk,
    -- Backend whose efficiencies apply where this backend has none; else null.
    b.efficiency_backend,
    -- True if an inference server calls a library for products of many rows.
    b.calls_library,
    -- True if the backend runs policies in formats that the part does not compute in, by converting to the next wider format.
    b.converts,
    -- Format in which the backend multiplies weights in packed blocks; null if it unpacks them.
    b.packed_precision,
    -- Largest number of efficient cores per performance core at which the backend computes on the performance cores alone; null if it
    -- uses all cores.
    b.efficient_core_ratio
FROM chosen_rows AS a
INNER JOIN hardware AS h ON h.hardware = a.hardware
INNER JOIN backend_support AS b ON b.backend = a.row_backend AND b.family = h.family AND b.vendor = a.row_vendor
LEFT JOIN backend AS n ON n.backend = a.backend
LEFT JOIN usual_host AS u ON u.hardware = a.hardware

