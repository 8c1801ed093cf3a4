"""Weights of Llama-3.1-8B in the formats that people deploy, by hand."""

from __future__ import annotations

import pytest
from oracle.database import Bench, scenario

from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.schema.scenario import Scenario

pytest.importorskip("transformers")

LAYERS, HIDDEN, INNER, KEYS, VOCABULARY = 32, 4096, 14336, 1024, 128256
VALUE, DOWN = KEYS * HIDDEN, INNER * HIDDEN
LINEAR = LAYERS * (2 * HIDDEN * HIDDEN + 2 * VALUE + 3 * DOWN)
ENDS = VOCABULARY * HIDDEN
"""Weights of the embedding, and as many of the output layer."""
NORMS = (2 * LAYERS + 1) * HIDDEN
LIFTED = LAYERS // 2 * (VALUE + DOWN)
"""Weights of value and down projections in the 16 layers of 32 for which llama.cpp takes more bits: the first and last four and every third between."""

BYTES = {
    "bf16": 2 * LINEAR + 4 * ENDS,
    # A scale of 8 bits for 64 weights, and one of 32 bits for 256 of these.
    "nf4": LINEAR / 2 + LINEAR / 64 + 4 * LINEAR / (64 * 256) + 4 * ENDS,
    "nf4_single": LINEAR / 2 + 4 * LINEAR / 64 + 4 * ENDS,
    # AWQ and GPTQ: a scale of 16 bits and a zero of 4 bits for 128 weights.
    "w4a16": LINEAR / 2 + 2.5 * LINEAR / 128 + 4 * ENDS,
    "fp8": LINEAR + 4 * ENDS,
    "fp8_block": LINEAR + 4 * LINEAR / 128**2 + 4 * ENDS,
    # Only experts are in mxfp4, and this model has none.
    "mxfp4": 2 * LINEAR + 4 * ENDS,
    "nvfp4": LINEAR / 2 + LINEAR / 16 + 4 * ENDS,
    # Blocks of ggml: 34 bytes for 32 weights, and 210, 176 and 144 bytes for 256.
    "q8_0": 34 / 32 * (LINEAR + 2 * ENDS),
    "q6_k": 210 / 256 * (LINEAR + 2 * ENDS),
    "q5_k_m": 176 / 256 * (LINEAR - LIFTED + ENDS) + 210 / 256 * (LIFTED + ENDS),
    "q4_k_m": 144 / 256 * (LINEAR - LIFTED + ENDS) + 210 / 256 * (LIFTED + ENDS),
}


@pytest.mark.costly("traces a model of 32 layers")
def test_bytes_of_every_format() -> None:
    assert LINEAR + 2 * ENDS + NORMS == 8_030_261_248
    graph, _ = to_graph(build(parse("hf:llama-3.1-8b")))
    with Bench(("model_memory",), with_parts=True) as bench:
        bench.execute("DELETE FROM hardware WHERE hardware <> 'h100_sxm5_80'")
        bench.add_graph(graph, "llama")
        bench.execute("UPDATE model SET has_context = true")
        given = {"batch": 1, "context": 1024, "phase": "decode"}
        backend = {precision: "llama_cpp" if precision.startswith("q") else "vllm" for precision in BYTES}
        bench.replace_rows(Scenario, [scenario(i, precision=p, backend=backend[p], **given) for i, p in enumerate(BYTES, 1)])
        found = dict(bench.rows("SELECT run.precision, weight_byte FROM run_memory"))
    assert found == {precision: pytest.approx(byte + 2 * NORMS, rel=1e-3) for precision, byte in BYTES.items()}
