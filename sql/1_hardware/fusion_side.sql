-- Backends on both sides of a comparison of fused with unfused: each one that fuses, and its counterpart.
-- Grain: fused_backend, backend
CREATE VIEW fusion_side AS
SELECT
    backend,
    -- Backend that fuses.
    backend AS fused_backend,
    unfused_backend,
    -- True of its counterpart, which runs one kernel an operator.
    FALSE AS is_unfused
FROM backend
WHERE unfused_backend IS NOT NULL
UNION ALL
SELECT
    unfused_backend AS backend,
    backend AS fused_backend,
    unfused_backend,
    TRUE AS is_unfused
FROM backend
WHERE unfused_backend IS NOT NULL
