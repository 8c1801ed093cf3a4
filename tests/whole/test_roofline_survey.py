"""The operator table of the LLM roofline survey (arXiv:2402.16363): Llama-2-7B on an A6000, a prompt of 2048 tokens."""

from __future__ import annotations

import pytest
from oracle.database import Bench, scenario

from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.schema.scenario import Scenario

pytest.importorskip("transformers")

PUBLISHED = {"q_proj": (68.7e9, 67.1e6, 1024), "gate_proj": (184.7e9, 152e6, 1215)}
"""Operations, bytes of main memory and operations a byte, as printed."""
ALIKE = {"q_proj": ("k_proj", "v_proj", "o_proj"), "gate_proj": ("up_proj", "down_proj")}
"""Products of equal sizes."""


def test_operators_of_a_prompt() -> None:
    graph, _ = to_graph(build(parse("hf:llama-2-7b", settings=(("num_hidden_layers", "1"),))))
    with Bench(("operator_work",), with_parts=False) as bench:
        bench.add_graph(graph, "llama")
        bench.replace_rows(
            Scenario, [scenario(1, batch=1, sequence=2048, phase="prefill", precision="fp16", backend="eager")]
        )
        query = """
            SELECT SPLIT_PART(module, '.', -1), flops, input_byte + weight_byte + output_byte, arithmetic_intensity
            FROM operator_work WHERE operator_class = 'linear' AND module LIKE '%_proj'
        """
        found = {name: values for name, *values in bench.rows(query)}
    for name, published in PUBLISHED.items():
        assert found[name] == pytest.approx(published, rel=3e-3)
        for other in ALIKE[name]:
            assert found[other] == pytest.approx(found[name], rel=1e-12)
