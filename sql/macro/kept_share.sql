-- Share of the weights that fit in a memory next to other bytes.
CREATE MACRO kept_share(room_byte, beside_byte, weight_byte) AS
    LEAST(1e0, GREATEST(0e0, COALESCE(room_byte, 0e0) - beside_byte) / NULLIF(weight_byte, 0e0));
