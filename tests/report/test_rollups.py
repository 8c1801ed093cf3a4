"""Sums over the kernels of a run, with rows of other runs added; `tests/mechanism` tests their arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Record = dict[str, Any]
Gives = Callable[..., None]
Evaluate = Callable[..., list[Record]]


def chain(**changed: Any) -> dict[str, list[Record]]:
    """Make a chain: kernel 0 and its conversion lead to 1 or, exactly, to 2, and both to 3. The last one's energy is as changed."""
    columns = ("kernel_id", "fused_kernel_id", "flops", "device_s", "end_s", "energy_j", "latency_s")
    rows = [
        (0, 0, 10.0, 2.0, 2.0, 2.0, 3.0), (9, 0, 1.0, 0.5, 3.0, 1.0, 1.0), (1, 1, 5.0, 4.0, 7.0, 1.0, 1.0),
        (2, 2, 7.0, 1.0, 8.0, 4.0, 2.0), (3, 3, 1.0, 1.0, 9.0, 2.0, 2.0),
    ]  # fmt: skip
    kernels: list[Record] = [
        dict(zip(columns, row, strict=True)) | {"host_issue_s": 0.5, "run_call_s": 1.0} for row in rows
    ]
    kernels[3] |= changed
    paths = [(0, 0, 0, False), (0, 0, 1, False), (0, 1, 0, True), (0, 1, 2, True), (1, 0, 3, True)]
    return {
        "kernel_time": kernels,
        "path_segment": [
            {"segment_id": segment, "path_id": path, "kernel_id": kernel, "is_exact": exact}
            for segment, path, kernel, exact in paths
        ],
    }


def test_critical_path(gives: Gives) -> None:
    """Operations: 11 + 7 on the second path, and 1. Time: 2.5 + 4 on the first, 2.5 + 1 on the exact one, and 1. Joule-seconds: 6 + 1 + 8
    on the second, and 4."""
    gives(
        "critical_path",
        [{"critical_path_flops": 19.0, "critical_path_kernels": 3, "critical_path_s": 7.5, "critical_path_lower_s": 4.5,
          "critical_path_edp_js": 19.0, "kernel_count": 5, "flops": 24.0, "sequential_s": 8.5, "host_issue_s": 3.5,
          "latency_s": 10.0}],
        within=["kernel_id"],
        free={"kernel_time": ["kernel_id"]},
        **chain(),
    )  # fmt: skip


def test_a_path_with_an_unknown_energy(gives: Gives) -> None:
    """The unknown energy is on the second path, which may or may not have the most."""
    gives("critical_path", [{"critical_path_edp_js": None, "critical_path_s": 7.5}], **chain(energy_j=None))


def test_an_unknown_energy_of_an_inserted_kernel(gives: Gives) -> None:
    given = chain()
    given["kernel_time"][1]["energy_j"] = None
    gives("critical_path", [{"critical_path_edp_js": None}], **given)


PATH = {
    "critical_path_s": 4.0, "critical_path_lower_s": 4.0, "sequential_s": 10.0, "latency_s": 12.0, "host_issue_s": 3.0, "flops": 30.0,
    "critical_path_flops": 20.0, "critical_path_kernels": 3, "kernel_count": 8,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, {"is_exact": True, "concurrent_s": 4.0}),
        ({"host_issue_s": 5.0}, {"concurrent_s": 5.0}),
        ({"host_issue_s": 13.0}, {"concurrent_s": 12.0}),
        ({"critical_path_lower_s": 3.9}, {"is_exact": False}),
        ({"critical_path_s": 4.0 + 1e-12}, {"is_exact": True}),
    ],
)
def test_model_concurrency(gives: Gives, changed: Record, expected: Record) -> None:
    """Six kernels at three depths, two of which have two and three; the first of the widest counts. 10 s in sequence are at most 2.5 times
    the path."""
    stages = (0, 1, 1, 1, 2, 3, 3, 3)
    usual = {
        "fused_kernel_count": 8, "stage_count": 4, "widest_stage": 1, "widest_stage_kernels": 3, "mean_stage_kernels": 2.0,
        "flops_speedup_bound": 1.5,
    }  # fmt: skip
    speedup = {} if changed.get("critical_path_s") else {"speedup_bound": 2.5}
    gives(
        "model_concurrency",
        [usual | speedup | expected],
        critical_path=[PATH | changed],
        run=[{}],
        kernel=[{"kernel_id": i, "stage": stage} for i, stage in enumerate(stages)],
    )


LINES = {
    "critical path within sequential time [s]": ("critical_path_s", "sequential_s"),
    "lower bound within critical path [s]": ("critical_path_lower_s", "critical_path_s"),
    "critical path within all operations [op]": ("critical_path_flops", "flops"),
    "stages within kernels": ("stage_count", "fused_kernel_count"),
    "stages within kernels of the longest path": ("stage_count", "critical_path_kernels"),
    "kernels' device time within the run [s]": ("sequential_s", "latency_s"),
}


@pytest.mark.parametrize("factor", [1.0, 0.5, -1.0])
def test_concurrency_check(gives: Gives, factor: float) -> None:
    """Each line compares two numbers; a bound equal within rounding is satisfied."""
    amounts: Record = {
        "critical_path_s": 4.0, "critical_path_lower_s": 3.0, "sequential_s": 10.0, "latency_s": 12.0, "flops": 30.0,
        "critical_path_flops": 20.0, "stage_count": 5, "fused_kernel_count": 7, "critical_path_kernels": 5,
    }  # fmt: skip
    for value, bound in LINES.values():
        if factor < 0:
            amounts = amounts | {value: amounts[bound]}
    run = {name: value * abs(factor) if name == "latency_s" else value for name, value in amounts.items()}
    gives(
        "concurrency_check",
        [
            {"line": line, "value": float(run[value]), "bound": float(run[bound]),
             "holds": run[value] <= run[bound] * (1 + 1e-9)}
            for line, (value, bound) in LINES.items()
        ],
        by=["line"],
        model_concurrency=[run],
    )  # fmt: skip


def test_rounding_is_no_fault(gives: Gives) -> None:
    """A path longer by 1e-12 satisfies its bound, one longer by 1e-6 does not."""
    for more, holds in ((1e-12, True), (1e-6, False)):
        gives(
            "concurrency_check",
            [{"line": line, "holds": holds if line.startswith("critical path within s") else None} for line in LINES],
            by=["line"],
            model_concurrency=[{"critical_path_s": 4.0 * (1 + more), "sequential_s": 4.0}],
        )


