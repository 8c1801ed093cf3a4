"""Views of the whole model compared with reference implementations over the same rows: critical path and stages with networkx,
peak memory with a simulation, batches with brute force, many devices by hand."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from oracle.database import Bench, scenario

from charz.schema.scenario import Scenario

from .generated import graph
from .plain import check_critical_paths, check_peak_memory, check_stages

GRAPHS = 50
PART = "h100_sxm5_80"
VIEWS = (
    "critical_path", "kernel_time", "run_memory", "memory_step", "storage_byte", "parallel_plan", "parallel_kernel",
    "model_cost", "recommendation",
)  # fmt: skip
SCENARIOS = [
    scenario(1, batch=3, backend="inductor"),
    scenario(2, batch=3, backend="tensorrt", precision="fp16"),
    scenario(3, batch=64, backend="eager", precision="amp-fp16"),
]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """Fifty generated models on one part under three scenarios."""
    with generated(VIEWS, GRAPHS) as made:
        made.replace_rows(Scenario, SCENARIOS)
        made.evaluate()
        yield made


def generated(views: Sequence[str], count: int) -> Bench:
    """Write a number of generated models on one part."""
    made = Bench(views, with_parts=True)
    made.execute("DELETE FROM hardware WHERE hardware <> ?", [PART])
    for seed in range(count):
        made.add_graph(graph(seed), f"generated{seed}")
    return made


def test_critical_path_equals_networkx(bench: Bench) -> None:
    count, exact = check_critical_paths(bench.connection)
    assert count == GRAPHS * len(SCENARIOS)
    assert exact > 0.5 * count, f"only {exact} of {count} are exact"


def test_stages_equal_networkx(bench: Bench) -> None:
    assert check_stages(bench.connection) >= GRAPHS


def test_peak_memory_equals_a_simulation(bench: Bench) -> None:
    assert check_peak_memory(bench.connection) == GRAPHS * len(SCENARIOS)


BATCHES = range(1, 769)
CAPACITY = 6e6


@pytest.mark.slow
def test_batches_equal_brute_force() -> None:
    """The batches are the largest that fits, and the smallest that saturates, of all allowed ones."""
    with generated(("largest_batch", "batch_sweep", "run_memory", "model_cost"), 4) as bench:
        bench.execute(f"UPDATE hardware_memory SET capacity_byte = {CAPACITY} WHERE level = 'dram'")
        # The memory contains only tensors.
        bench.execute("DELETE FROM device_context")
        bench.replace_rows(Scenario, [scenario(1, backend="inductor")])
        claimed = dict(bench.rows("SELECT model, largest_batch FROM largest_batch WHERE is_exact"))
        bench.replace_rows(Scenario, [scenario(b, batch=b, backend="inductor") for b in BATCHES])
        peaks = bench.rows("SELECT run.model, run.batch, peak_memory_byte FROM run_memory")
        fits = {(m, b) for m, b, byte in peaks if byte <= CAPACITY}
        largest = {m: max((b for n, b in fits if n == m), default=0) for m in claimed}
        assert {m: min(batch, BATCHES[-1]) for m, batch in claimed.items()} == largest
        assert any(0 < batch < BATCHES[-1] for batch in claimed.values())
        rates: dict[str, dict[int, float]] = defaultdict(dict)
        for model, batch, seconds in bench.rows("SELECT model, batch, latency_s FROM model_cost"):
            if (model, batch) in fits:
                rates[model][batch] = batch / seconds
        found = bench.rows("SELECT DISTINCT model, saturating_batch, largest_fitting_batch FROM batch_sweep")
        assert sorted(row for row in found if row[2] is not None) == [
            (m, min(b for b, rate in of.items() if rate >= 0.9 * max(of.values())), max(of))
            for m, of in sorted(rates.items())
        ]


def test_one_device_equals_the_single_part(bench: Bench) -> None:
    rows = bench.rows(
        """
        SELECT p.strategy, p.latency_s, p.communication_s, c.latency_s, p.speedup
        FROM parallel_plan AS p
        JOIN model_cost AS c USING (model, hardware, scenario_id)
        WHERE p.device_count = 1
        """
    )
    assert {strategy for strategy, *_ in rows} == {"data", "tensor", "pipeline"}
    for _strategy, latency, communication, single, speedup in rows:
        assert latency == pytest.approx(single, rel=1e-12)
        assert (communication, speedup) == (0.0, pytest.approx(1.0, rel=1e-12))


def test_tensor_parallel_communication_equals_the_ring_formula(bench: Bench) -> None:
    """A call takes nine tenths of the link's latency, a step one tenth, at six tenths of its bandwidth."""
    links = {
        name: (bandwidth, delay)
        for name, bandwidth, delay in bench.rows(
            "SELECT interconnect, bandwidth_byte_per_s, latency_s FROM hardware_interconnect WHERE hardware = ?", [PART]
        )
    }
    messages: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    for model, scenario_id, reduced, gathered in bench.rows(
        "SELECT run.model, run.scenario_id, all_reduce_byte, all_gather_byte FROM parallel_kernel"
    ):
        messages[model, scenario_id].append((reduced, gathered))
    rows = bench.rows(
        "SELECT model, scenario_id, interconnect, device_count, communication_s FROM parallel_plan"
        " WHERE strategy = 'tensor' AND device_count > 1"
    )
    assert any(communication > 0 for *_, communication in rows)
    for model, scenario_id, link, n, communication in rows:
        bandwidth, delay = links[link]
        expected = 0.0
        for reduced, gathered in messages[model, scenario_id]:
            if reduced:
                expected += 0.9 * delay + 2 * (n - 1) * (reduced / n / (0.6 * bandwidth) + 0.1 * delay)
            if gathered:
                expected += 0.9 * delay + (n - 1) * (gathered / n / (0.6 * bandwidth) + 0.1 * delay)
        assert communication == pytest.approx(expected, rel=1e-9)


def test_pareto_front_equals_brute_force(bench: Bench) -> None:
    rows = bench.rows(
        """
        SELECT
            (model, sequence, context, phase), dominated_by_count, fits_device, is_simulated, energy_scope,
            [latency_s, coalesce(sample_j, 1e300), peak_memory_byte, coalesce(million_inference_usd, 1e300)],
            coalesce(price_usd_per_hour, 1e300)
        FROM recommendation
        """
    )
    groups: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for group, *rest in rows:
        groups[group].append(tuple(rest))
    assert any(count for _, count, *_ in rows)
    assert any(not count for _, count, *_ in rows)
    for choices in groups.values():
        for mine in choices:
            assert mine[0] == sum(_beats(other, mine) for other in choices)


def _beats(other: tuple[Any, ...], mine: tuple[Any, ...]) -> bool:
    """Return True if a choice fits, is comparable, is at most 1 % worse than `mine` in any respect and better in the product of
    all."""
    _, fits, is_simulated, scope, figures, price = other
    return (
        fits
        and (mine[2] or not is_simulated)
        and scope == mine[3]
        and price <= 1.01 * mine[5]
        and all(o <= 1.01 * m for o, m in zip(figures, mine[4], strict=True))
        and sum(map(math.log, figures)) < sum(map(math.log, mine[4])) - 1e-9
    )
