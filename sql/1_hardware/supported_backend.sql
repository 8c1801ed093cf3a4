-- Behaviour of a backend on a part that it supports: the row of `backend_support` for the part's maker, or the one for all makers.
-- A backend without rows that runs the graph of another one with one kernel per operator (`backend.unfused_backend`) uses the rows
-- of that one.
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

-- A counterpart of several backends uses the rows of the first by name.
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
    -- Backend whose rows apply: itself, or the one whose unfused counterpart it is.
    a.row_backend,
    -- Row of `backend_support` that applies, its key joined by points.
    CONCAT(a.row_backend, '.', h.family, '.', a.row_vendor) AS support_row,
    -- True for an unfused counterpart without rows of its own.
    a.is_counterpart,
    -- Hardware family.
    h.family,
    -- Maker of the part.
    h.vendor,
    -- True for the backend that answers assume on the part; for language models, of the backends that serve.
    b.is_default AND NOT a.is_counterpart AS is_default,
    -- Policy used if single precision is asked for without further detail.
    b.default_precision,
    -- True for a server of language models.
    COALESCE(n.serves, FALSE) AS serves,
    -- `async_queue`, `serial` or `graph`.
    b.dispatch,
    -- Host time to issue one kernel, on the part's usual host. [s]
    b.host_kernel_s * COALESCE(u.dispatch_ratio, 1e0) AS host_kernel_s,
    -- Host time of a view, on the part's usual host. [s]
    b.host_view_s * COALESCE(u.dispatch_ratio, 1e0) AS host_view_s,
    -- Host time of one whole run, paid once, on the part's usual host. [s]
    b.run_s * COALESCE(u.dispatch_ratio, 1e0) AS call_s,
    -- Share of the part's gap between kernels that remains under the backend.
    b.kernel_gap_fraction,
    -- True if a kernel of its own adds the bias of a convolution.
    b.bias_is_kernel,
    -- True if vector units sum products of half precision in half precision.
    b.sums_in_half,
    -- Fewest elements per thread of the backend's own loops: a shorter loop does not run on all threads; null when unknown.
    b.chunk_element,
    -- True if a loop runs on as many threads as it has such chunks, false if on all or one.
    b.shares_by_chunk,
    -- Backend whose efficiencies apply where this one has none; null without one.
    b.efficiency_backend,
    -- True if a server calls a library for products of many rows.
    b.calls_library,
    -- True if the backend runs policies whose format the part does not compute in, in the next wider format.
    b.converts,
    -- Format in which the backend multiplies weights in packed blocks; null if it unpacks them.
    b.packed_precision
FROM chosen_rows AS a
INNER JOIN hardware AS h ON h.hardware = a.hardware
INNER JOIN backend_support AS b ON b.backend = a.row_backend AND b.family = h.family AND b.vendor = a.row_vendor
LEFT JOIN backend AS n ON n.backend = a.backend
LEFT JOIN usual_host AS u ON u.hardware = a.hardware

