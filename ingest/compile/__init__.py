"""Compiles a graph and the rules into tables: element types under every precision policy, and for every backend
its kernels, the tensors that cross their borders, their paths and lifetimes.

All values are plain lists and dictionaries, because this runs for every policy and backend of every model. Backends with equal
recipes are compiled once.
"""

from __future__ import annotations

from typing import Any

from charz.schema.compiled import (
    CacheSplit,
    HeapGrowth,
    Kernel,
    KernelEdge,
    KernelOperator,
    KernelTensor,
    OperatorPrecision,
    OperatorSplit,
    PathSegment,
    PrecisionCast,
    ReadPrecision,
    TensorLifetime,
    TensorPrecision,
)
from charz.schema.row import Row

from ..graph import Graph
from .blocks import blocks
from .borders import borders
from .dataflow import Flow, flow_of
from .fusion import Partition, partition
from .heap import growth
from .lifetime import lifetimes
from .paths import path_segments
from .precision import propagate
from .rules import Recipe, Rules
from .sharding import Kept, Split, splits
from .wide import stored_wide

Columns = dict[type[Row], dict[str, list[Any]]]
"""Column lists by row type, for every field except `model`, which the writer adds."""

NAMED_CLASSES = 6
"""Largest number of operator classes that a fused kernel's name lists; a name with more is shortened."""


def compile_graph(graph: Graph, rules: Rules, with_servers: bool = False) -> Columns:
    """Return the rows of all compiled tables for all policies and backends, including serving backends if asked."""
    flow = flow_of(graph, rules.classes)
    folding_flow = flow_of(graph, rules.classes, folds_constants=True) if any(rules.folds_norm.values()) else flow
    columns: Columns = {}
    split = splits(graph, rules.classes)
    made = {name: [getattr(s, name) for s in split.operators] for name in Split._fields}
    _extend(columns, OperatorSplit, len(split.operators), **made)
    kept = {name: [getattr(c, name) for c in split.caches] for name in Kept._fields}
    _extend(columns, CacheSplit, len(split.caches), **kept)
    for policy in rules.policies:
        _add_policy(columns, flow, policy, rules)
    compiled: dict[Recipe, Columns] = {}
    for backend in rules.folds_norm:
        if backend in rules.serves and not with_servers:
            continue
        run = rules.captures.get(backend, backend)
        recipe = rules.recipe(run)
        if recipe not in compiled:
            compiled[recipe] = _compiled(graph, folding_flow if rules.folds_norm[run] else flow, run, rules)
        for compiled_type, table in compiled[recipe].items():
            _extend(columns, compiled_type, len(next(iter(table.values()))), backend=backend, **table)
    return columns


def _compiled(graph: Graph, flow: Flow, backend: str, rules: Rules) -> Columns:
    """Return the rows of a backend, without its name."""
    columns: Columns = {}
    kernels = partition(flow, backend, rules.fusion[backend], rules.folds_norm[backend], backend in rules.serves)
    _add_kernels(columns, flow, kernels)
    _add_borders(columns, flow, kernels, backend in rules.stores_wide)
    _add_paths(columns, kernels)
    _add_memory(columns, graph, kernels, flow.constants, rules)
    return columns


def _extend(columns: Columns, row_type: type[Row], count: int, **values: Any) -> None:
    """Append `count` rows; a value that is not a list applies to all of them."""
    table = columns.setdefault(row_type, {})
    for name, value in values.items():
        table.setdefault(name, []).extend(value if isinstance(value, list) else [value] * count)


def _add_policy(columns: Columns, flow: Flow, policy: str, rules: Rules) -> None:
    types = propagate(flow, rules.policies[policy], rules)
    count = len(types.tensor)
    _extend(columns, TensorPrecision, count, policy=policy, tensor_id=list(range(count)), precision=types.tensor)
    run = [(o, precision) for o, precision in enumerate(types.operator) if precision]
    _extend(
        columns,
        OperatorPrecision,
        len(run),
        policy=policy,
        operator_id=[o for o, _ in run],
        precision=[precision for _, precision in run],
    )
    count = len(types.casts)
    _extend(
        columns,
        PrecisionCast,
        count,
        policy=policy,
        cast_id=list(range(count)),
        tensor_id=[c.tensor_id for c in types.casts],
        operator_id=[c.operator_id for c in types.casts],
        from_precision=[c.from_precision for c in types.casts],
        to_precision=[c.to_precision for c in types.casts],
    )
    _extend(
        columns,
        ReadPrecision,
        len(types.reads),
        policy=policy,
        operator_id=[r[0] for r in types.reads],
        tensor_id=[r[1] for r in types.reads],
        precision=[r[2] for r in types.reads],
    )


