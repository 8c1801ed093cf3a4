-- Pieces that a server takes each prompt in, of a run that it takes in so many chunks: several prompts are in a chunk, or several
-- chunks in a prompt.
CREATE MACRO prompt_pieces(batch, chunk_count) AS
    CASE WHEN chunk_count > batch THEN chunk_count / NULLIF(batch, 0) ELSE 1e0 END;
