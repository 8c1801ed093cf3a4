"""The views, and what they call the times of a run."""

PACES = {
    "compute": "compute_s",
    "memory": "memory_s",
    "power": "power_s",
    "threads": "team_s",
    "overhead": "overhead_s",
}
"""What can set the pace of a run (`model_cost.bottleneck`), and the column of its time; together they are latency_s."""
