"""First and last kernel that need each storage, under the rules by which a backend frees memory.

A compiled backend frees a buffer after its last reader, and never allocates what stays inside a
kernel. Eager PyTorch frees a tensor when Python drops the last reference: a module
call keeps its arguments until it returns, whatever its frame reassigns meanwhile, and a
local variable keeps its value until it is rebound or its function returns. Tracing records these
times; where it did not, only the arguments of module calls live longer than their last reader. The
engine that runs a backward pass is not Python: it frees what it has read. Gradients of weights live
throughout, because steps add them up over micro batches or in buckets of replicas. Weights,
buffers and constants are resident and have no lifetime here. Neither has a key-value cache, whose
keys and values of this run live as ordinary activations.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

from ..graph import GRADIENT, Graph, GraphOperator
from .rules import EAGER

if TYPE_CHECKING:
    from .fusion import Partition

BEFORE_RUN = -1
"""First kernel of a storage allocated before the run: a model input, or a result computed once for all runs."""

RESIDENT_ROLES = frozenset({"weight", "buffer", "constant", "kv_cache"})
"""Roles of tensors that stay in memory throughout."""

Lifetime = tuple[int, int]


def lifetimes(graph: Graph, partition: Partition, constants: Container[int] = ()) -> dict[int, Lifetime]:
    """Return the first and last kernel of every storage that is allocated, by tensor id of the storage.

    `constants` are operators computed once, before any run: those of their results that others read live for good.
    """
    if not partition.count:
        return {}
    storage_of = _storages(graph)
    end = partition.count - 1
    is_eager = partition.backend == EAGER
    held: dict[int, Lifetime] = {}

    def hold(tensor_id: int, first: int, last: int) -> None:
        storage = storage_of[tensor_id]
        known = held.get(storage)
        held[storage] = (first, last) if known is None else (min(known[0], first), max(known[1], last))

    for operator in graph.operators:
        if not operator.is_view and operator.operator_id not in constants:
            kernel = partition.kernel_of[operator.operator_id]
            for tensor_id in (*operator.reads, *operator.writes):
                if graph.tensors[storage_of[tensor_id]].producer_operator_id in constants:
                    hold(tensor_id, BEFORE_RUN, end)
                else:
                    hold(tensor_id, kernel, kernel)
    escaping = {storage_of[tensor.tensor_id] for tensor in graph.tensors if tensor.is_output}
    for tensor in graph.tensors:
        if tensor.role == "input" or (tensor.role == GRADIENT and storage_of[tensor.tensor_id] in held):
            hold(tensor.tensor_id, BEFORE_RUN, end)
        elif tensor.is_output and storage_of[tensor.tensor_id] in held:
            hold(tensor.tensor_id, end, end)
    if is_eager:
        last_kernel = _last_kernels(graph.operators, partition.kernel_of)
        for tensor_id, last_operator in _held_by_python(graph):
            if storage_of[tensor_id] in held:
                hold(tensor_id, last_kernel[last_operator], last_kernel[last_operator])
    return {
        storage: (first, last)
        for storage, (first, last) in held.items()
        if graph.tensors[storage].role not in RESIDENT_ROLES and (is_eager or first != last or storage in escaping)
    }


def _storages(graph: Graph) -> list[int]:
    """Return the storage of each tensor; for a key-value cache entry, that of the key or value just computed."""
    storage_of = [tensor.storage_tensor_id for tensor in graph.tensors]
    for operator in graph.operators:
        for written in operator.writes:
            if graph.tensors[written].role == "kv_cache" and operator.reads:
                storage_of[written] = storage_of[operator.reads[0]]
            elif operator.is_view and storage_of[written] != written:
                storage_of[written] = storage_of[storage_of[written]]
    return storage_of


def _held_by_python(graph: Graph) -> Iterable[tuple[int, int]]:
    """Yield (tensor, last operator) for each activation that Python may keep after its last reader."""
    for tensor in graph.tensors:
        if tensor.held_operator_id is not None:
            yield tensor.tensor_id, tensor.held_operator_id
    for tensor_id, last_operator in _held_arguments(graph):
        if graph.tensors[tensor_id].held_operator_id is None:
            yield tensor_id, last_operator


def _held_arguments(graph: Graph) -> Iterable[tuple[int, int]]:
    """Yield (tensor, last operator) for each activation that a module call keeps as its argument.

    A tensor made outside a call and read inside it was passed to the outermost such call. Autograd calls no modules: a
    tensor that the backward pass reads is freed after its last reader.
    """
    chains = _module_chains(graph)
    starts, ends = _call_extents([chains[operator.module_id] for operator in graph.operators])
    for operator in graph.operators:
        if operator.is_backward and not operator.is_repeated:
            continue
        i = operator.operator_id
        for tensor_id in operator.reads:
            producer = graph.tensors[tensor_id].producer_operator_id
            if producer is None:
                continue
            for start, end in zip(starts[i], ends[i], strict=True):
                if producer < start:
                    yield tensor_id, end
                    break


def _module_chains(graph: Graph) -> dict[int, tuple[int, ...]]:
    """Return the module ids from the root to each module."""
    chains: dict[int, tuple[int, ...]] = {}
    for module in sorted(graph.modules, key=lambda m: m.depth):
        parent = module.parent_module_id
        above = chains.get(parent, ()) if parent is not None else ()
        chains[module.module_id] = (*above, module.module_id)
    return chains


def _call_extents(chains: list[tuple[int, ...]]) -> tuple[list[list[int]], list[list[int]]]:
    """Return the first and last operator of each module call that contains an operator, outermost call first."""
    starts = _call_starts(chains)
    last = len(chains) - 1
    mirrored = _call_starts(chains[::-1])
    ends = [[last - start for start in row] for row in mirrored[::-1]]
    return starts, ends


def _call_starts(chains: list[tuple[int, ...]]) -> list[list[int]]:
    starts: list[list[int]] = []
    for i, chain in enumerate(chains):
        row = [i] * len(chain)
        if i:
            for depth, (module, previous) in enumerate(zip(chain, chains[i - 1], strict=False)):
                if module != previous:
                    break
                row[depth] = starts[i - 1][depth]
        starts.append(row)
    return starts


def _last_kernels(operators: Sequence[GraphOperator], kernel_of: Sequence[int]) -> list[int]:
    """Return, for each operator, the kernel of the last operator so far that is not a view."""
    last: list[int] = []
    for operator in operators:
        if operator.is_view and last:
            last.append(last[-1])
        else:
            last.append(kernel_of[operator.operator_id])
    return last
