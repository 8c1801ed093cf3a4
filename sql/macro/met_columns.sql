-- Partial results that one unit sends to another, in multiples of a column's results. Units take whole columns of folds first and
-- divide the remaining folds into equal parts. Every part that ends within a column sends its partial results; if some but not all
-- parts end with a column, these parts are counted too.
CREATE MACRO met_columns(column_count, depth_folds, unit_count) AS
    CASE
        WHEN column_count % unit_count = 0e0 THEN 0e0
        ELSE CEIL((column_count % unit_count) * depth_folds / NULLIF(CEIL((column_count % unit_count) * depth_folds / NULLIF(unit_count, 0e0)), 0e0))
            - CASE
                WHEN depth_folds % CEIL((column_count % unit_count) * depth_folds / NULLIF(unit_count, 0e0)) = 0e0 THEN column_count % unit_count
                ELSE 1e0
            END
    END;
