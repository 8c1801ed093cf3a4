"""The comparison of fused with unfused execution: backends, runs and kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Record = dict[str, Any]
Evaluate = Callable[..., list[Record]]

BACKENDS = [
    {"backend": "kpu", "unfused_backend": "kpu_unfused"},
    {"backend": "kpu_unfused"},
    {"backend": "inductor", "unfused_backend": "eager"},
    {"backend": "eager"},
]
SUPPORT = [
    {"backend": "kpu", "family": "kpu", "vendor": "*", "is_default": True, "dispatch": "graph", "run_s": 5e-6},
    {
        "backend": "inductor",
        "family": "gpu",
        "vendor": "*",
        "is_default": True,
        "dispatch": "async_queue",
        "run_s": 4e-4,
    },
    {"backend": "eager", "family": "gpu", "vendor": "*", "dispatch": "async_queue", "run_s": 3e-5},
]


def test_a_counterpart_runs_where_its_backend_does(evaluate: Evaluate) -> None:
    """A counterpart has the same dispatch and is never the default; one with its own rows keeps them."""
    rows = evaluate(
        "supported_backend",
        backend=BACKENDS,
        backend_support=SUPPORT,
        hardware=[
            {"hardware": "array", "family": "kpu", "vendor": "a"},
            {"hardware": "board", "family": "gpu", "vendor": "b"},
        ],
    )
    columns = ("hardware", "backend", "row_backend", "is_counterpart", "is_default", "dispatch", "call_s")
    assert sorted(tuple(row[name] for name in columns) for row in rows) == [
        ("array", "kpu", "kpu", False, True, "graph", 5e-6),
        ("array", "kpu_unfused", "kpu", True, False, "graph", 5e-6),
        ("board", "eager", "eager", False, False, "async_queue", 3e-5),
        ("board", "inductor", "inductor", False, True, "async_queue", 4e-4),
    ]


def test_one_counterpart_of_two_backends_runs_as_the_first(evaluate: Evaluate) -> None:
    backends = [{"backend": name, "unfused_backend": "plain"} for name in ("second", "first")]
    support = [
        {"backend": name, "family": "kpu", "vendor": "*", "run_s": time}
        for name, time in (("second", 2.0), ("first", 1.0))
    ]
    rows = evaluate(
        "supported_backend", backend=backends, backend_support=support, hardware=[{"family": "kpu", "vendor": "a"}]
    )
    found = {row["backend"]: (row["row_backend"], row["call_s"]) for row in rows}
    assert len(rows) == 3 and found["plain"] == ("first", 1.0)


def run(backend: str, scenario: int, kernels: int, time: float, energy: float | None, **changed: Any) -> Record:
    usual = {
        "backend": backend, "scenario_id": scenario, "kernel_count": kernels, "traffic_byte": 10.0 * kernels,
        "dram_byte": 1.0 * kernels, "latency_s": time, "energy_j": energy, "context": 0, "phase": "forward",
        "host_factor": 1.0, "cache_state": "warm", "power": "default",
    }  # fmt: skip
    return usual | changed


def test_a_run_stands_beside_its_counterpart(evaluate: Evaluate) -> None:
    """3 s and 8 J unfused against 2 s and 4 J: 1.5 times as fast, 24 / 8 of the energy-delay product."""
    runs = [
        run("kpu", 1, 2, 2.0, 4.0),
        run("kpu_unfused", 2, 5, 3.0, 8.0),
        run("eager", 3, 5, 99.0, 99.0),  # counterpart of inductor only
        run("kpu", 4, 2, 2.0, 4.0, batch=2),  # has no counterpart
        run("kpu_unfused", 5, 5, 7.0, 8.0, cache_state="cold"),
    ]
    (row,) = evaluate("fusion_benefit", model_cost=runs, backend=BACKENDS)
    expected = {
        "backend": "kpu", "unfused_backend": "kpu_unfused", "scenario_id": 1, "kernel_count": 2, "unfused_kernel_count": 5,
        "traffic_byte": 20.0, "unfused_traffic_byte": 50.0, "dram_byte": 2.0, "unfused_dram_byte": 5.0, "latency_s": 2.0,
        "unfused_latency_s": 3.0, "speedup": 1.5, "energy_j": 4.0, "unfused_energy_j": 8.0, "edp_ratio": 3.0,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


def kernel(backend: str, number: int, anchor: int, time: float, energy: float | None) -> Record:
    return {
        "backend": backend, "scenario_id": 1 if backend == "kpu" else 2, "kernel_id": number, "anchor_operator_id": anchor,
        "moved_byte": 100.0 * time, "dram_byte": 10.0 * time, "latency_s": time, "energy_j": energy, "phase": "forward",
        "context": 0,
    }  # fmt: skip


def test_a_kernel_stands_beside_those_of_its_operators(evaluate: Evaluate) -> None:
    """Operators 0 and 1 are kernel 0, operator 2 is kernel 1. Unfused they are three kernels and a conversion for operator 1: kernel 0
    takes 1 s against 1 + 2 + 0.5 s."""
    given = {
        "backend": BACKENDS,
        "run": [
            {"backend": name, "scenario_id": i, "host_factor": 1.0, "cache_state": "warm", "power": "default"}
            for i, name in enumerate(("kpu", "kpu_unfused"), start=1)
        ],
        "kernel": [
            {"backend": "kpu", "kernel_id": 0, "kernel": "conv+activation", "operator_count": 2},
            {"backend": "kpu", "kernel_id": 1, "kernel": "pooling", "operator_count": 1},
        ],
        "kernel_operator": [
            {"backend": "kpu", "operator_id": operator, "kernel_id": home}
            for operator, home in ((0, 0), (1, 0), (2, 1))
        ],
        "kernel_time": [
            kernel("kpu", 0, 0, 1.0, 4.0),
            kernel("kpu", 1, 2, 2.0, None),
            kernel("kpu_unfused", 0, 0, 1.0, 5.0),
            kernel("kpu_unfused", 1, 1, 2.0, 2.0),
            kernel("kpu_unfused", 2, 2, 2.0, 1.0),
            kernel("kpu_unfused", 3, 1, 0.5, 1.0),
        ],
    }
    first, second = sorted(evaluate("kernel_fusion", **given), key=lambda row: row["kernel_id"])
    expected = {
        "kernel": "conv+activation", "unfused_kernel_count": 3, "unfused_latency_s": 3.5, "latency_s": 1.0, "speedup": 3.5,
        "unfused_energy_j": 8.0, "energy_j": 4.0, "edp_ratio": 7.0, "unfused_traffic_byte": 350.0, "traffic_byte": 100.0,
        "unfused_dram_byte": 35.0, "dram_byte": 10.0, "scenario_id": 1,
    }  # fmt: skip
    assert {name: first[name] for name in expected} == expected
    # An unknown energy stays unknown.
    assert (second["unfused_kernel_count"], second["energy_j"], second["edp_ratio"]) == (1, None, None)
