"""ONNX files: an exported file has the counts of the original model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from charz.ingest import pipeline
from charz.ingest.graph import Graph, evaluate
from charz.ingest.rows import total
from charz.ingest.sources import build, live
from charz.ingest.sources.spec import parse
from charz.schema.errors import CharzError

onnx = pytest.importorskip("onnx")


def saved(path: Path, nodes: list[object], inputs: dict[str, list[object]], weights: dict[str, torch.Tensor]) -> Path:
    """Make a file with these nodes; the output is that of the last, of type float."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    given = [helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs.items()]
    made = [helper.make_tensor_value_info(nodes[-1].output[0], kind, None)]  # type: ignore[attr-defined]
    held = [onnx.numpy_helper.from_array(value.numpy(), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "net", given, made, held)
    onnx.save(helper.make_model(graph), str(path))
    return path


def lowered(path: Path) -> Graph:
    return pipeline.to_graph(build(parse(str(path))))[0]


def moving(graph: Graph) -> list[str]:
    """List the operators other than views, without their overload."""
    return [o.aten_operator.split(".")[1] for o in graph.operators if not o.is_view]


@pytest.mark.default
def test_a_product_and_the_bias_added_to_it_are_a_linear_layer(tmp_path: Path) -> None:
    node = onnx.helper.make_node
    nodes = [node("MatMul", ["x", "w"], ["y"]), node("Add", ["b", "y"], ["z"]), node("Relu", ["z"], ["out"])]
    weights = {"w": torch.zeros(8, 4), "b": torch.zeros(4)}
    graph = lowered(saved(tmp_path / "net.onnx", nodes, {"x": ["batch", 3, 8]}, weights))
    assert moving(graph) == ["linear", "relu_"]
    assert total(graph, "macs") == {(1, 0, 0): 3.0 * 8 * 4}
    assert {t.shape for t in graph.tensors if t.role == "weight"} == {"[4, 8]", "[4]"}


def test_sizes_of_a_file_follow_the_batch(tmp_path: Path) -> None:
    """An exporter's node-by-node computation of a shape leaves the batch free and is not an operator."""
    node = onnx.helper.make_node
    nodes = [
        node("Shape", ["x"], ["sizes"]), node("Gather", ["sizes", "zero"], ["batch"], axis=0),
        node("Unsqueeze", ["batch", "axes"], ["rows"]), node("Concat", ["rows", "rest"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"], ["flat"]), node("Gemm", ["flat", "w", "b"], ["out"], transB=1),
    ]  # fmt: skip
    weights = {
        "zero": torch.tensor(0), "axes": torch.tensor([0]), "rest": torch.tensor([-1]), "w": torch.zeros(5, 24),
        "b": torch.zeros(5),
    }  # fmt: skip
    graph = lowered(saved(tmp_path / "net.onnx", nodes, {"x": ["batch", 6, 4]}, weights))
    assert moving(graph) == ["linear"]
    assert evaluate(total(graph, "macs"), 7) == 7 * 24 * 5


def test_an_uneven_border_is_put_around_first(tmp_path: Path) -> None:
    node = onnx.helper.make_node
    nodes = [node("Conv", ["x", "w"], ["out"], kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")]
    graph = lowered(saved(tmp_path / "net.onnx", nodes, {"x": ["batch", 3, 8, 8]}, {"w": torch.zeros(4, 3, 3, 3)}))
    assert moving(graph) == ["pad", "conv2d"]
    assert evaluate(total(graph, "macs"), 2) == 2 * 4 * 4 * 4 * 27  # 8 by 8 halved


def test_pixels_are_repeated_by_the_factors_of_a_file(tmp_path: Path) -> None:
    nodes = [onnx.helper.make_node("Resize", ["x", "", "factors"], ["out"], mode="nearest")]
    weights = {"factors": torch.tensor([1.0, 1.0, 2.0, 3.0])}
    graph = lowered(saved(tmp_path / "net.onnx", nodes, {"x": ["batch", 3, 4, 4]}, weights))
    assert moving(graph) == ["upsample_nearest2d"]
    assert graph.tensors[-1].shape == "[B, 3, 8, 12]"


def test_an_operator_that_is_not_read_is_named(tmp_path: Path) -> None:
    nodes = [onnx.helper.make_node("Det", ["x"], ["out"], name="the_determinant")]
    path = saved(tmp_path / "net.onnx", nodes, {"x": ["batch", 8, 8]}, {})
    with pytest.raises(CharzError, match=r"not read: Det, node the_determinant\. ") as caught:
        build(parse(str(path)))
    assert "\n" not in caught.value.line


def test_an_operator_in_a_form_that_is_not_read_is_named(tmp_path: Path) -> None:
    """The message names the node, and does not blame the model's code."""
    nodes = [onnx.helper.make_node("Reshape", ["x"], ["out"], name="the_reshape")]
    request = build(parse(str(saved(tmp_path / "net.onnx", nodes, {"x": ["batch", 8]}, {}))))
    with pytest.raises(CharzError, match=r"in a form that is not read: Reshape, node the_reshape: "):
        pipeline.to_graph(request)


def test_parts_of_a_sequence_are_the_parts(tmp_path: Path) -> None:
    """Values are split by a size, one of them loses its axis, and all are joined along a new axis."""
    node = onnx.helper.make_node
    nodes = [
        node("SplitToSequence", ["x", "size"], ["halves"], axis=1), node("SequenceAt", ["halves", "one"], ["last"]),
        node("SplitToSequence", ["last"], ["rows"], axis=1, keepdims=0), node("SequenceAt", ["rows", "one"], ["row"]),
        node("SequenceConstruct", ["row", "row"], ["pair"]), node("ConcatFromSequence", ["pair"], ["stacked"], axis=1, new_axis=1),
        node("Relu", ["stacked"], ["out"]),
    ]  # fmt: skip
    weights = {"size": torch.tensor(3), "one": torch.tensor(1)}
    graph = lowered(saved(tmp_path / "net.onnx", nodes, {"x": ["batch", 6, 5]}, weights))
    assert moving(graph)[-1].startswith("relu")
    assert [t.shape for t in graph.tensors][-1] == "[B, 2, 5]"


def test_what_is_no_file_of_onnx_is_refused(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"no model")
    with pytest.raises(CharzError, match="not a model of ONNX"):
        build(parse(str(tmp_path / "net.onnx")))
    with pytest.raises(CharzError, match="no such file"):
        build(parse(str(tmp_path / "none.onnx")))


class Block(nn.Module):
    """A file has a convolution, attention, a gate and a normalization, each decomposed as by exporters."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 16, 4, 4), nn.LayerNorm(16)
        self.mix = nn.Conv2d(16, 16, 1, bias=False)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.gate = nn.SiLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Batch x 3 x 16 x 16 to batch x 16 x 16."""
        left, right = self.gate(self.stem(x)).chunk(2, 1)
        x = self.mix(torch.cat([right, left], 1)).flatten(2).transpose(1, 2)
        query, key, value = self.qkv(self.norm(x)).reshape(x.shape[0], -1, 3, 4, 4).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        return x + self.out(mixed.transpose(1, 2).reshape(x.shape[0], -1, 16))


@pytest.mark.parametrize(("is_dynamo", "is_optimized"), [(True, True), (True, False), (False, False)])
@pytest.mark.filterwarnings("ignore")
def test_an_exported_model_is_the_model(tmp_path: Path, is_dynamo: bool, is_optimized: bool) -> None:
    """The files are written by the exporter, by the exporter without its optimizer, and by the older exporter."""
    pytest.importorskip("onnxscript")
    module, path = Block().eval(), tmp_path / "net.onnx"
    for parameter in module.parameters():
        nn.init.normal_(parameter)  # equal weights would be stored once
    if is_dynamo:
        shapes = ({0: torch.export.Dim("batch", min=2, max=64)},)
        given = (torch.randn(2, 3, 16, 16),)
        torch.onnx.export(module, given, path, dynamo=True, dynamic_shapes=shapes, verbose=False, optimize=is_optimized)
    else:
        axes = {"x": {0: "batch"}}
        torch.onnx.export(
            module, (torch.randn(2, 3, 16, 16),), path, dynamo=False, input_names=["x"], dynamic_axes=axes
        )
    made, known = lowered(path), pipeline.to_graph(live.request(module, "B,3,16,16"))[0]
    assert moving(made) == moving(known)
    for quantity in ("macs", "flops"):
        assert total(made, quantity) == total(known, quantity), quantity
    paths = {made.modules[o.module_id].path.rsplit(".", 1)[-1] for o in made.operators if o.operator_class == "linear"}
    assert paths == {"qkv", "out"}
    assert sum(evaluate(t.elements, 1) for t in made.tensors if t.role == "weight") == sum(
        p.numel() for p in module.parameters()
    )
