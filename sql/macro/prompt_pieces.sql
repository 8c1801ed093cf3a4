-- Number of pieces of each prompt for a number of chunks: a chunk contains several prompts, or a prompt has several chunks.
CREATE MACRO prompt_pieces(batch, chunk_count) AS
    CASE WHEN chunk_count > batch THEN chunk_count / NULLIF(batch, 0) ELSE 1e0 END;
