"""Loops, branches and functions of ONNX files: the graph contains each executed step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from charz.ingest import pipeline
from charz.ingest.rows import total
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.ingest.trace import loops
from charz.schema.errors import CharzError

onnx = pytest.importorskip("onnx")
FLOAT, INT64, BOOL = 1, 7, 9
Sizes = dict[str, tuple[int, Sequence[Any]]]
"""Type and sizes by name."""


def graph(nodes: Sequence[Any], inputs: Sizes, outputs: Sizes, held: dict[str, Any] | None = None) -> Any:
    infos = [[onnx.helper.make_tensor_value_info(n, t, s) for n, (t, s) in v.items()] for v in (inputs, outputs)]
    constants = [onnx.numpy_helper.from_array(np.array(value), name) for name, value in (held or {}).items()]
    return onnx.helper.make_graph(nodes, "net", *infos, constants)


def node(operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> Any:
    return onnx.helper.make_node(operator, inputs, outputs, **attributes)


def saved(path: Path, made: Any, functions: Sequence[Any] = (), domains: Sequence[str] = ()) -> Any:
    """Make a request for the file of a graph."""
    imports = [onnx.helper.make_opsetid("", 21), *(onnx.helper.make_opsetid(d, 1) for d in domains)]
    onnx.save(onnx.helper.make_model(made, opset_imports=imports, ir_version=10, functions=functions), str(path))
    return build(parse(str(path)))


def agrees(path: Path, request: Any, **given: np.ndarray) -> None:
    """Assert that the steps compute the results of the standard's own evaluation."""
    from onnx.reference import ReferenceEvaluator

    wanted = ReferenceEvaluator(str(path)).run(None, given)
    found = request.module(**{name: torch.tensor(value) for name, value in given.items()})
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other, atol=1e-5)


ROWS: Sizes = {"x": (FLOAT, [4, 32])}


def product(weight: str = "w") -> Any:
    """Build the body of a loop that multiplies its carried value by a weight from outside."""
    nodes = [node("MatMul", ["c", weight], ["d"]), node("Identity", ["go"], ["on"])]
    return graph(
        nodes,
        {"i": (INT64, []), "go": (BOOL, []), "c": (FLOAT, [4, 32])},
        {"on": (BOOL, []), "d": (FLOAT, [4, 32])},
    )


def test_a_loop_of_a_constant_count_is_its_steps(tmp_path: Path) -> None:
    """Six products of 4 x 32 x 32 = 4,096 in sequence, all with the same weight."""
    held = {"n": 6, "go": True, "w": np.zeros((32, 32), np.float32)}
    made = graph([node("Loop", ["n", "go", "x"], ["y"], body=product())], ROWS, {"y": ROWS["x"]}, held)
    found = pipeline.to_graph(saved(tmp_path / "net.onnx", made))[0]
    assert total(found, "macs") == {(0, 0, 0): 6.0 * 4096}
    assert [o.operator_class for o in found.operators] == ["linear"] * 6
    assert max(o.stage for o in found.operators) == 5
    assert [t.shape for t in found.tensors if t.role == "weight"] == ["[32, 32]"]


def test_a_scan_runs_once_a_slice(tmp_path: Path) -> None:
    """Ten products of 4,096."""
    nodes = [node("MatMul", ["v", "w"], ["p"]), node("Add", ["p", "c"], ["d"]), node("Identity", ["d"], ["o"])]
    body = graph(nodes, {"c": ROWS["x"], "v": ROWS["x"]}, {"d": ROWS["x"], "o": ROWS["x"]})
    inputs = {**ROWS, "xs": (FLOAT, [10, 4, 32])}
    outputs = {"y": ROWS["x"], "ys": (FLOAT, [10, 4, 32])}
    held = {"w": np.zeros((32, 32), np.float32)}
    made = graph([node("Scan", ["x", "xs"], ["y", "ys"], num_scan_inputs=1, body=body)], inputs, outputs, held)
    found = pipeline.to_graph(saved(tmp_path / "net.onnx", made))[0]
    assert total(found, "macs") == {(0, 0, 0): 10.0 * 4096}
    assert [o.aten_operator for o in found.operators][-1] == "aten.stack.default"


