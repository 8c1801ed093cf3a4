"""What a real run on this processor multiplies and holds, seen from PyTorch's dispatcher alone."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten


def _convolution(result: Tensor, source: Tensor, weight: Tensor, *rest: Any) -> int:
    is_transposed = rest[4]
    positions = source if is_transposed else result
    return positions.numel() * (weight.numel() // weight.shape[0])


def _attention(_: Any, query: Tensor, key: Tensor, value: Tensor, *_rest: Any) -> int:
    groups = math.prod(query.shape[:-2])
    return groups * query.shape[-2] * key.shape[-2] * (query.shape[-1] + value.shape[-1])


def _recurrent(_: Any, source: Tensor, w_input: Tensor, w_hidden: Tensor, *_rest: Any) -> int:
    return math.prod(source.shape[:-1]) * (w_input.numel() + w_hidden.numel())


MACS: dict[Any, Callable[..., int]] = {
    aten.mm: lambda _, a, b, *r: a.numel() * b.shape[-1],
    aten.bmm: lambda _, a, b, *r: a.numel() * b.shape[-1],
    aten.addmm: lambda _, c, a, b, *r: a.numel() * b.shape[-1],
    aten.baddbmm: lambda _, c, a, b, *r: a.numel() * b.shape[-1],
    aten.addbmm: lambda _, c, a, b, *r: a.numel() * b.shape[-1],
    aten.linear: lambda _, a, b, *r: a.numel() * b.shape[0],  # whole only within torch.cond
    aten._addmm_activation: lambda _, c, a, b, *r: a.numel() * b.shape[-1],
    aten._grouped_mm: lambda _, a, b, *r: a.numel() * b.shape[-1],
    aten.mv: lambda _, a, b: a.numel(),
    aten.addmv: lambda _, c, a, b, *r: a.numel(),
    aten.dot: lambda _, a, b: a.numel(),
    aten.convolution: _convolution,
    aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    aten.mkldnn_rnn_layer: _recurrent,
}
"""Multiply-accumulates of a call, from its result and its arguments; of complex numbers one a product."""


class Counter(TorchDispatchMode):
    """Adds up the multiply-accumulates of what runs within it, and the bytes of the storages that are alive."""

    supports_higher_order_operators = True

    def __init__(self, held: set[int]) -> None:
        super().__init__()
        self.macs = 0
        self.byte = 0
        self.peak_byte = 0
        self._known = held
        """Storages that are not counted, or counted already, by address."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.higher_order.cond:
            predicate, yes, no, operands = args
            with self:
                return (yes if predicate else no)(*operands)
        result = func(*args, **(kwargs or {}))
        if count := MACS.get(func.overloadpacket):
            self.macs += count(result, *args)
        for tensor in tensors(result):
            self.hold(tensor)
        return result

    def hold(self, tensor: Tensor) -> None:
        """Count a tensor's storage from now until nothing shows it."""
        storage = tensor.untyped_storage()
        address = storage._cdata
        if address in self._known:
            return
        self._known.add(address)
        self.byte += storage.nbytes()
        self.peak_byte = max(self.peak_byte, self.byte)
        weakref.finalize(storage, self._drop, address, storage.nbytes()).atexit = False

    def _drop(self, address: int, byte: int) -> None:
        self._known.discard(address)
        self.byte -= byte


def run(module: nn.Module, given: dict[str, Any]) -> Counter:
    """Multiply-accumulates of one run, and the most bytes of inputs and activations that it holds at once."""
    resident = [t.untyped_storage() for t in (*module.parameters(), *module.buffers())]
    counter = Counter({storage._cdata for storage in resident})
    for tensor in tensors(given):
        counter.hold(tensor)
    with torch.no_grad(), counter:
        module(**given)
    return counter


def tracked_byte(module: nn.Module, given: dict[str, Any]) -> float:
    """What `Counter.peak_byte` is, as PyTorch's own tracker reports it. [byte]

    It wants every parameter to have a gradient and every input of a module to be a plain tensor, so it fails on some.
    """
    from torch.distributed._tools.mem_tracker import MemTracker

    tracker = MemTracker()
    tracker.track_external(module, *tensors(given))
    with torch.no_grad(), tracker:
        module(**given)
    peak = next(iter(tracker.get_tracker_snapshot("peak").values()))
    counted = {str(kind).rsplit(".", 1)[-1]: size for kind, size in peak.items()}
    return float(counted["ACT"] + counted["OTH"] + counted.get("TEMP", 0))


def tensors(given: Any) -> list[Tensor]:
    """Tensors of an input, however it is nested."""
    if isinstance(given, Tensor):
        return [given]
    if isinstance(given, (dict, list, tuple)):
        return [t for item in (given.values() if isinstance(given, dict) else given) for t in tensors(item)]
    return [t for item in vars(given).values() for t in tensors(item)] if hasattr(given, "__dict__") else []


def parameters(module: nn.Module) -> int:
    """Elements of all parameters, shared ones once."""
    return sum(p.numel() for p in module.parameters())
