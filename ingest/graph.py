"""The network in memory, between `torch.export` and the tables: what the lowering makes, what the
operator rules fill in, and what the compiler (precision, fusion, lifetimes) reads.

Sizes are polynomials in batch, sequence and context, written as a mapping from the three exponents
to a coefficient: `{(1, 0, 0): 12.0}` is `12*B`, `{(1, 1, 1): 64.0}` is `64*B*S*C`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Powers = tuple[int, int, int]
Polynomial = dict[Powers, float]

BACKWARD = "charz.backward."
"""Prefix of a backward operator's `aten_operator`."""

GRADIENT = "gradient"
"""Role of the gradient of a trained weight."""


def evaluate(polynomial: Polynomial, batch: float, sequence: float = 1, context: float | None = None) -> float:
    """Value of a polynomial; context defaults to the sequence length (prefill)."""
    context = sequence if context is None else context
    return sum(c * batch**b * sequence**s * context**x for (b, s, x), c in polynomial.items())


def dims(shape: str) -> list[int | None]:
    """Sizes of a shape as `GraphTensor.shape` has it; null where one is symbolic.

    >>> dims("[B, 3, 224, 224]")
    [None, 3, 224, 224]
    """
    return [int(size) if size.isdecimal() else None for size in shape.strip("[]").split(", ")]


@dataclass(slots=True)
class GraphTensor:
    """One value; see `schema.workload.Tensor` for the meaning of each field."""

    tensor_id: int
    tensor: str
    producer_operator_id: int | None
    role: str
    precision: str
    shape: str
    elements: Polynomial
    storage_tensor_id: int
    is_output: bool = False
    is_size_bound: bool = False
    is_pinned: bool = False
    """Whether the model keeps it in its element type whatever the policy says."""
    context_limit: int | None = None
    """Most tokens of the context that its size counts: those of a sliding window."""
    is_trained: bool = False
    """Whether it is a weight that a step of training changes: floating, and one that requires a gradient."""
    is_chunked: bool = False
    """Whether that limit is a chunk of the context, which some engines keep and others all of."""
    held_operator_id: int | None = None
    """Last operator during which the model's Python code holds the storage, None where that was not seen."""

    @property
    def is_batch_first(self) -> bool:
        """True when its first dimension is the batch alone and others follow."""
        return self.shape.startswith("[B,")


@dataclass(slots=True)
class Step:
    """A step of an operator on one kind of unit; quantities as in `schema.workload.Term`."""

    step: str
    step_class: str
    quantities: dict[str, Polynomial] = field(default_factory=dict)
    left_tensor_id: int | None = None
    """Of a product within a recurrence, the operand that is the left side of the first of its groups; the others' is
    made within."""


@dataclass(slots=True)
class GraphOperator:
    """One node; see `schema.workload.Operator`. `reads` and `writes` list tensor ids in order."""

    operator_id: int
    operator: str
    aten_operator: str
    operator_class: str
    module_id: int
    rule: str | None
    reads: list[int]
    writes: list[int]
    stage: int = 0
    is_view: bool = False
    is_inplace: bool = False
    is_size_bound: bool = False
    source_file: str | None = None
    source_line: int | None = None
    is_prompt_only: bool = False
    """Whether it works out what a decoder keeps of an encoder's result, which a step of one token does not."""
    attention: int | None = None
    """Number of the attention whose math path it is part of (`trace.attention`), None for one of none."""
    steps: list[Step] = field(default_factory=list)
    context_limit: int | None = None
    """Most tokens of the context that its work counts."""
    accesses: dict[int, Polynomial] = field(default_factory=dict)
    """Elements really moved of a tensor, by tensor id, where that is not the whole tensor."""
    draw_fractions: dict[int, float] = field(default_factory=dict)
    """Share of a tensor that each of many independent draws moves, by tensor id: `accesses` counts what two of them
    have in common twice."""
    stops_gradient: bool = False
    """Whether its results have no gradient, as in a region without gradients."""
    checkpoint: int | None = None
    """First operator of the checkpoint that it lies in, whose region the backward pass runs again; None in none."""
    is_checkpoint_whole: bool = False
    """Whether all of that region runs again, also what comes after the last result that the backward pass needs."""
    is_backward: bool = False
    """Whether it is part of the backward pass."""
    is_repeated: bool = False
    """Whether it is a forward operator that the backward pass runs again."""
    forward: int | None = None
    """Operator whose backward, or whose repetition, it is."""
    targets: list[int] = field(default_factory=list)
    """Of a backward operator the tensors whose gradients it writes, in that order; of gradients that are added up theirs."""


@dataclass(slots=True)
class GraphModule:
    """One `nn.Module`; see `schema.workload.Module`."""

    module_id: int
    parent_module_id: int | None
    path: str
    class_name: str
    depth: int
    package: str = ""
    """Top-level package that defines its class: `torch` and `timm` normalize differently under autocast."""


@dataclass(slots=True)
class Graph:
    """A whole network: operators in execution order, `operators[i].operator_id == i` and
    `tensors[i].tensor_id == i`."""

    modules: list[GraphModule] = field(default_factory=list)
    operators: list[GraphOperator] = field(default_factory=list)
    tensors: list[GraphTensor] = field(default_factory=list)
    layouts: dict[str, dict[int, str]] = field(default_factory=dict)
    """Layout of operators by memory format and operator id; see `schema.workload.OperatorLayout`."""
    copies: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Operators that copy a tensor before they compute, by memory format; see `schema.workload.LayoutCopy`."""
    layout_problem: str | None = None
    """Why there are none, where the graph could not be followed; see `schema.workload.Model`."""
    notes: list[str] = field(default_factory=list)
    """What was counted in place of something that depends on data."""
    not_honoured: list[str] = field(default_factory=list)
    """What the model's code says of its backward pass that the one which is added does not follow."""
    planned_format: str = "nchw"
    """Memory format that inductor plans for its images; see `planned`."""
    traced: dict[str, int] = field(default_factory=dict)
    """Operators by what the tracer calls them; empty where layers were put in that it did not see."""
    logit_operators: frozenset[int] = frozenset()
    """Operators that make logits: what a server works out of the last token of a prompt alone."""

    @property
    def keeps_tokens(self) -> bool:
        """Whether keys, values or states stay between tokens."""
        return any(tensor.role == "kv_cache" for tensor in self.tensors)
