"""Sections of `charz report --full`: partition, concurrency, memory timeline, energy-delay product, cost."""

from __future__ import annotations

from . import grid
from .display import heading
from .workspace import Target

VIEWS = (
    "partition_report",
    "model_concurrency",
    "concurrency_check",
    "stage_allocation",
    "memory_timeline",
    "memory_fit",
    "model_edp",
    "module_edp",
    "operator_edp",
    "inference_cost",
    "checkpoint_saving",
    "largest_batch",
)
"""Views these sections read."""

_SECTIONS = (
    (
        "Partition",
        "partition_report",
        ["aspect", "bucket", "kernel_count", "flops", "flops_fraction", "traffic_byte", "traffic_fraction"],
        "ORDER BY aspect, bucket_order, kernel_count DESC",
    ),
    (
        "Concurrency",
        "model_concurrency",
        [
            "stage_count",
            "widest_stage_kernels",
            "critical_path_kernels",
            "sequential_s",
            "critical_path_s",
            "is_exact",
            "latency_s",
            "concurrent_s",
            "speedup_bound",
            "flops_speedup_bound",
        ],
        "",
    ),
    ("Concurrency: validation", "concurrency_check", ["line", "value", "bound", "holds"], "ORDER BY line"),
    (
        "Longest stages",
        "stage_allocation",
        [
            "stage",
            "kernel_count",
            "flops",
            "threads",
            "units_allocated",
            "unit_count",
            "allocated_fraction",
            "longest_s",
        ],
        "ORDER BY longest_s DESC, stage LIMIT {top}",
    ),
    (
        "Memory levels",
        "memory_fit",
        ["level", "capacity_byte", "fits_weight", "fits_activation", "fits_all"],
        "ORDER BY depth",
    ),
    (
        "Kernels at which most memory is held",
        "memory_timeline",
        ["kernel_id", "kernel", "module", "live_byte", "total_byte"],
        "ORDER BY live_byte DESC, kernel_id LIMIT {top}",
    ),
    (
        "Largest batch",
        "largest_batch",
        ["sample_byte", "largest_batch", "peak_memory_byte", "largest_on_chip_batch"],
        "",
    ),
    (
        "Energy-delay product",
        "model_edp",
        [
            "edp_js",
            "local_edp_js",
            "local_gap_fraction",
            "compute_edp_js",
            "memory_edp_js",
            "static_edp_js",
            "kernels_for_half",
            "kernels_for_ninety",
        ],
        "",
    ),
    (
        "Energy-delay product by module",
        "module_edp",
        ["module", "class_name", "operator_count", "latency_s", "energy_j", "edp_js"],
        "WHERE depth <= 1 ORDER BY edp_js DESC NULLS LAST, module LIMIT {top}",
    ),
    (
        "Energy-delay product by operator",
        "operator_edp",
        ["operator", "operator_class", "module", "modifier", "share_fraction", "edp_js"],
        "ORDER BY edp_js DESC NULLS LAST, operator_id LIMIT {top}",
    ),
    ("Cost", "inference_cost", ["price_usd_per_hour", "inference_usd", "million_inference_usd", "inference_j"], ""),
    (
        "Checkpointing in training",
        "checkpoint_saving",
        ["group_count", "stored_byte", "checkpointed_byte", "saved_fraction", "recompute_s"],
        "",
    ),
)
"""Title, view, columns and order of each section."""


def show(target: Target, top: int) -> None:
    """Print every section."""
    for title, view, columns, tail in _SECTIONS:
        heading(title)
        grid.show(target, view, columns, tail.format(top=top))
