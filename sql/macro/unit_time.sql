-- Time of one kind of unit: its time at full efficiency, and what it loses to reach half of that, over the share of it that
-- kernels of the class reach. [s]
CREATE MACRO unit_time(ideal_s, half_ops, op_s, fraction) AS (ideal_s + half_ops * op_s) / NULLIF(fraction, 0e0);
