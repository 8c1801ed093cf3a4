"""Compares inductor's own fusion, on this machine, with the prediction of the fusion rules.

Inductor lowers the exported graph and plans its loops; it is stopped before it writes code, so
nothing is compiled or run. Its plan names the graph nodes from which each loop was made, and each node
remembers its exported node, which is our operator.

Two operators run as one where inductor computes both in the same loop, or computes the first again
inside the loop of the second instead of reading it. The plan is that for this machine's CPU,
where inductor stores a reused `exp` or `sigmoid` rather than repeating it, and splits a
normalization into several loops, both unlike its plan for a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.utils._pytree import tree_leaves, tree_map

from charz.schema.errors import CharzError

from .compile.dataflow import Flow, flow_of
from .compile.fusion import Partition, partition
from .compile.rules import Rules
from .pipeline import whole
from .sources import build
from .sources.spec import Spec
from .trace.export import Request

BACKEND = "inductor"


@dataclass(frozen=True, slots=True)
class Loop:
    """One unit of inductor's plan."""

    operators: frozenset[str]
    """Names of the operators from which it was made; they may include operators that it only reads."""
    is_library: bool
    """True for a call of a library kernel."""
    reads: frozenset[str]
    """Buffers that it reads."""
    writes: frozenset[str]
    """Buffers that it writes."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A pair of operators of which the second reads the first."""

    producer: int
    consumer: int
    is_predicted: bool
    """True when the rules run both in one kernel."""
    is_actual: bool
    """True when inductor runs both in one kernel."""


class _Planned(Exception):
    """Exception that stops inductor once it has planned its loops."""


def plan(program: ExportedProgram, arguments: Sequence[torch.Tensor]) -> list[Loop]:
    """Return inductor's loops for an exported program on the device of its `arguments`, in order.

    Raise CharzError when inductor fails before it has a plan.
    """
    from torch._inductor import config
    from torch._inductor.compile_fx import compile_fx

    found: list[Loop] = []

    def stop(nodes: list[Any]) -> list[Any]:
        found.extend(_loop(node) for node in nodes)
        raise _Planned

    module = program.module(check_guards=False)
    module.graph.set_codegen(torch.fx.graph.CodeGen())  # flat arguments, whatever the form of the model's own
    module.recompile()
    try:
        with torch.no_grad(), config.patch({"_post_fusion_custom_pass": stop, "fx_graph_cache": False}):
            compile_fx(module, list(arguments))(*arguments)
    except Exception as error:
        if not _is_planned(error):
            raise CharzError(
                "inductor made no plan", next=f"its error: {type(error).__name__}: {str(error).strip().splitlines()[0]}"
            ) from error
    return found


def _is_planned(error: BaseException | None) -> bool:
    """Return True if the error comes from stopping inductor, which wraps what is raised within it."""
    while error is not None:
        if isinstance(error, _Planned):
            return True
        error = error.__cause__ or error.__context__
    return False


def _loop(node: Any) -> Loop:
    nodes = [n for n in node.get_nodes() if n.node is not None]
    return Loop(
        frozenset(_exported_name(origin) for n in nodes for origin in n.node.origins),
        all(type(n).__name__.startswith(("Extern", "Nop")) for n in node.get_nodes()),
        frozenset(dependency.name for dependency in node.read_writes.reads),
        frozenset(node.get_buffer_names()),
    )


def _exported_name(node: Node) -> str:
    """Return the name of the exported node from which a node of inductor's graph was made."""
    sources = node.meta.get("from_node")
    if not sources:
        return str(node.name)
    source = sources[0]
    while source.from_node:
        source = source.from_node[0]
    return str(source.name)


def compare(flow: Flow, kernels: Partition, loops: Sequence[Loop]) -> list[Edge]:
    """Compare every pair of operators that inductor kept, in the rules and in the plan."""
    operators = flow.graph.operators
    home = _homes(flow, loops)
    traced = {o: name for name, o in flow.graph.traced.items()}
    edges = []
    for consumer in flow.kernel_operators:
        for producer in sorted({s for _, sources in flow.reads[consumer] for s in sources}):
            if producer in home and consumer in home:
                is_actual = operators[producer].operator_class not in flow.classes.matrix and _is_fused(
                    loops, traced[producer], home[producer], home[consumer]
                )
                is_predicted = kernels.kernel_of[producer] == kernels.kernel_of[consumer]
                edges.append(Edge(producer, consumer, is_predicted, is_actual))
    return edges


def _homes(flow: Flow, loops: Sequence[Loop]) -> dict[int, int]:
    """Find the first unit of the plan that computes each operator: a library call for a product, else a loop."""
    operators = flow.graph.traced
    within = set(flow.kernel_operators)
    home: dict[int, int] = {}
    for position, loop in enumerate(loops):
        for name in loop.operators:
            operator_id = operators.get(name)
            if operator_id in within:
                is_product = flow.graph.operators[operator_id].operator_class in flow.classes.matrix
                if is_product == loop.is_library:
                    home.setdefault(operator_id, position)
    return home


def _is_fused(loops: Sequence[Loop], producer: str, producer_home: int, consumer_home: int) -> bool:
    if producer_home == consumer_home:
        return True
    consumer = loops[consumer_home]
    if consumer.is_library or producer not in consumer.operators:
        return False
    return not consumer.reads & loops[producer_home].writes


@dataclass(frozen=True, slots=True)
class Examination:
    """Fusion of a model by the rules and by inductor."""

    flow: Flow
    edges: list[Edge]
    predicted_kernels: int


def examine(spec: Spec, rules: Rules) -> Examination:
    """Compare the rules with inductor's plan of a model on the CPU, with uninitialized weights."""
    request = build(spec)
    request.module = request.module.to_empty(device="cpu").eval()
    request.arguments, request.keywords = tree_map(_on_cpu, (request.arguments, request.keywords))
    request.axes = {}
    return examine_request(request, rules)


def examine_request(request: Request, rules: Rules) -> Examination:
    """Compare the rules with inductor's plan of a module that is on the CPU with its arguments."""
    graph, traced = whole(request)
    flow = flow_of(graph, rules.classes, rules.folds_norm[BACKEND])
    kernels = partition(flow, BACKEND, rules.fusion[BACKEND], rules.folds_norm[BACKEND])
    arguments = [a for a in tree_leaves((request.arguments, request.keywords)) if isinstance(a, torch.Tensor)]
    return Examination(flow, compare(flow, kernels, plan(traced.program, arguments)), kernels.count)


def _on_cpu(value: Any) -> Any:
    return torch.zeros_like(value, device="cpu") if isinstance(value, torch.Tensor) else value
