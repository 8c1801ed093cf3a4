"""Tensors that cross the border of a kernel and hence move through memory."""

from __future__ import annotations

from dataclasses import dataclass

from .dataflow import Flow, nominal
from .fusion import Partition

Reader = tuple[int, bool, bool]
"""An operator that reads, and if another kernel wrote the tensor, and if it is stored in single precision."""


@dataclass(slots=True)
class Border:
    """Crossings of one partition, one position each in every list; see `schema.compiled.KernelTensor`."""

    kernel: list[int]
    tensor: list[int]
    direction: list[str]
    role: list[str]
    operator: list[int]
    is_produced: list[bool]
    is_wide: list[bool]

    def add(
        self, kernel: int, tensor: int, direction: str, role: str, operator: int, is_produced: bool, is_wide: bool
    ) -> None:
        """Append one crossing."""
        self.kernel.append(kernel)
        self.tensor.append(tensor)
        self.direction.append(direction)
        self.role.append(role)
        self.operator.append(operator)
        self.is_produced.append(is_produced)
        self.is_wide.append(is_wide)


def borders(flow: Flow, kernels: Partition, wide: set[int]) -> Border:
    """Return every tensor that a kernel reads from or writes for others, once a kernel and direction; results of the
    operators in `wide` are stored in single precision."""
    border = Border([], [], [], [], [], [], [])
    for kernel, inside in enumerate(kernels.members):
        _add_reads(flow, kernels, kernel, inside, wide, border)
        _add_writes(flow, kernels, kernel, inside, wide, border)
    return border


def _add_reads(flow: Flow, kernels: Partition, kernel: int, inside: list[int], wide: set[int], border: Border) -> None:
    kernel_of, tensors = kernels.kernel_of, flow.graph.tensors
    by_storage: dict[int, dict[int, Reader]] = {}
    for operator_id in inside:
        for tensor, sources in flow.reads[operator_id]:
            role = flow.role[tensor]
            if role == "weight" and operator_id in kernels.folded:
                continue
            comes_from_outside = not sources or any(kernel_of[s] != kernel for s in sources)
            if comes_from_outside or role == "kv_cache":
                found = by_storage.setdefault(tensors[tensor].storage_tensor_id, {})
                if tensor not in found or _moved(flow, operator_id, tensor) > _moved(flow, found[tensor][0], tensor):
                    is_produced = bool(sources) and role != "kv_cache"
                    found[tensor] = (operator_id, is_produced, not wide.isdisjoint(sources))
    for storage, found in by_storage.items():
        shown = found if len(found) == 1 else _without_overlap(flow, storage, found)
        for tensor, reader in shown.items():
            border.add(kernel, tensor, "read", flow.role[tensor], *reader)


def _moved(flow: Flow, operator_id: int, tensor: int) -> float:
    """Return the number of elements of a tensor that an operator moves at the nominal size."""
    access = flow.graph.operators[operator_id].accesses.get(tensor)
    return flow.size[tensor] if access is None else nominal(access)


def _without_overlap(flow: Flow, storage: int, found: dict[int, Reader]) -> dict[int, Reader]:
    """Return tensors that show a storage at most once: where several views show more elements
    than it has, only the largest of them, or the storage itself where none shows all."""
    if sum(_moved(flow, o, t) for t, (o, *_) in found.items()) <= flow.size[storage]:
        return found
    largest = max(found, key=lambda t: (_moved(flow, found[t][0], t), -t))
    shown = largest if flow.size[largest] >= flow.size[storage] else storage
    return {shown: found[largest]}


def _add_writes(flow: Flow, kernels: Partition, kernel: int, inside: list[int], wide: set[int], border: Border) -> None:
    kernel_of = kernels.kernel_of
    for operator_id in inside:
        for tensor, readers in flow.readers[operator_id].items():
            if flow.escapes[tensor] or any(kernel_of[r] != kernel for r in readers):
                border.add(kernel, tensor, "write", "output", operator_id, False, operator_id in wide)
