-- Share of a model's weights that stay in a memory from run to run: the one that fits beside the activations of the whole batch, or
-- where samples may pass one by one (`sample_share` is known) the one beside one sample's, if the rest, read for each sample, is less.
CREATE MACRO kept_weights(batch_share, sample_share, batch) AS
    CASE WHEN batch * (1e0 - sample_share) < 1e0 - batch_share THEN sample_share ELSE batch_share END;
