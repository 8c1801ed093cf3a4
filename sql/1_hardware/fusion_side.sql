-- Backends in comparisons of fused with unfused kernels: each backend that fuses, and its unfused counterpart.
-- Grain: fused_backend, backend
CREATE VIEW fusion_side AS
SELECT
    backend,
    -- Backend that fuses.
    backend AS fused_backend,
    unfused_backend,
    -- True for the unfused counterpart, which runs one kernel per operator.
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
