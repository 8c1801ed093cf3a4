-- Intermediate results that extra kernels of an inference server write and read back on a GPU: attention scores without fused
-- attention and, where the server calls a library for products, weights unpacked to 16 bits and 16-bit activations
-- (`library_call`). The last-level cache serves results that fit, per chunk of the prompts.
-- Term: library, exposed, library_written_byte, dram_byte_per_s, reorder_fraction, library_s, library_energy_j
-- Grain: run, shape_id, hardware
CREATE VIEW cost_library AS
SELECT
    *,
    -- Number of extra kernels that write and read intermediate results.
    CASE
        WHEN family <> 'gpu' OR reorder_fraction IS NULL THEN 0e0
        ELSE chunk_count * (
            CASE WHEN score_byte > 0e0 THEN 4e0 ELSE 0e0 END
            + CASE WHEN calls_library AND operand_byte > 0e0 THEN 2e0 ELSE 0e0 END
            + CASE WHEN calls_library AND unpacked_byte > 0e0 THEN 1e0 ELSE 0e0 END
        )
    END AS library_kernel_count,
    -- Bytes that the extra kernels read and write. [byte]
    CASE
        WHEN library_kernel_count = 0e0 THEN 0e0
        ELSE score_byte + CASE WHEN calls_library THEN operand_byte + unpacked_byte ELSE 0e0 END
    END AS library_written_byte,
    -- Part of `library_written_byte` that the last-level cache serves; 0 without a cache or when its bandwidth is unknown. [byte]
    CASE
        WHEN library_kernel_count = 0e0 OR COALESCE(cache_byte_per_s, 0e0) = 0e0 THEN 0e0
        ELSE cached_copy(score_byte, room_byte, chunk_count)
            + CASE
                WHEN calls_library
                    THEN cached_copy(operand_byte, room_byte, chunk_count) + cached_copy(unpacked_byte, room_byte, chunk_count)
                ELSE 0e0
            END
    END AS library_cached_byte,
    -- Time to move `library_written_byte` at the attained bandwidths of main memory and cache, plus the gaps of the extra kernels;
    -- 0 without extra kernels. [s]
    CASE
        WHEN library_kernel_count = 0e0 THEN 0e0
        ELSE (library_written_byte - library_cached_byte) / NULLIF(dram_byte_per_s * reorder_fraction, 0e0)
            + COALESCE(library_cached_byte / NULLIF(cache_byte_per_s * reorder_fraction, 0e0), 0e0)
            + library_kernel_count * kernel_gap_s
    END AS library_s,
    -- Energy to move `library_written_byte`; null when a coefficient is missing. [J]
    (library_written_byte - library_cached_byte) * dram_j_per_byte
    + level_energy(cache_level, library_cached_byte, cache_j_per_byte) AS library_energy_j
FROM cost_reorder
