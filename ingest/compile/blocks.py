"""Block of memory of each storage, under a backend that plans its memory.

Inductor's loops overwrite an operand of their size that nobody reads again; other kernels take the block of that size
that was freed last (`AllocateLine` and `FreeIfNotReusedLine` in torch/_inductor/codegen/wrapper.py, PyTorch 2.4; later
versions also weigh the peak). A convolution or attention is a call of ATen, which allocates its result itself; a
matrix product gets its result's block, never that of an operand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ..graph import Graph
from .fusion import Partition
from .lifetime import BEFORE_RUN, Lifetime
from .rules import Classes

Size = tuple[str, tuple[tuple[tuple[int, int, int], float], ...]]
"""Element type and size of a storage for every batch."""


def blocks(graph: Graph, partition: Partition, held: Mapping[int, Lifetime], classes: Classes) -> dict[int, int]:
    """Return the storage whose block each storage reuses, by tensor id; its own id where it gets a new block."""
    begun, ended = _by_kernel(held)
    size = {storage: _size(graph, storage) for storage in held}
    block = {storage: storage for storage in held}
    free: dict[Size, list[int]] = defaultdict(list)
    for kernel in range(partition.count):
        kernel_class = graph.operators[partition.anchor[kernel]].operator_class
        freed = [s for s in ended[kernel] if held[s][0] < kernel]
        for storage in begun[kernel]:
            if kernel_class in classes.allocating:
                continue
            over = next((s for s in freed if size[s] == size[storage]), None)
            if over is not None and kernel_class not in classes.matrix:
                freed.remove(over)
                block[storage] = block[over]
            elif free[size[storage]]:
                block[storage] = free[size[storage]].pop()
        for storage in (*freed, *(s for s in ended[kernel] if held[s][0] == kernel)):
            free[size[storage]].append(block[storage])
    return block


def _by_kernel(held: Mapping[int, Lifetime]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return the storages that each kernel is the first or the last to use, without the run's inputs."""
    begun: dict[int, list[int]] = defaultdict(list)
    ended: dict[int, list[int]] = defaultdict(list)
    for storage, (first, last) in sorted(held.items()):
        if first > BEFORE_RUN:
            begun[first].append(storage)
            ended[last].append(storage)
    return begun, ended


def _size(graph: Graph, storage: int) -> Size:
    tensor = graph.tensors[storage]
    return tensor.precision, tuple(sorted(tensor.elements.items()))
