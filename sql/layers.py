"""Folders of the views, each of which may read those before it."""

HARDWARE = "1_hardware"
"""What is known of the parts alone."""
WORKLOAD = "2_workload"
"""What is known of the runs alone."""
MAPPING = "3_mapping"
"""What a part makes of a kernel."""
COST = "4_cost"
"""Time and energy of a kernel."""
ROLLUP = "5_rollup"
"""Sums over the kernels of a run."""
REPORT = "6_report"
"""Views that are read by people, not by views."""
INVARIANT = "invariant"
"""Views that must be empty."""
MODELS = (MAPPING, COST, ROLLUP, REPORT)
"""Layers of parts and runs together."""
LAYERS = (HARDWARE, WORKLOAD, *MODELS, INVARIANT)
"""Every layer, in the order in which one may read those before."""

REBUILD = "rebuild"
"""Schema of the views that evaluate maintained tables anew."""
