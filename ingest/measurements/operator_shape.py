"""Computes the work of one operator from the shapes in a measurement file: class, MACs, flops, bytes moved.

A MAC is two flops. Bytes are unique ones: each input read once, the output written once. The rules
cover only the operators of such files; the work of ingested models comes from `ingest/operators`.
"""

from __future__ import annotations

import ast
import math
import re
from typing import TypedDict, cast

import polars as pl

from charz.schema.errors import CharzError


class Work(TypedDict):
    """Computation and traffic of one operator, including weights and result; its GEMM, if it is one."""

    operator_class: str
    macs: float | None
    flops: float | None
    traffic_byte: float | None
    weight_byte: float | None
    written_byte: float | None
    m: float | None
    n: float | None
    k: float | None
    gemm_count: float | None


WORK = pl.Struct(
    {"operator_class": pl.String} | {name: pl.Float64 for name in Work.__annotations__ if name != "operator_class"}
)
"""Polars type of a `Work`."""

_ELEMENT_BYTE = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1, "int64": 8, "bool": 1}

_ELEMENTWISE_FLOPS = {"add": 1, "mul": 1, "div": 1, "sub": 1, "relu": 1, "pow": 1, "gelu": 10, "tanh": 6}
"""Arithmetic an element, as the operator rules count it."""

_FX_CLASSES = {
    "matmul": "matmul",
    "bmm": "matmul",
    "softmax": "softmax",
    "gelu": "activation",
    "relu": "activation",
    "tanh": "activation",
    "embedding": "embedding",
    "cat": "copy",
    "contiguous": "copy",
    "reshape": "copy",
    "arange": "create",
    "full": "create",
    "ones": "create",
    "tensor": "create",
    "cumsum": "reduction",
}

_FX_VIEWS = {
    "view", "permute", "transpose", "size", "getattr", "getitem", "unsqueeze", "split", "expand", "dim", "t",
    "contiguous", "reshape", "to", "type", "type_as", "long",
}  # fmt: skip


def gemm(count: float, m: float, n: float, k: float, element_byte: float, operator_class: str) -> Work:
    """Return the work of `count` products of an m×k by a k×n matrix."""
    macs = count * m * n * k
    moved = count * (m * k + k * n + m * n) * element_byte
    return Work(
        operator_class=operator_class,
        macs=macs,
        flops=2 * macs,
        traffic_byte=moved,
        weight_byte=0.0 if operator_class == "matmul" else count * k * n * element_byte,
        written_byte=count * m * n * element_byte,
        m=m,
        n=n,
        k=k,
        gemm_count=count,
    )


def vector(operator_class: str, flops: float, moved_byte: float, written_byte: float) -> Work:
    """Return the work of an operator without a matrix product."""
    return Work(
        operator_class=operator_class,
        macs=0.0,
        flops=flops,
        traffic_byte=moved_byte,
        weight_byte=0.0,
        written_byte=written_byte,
        m=None,
        n=None,
        k=None,
        gemm_count=None,
    )


def unknown() -> Work:
    """Return null work, never zero, for an operator whose shapes do not determine it."""
    return Work(
        operator_class="unknown",
        macs=None,
        flops=None,
        traffic_byte=None,
        weight_byte=None,
        written_byte=None,
        m=None,
        n=None,
        k=None,
        gemm_count=None,
    )


def from_text(operator: str, shape: str, precision: str) -> Work:
    """Compute the work of a micro-benchmark row, e.g. `bmm`, `B=384 M=128 N=64 K=128`, `fp32`."""
    size = {name: float(value) for name, value in re.findall(r"(\w+)=(\d+)", shape)}
    element = _ELEMENT_BYTE.get(precision, 4)
    if operator == "bmm":
        return gemm(size["B"], size["M"], size["N"], size["K"], element, "matmul")
    if operator == "linear":
        return gemm(1, size["B"] * size["M"], size["N"], size["K"], element, "linear")
    if operator == "conv":
        return _conv(size, element)
    elements = size["B"] * size["H"]
    if operator == "softmax":
        return vector("softmax", 5 * elements, 2 * elements * element, elements * element)
    if operator == "ln":
        return vector("norm", 8 * elements, (2 * elements + 2 * size["H"]) * element, elements * element)
    # `addu` and the like have a scalar as second operand; without the `u` they read two tensors.
    name = operator.removesuffix("u") if operator in ("addu", "mulu", "divu", "powu") else operator
    if name not in _ELEMENTWISE_FLOPS:
        return unknown()
    operands = 2 if operator in ("add", "mul", "div", "pow") else 1
    operator_class = "activation" if name in ("relu", "gelu", "tanh") else "elementwise"
    moved = (operands + 1) * elements * element
    return vector(operator_class, _ELEMENTWISE_FLOPS[name] * elements, moved, elements * element)


