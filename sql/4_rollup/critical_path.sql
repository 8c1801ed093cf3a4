-- Longest dependent chain of kernels of every run on every part, by operations, device time and
-- energy-delay product: the sum over segments of the largest sum over their paths. A conversion belongs to
-- the kernel it is made for. `lower` bounds use the paths of real edges only; equal to the upper, the path
-- is exact.
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW critical_path (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Operations on the path with the most.
    critical_path_flops,
    -- Kernels on the path with the most.
    critical_path_kernels,
    -- Device time of the slowest path. [s]
    critical_path_s,
    -- Lower bound of critical_path_s; equal when the path is exact. [s]
    critical_path_lower_s,
    -- Local energy-delay product of the path with the most; null when an energy is missing. [J s]
    critical_path_edp_js
) AS
WITH node_costs AS (
    SELECT
        k.model_id,
        k.scenario_id,
        k.hardware_id,
        r.backend,
        COALESCE(so.subgraph_id, k.subgraph_id) AS subgraph_id,
        SUM(k.flops) AS flops,
        SUM(k.device_s) AS device_s,
        SUM(k.energy_j * k.latency_s) AS edp_js
    FROM kernel_latency AS k
    INNER JOIN run AS r ON r.model_id = k.model_id AND r.scenario_id = k.scenario_id
    LEFT JOIN subgraph_operator AS so
        ON so.model_id = k.model_id AND so.backend = r.backend
        AND so.operator_id = k.anchor_operator_id AND k.subgraph_id >= 1000000
    GROUP BY k.model_id, k.scenario_id, k.hardware_id, r.backend, COALESCE(so.subgraph_id, k.subgraph_id)
),

path_sums AS (
    SELECT
        n.model_id,
        n.scenario_id,
        n.hardware_id,
        p.segment_id,
        p.path_id,
        p.is_exact,
        SUM(n.flops) AS flops,
        CAST(COUNT(*) AS DOUBLE) AS kernels,
        SUM(n.device_s) AS device_s,
        SUM(n.edp_js) AS edp_js
    FROM node_costs AS n
    INNER JOIN path_segment AS p
        ON p.model_id = n.model_id AND p.backend = n.backend AND p.subgraph_id = n.subgraph_id
    GROUP BY n.model_id, n.scenario_id, n.hardware_id, p.segment_id, p.path_id, p.is_exact
),

segment_maxima AS (
    SELECT
        model_id,
        scenario_id,
        hardware_id,
        segment_id,
        MAX(flops) AS flops,
        MAX(kernels) AS kernels,
        MAX(device_s) AS device_s,
        MAX(CASE WHEN is_exact THEN device_s ELSE 0e0 END) AS exact_s,
        MAX(edp_js) AS edp_js
    FROM path_sums
    GROUP BY model_id, scenario_id, hardware_id, segment_id
)

SELECT
    model_id,
    scenario_id,
    hardware_id,
    SUM(flops) AS critical_path_flops,
    CAST(SUM(kernels) AS BIGINT) AS critical_path_kernels,
    SUM(device_s) AS critical_path_s,
    SUM(exact_s) AS critical_path_lower_s,
    SUM(edp_js) AS critical_path_edp_js
FROM segment_maxima
GROUP BY model_id, scenario_id, hardware_id
