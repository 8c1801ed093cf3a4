-- Time that the host takes to launch the kernels of each prompt one by one, by the version of the server.
-- Grain: model, scenario_id
CREATE VIEW prompt_launch AS
SELECT
    r.run.model,
    r.run.scenario_id,
    -- Host time of all kernels of the prompt. [s]
    v.prompt_kernel_s * r.host_factor * SUM(s.kernel_count * s.launch_share) AS launch_s
FROM run AS r
INNER JOIN engine_version AS v ON v.backend = r.run.backend AND v.engine_version = r.engine_version
INNER JOIN shape AS s ON s.run = r.run
WHERE r.phase = 'prefill'
GROUP BY r.run, v.prompt_kernel_s, r.host_factor