SHAPE: Record = {
    "dispatch": "async_queue", "host_kernel_s": 1.0, "host_view_s": 0.5, "host_factor": 2.0, "run_call_s": 6.0,
    "launch_count": 2, "kernel_gap_s": 0.5, "bias_is_kernel": True,
    "kernel_count": 2, "view_count": 1, "device_s": 4.0, "busy_s": 3.5, "team_s": 0.0, "compute_s": 1.0, "memory_s": 2.0,
    "macs": 5.0, "flops": 10.0, "moved_byte": 7.0, "dram_byte": 6.0, "naive_s": 0.25, "roofline_s": 0.5, "compute_energy_j": 60.0,
    "memory_energy_j": 40.0, "dynamic_energy_j": 100.0, "units_allocated": 2.0, "unit_count": 4.0, "utilization_fraction": 0.4,
    "static_w": 10.0, "is_power_bound": False,
}  # fmt: skip
OTHER = SHAPE | {
    "shape_id": 2, "kernel_count": 1, "launch_count": 1, "view_count": 0, "device_s": 1.5, "busy_s": 1.0, "compute_s": 1.0, "memory_s": 0.5,
    "dynamic_energy_j": 5.0, "compute_energy_j": 5.0, "memory_energy_j": 0.0, "units_allocated": 4.0, "utilization_fraction": 1.0,
}  # fmt: skip
KERNELS = [
    {"kernel_id": 0, "position": 0, "shape_id": 0, "view_count": 0, "issued_view_count": 0, "issued_bias_count": 0},
    {"kernel_id": 1, "position": 1, "shape_id": 0, "view_count": 1, "issued_view_count": 1, "issued_bias_count": 0},
    {"kernel_id": 2, "position": 2, "shape_id": 2, "view_count": 0, "issued_view_count": 1, "issued_bias_count": 1},
]


def test_run_sum(gives: Gives) -> None:
    """Two kernels of 4 s and one of 1.5, issued at 2, 5 and 7: the device waits only for the first."""
    gives(
        "run_sum",
        [{"kernel_count": 3, "view_count": 1, "macs": 15.0, "flops": 30.0, "traffic_byte": 21.0, "dram_byte": 18.0,
          "busy_s": 8.0, "compute_s": 1.0, "memory_s": 7.0, "power_s": 0.0, "team_s": 0.0, "device_s": 9.5, "naive_s": 0.75,
          "roofline_s": 1.5, "compute_energy_j": 125.0, "memory_energy_j": 80.0, "working_s": 3.8, "utilized_s": 3.8,
          "peak_dynamic_w": 100 / 3.5, "peak_energy_j": 140.0, "lead_s": 2.0}],
        within=["shape_id"],
        free={"clocked_shape": ["shape_id"], "run_kernel": ["shape_id"]},
        run_kernel=KERNELS,
        clocked_shape=[SHAPE, OTHER],
    )  # fmt: skip


def test_a_host_slower_than_the_device(gives: Gives) -> None:
    """Kernels of 0.5 s issued at 2, 5 and 7: the last starts after 7, not after 1; without the bias kernel, which the queue then does not
    count, at 5."""
    shapes = [SHAPE | {"device_s": 0.5}, OTHER | {"device_s": 0.5}]
    gives("run_sum", [{"lead_s": 6.0}], run_kernel=KERNELS, clocked_shape=shapes)
    plain = [shape | {"bias_is_kernel": False} for shape in shapes]
    gives("run_sum", [{"lead_s": 4.5}], run_kernel=KERNELS, clocked_shape=plain)


def test_a_device_that_only_waits_where_it_is_queued(gives: Gives) -> None:
    """A graph has no lead."""
    gives("run_sum", [{"lead_s": None}], run_kernel=KERNELS, clocked_shape=[SHAPE | {"dispatch": "graph"}])


def test_sums_of_power_bound_shapes(gives: Gives) -> None:
    """7 s at the limit with their teams; of 1 s a quarter is the team's; equal terms count as arithmetic."""
    shapes = [SHAPE | {"is_power_bound": True, "team_s": 0.5}, OTHER | {"team_s": 0.25, "memory_s": 1.0}]
    expected = {"power_s": 7.0, "compute_s": 0.75, "memory_s": 0.0, "team_s": 0.25}
    gives("run_sum", [expected], run_kernel=KERNELS, clocked_shape=shapes)


def test_sums_of_shapes_that_memory_paces(gives: Gives) -> None:
    """2 * 3.5 s and 1 s, 0.25 of it a team's; 100 J in 3.5 s and 150 in 1."""
    shapes = [SHAPE, OTHER | {"memory_s": 2.0, "team_s": 0.25, "dynamic_energy_j": 150.0, "view_count": 3}]
    expected = {
        "view_count": 4,
        "memory_s": 7.75,
        "compute_s": 0.0,
        "team_s": 0.25,
        "peak_dynamic_w": 150.0,
        "peak_energy_j": 165.0,
    }
    gives("run_sum", [expected], run_kernel=KERNELS, clocked_shape=shapes)
    both = [shape | {"compute_s": 9.0} for shape in shapes]
    gives("run_sum", [{"memory_s": 0.0, "compute_s": 7.75}], run_kernel=KERNELS, clocked_shape=both)
    bound = [shape | {"is_power_bound": True} for shape in shapes]
    gives("run_sum", [{"power_s": 8.0, "team_s": 0.0}], run_kernel=KERNELS, clocked_shape=bound)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"fault": "no tile"}, {"busy_s": None, "compute_s": None, "memory_s": None, "power_s": None, "team_s": None,
                                "device_s": None, "naive_s": None, "roofline_s": None, "working_s": None, "utilized_s": None,
                                "peak_energy_j": None}),
        ({"compute_energy_j": None}, {"compute_energy_j": None, "memory_energy_j": 80.0}),
        ({"memory_energy_j": None}, {"compute_energy_j": 125.0, "memory_energy_j": None}),
        ({"dynamic_energy_j": None}, {"peak_dynamic_w": None, "peak_energy_j": None, "busy_s": 8.0}),
        ({"is_power_bound": None}, {"power_s": 0.0}),
    ],
)  # fmt: skip
def test_what_one_shape_leaves_unknown(gives: Gives, changed: Record, expected: Record) -> None:
    gives("run_sum", [expected], run_kernel=KERNELS, clocked_shape=[SHAPE, OTHER | changed])


SUM: Record = {
    "dispatch": "async_queue", "kernel_count": 3, "view_count": 1, "host_kernel_s": 1.0, "host_view_s": 0.5, "run_call_s": 6.0,
    "device_s": 9.5, "busy_s": 8.0, "compute_s": 1.0, "memory_s": 7.0, "power_s": 0.0, "team_s": 0.0, "lead_s": 2.0,
    "working_s": 3.8, "utilized_s": 4.0, "compute_energy_j": 125.0, "memory_energy_j": 80.0, "static_w": 10.0, "peak_dynamic_w": 30.0,
}  # fmt: skip


