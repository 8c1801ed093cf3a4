"""Device time with the host's dispatch, kernel by kernel (`kernel_time`) and summed over shapes (`model_cost`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Record = dict[str, Any]


def kernel(position: int, device_s: float, host_issue_s: float, **changed: Any) -> Record:
    """Make a kernel of `kernel_cost` with a gap of half a second to the next."""
    usual = {
        "kernel_id": position, "position": position, "dispatch": "async_queue", "device_s": device_s,
        "busy_s": device_s - 0.5, "host_issue_s": host_issue_s, "team_s": 0.0, "compute_s": 1.0, "memory_s": 2.0,
        "memory_level": "dram", "units_allocated": 2.0, "unit_count": 4.0, "utilization_fraction": 0.4, "static_w": 10.0, "dynamic_energy_j": 100.0,
    }  # fmt: skip
    return usual | changed


def latencies(evaluate: Callable[..., list[Record]], *kernels: Record) -> list[tuple[float, float]]:
    """Return each kernel's time, and its end since the run began."""
    rows = sorted(evaluate("kernel_time", kernel_cost=list(kernels)), key=lambda row: row["position"])
    return [(row["latency_s"], row["end_s"]) for row in rows]


def test_a_host_that_runs_ahead(evaluate: Callable[..., list[Record]]) -> None:
    """Issued at 1, 2, 3 and 8. The first waits for its issue and ends at 5; the second and third follow at once; the device waits for the
    last."""
    queue = [kernel(0, 4.0, 1.0), kernel(1, 1.0, 1.0), kernel(2, 1.0, 1.0), kernel(3, 2.0, 5.0)]
    # Ends: 1 + 4, 5 + 1, 6 + 1, 8 + 2.
    assert latencies(evaluate, *queue) == [(5.0, 5.0), (1.0, 6.0), (1.0, 7.0), (3.0, 10.0)]
    # In any order and numbering of the rows.
    turned = [row | {"kernel_id": 9 - row["kernel_id"]} for row in queue[::-1]]
    assert latencies(evaluate, *turned) == [(5.0, 5.0), (1.0, 6.0), (1.0, 7.0), (3.0, 10.0)]


def test_host_and_device_add(evaluate: Callable[..., list[Record]]) -> None:
    """Host and device alternate; a graph is issued once."""
    serial = [kernel(i, 4.0, 1.0, dispatch="serial") for i in range(2)]
    assert latencies(evaluate, *serial) == [(5.0, 5.0), (5.0, 10.0)]
    graph = [kernel(i, 4.0, 0.0, dispatch="graph") for i in range(2)]
    assert latencies(evaluate, *graph) == [(4.0, 4.0), (4.0, 8.0)]


def test_other_targets_have_queues_of_their_own(evaluate: Callable[..., list[Record]]) -> None:
    """Queues differ if any key of the target differs."""
    others = [
        {"hardware": "other"}, {"model": "other"}, {"backend": "other"}, {"precision": "other"}, {"batch": 2},
        {"sequence": 1}, {"scenario_id": 2},
    ]  # fmt: skip
    rows = evaluate("kernel_time", kernel_cost=[kernel(0, 4.0, 1.0, **other) for other in others])
    assert [row["end_s"] for row in rows] == [5.0] * 7


def test_energy(check: Callable[..., None]) -> None:
    """Static power flows while the device waits; half of the units have no work, and a fifth of the others is idle."""
    expected = {
        "latency_s": 5.0,
        "overhead_s": 1.5,  # 5 - 3.5
        "static_energy_j": 50.0,
        "wasted_energy_j": 36.0,  # 10 x (5 - 3.5 x 0.4)
        "energy_j": 150.0,
    }
    check("kernel_time", expected, kernel_cost=kernel(0, 4.0, 1.0))
    # Units without work waste energy, however full the others are: 10 x (5 - 3.5 x 2 / 4).
    check("kernel_time", {"wasted_energy_j": 32.5}, kernel_cost=kernel(0, 4.0, 1.0, utilization_fraction=0.9))
    check("kernel_time", {"energy_j": None}, kernel_cost=kernel(0, 4.0, 1.0, dynamic_energy_j=None))