def running_sums(path: Path, size: int, **attributes: Any) -> Any:
    """Build a scan of three rows of five that carries a sum and outputs its negative at each step."""
    nodes = [node("Add", ["v", "c"], ["d"]), node("Neg", ["d"], ["o"])]
    one = (FLOAT, [size])
    body = graph(nodes, {"c": one, "v": one}, {"d": one, "o": one})
    scan = node("Scan", ["x", "xs"], ["y", "ys"], num_scan_inputs=1, body=body, **attributes)
    return saved(path, graph([scan], {"x": one, "xs": (FLOAT, [3, 5])}, {"y": (FLOAT, None), "ys": (FLOAT, None)}))


def test_a_scan_is_what_the_standard_says(tmp_path: Path) -> None:
    values = np.arange(15, dtype=np.float32).reshape(3, 5)
    agrees(tmp_path / "net.onnx", running_sums(tmp_path / "net.onnx", 5), x=np.ones(5, np.float32), xs=values)


def test_a_scan_along_another_axis_and_from_the_end(tmp_path: Path) -> None:
    """Columns 14 to 0 of rows 0 to 14 give their sums from the right, the last step's first. The standard's own evaluation
    supports neither."""
    request = running_sums(
        tmp_path / "net.onnx",
        3,
        scan_input_axes=[1],
        scan_input_directions=[1],
        scan_output_axes=[1],
        scan_output_directions=[1],
    )
    values = torch.arange(15.0).reshape(3, 5)
    last, steps = request.module(x=torch.zeros(3), xs=values)
    assert last.tolist() == [10.0, 35.0, 60.0]
    assert steps.tolist() == [[-10, -10, -9, -7, -4], [-35, -30, -24, -17, -9], [-60, -50, -39, -27, -14]]


def test_a_scan_over_numbers_that_a_file_holds(tmp_path: Path) -> None:
    """2 and 3 are added in sequence; the numbers themselves are not operators."""
    one = (FLOAT, [4])
    nodes = [node("Cast", ["v"], ["f"], to=FLOAT), node("Add", ["c", "f"], ["d"])]
    body = graph(nodes, {"c": one, "v": (INT64, [])}, {"d": one})
    scan = node("Scan", ["x", "xs"], ["y"], num_scan_inputs=1, body=body)
    request = saved(tmp_path / "net.onnx", graph([scan], {"x": one}, {"y": one}, {"xs": [2, 3]}))
    assert [o.aten_operator for o in pipeline.to_graph(request)[0].operators] == ["aten.add.Tensor"] * 2
    assert request.module(x=torch.ones(4))[0].tolist() == [6.0] * 4


def counted(until: str, stop: int | None, condition: str = "") -> Any:
    """Build a loop that doubles its carried value and outputs it at each step, until its condition is false."""
    nodes = [
        node("Add", ["c", "c"], ["d"]), node("Identity", ["c"], ["o"]), node("Add", ["i", "one"], ["next"]),
        node("Less", ["next", until], ["on"]),
    ]  # fmt: skip
    body = graph(
        nodes,
        {"i": (INT64, []), "go": (BOOL, []), "c": (FLOAT, [3])},
        {"on": (BOOL, []), "d": (FLOAT, [3]), "o": (FLOAT, [3])},
        {"one": 1, "three": 3},
    )
    return node("Loop", ["" if stop is None else "n", condition, "x"], ["y", "ys"], body=body)


@pytest.mark.parametrize(("stop", "count"), [(None, 3), (2, 2)])
def test_a_loop_ends_where_its_condition_says_no_or_at_its_limit(tmp_path: Path, stop: int | None, count: int) -> None:
    made = graph(
        [counted("three", stop, "yes")],
        {"x": (FLOAT, [3])},
        {"y": (FLOAT, [3]), "ys": (FLOAT, None)},
        {"n": stop or 0, "yes": True},
    )
    request = saved(tmp_path / "net.onnx", made)
    found = pipeline.to_graph(request)[0]
    assert [t.shape for t in found.tensors if t.is_output] == ["[3]", f"[{count}, 3]"]
    agrees(tmp_path / "net.onnx", request, x=np.ones(3, np.float32))


