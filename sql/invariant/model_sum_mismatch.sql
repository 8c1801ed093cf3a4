-- Runs whose kernels and call do not add up to the run's time, energy or energy-delay product.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW model_sum_mismatch AS
WITH kernel_sums AS (
    SELECT
        e.model,
        e.hardware,
        e.backend,
        e.precision,
        e.batch,
        e.sequence,
        e.scenario_id,
        SUM(e.latency_s) AS latency_s,
        SUM(e.energy_j) AS energy_j,
        SUM(e.edp_js) AS edp_js
    FROM kernel_edp AS e
    GROUP BY e.model, e.hardware, e.backend, e.precision, e.batch, e.sequence, e.scenario_id
),

whole_runs AS (
    SELECT
        m.*,
        m.static_w * m.run_call_s AS call_energy_j,
        0.5e0 * (m.static_w * m.run_call_s * m.latency_s + m.run_call_s * m.energy_j) AS call_edp_js,
        m.energy_j * m.latency_s AS edp_js
    FROM model_cost AS m
)

SELECT
    m.model,
    m.hardware,
    m.backend,
    m.precision,
    m.batch,
    m.sequence,
    m.scenario_id,
    -- Sum of the times of all kernels and the call, minus the run's time; null without kernels. [s]
    k.latency_s + m.run_call_s - m.latency_s AS latency_off_s,
    -- Sum of the energies of all kernels and the call, minus the run's energy. [J]
    k.energy_j + m.call_energy_j - m.energy_j AS energy_off_j,
    -- Sum of the attributed shares, minus the run's energy-delay product. [J s]
    k.edp_js + m.call_edp_js - m.edp_js AS edp_off_js
FROM whole_runs AS m
LEFT JOIN kernel_sums AS k
    ON k.model = m.model AND k.hardware = m.hardware AND k.backend = m.backend AND k.precision = m.precision
    AND k.batch = m.batch AND k.sequence = m.sequence AND k.scenario_id = m.scenario_id
WHERE (k.latency_s IS NULL AND m.latency_s IS NOT NULL)
    OR ABS(k.latency_s + m.run_call_s - m.latency_s) > 1e-9 * m.latency_s
    OR ABS(k.energy_j + m.call_energy_j - m.energy_j) > 1e-9 * m.energy_j
    OR ABS(k.edp_js + m.call_edp_js - m.edp_js) > 1e-9 * m.edp_js
