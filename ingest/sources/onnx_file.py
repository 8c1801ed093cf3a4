"""A model that an exporter wrote as ONNX: `model.onnx`. Weights are not read, and nothing of the file runs.

The first symbolic dimension of an input is taken for the batch where it comes first, any other for the sequence.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from charz.schema.errors import CharzError

from ..trace import torchvision_schemas
from ..trace.export import BATCH, SEQUENCE, Request
from .inputs import SYMBOLS, parse_input
from .onnx_graph import INSTEAD, OnnxModule
from .onnx_operators import HOST, TENSOR, Block, Step
from .onnx_operators.moves import TYPES
from .spec import Spec

MOST_NUMBERS = 64
"""Elements up to which a vector of whole numbers is taken for sizes."""

RESIZING = ("Resize", "Upsample")
"""Operators whose operands behind the first are factors and sizes."""

DOMAINS = ("", "ai.onnx")


def build(spec: Spec) -> Request:
    """The graph as a module with example inputs of its own sizes. Raises CharzError."""
    torchvision_schemas.prepare()
    path = Path(spec.name)
    graph = _load(path, spec.name).graph
    numbers: dict[str, Any] = {}
    weights: dict[str, torch.Tensor] = {}
    steps = _block(graph, (numbers, weights), {}, "").steps
    given = [i for i in graph.input if i.name not in weights and i.name not in numbers]
    names = {i.name: re.sub(r"\W", "_", i.name) for i in given}
    module = OnnxModule(steps, numbers, weights, names, [o.name for o in graph.output])
    request = Request(name=path.stem, source=str(path), module=module.eval(), family=path.stem, is_rebuilt=True)
    for value in given:
        _add_input(request, names[value.name], value, spec)
    for text in spec.inputs:
        _replace_input(request, text, spec)
    fixed = [] if any(request.axes.values()) else ["exported with fixed sizes"]
    request.reason = "; ".join([*fixed, *module.uncounted]) or None
    sizes = [v.shape for v in request.keywords.values() if v.dim()]
    request.default_batch = sizes[0][0] if sizes else 1
    if len(sizes) == 1 and len(sizes[0]) == 4 and sizes[0][2] == sizes[0][3]:
        request.resolution = sizes[0][3]
    return request


def _load(path: Path, name: str) -> Any:
    try:
        import onnx
    except ImportError:
        raise CharzError("onnx is not installed", name, next="pip install 'charz-dnn[onnx]'") from None
    if not path.is_file():
        raise CharzError("no such file", name, next="torch.onnx.export(module, args, 'model.onnx') writes one")
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:  # whatever the reader of protocol buffers raises on other bytes
        raise CharzError("not a model of ONNX", name, str(error).splitlines()[0] if str(error) else "") from error
    return _as_defined(model)


def _as_defined(model: Any) -> Any:
    """The model with calls of its own functions, and of operators that are not read, as what their definitions run."""
    import onnx.inliner

    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    unread = {(n.domain, n.op_type) for n in _nodes(model.graph) if n.op_type not in TENSOR and n.op_type not in HOST}
    defined = sorted(name for name in unread if _is_defined(*name))
    if not defined:
        return model
    try:
        return onnx.inliner.inline_selected_functions(model, defined, inline_schema_functions=True)
    except Exception as error:  # whatever the C++ of the package raises on operands that are left out
        names, said = ", ".join(name for _, name in defined), str(error).splitlines()[-1] if str(error) else repr(error)
        raise CharzError("the definition of an operator of ONNX cannot be put in its place", names, said, INSTEAD) from error


def _nodes(graph: Any) -> Iterator[Any]:
    """Nodes of a graph and of those within them."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g)


def _is_defined(domain: str, operator: str) -> bool:
    """Whether the standard says of an operator what others it stands for."""
    import onnx

    if domain not in DOMAINS or not onnx.defs.has(operator):
        return False
    schema = onnx.defs.get_schema(operator)
    return bool(schema.has_function or schema.has_context_dependent_function)


def _add_input(request: Request, name: str, value: Any, spec: Spec) -> None:
    """An example of an input's type and sizes."""
    shape, axes = [], {}
    for dimension, size in enumerate(value.type.tensor_type.shape.dim):
        if size.HasField("dim_value"):
            shape.append(size.dim_value)
            continue
        powers, example = SYMBOLS["B" if dimension == 0 else "S"]
        asked = spec.batch if powers == BATCH else spec.sequence
        shape.append(asked or example)
        if powers == SEQUENCE:
            request.default_sequence = shape[-1]
        if powers == SEQUENCE or spec.batch is None:
            axes[dimension] = powers
    kind = TYPES.get(value.type.tensor_type.elem_type)
    if kind is None:
        raise CharzError("an input of a type that is not read", f"{spec.name}: {name}")
    request.keywords[name] = torch.empty(shape, dtype=kind, device="meta")
    request.axes[name] = axes


