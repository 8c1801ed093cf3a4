"""A decoder of gated layers split over several devices: two all-reduces a layer, however a backend fuses."""

from __future__ import annotations

import pytest
from oracle.database import Bench, scenario

from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.schema.scenario import Scenario

pytest.importorskip("transformers")

LAYERS, HIDDEN, VOCABULARY, TOKENS = 2, 256, 1000, 16
SETTINGS = {
    "num_hidden_layers": LAYERS, "hidden_size": HIDDEN, "intermediate_size": 768, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 64, "vocab_size": VOCABULARY,
}  # fmt: skip
BACKENDS = ("eager", "inductor", "onnxruntime", "tensorrt", "xla")


def test_gate_and_up_are_one_first_half() -> None:
    """TensorRT and XLA fuse SiLU(gate) * up behind the product of `up`, whose kernel then waits for that of `gate`."""
    spec = parse("hf:llama-3.2-1b", settings=tuple((k, str(v)) for k, v in SETTINGS.items()))
    with Bench(("parallel_kernel",), with_parts=True) as bench:
        rows = [scenario(i, sequence=TOKENS, precision="fp16", backend=b) for i, b in enumerate(BACKENDS, start=1)]
        bench.replace_rows(Scenario, rows)
        bench.execute("DELETE FROM hardware WHERE hardware <> 'h100_sxm5_80'")
        bench.add_graph(to_graph(build(spec))[0], "gated")
        found = bench.rows(
            """
            SELECT scenario_id, list_sort(list(all_reduce_byte) FILTER (all_reduce_byte > 0)),
                list(all_gather_byte) FILTER (all_gather_byte > 0)
            FROM parallel_kernel
            GROUP BY scenario_id
            """
        )
    reduced = 2 * LAYERS * [TOKENS * HIDDEN * 2]  # behind attention and behind `down`, fp16
    gathered = [TOKENS * VOCABULARY * 2]  # of the head
    assert {i: (r, g) for i, r, g in found} == {row.scenario_id: (reduced, gathered) for row in rows}
