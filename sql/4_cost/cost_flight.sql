-- Loads in flight: threads of PyTorch's own GPU kernels without vector loads wait for each load, so that the number of resident
-- threads and the latency of main memory limit the rate of elements (Little's law), whatever their size.
-- Term: flight, memory, loop_elements, , flight_fraction, flight_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_flight AS
SELECT
    *,
    -- Time of the loads of all elements (0 if the number of threads is unknown), plus the blocks of threads for rows; 0 if bandwidth
    -- limits the kernel. [s]
    CASE
        WHEN follows_strides AND macs = 0e0 AND flight_fraction > 0e0
            THEN COALESCE(loop_elements * element_s / NULLIF(flight_fraction, 0e0), 0e0) + block_s
        ELSE 0e0
    END AS flight_s
FROM cost_row
