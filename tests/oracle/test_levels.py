"""Larger or faster memory levels never make an answer slower, and each level matters to some workload."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from charz.schema.scenario import Scenario

from .database import Bench, scenario
from .test_known_figures import product

PARTS = {
    "rtx4090": ("fp16", "inductor"),
    "i7_13700k": ("fp32", "openvino"),
    "tpu_v4": ("bf16", "xla"),
    "kpu_t256": ("int8", "kpu"),
    "hexagon698": ("int8", "onnxruntime"),
}
"""Precision and backend of a part of each of five families."""
BATCHES = (1, 64)
ROUNDING = 1e-9
ELSEWHERE = {
    ("rtx4090", "register", "bandwidth"): "the peak of the vector units is four operands a lane and clock",
    ("rtx4090", "l1", "capacity"): "libraries stage through the scratchpad beside it",
    **{(part, "dram", "capacity"): "whether a model fits (`model_memory`)" for part in PARTS},
}
"""Numbers without an effect on time, and the place where they matter instead."""

Times = dict[tuple[str, int, str], tuple[float, float]]
"""Time and energy by model, batch and part; infinite where no tile fits."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one level of every part, by factors; levels are counted from the arithmetic."""

    place: int
    bandwidth: float = 1.0
    capacity: float = 1.0


def state_derived_levels(bench: Bench) -> None:
    """State a number that follows from a rule as the part's own, so that a factor on it counts."""
    columns = (
        "hardware, level, scope, management, technology, capacity_byte, bandwidth_byte_per_s, unit_bandwidth_byte_per_s"
    )
    found = bench.rows(f"SELECT {columns} FROM part_memory")
    bench.execute("DELETE FROM hardware_memory")
    for row in found:
        bench.execute(f"INSERT INTO hardware_memory ({columns}) VALUES ({', '.join('?' * len(row))})", row)


def lift_limits(bench: Bench) -> None:
    """Remove the power limit and keep the static power: a tile is chosen at full clock, and under a limit the run whose tiles take less
    energy may be faster."""
    watts = bench.rows("SELECT hardware, value FROM part_energy WHERE what = 'static'")
    for part, static_w in watts:
        bench.execute("UPDATE hardware_power SET tdp_w = 1e6, idle_w = ? WHERE hardware = ?", [static_w, part])


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """ResNet-18 and two products, on five parts."""
    with Bench(["model_cost"], with_parts=True) as made:
        made.execute(f"DELETE FROM hardware WHERE hardware NOT IN {tuple(PARTS)}")
        state_derived_levels(made)
        lift_limits(made)
        made.replace_rows(
            Scenario,
            [
                scenario(10 * i + j, batch=batch, precision=precision, backend=backend)
                for i, (precision, backend) in enumerate(PARTS.values())
                for j, batch in enumerate(BATCHES)
            ],
        )
        made.add_model("resnet18")
        made.add_graph(product(2048, 512, 96), "wide")
        made.add_graph(product(512, 1024, 4096), "deep")
        yield made


def levels(bench: Bench) -> dict[str, list[str]]:
    """Return the levels of each part from the arithmetic outwards."""
    rows = bench.rows(
        "SELECT hardware, level FROM hardware_memory JOIN memory_level USING (level) ORDER BY hardware, depth"
    )
    return {part: [level for name, level in rows if name == part] for part in PARTS}


def measured(bench: Bench, change: Change | None = None) -> Times:
    """Evaluate the answers with the change."""
    places = levels(bench)
    if change is not None:
        chosen = [(part, found[change.place]) for part, found in places.items() if change.place < len(found)]
        for part, level in chosen:
            for column, factor in (("bandwidth_byte_per_s", change.bandwidth), ("capacity_byte", change.capacity)):
                query = f"UPDATE hardware_memory SET {column} = {column} * ? WHERE hardware = ? AND level = ?"
                bench.execute(query, [factor, part, level])
    query = "SELECT model, batch, hardware, precision, backend, latency_s, energy_j FROM model_cost"
    found = {
        (model, batch, part): (math.inf if latency is None else latency, math.inf if energy is None else energy)
        for model, batch, part, precision, backend, latency, energy in bench.rows(query)
        if PARTS[part] == (precision, backend)
    }
    if change is not None:
        for part, level in chosen:
            for column, factor in (("bandwidth_byte_per_s", change.bandwidth), ("capacity_byte", change.capacity)):
                query = f"UPDATE hardware_memory SET {column} = {column} / ? WHERE hardware = ? AND level = ?"
                bench.execute(query, [factor, part, level])
    return found


def moved(before: Times, after: Times, part: str) -> list[tuple[str, int, float, float]]:
    """Return the workloads of a part whose time or energy differs, with both ratios."""
    ratios = [
        (model, batch, after[model, batch, name][0] / time, after[model, batch, name][1] / energy)
        for (model, batch, name), (time, energy) in before.items()
        if name == part and math.isfinite(after[model, batch, name][0])
    ]
    return [row for row in ratios if abs(row[2] - 1) > ROUNDING and abs(row[3] - 1) > ROUNDING]


def slower(less: Times, more: Times) -> list[object]:
    """Return the workloads that take longer with more."""
    return [(key, less[key], more[key]) for key in less if more[key][0] > less[key][0] * (1 + ROUNDING)]


@pytest.mark.slow
def test_more_is_never_slower_and_every_level_matters(bench: Bench) -> None:
    """Each level of each part: its bandwidth at a 64th, its capacity at a 16th, and at that bandwidth at a half too, and more of both.
    docs/cost-model/levels.md has the printed rows."""
    base, places = measured(bench), levels(bench)
    assert len({part for _, _, part in base}) == len(PARTS)
    dead = []
    for place in range(max(map(len, places.values()))):
        starved, smaller = measured(bench, Change(place, 1 / 64)), measured(bench, Change(place, capacity=1 / 16))
        halved, least = measured(bench, Change(place, 1 / 64, 1 / 2)), measured(bench, Change(place, 1 / 64, 1 / 16))
        assert not slower(starved, base)
        for less, more in (
            (smaller, base),
            (halved, starved),
            (least, halved),
            (base, measured(bench, Change(place, 4.0, 8.0))),
        ):
            assert not slower(less, more)
        for part, found in places.items():
            if place >= len(found):
                continue
            for what, pairs in (
                ("bandwidth", [(base, starved)]),
                ("capacity", [(base, smaller), (starved, halved), (starved, least)]),
            ):
                rows = [row for before, after in pairs for row in moved(before, after, part)]
                if rows:
                    model, batch, time, energy = max(rows, key=lambda row: row[2])
                    print(f"| {part} | {found[place]} | {what} | {model}, {batch} | {time:.2f} | {energy:.2f} |")
                elif (part, found[place], what) not in ELSEWHERE:
                    dead.append((part, found[place], what))
    assert not dead
