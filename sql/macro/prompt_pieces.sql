-- Number of pieces into which chunks divide each prompt: 1 if a chunk contains whole prompts.
CREATE MACRO prompt_pieces(batch, chunk_count) AS
    CASE WHEN chunk_count > batch THEN chunk_count / NULLIF(batch, 0) ELSE 1e0 END;
