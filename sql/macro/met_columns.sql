-- Partial results that go to another unit, in multiples of a column's results. Units take whole columns of folds first and share
-- the remaining folds in equal turns. Every turn that ends within a column sends its partial results; if some but not all turns end
-- with a column, those are counted too.
CREATE MACRO met_columns(column_count, depth_folds, unit_count) AS
    CASE
        WHEN column_count % unit_count = 0e0 THEN 0e0
        ELSE CEIL((column_count % unit_count) * depth_folds / NULLIF(CEIL((column_count % unit_count) * depth_folds / NULLIF(unit_count, 0e0)), 0e0))
            - CASE
                WHEN depth_folds % CEIL((column_count % unit_count) * depth_folds / NULLIF(unit_count, 0e0)) = 0e0 THEN column_count % unit_count
                ELSE 1e0
            END
    END;
