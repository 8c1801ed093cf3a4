"""Tables compiled at ingest from a model and the rules alone (fusion rules, precision policies,
allocation rules). Nothing here depends on a hardware, efficiency, energy, price or scenario row, so
none of it goes stale when one of those is edited. `model.rules_fingerprint` names the rules used.
"""

from __future__ import annotations

from typing import ClassVar

from .row import Row


class TensorPrecision(Row):
    """Element type of every tensor under a precision policy, by propagation along the graph."""

    TABLE: ClassVar[str] = "tensor_precision"
    KEY: ClassVar[tuple[str, ...]] = ("model_id", "policy", "tensor_id")

    model_id: int
    """Model it belongs to."""
    policy: str
    """Precision policy."""
    tensor_id: int
    """Tensor described."""
    precision: str
    """Element type in memory."""


class OperatorPrecision(Row):
    """Element type in which every operator computes under a precision policy."""

    TABLE: ClassVar[str] = "operator_precision"
    KEY: ClassVar[tuple[str, ...]] = ("model_id", "policy", "operator_id")

    model_id: int
    """Model it belongs to."""
    policy: str
    """Precision policy."""
    operator_id: int
    """Operator described."""
    precision: str
    """Element type of the arithmetic."""


class PrecisionCast(Row):
    """A conversion the policy inserts before an operator: of a weight once a run, of an activation once
    for each operator that reads it."""

    TABLE: ClassVar[str] = "precision_cast"
    KEY: ClassVar[tuple[str, ...]] = ("model_id", "policy", "cast_id")

    model_id: int
    """Model it belongs to."""
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


class ReadPrecision(Row):
    """Element type an operator reads of a tensor where it is a converted copy, not the original."""

    TABLE: ClassVar[str] = "read_precision"
    KEY: ClassVar[tuple[str, ...]] = ("model_id", "policy", "operator_id", "tensor_id")

    model_id: int
    """Model it belongs to."""
    policy: str
    """Precision policy."""
    operator_id: int
    """Operator that reads."""
    tensor_id: int
    """Tensor whose converted copy is read."""
    precision: str
    """Element type of the copy."""


class Subgraph(Row):
    """Operators that run as one kernel under a backend's fusion rules.

    Every operator that is not a view is in exactly one subgraph of each backend; a view belongs to
    the subgraph that follows it in execution order, where it costs host time only.
    """

    TABLE: ClassVar[str] = "subgraph"
    KEY: ClassVar[tuple[str, ...]] = ("model_id", "backend", "subgraph_id")

    model_id: int
    """Model it belongs to."""
    backend: str
    """Backend whose rules made it."""
    subgraph_id: int
    """Position in execution order within model and backend, from 0."""
    subgraph: str
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
    stage: int
    """Longest distance from an input in the graph of subgraphs."""


class SubgraphOperator(Row):
    """Membership of operators in subgraphs."""

    TABLE: ClassVar[str] = "subgraph_operator"
    KEY: ClassVar[tuple[str, ...]] = ("model_id", "backend", "operator_id")

    model_id: int
    """Model it belongs to."""
    backend: str
    """Backend whose rules made it."""
    operator_id: int
    """Operator."""
    subgraph_id: int
    """Subgraph it runs in."""
    is_folded: bool
    """True when the backend folds it into a neighbour's weights or computes it once for all runs, so
    that it costs nothing."""


class SubgraphTensor(Row):
    """A tensor that crosses a subgraph's border, hence moves; what stays inside does not."""

    TABLE: ClassVar[str] = "subgraph_tensor"
    KEY: ClassVar[tuple[str, ...]] = ("model_id", "backend", "subgraph_id", "tensor_id", "direction")

    model_id: int
    """Model it belongs to."""
    backend: str
    """Backend whose rules made it."""
    subgraph_id: int
    """Subgraph whose border it crosses."""
    tensor_id: int
    """Tensor that crosses; a view stands for the elements it shows."""
    direction: str
    """`read` or `write`."""
    role: str
    """`input` (activation or model input), `weight` (weight, buffer, constant), `kv_cache` or `output`."""
    operator_id: int
    """Operator inside the subgraph that reads it first or writes it."""
    is_produced: bool
    """True when another subgraph of the same run wrote it, so that a cache may still hold it."""
    is_wide: bool | None
    """True when the backend stores what it is worked out of, in single precision, in its place; null in files from
    before it was known: not."""


class SubgraphEdge(Row):
    """Dependency between two subgraphs of one backend: the fused graph, always acyclic."""

    TABLE: ClassVar[str] = "subgraph_edge"
    KEY: ClassVar[tuple[str, ...]] = (
        "model_id", "backend", "producer_subgraph_id", "consumer_subgraph_id",
    )  # fmt: skip

    model_id: int
    """Model it belongs to."""
    backend: str
    """Backend whose rules made it."""
    producer_subgraph_id: int
    """Subgraph that must finish first."""
    consumer_subgraph_id: int
    """Subgraph that waits for it."""


class PathSegment(Row):
    """Membership of subgraphs in the alternative paths between two cut nodes of the fused graph.

    The critical path is the sum over segments of the maximum over their paths. A segment with more
    than 64 paths is cut into levels instead: each subgraph of a level is a path of its own.
    """

    TABLE: ClassVar[str] = "path_segment"
    KEY: ClassVar[tuple[str, ...]] = ("model_id", "backend", "segment_id", "path_id", "subgraph_id")

    model_id: int
    """Model it belongs to."""
    backend: str
    """Backend whose rules made it."""
    segment_id: int
    """Segment between two cut nodes, in order."""
    path_id: int
    """Alternative path within the segment."""
    subgraph_id: int
    """Subgraph on that path."""
    is_exact: bool
    """False when the segment had too many paths and its levels stand in (an upper bound)."""


class TensorLifetime(Row):
    """From which to which subgraph a storage is held under a backend's rules."""

    TABLE: ClassVar[str] = "tensor_lifetime"
    KEY: ClassVar[tuple[str, ...]] = ("model_id", "backend", "tensor_id")

    model_id: int
    """Model it belongs to."""
    backend: str
    """Backend whose rules made it."""
    tensor_id: int
    """Storage (a tensor that is its own `storage_tensor_id`), weights and buffers excluded."""
    first_subgraph_id: int
    """Subgraph that allocates it; -1 for a model input."""
    last_subgraph_id: int
    """Last subgraph during which it is held."""
    block_tensor_id: int | None
    """Storage whose block of memory it lies in: its own, or one it takes over under a backend that plans memory; null in
    files from before it was known: its own."""


class HeapGrowth(Row):
    """Share of the memory that a run on a processor allocates for which the system hands out fresh pages, because
    `malloc` gave them back in the run before; blocks of 32 MiB and more, which are always fresh, aside."""

    TABLE: ClassVar[str] = "heap_growth"
    KEY: ClassVar[tuple[str, ...]] = ("model_id", "backend", "batch")

    model_id: int
    """Model it belongs to."""
    backend: str
    """Backend whose results are allocated."""
    batch: int
    """Samples from which on it holds, up to the next row."""
    growth_fraction: float
    """Bytes by which the heap grows in a run, as a share of the bytes of results and library calls."""