@pytest.mark.parametrize(
    ("changed", "bottleneck"),
    [
        ({}, "memory:dram"),
        ({"compute_s": 3.0}, "compute"),
        ({"compute_s": 1.9}, "balanced"),  # 2 < 1.1 x 1.9
        ({"host_issue_s": 3.0}, "memory:dram"),  # 3.5 of 7 s
        ({"host_issue_s": 3.1}, "overhead"),
        ({"is_power_bound": True}, "power"),
        ({"team_s": 2.6}, "threads"),  # of 5 s
    ],
)
def test_bottleneck(check: Callable[..., None], changed: Record, bottleneck: str) -> None:
    """The bottleneck is the largest share of a kernel's time."""
    check("kernel_time", {"bottleneck": bottleneck}, kernel_cost=kernel(0, 4.0, 1.0) | changed)


SHAPE = {
    "dispatch": "async_queue", "host_kernel_s": 1.0, "host_view_s": 0.5, "host_factor": 2.0, "run_call_s": 6.0,
    "launch_count": 2, "kernel_gap_s": 0.5, "bias_is_kernel": True,
    "kernel_count": 2, "view_count": 1, "device_s": 4.0, "busy_s": 3.5, "team_s": 0.0, "compute_s": 1.0, "memory_s": 2.0,
    "macs": 5.0, "flops": 10.0, "moved_byte": 7.0, "dram_byte": 6.0, "naive_s": 0.25, "roofline_s": 0.5,
    "compute_energy_j": 60.0, "memory_energy_j": 40.0, "dynamic_energy_j": 100.0, "units_allocated": 2.0, "unit_count": 4.0,
    "utilization_fraction": 0.4, "static_w": 10.0,
}  # fmt: skip
OTHER = SHAPE | {
    "shape_id": 2, "kernel_count": 1, "launch_count": 1, "view_count": 0, "device_s": 1.5, "busy_s": 1.0, "compute_s": 1.0, "memory_s": 0.5,
    "dynamic_energy_j": 5.0, "compute_energy_j": 5.0, "memory_energy_j": 0.0, "units_allocated": 4.0,
    "utilization_fraction": 1.0,
}  # fmt: skip
RUN = {"host_factor": 2.0, "phase": "forward", "context": 0}
KERNELS = [
    # The first two have one shape, with a view before the second; the third is a bias.
    {"kernel_id": 0, "position": 0, "shape_id": 0, "view_count": 0, "issued_view_count": 0, "issued_bias_count": 0},
    {"kernel_id": 1, "position": 1, "shape_id": 0, "view_count": 1, "issued_view_count": 1, "issued_bias_count": 0},
    {"kernel_id": 2, "position": 2, "shape_id": 2, "view_count": 0, "issued_view_count": 1, "issued_bias_count": 1},
]


def test_sums_of_a_run(check: Callable[..., None]) -> None:
    """Two kernels of 4 s and one of 1.5, issued at 2, 2 + 2 + 1 and 7 on a host of half the speed, after a call of 6 s."""
    expected = {
        "kernel_count": 3,
        "macs": 15.0,
        "flops": 30.0,
        "traffic_byte": 21.0,
        "dram_byte": 18.0,
        "device_s": 9.5,
        "run_call_s": 6.0,
        "host_issue_s": 13.0,  # 3 x 2 + 1, and the call
        # The device waits only for the first: 6 + 2 + 9.5.
        "latency_s": 17.5,
        "compute_s": 1.0,
        "memory_s": 7.0,  # 2 x 3.5
        "power_s": 0.0,
        "overhead_s": 9.5,  # 17.5 - 8
        "naive_s": 0.75,
        "roofline_s": 1.5,
        "compute_energy_j": 125.0,
        "memory_energy_j": 80.0,
        "static_energy_j": 175.0,
        "wasted_energy_j": 137.0,  # 10 x (17.5 - 7 x 0.4 - 1 x 1)
        "peak_energy_j": 140.0,  # the first two: 100 + 10 x 4
        "energy_j": 380.0,
        "peak_power_w": 10 + 100 / 3.5,
        "utilization_fraction": (7 * 0.4 + 1 * 1.0) / 8,
        "bottleneck": "overhead",
    }
    check("model_cost", expected, run=RUN, run_kernel=KERNELS, clocked_shape=[SHAPE, OTHER])


