-- Size of every storage that a run allocates; on a backend that serves, in a step with a whole chunk of tokens. Allocators round
-- storages up to whole blocks (`library_constant`).
-- Grain: run, tensor_id, storage_precision
CREATE VIEW storage_byte AS
WITH sized_storages AS (
    SELECT
        r.run,
        s.* EXCLUDE (model, backend, precision),
        (z.elements + (r.chunk_factor - 1e0) * z.token_elements) 
        * GREATEST(s.bits, COALESCE(r.activation_bits, s.bits)) / 8e0 AS held_byte
    FROM run AS r
    INNER JOIN planned_storage AS s
        ON s.model = r.run.model AND s.backend = r.run.backend AND s.precision = r.run.precision
        AND NOT (r.phase = 'decode' AND COALESCE(s.is_prompt_only, FALSE))
    INNER JOIN tensor_size AS z
        ON z.model = r.run.model AND z.batch = r.run.batch AND z.sequence = r.run.sequence AND z.context = r.context
        AND z.logit_tokens = r.logit_tokens AND z.chunk_count = r.chunk_count AND z.tensor_id = s.tensor_id
)

SELECT
    s.run,
    s.tensor_id,
    s.storage_precision,
    s.is_copy,
    s.block_tensor_id,
    s.first_kernel_id,
    s.last_kernel_id,
    -- Size of the storage's elements. [byte]
    s.held_byte,
    -- Size of the allocator's blocks for the storage. [byte]
    CEIL(s.held_byte / NULLIF(c.value, 0e0)) * c.value AS allocated_byte
FROM sized_storages AS s
INNER JOIN library_constant AS c ON c.library_constant = 'allocator_block_byte'
