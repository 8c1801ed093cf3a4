"""Lowers an exported program to a `Graph`: modules, operators, tensors, accesses, stages.

The storages of the traced values show which tensors alias, so that `reshape`, `contiguous` and
`flatten` count as views exactly where torch made no copy.
"""

from __future__ import annotations

import contextlib
import operator as python_operator
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule as FxModule
from torch.fx import Node

from ..graph import Graph, GraphModule, GraphOperator, GraphTensor, Polynomial
from ..operators import RULES, Call, Value
from ..operators.complex import as_real
from .alike import Layers
from .attention import attention_of
from .export import CONTEXT_INPUT, State, Traced
from .fx import attribute, has_tensor, is_conditional, traced_block
from .layout import ALIASES_IN_INFERENCE, COPYING_VIEWS, VIEW, Layouts, layouts
from .marks import CROSSED, LIFTED, mark_logits, mark_prompts, number_names, pass_limits, set_stages
from .planned import planned_format
from .references import References
from .refusal import source_of
from .regions import CHECKPOINTS, DETACHING, FUNCTIONS, GRADIENTS, Checkpoint, checkpoint_of, has_gradient, not_honoured
from .repeat import repeat
from .scratch import add_scratch
from .symbolic import NotPolynomialError, Size, Symbols, polynomial, size_product, text

PRECISIONS = {
    torch.float64: "fp64", torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "fp8_e4m3", torch.float8_e5m2: "fp8_e5m2",
    torch.int64: "int64", torch.int32: "int32", torch.int16: "int16", torch.int8: "int8", torch.uint8: "uint8",
    torch.int4: "int4", torch.uint4: "uint4",
    torch.bool: "bool", torch.complex64: "complex64", torch.complex128: "complex128",
}  # fmt: skip

NOT_OPERATORS = {
    "aten._assert_tensor_metadata.default", "aten._assert_scalar.default", "aten._assert_async.msg",
    "aten.sym_constrain_range_for_size.default", "aten.sym_constrain_range.default", "aten.sym_size.int",
    "aten.sym_stride.int", "aten.sym_numel.default", "aten.sym_storage_offset.default", "aten.item.default",
    "aten._local_scalar_dense.default", "aten._functional_assert_async.msg", "aten.is_nonzero.default",
}  # fmt: skip
"""Calls that only check or read a size."""

VIEWS_IN_PLACE = {
    f"aten.{name}"
    for name in (
        "detach_",
        "squeeze_",
        "unsqueeze_",
        "transpose_",
        "t_",
        "swapaxes_",
        "swapdims_",
        "as_strided_",
        "requires_grad_",
    )
}
"""Operators that change a tensor's shape, strides or gradient flag but write no values, though their schema declares a write."""

CHUNKED = "charz.kv_chunk.default"
"""Cache from which a query attends only to its own chunk of the context."""

SLIDING = ("charz.kv_sliding.default", CHUNKED)
"""Caches as long as the context, but at most as long as a window."""

KV_CACHE = ("charz.kv_cache.default", "charz.kv_window.default", CROSSED, *SLIDING)
"""Operators that return a cache kept between runs: it is resident, and making it moves nothing."""

STATEFUL = frozenset(f"charz.{name}.default" for name in ("state_conv", "delta_rule", "state_space", "selective_scan"))
"""Operators that write their first result into their first operand, a state."""

JOINED = "charz.state_join.default"
"""Join of a state and its new input, which does not exist where a kernel reads both."""

ZERO: Polynomial = {(0, 0, 0): 0.0}


