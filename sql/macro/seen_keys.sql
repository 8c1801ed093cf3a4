-- Keys that a query visits in the mean under a causal mask, where each query sees one key more than the one before it and the last
-- sees all, and a kernel takes blocks of queries: all of a block visit what its last one sees.
CREATE MACRO seen_keys(queries, keys, block_queries) AS
    LEAST(
        keys,
        keys - LEAST(queries, keys) * (LEAST(queries, keys) - 1e0) / NULLIF(2e0 * queries, 0e0) + (block_queries - 1e0) / 2e0
    );
