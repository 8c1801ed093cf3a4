"""Views, copies, gathers and constants."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .registry import HOST, TENSOR, Step, as_floats, number, numbers, operator, tensor

TYPES = {
    1: torch.float32, 2: torch.uint8, 3: torch.int8, 5: torch.int16, 6: torch.int32, 7: torch.int64, 9: torch.bool,
    10: torch.float16, 11: torch.float64, 16: torch.bfloat16, 17: torch.float8_e4m3fn, 19: torch.float8_e5m2,
    21: torch.uint4, 22: torch.int4,
}  # fmt: skip
"""PyTorch types by `onnx.TensorProto` number."""

DEVICE = "meta"


@operator("Identity", "Dropout")
def same(_: Step, source: Tensor, *_rest: Any) -> Tensor:
    """Return the value unchanged."""
    return source


@operator("Cast")
def cast(step: Step, source: Tensor) -> Tensor:
    """Cast to another type."""
    return source.to(TYPES[step.get("to")])


@operator("CastLike")
def cast_like(_: Step, source: Any, like: Any) -> Any:
    """Cast to the type of another value; make host numbers floats if `like` is a floating-point tensor."""
    if isinstance(source, Tensor):
        return source.to(like.dtype) if isinstance(like, Tensor) else source
    return as_floats(source) if isinstance(like, Tensor) and like.is_floating_point() else source


@operator("Reshape")
def reshape(step: Step, source: Tensor, shape: Any) -> Tensor:
    """Reshape; a size of 0 keeps the source's size."""
    sizes = list(numbers(shape))
    if not step.get("allowzero"):
        sizes = [source.shape[i] if isinstance(n, int) and n == 0 else n for i, n in enumerate(sizes)]
    return source.reshape(sizes)


@operator("Flatten")
def flatten(step: Step, source: Tensor) -> Tensor:
    """Flatten to two dimensions."""
    axis = step.get("axis", 1)
    return source.flatten(1) if axis == 1 else source.flatten(axis).flatten(0, axis - 1)


@operator("Transpose")
def permute(step: Step, source: Tensor) -> Tensor:
    """Order the dimensions anew."""
    return source.permute(step.get("perm", list(reversed(range(source.dim())))))


@operator("Unsqueeze")
def unsqueeze(step: Step, source: Tensor, axes: Any = None) -> Tensor:
    """Insert dimensions of size one."""
    wanted = numbers(step.get("axes", axes))
    rank = source.dim() + len(wanted)
    for axis in sorted(a % rank for a in wanted):
        source = source.unsqueeze(axis)
    return source


@operator("Squeeze")
def squeeze(step: Step, source: Tensor, axes: Any = None) -> Tensor:
    """Remove dimensions of size one."""
    wanted = step.get("axes", axes)
    if wanted is None:
        return source.squeeze()
    for axis in sorted((a % source.dim() for a in numbers(wanted)), reverse=True):
        source = source.squeeze(axis)
    return source


@operator("Concat")
def concatenate(step: Step, *parts: Any) -> Tensor:
    """Join tensors along an axis."""
    like = next(p for p in parts if isinstance(p, Tensor))
    return torch.cat([tensor(p, like) for p in parts], step.get("axis"))


@operator("Split")
def split(step: Step, source: Tensor, sizes: Any = None) -> tuple[Tensor, ...]:
    """Split along an axis."""
    axis = step.get("axis", 0)
    sizes = step.get("split", sizes)
    if sizes is None:
        return tuple(torch.chunk(source, step.get("num_outputs", len(step.outputs)), axis))
    return tuple(torch.split(source, numbers(sizes), axis))


@operator("SplitToSequence")
def sequence(step: Step, source: Tensor, sizes: Any = None) -> tuple[tuple[Tensor, ...]]:
    """Split along an axis into a sequence; without sizes into parts of one, without the axis unless `keepdims`."""
    axis = step.get("axis", 0)
    if sizes is not None:
        return (tuple(torch.split(source, sizes, axis)),)
    return (tuple(torch.split(source, 1, axis) if step.get("keepdims", 1) else torch.unbind(source, axis)),)


@operator("SequenceConstruct")
def gathered(_: Step, *parts: Tensor) -> tuple[tuple[Tensor, ...]]:
    """Construct a sequence of tensors."""
    return (parts,)


@operator("SequenceAt", table=HOST)
def member(_: Step, values: tuple[Tensor, ...], position: Any) -> Tensor:
    """Pick one tensor of a sequence."""
    return values[number(position)]


@operator("ConcatFromSequence", table=HOST)
def joined(step: Step, values: tuple[Tensor, ...]) -> Tensor:
    """Join the tensors of a sequence along an existing or a new axis."""
    return (torch.stack if step.get("new_axis", 0) else torch.cat)(list(values), step.get("axis"))


@operator("Slice")
def part(
    step: Step, source: Tensor, start: Any = None, end: Any = None, axes: Any = None, strides: Any = None
) -> Tensor:
    """Take a slice along some axes."""
    starts, ends = numbers(step.get("starts", start)), numbers(step.get("ends", end))
    axes = step.get("axes", axes)
    along = numbers(axes) if axes is not None else list(range(len(starts)))
    steps = numbers(strides) if strides is not None else [1] * len(starts)
    for axis, low, high, stride in zip(along, starts, ends, steps, strict=True):
        if isinstance(stride, int) and stride < 0:
            source = source.flip(axis)
            continue
        source = torch.ops.aten.slice.Tensor(source, axis, low, high, stride)
    return source


