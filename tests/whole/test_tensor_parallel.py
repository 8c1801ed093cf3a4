"""A decoder of gated layers split over several devices has two all-reduces a layer, whatever a backend fuses."""

from __future__ import annotations

import pytest
from oracle.database import Bench, rules, scenario

from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.ingest.trace.backward import add_backward
from charz.schema.scenario import Scenario

pytest.importorskip("transformers")

LAYERS, HIDDEN, VOCABULARY, TOKENS = 2, 256, 1000, 16
SETTINGS = {
    "num_hidden_layers": LAYERS, "hidden_size": HIDDEN, "intermediate_size": 768, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 64, "vocab_size": VOCABULARY,
}  # fmt: skip
BACKENDS = ("eager", "inductor", "onnxruntime", "tensorrt", "xla")


def test_gate_and_up_are_one_first_half() -> None:
    """TensorRT and XLA fuse SiLU(gate) * up after the product of `up`, whose kernel then waits for that of `gate`."""
    spec = parse("hf:llama-3.2-1b", settings=tuple((k, str(v)) for k, v in SETTINGS.items()))
    with Bench(("parallel_kernel",), with_parts=True) as bench:
        rows = [scenario(i, sequence=TOKENS, precision="fp16", backend=b) for i, b in enumerate(BACKENDS, start=1)]
        bench.replace_rows(Scenario, rows)
        bench.execute("DELETE FROM hardware WHERE hardware <> 'h100_sxm5_80'")
        bench.add_graph(to_graph(build(spec))[0], "gated")
        found = bench.rows(
            """
            SELECT run.scenario_id, list_sort(list(all_reduce_byte) FILTER (all_reduce_byte > 0)),
                list(all_gather_byte) FILTER (all_gather_byte > 0)
            FROM parallel_kernel
            GROUP BY run.scenario_id
            """
        )
    reduced = (2 * LAYERS + 1) * [TOKENS * HIDDEN * 2]  # of the look-up, after attention and after `down`, fp16 of the head
    gathered = [TOKENS * VOCABULARY * 2]  # of the head
    assert {i: (r, g) for i, r, g in found} == {row.scenario_id: (reduced, gathered) for row in rows}


DECODERS = {
    "hf:gpt2": {"n_layer": LAYERS, "n_embd": HIDDEN, "n_head": 4, "vocab_size": VOCABULARY},
    "hf:llama-3.2-1b": SETTINGS,
    "hf:t5-small": {
        "num_layers": LAYERS,
        "num_decoder_layers": LAYERS,
        "d_model": HIDDEN,
        "d_ff": 512,
        "num_heads": 4,
        "vocab_size": VOCABULARY,
    },
}
HEADS = {"hf:gpt2": 4, "hf:llama-3.2-1b": 2, "hf:t5-small": 4}
"""Fewest heads of any product, of which a device has at least one: Llama's heads of keys."""
COLLECTIVES = {
    # Forward: of the look-up, after attention and MLP of each layer. Backward: before both, and before the head.
    "hf:gpt2": (1 + 2 * LAYERS, 1 + 2 * LAYERS),
    "hf:llama-3.2-1b": (1 + 2 * LAYERS, 1 + 2 * LAYERS),
    # Both sides have one for the look-up and two a layer, and one more for each decoder layer, after and before the reader of the
    # encoder; the gradients of keys and values of all layers are added up once.
    "hf:t5-small": (2 + 2 * LAYERS + 3 * LAYERS, 1 + 2 * LAYERS + 3 * LAYERS + 1),
}


@pytest.mark.parametrize("source", DECODERS)
def test_every_product_is_split_forward_and_backward(source: str) -> None:
    """The result does not depend on the model's operators: all-reduces of tokens x hidden, and none of logits in training."""
    spec = parse(source, settings=tuple((k, str(v)) for k, v in DECODERS[source].items()))
    request = build(spec)
    request.module.train()
    graph, _ = to_graph(request)
    add_backward(graph, rules().classes)
    with Bench(("shape_share", "split_kernel", "run_collective")) as bench:
        bench.add_graph(graph, "trained")
        bench.execute("UPDATE model SET is_training = true")
        bench.replace_rows(Scenario, [scenario(1, sequence=TOKENS, precision="fp16", backend="eager", device_count=8)])
        products = bench.rows(
            """
            SELECT o.aten_operator LIKE 'charz.backward.%', COUNT(*), SUM(CASE WHEN k.is_split THEN 1 ELSE 0 END),
                MIN(s.device_share), MAX(s.device_share)
            FROM split_kernel AS k
            INNER JOIN run_kernel AS r ON r.run = k.run AND r.kernel_id = k.kernel_id
            INNER JOIN operator AS o ON o.model = r.run.model AND o.operator_id = r.anchor_operator_id
            INNER JOIN operator_class AS c ON c.operator_class = o.operator_class
            INNER JOIN shape_share AS s ON s.run = r.run AND s.shape_id = r.shape_id
            WHERE c.is_matrix
            GROUP BY ALL ORDER BY ALL
            """
        )
        ((byte, count, gathered),) = bench.rows(
            "SELECT all_reduce_byte, all_reduce_count, all_gather_byte FROM run_collective"
        )
    for _, of_them, split, least, most in products:
        assert of_them == split > 0
        assert (least, most) == (1 / 8, 1 / HEADS[source])
    assert [is_backward for is_backward, *_ in products] == [False, True]
    forward, backward = COLLECTIVES[source]
    assert (count, gathered) == (forward + backward, 0)
    assert byte == (forward + backward) * TOKENS * HIDDEN * 2
