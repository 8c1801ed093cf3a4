"""Tables compiled at ingest from a model and the rules alone (fusion rules, precision policies,
allocation rules). Nothing here depends on a hardware, efficiency, energy, price or scenario row, so
none of it goes stale when one of those is edited. `model.rules_fingerprint` names the rules used.
"""

from __future__ import annotations

from typing import ClassVar

from .row import ModelRow


class TensorPrecision(ModelRow):
    """Element type of every tensor under a precision policy, by propagation along the graph."""

    TABLE: ClassVar[str] = "tensor_precision"
    KEY: ClassVar[tuple[str, ...]] = ("model", "policy", "tensor_id")

    policy: str
    """Precision policy."""
    tensor_id: int
    """Tensor described."""
    precision: str
    """Element type in memory."""


class OperatorPrecision(ModelRow):
    """Element type in which every operator computes under a precision policy; what the policy's version of the framework
    does not run has no row."""

    TABLE: ClassVar[str] = "operator_precision"
    KEY: ClassVar[tuple[str, ...]] = ("model", "policy", "operator_id")

    policy: str
    """Precision policy."""
    operator_id: int
    """Operator described."""
    precision: str
    """Element type of the arithmetic."""


class PrecisionCast(ModelRow):
    """A conversion the policy inserts before an operator: of a weight once a run, of an activation once
    for each operator that reads it."""

    TABLE: ClassVar[str] = "precision_cast"
    KEY: ClassVar[tuple[str, ...]] = ("model", "policy", "cast_id")

    policy: str
    """Precision policy."""
    cast_id: int
    """Key within model and policy, from 0."""
    tensor_id: int
    """Tensor converted."""
    operator_id: int
    """Operator that reads the converted copy, of a weight the first one."""
    from_precision: str
    """Element type read."""
    to_precision: str
    """Element type written."""


class ReadPrecision(ModelRow):
    """Element type an operator reads of a tensor where it is a converted copy, not the original."""

    TABLE: ClassVar[str] = "read_precision"
    KEY: ClassVar[tuple[str, ...]] = ("model", "policy", "operator_id", "tensor_id")

    policy: str
    """Precision policy."""
    operator_id: int
    """Operator that reads."""
    tensor_id: int
    """Tensor whose converted copy is read."""
    precision: str
    """Element type of the copy."""


class OperatorSplit(ModelRow):
    """What several devices make of an operator by tensor and expert parallel; one that is done by all of them has no row, but
    for those of experts."""

    TABLE: ClassVar[str] = "operator_split"
    KEY: ClassVar[tuple[str, ...]] = ("model", "operator_id")

    operator_id: int
    """Operator described."""
    split: str
    """`column` of a product or look-up of which each device makes some features, `row` of one that adds up partial results of
    all, `between` of what is split because its operands are, `whole` of what all devices do. Of a backward operator that of its
    forward."""
    collective: str | None
    """`all_reduce` or `all_gather` behind it in tensor parallel; null without one."""
    collective_tensor_id: int | None
    """Tensor that it adds up or collects."""
    is_expert: bool
    """True of what experts do, but for those that every token passes."""
    exchanged_tensor_id: int | None
    """Tensor that expert parallel sends to experts before it or back behind it; null without one."""
    pieces: int | None
    """Heads that its features come in, of which a device has some whole; null where features are split one by one."""
    fewer_pieces: int | None
    """Heads of keys that it makes or reads, where they are fewer than `pieces`; null where there are no fewer."""
    fewer_fraction: float
    """Part of its features that those make."""
    expert_count: int | None
    """Experts whose weights it reads; null where it reads none."""


class CacheSplit(ModelRow):
    """A cache of keys, values or states of which tensor parallel gives each device some heads; one that all devices keep whole,
    as the latents of an attention, has no row."""

    TABLE: ClassVar[str] = "cache_split"
    KEY: ClassVar[tuple[str, ...]] = ("model", "tensor_id")

    tensor_id: int
    """Cache."""
    pieces: int
    """Its heads or channels, of which a device keeps some whole."""


class Kernel(ModelRow):
    """Operators that run as one kernel under a backend's fusion rules.

    Every operator that is not a view is in exactly one kernel of each backend; a view belongs to
    the kernel that follows it in execution order, where it costs host time only.
    """

    TABLE: ClassVar[str] = "kernel"
    KEY: ClassVar[tuple[str, ...]] = ("model", "backend", "kernel_id")

    backend: str
    """Backend whose rules made it."""
    kernel_id: int
    """Position in execution order within model and backend, from 0."""
    kernel: str
    """Readable name: the classes it fuses, e.g. `conv+norm+activation`."""
    anchor_operator_id: int
    """Operator that gives it its character: its largest matrix operator, else its first reduction,
    normalization, pooling or the like, else its first operator."""
    kernel_class: str
    """Class of the anchor, by which efficiency is looked up."""
    operator_count: int
    """Operators it executes, views not counted."""
    view_count: int
    """Views dispatched by the host just before it."""
    is_prompt_only: bool
    """True where it works out what a decoder keeps of an encoder's result, which a step of one token does not."""
    stage: int
    """Longest distance from an input in the graph of kernels."""


