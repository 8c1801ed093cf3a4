"""Operators that exporters of language models use, in ONNX's own domain and in that of ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from charz.ingest import pipeline
from charz.ingest.graph import Graph, evaluate
from charz.ingest.rows import total
from charz.ingest.sources import build, live
from charz.ingest.sources.onnx_operators import TENSOR, Step
from charz.ingest.sources.spec import parse
from charz.schema.errors import CharzError

onnx = pytest.importorskip("onnx")
Arrays = dict[str, np.ndarray]


def model(
    nodes: Sequence[Any], inputs: dict[str, Any], outputs: Sequence[str], weights: Arrays | None = None, opset: int = 23
) -> Any:
    """Make a model of these nodes; an input is given by its sizes, or by an array of its type and sizes."""
    helper = onnx.helper
    given = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(v.dtype) if isinstance(v, np.ndarray) else onnx.TensorProto.FLOAT,
            v.shape if isinstance(v, np.ndarray) else v,
        )
        for name, v in inputs.items()
    ]  # fmt: skip
    made = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs]
    held = [onnx.numpy_helper.from_array(value, name) for name, value in (weights or {}).items()]
    graph = helper.make_graph(nodes, "net", given, made, held)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def node(operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> Any:
    return onnx.helper.make_node(operator, inputs, outputs, **attributes)


def contributed(operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> Any:
    return node(operator, inputs, outputs, domain="com.microsoft", **attributes)


def lowered(path: Path, made: Any) -> Graph:
    onnx.save(made, str(path))
    return pipeline.to_graph(build(parse(str(path))))[0]


def moving(graph: Graph) -> list[str]:
    return [o.aten_operator.split(".")[1] for o in graph.operators if not o.is_view]


def called(operator: str, *operands: Any, outputs: int = 1, **attributes: Any) -> Any:
    """Run an operator on tensors."""
    step = Step(operator, "", (), tuple(f"y{i}" for i in range(outputs)), attributes)
    return TENSOR[operator](step, *operands)


def reference(operator: str, operands: Arrays, outputs: Sequence[str], **attributes: Any) -> list[np.ndarray]:
    """Evaluate arrays by the standard's own implementation."""
    from onnx.reference import ReferenceEvaluator

    made = model([node(operator, list(operands), outputs, **attributes)], operands, outputs)
    return ReferenceEvaluator(made).run(None, operands)  # type: ignore[no-any-return]


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def test_attention_of_shared_heads_counts_every_query_head(tmp_path: Path) -> None:
    """8 x 64 x 64 x 32 = 1,048,576 for the scores of a sample and as many for the mix; no half for the causal mask."""
    heads, shared = ["N", 8, 64, 32], ["N", 2, 64, 32]
    nodes = [node("Attention", ["q", "k", "v"], ["y"], is_causal=1)]
    graph = lowered(tmp_path / "net.onnx", model(nodes, {"q": heads, "k": shared, "v": shared}, ["y"]))
    assert total(graph, "macs") == {(1, 0, 0): 2 * 1_048_576.0}
    assert moving(graph) == ["scaled_dot_product_attention"]


@pytest.mark.parametrize("is_packed", [False, True])
def test_attention_is_what_the_standard_says(is_packed: bool) -> None:
    """The attention has a cache of earlier tokens, a mask and a scale of its own; four queries share a key."""
    shape, keys = ((2, 5, 4 * 8), (2, 3, 2 * 8)) if is_packed else ((2, 4, 5, 8), (2, 2, 3, 8))
    operands = {
        "q": random(*shape), "k": random(*keys), "v": random(*keys), "mask": random(5, 7), "pk": random(2, 2, 4, 8),
        "pv": random(2, 2, 4, 8),
    }  # fmt: skip
    counts = {"q_num_heads": 4, "kv_num_heads": 2} if is_packed else {}
    wanted = reference("Attention", operands, ["y", "nk", "nv"], scale=0.3, **counts)
    found = called("Attention", *(torch.tensor(v) for v in operands.values()), outputs=3, scale=0.3, **counts)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other, atol=1e-5)


def test_products_of_attention_as_a_result_are_refused() -> None:
    heads = torch.zeros(1, 2, 3, 4)
    with pytest.raises(CharzError, match="products of an attention"):
        called("Attention", heads, heads, heads, outputs=4)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("angles", [4, 2])
