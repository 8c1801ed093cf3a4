"""Domain-flow parts: a larger batch never takes longer per sample, and dense convolutions reach the rate of depthwise ones."""

from __future__ import annotations

import itertools
import math
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
    """Each doubling of the batch raises the time per sample by at most 2 %."""
    rows = bench.rows("SELECT model, hardware, batch, latency_s / batch FROM model_cost ORDER BY ALL")
    assert len(rows) == 3 * 4 * len(BATCHES)
    pairs = itertools.pairwise(rows)
    rising = [(before, after) for before, after in pairs if after[:2] == before[:2] and after[3] > 1.02 * before[3]]
    assert not rising


@pytest.mark.slow
def test_dense_convolutions_reach_the_rate_of_depthwise(bench: Bench) -> None:
    """The rates are those of all of a model's convolutions together, at every batch."""
    query = """
        SELECT m.hardware, m.batch, t.operator_class, SUM(m.flops) / SUM(m.ideal_s) AS rate
        FROM mapped_step AS m
        JOIN shape_step AS t
            ON t.run.model = m.model AND t.run.scenario_id = m.scenario_id AND t.step_id = m.step_id
        JOIN run_kernel AS k ON k.run = t.run AND k.kernel_id = m.kernel_id AND k.shape_id = t.shape_id
        WHERE m.model = 'efficientnet_b0' AND t.operator_class IN ('conv', 'depthwise_conv')
        GROUP BY ALL
    """
    rates = {(part, batch, kind): rate for part, batch, kind, rate in bench.rows(query)}
    assert len(rates) == 2 * 4 * len(BATCHES)
    slower = [key for key in rates if key[2] == "conv" and rates[key] < rates[*key[:2], "depthwise_conv"]]
    assert not slower


def shared(copies: float) -> float:
    """Return distinct pixels of a square of 32 windows relative to the elements of its matrix, which has each pixel of the image `copies`
    times."""
    return ((math.sqrt(32) - 1) / math.sqrt(copies) + 1) ** 2 / 32


KERNELS = {
    # The first convolution: 3 x 224 x 224 in, 64 x 147 weights, 64 x 112 x 112 out; M = 12,544, N = 64, K = 147. 392 x
    # 2 tiles of 32 x 32: rows cross twice, columns 392 times. Main memory has only the data with which the run begins.
    "conv1": (
        150_528 + 9_408,
        150_528 + 9_408 + 802_816,
        12_544 * 147 * 2 * shared(12_544 * 147 / 150_528) + 147 * 64 * 392 + 802_816,
        12_544 * 147 * 2 + 147 * 64 * 392 + 802_816,
    ),
    # The first of the second layer (docs/cost-model/kpu.md): 64 x 56 x 56 in, 128 x 576 weights, 128 x 28 x 28 out; 25
    # x 4 tiles in two halves, whose partial results are 4 bytes.
    "layer2.0.conv1": (
        73_728,
        200_704 + 73_728 + 100_352,
        784 * 576 * 4 * shared(784 * 576 / 200_704) + 576 * 128 * 25 + 100_352 * (1 + 4),
        784 * 576 * 4 + 576 * 128 * 25 + 100_352,
    ),
    # The classifier: 512 in, 1,000 x 512 weights, and 1,000 biases and results of 2 bytes, because int8 is too narrow;
    # 32 tiles in four quarters, and a row of a tile crosses with each.
    "fc": (
        512_000 + 2_000,
        512 + 512_000 + 2_000 + 2_000,
        512 * 32 + 512_000 + 1_000 * (1 + 3 * 4),
        512 * 32 + 512_000 + 1_000,
    ),
}
"""Bytes across main memory, L3, L2 and L1 of kernels of ResNet-18 at int8 on KPU-T256, one operator each, by module."""


def test_bytes_of_three_kernels_by_hand() -> None:
    with Bench(["kernel_level"], with_parts=True) as bench:
        bench.execute("DELETE FROM hardware WHERE hardware <> 'kpu_t256'")
        bench.replace_rows(Scenario, [scenario(0, batch=1, precision="int8", backend="kpu_unfused", cache_state="weights_streamed")])
        bench.add_model("resnet18")
        query = """
            SELECT m.path, MAP(LIST(l.border), LIST(l.level_byte))
            FROM kernel_level AS l
            JOIN kernel AS k USING (model, backend, kernel_id)
            JOIN operator AS o ON o.model = k.model AND o.operator_id = k.anchor_operator_id
            JOIN module AS m ON m.model = o.model AND m.module_id = o.module_id
            WHERE l.kernel_class IN ('conv', 'linear')
            GROUP BY m.path, l.kernel_id
        """
        found = dict(bench.rows(query))
    borders = ("dram", "cache", "tile", "stream")
    for path, expected in KERNELS.items():
        assert [found[path][b] for b in borders] == pytest.approx(expected, rel=1e-12), path