@pytest.mark.parametrize(
    ("changed", "device_s", "latency_s"),
    [
        # 6 + 9.5 + 7: host and device alternate; a graph is launched once.
        pytest.param({"dispatch": "serial"}, 4.0, 22.5, id="serial"),
        pytest.param({"dispatch": "graph"}, 4.0, 15.5, id="graph"),
        # A device so fast that it waits for the last: 6 + 7 + 1.5.
        pytest.param({}, 0.5, 14.5, id="slow host"),
        # Without a kernel for the bias, which the queue then does not count: 6 + 5 + 0.5.
        pytest.param({"bias_is_kernel": False}, 0.5, 11.5, id="no bias kernel"),
    ],
)
def test_dispatch(check: Callable[..., None], changed: Record, device_s: float, latency_s: float) -> None:
    """The backend's kind of dispatch decides."""
    shapes = [SHAPE | changed | {"device_s": device_s}, OTHER | changed]
    if not changed.get("bias_is_kernel", True):
        shapes = shapes[:1]
    check("model_cost", {"latency_s": latency_s}, run=RUN, run_kernel=KERNELS, clocked_shape=shapes)


def test_power_and_teams_have_their_own_part(check: Callable[..., None]) -> None:
    """7 s at the power limit; of 1 s a quarter is the team's."""
    shapes = [SHAPE | {"is_power_bound": True, "team_s": 0.5}, OTHER | {"team_s": 0.25}]
    expected = {
        "power_s": 7.0,
        "compute_s": 0.75,
        "team_s": 0.25,
        "memory_s": 0.0,
        "latency_s": 17.5,
        "overhead_s": 9.5,
    }
    check("model_cost", expected, run=RUN, run_kernel=KERNELS, clocked_shape=shapes)


def test_one_unknown_energy_leaves_the_sum_unknown(check: Callable[..., None]) -> None:
    """The peak power is unknown too."""
    other = OTHER | {"compute_energy_j": None, "dynamic_energy_j": None}
    expected = {
        "compute_energy_j": None,
        "memory_energy_j": 80.0,
        "energy_j": None,
        "peak_power_w": None,
        "latency_s": 17.5,
    }
    check("model_cost", expected, run=RUN, run_kernel=KERNELS, clocked_shape=[SHAPE, other])


def test_kernels_of_a_run_add_up_to_it(evaluate: Callable[..., list[Record]]) -> None:
    """Both views add up, from the same shapes."""
    for changed in ({}, {"dispatch": "serial"}, {"dispatch": "graph"}):
        shapes = [SHAPE | changed, OTHER | changed]
        rows = evaluate("kernel_cost", run_kernel=KERNELS, clocked_shape=shapes)
        wanted = kernel(0, 0.0, 0.0).keys()
        kernels = evaluate("kernel_time", kernel_cost=[{name: row[name] for name in wanted} for row in rows])
        (whole,) = evaluate("model_cost", run=[RUN], run_kernel=KERNELS, clocked_shape=shapes)
        for column, once in (("latency_s", 6.0), ("energy_j", 60.0), ("wasted_energy_j", 60.0)):
            assert sum(row[column] for row in kernels) + once == pytest.approx(whole[column])


def test_efficiency_is_what_is_not_wasted(check: Callable[..., None]) -> None:
    """36 of 150 J wasted by a kernel, 137 of 380 J by a run."""
    part = {"energy_scope": "board"}
    check(
        "kernel_energy",
        {"efficiency_fraction": 0.76, "wasted_energy_j": 36.0},
        kernel_time={"energy_j": 150.0, "wasted_energy_j": 36.0, "latency_s": 5.0},
        part=part,
    )
    check(
        "model_energy",
        {"efficiency_fraction": 243 / 380, "peak_energy_j": 140.0},
        run_cost={"energy_j": 380.0, "wasted_energy_j": 137.0, "peak_energy_j": 140.0, "latency_s": 17.5},
        run={"batch_class": "1"},
        part=part,
    )
