-- Rows of `tiling_strategy` that hold on each part: those of its family and of how its tensor cores are driven, or where it has
-- arrays those of what stays in them, whatever the family. What goes to the vector units is the family's always.
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