def test_graphs_within_nodes_may_call_their_values_alike(tmp_path: Path) -> None:
    """The bodies of two loops have weights of one name `w` with different sizes: 2 x 4 x 32 x 32, then 3 x 4 x 32 x 8 and 8 x 32."""
    bodies = []
    for rows, columns in ((32, 32), (32, 8)):
        nodes = [node("MatMul", ["c", "w"], ["p"]), node("MatMul", ["p", "v"], ["d"]), node("Identity", ["go"], ["on"])]
        held = {"w": np.zeros((rows, columns), np.float32), "v": np.zeros((columns, 32), np.float32)}
        inputs: Sizes = {"i": (INT64, []), "go": (BOOL, []), "c": (FLOAT, [4, 32])}
        bodies.append(graph(nodes, inputs, {"on": (BOOL, []), "d": (FLOAT, [4, 32])}, held))
    loops_ = [
        node("Loop", ["two", "", "x"], ["m"], body=bodies[0]),
        node("Loop", ["three", "", "m"], ["y"], body=bodies[1]),
    ]
    made = graph(loops_, ROWS, {"y": ROWS["x"]}, {"two": 2, "three": 3})
    found = pipeline.to_graph(saved(tmp_path / "net.onnx", made))[0]
    assert total(found, "macs") == {(0, 0, 0): 2.0 * 4 * 32 * 64 + 3.0 * 4 * 2 * 32 * 8}
    shapes = sorted(t.shape for t in found.tensors if t.role == "weight")
    assert shapes == ["[32, 32]", "[32, 32]", "[32, 8]", "[8, 32]"]


def test_a_count_that_is_the_batch_fixes_it(tmp_path: Path) -> None:
    nodes = [
        node("Shape", ["z"], ["sizes"]), node("Gather", ["sizes", "zero"], ["n"]),
        node("Loop", ["n", "", "x"], ["y"], body=product()),
    ]  # fmt: skip
    held = {"zero": 0, "w": np.zeros((32, 32), np.float32)}
    made = graph(nodes, {**ROWS, "z": (FLOAT, ["batch", 2])}, {"y": ROWS["x"]}, held)
    found, traced = pipeline.to_graph(saved(tmp_path / "net.onnx", made))
    assert not traced.is_batch_symbolic and "dimension 0 of z" in (traced.reason or "")
    assert total(found, "macs") == {(0, 0, 0): 2.0 * 4096}  # the example's batch is 2


def test_what_a_value_decides_is_refused_by_name(tmp_path: Path) -> None:
    held = {"w": np.zeros((32, 32), np.float32)}
    made = graph(
        [node("Loop", ["n", "", "x"], ["y"], body=product(), name="the_loop")],
        {**ROWS, "n": (INT64, [])}, {"y": ROWS["x"]}, held,
    )  # fmt: skip
    with pytest.raises(CharzError, match=r"depends on a tensor's values: Loop, node the_loop"):
        pipeline.to_graph(saved(tmp_path / "net.onnx", made))


def test_a_loop_without_a_step_makes_nothing_to_stack(tmp_path: Path) -> None:
    made = graph([counted("three", 0)], {"x": (FLOAT, [3])}, {"y": (FLOAT, [3]), "ys": (FLOAT, None)}, {"n": 0})
    with pytest.raises(CharzError, match="it runs no step"):
        pipeline.to_graph(saved(tmp_path / "net.onnx", made))


def test_a_loop_of_too_many_steps_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MOST_STEPS", 5)
    held = {"n": 6, "w": np.zeros((32, 32), np.float32)}
    made = graph([node("Loop", ["n", "", "x"], ["y"], body=product())], ROWS, {"y": ROWS["x"]}, held)
    with pytest.raises(CharzError, match="too many steps"):
        pipeline.to_graph(saved(tmp_path / "net.onnx", made))