@dataclass(slots=True)
class Lowering:
    """A graph under construction."""

    symbols: Symbols
    graph: Graph = field(default_factory=Graph)
    values: dict[Node, Any] = field(default_factory=dict)
    """Value, list of values, size or None of each fx node."""
    storages: dict[int, int] = field(default_factory=dict)
    """Id of the tensor that owns each storage, by the storage's address."""
    writers: dict[int, list[int]] = field(default_factory=dict)
    """In-place results by the tensor that owns their storage, the newest last."""
    operators: dict[Node, int] = field(default_factory=dict)
    """Operator ids by their fx nodes."""
    modules: dict[str, int] = field(default_factory=dict)
    shapes: dict[tuple[Any, ...], tuple[tuple[Size, ...], Size, str]] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    """Values kept alive so that storage addresses stay unique while lowering."""
    has_gradient: bool = True
    """True if the current traced block runs with gradients."""
    block_checkpoint: Checkpoint | None = None
    """Checkpoint of the current traced block; checkpoints of blocks have numbers below zero."""
    checkpoints: dict[int, int] = field(default_factory=dict)
    """Id of the first operator of each checkpoint, by the checkpoint's number."""


def lower(traced: Traced, root_class: str, repeated: Sequence[Layers] = ()) -> Graph:
    """Return the graph of an exported program with its repeated layers. Raise NotPolynomialError for a size that is not polynomial."""
    program, references = traced.program, traced.references
    state = Lowering(traced.symbols)
    state.graph.modules.append(GraphModule(0, None, "", root_class, 0))
    state.modules[""] = 0
    _add_placeholders(state, program, traced.states)
    _add_nodes(state, program.graph_module)
    _mark_outputs(state, program.graph_module)
    if references is not None:
        _set_held(state, references)
    for memory_format, found in layouts(program).items():
        _add_layouts(state, memory_format, found)
        state.graph.layout_problem = state.graph.layout_problem or found.problem
    for layers in repeated:
        repeat(state.graph, layers)
    set_stages(state.graph)
    mark_logits(state.graph)
    pass_limits(state.graph)
    mark_prompts(state.graph)
    state.graph.planned_format = planned_format(state.graph)
    number_names(state.graph)
    add_scratch(state.graph, state.graph.copies["nchw"])
    return state.graph


def _add_placeholders(state: Lowering, program: torch.export.ExportedProgram, states: Mapping[str, State]) -> None:
    from torch.export.graph_signature import InputKind

    roles = {InputKind.PARAMETER: "weight", InputKind.BUFFER: "buffer", InputKind.CONSTANT_TENSOR: "constant"}
    specs = {s.arg.name: s for s in program.graph_signature.input_specs}
    shared: dict[int, Value] = {}
    for node in program.graph_module.graph.nodes:
        if node.op != "placeholder":
            continue
        value = node.meta.get("val")
        if node.name == CONTEXT_INPUT:
            continue
        if not isinstance(value, torch.Tensor):
            state.values[node] = _scalar(state, value)
            continue
        spec = specs[node.name]
        name = spec.target if spec.target else node.name
        name = LIFTED if name.startswith(f"{LIFTED}_") else name
        original = program.state_dict.get(name) if spec.kind is not InputKind.USER_INPUT else None
        if original is not None and id(original) in shared:  # tied weights are one tensor
            state.values[node] = shared[id(original)]
            continue
        kept = states.get(node.name)
        if kept is not None and not node.users:  # its layer is left out
            continue
        role = roles.get(spec.kind, "input") if kept is None else "kv_cache"
        state.values[node] = _add_tensor(state, value, name if kept is None else kept.name, None, role)
        state.graph.tensors[-1].is_pinned = kept is not None and kept.is_pinned
        if role == "weight":
            is_real = value.is_floating_point() or value.is_complex()
            state.graph.tensors[-1].is_trained = is_real and original is not None and original.requires_grad
        if original is not None:
            shared[id(original)] = state.values[node]


def _scalar(state: Lowering, value: Any) -> Any:
    if isinstance(value, torch.SymInt):
        return state.symbols.size(value)
    return value


def _add_tensor(state: Lowering, value: torch.Tensor, name: str, producer: int | None, role: str) -> Value:
    """Add a tensor; it owns its storage unless an earlier one does."""
    tensor_id = len(state.graph.tensors)
    dims, elements, shape = _shape(state, value)
    precision = PRECISIONS[value.dtype]
    address = value.untyped_storage()._cdata
    state.kept.append(value)
    owner = state.storages.setdefault(address, tensor_id)
    bounded = any(state.symbols.is_bounded(d) for d in value.shape) if state.symbols.bounds else False
    state.graph.tensors.append(
        GraphTensor(
            tensor_id, name, producer, role, precision, shape, polynomial(elements), owner, is_size_bound=bounded
        )
    )
    return Value(tensor_id, dims, elements, precision)