def test_run_cost(gives: Gives) -> None:
    """A call of 3 s on a host of half the speed, 9.5 s of the device and a lead of 2."""
    gives(
        "run_cost",
        [{"latency_s": 17.5, "overhead_s": 9.5, "run_call_s": 6.0, "host_issue_s": 13.0, "static_energy_j": 175.0,
          "wasted_energy_j": 137.0, "energy_j": 380.0, "peak_power_w": 40.0, "utilization_fraction": 0.5,
          "bottleneck": "overhead", "kernel_count": 3}],
        run_sum=[SUM],
        run=[{"host_factor": 2.0}],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "latency_s", "bottleneck"),
    [
        ({"lead_s": None, "dispatch": "serial"}, 22.5, "overhead"),
        ({"lead_s": None, "dispatch": "graph"}, 15.5, "overhead"),
        ({"run_call_s": 0.0, "device_s": 8.0, "lead_s": 0.0}, 8.0, "memory"),
        ({"run_call_s": 0.0, "device_s": 8.0, "lead_s": 7.0}, 15.0, "overhead"),
        ({"run_call_s": 0.0, "device_s": 8.0, "lead_s": 6.5}, 14.5, "memory"),
        ({"run_call_s": 0.0, "device_s": 8.0, "lead_s": 0.0, "memory_s": 4.0, "compute_s": 4.0}, 8.0, "compute"),
        (
            {"run_call_s": 0.0, "device_s": 8.0, "lead_s": 0.0, "memory_s": 1.0, "compute_s": 3.0, "power_s": 3.0},
            8.0,
            "power",
        ),
        (
            {"run_call_s": 0.0, "device_s": 8.0, "lead_s": 0.0, "memory_s": 3.0, "compute_s": 1.0, "power_s": 3.0},
            8.0,
            "power",
        ),
        (
            {"run_call_s": 0.0, "device_s": 8.0, "lead_s": 0.0, "memory_s": 2.0, "power_s": 3.0, "team_s": 3.0},
            8.0,
            "threads",
        ),
        (
            {"run_call_s": 0.0, "device_s": 8.0, "lead_s": 0.0, "memory_s": 3.0, "power_s": 1.0, "team_s": 3.0},
            8.0,
            "threads",
        ),
        (
            {"run_call_s": 0.0, "device_s": 8.0, "lead_s": 3.0, "memory_s": 1.0, "compute_s": 1.0, "team_s": 3.0},
            11.0,
            "overhead",
        ),
        (
            {"run_call_s": 0.0, "device_s": 8.0, "lead_s": 3.0, "memory_s": 1.0, "compute_s": 3.0, "team_s": 1.0},
            11.0,
            "overhead",
        ),
        ({"run_call_s": 0.0, "device_s": 8.0, "lead_s": 3.0, "memory_s": 1.0, "power_s": 3.0}, 11.0, "overhead"),
        ({"device_s": None}, None, None),
    ],
)
def test_pace_of_a_run(gives: Gives, changed: Record, latency_s: float | None, bottleneck: str | None) -> None:
    """Of equal times overhead wins, then teams, power and arithmetic."""
    expected = {"latency_s": latency_s, "bottleneck": bottleneck}
    gives("run_cost", [expected], run_sum=[SUM | changed], run=[{"host_factor": 2.0}])


def test_model_cost(gives: Gives) -> None:
    """The cost of a run, with its fields as columns."""
    gives("model_cost", [{"batch": 4, "latency_s": 2.0, "energy_j": 3.0}], run_cost=[{"batch": 4, "latency_s": 2.0, "energy_j": 3.0}])


def test_shares_of_the_peaks_and_energy_of_two_devices(gives: Gives) -> None:
    """17.5 s: 70 operations at 8 per second, 17.5 bytes at 4 per second; twice 10 W throughout and for 17.5 - 3.8 s of waste."""
    given = SUM | {"flops": 70.0, "dense_ops_per_s": 8.0, "dram_byte": 17.5, "dram_byte_per_s": 4.0}
    expected = {
        "latency_s": 17.5, "mfu_fraction": 0.5, "mbu_fraction": 0.25, "static_energy_j": 350.0, "wasted_energy_j": 274.0,
        "energy_j": 555.0,
    }  # fmt: skip
    gives("run_cost", [expected], run_sum=[given], run=[{"host_factor": 2.0, "device_count": 2}])


@pytest.mark.parametrize(
    ("changed", "limit"),
    [
        # The weights take at most 3 of 7 s of memory, the cache the given time, activations the rest.
        ({"weight_s": 3.0, "cache_s": 2.0}, "weights"),
        ({"weight_s": 3.0, "cache_s": 3.0}, "weights"),
        ({"weight_s": 3.0, "cache_s": 1.0}, "weights"),
        ({"weight_s": 2.0, "cache_s": 3.0}, "cache"),
        ({"weight_s": 1.0, "cache_s": 3.0}, "cache"),
        ({"weight_s": 1.0, "cache_s": 2.0}, "activations"),
        ({"compute_s": 7.0}, "compute"),
        ({"compute_s": 6.0, "power_s": 1.0}, "compute"),
        ({"exchange_s": 7.0}, "links"),
        ({"exchange_s": 6.9}, "weights"),
        ({"exchange_s": 7.0, "compute_s": 6.0, "power_s": 2.0}, "compute"),
        # 8 s busy and 1 on links: the host leads by 8 more, or by less.
        ({"lead_s": 8.0, "exchange_s": 1.0}, "host"),
        ({"lead_s": 7.9, "exchange_s": 1.0}, "weights"),
        ({"device_s": None}, None),
    ],
)
def test_what_limits_a_step(gives: Gives, changed: Record, limit: str | None) -> None:
    """1 s of arithmetic, 7 of memory, none of the host unless given."""
    usual = {"run_call_s": 0.0, "device_s": 8.0, "lead_s": 0.0, "exchange_s": 0.0, "weight_s": 4.0, "cache_s": 1.0}
    gives("run_cost", [{"step_limit": limit}], run_sum=[SUM | usual | changed], run=[{"host_factor": 2.0}])


KERNEL: Record = {
    "dispatch": "async_queue", "device_s": 4.0, "busy_s": 3.5, "host_issue_s": 1.0, "team_s": 0.0, "compute_s": 1.0, "memory_s": 2.0,
    "memory_level": "dram", "units_allocated": 2.0, "unit_count": 4.0, "utilization_fraction": 0.4, "static_w": 10.0,
    "dynamic_energy_j": 100.0, "serial_s": 0.0, "feed_s": 0.0, "stream_level": "l1",
}  # fmt: skip


