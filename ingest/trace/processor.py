"""A model's weights as fake CPU tensors, for a forward that creates CPU tensors of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv


class Processor:
    """Fake CPU tensors, one for each meta tensor."""

    def __init__(self) -> None:
        self.mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
        self._made: dict[int, tuple[Tensor, Tensor]] = {}

    def __call__(self, value: Any) -> Any:
        """Return the fake of a meta tensor, always the same one; return any other value unchanged."""
        if not isinstance(value, Tensor) or value.device.type != "meta":
            return value
        known = self._made.get(id(value))
        if known is None:
            with self.mode:
                made: Tensor = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="cpu")
                if isinstance(value, nn.Parameter):
                    made = nn.Parameter(made, requires_grad=value.requires_grad)
            known = self._made[id(value)] = (value, made)
        return known[1]

    @contextlib.contextmanager
    def holding(self, module: nn.Module) -> Iterator[None]:
        """Replace a module's parameters, buffers and tensor attributes by CPU fakes within the context."""
        before: list[tuple[dict[str, Any], dict[str, Any]]] = []
        for child in module.modules():
            for values in (child._parameters, child._buffers, vars(child)):
                held = {name: value for name, value in values.items() if isinstance(value, Tensor)}
                before.append((values, held))
                values.update({name: self(value) for name, value in held.items()})
        try:
            yield
        finally:
            for values, held in before:
                values.update(held)