def _shape(state: Lowering, value: torch.Tensor) -> tuple[tuple[Size, ...], Size, str]:
    """Return dimensions, unique elements and text of a tensor's shape, each distinct shape computed once."""
    sizes, strides = value.shape, value.stride()
    expanded = tuple(i for i, s in enumerate(strides) if type(s) is int and s == 0)
    key = (*(d if type(d) is int else d.node.expr for d in sizes), None, *expanded)
    known = state.shapes.get(key)
    if known is None:
        dims = tuple(state.symbols.size(d) for d in sizes)
        elements = size_product(d for i, d in enumerate(dims) if i not in expanded)
        known = state.shapes[key] = (dims, elements, "[" + ", ".join(text(d) for d in dims) + "]")
    return known


def _add_nodes(state: Lowering, module: FxModule) -> None:
    for node in module.graph.nodes:
        if node.op == "call_function":
            try:
                _add_node(state, node)
            except NotPolynomialError as error:
                error.place = error.place or ":".join(str(part) for part in source_of(node) or ())
                raise
        elif node.op == "get_attr":
            state.values[node] = _attribute(state, module, node)


def _attribute(state: Lowering, module: FxModule, node: Node) -> Any:
    """Return a submodule of a higher-order call, or a constant tensor."""
    found = attribute(module, node)
    if isinstance(found, torch.Tensor):
        return _add_tensor(state, node.meta.get("val", found), str(node.target), None, "constant")
    return found


def _add_node(state: Lowering, node: Node) -> None:
    target = node.target
    if target is python_operator.getitem:
        source, index = node.args
        state.values[node] = state.values[source][index]  # type: ignore[index]
        return
    if isinstance(target, torch._ops.HigherOrderOperator):
        _inline(state, node)
        return
    value = node.meta.get("val")
    name = str(target)
    if name == JOINED and not node.users:
        return
    if not isinstance(target, torch._ops.OpOverload) or name in NOT_OPERATORS or not has_tensor(value):
        state.values[node] = _scalar(state, value)
        return
    _add_operator(state, node, target, name)


def _inline(state: Lowering, node: Node) -> None:
    """Replace a call of a traced block (under `no_grad`, autocast, a checkpoint, a nested region) by the block's nodes."""
    arguments = [state.values.get(a) if isinstance(a, Node) else a for a in node.args]
    block, operands = traced_block(node, arguments)
    if is_conditional(node):
        file, line = source_of(node) or ("?", 0)
        state.graph.notes.append(f"torch.cond at {file}:{line}: the costlier branch is counted")
    operands = [state.values.get(a, a) if isinstance(a, Node) else a for a in operands]
    placeholders = [n for n in block.graph.nodes if n.op == "placeholder"]
    state.values.update(zip(placeholders, operands, strict=True))
    with _covered(state, node):
        _add_nodes(state, block)
    result = next(n for n in block.graph.nodes if n.op == "output").args[0]
    state.values[node] = (
        [state.values[r] if isinstance(r, Node) else r for r in result]
        if isinstance(result, (list, tuple))
        else state.values[result]
    )


@contextlib.contextmanager
def _covered(state: Lowering, node: Node) -> Iterator[None]:
    """Mark operators in a block as run without gradients, with them, or again in the backward pass."""
    kind = str(node.target)
    before = state.has_gradient, state.block_checkpoint
    if kind == GRADIENTS:
        state.has_gradient = bool(node.args[0])
    elif kind in CHECKPOINTS:
        state.block_checkpoint = state.block_checkpoint or Checkpoint(-1 - len(state.checkpoints), False)
    elif kind == FUNCTIONS:
        _add_once(state.graph.not_honoured, "the backward of a function; counted is the backward of its forward's operators")
    try:
        yield
    finally:
        state.has_gradient, state.block_checkpoint = before