class KernelOperator(ModelRow):
    """Membership of operators in kernels."""

    TABLE: ClassVar[str] = "kernel_operator"
    KEY: ClassVar[tuple[str, ...]] = ("model", "backend", "operator_id")

    backend: str
    """Backend whose rules made it."""
    operator_id: int
    """Operator."""
    kernel_id: int
    """Kernel it runs in."""
    is_folded: bool
    """True when the backend folds it into a neighbour's weights or computes it once for all runs, so
    that it costs nothing."""


class KernelTensor(ModelRow):
    """A tensor that crosses a kernel's border, hence moves; what stays inside does not."""

    TABLE: ClassVar[str] = "kernel_tensor"
    KEY: ClassVar[tuple[str, ...]] = ("model", "backend", "kernel_id", "tensor_id", "direction")

    backend: str
    """Backend whose rules made it."""
    kernel_id: int
    """Kernel whose border it crosses."""
    tensor_id: int
    """Tensor that crosses; a view stands for the elements it shows."""
    direction: str
    """`read` or `write`."""
    role: str
    """`input` (activation or model input), `weight` (weight, buffer, constant), `kv_cache` or `output`."""
    operator_id: int
    """Operator inside the kernel that reads it first or writes it."""
    is_produced: bool
    """True when another kernel of the same run wrote it, so that a cache may still hold it."""
    is_wide: bool
    """True when the backend stores what it is worked out of, in single precision, in its place."""


class KernelEdge(ModelRow):
    """Dependency between two kernels of one backend: the fused graph, always acyclic."""

    TABLE: ClassVar[str] = "kernel_edge"
    KEY: ClassVar[tuple[str, ...]] = (
        "model", "backend", "producer_kernel_id", "consumer_kernel_id",
    )  # fmt: skip

    backend: str
    """Backend whose rules made it."""
    producer_kernel_id: int
    """Kernel that must finish first."""
    consumer_kernel_id: int
    """Kernel that waits for it."""


class PathSegment(ModelRow):
    """Membership of kernels in the alternative paths between two cut nodes of the fused graph.

    The critical path is the sum over segments of the maximum over their paths. A segment with more
    than 64 paths is cut into levels instead: each kernel of a level is a path of its own.
    """

    TABLE: ClassVar[str] = "path_segment"
    KEY: ClassVar[tuple[str, ...]] = ("model", "backend", "segment_id", "path_id", "kernel_id")

    backend: str
    """Backend whose rules made it."""
    segment_id: int
    """Segment between two cut nodes, in order."""
    path_id: int
    """Alternative path within the segment."""
    kernel_id: int
    """Kernel on that path."""
    is_exact: bool
    """False when the segment had too many paths and its levels stand in (an upper bound)."""


class TensorLifetime(ModelRow):
    """From which to which kernel a storage is held under a backend's rules."""

    TABLE: ClassVar[str] = "tensor_lifetime"
    KEY: ClassVar[tuple[str, ...]] = ("model", "backend", "tensor_id")

    backend: str
    """Backend whose rules made it."""
    tensor_id: int
    """Storage (a tensor that is its own `storage_tensor_id`), weights and buffers excluded."""
    first_kernel_id: int
    """Kernel that allocates it; -1 for a model input."""
    last_kernel_id: int
    """Last kernel during which it is held."""
    block_tensor_id: int
    """Storage whose block of memory it lies in: its own, or one it takes over under a backend that plans memory."""
    is_prompt_only: bool
    """True of what `kernel.is_prompt_only` kernels alone make or are given."""


class HeapGrowth(ModelRow):
    """Share of the memory that a run on a processor allocates for which the system hands out fresh pages, because
    `malloc` gave them back in the run before; blocks of 32 MiB and more, which are always fresh, aside."""

    TABLE: ClassVar[str] = "heap_growth"
    KEY: ClassVar[tuple[str, ...]] = ("model", "backend", "batch")

    backend: str
    """Backend whose results are allocated."""
    batch: int
    """Samples from which on it holds, up to the next row."""
    growth_fraction: float
    """Bytes by which the heap grows in a run, as a share of the bytes of results and library calls."""
