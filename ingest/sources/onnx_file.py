"""Source for a model exported to ONNX: `model.onnx`. Weights are not read, and no code of the file runs.

A symbolic first dimension of an input is the batch; any other symbolic dimension is the sequence.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

from charz.schema.errors import CharzError

from ..trace import torchvision_schemas
from ..trace.export import BATCH, SEQUENCE, Request
from .inputs import SYMBOLS, parse_input
from .onnx_graph import INSTEAD, UNFIT, OnnxModule
from .onnx_operators import HOST, TENSOR, Block, Step
from .onnx_operators.moves import TYPES
from .spec import Spec

MOST_NUMBERS = 64
"""Maximum length of an integer vector that is taken for sizes."""

RESIZING = ("Resize", "Upsample")
"""Operators whose operands after the first are factors and sizes."""

DOMAINS = ("", "ai.onnx")

MOST_NODES = 20_000
"""Maximum number of nodes of a graph with its functions inlined, which take 300 U and 4 GB."""

MOST_SIZE, MOST_ELEMENTS = 2**31 - 1, 2**40
"""Maximum size of a dimension, and of elements of an input or constant: larger products overflow."""


def build(spec: Spec) -> Request:
    """Build a module of the graph with example inputs of its sizes. Raises CharzError."""
    torchvision_schemas.prepare()
    path = Path(spec.name)
    try:
        return _built(spec, path, _load(path, spec.name).graph)
    except (*UNFIT, RecursionError, OverflowError, RuntimeError) as error:  # fields that contradict each other
        said = (str(error) or repr(error)).splitlines()[0]
        raise CharzError("not a model of ONNX", spec.name, said, INSTEAD) from error


def _built(spec: Spec, path: Path, graph: Any) -> Request:
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
    except Exception as error:  # protobuf raises various errors on other bytes
        raise CharzError("not a model of ONNX", name, str(error).splitlines()[0] if str(error) else "") from error
    _check_count(model, name)
    return _as_defined(model)


def _check_count(model: Any, name: str) -> None:
    """Raise `CharzError` for more than `MOST_NODES` nodes, counting the nodes of each function at each call."""
    functions = {(f.domain, f.name): f for f in model.functions}
    counts: dict[tuple[str, str], int] = {}

    def count(nodes: Iterable[Any], within: tuple[tuple[str, str], ...]) -> int:
        total = 0
        for node in nodes:
            called = (node.domain, node.op_type)
            if called in within:
                raise CharzError("not a model of ONNX", name, f"its function {node.op_type} calls itself", INSTEAD)
            if called in functions:
                if called not in counts:
                    counts[called] = count(_nodes(functions[called]), (*within, called))
                total += counts[called]
            else:
                total += 1
            if total > MOST_NODES:
                at_most = f"at most {MOST_NODES:,} are read"
                raise CharzError("more nodes than are read", name, at_most, "ingest a part of it, or the nn.Module")
        return total

    count(_nodes(model.graph), ())


def _size(size: int, where: str) -> int:
    """Check and return a dimension. Raises `CharzError` for an impossible one."""
    if not 0 <= size <= MOST_SIZE:
        raise CharzError("not the size of a tensor", where, f"it is {size}", f"write one from 0 to {MOST_SIZE}")
    return size


def _shape(sizes: Iterable[int], where: str) -> tuple[int, ...]:
    """Check and return the dimensions of a tensor. Raises `CharzError` for impossible ones."""
    found = tuple(_size(size, where) for size in sizes)
    if (elements := math.prod(found)) > MOST_ELEMENTS:
        raise CharzError("more elements than a tensor may have", where, f"{elements:,}, at most {MOST_ELEMENTS:,}")
    return found


def _as_defined(model: Any) -> Any:
    """Replace calls of the model's functions, and of unknown operators, by their definitions."""
    import onnx.inliner

    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    unread = {(n.domain, n.op_type) for n in _nodes(model.graph) if n.op_type not in TENSOR and n.op_type not in HOST}
    defined = sorted(name for name in unread if _is_defined(*name))
    if not defined:
        return model
    try:
        return onnx.inliner.inline_selected_functions(model, defined, inline_schema_functions=True)
    except Exception as error:  # the package's C++ raises various errors on omitted operands
        names, said = ", ".join(name for _, name in defined), str(error).splitlines()[-1] if str(error) else repr(error)
        raise CharzError("an ONNX operator cannot be replaced by its definition", names, said, INSTEAD) from error


