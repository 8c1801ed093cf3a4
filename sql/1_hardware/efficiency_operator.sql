-- ATen operators with efficiency rows of their own (`aten.gelu`). A kernel with such an anchor is looked up by that name before its
-- class.
-- Grain: kernel_class, operator_name
CREATE TABLE efficiency_operator AS
SELECT DISTINCT
    kernel_class,
    operator_name
FROM efficiency
WHERE operator_name <> '*'
