"""Real networks: kernels, conversions and the time it takes."""

from __future__ import annotations

from collections import Counter

import pytest

from charz.ingest.compile import compile_graph
from charz.ingest.compile.dataflow import flow_of
from charz.ingest.compile.precision import propagate
from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import Spec
from charz.schema.compiled import Kernel, PrecisionCast

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def graphs():
    known = {}

    def graph(name):
        if name not in known:
            known[name] = to_graph(build(Spec(name, "torchvision")))[0]
        return known[name]

    return graph


@pytest.mark.parametrize(
    ("name", "backend", "expected"),
    [
        (
            "resnet18",
            "eager",
            {"conv": 20, "batch_norm": 20, "activation": 17, "elementwise": 8, "pooling": 2, "linear": 1},
        ),
        (
            "resnet18",
            "tensorrt",
            {
                "conv+batch_norm+activation": 9,
                "conv+batch_norm+elementwise+activation": 8,
                "conv+batch_norm": 3,
                "pooling": 2,
                "linear": 1,
            },
        ),
        (
            "resnet18",
            "inductor",
            {
                "conv": 20,
                "batch_norm+activation": 9,
                "batch_norm+elementwise+activation": 5,
                "batch_norm*2+elementwise+activation": 3,
                "pooling": 2,
                "linear": 1,
            },
        ),
        (
            "vit_b_16",
            "inductor",
            {
                "linear": 49,
                "elementwise+norm": 25,
                "attention": 12,
                "activation": 12,
                "copy": 25,
                "conv": 1,
            },
        ),
    ],
)
def test_kernels(graphs, rules, name, backend, expected):
    table = compile_graph(graphs(name), rules)[Kernel]
    found = Counter(s for s, b in zip(table["kernel"], table["backend"], strict=True) if b == backend)
    assert found == expected


def test_conversions_of_vit(graphs, rules):
    casts = Counter(compile_graph(graphs("vit_b_16"), rules)[PrecisionCast]["policy"])
    assert (casts["amp-bf16"], casts["amp-bf16-cpu"]) == (126, 127)


def test_autocast_writes_three_fifths_of_the_bytes_of_vit(graphs, rules):
    flow = flow_of(graphs("vit_b_16"), rules.classes)
    written = [t for o in flow.kernel_operators for t in flow.graph.operators[o].writes]

    def byte(policy: str) -> float:
        types = propagate(flow, rules.policies[policy], rules)
        return sum(flow.size[t] * rules.bits[types.tensor[t]] / 8 for t in written)

    assert byte("amp-bf16") / byte("fp32") == pytest.approx(0.595, abs=0.001)
    assert byte("fp16") / byte("fp32") == 0.5
