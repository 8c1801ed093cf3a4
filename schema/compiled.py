"""Tables that ingest compiles from a model and the rules (fusion rules, precision policies, allocation rules).

They depend on no row of hardware, efficiency, energy, price or scenario, so an edit of one makes none of them stale.
`model.rules_fingerprint` names the rules used.
"""

from __future__ import annotations

from typing import ClassVar

from .row import ModelRow


class TensorPrecision(ModelRow):
    """Element type of every tensor under a precision policy, propagated along the graph."""

    TABLE: ClassVar[str] = "tensor_precision"
    KEY: ClassVar[tuple[str, ...]] = ("model", "policy", "tensor_id")

    policy: str
    """Precision policy."""
    tensor_id: int
    """Tensor described."""
    precision: str
    """Element type in memory."""


class OperatorPrecision(ModelRow):
    """Element type in which every operator computes under a precision policy; an operator that the policy's version of the framework does
    not run has no row."""

    TABLE: ClassVar[str] = "operator_precision"
    KEY: ClassVar[tuple[str, ...]] = ("model", "policy", "operator_id")

    policy: str
    """Precision policy."""
    operator_id: int
    """Operator described."""
    precision: str
    """Element type of the arithmetic."""


class PrecisionCast(ModelRow):
    """A conversion that the policy inserts before an operator: for a weight once per run, for an activation once per operator that reads
    it."""

    TABLE: ClassVar[str] = "precision_cast"
    KEY: ClassVar[tuple[str, ...]] = ("model", "policy", "cast_id")

    policy: str
    """Precision policy."""
    cast_id: int
    """Key within model and policy, from 0."""
    tensor_id: int
    """Tensor converted."""
    operator_id: int
    """Operator that reads the converted copy; for a weight, the first one."""
    from_precision: str
    """Element type read."""
    to_precision: str
    """Element type written."""


class ReadPrecision(ModelRow):
    """Element type of a tensor's converted copy, where an operator reads that instead of the original."""

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
    """The split of an operator over devices by tensor and expert parallelism. An operator that all devices run whole has no row, except
    experts."""

    TABLE: ClassVar[str] = "operator_split"
    KEY: ClassVar[tuple[str, ...]] = ("model", "operator_id")

    operator_id: int
    """Operator described."""
    split: str
    """`column` for a product or look-up of which each device computes some features, `row` if partial results of all devices are added,
    `between` if operands are split, `whole` if all devices compute it. A backward operator has the split of its forward."""
    collective: str | None
    """Collective after the operator in tensor parallelism, `all_reduce` or `all_gather`; null without one."""
    collective_tensor_id: int | None
    """Tensor that the collective adds up or collects."""
    is_expert: bool
    """True for operators of experts, except shared experts that every token passes."""
    exchanged_tensor_id: int | None
    """Tensor that expert parallelism sends to experts before the operator or back after it; null without one."""
    pieces: int | None
    """Number of heads that the operator's features form; a device gets whole heads. Null if features are split one by one."""
    fewer_pieces: int | None
    """Number of key heads that it makes or reads, if fewer than `pieces`; else null."""
    fewer_fraction: float
    """Share of the operator's features that those key heads make."""
    expert_count: int | None
    """Number of experts whose weights the operator reads; null if it reads none."""


class CacheSplit(ModelRow):
    """A cache of keys, values or states of which tensor parallelism gives each device some heads. A cache that all devices keep whole,
    such as the latents of an attention, has no row."""

    TABLE: ClassVar[str] = "cache_split"
    KEY: ClassVar[tuple[str, ...]] = ("model", "tensor_id")

    tensor_id: int
    """Tensor of the cache."""
    pieces: int
    """Number of its heads or channels; a device keeps whole ones."""


class Kernel(ModelRow):
    """Operators that run as one kernel under a backend's fusion rules.

    Every operator that is not a view is in exactly one kernel of each backend; a view belongs to
    the kernel that follows it in execution order, where it costs host time only.
    """

    TABLE: ClassVar[str] = "kernel"
    KEY: ClassVar[tuple[str, ...]] = ("model", "backend", "kernel_id")

    backend: str
    """Backend whose rules formed the kernel."""
    kernel_id: int
    """Position in execution order within model and backend, from 0."""
    kernel: str
    """Readable name: the classes of its operators, e.g. `conv+norm+activation`."""
    anchor_operator_id: int
    """Operator that characterizes the kernel: its largest matrix operator, else its first reduction, normalization or pooling, else its
    first operator."""
    kernel_class: str
    """Class of the anchor; efficiencies are looked up by it."""
    operator_count: int
    """Number of operators executed, without views."""
    view_count: int
    """Number of views that the host dispatches just before the kernel."""
    is_prompt_only: bool
    """True if it computes the part of an encoder's result that a decoder keeps; a step of one token does not run it."""
    stage: int
    """Longest distance from an input in the graph of kernels."""