def test_kernel_time(gives: Gives) -> None:
    """Issued at 1, 2 and 9: the second follows at once, the device waits for the third."""
    gives(
        "kernel_time",
        [
            {"kernel_id": 0, "end_s": 5.0, "latency_s": 5.0, "overhead_s": 1.5, "static_energy_j": 50.0, "wasted_energy_j": 36.0,
             "energy_j": 150.0, "bottleneck": "memory:dram"},
            {"kernel_id": 1, "end_s": 6.0, "latency_s": 1.0, "overhead_s": 0.0, "bottleneck": "memory:dram"},
            {"kernel_id": 2, "end_s": 11.0, "latency_s": 5.0, "overhead_s": 4.0, "bottleneck": "overhead"},
        ],
        by=["kernel_id"],
        kernel_cost=[
            KERNEL | {"kernel_id": 0, "position": 0},
            KERNEL | {"kernel_id": 1, "position": 1, "device_s": 1.0, "busy_s": 1.0},
            KERNEL | {"kernel_id": 2, "position": 2, "device_s": 2.0, "busy_s": 1.0, "host_issue_s": 7.0},
        ],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "bottleneck"),
    [
        ({"feed_s": 2.1}, "memory:l1"), ({"feed_s": 2.1, "serial_s": 0.2}, "memory:dram"), ({"feed_s": 2.0}, "memory:dram"),
        ({"compute_s": 2.5}, "compute"), ({"compute_s": 2.1}, "balanced"), ({"compute_s": 2.0, "memory_s": 2.2}, "memory:dram"),
        ({"memory_s": 2.0, "compute_s": 2.2}, "compute"), ({"team_s": 2.5}, "memory:dram"), ({"team_s": 2.6}, "threads"),
        ({"team_s": 2.6, "is_power_bound": True}, "power"), ({"host_issue_s": 3.0}, "memory:dram"),
        ({"host_issue_s": 3.1, "is_power_bound": True}, "overhead"), ({"fault": "no tile"}, None),
    ],
)  # fmt: skip
def test_pace_of_a_kernel(gives: Gives, changed: Record, bottleneck: str | None) -> None:
    gives("kernel_time", [{"bottleneck": bottleneck}], kernel_cost=[KERNEL | {"position": 0} | changed])


def test_a_kernel_that_cannot_be_costed_leaves_none_of_its_run(gives: Gives) -> None:
    """The run has neither time nor overhead."""
    gives(
        "kernel_time",
        [{"kernel_id": i, "latency_s": None, "overhead_s": None} for i in (0, 1)],
        by=["kernel_id"],
        kernel_cost=[
            KERNEL | {"kernel_id": 0, "position": 0},
            KERNEL | {"kernel_id": 1, "position": 1, "fault": "no tile"},
        ],
    )


LEVELS = {
    "dram_byte": 100.0, "reorder_byte": 20.0, "dram_s": 2.0, "reorder_s": 1.0, "dram_energy_j": 5.0, "reorder_energy_j": 1.0,
    "moved_byte": 300.0, "cache_level": "l3", "cache_s": 4.0, "cache_energy_j": 3.0, "reload_byte": 900.0,
    "tile_memory_level": "l2", "reload_s": 3.0, "reload_energy_j": 2.0, "stream_level": "l1", "stream_byte": 1000.0,
    "stream_s": 1.0, "stream_energy_j": 0.5, "memory_level": "l3", "cache_byte": 4096.0, "main_memory_byte": 1e9,
    "dram_byte_per_s": 11.0, "cache_byte_per_s": 12.0, "tile_memory_byte_per_s": 13.0, "stream_memory_byte_per_s": 14.0,
}  # fmt: skip


@pytest.mark.parametrize("slowest", ["l3", None])
def test_kernel_level(gives: Gives, slowest: str | None) -> None:
    """Levels of units count once per unit; reordered data counts as main-memory traffic."""
    columns = (
        "border",
        "level",
        "capacity_byte",
        "level_byte",
        "bandwidth_byte_per_s",
        "level_s",
        "level_j",
        "is_slowest",
    )
    rows = [
        ("dram", "dram", 1e9, 120.0, 11.0, 3.0, 6.0, False),
        ("cache", "l3", 4096.0, 300.0, 12.0, 4.0, 3.0, slowest == "l3"),
        ("tile", "l2", 256.0, 900.0, 13.0, 3.0, 2.0, False),
        ("stream", "l1", 32.0, 1000.0, 14.0, 1.0, 0.5, False),
    ]
    gives(
        "kernel_level",
        [dict(zip(columns, row, strict=True)) for row in rows],
        by=["border"],
        kernel_time=[LEVELS | {"memory_level": slowest}],
        part=[{"tile_memory_byte": 64.0, "stream_memory_byte": 8.0, "unit_count": 4.0}],
    )


def test_tiles_that_load_from_the_last_level_cache(gives: Gives) -> None:
    """Without a memory next to the units, the cache moves what tiles load: 900 bytes in 5 s for 3 + 2 J, or 300 if tiles load less."""
    for reload_byte, reload_s, reload_j, expected in ((900.0, 5.0, 2.0, (900.0, 5.0, 5.0)), (200.0, 1.0, 0.0, (300.0, 4.0, 3.0))):
        loaded = {"tile_memory_level": None, "reload_byte": reload_byte, "reload_s": reload_s, "reload_energy_j": reload_j}
        byte, seconds, joules = expected
        gives(
            "kernel_level",
            [{"border": "dram"}, {"border": "cache", "level_byte": byte, "level_s": seconds, "level_j": joules}, {"border": "stream"}],
            by=["border"],
            kernel_time=[LEVELS | loaded],
            part=[{"unit_count": 4.0}],
        )
        gives(
            "kernel_energy",
            [{"cache_energy_j": joules, "reload_energy_j": 0.0}],
            kernel_time=[LEVELS | loaded],
            part=[{}],
        )


SIDES = [
    {"backend": "kpu", "fused_backend": "kpu", "unfused_backend": "plain", "is_unfused": False},
    {"backend": "plain", "fused_backend": "kpu", "unfused_backend": "plain", "is_unfused": True},
]
CONDITIONS = ["context", "phase", "memory_format", "host_factor", "cache_state", "power"]


def test_fusion_benefit(gives: Gives) -> None:
    """3 s and 8 J unfused against 2 s and 4 J: 1.5 times as fast, 24 / 8 of the energy-delay product."""
    gives(
        "fusion_benefit",
        [{"backend": "kpu", "unfused_kernel_count": 5, "kernel_count": 2, "unfused_traffic_byte": 50.0, "unfused_dram_byte": 5.0,
          "unfused_latency_s": 3.0, "speedup": 1.5, "unfused_energy_j": 8.0, "edp_ratio": 3.0}],
        across=["backend", "scenario_id"],
        within=CONDITIONS,
        model_cost=[
            {"backend": "kpu", "scenario_id": 1, "kernel_count": 2, "latency_s": 2.0, "energy_j": 4.0},
            {"backend": "plain", "scenario_id": 2, "kernel_count": 5, "traffic_byte": 50.0, "dram_byte": 5.0, "latency_s": 3.0,
             "energy_j": 8.0},
        ],
        fusion_side=SIDES,
    )  # fmt: skip


def sided(**changed: Any) -> dict[str, list[Record]]:
    """Make a fusion: operators 0 and 1 are kernel 0 and a conversion; unfused they are kernels 0 and 1, and a conversion."""
    kernels = [
        ("kpu", 1, 0, 0, 1.0, 4.0), ("kpu", 1, 5, 1, 0.25, 1.0), ("plain", 2, 0, 0, 1.0, 5.0), ("plain", 2, 1, 1, 2.0, 2.0), ("plain", 2, 2, 1, 0.5, 1.0),
    ]  # fmt: skip
    return {
        "kernel_time": [
            {"backend": backend, "scenario_id": scenario, "kernel_id": kernel, "anchor_operator_id": anchor,
             "latency_s": time, "energy_j": energy, "moved_byte": 100 * time, "dram_byte": 10 * time} | (changed if backend == "plain" else {})
            for backend, scenario, kernel, anchor, time, energy in kernels
        ],
        "fusion_side": SIDES,
        "kernel_operator": [{"backend": "kpu", "operator_id": i, "kernel_id": 0} for i in (0, 1)],
        "kernel": [{"backend": "kpu", "kernel_id": 0, "kernel": "conv+relu", "operator_count": 2},
                   {"backend": "plain", "kernel_id": 0, "kernel": "conv", "operator_count": 1}],
    }  # fmt: skip


