-- Data parallelism on N devices: every device runs the scenario's batch. In training, a ring all-reduce of V bytes of gradients
-- follows; each device sends 2(N-1)/N * V in 2(N-1) steps (Patarasuk and Yuan 2009).
-- Grain: run, hardware, interconnect, device_count
CREATE VIEW parallel_data AS
SELECT
    *,
    -- Time that each device computes in a round of data parallelism. [s]
    single_s AS data_compute_s,
    -- Time that each device communicates in a round. [s]
    CASE
        WHEN is_training
            THEN reduce_share * gradient_byte / NULLIF(collective_byte_per_s, 0e0)
                + collective_call_s + 2e0 * (device_count - 1e0) * collective_step_s
        ELSE 0e0
    END AS data_communication_s,
    -- Bytes that each device sends in a round. [byte]
    CASE WHEN is_training THEN reduce_share * gradient_byte ELSE 0e0 END AS data_sent_byte,
    -- Memory that the model needs on each device. [byte]
    model_byte + kv_cache_byte + activation_byte AS data_memory_byte
FROM parallel_link