def _add_once(known: list[str], said: str) -> None:
    if said not in known:
        known.append(said)


def _add_operator(state: Lowering, node: Node, target: Any, name: str) -> None:
    graph = state.graph
    operator_id = len(graph.operators)
    graph.traced[node.name] = operator_id
    arguments = [_argument(state, a) for a in node.args]
    keywords = {k: _argument(state, a) for k, a in node.kwargs.items()}
    rule = RULES.get(name)
    call = Call(target, arguments, keywords, [], rule.operator_class if rule else "unknown")
    inputs = call.tensors()
    results = node.meta["val"]
    mutable = name in STATEFUL or (target._schema.is_mutable and name.rpartition(".")[0] not in VIEWS_IN_PLACE)
    _alias_input(state, call, name, results, inputs)
    owned = {graph.tensors[v.tensor_id].storage_tensor_id for v in inputs}
    outputs = _add_results(state, node, results, operator_id)
    call.outputs = [v for v in outputs if v is not None]
    if name in KV_CACHE:
        graph.tensors[call.output.tensor_id].role = "kv_cache"
        graph.tensors[call.output.tensor_id].context_limit = call["length"] if name in SLIDING else None
        graph.tensors[call.output.tensor_id].is_chunked = name == CHUNKED
    is_view = name in KV_CACHE or (
        not mutable
        and bool(call.outputs)
        and all(graph.tensors[v.tensor_id].storage_tensor_id in owned for v in call.outputs)
    )
    module_id = _module(state, node)
    op = GraphOperator(operator_id, _kind(node), name, "view", module_id, "views.alias", [], [])
    op.source_file, op.source_line = source_of(node) or (None, None)
    op.attention = attention_of(node)
    _mark_covered(state, op, node)
    op.reads = [v.tensor_id for v in inputs]
    op.writes = [v.tensor_id for v in call.outputs]
    op.is_view = is_view
    op.is_inplace = mutable and not is_view
    _mark_bounds(graph, op)
    if not is_view:
        op.rule = rule.name if rule else None
        op.steps = as_real(call, rule.function(call)) if rule else []
        op.operator_class = call.operator_class
        op.accesses = call.accesses
        op.draw_fractions = call.draw_fractions
        op.context_limit = call.context_limit
    _order_after_writers(state, op)
    if op.is_inplace and op.writes:
        owner = graph.tensors[op.writes[0]].storage_tensor_id
        state.writers.setdefault(owner, []).append(op.writes[0])
    graph.operators.append(op)
    state.operators[node] = operator_id
    state.values[node] = outputs if isinstance(results, (list, tuple)) else outputs[0]


def _mark_covered(state: Lowering, op: GraphOperator, node: Node) -> None:
    """Mark if an operator passes gradients on and runs again, and note in the graph the regions that charz does not follow."""
    op.stops_gradient = not (state.has_gradient and has_gradient(node)) or op.aten_operator in DETACHING
    region = checkpoint_of(node) or state.block_checkpoint
    if region is not None:
        op.checkpoint = state.checkpoints.setdefault(region.number, op.operator_id)
        op.is_checkpoint_whole = region.is_whole
    for said in not_honoured(node):
        _add_once(state.graph.not_honoured, said)


def _kind(node: Node) -> str:
    """Return the tracer's name without its number, which also counts operators that are dropped later."""
    return _NUMBER.sub("", node.name)


_NUMBER = re.compile(r"_\d+$")


def _mark_bounds(graph: Graph, op: GraphOperator) -> None:
    """Mark an operator and its results as bounded if an operand is."""
    op.is_size_bound = op.aten_operator.startswith("charz.bounded") or any(
        graph.tensors[t].is_size_bound for t in (*op.reads, *op.writes)
    )
    if op.is_size_bound:
        for t in op.writes:
            graph.tensors[t].is_size_bound = True


def _argument(state: Lowering, argument: Any) -> Any:
    """Return an fx argument with nodes replaced by their values."""
    if isinstance(argument, Node):
        return state.values.get(argument)
    if isinstance(argument, (list, tuple)):
        return [_argument(state, a) for a in argument]
    return argument


