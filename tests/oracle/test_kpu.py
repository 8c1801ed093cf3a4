"""Domain-flow parts: more samples never take longer each, and dense convolutions reach the rate of depthwise ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from charz.schema.scenario import Scenario

from .database import Bench, scenario

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """Three models on every KPU."""
    with Bench(["model_cost", "mapped_step"], with_parts=True) as made:
        made.execute("DELETE FROM hardware WHERE family <> 'kpu'")
        runs = [scenario(i, batch=batch, precision="int8", backend="kpu") for i, batch in enumerate(BATCHES)]
        made.replace_rows(Scenario, runs)
        for name in ("resnet18", "efficientnet_b0", "vit_b_16"):
            made.add_model(name)
        yield made


@pytest.mark.slow
def test_time_a_sample_never_rises_with_the_batch(bench: Bench) -> None:
    """By more than 2 %, from each batch to its double."""
    rows = bench.rows("SELECT model, hardware, batch, latency_s / batch FROM model_cost ORDER BY ALL")
    assert len(rows) == 3 * 4 * len(BATCHES)
    pairs = itertools.pairwise(rows)
    rising = [(before, after) for before, after in pairs if after[:2] == before[:2] and after[3] > 1.02 * before[3]]
    assert not rising


@pytest.mark.slow
def test_dense_convolutions_reach_the_rate_of_depthwise(bench: Bench) -> None:
    """All of a model's together, at every batch."""
    query = """
        SELECT m.hardware, m.batch, t.operator_class, SUM(m.flops) / SUM(m.ideal_s) AS rate
        FROM mapped_step AS m
        JOIN shape_step AS t
            ON t.model = m.model AND t.scenario_id = m.scenario_id AND t.step_id = m.step_id
        JOIN run_kernel AS k ON k.model = m.model AND k.scenario_id = m.scenario_id AND k.kernel_id = m.kernel_id
            AND k.shape_id = t.shape_id
        WHERE m.model = 'efficientnet_b0' AND t.operator_class IN ('conv', 'depthwise_conv')
        GROUP BY ALL
    """
    rates = {(part, batch, kind): rate for part, batch, kind, rate in bench.rows(query)}
    assert len(rates) == 2 * 4 * len(BATCHES)
    slower = [key for key in rates if key[2] == "conv" and rates[key] < rates[*key[:2], "depthwise_conv"]]
    assert not slower