@pytest.mark.parametrize("has_positions", [True, False])
def test_rotation_is_what_the_standard_says(interleaved: int, angles: int, has_positions: bool) -> None:
    """Rotations are of whole heads and of half of each, by position and by a row for each token."""
    tables = (10, angles) if has_positions else (2, 5, angles)
    operands = {"x": random(2, 5, 3 * 8), "cos": random(*tables), "sin": random(*tables)}
    if has_positions:
        operands["at"] = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
    attributes = {"interleaved": interleaved, "num_heads": 3, "rotary_embedding_dim": 0 if angles == 4 else 4}
    (wanted,) = reference("RotaryEmbedding", operands, ["y"], **attributes)
    tensors = [torch.tensor(v) for v in operands.values()]
    np.testing.assert_allclose(called("RotaryEmbedding", *tensors, **attributes).numpy(), wanted, atol=1e-6)
    if has_positions:
        x, cosines, sines, positions = tensors
        theirs = called("com.microsoft.RotaryEmbedding", x, positions, cosines, sines, **attributes)
        np.testing.assert_allclose(theirs.numpy(), wanted, atol=1e-6)


def test_attention_of_groups_rotates_and_keeps() -> None:
    """Packed or not, it is the rotation of queries and keys and then attention over cached and new tokens."""
    query, key, value = (torch.tensor(random(2, 3, heads * 8)) for heads in (4, 2, 2))
    past = [torch.tensor(random(2, 2, 5, 8)) for _ in range(2)]
    tables = [torch.tensor(random(20, 4)) for _ in range(2)]
    positions = torch.tensor([[5, 6, 7], [5, 6, 7]])
    bias = torch.tensor(random(3, 8))
    asked = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}
    turned = [called("RotaryEmbedding", v, *tables, positions, num_heads=n) for v, n in ((query, 4), (key, 2))]
    wanted = called("Attention", *turned, value, bias, *past, outputs=3, q_num_heads=4, kv_num_heads=2)
    more = (*past, None, None, *tables, positions, bias)
    for operands in ((query, key, value), (torch.cat([query, key, value], -1), None, None)):
        found = called("com.microsoft.GroupQueryAttention", *operands, *more, outputs=3, **asked)
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other)


def test_attention_of_many_heads_takes_its_operands_packed_or_single() -> None:
    """The operator adds the biases of the preceding layers, which packed operands contain already."""
    query, key, value = (torch.tensor(random(2, 3, 16)) for _ in range(3))
    added = torch.tensor(random(48))
    plain = [v + p for v, p in zip((query, key, value), added.split(16), strict=True)]
    wanted = called("Attention", *plain, q_num_heads=2, kv_num_heads=2)[0]
    name = "com.microsoft.MultiHeadAttention"
    torch.testing.assert_close(called(name, query, key, value, added, num_heads=2)[0], wanted)
    parts = [v.unflatten(-1, (2, 8)) for v in plain]
    torch.testing.assert_close(called(name, torch.stack(parts, 3), num_heads=2)[0], wanted)
    torch.testing.assert_close(called(name, plain[0], torch.stack(parts[1:], 3), num_heads=2)[0], wanted)


def test_attention_with_its_projection_is_a_linear_layer_and_attention() -> None:
    source, weight, added = torch.tensor(random(2, 3, 10)), torch.tensor(random(10, 48)), torch.tensor(random(48))
    past = torch.tensor(random(2, 2, 2, 4, 8))
    parts = (source @ weight + added).split(16, -1)
    wanted, key, value = called("Attention", *parts, None, *past, q_num_heads=2, kv_num_heads=2)
    found, kept = called("com.microsoft.Attention", source, weight, added, None, past, outputs=2, num_heads=2)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(kept, torch.stack([key, value]))


def test_a_cache_of_another_type_is_refused(tmp_path: Path) -> None:
    nodes = [contributed("GroupQueryAttention", ["q", "k", "v", "pk", "pv"], ["y"], num_heads=2, kv_num_heads=2)]
    kept = np.zeros((1, 2, 4, 8), np.int8)
    new = np.zeros((1, 3, 16), np.float32)
    with pytest.raises(CharzError, match=r"GroupQueryAttention, node y: a cache of another type"):
        lowered(tmp_path / "net.onnx", model(nodes, {"q": new, "k": new, "v": new, "pk": kept, "pv": kept}, ["y"]))


