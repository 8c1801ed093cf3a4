"""Reports that compare runs and parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Record = dict[str, Any]
Gives = Callable[..., None]
Evaluate = Callable[..., list[Record]]

SAME = ["context", "phase", "memory_format", "host_factor", "cache_state", "power"]


def test_batch_sweep(gives: Gives) -> None:
    """Batch 4 reaches 9 of at most 10 samples per second; batch 64 would make 20 and does not fit."""
    rates = {1: 5.0, 4: 9.0, 16: 10.0, 64: 20.0}
    gives(
        "batch_sweep",
        [
            {"batch": batch, "best_throughput_per_s": 10.0, "throughput_fraction": rate / 10, "saturating_batch": 4,
             "largest_fitting_batch": 16, "assumed_count": 3}
            for batch, rate in rates.items()
        ],
        by=["batch"],
        across=["batch", "scenario_id"],
        within=SAME,
        target_cost=[
            {"batch": batch, "scenario_id": i, "throughput_per_s": rate, "fits_device": batch < 64}
            for i, (batch, rate) in enumerate(rates.items())
        ],
        assumed_input=[{"assumed_count": 3}],
    )  # fmt: skip


@pytest.mark.parametrize("changed", [{name: "other"} for name in ("phase", "memory_format", "cache_state", "power")]
                         + [{"context": 7}, {"host_factor": 2.0}])  # fmt: skip
def test_batches_under_other_conditions(evaluate: Evaluate, changed: Record) -> None:
    """Runs under other conditions saturate separately."""
    rows = evaluate(
        "batch_sweep",
        target_cost=[
            {"batch": 4, "scenario_id": 1, "throughput_per_s": 5.0, "fits_device": True},
            {"batch": 2, "scenario_id": 2, "throughput_per_s": 9.0, "fits_device": True} | changed,
            {"batch": 8, "scenario_id": 3, "throughput_per_s": 10.0, "fits_device": True} | changed,
        ],
        assumed_input=[{}],
    )
    columns = ("scenario_id", "best_throughput_per_s", "saturating_batch", "largest_fitting_batch")
    assert sorted(tuple(row[name] for name in columns) for row in rows) == [
        (1, 5.0, 4, 4),
        (2, 10.0, 2, 8),
        (3, 10.0, 2, 8),
    ]


POLICIES = {"int8": (2.0, 1.0, 25.0), "fp16": (5.0, 2.0, 50.0), "bf16": (4.0, 4.0, 60.0), "fp32": (10.0, 8.0, 100.0)}
"""Seconds, joules and bytes of each precision."""


@pytest.mark.parametrize(
    ("names", "base"),
    [
        (["int8", "fp16", "bf16", "fp32"], "fp32"),
        (["int8", "fp16", "bf16"], "bf16"),
        (["int8", "fp16"], "fp16"),
        (["int8"], "int8"),
    ],
)
def test_precision_comparison(gives: Gives, names: list[str], base: str) -> None:
    """The base is fp32, else bf16, else fp16."""
    base_s, base_j, base_byte = POLICIES[base]
    rows = [(name, *POLICIES[name]) for name in names]
    gives(
        "precision_comparison",
        [
            {"precision": name, "base_precision": base, "speedup": base_s / time, "energy_ratio": energy / base_j,
             "memory_ratio": byte / base_byte, "assumed_count": 3}
            for name, time, energy, byte in rows
        ],
        by=["precision"],
        across=["precision", "scenario_id"],
        within=SAME,
        target_cost=[
            {"precision": name, "scenario_id": i, "latency_s": time, "energy_j": energy, "peak_memory_byte": byte}
            for i, (name, time, energy, byte) in enumerate(rows)
        ],
        assumed_input=[{"precision": name, "assumed_count": 3} for name in names],
        part_support=[{"precision": name, "default_precision": "int4"} for name in names],
    )  # fmt: skip


def test_the_default_policy_of_the_backend_is_the_base(gives: Gives) -> None:
    """The default takes 4 s, strict single precision 8 s."""
    runs = [("fp32", 8.0), ("mixed", 4.0), ("fp16", 2.0)]
    gives(
        "precision_comparison",
        [{"precision": name, "base_precision": "mixed", "speedup": 4.0 / time} for name, time in runs],
        by=["precision"],
        across=["precision", "scenario_id"],
        target_cost=[{"precision": name, "scenario_id": i, "latency_s": time} for i, (name, time) in enumerate(runs)],
        assumed_input=[{"precision": name} for name, _ in runs],
        part_support=[{"precision": name, "default_precision": "mixed"} for name, _ in runs],
    )


def test_of_equal_policies_the_first_is_the_base(gives: Gives) -> None:
    """The first by name, then by scenario: 8 s, not 4."""
    runs = [("int8", 2, 8.0), ("int8", 3, 4.0), ("int9", 1, 2.0)]
    gives(
        "precision_comparison",
        [{"scenario_id": i, "base_precision": "int8", "speedup": 8.0 / time} for _, i, time in runs],
        by=["scenario_id"],
        across=["precision", "scenario_id"],
        target_cost=[{"precision": name, "scenario_id": i, "latency_s": time} for name, i, time in runs],
        assumed_input=[{"precision": name} for name in ("int8", "int9")],
        part_support=[{"precision": name, "default_precision": "int4"} for name in ("int8", "int9")],
    )


TERMS = ("compute", "memory", "power", "team", "overhead")
REASONS = {"team": "threads"}


@pytest.mark.parametrize("longest", TERMS)
def test_architecture_comparison(gives: Gives, longest: str) -> None:
    """10 s on `a` against 25 on `b`: 11 s more in one term and 1 s more in each other."""
    times = dict(zip(TERMS, (4.0, 3.0, 1.0, 1.5, 0.5), strict=True))
    more = {name: 11.0 if name == longest else 1.0 for name in TERMS}
    reason = REASONS.get(longest, longest)
    shared = {"precision": "fp32", "is_energy_comparable": True, "is_simulated": True, "reason": reason}
    gives(
        "architecture_comparison",
        [
            shared | {f"{name}_more_s": more[name] for name in TERMS} | {
                "hardware": "a", "other_hardware": "b", "other_backend": "xla", "other_scenario_id": 2, "other_s": 25.0,
                "speedup": 2.5, "other_utilization_fraction": 0.2, "other_j": 4.0, "edp_js": 30.0, "other_js": 100.0,
                "sentence": f"a is faster than b by a factor of 2.5, mostly in {reason}", "assumed_count": 1,
                "other_assumed_count": 2,
            },
            shared | {f"{name}_more_s": -more[name] for name in TERMS} | {
                "hardware": "b", "other_hardware": "a", "other_backend": "eager", "other_scenario_id": 1, "other_s": 10.0,
                "speedup": 0.4, "other_utilization_fraction": 0.7, "other_j": 3.0, "edp_js": 100.0, "other_js": 30.0,
                "sentence": f"b is slower than a by a factor of 2.5, mostly in {reason}", "assumed_count": 2,
                "other_assumed_count": 1,
            },
        ],
        by=["hardware"],
        across=["hardware", "backend", "scenario_id"],
        run_cost=[
            {"hardware": "a", "scenario_id": 1, "latency_s": 10.0, "energy_j": 3.0, "utilization_fraction": 0.7}
            | {f"{name}_s": time for name, time in times.items()},
            {"hardware": "b", "backend": "xla", "scenario_id": 2, "latency_s": 25.0, "energy_j": 4.0,
             "utilization_fraction": 0.2} | {f"{name}_s": time + more[name] for name, time in times.items()},
        ],
        part=[
            {"hardware": "a", "energy_scope": "board"},
            {"hardware": "b", "energy_scope": "board", "is_simulated": True},
        ],
        assumed_input=[
            {"hardware": "a", "assumed_count": 1}, {"hardware": "b", "backend": "xla", "assumed_count": 2},
            {"hardware": "a", "backend": "xla", "assumed_count": 8}, {"hardware": "b", "assumed_count": 9},
        ],
    )  # fmt: skip


@pytest.mark.parametrize("changed", [{name: "other"} for name in ("phase", "memory_format", "cache_state", "power")]
                         + [{"context": 7}, {"host_factor": 2.0}])  # fmt: skip
def test_parts_under_other_conditions_do_not_compare(evaluate: Evaluate, changed: Record) -> None:
    sums = [{"hardware": "a", "scenario_id": 0, "latency_s": 1.0}, {"hardware": "b", "scenario_id": 1, "latency_s": 1.0} | changed]
    rows = evaluate(
        "architecture_comparison",
        run_cost=sums,
        part=[{"hardware": name} for name in "ab"],
        assumed_input=[{"hardware": name} for name in "ab"],
    )
    assert rows == []


def test_equally_fast_parts(evaluate: Evaluate) -> None:
    """Neither is slower; energies of different scopes are not compared."""
    rows = evaluate(
        "architecture_comparison",
        run_cost=[{"hardware": name, "latency_s": 1.0, **{f"{t}_s": 0.2 for t in TERMS}} for name in "ab"],
        part=[{"hardware": name, "energy_scope": name} for name in "ab"],
        assumed_input=[{"hardware": name} for name in "ab"],
    )
    assert sorted(row["sentence"] for row in rows) == [
        "a is faster than b by a factor of 1.0, mostly in compute",
        "b is faster than a by a factor of 1.0, mostly in compute",
    ]
    assert [(row["is_energy_comparable"], row["is_simulated"]) for row in rows] == [(False, False)] * 2


NOW = {
    "scenario_id": 1, "latency_s": 4.0, "sample_s": 4.0, "sample_j": 8.0, "sample_usd": 0.001, "peak_memory_byte": 100.0,
    "energy_scope": "board", "fits_device": True,
}  # fmt: skip
CHOICES: list[tuple[Record, tuple[Any, ...] | None]] = [
    # A change, and its opportunity: kind, change, seconds and joules saved, bytes, dollars per million, seconds to a
    # result, trade.
    ({"scenario_id": 2, "batch": 8, "latency_s": 8.0, "sample_s": 1.0, "sample_j": 2.0, "sample_usd": 0.0005,
      "peak_memory_byte": 300.0},
     ("batch", "batch 8", 3.0, 6.0, 0.0, 500.0, -4.0, "each result waits for the whole batch, 200 % more memory")),
    ({"scenario_id": 3, "batch": 2, "latency_s": 3.0, "sample_s": 1.5},
     ("batch", "batch 2", 2.5, 0.0, 0.0, 0.0, 1.0, "none known")),
    ({"scenario_id": 4, "precision": "fp16", "sample_s": 3.0},
     ("precision", "fp16", 1.0, 0.0, 0.0, 0.0, 0.0, "accuracy must be checked")),
    ({"scenario_id": 10, "precision": "bf16", "sample_s": 5.0, "sample_j": 4.0},
     ("precision", "bf16", 0.0, 4.0, 0.0, 0.0, 0.0, "accuracy must be checked, 25 % longer")),
    ({"scenario_id": 5, "backend": "inductor", "sample_s": 3.0},
     ("backend", "inductor", 1.0, 0.0, 0.0, 0.0, 0.0, "the model must compile for it or be captured as a graph")),
    ({"scenario_id": 6, "memory_format": "nhwc", "sample_s": 5.0, "sample_j": 4.0},
     ("memory_format", "nhwc", 0.0, 4.0, 0.0, 0.0, 0.0, "25 % longer")),
    ({"scenario_id": 7, "cache_state": "hot", "sample_s": 3.0},
     ("cache", "hot", 1.0, 0.0, 0.0, 0.0, 0.0, "nothing else may use the cache")),
    ({"scenario_id": 8, "power": "low", "sample_s": 2.0, "peak_memory_byte": 150.0},
     ("power", "low", 2.0, 0.0, 0.0, 0.0, 0.0, "50 % more memory")),
    ({"hardware": "dear", "sample_s": 3.0, "sample_usd": 0.002},
     ("part", "dear", 1.0, 0.0, 0.0, 0.0, 0.0, "100 % dearer")),
    ({"hardware": "drawn", "sample_s": 3.0, "is_simulated": True, "energy_scope": "chip", "sample_j": 1.0},
     ("part", "drawn", 1.0, None, 0.0, 0.0, 0.0, "simulated part: no silicon exists")),
    ({"hardware": "hungry", "sample_s": 3.0, "sample_j": 9.0},
     ("part", "hungry", 1.0, 0.0, 0.0, 0.0, 0.0, "13 % more energy")),
    # A loss of 0.4 % is not mentioned.
    ({"hardware": "wider", "sample_s": 3.0, "peak_memory_byte": 100.4}, ("part", "wider", 1.0, 0.0, 0.0, 0.0, 0.0, "none known")),
    ({"hardware": "better", "sample_s": 3.0, "sample_j": 7.0}, ("part", "better", 1.0, 1.0, 0.0, 0.0, 0.0, "none known")),
    # Changes without an opportunity: no gain, no room, two changes at once, unrelated changes.
    ({"hardware": "same"}, None),
    ({"hardware": "rounded", "sample_s": 4.0 - 1e-12, "sample_j": 8.0 - 1e-12}, None),
    ({"hardware": "full", "sample_s": 1.0, "fits_device": False}, None),
    ({"hardware": "both", "scenario_id": 4, "precision": "fp16", "sample_s": 1.0}, None),
    ({"scenario_id": 9, "sequence": 7, "sample_s": 1.0}, None),
    ({"scenario_id": 9, "context": 7, "sample_s": 1.0}, None),
    ({"scenario_id": 9, "phase": "decode", "sample_s": 1.0}, None),
    ({"scenario_id": 9, "host_factor": 2.0, "sample_s": 1.0}, None),
    ({"scenario_id": 9, "batch": 4, "precision": "fp16", "sample_s": 1.0}, None),
    ({"scenario_id": 9, "backend": "xla", "precision": "bf16", "sample_s": 1.0}, None),
    ({"scenario_id": 9, "backend": "xla", "memory_format": "nhwc", "sample_s": 1.0}, None),
    ({"scenario_id": 9, "cache_state": "hot", "power": "low", "sample_s": 1.0}, None),
    ({"scenario_id": 9, "cache_state": "hot", "memory_format": "nhwc", "sample_s": 1.0}, None),
]  # fmt: skip


def test_opportunity(gives: Gives) -> None:
    """4 s and 8 J per sample now, 0.001 dollars and 100 bytes. A loss is not a saving: the trade states it."""
    names = ("saved_s", "saved_j", "saved_memory_byte", "saved_million_usd", "saved_latency_s")
    expected = []
    for _, answer in CHOICES:
        if answer:
            kind, change, *amounts, trade = answer
            saved_s, saved_j, *_ = amounts
            expected.append(
                {
                    "kind": kind, "change": change, "trade": trade, "sample_s": 4.0, "saved_time_fraction": saved_s / 4,
                    "saved_energy_fraction": None if saved_j is None else saved_j / 8,
                    **dict(zip(names, amounts, strict=True)),
                }
            )  # fmt: skip
    gives(
        "opportunity",
        expected,
        by=["change"],
        across=["hardware", "backend", "precision", "batch", "sequence", "scenario_id"],
        run=[{"scenario_id": 1}],
        part_support=[{}, {"backend": "xla", "hardware": "other"}, {"precision": "int8", "hardware": "third"}],
        target_cost=[NOW, *(NOW | choice for choice, _ in CHOICES)],
    )


def test_a_gain_of_energy_alone(gives: Gives) -> None:
    """A change that saves half of the energy and no time is an opportunity; two scenarios under one name change nothing."""
    twin = NOW | {"scenario_id": 2, "sample_s": 1.0}
    gives(
        "opportunity",
        [{"kind": "part", "saved_s": 0.0, "saved_j": 4.0, "trade": "none known"}],
        across=["hardware", "backend", "precision", "batch", "sequence", "scenario_id"],
        run=[{"scenario_id": 1}],
        part_support=[{}],
        target_cost=[NOW, twin, NOW | {"hardware": "frugal", "sample_j": 4.0}],
    )


PARTS = {
    # s, J, bytes, dollars per hour, for four samples; simulated
    "fast": (1.0, 4.0, 10.0, 36.0, False),
    "slow": (2.0, 4.0, 10.0, 36.0, False),
    "frugal": (3.0, 1.0, 10.0, 36.0, False),
    "cheap": (4.0, 4.0, 10.0, 3.6, False),
    "lean": (5.0, 4.0, 9.0, 36.0, False),
    "poor": (6.0, 4.0, 11.0, 36.0, False),
    "full": (0.5, 0.5, 1.0, 36.0, False),
    "drawn": (0.25, 0.25, 1.0, 36.0, True),
    "unpriced": (0.1, 0.1, 1.0, None, False),
}
"""Choices; `full` does not fit."""
FRONT = {
    "slow": (1, "fast eager fp32 batch 4"), "poor": (5, "fast eager fp32 batch 4"),
    "unpriced": (0, None),
}  # fmt: skip


def test_recommendation(gives: Gives) -> None:
    """`fast` beats `slow`; `poor` is beaten by five; a part without silicon never beats one with silicon, an unknown price beats nothing."""
    gives(
        "recommendation",
        [
            {"hardware": name, "throughput_per_s": 4 / time, "sample_j": energy / 4, "edp_js": energy * time,
             "average_power_w": energy / time, "price_basis": "assumed, 2025-06" if usd else None, "price_kind": "rent" if usd else None,
             "dominating_power_w": {"slow": 4.0, "poor": 1 / 3}.get(name),
             "fits_device": name != "full", "million_inference_usd": usd and usd / 3600 * time / 4 * 1e6,
             "dominated_by_count": FRONT.get(name, (0, None))[0], "dominated_by": FRONT.get(name, (0, None))[1],
             "assumed_count": 5}
            for name, (time, energy, _, usd, _) in PARTS.items()
        ],
        by=["hardware"],
        across=["hardware", "backend", "precision", "batch", "scenario_id"],
        run_cost=[
            {"hardware": name, "batch": 4, "latency_s": time, "energy_j": energy, "scenario_id": i}
            for i, (name, (time, energy, *_)) in enumerate(PARTS.items())
        ],
        run_memory=[
            {"batch": 4, "scenario_id": i, "peak_memory_byte": byte} for i, (_, _, byte, *_) in enumerate(PARTS.values())
        ],
        part=[
            {"hardware": name, "dram_byte": 0.5 if name == "full" else byte, "energy_scope": "board", "is_simulated": simulated}
            for name, (_, _, byte, _, simulated) in PARTS.items()
        ],
        part_price=[
            {"hardware": name, "price_usd_per_hour": usd, "price_basis": "assumed, 2025-06", "price_kind": "rent"}
            for name, (*_, usd, _) in PARTS.items() if usd
        ],
        assumed_input=[{"hardware": name, "assumed_count": 2, "price_count": 3} for name in PARTS],
    )  # fmt: skip


def chosen(evaluate: Evaluate, first: Record, second: Record, **run: Any) -> list[tuple[int, str | None]]:
    """Return the dominators of two choices that are equal except for the given values."""
    costs = [{"latency_s": 1.0, "energy_j": 1.0}, {"latency_s": 1.0, "energy_j": 1.0}]
    both = [
        {"peak_memory_byte": 1.0, "dram_byte": 9.0, "energy_scope": "board", "usd": 1.0, **one}
        for one in (first, second)
    ]
    rows = evaluate(
        "recommendation",
        run_cost=[
            cost | {k: v for k, v in one.items() if k in (*cost, "batch")} | {"hardware": name, "scenario_id": i} | (run if i else {})
            for i, (cost, one, name) in enumerate(zip(costs, both, "ab", strict=True))
        ],
        run_memory=[
            {"scenario_id": i, "batch": one.get("batch", 1), "peak_memory_byte": one["peak_memory_byte"]}
            for i, one in enumerate(both)
        ],
        part=[
            {"hardware": name, "dram_byte": one["dram_byte"], "energy_scope": one["energy_scope"],
             "is_simulated": one.get("is_simulated", False)}
            for one, name in zip(both, "ab", strict=True)
        ],
        part_price=[{"hardware": name, "price_usd_per_hour": one["usd"]} for one, name in zip(both, "ab", strict=True)],
        assumed_input=[{"hardware": name} for name in "ab"],
    )  # fmt: skip
    return [(row["dominated_by_count"], row["dominated_by"]) for row in sorted(rows, key=lambda row: row["hardware"])]


@pytest.mark.parametrize(
    "better",
    [
        {"latency_s": 0.5}, {"energy_j": 0.5}, {"peak_memory_byte": 0.5}, {"usd": 0.5}, {"latency_s": 0.5, "is_simulated": False},
    ],
)  # fmt: skip
def test_better_in_one_respect(evaluate: Evaluate, better: Record) -> None:
    """A choice dominates if it is better in one respect and not worse in the others."""
    assert chosen(evaluate, better, {}) == [(0, None), (1, "a eager fp32 batch 1")]
    assert chosen(evaluate, {"is_simulated": True}, better) == [(1, "b eager fp32 batch 1"), (0, None)]


@pytest.mark.parametrize(
    "other",
    [
        {"latency_s": 1.0 + 1e-12}, {"energy_j": 1.0 + 1e-12}, {}, {"energy_scope": "chip", "latency_s": 2.0},
        {"latency_s": 2.0, "energy_j": 0.5}, {"latency_s": 2.0, "peak_memory_byte": 0.5}, {"energy_j": 2.0, "latency_s": 0.5},
        {"latency_s": 2.0, "usd": 0.4}, {"peak_memory_byte": 2.0, "energy_j": 0.5},
        # A cheaper part that takes so long that a sample costs more.
        {"latency_s": 4.0, "usd": 0.5},
        # Faster for as many joules a sample, at 1.6 times the rent of it.
        {"batch": 4, "latency_s": 2.5, "energy_j": 4.0},
    ],
)  # fmt: skip
def test_neither_beats_the_other(evaluate: Evaluate, other: Record) -> None:
    """Choices equal within rounding, each better in one respect, or with energies of different scopes."""
    assert chosen(evaluate, {}, other) == [(0, None)] * 2


@pytest.mark.parametrize(
    "gain", [{"peak_memory_byte": 0.995}, {"energy_j": 0.995}, {"usd": 0.995}, {"peak_memory_byte": 0.991, "energy_j": 0.991}]
)
def test_less_than_one_percent_makes_no_point_of_the_front(evaluate: Evaluate, gain: Record) -> None:
    """A choice twice as slow with that gain is beaten; with 1.1 % it would be on the front."""
    slow = {"latency_s": 2.0}
    assert chosen(evaluate, slow | gain, {}) == [(1, "b eager fp32 batch 1"), (0, None)]
    assert chosen(evaluate, {}, slow | gain) == [(0, None), (1, "a eager fp32 batch 1")]
    for large in ({"peak_memory_byte": 0.989}, {"energy_j": 0.989}, {"usd": 0.989}):
        assert chosen(evaluate, slow | large, {}) == [(0, None)] * 2


def test_of_two_that_are_nearly_equal_one_stays(evaluate: Evaluate) -> None:
    """Each is less than 1 % better in one respect: the one with the smaller product stays."""
    first, second = {"energy_j": 1.005}, {"peak_memory_byte": 1.006}
    assert chosen(evaluate, first, second) == [(0, None), (1, "a eager fp32 batch 1")]


@pytest.mark.parametrize("changed", [{"context": 7}, {"phase": "decode"}])
def test_choices_for_other_work(evaluate: Evaluate, changed: Record) -> None:
    assert chosen(evaluate, {}, {"latency_s": 2.0}, **changed) == [(0, None)] * 2


def test_of_equally_fast_ones_the_first_is_named(evaluate: Evaluate) -> None:
    """The first by part: `a` and `b` beat `c` alike; an unknown energy beats nothing."""
    names = "abcd"
    rows = evaluate(
        "recommendation",
        run_cost=[
            {"hardware": name, "latency_s": 1.0 if name in "ab" else 2.0, "energy_j": None if name == "d" else 1.0}
            for name in names
        ],
        run_memory=[{"peak_memory_byte": 1.0}],
        part=[{"hardware": name, "dram_byte": 1.0} for name in names],
        assumed_input=[{"hardware": name} for name in names],
    )
    found = {row["hardware"]: (row["dominated_by_count"], row["dominated_by"]) for row in rows}
    a = "a eager fp32 batch 1"
    assert found == {"a": (0, None), "b": (0, None), "c": (2, a), "d": (3, a)}


def test_precisions_that_are_compared(evaluate: Evaluate) -> None:
    """4-bit floating-point weights are not compared where the part computes in 8 bits and more; 4-bit integers are."""
    rows = evaluate(
        "compared_precision",
        part_support=[{"precision": policy} for policy in ("fp16", "w4_float", "w8_float", "w4_integer")],
        precision_policy=[
            {"policy": policy, "rule": "drop", "weight_precision": weight, "compute_precision": "fp16"}
            for policy, weight in (("fp16", "fp16"), ("w4_float", "fp4"), ("w8_float", "fp8"), ("w4_integer", "int4"))
        ],
        precision=[
            {"precision": name, "kind": kind, "bits": bits}
            for name, kind, bits in (("fp16", "float", 16), ("fp8", "float", 8), ("fp4", "float", 4), ("int4", "integer", 4))
        ],
        part_rate=[{"compute_precision": "fp8", "is_native": True}, {"compute_precision": "fp4", "is_native": False}],
    )
    assert {row["precision"] for row in rows} == {"fp16", "w8_float", "w4_integer"}


def test_llm_serving(gives: Gives) -> None:
    """The prompt has 8 tokens, the longest prefill within the context of 10: 3 s for 2 samples and 2 s for one; then 4 tokens per second
    at 0.5 J and 1e-6 dollars each, 1 for each of 4 devices. The 4 devices cost 4 * 3.6 dollars an hour, 0.004 a second: 3 s for 16 prompt
    tokens are 750 dollars a million. A run that does not fit has no time. Keys and values of 2 * 10 tokens are 40 bytes, states of 2 samples 6 more."""
    token = {"phase": "decode", "batch": 2, "context": 10, "device_count": 4, "price_usd_per_hour": 3.6}
    prompt = {"phase": "prefill", "batch": 2, "context": 0, "device_count": 4}
    gives(
        "llm_serving",
        [
            {"scenario_id": 1, "prompt_tokens": 8, "ttft_s": 2.0, "batch_ttft_s": 3.0, "tpot_s": 0.5, "tokens_per_s": 4.0,
             "device_tokens_per_s": 1.0, "prompt_tokens_per_s": 16 / 3, "token_j": 0.5, "tokens_per_j": 2.0,
             "million_decode_tokens_usd": 1.0, "million_prompt_tokens_usd": 750.0,
             "kv_cache_token_byte": 2.0, "lasting_cache_byte": 3.0, "peak_memory_byte": 90.0, "fits_device": True, "assumed_count": 5},
            {"scenario_id": 2, "prompt_tokens": None, "batch_ttft_s": None, "prompt_tokens_per_s": None, "peak_memory_byte": 91.0,
             "fits_device": False, "kv_cache_token_byte": 10.0, "tokens_per_j": None, "tpot_s": None},
            {"scenario_id": 7, "prompt_tokens": 4, "ttft_s": None, "batch_ttft_s": 1.0, "peak_memory_byte": 60.0},
            {"scenario_id": 9, "prompt_tokens": 9, "batch_ttft_s": None, "tpot_s": None, "peak_memory_byte": 90.0, "fits_device": False},
        ],
        by=["scenario_id"],
        across=["sequence", "scenario_id"],
        target_cost=[
            token | {"scenario_id": 1, "latency_s": 0.5, "throughput_per_s": 4.0, "sample_j": 0.5, "sample_usd": 1e-6,
                     "peak_memory_byte": 50.0, "device_byte": 90.0, "fits_device": True},
            token | {"scenario_id": 2, "context": 2, "latency_s": 0.5, "throughput_per_s": 4.0, "sample_j": 0.5,
                     "peak_memory_byte": 91.0, "device_byte": 90.0},
            token | {"scenario_id": 7, "context": 4, "latency_s": 0.5, "peak_memory_byte": 50.0, "device_byte": 90.0,
                     "fits_device": True},
            # The run fits, its prompt does not.
            token | {"scenario_id": 9, "context": 9, "batch": 3, "latency_s": 0.5, "peak_memory_byte": 50.0, "device_byte": 90.0,
                     "fits_device": True},
            prompt | {"scenario_id": 10, "sequence": 9, "batch": 3, "latency_s": 3.0, "peak_memory_byte": 90.0},
            prompt | {"scenario_id": 11, "batch": 1, "sequence": 8, "latency_s": 2.0, "peak_memory_byte": 1.0},
            prompt | {"scenario_id": 3, "sequence": 8, "latency_s": 3.0, "peak_memory_byte": 90.0, "fits_device": True},
            prompt | {"scenario_id": 4, "sequence": 8, "latency_s": 7.0, "peak_memory_byte": 80.0, "fits_device": True},
            prompt | {"scenario_id": 5, "sequence": 4, "latency_s": 1.0, "peak_memory_byte": 60.0, "fits_device": True},
            prompt | {"scenario_id": 6, "sequence": 11, "latency_s": 9.0, "peak_memory_byte": 99.0},
            prompt | {"scenario_id": 8, "sequence": 9, "phase": "forward", "latency_s": 9.0, "peak_memory_byte": 99.0},
        ],
        run_memory=[
            {"batch": batch, "scenario_id": i, "kv_cache_byte": 46.0, "lasting_cache_byte": 6.0, "weight_byte": 1.0}
            for batch, i in ((2, 1), (2, 2), (2, 7), (3, 9))
        ],
        assumed_input=[{"assumed_count": 2, "price_count": 3}],
    )  # fmt: skip


@pytest.mark.parametrize(
    "changed",
    [
        {"memory_format": "nhwc"}, {"host_factor": 2.0}, {"cache_state": "hot"}, {"power": "low"}, {"device_count": 8},
        {"engine_version": "1"}, {"kv_precision": "int8"},
        {"weight_host_fraction": 0.5}, {"cache_host_fraction": 0.5}, {"input_host_fraction": 0.5},
    ],
)  # fmt: skip
def test_a_prompt_under_other_conditions(evaluate: Evaluate, changed: Record) -> None:
    """The row is not the prompt of this run."""
    (row,) = evaluate(
        "llm_serving",
        target_cost=[
            {"phase": "decode", "context": 10, "latency_s": 1.0, "peak_memory_byte": 1.0},
            {"phase": "prefill", "sequence": 8, "latency_s": 3.0, "scenario_id": 2, "peak_memory_byte": 2.0} | changed,
        ],
        run_memory=[{"kv_cache_byte": 1.0}],
        assumed_input=[{}],
    )
    assert (row["ttft_s"], row["batch_ttft_s"], row["prompt_tokens"], row["peak_memory_byte"]) == (None, None, None, 1.0)


def test_what_differs_by_rounding_is_no_gain(evaluate: Evaluate) -> None:
    """A billionth of 4 s and of 8 J: 1 ns and 1 nJ are no gain, 6 ns and 12 nJ are."""
    choices = {
        "same_s": {"sample_s": 4.0 - 1e-9}, "same_j": {"sample_j": 8.0 - 1e-9}, "less_s": {"sample_s": 4.0 - 6e-9},
        "less_j": {"sample_j": 8.0 - 12e-9},
    }  # fmt: skip
    rows = evaluate(
        "opportunity",
        run=[{"scenario_id": 1}],
        part_support=[{}],
        target_cost=[NOW, *(NOW | choice | {"hardware": name} for name, choice in choices.items())],
    )
    assert {row["change"] for row in rows} == {"less_s", "less_j"}


def test_parameters_of_experts(evaluate: Evaluate) -> None:
    """Two products read one weight of 64 elements, one of them through a view; a weight of 100 belongs to no expert."""
    rows = evaluate(
        "expert_parameter",
        operator_split=[{"operator_id": 1, "is_expert": True}, {"operator_id": 2, "is_expert": True}, {"operator_id": 3, "is_expert": False}],
        edge=[
            {"consumer_operator_id": operator, "position": position, "tensor_id": tensor}
            for operator, position, tensor in ((1, 0, 9), (1, 1, 1), (2, 0, 2), (3, 0, 3))
        ],
        tensor=[
            {"tensor_id": number, "storage_tensor_id": storage, "role": role}
            for number, storage, role in ((1, 1, "weight"), (2, 1, "activation"), (3, 3, "weight"), (9, 9, "activation"))
        ],
        tensor_term=[{"tensor_id": number, "coefficient": count} for number, count in ((1, 64.0), (2, 64.0), (3, 100.0), (9, 7.0))],
    )
    assert [row["expert_parameter_count"] for row in rows] == [64]