def test_kernel_fusion(gives: Gives) -> None:
    """1 + 2 + 0.5 s and 8 J unfused against 1.25 s and 5 J."""
    gives(
        "kernel_fusion",
        [{"kernel": "conv+relu", "operator_count": 2, "unfused_kernel_count": 3, "unfused_traffic_byte": 350.0,
          "traffic_byte": 125.0, "unfused_dram_byte": 35.0, "dram_byte": 12.5, "unfused_latency_s": 3.5, "latency_s": 1.25,
          "speedup": 2.8, "unfused_energy_j": 8.0, "energy_j": 5.0, "edp_ratio": 4.48, "scenario_id": 1}],
        across=["backend", "scenario_id"],
        within=[*CONDITIONS, "kernel_id"],
        free={"kernel_time": ["kernel_id"]},
        **sided(),
    )  # fmt: skip


@pytest.mark.parametrize("changed", [{"host_factor": 2.0}, {"cache_state": "hot"}, {"power": "low"}])
def test_no_fusion_across_conditions(evaluate: Evaluate, changed: Record) -> None:
    assert evaluate("kernel_fusion", **sided(**changed)) == []


def test_fusion_pattern(gives: Gives) -> None:
    """Two kernels of one pattern save 3 + 1 s of 16, one of another 5 s and 2 J; a single operator saves nothing and has no row."""
    kernels = [("a+b", 0, 3, 5.0, 2.0, 4.0, 1.0), ("a+b", 1, 2, 2.0, 1.0, None, 1.0), ("a+c", 2, 2, 6.0, 1.0, 3.0, 1.0), ("a", 3, 1, 3.0, 3.0, 1.0, 1.0)]
    gives(
        "fusion_pattern",
        [
            {"kernel": "a+c", "pattern_rank": 1, "kernel_count": 1, "unfused_kernel_count": 2, "unfused_latency_s": 6.0, "latency_s": 1.0,
             "unfused_traffic_byte": 60.0, "traffic_byte": 10.0, "saved_s": 5.0, "saved_fraction": 0.3125, "saved_j": 2.0,
             "only_s": 11.0, "up_to_s": 11.0},
            {"kernel": "a+b", "pattern_rank": 2, "kernel_count": 2, "unfused_kernel_count": 5, "unfused_latency_s": 7.0, "latency_s": 3.0,
             "unfused_traffic_byte": 70.0, "traffic_byte": 30.0, "saved_s": 4.0, "saved_fraction": 0.25, "saved_j": None,
             "only_s": 12.0, "up_to_s": 7.0},
        ],
        by=["kernel"],
        kernel_fusion=[
            {"kernel": name, "kernel_id": i, "unfused_kernel_count": count, "unfused_latency_s": before, "latency_s": after,
             "unfused_traffic_byte": 10 * before, "traffic_byte": 10 * after, "unfused_energy_j": unfused, "energy_j": fused}
            for name, i, count, before, after, unfused, fused in kernels
        ],
    )  # fmt: skip


def test_modifier_check(gives: Gives) -> None:
    """Products take 6 of 8 s and 3 of 4 J for 30 operations, so 0.75 of the energy-delay product; ReLU's quarter is of 2 operations:
    0.125 against 0.025 is 5 times as much. A run with fused kernels has no row."""
    given = {"kernel_count": 1, "source_id": "plan", "confidence": "assumed"}
    kernel: Record = {"backend": "plain", "kernel_class": "conv", "flops": 15.0, "latency_s": 3.0, "energy_j": 1.5}
    relu = {"kernel_id": 2, "kernel_class": "relu", "flops": 2.0, "latency_s": 2.0, "energy_j": 1.0}
    gives(
        "modifier_check",
        [
            given | {"operator_class": "conv", "kernel_count": 2, "flops": 30.0, "edp_fraction": 0.75, "base_modifier": 1.0,
                     "fused_modifier": 0.5, "predicted_modifier": 1.0, "confidence": "usual"},
            given | {"operator_class": "relu", "flops": 2.0, "edp_fraction": 0.25, "base_modifier": 3.0, "fused_modifier": 0.05,
                     "predicted_modifier": 5.0},
        ],
        by=["operator_class"],
        within=["context", "phase", "memory_format"],
        free={"kernel_time": ["kernel_id"]},
        kernel_time=[kernel | {"kernel_id": 0}, kernel | {"kernel_id": 1}, kernel | relu, kernel | {"kernel_id": 3, "backend": "kpu"}],
        fusion_side=SIDES,
        operator_class=[{"operator_class": "conv", "is_matrix": True}, {"operator_class": "relu", "is_matrix": False}],
        part_modifier=[{"operator_class": "conv", "base_modifier": 1.0, "fused_modifier": 0.5},
                       {"operator_class": "relu", "base_modifier": 3.0, "fused_modifier": 0.05}],
        hardware=[{"family": "f"}],
        hardware_family=[{"family": "f", "architecture_class": "systolic"}],
        architectural_modifier=[
            {"operator_class": name, "architecture_class": which, "is_fused": fused, "source_id": source, "confidence": confidence}
            for name, which, fused, source, confidence in (
                ("relu", "systolic", False, "plan", "assumed"), ("relu", "systolic", True, "other", "other"),
                ("relu", "sequential", False, "other", "other"), ("*", "systolic", False, "plan", "usual"),
                ("*", "systolic", True, "other", "other"), ("*", "sequential", False, "other", "other"),
            )
        ],
    )  # fmt: skip


