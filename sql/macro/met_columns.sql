-- Partial results that go to another unit, in results of a column of folds: units take whole columns first and share the folds of the
-- rest in equal turns, each from where the one before ends. Every end within a column sends what it has; where turns end with
-- some columns, though not with all, those ends are counted too.
CREATE MACRO met_columns(column_count, depth_folds, unit_count) AS
    CASE
        WHEN column_count % unit_count = 0e0 THEN 0e0
        ELSE CEIL((column_count % unit_count) * depth_folds / NULLIF(CEIL((column_count % unit_count) * depth_folds / NULLIF(unit_count, 0e0)), 0e0))
            - CASE
                WHEN depth_folds % CEIL((column_count % unit_count) * depth_folds / NULLIF(unit_count, 0e0)) = 0e0 THEN column_count % unit_count
                ELSE 1e0
            END
    END;
