-- Pieces into which a server splits each prompt, given the number of chunks of a run: a chunk may contain several prompts, or a prompt
-- several chunks.
CREATE MACRO prompt_pieces(batch, chunk_count) AS
    CASE WHEN chunk_count > batch THEN chunk_count / NULLIF(batch, 0) ELSE 1e0 END;
