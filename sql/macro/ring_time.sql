-- Time of ring collectives on N devices: an all-reduce sends its bytes 2(N-1)/N times in 2(N-1) steps, an all-gather takes half the
-- bytes and steps (Patarasuk and Yuan 2009). [s]
CREATE MACRO ring_time(
    device_count, all_reduce_byte, all_reduce_count, all_gather_byte, all_gather_count, byte_per_s, call_s, step_s
) AS
    (device_count - 1e0) / NULLIF(device_count, 0e0) * (2e0 * all_reduce_byte + all_gather_byte) / NULLIF(byte_per_s, 0e0)
    + call_s * (all_reduce_count + all_gather_count)
    + (device_count - 1e0) * step_s * (2e0 * all_reduce_count + all_gather_count);