def _replace_input(request: Request, text: str, spec: Spec) -> None:
    """Put what the user gives in the place of the input of that name, or of the first."""
    made = parse_input(text, spec.batch, spec.sequence)
    name = made.name or next(iter(request.keywords), "")
    if name not in request.keywords:
        raise CharzError("unknown input", name, f"there are {', '.join(request.keywords)}")
    request.keywords[name], request.axes[name] = made.tensor, made.axes


Values = tuple[dict[str, Any], dict[str, torch.Tensor]]
"""Numbers and weights by name."""


def _block(graph: Any, found: Values, around: dict[str, str], prefix: str) -> Block:
    """The steps of a graph and of those within its nodes, whose constants are added to those found. The graph's own names stand
    behind a prefix, since graphs side by side may call their values alike."""
    own = {n.name for n in (*graph.input, *graph.initializer)} | {n for node in graph.node for n in node.output}
    names = {"": "", **around, **{name: prefix + name for name in own if name}}
    for kept, read in zip(found, _constants(graph), strict=True):
        kept.update({names[name]: value for name, value in read.items()})  # type: ignore[attr-defined]
    return Block(
        tuple(names[i.name] for i in graph.input),
        tuple(names[o.name] for o in graph.output),
        tuple(_step(node, found, names) for node in graph.node if node.op_type != "Constant"),
    )


def _constants(graph: Any) -> Values:
    """Numbers and weights by name, those of nodes that hold one included."""
    numbers: dict[str, Any] = {}
    weights: dict[str, torch.Tensor] = {}
    found = {i.name: i for i in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            (attribute,) = node.attribute
            if attribute.HasField("t"):
                found[node.output[0]] = attribute.t
            else:
                numbers[node.output[0]] = _attribute(attribute)
    factors = {name for node in graph.node if node.op_type in RESIZING for name in node.input[1:]}
    for name, stored in found.items():
        value = _value(stored, is_read=name in factors)
        (weights if isinstance(value, torch.Tensor) else numbers)[name] = value
    return numbers, weights


def _value(stored: Any, is_read: bool = False) -> Any:
    """Numbers of a vector of sizes, of a scalar and of what is to be read, else a tensor without values."""
    import onnx

    kind = TYPES.get(stored.data_type)
    if kind is None:
        raise CharzError("a constant of a type that is not read", stored.name)
    count = torch.Size(stored.dims).numel()
    is_vector = len(stored.dims) <= 1 and count <= MOST_NUMBERS and not kind.is_floating_point
    if (is_vector or is_read or not stored.dims) and stored.data_location != onnx.TensorProto.EXTERNAL:
        return onnx.numpy_helper.to_array(stored).tolist()
    return torch.empty(tuple(stored.dims), dtype=kind, device="meta")


def _attribute(attribute: Any) -> Any:
    import onnx

    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, onnx.TensorProto):
        return _value(value)
    return value if isinstance(value, (int, float, onnx.GraphProto)) else list(value)


def _step(node: Any, found: Values, names: dict[str, str]) -> Step:
    import onnx

    operator = node.op_type if node.domain in DOMAINS else f"{node.domain}.{node.op_type}"
    if (unmade := next((name for name in node.input if name not in names), None)) is not None:
        where = f"{operator}, node {node.name or node.output[0]}"
        raise CharzError("not a model of ONNX", where, f"it reads {unmade}, which nothing makes")
    inputs, outputs = (tuple(names[name] for name in given) for given in (node.input, node.output))
    attributes = {a.name: _attribute(a) for a in node.attribute}
    blocks = {
        name: _block(value, found, names, f"{outputs[0]}/{name}/")
        for name, value in attributes.items()
        if isinstance(value, onnx.GraphProto)
    }
    return Step(operator, node.name, inputs, outputs, attributes | blocks, _scope(node))


def _scope(node: Any) -> tuple[str, ...]:
    """Modules that a node is in: as the one exporter notes beside it, or as the other names it, `/layer/layer.0/conv/Conv`."""
    noted = next((p.value for p in node.metadata_props if p.key == "pkg.torch.onnx.name_scopes"), None)
    if noted is not None:
        return tuple(name for name in ast.literal_eval(noted)[:-1] if name)
    parts = node.name.split("/")[1:-1]
    return tuple("/".join(parts[: i + 1]) for i in range(len(parts)))