def test_network_opportunity(gives: Gives) -> None:
    """A batch of 2 takes 19 s of kernels and a call of 1, 38 J and 2 J of the call. A copy of 2 s and 4 J saves itself; a kernel that waits
    for 3 of 5 s saves these and 3 J of static energy; a norm in 32 bits, where products take 16, saves half of 4 s and 8 J; of 20 columns
    24 are computed, which is a sixth of 6 s and 12 J. A width of 24, one of 4 and one on vector units save nothing."""
    kernels = [
        ("copy", 0, "memory:dram", 2.0, 0.0), ("relu", 0, "overhead", 5.0, 3.0), ("norm", 0, "compute", 4.0, 0.0),
        ("conv", 1, "compute", 6.0, 0.0), ("conv", 2, "compute", 1.0, 0.0), ("conv", 3, "compute", 0.5, 0.0), ("conv", 4, "compute", 0.5, 0.0),
    ]  # fmt: skip
    expected = {"copies": (2.0, 4.0), "small kernels": (3.0, 3.0), "wide normalizations": (2.0, 4.0), "widths": (1.0, 2.0)}
    gives(
        "network_opportunity",
        [
            {"change": change, "kernel_count": 1, "sample_s": 10.0, "saved_s": time / 2, "saved_time_fraction": time / 20,
             "saved_j": energy / 2, "saved_energy_fraction": energy / 40}
            for change, (time, energy) in expected.items()
        ],
        by=["change"],
        free={"kernel_time": ["shape_id", "kernel_id"], "operator_precision": ["precision"], "precision": ["precision"]},
        kernel_time=[
            {"batch": 2, "kernel_id": i, "anchor_operator_id": i, "shape_id": shape, "kernel_class": name, "bottleneck": bottleneck,
             "latency_s": time, "overhead_s": waits, "energy_j": 2 * time, "static_energy_j": time, "run_call_s": 1.0, "static_w": 2.0,
             "matrix_ideal_s": 0.0 if shape in (0, 4) else 0.25}
            for i, (name, shape, bottleneck, time, waits) in enumerate(kernels)
        ],
        operator_class=[
            {"operator_class": name, "is_matrix": name == "conv", "is_normalizing": name == "norm"} for name in ("copy", "relu", "norm", "conv")
        ],
        operator_precision=[
            {"policy": "fp32", "operator_id": i, "precision": "half" if kernel[0] == "conv" else "full"} for i, kernel in enumerate(kernels)
        ],
        precision=[{"precision": "half", "bits": 16.0}, {"precision": "full", "bits": 32.0}],
        shape_step=[
            {"batch": 2, "shape_id": shape, "step_id": step, "n": width}
            for shape, step, width in ((1, 0, 20.0), (1, 1, 3.0), (2, 0, 24.0), (3, 0, 4.0), (4, 0, 20.0))
        ],
    )  # fmt: skip


def test_model_profile(evaluate: Evaluate) -> None:
    """DETR has 31 norms: 30 are found. Other models, and one with its backward pass, have no profile."""
    operators = [{"model": "hf:detr-resnet-50", "operator_id": i, "operator_class": "norm"} for i in range(30)]
    models = [{"model": "hf:detr-resnet-50"}, {"model": "mine"}, {"model": "resnet18", "is_training": True}]
    rows = evaluate("model_profile", model=[{"is_training": False} | model for model in models], operator=operators)
    assert {row["model"] for row in rows} == {"hf:detr-resnet-50"}
    assert {row["operator_class"]: (row["expected"], row["found"]) for row in rows if row["found"]} == {"norm": (31, 30)}


UNCLOCKED: Record = {
    "kernel_count": 2, "view_count": 0,
    "compute_s": 4.0, "memory_s": 0.0, "clocked_memory_s": 0.0, "overlap_fraction": 1.0, "exposed_s": 0.0,
    "kernel_gap_s": 0.0, "unlimited_s": 4.0, "dynamic_energy_j": 400.0, "clocked_energy_j": 400.0, "compute_energy_j": 400.0,
    "memory_energy_j": 0.0, "cache_energy_j": 0.0, "reload_energy_j": 0.0, "stream_energy_j": 0.0, "feed_s": 0.0,
    "product_energy_j": 400.0, "vector_energy_j": 0.0,
}  # fmt: skip
PART: Record = {
    "host_kernel_s": 0.0, "host_view_s": 0.0, "dispatch": "graph", "static_w": 20.0, "tdp_w": 39.375, "reference_fraction": 1.0,
    "voltage_slope": 0.5, "voltage_floor": 0.7, "voltage_ceiling": 1.25, "clock_floor": 0.03125, "clocking_w": 0.0, "standby_w": 0.0,
}  # fmt: skip
TARGET: Record = PART | {"call_s": 0.0, "default_clock_fraction": 1.0}
POWER = UNCLOCKED | PART


def test_clock_step(gives: Gives) -> None:
    """Clock steps by the fifth root of 1 / 32, a half; a mode at half the clock, watts at the full one; a part without the mode is left
    out. Two kernels and three views take 2 * (2 + 1.5) s of a host of half the speed, the call 2 * 0.25."""
    target = {"dispatch": "serial", "host_kernel_s": 1.0, "host_view_s": 0.5, "call_s": 0.25, "default_clock_fraction": 0.8}
    runs = {1: ("default", None), 2: ("low", None), 3: ("30w", 30.0), 4: ("quiet", None)}
    clocks = {1: (39.375, 1.0), 2: (15.0, 0.5), 3: (30.0, 1.0)}
    gives(
        "clock_step",
        [
            {"scenario_id": i, "limit_w": limit, "issue_s": 7.0, "run_call_s": 0.5, "clock_0": clock}
            | {f"clock_{n}": clock * 0.5**n for n in range(1, 6)}
            for i, (limit, clock) in clocks.items()
        ],
        by=["scenario_id"],
        shape_cost=[UNCLOCKED | {"scenario_id": i, "view_count": 3} for i in runs],
        part_support=[TARGET | target],
        run=[{"scenario_id": i, "power": name, "power_w": limit, "host_factor": 2.0} for i, (name, limit) in runs.items()],
        hardware_power=[
            {"mode": "low", "tdp_w": 15.0, "clock_fraction": 0.4}, {"mode": "high", "tdp_w": 90.0, "clock_fraction": 0.8},
        ],
    )  # fmt: skip


def test_a_graph_issues_nothing(gives: Gives) -> None:
    part = TARGET | {"host_kernel_s": 1.0}
    gives("clock_step", [{"issue_s": 0.0}], shape_cost=[UNCLOCKED], part_support=[part], run=[{"host_factor": 2.0}])


STEPS: Record = (
    POWER
    | {"launch_count": 2, "issue_s": 3.0, "run_call_s": 1.0, "limit_w": 39.375}
    | {f"clock_{n}": 0.5**n for n in range(6)}
)


@pytest.mark.parametrize("n", range(6))
@pytest.mark.parametrize(("dispatch", "beside_s"), [("serial", 7.0), ("async_queue", 4.0)])
def test_step_power(gives: Gives, n: int, dispatch: str, beside_s: float) -> None:
    """Two kernels at each clock c: 2 / c s of arithmetic, half of which overlaps the slower of memory and 1 / c of the cache, 1 s exposed,
    and 3.5 / c to feed the units. 80 of 100 J fall with the square of the voltage, which is 1 - 0.5 * (1 - c / 2), at least 0.51; a
    call of 1 s and gaps of 1.5 s per kernel."""
    shape = STEPS | {
        "dispatch": dispatch, "compute_s": 2.0, "memory_s": 3.0, "clocked_memory_s": 1.0, "overlap_fraction": 0.5,
        "exposed_s": 1.0, "feed_s": 3.5, "kernel_gap_s": 1.5, "dynamic_energy_j": 50.0, "clocked_energy_j": 40.0,
        "reference_fraction": 0.5, "voltage_floor": 0.51,
    }  # fmt: skip
    busy = 2 * {0: 5.0, 1: 8.0, 2: 15.0, 3: 29.0, 4: 57.0, 5: 113.0}[n]
    # At full clock 3 + 0.5 * 2 hides what feeds, 3.5; then 7, 14, 28, 56 and 112 of feeding set the pace.
    voltage = {0: 0.75, 1: 0.625, 2: 0.5625, 3: 0.53125, 4: 0.515625}.get(n, 0.51) ** 2
    power = (80 * voltage + 20) / (busy + beside_s) + 20 * voltage
    gives(
        "step_power",
        [{f"busy_{n}_s": busy, f"voltage_{n}": voltage, f"power_{n}_w": power, "beside_s": beside_s, "host_s": 4.0,
          "run_clocked_j": 80.0, "run_memory_j": 20.0, "is_energy_known": True}],
        clock_step=[shape],
    )  # fmt: skip