def _nodes(graph: Any) -> Iterator[Any]:
    """Yield the nodes of a graph and of the graphs within them."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g)


def _is_defined(domain: str, operator: str) -> bool:
    """Return True if the ONNX standard defines an operator by other operators."""
    import onnx

    if domain not in DOMAINS or not onnx.defs.has(operator):
        return False
    schema = onnx.defs.get_schema(operator)
    return bool(schema.has_function or schema.has_context_dependent_function)


def _add_input(request: Request, name: str, value: Any, spec: Spec) -> None:
    """Add an example of an input's type and sizes."""
    shape, axes = [], {}
    for dimension, size in enumerate(value.type.tensor_type.shape.dim):
        if size.HasField("dim_value"):
            shape.append(_size(size.dim_value, f"{spec.name}: {name}, dimension {dimension}"))
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
    request.keywords[name] = torch.empty(_shape(shape, f"{spec.name}: {name}"), dtype=kind, device="meta")
    request.axes[name] = axes


def _replace_input(request: Request, text: str, spec: Spec) -> None:
    """Replace the input of the given name, or the first, by the user's."""
    made = parse_input(text, spec.batch, spec.sequence)
    name = made.name or next(iter(request.keywords), "")
    if name not in request.keywords:
        raise CharzError("unknown input", name, f"there are {', '.join(request.keywords)}")
    request.keywords[name], request.axes[name] = made.tensor, made.axes


Values = tuple[dict[str, Any], dict[str, torch.Tensor]]
"""Numbers and weights by name."""


def _block(graph: Any, found: Values, around: dict[str, str], prefix: str) -> Block:
    """Convert a graph and the graphs within its nodes to steps, and add their constants to `found`. Names of the graph's values
    get a prefix, since different graphs may use the same names."""
    _check_names(graph)
    own = {n.name for n in (*graph.input, *graph.initializer)} | {n for node in graph.node for n in node.output}
    names = {"": "", **around, **{name: prefix + name for name in own if name}}
    for kept, read in zip(found, _constants(graph), strict=True):
        kept.update({names[name]: value for name, value in read.items()})  # type: ignore[attr-defined]
    return Block(
        tuple(names[i.name] for i in graph.input),
        tuple(names[o.name] for o in graph.output),
        tuple(_step(node, found, names) for node in graph.node if node.op_type != "Constant"),
    )


def _check_names(graph: Any) -> None:
    """Raise `CharzError` for a name that two nodes write, or a node and an input or constant."""
    made = {n.name: "an input or constant" for n in (*graph.input, *graph.initializer)}
    for node in graph.node:
        for name in filter(None, node.output):
            if name in made:
                where = f"{name}, by {made[name]} and by {node.op_type}"
                raise CharzError("not a model of ONNX", where, "one name is written twice", INSTEAD)
            made[name] = f"{node.op_type} {node.name}".rstrip()


def _constants(graph: Any) -> Values:
    """Collect numbers and weights by name, including those of Constant nodes."""
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
    """Return the numbers of a vector of sizes, of a scalar, or if `is_read`; else a tensor without values."""
    import onnx

    kind = TYPES.get(stored.data_type)
    if kind is None:
        raise CharzError("a constant of a type that is not read", stored.name)
    shape = _shape(stored.dims, stored.name)
    count = math.prod(shape)
    is_vector = len(stored.dims) <= 1 and count <= MOST_NUMBERS and not kind.is_floating_point
    if (is_vector or is_read or not stored.dims) and stored.data_location != onnx.TensorProto.EXTERNAL:
        return onnx.numpy_helper.to_array(stored).tolist()
    return torch.empty(shape, dtype=kind, device="meta")


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
    """Return the modules around a node: from its metadata, or else from its name, e.g. `/layer/layer.0/conv/Conv`."""
    noted = next((p.value for p in node.metadata_props if p.key == "pkg.torch.onnx.name_scopes"), None)
    if noted is not None:
        return tuple(name for name in ast.literal_eval(noted)[:-1] if name)
    parts = node.name.split("/")[1:-1]
    return tuple("/".join(parts[: i + 1]) for i in range(len(parts)))
