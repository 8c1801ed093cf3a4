"""The cost model in SQL, and its installation and evaluation."""

PACES = {
    "compute": "compute_s",
    "memory": "memory_s",
    "power": "power_s",
    "threads": "team_s",
    "overhead": "overhead_s",
}
"""Possible bottlenecks of a run (`model_cost.bottleneck`) and the columns of their times, which sum to latency_s."""