class KernelOperator(ModelRow):
    """Membership of operators in kernels."""

    TABLE: ClassVar[str] = "kernel_operator"
    KEY: ClassVar[tuple[str, ...]] = ("model", "backend", "operator_id")

    backend: str
    """Backend whose rules formed the kernel."""
    operator_id: int
    """Operator."""
    kernel_id: int
    """Kernel that runs the operator."""
    is_folded: bool
    """True if the backend folds the operator into a neighbour's weights or computes it once for all runs, so that it costs nothing."""


class KernelTensor(ModelRow):
    """A tensor that crosses a kernel's border and therefore moves; tensors inside a kernel do not move."""

    TABLE: ClassVar[str] = "kernel_tensor"
    KEY: ClassVar[tuple[str, ...]] = ("model", "backend", "kernel_id", "tensor_id", "direction")

    backend: str
    """Backend whose rules formed the kernel."""
    kernel_id: int
    """Kernel whose border it crosses."""
    tensor_id: int
    """Tensor that crosses; a view represents the elements it shows."""
    direction: str
    """`read` or `write`."""
    role: str
    """`input` (activation or model input), `weight` (weight, buffer, constant), `kv_cache` or `output`."""
    operator_id: int
    """First operator of the kernel that reads it, or the one that writes it."""
    is_produced: bool
    """True if another kernel of the same run wrote it, so that a cache may still contain it."""
    is_wide: bool
    """True if the backend stores the tensor's single-precision source instead of the tensor."""


class KernelEdge(ModelRow):
    """Dependency between two kernels of one backend: the fused graph, always acyclic."""

    TABLE: ClassVar[str] = "kernel_edge"
    KEY: ClassVar[tuple[str, ...]] = (
        "model", "backend", "producer_kernel_id", "consumer_kernel_id",
    )  # fmt: skip

    backend: str
    """Backend whose rules formed the kernels."""
    producer_kernel_id: int
    """Kernel that must finish first."""
    consumer_kernel_id: int
    """Kernel that waits for it."""


class PathSegment(ModelRow):
    """Membership of kernels in the alternative paths between two cut nodes of the fused graph.

    The critical path is the sum over segments of the maximum over their paths. A segment with more than 64 paths is split into levels
    instead: each kernel of a level is its own path.
    """

    TABLE: ClassVar[str] = "path_segment"
    KEY: ClassVar[tuple[str, ...]] = ("model", "backend", "segment_id", "path_id", "kernel_id")

    backend: str
    """Backend whose rules formed the kernels."""
    segment_id: int
    """Number of the segment between two cut nodes, in order."""
    path_id: int
    """Number of the alternative path within the segment."""
    kernel_id: int
    """Kernel on that path."""
    is_exact: bool
    """False if the segment had too many paths and was split into levels (an upper bound)."""


class TensorLifetime(ModelRow):
    """The first and last kernel during which a storage is allocated under a backend's rules."""

    TABLE: ClassVar[str] = "tensor_lifetime"
    KEY: ClassVar[tuple[str, ...]] = ("model", "backend", "tensor_id")

    backend: str
    """Backend whose rules decide."""
    tensor_id: int
    """Storage (a tensor that is its own `storage_tensor_id`), weights and buffers excluded."""
    first_kernel_id: int
    """Kernel that allocates the storage; -1 for a model input."""
    last_kernel_id: int
    """Last kernel during which the storage is allocated."""
    block_tensor_id: int
    """Storage whose memory block it uses: its own, or one that it takes over under a backend that plans memory."""
    is_prompt_only: bool
    """True if only kernels with `kernel.is_prompt_only` make or receive the tensor."""


class HeapGrowth(ModelRow):
    """Share of a run's allocated memory on a processor that the system provides as fresh pages because `malloc` returned them in the run
    before. Blocks of 32 MiB and more are always fresh and excluded."""

    TABLE: ClassVar[str] = "heap_growth"
    KEY: ClassVar[tuple[str, ...]] = ("model", "backend", "batch")

    backend: str
    """Backend whose results are allocated."""
    batch: int
    """Smallest batch the row applies to, up to the next row's."""
    growth_fraction: float
    """Growth of the heap in a run, as a share of the bytes of results and library calls."""