def _conv(size: dict[str, float], element_byte: float) -> Work:
    """Compute a square convolution as an implicit matrix product; bytes count each tensor once."""
    kernel, padding, stride = size["Kernel_Size"], size["Padding"], size["Stride"]
    out = math.floor((size["Input_Size"] + 2 * padding - kernel) / stride) + 1
    work = gemm(
        1, size["B"] * out * out, size["Output_Channel"], size["Input_Channel"] * kernel**2, element_byte, "conv"
    )
    read = size["B"] * size["Input_Channel"] * size["Input_Size"] ** 2
    weights = size["Output_Channel"] * size["Input_Channel"] * kernel**2
    work["traffic_byte"] = (read + weights + size["B"] * size["Output_Channel"] * out * out) * element_byte
    return work


def from_fx_node(
    op: str, target: str, input_shapes: str, output_shape: str | None, dtype: str | None, is_training: bool = False
) -> Work:
    """Compute the work of one `torch.fx` node from its input and output shapes.

    A node without a type is a Python value. The file does not state if a conversion changes
    anything; in these transformers it does not, and dropout runs only in training.
    """
    inputs = [tuple(shape) for shape in _literal(input_shapes) if isinstance(shape, (list, tuple))]
    output = cast("tuple[int, ...]", tuple(_literal(output_shape))) if output_shape else ()
    element = _ELEMENT_BYTE.get(
        {"torch.float32": "fp32", "torch.int64": "int64", "torch.bool": "bool"}.get(dtype or "", ""), 4
    )
    name = re.sub(r"^<(?:built-in )?(?:function|method) ([\w.]+).*", r"\1", target).split(".")[-1].lower()
    if dtype is None or op in ("placeholder", "output", "get_attr"):
        return vector("view", 0.0, 0.0, 0.0)
    if "drop" in (name if op != "call_module" else target.rsplit(".", 1)[-1]):
        return _dropout(output, element) if is_training else vector("view", 0.0, 0.0, 0.0)
    if op == "call_module":
        return _module(target.lower(), inputs, output, element)
    return _function(name, inputs, output, element)


def _dropout(output: tuple[int, ...], element: float) -> Work:
    """Count dropout in training: it reads, writes, and writes a mask of one byte an element."""
    elements = math.prod(output)
    return vector("elementwise", 2.0 * elements, (2 * element + 1) * elements, (element + 1) * elements)


def _module(path: str, inputs: list[tuple[int, ...]], output: tuple[int, ...], element: float) -> Work:
    """Compute the work of a module call, by its path and by a change of the last size."""
    elements, leaf = math.prod(output), path.split(".")[-1]
    if "norm" in leaf or leaf.startswith("ln_"):
        return vector("norm", 8.0 * elements, (2.0 * elements + 2 * output[-1]) * element, elements * element)
    if "embed" in leaf or leaf in ("wte", "wpe"):
        return vector("embedding", 0.0, 2.0 * elements * element, elements * element)
    if leaf in ("act", "intermediate_act_fn", "activation_fn", "activation", "transform_act_fn"):
        return vector("activation", 10.0 * elements, 2.0 * elements * element, elements * element)
    if inputs and len(inputs[0]) == len(output) and inputs[0][:-1] == output[:-1]:
        rows = math.prod(output[:-1])
        return gemm(1.0, float(rows), float(output[-1]), float(inputs[0][-1]), element, "linear")
    return unknown()


def _function(name: str, inputs: list[tuple[int, ...]], output: tuple[int, ...], element: float) -> Work:
    """Compute the work of a function or method call, by its name."""
    elements = math.prod(output)
    read = sum(math.prod(shape) for shape in inputs if len(shape) > 1 or (shape and shape[0] > 1))
    kind = _FX_CLASSES.get(name)
    # They copy only if heads were transposed before.
    moves = name in ("contiguous", "reshape") and bool(inputs) and len(inputs[0]) == 4
    if name in _FX_VIEWS and not moves:
        return vector("view", 0.0, 0.0, 0.0)
    if kind == "matmul" and len(inputs) > 1:
        return gemm(
            float(math.prod(output[:-2])), float(output[-2]), float(output[-1]), float(inputs[0][-1]), element, "matmul"
        )
    if name == "addmm" and len(inputs) > 2:
        return gemm(1.0, float(output[-2]), float(output[-1]), float(inputs[1][-1]), element, "linear")
    if kind == "softmax":
        return vector("softmax", 5.0 * elements, 2.0 * elements * element, elements * element)
    if kind == "embedding":
        return vector("embedding", 0.0, 2.0 * elements * element, elements * element)
    return vector(kind or "elementwise", float(elements), (read + elements) * element, elements * element)


def _literal(text: str | None) -> list[object]:
    """Parse a list or tuple from a text; empty without one. Raise `CharzError` for a text that is not a value."""
    if not text:
        return []
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError) as error:
        raise CharzError("not the sizes of a shape", text) from error
    return list(value) if isinstance(value, (list, tuple)) else []
