-- Mean number of keys that a query reads under a causal mask: each query sees one key more than the previous query, the last query
-- sees all keys, and all queries of a block read the keys that the block's last query sees.
CREATE MACRO seen_keys(queries, keys, block_queries) AS
    LEAST(
        keys,
        keys - LEAST(queries, keys) * (LEAST(queries, keys) - 1e0) / NULLIF(2e0 * queries, 0e0) + (block_queries - 1e0) / 2e0
    );