@pytest.mark.parametrize("n", range(6))
def test_busy_time_at_each_clock(gives: Gives, n: int) -> None:
    """2 / c of arithmetic, 3 of memory and 1 / c of the cache; half of the shorter overlaps, then 1 s is exposed."""
    shape = STEPS | {
        "compute_s": 2.0, "memory_s": 3.0, "clocked_memory_s": 1.0, "overlap_fraction": 0.25, "exposed_s": 1.0, "kernel_count": 1,
    }  # fmt: skip
    # 3 + 0.75 * 2; 4 + 0.75 * 3; 8 + 0.75 * 4; 16 + 0.75 * 8; 32 + 0.75 * 16; 64 + 0.75 * 32
    busy = {0: 4.5, 1: 6.25, 2: 11.0, 3: 22.0, 4: 44.0, 5: 88.0}[n] + 1.0
    # The second shape's cache takes 5 / c.
    more = {0: 6.5, 1: 13.0, 2: 26.0, 3: 52.0, 4: 104.0, 5: 208.0}[n] + 1.0
    gives(
        "step_power",
        [{"shape_id": i, f"busy_{n}_s": busy + more, "is_energy_known": False} for i in (0, 1)],
        by=["shape_id"],
        clock_step=[shape, shape | {"shape_id": 1, "clocked_memory_s": 5.0, "dynamic_energy_j": None}],
    )


@pytest.mark.parametrize("n", range(6))
@pytest.mark.parametrize(("feed_s", "busy_s"), [(0.0, 12.0), (3.5, 15.0)])
def test_each_clock_is_the_same_formula(gives: Gives, n: int, feed_s: float, busy_s: float) -> None:
    """At a quarter: 8 + 0.75 * 4 + 1 s, or 14 + 1 of feeding."""
    shape = STEPS | {
        "compute_s": 2.0, "memory_s": 3.0, "clocked_memory_s": 1.0, "overlap_fraction": 0.25, "exposed_s": 1.0, "kernel_count": 1,
        "feed_s": feed_s, f"clock_{n}": 0.25,
    }  # fmt: skip
    gives("step_power", [{f"busy_{n}_s": busy_s, f"voltage_{n}": 0.49}], clock_step=[shape])


@pytest.mark.parametrize("n", range(1, 6))
def test_power_of_a_run_that_the_host_paces(gives: Gives, n: int) -> None:
    """800 J in 1000 s, however short the kernels are; a voltage without a floor falls with the clock."""
    voltage = {1: 0.75, 2: 0.625, 3: 0.5625, 4: 0.53125, 5: 0.515625}[n] ** 2
    shape = STEPS | {"dispatch": "async_queue", "issue_s": 999.0, "kernel_count": 2, "voltage_floor": 0.1}
    gives("step_power", [{f"power_{n}_w": 0.8 * voltage + 20 * voltage, "host_s": 1000.0}], clock_step=[shape])


RATES = {f"clock_{n}": 0.5**n for n in range(6)} | {f"power_{n}_w": 96.0 * 0.25**n for n in range(6)}
"""A step halves the clock and quarters the power."""
ENERGY: Record = POWER | {
    "static_w": 0.0, "voltage_slope": 0.0, "beside_s": 0.0, "host_s": 0.0, "run_memory_j": 0.0, "is_energy_known": True,
}  # fmt: skip
"""No static power, constant voltage."""
TIMES = {f"busy_{n}_s": busy for n, busy in enumerate((10.0, 11.0, 14.0, 20.0, 40.0, 90.0))}


@pytest.mark.parametrize(
    ("limit", "clock", "busy"),
    [
        (96.0, 1.0, 10.0),
        (None, 1.0, 10.0),
        # Between two steps the clock is the square root of the power. At 1 / 1.5 of the next step the time is at least
        # that of the step before, and at least that of the line through two steps on either side.
        (24.0, 0.5, 11.0),
        (54.0, 0.75, 10.0),  # 11 - (2 - 4 / 3) * 3 / 2
        (13.5, 0.375, 12.0),  # 11 + 2 / 3 * 1, 14 - 4 / 3 * 6 / 4
        (3.375, 0.1875, 16.0),  # 14 + 4 / 3 * 3 / 2, 20 - 8 / 3 * 20 / 8
        (0.84375, 0.09375, 24.0),  # 20 + 8 / 3 * 6 / 4, 40 - 16 / 3 * 50 / 16
        (0.2109375, 0.046875, 160 / 3),  # 40 + 16 / 3 * 20 / 8
        (0.01, 0.03125, 90.0),
    ],
)
def test_run_clock(gives: Gives, limit: float | None, clock: float, busy: float) -> None:
    gives(
        "run_clock",
        [{"clock_fraction": clock, "least_busy_s": busy}],
        step_power=[ENERGY | RATES | TIMES | {"limit_w": limit, "run_clocked_j": busy * (limit or 0.0)}],
    )


@pytest.mark.parametrize(
    ("changed", "clock", "busy"),
    [
        # Half of 96 W is drawn at 2 ** -0.5 of the clock by the power law. That takes 240 J in 10 s, 24 W: four times
        # for 2 ** 0.5 of the clock, so that 48 W are drawn 2 ** 0.25 above it.
        ({"run_clocked_j": 240.0}, 2**-0.25, 10.0),
        # 1,920 J at full voltage, half of it there: 96 W in 10 s, and 48 W at 2 ** 0.25 above the slower step. It takes
        # 2 ** 0.75 of the time of a clock: 20 s minus 40 / 2 of the distance down from 2.
        (
            {"run_clocked_j": 1920.0, "voltage_slope": 1.0, "voltage_floor": 0.0, "busy_1_s": 20.0, "busy_2_s": 60.0},
            0.5 * 2**0.25,
            20 - (2 - 2**0.75) * 20,
        ),
        # 960 J would last 20 s, longer than the slower step and as long as the host.
        ({"run_clocked_j": 960.0}, 0.5, 10.0),
        ({"run_clocked_j": 960.0, "host_s": 20.0}, 2**-0.5, 10.0),
        # Static power uses up the limit between the steps.
        ({"run_clocked_j": 240.0, "static_w": 50.0}, 0.5, 10.0),
    ],
)
def test_a_clock_between_two_steps(gives: Gives, changed: Record, clock: float, busy: float) -> None:
    """48 W, where a step halves the clock and 96 W become 24."""
    times = {f"busy_{n}_s": 10.0 for n in range(6)}
    expected = {"clock_fraction": clock, "least_busy_s": busy}
    gives("run_clock", [expected], step_power=[ENERGY | RATES | times | {"limit_w": 48.0} | changed])