def _alias_input(state: Lowering, call: Call, name: str, results: Any, inputs: list[Value]) -> None:
    """Give the result of an idle dropout or in-place view, and a state that is written, the storage of the input."""
    idle = call.overload.__name__.split(".")[0] in ALIASES_IN_INFERENCE and not call["train"]
    if idle or name in STATEFUL or name.rpartition(".")[0] in VIEWS_IN_PLACE:
        result = results[0] if name in STATEFUL else results
        state.storages[result.untyped_storage()._cdata] = state.graph.tensors[inputs[0].tensor_id].storage_tensor_id


def _add_results(state: Lowering, node: Node, results: Any, operator_id: int) -> list[Value | None]:
    if not isinstance(results, (list, tuple)):
        return [_add_tensor(state, results, _kind(node), operator_id, "activation")]
    return [
        _add_tensor(state, r, f"{_kind(node)}.{i}", operator_id, "activation") if isinstance(r, torch.Tensor) else None
        for i, r in enumerate(results)
    ]


def _order_after_writers(state: Lowering, op: GraphOperator) -> None:
    """Make readers of a storage wait for the last write into it, also if they read it through an older
    name: they also read the newer result, which moves nothing."""
    if not state.writers:
        return
    for tensor_id in list(op.reads):
        written = state.writers.get(state.graph.tensors[tensor_id].storage_tensor_id)
        if written and written[-1] > tensor_id and written[-1] not in op.reads:
            op.reads.append(written[-1])
            op.accesses.setdefault(written[-1], dict(ZERO))


def _module(state: Lowering, node: Node) -> int:
    """Return the innermost module of a node, and enter new modules on its path."""
    module_id = 0
    for path, kind in (node.meta.get("nn_module_stack") or {}).values():
        known = state.modules.get(path)
        if known is None:
            known = state.modules[path] = len(state.graph.modules)
            qualified = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
            package, name = qualified.split(".", 1)[0], qualified.rsplit(".", 1)[-1]
            depth = state.graph.modules[module_id].depth + 1
            state.graph.modules.append(GraphModule(known, module_id, path, name, depth, package))
        module_id = known
    return module_id


def _mark_outputs(state: Lowering, module: FxModule) -> None:
    output = next(n for n in reversed(module.graph.nodes) if n.op == "output")
    for node in output.all_input_nodes:
        value = state.values.get(node)
        if isinstance(value, Value):
            state.graph.tensors[value.tensor_id].is_output = True


def _add_layouts(state: Lowering, memory_format: str, found: Layouts) -> None:
    """Add the layouts, and the copies: of operands, and of traced views that are copies in this format."""
    graph = state.graph
    by_operator = {state.operators[node]: layout for node, layout in found.layout.items() if node in state.operators}
    graph.layouts[memory_format] = by_operator
    copies = [
        (state.operators[node], state.values[operand].tensor_id)
        for node, operands in found.copied.items()
        for operand in operands
        if isinstance(state.values[operand], Value)
    ]
    copies += [
        (o, graph.operators[o].writes[0])
        for o, layout in by_operator.items()
        if graph.operators[o].is_view
        and layout != VIEW
        and graph.operators[o].aten_operator.split(".")[1] in COPYING_VIEWS
    ]
    graph.copies[memory_format] = copies


def _set_held(state: Lowering, references: References) -> None:
    """Set the last operator before Python dropped each storage; one that makes no storage counts with the one before it."""
    graph = state.graph
    calls: list[int] = []
    for op in graph.operators:
        spans = (references.spans.get(_address(state, t)) for t in op.writes)
        calls.append(max([*calls[-1:], *(span.born for span in spans if span)], default=0))
    for tensor in graph.tensors:
        span = references.spans.get(_address(state, tensor.tensor_id))
        if tensor.producer_operator_id is not None and span is not None and span.died is not None:
            last = bisect_right(calls, span.died) - 1
            tensor.held_operator_id = max(last, tensor.producer_operator_id)


def _address(state: Lowering, tensor_id: int) -> int:
    return int(state.kept[tensor_id].untyped_storage()._cdata)
