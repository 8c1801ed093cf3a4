-- Rows of `tiling_strategy` that each part can use: those of its family and its tensor cores' instruction, or on parts with arrays
-- those of the stationary operand, whatever the family. Rows for vector units are always the family's.
-- Grain: hardware, candidate
CREATE VIEW part_strategy AS
SELECT
    h.hardware,
    s.*
FROM part AS h
INNER JOIN tiling_strategy AS s
    ON s.family IN ('*', h.family) AND COALESCE(s.matrix_instruction = h.matrix_instruction, TRUE)
WHERE CASE
    WHEN s.family = '*' THEN COALESCE(s.dataflow = h.dataflow, FALSE)
    ELSE h.dataflow IS NULL OR s.dataflow IN ('direct', 'query_block')
END
