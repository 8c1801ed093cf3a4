-- Share of a model's weights that stay in a memory between runs, if the run or the part's programs keep weights. Weights share the
-- memory with the activations of the batch, or of one sample if samples may run one by one (`sample_share` is known) and fewer
-- bytes are then read.
CREATE MACRO kept_weights(cache_state, keeps_weights, weight_byte, batch_share, sample_share, batch) AS
    CASE
        WHEN weight_byte > 0e0 AND (cache_state = 'weights_resident' OR (keeps_weights AND cache_state = 'warm'))
            THEN CASE WHEN batch * (1e0 - sample_share) < 1e0 - batch_share THEN sample_share ELSE batch_share END
        ELSE 0e0
    END;