@pytest.mark.parametrize(("width", "operator"), [(32, "relu"), (16, "sigmoid")])
def test_the_branch_that_a_size_decides_is_taken(tmp_path: Path, width: int, operator: str) -> None:
    sides = {
        f"{name}_branch": graph([node(kind, ["x"], ["z"])], {}, {"z": (FLOAT, [4, width])})
        for name, kind in (("then", "Relu"), ("else", "Sigmoid"))
    }
    nodes = [
        node("Shape", ["x"], ["sizes"]), node("Gather", ["sizes", "one"], ["n"]), node("Equal", ["n", "wanted"], ["is_wide"]),
        node("If", ["is_wide"], ["y"], **sides),
    ]  # fmt: skip
    made = graph(nodes, {"x": (FLOAT, [4, width])}, {"y": (FLOAT, [4, width])}, {"one": 1, "wanted": 32})
    found = pipeline.to_graph(saved(tmp_path / "net.onnx", made))[0]
    assert [o.aten_operator.split(".")[1] for o in found.operators] == [operator]


def test_a_branch_that_a_value_decides_is_refused(tmp_path: Path) -> None:
    sides = {
        name: graph([node("Relu", ["x"], ["z"])], {}, {"z": (FLOAT, [4])}) for name in ("then_branch", "else_branch")
    }
    made = graph([node("If", ["b"], ["y"], **sides)], {"x": (FLOAT, [4]), "b": (BOOL, [])}, {"y": (FLOAT, [4])})
    with pytest.raises(CharzError, match=r"depends on a tensor's values: If, node y"):
        pipeline.to_graph(saved(tmp_path / "net.onnx", made))


def test_an_operator_that_is_not_read_within_a_loop_is_named(tmp_path: Path) -> None:
    nodes = [node("Det", ["c"], ["d"], name="the_determinant"), node("Identity", ["go"], ["on"])]
    inputs: Sizes = {"i": (INT64, []), "go": (BOOL, []), "c": (FLOAT, [4, 4])}
    body = graph(nodes, inputs, {"on": (BOOL, []), "d": (FLOAT, None)})
    made = graph(
        [node("Loop", ["n", "", "x"], ["y"], body=body)], {"x": (FLOAT, [4, 4])}, {"y": (FLOAT, None)}, {"n": 2}
    )
    with pytest.raises(CharzError, match=r"not read: Det, node the_determinant"):
        saved(tmp_path / "net.onnx", made)


def test_a_product_that_is_a_result_too_keeps_its_own(tmp_path: Path) -> None:
    """The bias that is added later is then a separate operator."""
    held = {"w": np.zeros((32, 8), np.float32), "b": np.zeros(8, np.float32)}
    nodes = [node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "b"], ["y"])]
    made = graph(nodes, ROWS, {"p": (FLOAT, [4, 8]), "y": (FLOAT, [4, 8])}, held)
    found = pipeline.to_graph(saved(tmp_path / "net.onnx", made))[0]
    assert [o.aten_operator.split(".")[1] for o in found.operators if not o.is_view] == ["linear", "add"]
    assert sum(t.is_output for t in found.tensors) == 2


def test_a_value_that_nothing_makes_is_named(tmp_path: Path) -> None:
    made = graph([node("Relu", ["lost"], ["y"], name="the_relu")], ROWS, {"y": ROWS["x"]})
    with pytest.raises(CharzError, match="Relu, node the_relu. It reads lost, which nothing makes"):
        saved(tmp_path / "net.onnx", made)


def test_functions_and_operators_of_others_are_what_they_are_defined_as(tmp_path: Path) -> None:
    """One function is of the file, and one the standard defines by others: x / (1 + |x|)."""
    helper = onnx.helper
    twice = helper.make_function(
        "mine", "Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 21)]
    )
    nodes = [node("Twice", ["x"], ["m"], domain="mine"), node("Softsign", ["m"], ["y"])]
    request = saved(tmp_path / "net.onnx", graph(nodes, ROWS, {"y": ROWS["x"]}), [twice], ["mine"])
    found = pipeline.to_graph(request)[0]
    assert [o.aten_operator.split(".")[1] for o in found.operators if not o.is_view] == ["add", "abs", "add", "div"]
    agrees(tmp_path / "net.onnx", request, x=np.linspace(-3, 3, 128, dtype=np.float32).reshape(4, 32))
