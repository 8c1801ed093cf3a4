"""Groups of layers that stay on the chip of a part other than a KPU: two linear layers on a TPU v1, with room for four fifths of its 24
MiB."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.schema.scenario import Scenario

from .database import Bench, scenario

MIB = 1024**2
WEIGHTS = 8 * MIB + 2 * (4096 + 1024)
"""1,024 x 4,096 weights twice, of a byte each, and biases of two bytes."""


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    graph, _ = to_graph(build(parse("synthetic:mlp", settings=(("in", "1024"), ("hidden", "4096"), ("out", "1024"), ("layers", "2")))))
    with Bench(["shape_cost"], with_parts=True) as made:
        made.execute("DELETE FROM hardware WHERE hardware NOT IN ('tpu_v1', 't4')")
        runs = [
            scenario(number, batch=batch, precision="int8", backend=backend)
            for number, (batch, backend) in enumerate((b, name) for b in (2048, 4096) for name in ("xla", "depth_first"))
        ]
        made.replace_rows(Scenario, runs)
        made.add_graph(graph, "two")
        yield made


def found(bench: Bench, batch: int, backend: str) -> list[tuple[float, ...]]:
    query = """
        SELECT dram_byte, moved_byte, cut_count FROM shape_cost
        WHERE hardware = 'tpu_v1' AND run.batch = ? AND run.backend = ? ORDER BY moved_byte DESC
    """
    return bench.rows(query, [batch, backend])


def test_what_fits_stays(bench: Bench) -> None:
    """2,048 samples: the 16 MiB between the layers fit in 19.2 MiB. The model reads rows and weights of a byte per element; results of two
    bytes stay for the next kernel."""
    ((dram_byte, moved_byte, cut_count),) = found(bench, 2048, "depth_first")
    assert cut_count == 0
    assert moved_byte == 2 * MIB + WEIGHTS + 4 * MIB
    assert dram_byte == 2 * MIB + WEIGHTS


def test_what_does_not_fit_passes_in_groups(bench: Bench) -> None:
    """4,096 samples: of 32 MiB, 2,457 samples fit at a time, in two groups; each reads all weights."""
    ((dram_byte, moved_byte, cut_count),) = found(bench, 4096, "depth_first")
    assert cut_count == 0
    assert moved_byte == 4 * MIB + 2 * WEIGHTS + 8 * MIB
    assert dram_byte == 4 * MIB + 2 * WEIGHTS


def test_layer_by_layer_moves_more_through_the_chip(bench: Bench) -> None:
    """Two kernels: the first writes 4,096 results of two bytes per sample and the second reads them as bytes, from the same memory."""
    layers = found(bench, 2048, "xla")
    ((dram_byte, moved_byte, _),) = found(bench, 2048, "depth_first")
    assert len(layers) == 2
    assert sum(row[0] for row in layers) == dram_byte
    assert sum(row[1] for row in layers) == moved_byte + (2 + 1) * 2048 * 4096


def test_what_has_no_memory_of_software_is_no_part_for_it(bench: Bench) -> None:
    """Hardware decides the contents of a GPU's cache."""
    assert bench.rows("SELECT DISTINCT hardware FROM shape_cost WHERE run.backend = 'depth_first'") == [("tpu_v1",)]
