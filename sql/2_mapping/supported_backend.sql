-- What a backend does on a part that it supports: the row of `backend_support` for the part's maker, or the one for all.
-- Grain: hardware_id, backend
CREATE VIEW supported_backend (
    -- Part.
    hardware_id,
    -- Backend.
    backend,
    -- Hardware family.
    family,
    -- Maker of the part.
    vendor,
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
    -- True where the bias of a convolution is added by a kernel of its own; null in files from before it was known: not.
    bias_is_kernel,
    -- True where vector units sum products of half precision in half precision.
    sums_in_half,
    -- Elements of a loop of the backend's own that each thread must get, or not all of them run it; null where not known.
    chunk_element,
    -- True where a loop goes to as many threads as it has such chunks for, not to all or one.
    shares_by_chunk,
    -- Backend whose efficiencies hold where this one has none; null: none.
    efficiency_backend
) AS
WITH chosen_vendors AS (
    SELECT h.hardware_id, b.backend, MAX_BY(b.vendor, CASE WHEN b.vendor = '*' THEN 0 ELSE 1 END) AS row_vendor
    FROM hardware AS h
    INNER JOIN backend_support AS b ON b.family = h.family AND b.vendor IN ('*', h.vendor)
    GROUP BY h.hardware_id, b.backend
)

SELECT
    h.hardware_id,
    b.backend,
    h.family,
    h.vendor,
    b.dispatch,
    b.host_kernel_s,
    b.host_view_s,
    b.run_s,
    b.kernel_gap_fraction,
    b.bias_is_kernel,
    COALESCE(b.sums_in_half, TRUE) AS sums_in_half,
    b.chunk_element,
    COALESCE(b.shares_by_chunk, FALSE) AS shares_by_chunk,
    b.efficiency_backend
FROM chosen_vendors AS c
INNER JOIN hardware AS h ON h.hardware_id = c.hardware_id
INNER JOIN backend_support AS b ON b.backend = c.backend AND b.family = h.family AND b.vendor = c.row_vendor
