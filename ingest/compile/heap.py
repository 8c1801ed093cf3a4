"""Share of a run's memory on a CPU that the system must hand out page by page.

glibc's `malloc` returns the top of its heap to the system when the free top exceeds twice the largest block freed
so far (`trim_threshold` follows `mmap_threshold`, mallopt(3)). Returned memory comes again as fresh pages, at half a
microsecond each 4 KiB: a quarter of ResNet-50's time in one run, and nothing in the next network of the same size. The
simulation plays a run twice, kernel by kernel, and counts the second time. It assumes that the heap has no holes. Blocks
of 32 MiB and more never lie in the heap (`DEFAULT_MMAP_THRESHOLD_MAX`).
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from ..graph import Graph, GraphOperator, Polynomial, evaluate
from .dataflow import NOMINAL_SIZES
from .fusion import Partition
from .lifetime import BEFORE_RUN, Lifetime
from .rules import Rules

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Batches at which a run is simulated."""

LARGEST_BYTE = 32 * 2**20
"""Size from which `malloc` maps each block separately. [byte]"""

LEAST_BYTE = 128 * 2**10
"""Threshold before the first free (`DEFAULT_MMAP_THRESHOLD`). [byte]"""

TOP_PAD_BYTE = 128 * 2**10
"""Excess of each request of `malloc` over its need (`M_TOP_PAD`): with it, two free blocks of the largest size suffice
for a trim. [byte]"""

NATIVE_ELEMENTS = 20480
"""Elements of the input up to which PyTorch convolves one sample without oneDNN (`use_mkldnn` in Convolution.cpp)."""

BLOCK_CHANNELS = 16
"""Channels of a block in oneDNN, which reads images of fewer channels without reordering."""


@dataclass(slots=True)
class Block:
    """Memory kept from the first to the last kernel."""

    first: int
    last: int
    byte: float


@dataclass(slots=True)
class Call:
    """A convolution's library call, with its quantities at one batch."""

    kernel: int
    operator: GraphOperator
    quantity: dict[str, float]


def growth(
    graph: Graph,
    partition: Partition,
    held: Mapping[int, Lifetime],
    block: Mapping[int, int],
    rules: Rules,
) -> list[tuple[int, float]]:
    """Return pairs of a batch and the heap's growth, as a share of the bytes of results and library calls, for each batch
    at which that share rises. The share never falls, so that a larger batch is never faster, except from one sample that
    ATen misreads to two samples that it reads correctly."""
    found: list[tuple[int, float]] = []
    bits, convolutions = rules.bits, rules.classes.convolution
    plans_layout = partition.backend in rules.plans_layout
    is_misread = plans_layout and any(
        _is_misread(graph, call) for call in convolution_calls(graph, partition, 1, convolutions)
    )
    for batch in BATCHES:
        calls = convolution_calls(graph, partition, batch, convolutions)
        called = scratch(graph, calls, bits, batch, plans_layout)
        reordered = _channels_last(graph, calls, bits, batch) if plans_layout else []
        counted = [*_results(graph, held, block, bits, batch), *called]
        grown = heap_growth([b for b in (*counted, *reordered) if b.byte < LARGEST_BYTE], partition.count)
        allocated = sum(b.byte for b in counted if b.byte < LARGEST_BYTE)
        fraction = grown / allocated if allocated else 0.0
        if not found or fraction > found[-1][1] or (batch == 2 and is_misread):
            found.append((batch, fraction))
    return found


def heap_growth(small: list[Block], count: int) -> float:
    """Return the heap's growth in the second of two equal runs. [byte]"""
    taken, given = [0.0] * count, [0.0] * count
    for b in small:
        taken[b.first] += b.byte
        given[b.last] += b.byte
    trim_byte = 2 * max([LEAST_BYTE, *(b.byte for b in small)]) - TOP_PAD_BYTE
    in_use = end = 0.0
    for _ in range(2):
        grown = 0.0
        for more, less in zip(taken, given, strict=True):
            in_use += more
            grown += max(0.0, in_use - end)
            end = max(end, in_use)
            in_use -= less
            if end - in_use >= trim_byte:
                end = in_use
    return grown