def test_sums_of_a_run_at_all_clocks(gives: Gives) -> None:
    """Two shapes, twice each: 2 * (400 + 100) J that fall with the voltage, 2 * (50 + 30) that do not, gaps of 2 * (0.5 + 0.25) s, 3 + 2 s
    of the host and 1 of the call."""
    other = {"shape_id": 1, "issue_s": 2.0, "kernel_gap_s": 0.25, "clocked_energy_j": 100.0, "dynamic_energy_j": 130.0}
    sums = {"run_clocked_j": 1000.0, "run_memory_j": 160.0, "host_s": 6.0, "beside_s": 7.5, "is_energy_known": True}
    gives(
        "step_power",
        [{"shape_id": i} | sums for i in (0, 1)],
        by=["shape_id"],
        clock_step=[
            STEPS | {"kernel_gap_s": 0.5, "dynamic_energy_j": 450.0},
            STEPS | other | {"dynamic_energy_j": 130.0},
        ],
    )


@pytest.mark.parametrize(
    ("limit", "busy"),
    [(54.0, 50 / 3), (13.5, 80 / 3), (3.375, 110 / 3), (0.84375, 200 / 3), (0.2109375, 400 / 3)],
)
def test_the_line_through_two_steps_bounds_the_time(gives: Gives, limit: float, busy: float) -> None:
    """At 1.5 times the next clock: 20 - 2 / 3 * 10 / 2, 20 + 2 / 3 * 10, 30 + 4 / 3 * 10 / 2, 100 - 16 / 3 * 100 / 16 and
    100 + 16 / 3 * 50 / 8."""
    times = {f"busy_{n}_s": time for n, time in enumerate((10.0, 20.0, 30.0, 50.0, 100.0, 200.0))}
    shape = ENERGY | RATES | times | {"limit_w": limit, "run_clocked_j": limit * busy}
    gives("run_clock", [{"least_busy_s": busy}], step_power=[shape])


def test_a_run_of_unknown_energy_keeps_its_clock(gives: Gives) -> None:
    shape = POWER | RATES | TIMES | {"limit_w": 1.0, "is_energy_known": False}
    gives("run_clock", [{"clock_fraction": 1.0, "least_busy_s": 10.0}], step_power=[shape])


CLOCKED: Record = POWER | {
    "clock_fraction": 0.5, "run_clocked_j": 160.0, "run_memory_j": 40.0, "is_energy_known": True, "beside_s": 2.0, "host_s": 1.0,
    "least_busy_s": 20.0, "limit_w": 39.375, "compute_s": 2.0, "memory_s": 3.0, "clocked_memory_s": 1.0, "overlap_fraction": 0.25,
    "exposed_s": 1.0, "kernel_gap_s": 0.5, "unlimited_s": 5.5, "product_energy_j": 32.0, "vector_energy_j": 16.0,
    "compute_energy_j": 48.0, "cache_energy_j": 4.0, "reload_energy_j": 8.0, "stream_energy_j": 20.0, "memory_energy_j": 50.0,
    "dynamic_energy_j": 98.0, "clocked_energy_j": 80.0,
}  # fmt: skip


def test_clocked_shape(gives: Gives) -> None:
    """At half the clock 4 + 0.75 * 3 + 1 s, and 0.75 squared of what falls with the voltage: 9 / 16."""
    gives(
        "clocked_shape",
        [{"busy_s": 7.25, "pause_ratio": 1.0, "power_s": 1.75, "device_s": 7.75, "static_w": 11.25, "product_energy_j": 18.0,
          "vector_energy_j": 9.0, "compute_energy_j": 27.0, "cache_energy_j": 2.25, "reload_energy_j": 4.5,
          "stream_energy_j": 11.25, "memory_energy_j": 36.0, "dynamic_energy_j": 63.0, "is_power_bound": True, "tdp_w": 39.375}],
        run_clock=[CLOCKED],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        # (160 * 9 / 16 + 40) / (14.45 - 11.25) = 40.625 s are needed, 38.625 of them for kernels that take 20.
        ({"limit_w": 14.45}, {"pause_ratio": 38.625 / 20, "busy_s": 7.25 * 38.625 / 20, "is_power_bound": True}),
        # A host that takes 45 s anyway.
        ({"limit_w": 14.45, "host_s": 45.0}, {"pause_ratio": 1.0}),
        # 40 s are needed, as long as the host takes.
        ({"limit_w": 14.5, "host_s": 40.0}, {"pause_ratio": 1.0}),
        ({"limit_w": 11.25}, {"pause_ratio": None, "busy_s": None}),
        ({"limit_w": 11.0}, {"pause_ratio": None}),
        ({"limit_w": None}, {"pause_ratio": 1.0}),
        ({"static_w": None}, {"pause_ratio": 1.0, "static_w": None}),
        ({"limit_w": 14.45, "is_energy_known": False}, {"pause_ratio": 1.0}),
        # Feeding the units, 4 / 0.5, sets the pace; then the cache, 4 / 0.5 + 0.75 * 4.
        ({"feed_s": 4.0}, {"busy_s": 9.0}),
        ({"clocked_memory_s": 4.0}, {"busy_s": 12.0}),
        # 16 s of memory and 4 s at the clock: it adds 0.75 * 2 s and does not set the pace.
        ({"memory_s": 16.0, "unlimited_s": 18.5}, {"busy_s": 20.0, "power_s": 1.5, "is_power_bound": False}),
        ({"memory_s": 16.0, "unlimited_s": 18.5, "feed_s": 8.0}, {"busy_s": 20.0, "is_power_bound": True}),
        ({"memory_s": 16.0, "unlimited_s": 18.5, "clocked_memory_s": 8.0}, {"busy_s": 20.0, "is_power_bound": True}),
        ({"memory_s": 16.0, "unlimited_s": 18.5, "feed_s": 7.9}, {"is_power_bound": False}),
        # Pauses take more than half of the time: 0.5 * 20 = 10 s above 9.9, not above 10.
        ({"memory_s": 16.0, "unlimited_s": 9.9}, {"is_power_bound": True}),
        ({"memory_s": 16.0, "unlimited_s": 10.0}, {"is_power_bound": False}),
        ({"unlimited_s": 7.25}, {"is_power_bound": False, "power_s": 0.0}),
        ({"voltage_floor": 0.8}, {"static_w": 12.8}),
        ({"reference_fraction": 0.5, "voltage_floor": 0.5}, {"static_w": 7.8125}),
    ],
)
def test_a_shape_at_its_clock(gives: Gives, changed: Record, expected: Record) -> None:
    gives("clocked_shape", [expected], run_clock=[CLOCKED | changed])
