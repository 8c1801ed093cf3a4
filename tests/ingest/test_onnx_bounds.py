"""ONNX graphs that no exporter writes are refused in one line, at once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from charz.ingest.sources import onnx_file
from charz.ingest.sources.spec import Spec
from charz.schema.errors import CharzError

onnx = pytest.importorskip("onnx", reason="pip install -e '.[onnx]'")
from onnx import helper  # noqa: E402


def written(
    folder: Path,
    nodes: list[onnx.NodeProto],
    sizes: list[int],
    functions: tuple[onnx.FunctionProto, ...] = (),
    constants: tuple[onnx.TensorProto, ...] = (),
) -> Spec:
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, sizes)
    made = helper.make_tensor_value_info(nodes[-1].output[0], onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [given], [made], list(constants))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]
    path = folder / "net.onnx"
    path.write_bytes(helper.make_model(graph, functions=list(functions), opset_imports=opsets).SerializeToString())
    return Spec(str(path), "onnx_file")


def relu(given: str = "x", made: str = "y", name: str = "Relu", domain: str = "") -> onnx.NodeProto:
    return helper.make_node(name, [given], [made], domain=domain)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [([1, -5], "dimension 1.*-5"), ([1, 2**40], "dimension 1.*1099511627776"), ([2**30] * 3, "more elements"), ([2**62, 2**62], "size")],
)  # fmt: skip
def test_sizes_that_no_tensor_has(tmp_path: Path, sizes: list[int], said: str) -> None:
    with pytest.raises(CharzError, match=said):
        onnx_file.build(written(tmp_path, [relu()], sizes))


@pytest.mark.parametrize("dims", [[-5], [2**40], [2**30, 2**30, 2**30], [5]])
def test_constants_of_such_sizes(tmp_path: Path, dims: list[int]) -> None:
    constant = helper.make_tensor("w", onnx.TensorProto.INT64, [3], [1, 2, 3])
    del constant.dims[:]
    constant.dims.extend(dims)
    with pytest.raises(CharzError):
        onnx_file.build(written(tmp_path, [helper.make_node("Reshape", ["x", "w"], ["y"])], [1, 6], constants=(constant,)))


@pytest.mark.parametrize("nodes", [[relu(), relu(name="Sigmoid")], [relu(made="x")], [relu(), relu("y", "w")]])
def test_a_name_that_is_written_twice(tmp_path: Path, nodes: list[onnx.NodeProto]) -> None:
    constant = helper.make_tensor("w", onnx.TensorProto.INT64, [1], [1])
    with pytest.raises(CharzError, match="written twice"):
        onnx_file.build(written(tmp_path, nodes, [1, 5], constants=(constant,)))


def test_more_nodes_than_are_read(tmp_path: Path) -> None:
    """With the limit a hundred thousand nodes are refused in 5 U."""
    spec = written(tmp_path, [relu(f"y{i}" if i else "x", f"y{i + 1}") for i in range(100_000)], [1, 5])
    begun = time.process_time()
    exec("for _ in range(10_000_000): pass", {})
    unit_s, begun = time.process_time() - begun, time.process_time()
    with pytest.raises(CharzError, match="more nodes than are read.*20,000"):
        onnx_file.build(spec)
    assert time.process_time() - begun < 5 * unit_s


def test_functions_that_multiply_and_one_that_calls_itself(tmp_path: Path) -> None:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]

    def function(number: int, of: str, domain: str) -> onnx.FunctionProto:
        return helper.make_function("f", f"F{number}", ["a"], ["c"], [relu("a", "b", of, domain), relu("b", "c", of, domain)], opsets)

    bomb = (*(function(i, f"F{i + 1}", "f") for i in range(39)), function(39, "Relu", ""))
    with pytest.raises(CharzError, match="more nodes than are read"):
        onnx_file.build(written(tmp_path, [relu(name="F0", domain="f")], [1, 5], bomb))
    with pytest.raises(CharzError, match="calls itself"):
        onnx_file.build(written(tmp_path, [relu(name="F0", domain="f")], [1, 5], (function(0, "F0", "f"),)))
    few = (function(0, "Relu", ""),)
    assert len(list(onnx_file.build(written(tmp_path, [relu(name="F0", domain="f")], [1, 5], few)).module.graph._parts)) == 2