def test_sums_are_normalized_and_given_on() -> None:
    source, skip, scale, shift, bias = (torch.tensor(random(*s)) for s in ((2, 8), (2, 8), (8,), (8,), (8,)))
    total = source + skip + bias
    norm = torch.nn.functional
    found = called("com.microsoft.SkipLayerNormalization", source, skip, scale, shift, bias, epsilon=1e-5)
    torch.testing.assert_close(found[0], norm.layer_norm(total, (8,), scale, shift))
    torch.testing.assert_close(found[3], total)
    found = called("com.microsoft.SkipSimplifiedLayerNormalization", source, skip, scale, bias, epsilon=1e-5)
    torch.testing.assert_close(found[0], norm.rms_norm(total, (8,), scale, 1e-5))
    torch.testing.assert_close(found[3], total)
    gate = torch.tensor(random(2, 16))
    made = called("com.microsoft.GatedRMSNorm", torch.cat([source, skip], -1), scale, gate)
    wanted = torch.cat([norm.rms_norm(v, (8,), scale, 1e-5) for v in (source, skip)], -1) * norm.silu(gate)
    torch.testing.assert_close(made, wanted)


def test_embeddings_are_summed_and_normalized() -> None:
    words, segments = torch.tensor([[3, 1, 2], [0, 4, 4]]), torch.tensor([[0, 0, 1], [0, 1, 1]])
    tables = [torch.tensor(random(n, 8)) for n in (5, 6, 2)]
    scale, shift = torch.tensor(random(8)), torch.tensor(random(8))
    found, _, total = called(
        "com.microsoft.EmbedLayerNormalization", words, segments, *tables, scale, shift, epsilon=1e-5
    )
    wanted = tables[0][words] + tables[1][:3] + tables[2][segments]
    torch.testing.assert_close(total, wanted)
    torch.testing.assert_close(found, torch.nn.functional.layer_norm(wanted, (8,), scale, shift))


def test_activations_and_products_of_the_runtime() -> None:
    x, bias = torch.tensor(random(2, 8)), torch.tensor(random(8))
    gelu = torch.nn.functional.gelu
    torch.testing.assert_close(called("com.microsoft.Gelu", x), gelu(x))
    torch.testing.assert_close(called("com.microsoft.BiasGelu", x, bias), gelu(x + bias))
    torch.testing.assert_close(called("com.microsoft.FastGelu", x, bias), gelu(x + bias, approximate="tanh"))
    torch.testing.assert_close(called("com.microsoft.QuickGelu", x), x * torch.sigmoid(1.702 * x))
    left, right = torch.tensor(random(3, 4, 5)), torch.tensor(random(3, 6, 4))
    made = called("com.microsoft.FusedMatMul", left, right, transA=1, transB=1, alpha=0.5)
    torch.testing.assert_close(made, 0.5 * left.transpose(1, 2) @ right.transpose(1, 2))


def test_a_product_of_four_bits_reads_half_a_byte_a_weight(tmp_path: Path) -> None:
    """256 x 512 = 131,072 multiply-accumulates a sample, 65,536 bytes and 4,096 scales."""
    weights = {"b": np.zeros((512, 8, 16), np.uint8), "s": np.zeros(512 * 8, np.float32), "bias": random(512)}
    nodes = [contributed("MatMulNBits", ["x", "b", "s", "", "", "bias"], ["y"], K=256, N=512, bits=4, block_size=32)]
    graph = lowered(tmp_path / "net.onnx", model(nodes, {"x": ["N", 256]}, ["y"], weights))
    assert total(graph, "macs") == {(1, 0, 0): 131_072.0}
    assert [o.operator_class for o in graph.operators] == ["linear"]
    held = {(t.precision, t.shape) for t in graph.tensors if t.role == "weight"}
    assert held == {("uint4", "[512, 256]"), ("fp32", "[4096]"), ("fp32", "[512]")}
    assert len(graph.operators[0].reads) == 4


