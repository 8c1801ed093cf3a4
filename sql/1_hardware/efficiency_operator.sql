-- ATen operators that `efficiency` has rows for (`aten.gelu`). A kernel with such an anchor is looked up by the operator's name
-- before the kernel's class.
-- Grain: kernel_class, operator_name
CREATE TABLE efficiency_operator AS
SELECT DISTINCT
    kernel_class,
    operator_name
FROM efficiency
WHERE operator_name <> '*'