@operator("Gather")
def gather(step: Step, source: Any, index: Any) -> Tensor:
    """Gather entries along one axis."""
    axis = step.get("axis", 0)
    if not isinstance(index, Tensor):
        if isinstance(index, list):
            return torch.index_select(source, axis, tensor(index, source))
        return source.select(axis, index)
    source = tensor(source, index)
    axis %= source.dim()
    if axis == 0 and source.dim() == 2:
        return functional.embedding(index, source)
    picked = torch.index_select(source, axis, index.reshape(-1))
    return picked.reshape([*source.shape[:axis], *index.shape, *source.shape[axis + 1 :]])


@operator("GatherElements")
def gather_elements(step: Step, source: Tensor, index: Tensor) -> Tensor:
    """Gather elements by their indices along one axis."""
    return torch.gather(source, step.get("axis", 0), index)


@operator("GatherND")
def gather_points(_: Step, source: Tensor, index: Tensor) -> Tensor:
    """Gather elements by their indices along the first axes."""
    return source[tuple(index[..., i] for i in range(index.shape[-1]))]


@operator("ScatterND")
def scatter_points(_: Step, source: Tensor, index: Any, values: Tensor) -> Tensor:
    """Write values over the elements at indices."""
    places = tensor(index, source)
    if places.dtype != torch.int64 or places.dim() == 0:
        places = places.reshape(-1, 1).to(torch.int64)
    return source.index_put(tuple(places[..., i] for i in range(places.shape[-1])), values)


@operator("ScatterElements")
def scatter(step: Step, source: Tensor, index: Tensor, values: Tensor) -> Tensor:
    """Write values over the elements at indices along one axis."""
    return torch.scatter(source, step.get("axis", 0), index, values)


@operator("TensorScatter")
def kept(step: Step, past: Tensor, update: Tensor, _places: Any = None) -> Tensor:
    """Write new entries into a cache, at its beginning."""
    axis = step.get("axis", -2)
    return torch.slice_scatter(past, update, axis, 0, update.shape[axis])


@operator("Expand")
def expand(_: Step, source: Any, shape: Any) -> Tensor:
    """Expand dimensions of size one as a view."""
    sizes = numbers(shape)
    source = source if isinstance(source, Tensor) else _filled([], source)
    missing = len(sizes) - source.dim()
    own = [1] * missing + list(source.shape)
    return source.expand([o if isinstance(n, int) and n == 1 else n for o, n in zip(own, sizes, strict=True)])


@operator("Expand", table=HOST)
def repeated(_: Step, value: Any, shape: Any) -> Any:
    """Repeat a vector of one integer; fill a tensor with any other number."""
    sizes = numbers(shape)
    if len(sizes) > 1 or not all(isinstance(n, int) for n in [*numbers(value), *sizes]):
        return _filled(sizes, number(value))
    count = max(number(sizes), len(numbers(value)))
    return numbers(value) * count if len(numbers(value)) == 1 else value


@operator("Tile")
def tile(_: Step, source: Tensor, repeats: Any) -> Tensor:
    """Repeat as a copy."""
    return source.repeat(numbers(repeats))


@operator("Pad")
def pad(step: Step, source: Tensor, pads: Any = None, value: Any = None, axes: Any = None) -> Tensor:
    """Pad; a negative width cuts off."""
    widths = numbers(step.get("pads", pads))
    count = len(widths) // 2
    along = [a % source.dim() for a in numbers(axes)] if axes is not None else list(range(source.dim()))
    by_axis = {axis: (widths[i], widths[i + count]) for i, axis in enumerate(along)}
    first = min((axis for axis, pair in by_axis.items() if pair != (0, 0)), default=source.dim())
    around = [side for axis in reversed(range(first, source.dim())) for side in by_axis.get(axis, (0, 0))]
    if not around:
        return source
    modes = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}
    filling = 0.0 if value is None or isinstance(value, Tensor) else number(value)
    return functional.pad(source, around, modes[step.get("mode", "constant")], filling)


def _filled(shape: Any, value: Any) -> Tensor:
    kind = torch.bool if isinstance(value, bool) else torch.int64 if isinstance(value, int) else torch.float32
    return torch.full(numbers(shape) if shape != [] else [], value, dtype=kind, device=DEVICE)


@operator("ConstantOfShape", table=HOST)
def filled(step: Step, shape: Any) -> Any:
    """Fill a tensor with one value; return integers of one dimension as a host vector."""
    value = number(step.get("value", 0.0))
    if len(numbers(shape)) == 1 and isinstance(number(shape), int) and not isinstance(value, float):
        return [value] * number(shape)
    return _filled(shape, value)


@operator("Range", table=HOST)
def counting(_: Step, start: Any, end: Any, stride: Any) -> Tensor:
    """Return numbers from start to end by a stride."""
    return torch.arange(start, end, stride, device=DEVICE)


@operator("Trilu")
def triangle(step: Step, source: Tensor, offset: Any = None) -> Tensor:
    """Keep the upper or the lower triangle."""
    return (torch.triu if step.get("upper", 1) else torch.tril)(source, 0 if offset is None else number(offset))


@operator("OneHot")
def one_hot(_: Step, index: Tensor, depth: Any, _values: Any = None) -> Tensor:
    """Encode indices as one-hot vectors."""
    return functional.one_hot(index, number(depth))


@operator("NonZero")
def positions(_: Step, mask: Tensor) -> Tensor:
    """Return the positions at which a mask is true, one column each."""
    return mask.nonzero().t()


TENSOR["Expand"] = expand
