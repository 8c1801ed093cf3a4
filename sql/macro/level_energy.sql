-- Energy of the bytes that a memory level moves; 0 without the level, null when the level's coefficient is missing. [J]
CREATE MACRO level_energy(level, moved_byte, j_per_byte) AS CASE WHEN level IS NULL THEN 0e0 ELSE moved_byte * j_per_byte END;