@pytest.mark.parametrize("is_turned", [True, False])
def test_a_weight_that_is_expanded_for_a_product_is_read_in_few_bits(tmp_path: Path, is_turned: bool) -> None:
    """Quantizers write it in the standard's own operators, with the inputs or the outputs of the matrix first."""
    shape = (96, 64) if is_turned else (64, 96)
    stored = onnx.helper.make_tensor("w", onnx.TensorProto.INT4, shape, np.zeros(96 * 64, np.int8))
    nodes = [node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=32)]
    nodes += [node("Transpose", ["d"], ["t"], perm=[1, 0])] if is_turned else []
    nodes += [node("MatMul", ["x", "t" if is_turned else "d"], ["y"])]
    made = model(nodes, {"x": ["N", 64]}, ["y"], {"s": np.ones((shape[0] // 32, shape[1]), np.float32)})
    made.graph.initializer.append(stored)
    graph = lowered(tmp_path / "net.onnx", made)
    assert moving(graph) == ["packed_linear"] and len(graph.operators) == 1
    assert total(graph, "macs") == {(1, 0, 0): 64.0 * 96}
    assert ("int4", "[96, 64]") in {(t.precision, t.shape) for t in graph.tensors if t.role == "weight"}


def test_other_widths_are_refused(tmp_path: Path) -> None:
    weights = {"b": np.zeros((512, 8, 8), np.uint8), "s": np.zeros(512 * 8, np.float32)}
    nodes = [contributed("MatMulNBits", ["x", "b", "s"], ["y"], K=256, N=512, bits=2, block_size=32)]
    with pytest.raises(CharzError, match=r"packed weight in a form that is not read: b, 2 bits"):
        lowered(tmp_path / "net.onnx", model(nodes, {"x": ["N", 256]}, ["y"], weights))


def decoder(path: Path) -> Path:
    """Build a layer as the model builder of ONNX Runtime writes it: 4 heads of 16 on 2, width 64, inner width 128, 512 words."""
    weights: Arrays = {"emb": np.zeros((512, 32), np.uint8), "emb_s": np.zeros((512, 2), np.float32)}
    weights |= {name: np.zeros(64, np.float32) for name in ("n1", "n2", "n3")}
    weights |= {name: np.zeros((1024, 8), np.float32) for name in ("cos", "sin")}
    nodes: list[Any] = []

    def product(source: str, name: str, columns: int, rows: int) -> None:
        weights[f"{name}_q"] = np.zeros((columns, rows // 32, 16), np.uint8)
        weights[f"{name}_s"] = np.zeros((columns, rows // 32), np.float32)
        operands = [source, f"{name}_q", f"{name}_s"]
        nodes.append(contributed("MatMulNBits", operands, [name], K=rows, N=columns, bits=4, block_size=32))

    nodes += [
        contributed("GatherBlockQuantized", ["emb", "ids", "emb_s"], ["x0"], bits=4, block_size=32, gather_axis=0, quantize_axis=1),
        node("SimplifiedLayerNormalization", ["x0", "n1"], ["h"], epsilon=1e-6),
    ]  # fmt: skip
    for name, columns in (("q", 64), ("k", 32), ("v", 32)):
        product("h", name, columns, 64)
    inputs = ["q", "k", "v", "pk", "pv", "", "", "cos", "sin"]
    asked = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "local_window_size": 4096, "softcap": 50.0}
    nodes.append(contributed("GroupQueryAttention", inputs, ["a", "nk", "nv"], **asked))
    product("a", "o", 64, 64)
    nodes.append(contributed("SkipSimplifiedLayerNormalization", ["x0", "o", "n2"], ["h2", "", "", "x1"]))
    product("h2", "gate", 128, 64)
    product("h2", "up", 128, 64)
    nodes += [node("Sigmoid", ["gate"], ["s"]), node("Mul", ["gate", "s"], ["g"]), node("Mul", ["g", "up"], ["m"])]
    product("m", "down", 64, 128)
    nodes.append(contributed("SkipSimplifiedLayerNormalization", ["x1", "down", "n3"], ["h3"]))
    product("h3", "head", 512, 64)
    kept = ["batch_size", 2, "past_sequence_length", 16]
    made = model(nodes, {"pk": kept, "pv": kept}, ["head", "nk", "nv"], weights, opset=21)
    made.graph.input.append(
        onnx.helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, ["batch_size", "sequence_length"])
    )
    onnx.save(made, str(path))
    return path


def test_a_decoder_of_the_model_builder(tmp_path: Path) -> None:
    """Per token 64 x (64 + 32 + 32 + 64) + 3 x 64 x 128 + 64 x 512 = 69,632. The cache has as many tokens as are new, so that
    attention takes 2 x 4 x 16 x S x 2 S. A note lists the operators that are not counted."""
    graph, traced = pipeline.to_graph(build(parse(str(decoder(tmp_path / "net.onnx")))))
    assert total(graph, "macs") == {(1, 1, 0): 69_632.0, (1, 2, 0): 256.0}
    assert moving(graph).count("scaled_dot_product_attention") == 1
    assert traced.reason == (
        "com.microsoft.GroupQueryAttention local_window_size 4096: all tokens before are counted; "
        "com.microsoft.GroupQueryAttention softcap 50: its arithmetic is not counted"
    )
    (looked_up,) = (o for o in graph.operators if o.operator_class == "embedding")
    moved = {graph.tensors[t].precision: evaluate(looked_up.accesses[t], 1, 10) for t in looked_up.accesses}
    assert moved == {"uint4": 10 * 64, "fp32": 10 * 2}  # ten tokens: their rows, and the scales of these rows
    assert evaluate(looked_up.steps[0].quantities["flops"], 1, 10) == 10 * 64 * 2


class Layer(torch.nn.Module):
    """Normalization, and attention whose queries share keys."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.q, self.kv = torch.nn.RMSNorm(32), torch.nn.Linear(32, 32), torch.nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Samples, tokens and width."""
        batch, length, _ = x.shape
        x = self.norm(x)
        query = self.q(x).view(batch, length, 4, 8).transpose(1, 2)
        key, value = self.kv(x).view(batch, length, 2, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        attention = torch.nn.functional.scaled_dot_product_attention
        return attention(query, key, value, is_causal=True, enable_gqa=True).transpose(1, 2).reshape(batch, length, 32)


@pytest.mark.filterwarnings("ignore")
def test_an_exported_layer_is_the_layer(tmp_path: Path) -> None:
    """The exporter of PyTorch writes attention and normalization as one operator each since opset 23."""
    pytest.importorskip("onnxscript")
    module, path = Layer().eval(), tmp_path / "net.onnx"
    shapes = ({0: torch.export.Dim("batch", min=2, max=64), 1: torch.export.Dim("length", min=2, max=64)},)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)  # equal weights would be stored once
    given = (torch.randn(2, 5, 32),)
    torch.onnx.export(module, given, path, dynamo=True, dynamic_shapes=shapes, verbose=False, opset_version=23)
    assert {"Attention", "RMSNormalization"} <= {n.op_type for n in onnx.load(path).graph.node}
    made, known = pipeline.to_graph(build(parse(str(path))))[0], pipeline.to_graph(live.request(module, "B,S,32"))[0]
    assert moving(made) == moving(known)
    for quantity in ("macs", "flops"):
        assert total(made, quantity) == total(known, quantity)


def test_what_is_new_is_written_into_a_cache(tmp_path: Path) -> None:
    nodes = [node("TensorScatter", ["past", "new", "at"], ["y"])]
    made = model(nodes, {"past": [2, 2, 9, 4], "new": [2, 2, 3, 4], "at": np.zeros(2, np.int64)}, ["y"], opset=24)
    graph = lowered(tmp_path / "net.onnx", made)
    assert moving(graph) == ["slice_scatter"] and graph.tensors[-1].shape == "[2, 2, 9, 4]"


def test_an_attention_with_a_state_is_read_as_it_is_defined(tmp_path: Path) -> None:
    """Six tokens in sequence: for each head the state times the key, key times value, and the state times the query, 16 x 16
    each."""
    packed, gates = [1, 6, 32], [1, 6, 2]
    inputs = {"q": packed, "k": packed, "v": packed, "past": [1, 2, 16, 16], "decay": gates, "beta": gates}
    nodes = [node("LinearAttention", list(inputs), ["y", "state"], q_num_heads=2, kv_num_heads=2)]
    made = model(nodes, inputs, ["y", "state"], opset=27)
    assert total(lowered(tmp_path / "net.onnx", made), "macs") == {(0, 0, 0): 6.0 * 2 * 3 * 16 * 16}


def test_a_definition_that_cannot_be_put_in_is_named(tmp_path: Path) -> None:
    """The ONNX package refuses the operator without its optional operands."""
    inputs = {"q": [1, 6, 32], "decay": [1, 6, 2]}
    nodes = [
        node("LinearAttention", ["q", "q", "q", "", "decay", "decay"], ["y", "state"], q_num_heads=2, kv_num_heads=2)
    ]
    with pytest.raises(
        CharzError, match="ONNX operator cannot be replaced by its definition: LinearAttention"
    ):
        lowered(tmp_path / "net.onnx", model(nodes, inputs, ["y", "state"], opset=27))
