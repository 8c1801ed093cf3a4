-- Scope of every part's energy profile, and how much of it is assumed.
-- Grain: hardware_id
CREATE VIEW energy_scope (
    -- Part.
    hardware_id,
    -- Scope every coefficient is lifted to.
    energy_scope,
    -- Coefficients.
    coefficient_count,
    -- Coefficients that are assumed.
    guess_count
) AS
SELECT
    e.hardware_id,
    MIN(e.scope) AS energy_scope,
    CAST(COUNT(*) AS BIGINT) AS coefficient_count,
    CAST(SUM(CASE WHEN c.is_guess THEN 1 ELSE 0 END) AS BIGINT) AS guess_count
FROM energy_profile AS e
INNER JOIN confidence AS c ON c.confidence = e.confidence
GROUP BY e.hardware_id
