-- Time of one kind of unit: the time at full efficiency plus the time of `half_ops` operations, divided by the share of the peak
-- that large kernels of the class attain. [s]
CREATE MACRO unit_time(ideal_s, half_ops, op_s, fraction) AS (ideal_s + half_ops * op_s) / NULLIF(fraction, 0e0);
