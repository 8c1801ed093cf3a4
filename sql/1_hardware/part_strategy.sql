-- Rows of `tiling_strategy` that each part can use. A part with arrays uses the rows of its dataflow in any family; another part
-- uses the rows of its family and of its tensor cores' instruction. Rows for vector units always belong to the part's family.
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
