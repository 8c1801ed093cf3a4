-- Share of a model's weights that stay in a memory from run to run: those that fit beside the activations of the whole batch, or
-- where samples may pass one by one those that fit beside one sample's, if the rest, read for each sample, is less.
CREATE MACRO kept_weights(room_byte, activation_byte, weight_byte, batch, takes_groups) AS
    CASE
        WHEN takes_groups
            AND batch * (1e0 - kept_share(room_byte, activation_byte / NULLIF(batch, 0), weight_byte))
            < 1e0 - kept_share(room_byte, activation_byte, weight_byte)
            THEN kept_share(room_byte, activation_byte / NULLIF(batch, 0), weight_byte)
        ELSE kept_share(room_byte, activation_byte, weight_byte)
    END;
