-- Mean number of keys that a query visits under a causal mask, where each query sees one key more than the one before it, the last
-- sees all, and all queries of a block visit the keys of its last one.
CREATE MACRO seen_keys(queries, keys, block_queries) AS
    LEAST(
        keys,
        keys - LEAST(queries, keys) * (LEAST(queries, keys) - 1e0) / NULLIF(2e0 * queries, 0e0) + (block_queries - 1e0) / 2e0
    );
