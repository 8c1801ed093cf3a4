"""Inputs as a user writes them: `B,3,224,224`, `tokens=B,S:int64`."""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch

from charz.schema.errors import CharzError

from ..graph import Powers
from ..trace.export import BATCH, SEQUENCE

TYPES = {
    "fp64": torch.float64, "fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
    "int64": torch.int64, "int32": torch.int32, "int16": torch.int16, "int8": torch.int8, "uint8": torch.uint8,
    "bool": torch.bool,
}  # fmt: skip

SYMBOLS: dict[str, tuple[Powers, int]] = {"B": (BATCH, 2), "S": (SEQUENCE, 128)}
"""Powers of the size and example value by letter."""


@dataclass(frozen=True, slots=True)
class Input:
    """An example tensor and its symbolic dimensions."""

    name: str | None
    """Name of forward's parameter, with the path within a nested one: `batch.image`."""
    tensor: torch.Tensor
    axes: dict[int, Powers]


def parse_input(text: str, batch: int | None = None, sequence: int | None = None) -> Input:
    """Read `[NAME=]DIM,DIM,...[:TYPE]`; a dimension is a number, B or S. Raise CharzError.

    A batch given as a number is fixed, not symbolic; a sequence sets only the example's length.
    """
    match = re.fullmatch(r"(?:([\w.]+)=)?([^:=]*)(?::(\w+))?", text.replace(" ", ""))
    if match is None:
        raise _unreadable(text)
    name, dims, kind = match.groups()
    if kind is not None and kind not in TYPES:
        raise CharzError("unknown element type", f"--input {text}", f"types: {', '.join(TYPES)}")
    shape: list[int] = []
    axes: dict[int, Powers] = {}
    for position, dim in enumerate(filter(None, dims.split(","))):
        if dim in SYMBOLS:
            powers, example = SYMBOLS[dim]
            fixed = batch if dim == "B" else sequence
            shape.append(fixed or example)
            if dim != "B" or batch is None:
                axes[position] = powers
        elif re.fullmatch("[0-9]{1,18}", dim):
            shape.append(int(dim))
        else:
            raise _unreadable(text)
    try:
        tensor = torch.empty(shape, dtype=TYPES[kind or "fp32"], device="meta")
    except RuntimeError as error:  # more bytes than an int64 can count
        raise _unreadable(text) from error
    return Input(name, tensor, axes)


def again(signature: str) -> tuple[str, ...]:
    """Return `model.input_signature` as `--input` options, or nothing where a size is neither a number nor B or S."""
    found = re.findall(r"([\w.]+): (\w+)\[([^\]]*)\]", signature)
    dims = [dim.strip() for _, _, shape in found for dim in shape.split(",")]
    if not all(dim in SYMBOLS or dim.isdecimal() for dim in dims) or not {kind for _, kind, _ in found} <= TYPES.keys():
        return ()
    return tuple(f"{name}={shape.replace(' ', '')}:{kind}" for name, kind, shape in found)


def _unreadable(text: str) -> CharzError:
    return CharzError("unreadable input", f"--input {text}", next="write e.g. B,3,224,224 or tokens=B,S:int64")