def _add_kernels(columns: Columns, flow: Flow, kernels: Partition) -> None:
    operators = flow.graph.operators
    _extend(
        columns,
        Kernel,
        kernels.count,
        kernel_id=list(range(kernels.count)),
        kernel=[name_of([operators[o].operator_class for o in inside]) for inside in kernels.members],
        anchor_operator_id=kernels.anchor,
        kernel_class=[operators[o].operator_class for o in kernels.anchor],
        operator_count=[len(inside) for inside in kernels.members],
        view_count=[len(inside) for inside in kernels.views],
        is_prompt_only=[all(operators[o].is_prompt_only for o in inside) for inside in kernels.members],
        stage=kernels.stage,
    )
    placed = [o for o, kernel in enumerate(kernels.kernel_of) if kernel >= 0]
    _extend(
        columns,
        KernelOperator,
        len(placed),
        operator_id=placed,
        kernel_id=[kernels.kernel_of[o] for o in placed],
        is_folded=[o in kernels.folded for o in placed],
    )
    _extend(
        columns,
        KernelEdge,
        len(kernels.edges),
        producer_kernel_id=[p for p, _ in kernels.edges],
        consumer_kernel_id=[c for _, c in kernels.edges],
    )


def _add_borders(columns: Columns, flow: Flow, kernels: Partition, stores_wide: bool) -> None:
    wide = stored_wide(flow, kernels.kernel_of.__getitem__) if stores_wide else set()
    border = borders(flow, kernels, wide)
    _extend(
        columns,
        KernelTensor,
        len(border.tensor),
        kernel_id=border.kernel,
        tensor_id=border.tensor,
        direction=border.direction,
        role=border.role,
        operator_id=border.operator,
        is_produced=border.is_produced,
        is_wide=border.is_wide,
    )


def _add_paths(columns: Columns, kernels: Partition) -> None:
    rows = path_segments(kernels)
    _extend(
        columns,
        PathSegment,
        len(rows),
        segment_id=[s[0] for s in rows],
        path_id=[s[1] for s in rows],
        kernel_id=[s[2] for s in rows],
        is_exact=[s[3] for s in rows],
    )


def _add_memory(columns: Columns, graph: Graph, kernels: Partition, constants: set[int], rules: Rules) -> None:
    held = lifetimes(graph, kernels, constants)
    block = (
        blocks(graph, kernels, held, rules.classes) if kernels.backend in rules.plans_memory else {s: s for s in held}
    )
    _extend(
        columns,
        TensorLifetime,
        len(held),
        tensor_id=list(held),
        first_kernel_id=[first for first, _ in held.values()],
        last_kernel_id=[last for _, last in held.values()],
        block_tensor_id=[block[storage] for storage in held],
        is_prompt_only=[_is_of_prompts(graph, storage) for storage in held],
    )
    if kernels.backend in rules.calls_aten:
        found = growth(graph, kernels, held, block, rules)
        _extend(
            columns,
            HeapGrowth,
            len(found),
            batch=[batch for batch, _ in found],
            growth_fraction=[fraction for _, fraction in found],
        )


def _is_of_prompts(graph: Graph, storage: int) -> bool:
    """Return True if a prompt-only operator makes a storage, or if only prompt-only operators read one that is given."""
    producer = graph.tensors[storage].producer_operator_id
    if producer is not None:
        return graph.operators[producer].is_prompt_only
    readers = [o for o in graph.operators if storage in o.reads] if any(o.is_prompt_only for o in graph.operators) else []
    return bool(readers) and all(o.is_prompt_only for o in readers)


def name_of(classes: list[str]) -> str:
    """Name a kernel by its classes in order, repeats counted, e.g. `conv+elementwise*2`.

    A name with more than `NAMED_CLASSES` classes is shortened and ends in the number of operators.
    """
    runs: list[list[Any]] = []
    for operator_class in classes:
        if runs and runs[-1][0] == operator_class:
            runs[-1][1] += 1
        else:
            runs.append([operator_class, 1])
    named = [c if count == 1 else f"{c}*{count}" for c, count in runs]
    if len(named) <= NAMED_CLASSES:
        return "+".join(named)
    return f"{'+'.join(named[:3])}+...+{named[-1]} ({len(classes)} operators)"
