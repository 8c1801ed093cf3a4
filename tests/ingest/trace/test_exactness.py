"""One symbolic ingest compared with fresh traces at concrete sizes, operator by operator.

The tests compare the operators that compute or move bytes, in order: ATen overload, arithmetic, threads,
and the bytes each reads and writes. Views are left out, because the dynamic graph may spell them otherwise.
"""

from __future__ import annotations

import random

import pytest
import torch

from charz.ingest.graph import Graph, evaluate
from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.ingest.trace.export import BATCH, CONTEXT, SEQUENCE, Request

IMAGE_MODELS = [
    "resnet18", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5", "efficientnet_b0", "densenet121",
    "convnext_tiny", "regnet_y_400mf", "vit_b_32", "swin_t", "lraspp_mobilenet_v3_large",
    "synthetic:conv2d_bn_act", "synthetic:depthwise_separable", "synthetic:lstm",
]  # fmt: skip
FURTHER = ("densenet121", "regnet_y_400mf", "efficientnet_b0", "convnext_tiny", "resnet18")
"""Models that take long and whose operators the others have too."""
SEQUENCE_MODELS = [
    ("hf:bert-base-uncased", "num_hidden_layers=2"), ("hf:distilbert-base-uncased", "n_layers=2"),
    ("hf:gpt2", "n_layer=2"),
    ("hf:llama-3.2-1b", "num_hidden_layers=2"), ("hf:mixtral-8x7b", "num_hidden_layers=2"),
    ("hf:t5-small", "num_layers=1"),
    ("hf:bart-base", "encoder_layers=1"), ("synthetic:transformer_block", "width=96"),
]  # fmt: skip
PAIRS = 5


def summary(graph: Graph, batch: int, sequence: int) -> list[tuple[object, ...]]:
    """Describe the work of every operator at a size, without views."""

    def value(size: dict[tuple[int, int, int], float]) -> float:
        return round(evaluate(size, batch, sequence), 3)

    rows: list[tuple[object, ...]] = []
    for o in graph.operators:
        if o.is_view:
            continue
        work = tuple(
            (s.step, q, value(size)) for s in o.steps for q, size in sorted(s.quantities.items()) if value(size)
        )
        sizes = (value(o.accesses.get(t, graph.tensors[t].elements)) for t in (*o.reads, *o.writes))
        moved = tuple(size for size in sizes if size)
        rows.append((o.aten_operator, work, moved))
    return rows


def resized(request: Request, batch: int, sequence: int) -> Request:
    """Return the same request at concrete sizes, nothing symbolic."""
    values = {BATCH: batch, SEQUENCE: sequence, CONTEXT: sequence}

    def resize(name: str, tensor: torch.Tensor) -> torch.Tensor:
        shape = list(tensor.shape)
        for d, powers in request.axes.get(name, {}).items():
            shape[d] = values[powers]
        return torch.empty(shape, dtype=tensor.dtype, device="meta")

    names = list(request.axes)
    return Request(
        request.name, request.source, request.module,
        tuple(resize(n, t) for n, t in zip(names, request.arguments, strict=False)),
        {n: resize(n, t) for n, t in request.keywords.items()},
        default_sequence=sequence,
    )  # fmt: skip


def assert_equal(name: str, settings: str, sizes: list[tuple[int, int]]) -> None:
    def request() -> Request:
        chosen = (tuple(settings.split("=")),) if settings else ()
        return build(parse(name, settings=chosen))

    symbolic, traced = to_graph(request())
    assert traced.reason is None
    for batch, sequence in sizes:
        concrete, _ = to_graph(resized(request(), batch, sequence))
        expected, found = summary(concrete, batch, sequence), summary(symbolic, batch, sequence)
        differing = [(e, f) for e, f in zip(expected, found, strict=False) if e != f][:3]
        assert expected == found, (name, batch, sequence, len(expected), len(found), differing)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(m, marks=pytest.mark.broad) if m in FURTHER else m for m in IMAGE_MODELS]
)
def test_batch_polynomials(name):
    draw = random.Random(name)
    assert_equal(name, "", [(1, 1), *((draw.randint(2, 64), 1) for _ in range(PAIRS))])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "settings"), SEQUENCE_MODELS)
def test_batch_and_sequence_polynomials(name, settings):
    draw = random.Random(name)
    sizes = [(draw.randint(2, 16), draw.randint(2, 300)) for _ in range(PAIRS)]
    assert_equal(name, settings, [(1, 17), *sizes])
