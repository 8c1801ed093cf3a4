-- Time of a server's own all-reduces on N devices that read one another's memory: each reads what all others have, in one kernel, or its
-- part of it in a first kernel and the sums of the others in a second, which is 2/N of the bytes. [s]
CREATE MACRO direct_time(device_count, all_reduce_byte, all_reduce_count, byte_per_s, call_s) AS
    LEAST(
        all_reduce_count * call_s + (device_count - 1e0) * all_reduce_byte / NULLIF(byte_per_s, 0e0),
        2e0 * all_reduce_count * call_s + 2e0 * (device_count - 1e0) / NULLIF(device_count, 0e0) * all_reduce_byte / NULLIF(byte_per_s, 0e0)
    );
