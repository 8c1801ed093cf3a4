-- Memory of a part that a run needs: the run's memory, the share that the backend leaves free, and the context of the process; the
-- context is 0 without a row of `part_context` for the backend (`context_backend`). [byte]
CREATE MACRO occupied_byte(run_byte, reserve_fraction, main_byte, context_backend, context_byte) AS
    run_byte + reserve_fraction * main_byte + CASE WHEN context_backend IS NULL THEN 0e0 ELSE context_byte END;