def _results(
    graph: Graph, held: Mapping[int, Lifetime], block: Mapping[int, int], bits: Mapping[str, float], batch: int
) -> list[Block]:
    """Return the blocks that kernels pass to each other; the run's inputs belong to the caller."""
    found: dict[int, Block] = {}
    for storage, (first, last) in held.items():
        if first <= BEFORE_RUN:
            continue
        tensor = graph.tensors[storage]
        known = found.setdefault(block[storage], Block(first, last, 0.0))
        known.first, known.last = min(known.first, first), max(known.last, last)
        known.byte = max(known.byte, _value(tensor.elements, batch) * bits[tensor.precision] / 8)
    return list(found.values())


def scratch(
    graph: Graph, calls: Sequence[Call], bits: Mapping[str, float], batch: int, plans_layout: bool
) -> list[Block]:
    """Return the scratch of each convolution: the columns of a small image, or its weights in oneDNN's order, and in nchw
    also the image in blocks of channels; the source is freed before the result is copied back."""
    found = []
    layouts = {} if plans_layout else graph.layouts.get("nchw", {})
    for call in calls:
        operator, quantity = call.operator, call.quantity
        image = quantity.get("image", inf)
        if quantity.get("samples") == 1 and image <= NATIVE_ELEMENTS:
            columns = quantity["m"] * quantity["k"]
            byte = 0.0 if columns == image else columns * 4.0
        else:
            byte = _byte(graph, operator.reads[1], bits, batch)
            is_misread = plans_layout and batch == 1 and _is_misread(graph, call)
            if is_misread or (not plans_layout and layouts.get(operator.operator_id, "nchw") == "nchw"):
                is_narrow = quantity.get("k", inf) < BLOCK_CHANNELS * quantity.get("taps", 0.0)
                blocked = 0.0 if is_narrow else _byte(graph, operator.reads[0], bits, batch)
                byte = max(byte + blocked, _byte(graph, operator.writes[0], bits, batch))
            if is_misread:
                byte += _byte(graph, operator.reads[0], bits, batch)
        found.append(Block(call.kernel, call.kernel, byte))
    return found


def _is_misread(graph: Graph, call: Call) -> bool:
    """Return True where one sample comes as a view, whose batch stride of 0 from inductor hides from ATen that it is
    channels-last, with weights that are channels-last and nchw at once: ATen first copies it to nchw."""
    image = graph.tensors[call.operator.reads[0]]
    is_view = image.is_batch_first and image.shape != graph.tensors[image.storage_tensor_id].shape
    return is_view and graph.planned_format == "nhwc" and call.quantity.get("taps", 1.0) == 1


def _channels_last(graph: Graph, calls: Sequence[Call], bits: Mapping[str, float], batch: int) -> list[Block]:
    """Return the weights of several taps in channels-last, where a backend plans images so: weights of one size share a block
    from the first such convolution to the last."""
    found: dict[float, Block] = {}
    for call in calls:
        if call.quantity.get("taps", 1.0) > 1:
            byte = _byte(graph, call.operator.reads[1], bits, batch)
            found.setdefault(byte, Block(call.kernel, call.kernel, byte)).last = call.kernel
    return list(found.values())


def convolution_calls(graph: Graph, partition: Partition, batch: int, convolutions: Container[str]) -> list[Call]:
    """List the convolutions that are kernels, in order, with their sizes at a batch; `convolutions` are classes."""
    anchors = ((kernel, graph.operators[anchor]) for kernel, anchor in enumerate(partition.anchor))
    return [
        Call(s, o, {name: _value(p, batch) for step in o.steps for name, p in step.quantities.items()})
        for s, o in anchors
        if o.operator_class in convolutions and len(o.reads) > 1
    ]


def _byte(graph: Graph, tensor_id: int, bits: Mapping[str, float], batch: int) -> float:
    tensor = graph.tensors[tensor_id]
    return _value(tensor.elements, batch) * bits[tensor.precision] / 8


def _value(polynomial: Polynomial, batch: int) -> float:
    return evaluate(polynomial, batch, *NOMINAL_SIZES[1:])
