"""Memory layouts of a graph's tensors in each memory format in which it can run.

A memory format is a request for images and convolution weights. Each operator decides what becomes of it: after a
permuted view, convolutions run channels-last in either format, and a
normalization over a transposed stream reads it with strides. So the exported graph runs once
more on meta tensors in each format, and the strides are read off. Two operators get the strides that
their CPU and GPU kernels produce and their meta kernels do not: a convolution is channels-last when its
input or its weight is (`cudnn_conv_suggest_memory_format` in PyTorch's ConvUtils.h) and first copies either
if it is not contiguous in that order (`input.contiguous(backend_memory_format)` in Convolution.cpp; a slice of
channels never is), and fused attention
writes in the order of its query (`_scaled_dot_product_flash_attention`) or, with a mask, with the heads of a
position next to each other (`_scaled_dot_product_efficient_attention`).
"""

from __future__ import annotations

import operator as python_operator
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._prims_common import suggest_memory_format
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from charz.schema.conditions import MEMORY_FORMATS

from .fx import attribute, first_line, has_tensor, traced_block
from .recurrent import SHAPES

STRIDED = "strided"
"""Layout of an operator whose operands and result have different orders in memory."""

ALIASES_IN_INFERENCE = {"dropout", "dropout_", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"}
"""Operators that return their input unless training; tracing gives the result a storage of its own."""

CONVOLUTIONS = {"conv2d", "convolution", "conv_transpose2d"}
"""Operators that run channels-last, converting if need be, when their input or weight is."""

KEEPERS = {
    "batch_norm", "relu", "relu6", "gelu", "silu", "sigmoid", "tanh", "elu", "leaky_relu", "mish", "hardswish",
    "hardsigmoid", "hardtanh",
}  # fmt: skip
"""Operators whose result has the layout of their first operand; listed because their meta kernels are slow."""

COPIERS = CONVOLUTIONS | {"matmul", "bmm", "baddbmm", "linear", "einsum"}
"""Operators that copy an operand whose strides their library kernel cannot take."""

COPYING_VIEWS = {"reshape", "contiguous", "flatten", "alias"}
"""Operators that are a view or a copy, depending on the strides of their operand."""

VIEW = "view"
"""Layout of an operator that moves nothing."""


@dataclass(slots=True)
class Layouts:
    """Layouts and copies that one run of the graph shows."""

    layout: dict[Node, str] = field(default_factory=dict)
    """`nchw`, `nhwc`, `strided` or `view`."""
    copied: dict[Node, list[Node]] = field(default_factory=dict)
    """Operands that an operator copies before it computes."""
    problem: str | None = None
    """Place and reason of a failed run; every operator then has the requested format."""


class UnknownSizeError(Exception):
    """A size that depends on data, so that its strides are unknown."""


class UnknownLayoutError(Exception):
    """An operator that does not run on meta tensors of the example's sizes."""


def layouts(program: ExportedProgram) -> dict[str, Layouts]:
    """Return the layout of every operator in each memory format, or the problem that leaves all unknown."""
    if not _has_images(program):
        run = _follow(program, "nchw")
        return dict.fromkeys(MEMORY_FORMATS, run)
    return {memory_format: _follow(program, memory_format) for memory_format in MEMORY_FORMATS}


def _has_images(program: ExportedProgram) -> bool:
    """Return True if an input or weight has the four dimensions that a memory format orders."""
    values = (n.meta.get("val") for n in program.graph_module.graph.nodes if n.op == "placeholder")
    return any(isinstance(v, torch.Tensor) and v.dim() == 4 for v in values)


def _follow(program: ExportedProgram, memory_format: str) -> Layouts:
    run = _Run(memory_format)
    try:
        with torch.no_grad():
            run.block(program.graph_module, None)
    except UnknownSizeError as error:
        return Layouts(problem=f"a size depends on data: {error}")
    except UnknownLayoutError as error:
        # At the example's sizes, a symbolic graph may contradict itself.
        return Layouts(problem=str(error))
    return run.layouts


class _Run:
    """One run of the graph on meta tensors."""

    def __init__(self, memory_format: str) -> None:
        self.memory_format = memory_format
        self.layouts = Layouts()

    def block(self, module: GraphModule, operands: list[Any] | None) -> Any:
        """Run a graph; `operands` are those of a higher-order call's block, None selects the example's inputs."""
        values: dict[Node, Any] = {}
        given = iter(operands) if operands is not None else None
        for node in module.graph.nodes:
            if node.op == "placeholder":
                values[node] = next(given) if given is not None else self._example(node.meta.get("val"))
            elif node.op == "get_attr":
                found = attribute(module, node)
                values[node] = self._example(found) if isinstance(found, torch.Tensor) else found
            elif node.op == "call_function":
                values[node] = self._call(node, lambda n: values[n])
            elif node.op == "output":
                return torch.fx.node.map_arg(node.args[0], lambda n: values[n])
        return None

    def _example(self, value: Any) -> Any:
        """Return an input or weight of the example's size, in the requested format."""
        if not isinstance(value, torch.Tensor):
            return _known(value)
        made = torch.empty_strided(
            [_known(s) for s in value.shape], [_known(s) for s in value.stride()], dtype=value.dtype, device="meta"
        )
        if self.memory_format == "nhwc" and made.dim() == 4:
            # `contiguous` keeps the strides of 1x1 kernels and single channels, by which convolutions choose.
            return made.to(memory_format=torch.channels_last)
        return made

    def _call(self, node: Node, value_of: Callable[[Node], Any]) -> Any:
        target: Any = node.target
        arguments = torch.fx.node.map_arg(node.args, value_of)
        keywords = torch.fx.node.map_arg(node.kwargs, value_of)
        if target is python_operator.getitem:
            return arguments[0][arguments[1]]
        if isinstance(target, torch._ops.HigherOrderOperator):
            return self.block(*traced_block(node, arguments))
        if node.meta.get("unbacked_bindings"):
            raise UnknownSizeError(str(target))
        value = node.meta.get("val")
        if not has_tensor(value):
            return None if value is None else _known(value)
        copies = _Copies()
        try:
            with copies if _name(target) in COPIERS else nullcontext():
                result = _execute(target, arguments, keywords)
        except RuntimeError as error:  # also NotImplementedError, for a missing meta kernel
            raise UnknownLayoutError(f"{target} does not run on meta tensors: {first_line(error)}") from error
        if _name(target) in COPIERS:
            self.layouts.copied[node] = [n for n in node.all_input_nodes if copies.took(value_of(n))]
        self._note(node, target, [a for a in _flat(arguments) if isinstance(a, torch.Tensor)], result)
        return result

    def _note(self, node: Node, target: Any, operands: list[torch.Tensor], result: Any) -> None:
        """Record the layout of an operator."""
        first = next((r for r in _flat(result) if isinstance(r, torch.Tensor)), None)
        if first is None:
            return
        if not target._schema.is_mutable and any(_storage(first) == _storage(t) for t in operands):
            self.layouts.layout[node] = VIEW
        else:
            self.layouts.layout[node] = layout([] if _name(target) in CONVOLUTIONS else operands, first)


class KeptContiguous(TorchFunctionMode):
    """A mode that traces `image.contiguous()` as `aten.alias`: tracing drops the call on a contiguous image, but channels-last the call copies."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.contiguous and len(args) == 1 and not kwargs and args[0].dim() == 4 and args[0].is_contiguous():
            return torch.ops.aten.alias.default(args[0])
        return func(*args, **(kwargs or {}))


class _Copies(TorchDispatchMode):
    """A mode that notes the storages copied within an operator."""

    def __init__(self) -> None:
        super().__init__()
        self.storages: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten.clone.default:
            self.storages.add(_storage(args[0]))
        return func(*args, **(kwargs or {}))

    def took(self, value: Any) -> bool:
        """Return True if the tensor was copied."""
        return isinstance(value, torch.Tensor) and _storage(value) in self.storages


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def layout(operands: list[torch.Tensor], result: torch.Tensor) -> str:
    """Return the layout of an operator: `strided` where an operand as large as the result has another order, else
    `nhwc` where images of several channels have those next to each other, else `nchw`.

    >>> a = torch.empty(2, 8, 4, 4, device="meta")
    >>> layout([a], a), layout([a.contiguous(memory_format=torch.channels_last)], a)
    ('nchw', 'strided')
    """
    if any(t.shape == result.shape and _order(t) != _order(result) for t in operands):
        return STRIDED
    image = result if result.dim() == 4 else next(iter(operands), result)
    return "nhwc" if _is_channels_last(image) else "nchw"


def _execute(target: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """Return the operator's result on meta tensors, with the strides of its kernels."""
    name = _name(target)
    if name == "scaled_dot_product_attention":
        return _attention(*arguments[:4], **{k: v for k, v in keywords.items() if k in ("attn_mask", "enable_gqa")})
    if target in SHAPES:
        return SHAPES[target](*arguments, **keywords)
    if name in ALIASES_IN_INFERENCE and not arguments[2]:
        return arguments[0]
    if name in KEEPERS:
        return torch.empty_like(arguments[0])
    if name.endswith("_") and target._schema.is_mutable:
        return arguments[0]
    if name == "layer_norm":
        return arguments[0].new_empty(arguments[0].shape)
    if name == "alias":
        return arguments[0].contiguous()
    if name in CONVOLUTIONS:
        return _convolution(target, arguments, keywords)
    if keywords.get("device") is not None:
        keywords = {**keywords, "device": torch.device("meta")}
    return target(*arguments, **keywords)


def _convolution(target: Any, arguments: Any, keywords: dict[str, Any]) -> torch.Tensor:
    """Return a convolution's result, in the order of its input or weight, into which both are converted."""
    is_last = any(suggest_memory_format(t) == torch.channels_last for t in arguments[:2] if t.dim() == 4)
    wanted = torch.channels_last if is_last else torch.contiguous_format
    operands = [t.contiguous(memory_format=wanted) for t in arguments[:2]]
    result: torch.Tensor = target(*operands, *arguments[2:], **keywords)
    return result.contiguous(memory_format=wanted)


def _name(target: Any) -> str:
    return str(target.__name__).split(".")[0]


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Return (..., heads, L, E) in the query's order without a mask, else with the heads of a position next to each other.

    The heads are the query's if they share keys (`enable_gqa`); else leading dimensions broadcast.
    """
    heads = query.shape[:-2] if enable_gqa else torch.broadcast_shapes(query.shape[:-2], key.shape[:-2])
    size = [*heads, query.shape[-2], value.shape[-1]]
    if attn_mask is None and size == list(query.shape):
        return torch.empty_like(query)
    if query.dim() == 4:
        return query.new_empty([size[0], size[2], size[1], size[3]]).transpose(1, 2)
    return query.new_empty(size)


def _is_channels_last(tensor: torch.Tensor) -> bool:
    """Return True for images whose channels are adjacent; False for a single pixel or channel, where both orders are the same."""
    return tensor.dim() == 4 and tensor.stride(1) == 1 and not tensor.is_contiguous()


def _order(tensor: torch.Tensor) -> tuple[int, ...]:
    """Return the dimensions longer than one that are not expanded, from the outermost in memory to the innermost."""
    dims = [(s, -d) for d, (n, s) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)) if n > 1 and s > 0]
    return tuple(-d for _, d in sorted(dims, reverse=True))


def _known(value: Any) -> Any:
    """Replace symbolic sizes by those of the example."""
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        if not value.node.has_hint():
            raise UnknownSizeError(str(value))
        return value.node.hint
    if isinstance(value, (list, tuple)):
        return type(value)(_known(v) for v in value)
    return value


def _flat(values: Any) -> list[Any]:
    """Flatten nested lists and tuples."""
    if not isinstance(values, (list, tuple)):
        return [values]
    return [item for value in values for item in _flat(value)]
