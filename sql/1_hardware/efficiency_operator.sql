-- ATen operators with efficiency rows of their own (`aten.gelu`): a kernel anchored in one is looked up by that name, which
-- wins over its class.
-- Grain: kernel_class, operator_name
CREATE TABLE efficiency_operator AS
SELECT DISTINCT
    kernel_class,
    operator_name
FROM efficiency
WHERE operator_name <> '*'
