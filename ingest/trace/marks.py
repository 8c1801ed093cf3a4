"""Marks that follow from a whole graph: stages, numbers of operators, logits, prompts, and limits of windows."""

from __future__ import annotations

from collections.abc import Iterable

from ..graph import Graph, GraphOperator

CROSSED = "charz.kv_crossed.default"
"""Keys or values of an encoder's result, which a decoder caches unchanged."""

LIFTED = "lifted_tensor"
"""The tracer's name for a constant that a forward makes."""


def number_names(graph: Graph) -> None:
    """Number the constants that forwards make, and operators of the same name from the second on, with their results."""
    for number, constant in enumerate(t for t in graph.tensors if t.tensor == LIFTED):
        constant.tensor = f"{LIFTED}_{number}"
    counts: dict[str, int] = {}
    for operator in graph.operators:
        kind = operator.operator
        count = counts[kind] = counts.get(kind, -1) + 1
        operator.operator = f"{kind}_{count}" if count else kind
        for written in operator.writes:
            tensor = graph.tensors[written]
            tensor.tensor = operator.operator + tensor.tensor[len(kind) :]


def mark_logits(graph: Graph) -> None:
    """Mark the last linear layer of a graph with a key-value cache, and its dependent operators up to a result of the model:
    they compute each token separately."""
    if not graph.keeps_tokens:
        return
    heads = [o.operator_id for o in graph.operators if o.operator_class == "linear"]
    if not heads:
        return
    made = {heads[-1]}
    for operator in graph.operators[heads[-1] + 1 :]:
        if any(graph.tensors[t].producer_operator_id in made for t in operator.reads):
            made.add(operator.operator_id)
    if any(graph.tensors[t].is_output for o in made for t in graph.operators[o].writes):
        graph.logit_operators = frozenset(made)
        head = graph.operators[heads[-1]]
        head.accesses.setdefault(head.reads[0], dict(graph.tensors[head.reads[0]].elements))


def mark_prompts(graph: Graph) -> None:
    """Mark the operators that run only for a prompt, where a decoder caches keys and values of an encoder's result: those that
    depend on other inputs than tokens, and those used only by them."""
    if all(operator.aten_operator != CROSSED for operator in graph.operators):
        return
    given = [t.tensor_id for t in graph.tensors if t.role == "input"]
    of_tokens = _reached(graph, (t for t in given if any(powers[1] for powers in graph.tensors[t].elements)))
    others = _reached(graph, (t for t in given if t not in of_tokens))
    readers: dict[int, list[GraphOperator]] = {}
    for operator in reversed(graph.operators):
        read_by = [reader for t in operator.writes for reader in readers.get(t, ())]
        is_free = of_tokens.isdisjoint(operator.writes)
        is_for_prompts = bool(read_by) and all(reader.is_prompt_only for reader in read_by)
        operator.is_prompt_only = is_free and (not others.isdisjoint(operator.writes) or is_for_prompts)
        for t in operator.reads:
            readers.setdefault(t, []).append(operator)


def _reached(graph: Graph, sources: Iterable[int]) -> set[int]:
    """Return these tensors and all computed from them."""
    reached = set(sources)
    for operator in graph.operators:
        if not reached.isdisjoint(operator.reads):
            reached.update(operator.writes)
    return reached


def pass_limits(graph: Graph) -> None:
    """Limit tensors computed from a window's keys and values to the window's length."""
    if all(tensor.context_limit is None for tensor in graph.tensors):
        return
    for operator in graph.operators:
        limits = [limit for t in operator.reads if (limit := graph.tensors[t].context_limit) is not None]
        if limits:
            operator.context_limit = max(limits)
            for written in operator.writes:
                if any(powers[2] for powers in graph.tensors[written].elements):
                    graph.tensors[written].context_limit = operator.context_limit


def set_stages(graph: Graph) -> None:
    """Set each operator's stage: its longest distance from an input. An operator that overwrites a storage also waits for all
    earlier readers of it, under whatever name, though no tensor passes between them."""
    tensors = graph.tensors
    storage = [t.storage_tensor_id for t in tensors]
    overwritten = {storage[t] for op in graph.operators if op.is_inplace for t in op.writes}
    after_readers: dict[int, int] = {}
    for op in graph.operators:
        producers = (tensors[t].producer_operator_id for t in op.reads)
        op.stage = max((graph.operators[p].stage + 1 for p in producers if p is not None), default=0)
        if op.is_inplace:
            op.stage = max(op.stage, *(after_readers.pop(storage[t], 0) for t in op.writes), 0)
        if not op.is_view:
            for read in overwritten.intersection(storage[t] for t in op.reads):
                after_readers[read] = max(after_readers.get(read, 0), op.stage + 1)
