"""The network in memory, between `torch.export` and the tables: the lowering creates it, the
operator rules fill it in, and the compiler (precision, fusion, lifetimes) reads it.

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
    """Evaluate a polynomial; context defaults to the sequence length (prefill)."""
    context = sequence if context is None else context
    return sum(c * batch**b * sequence**s * context**x for (b, s, x), c in polynomial.items())


def dims(shape: str) -> list[int | None]:
    """Return the sizes of a shape in the form of `GraphTensor.shape`; None for a symbolic size.

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
    """True if the model keeps the tensor in its element type whatever the policy."""
    context_limit: int | None = None
    """Maximum number of context tokens that its size counts: the length of a sliding window."""
    is_trained: bool = False
    """True for a weight that a training step changes: floating, and with `requires_grad`."""
    is_chunked: bool = False
    """True if the limit is a chunk of the context; some engines keep only the chunk and others the whole context."""
    held_operator_id: int | None = None
    """Last operator during which the model's Python code keeps the storage, None if unknown."""

    @property
    def is_batch_first(self) -> bool:
        """True when its first dimension is exactly the batch and others follow."""
        return self.shape.startswith("[B,")


@dataclass(slots=True)
class Step:
    """A step of an operator on one kind of unit; quantities as in `schema.workload.Term`."""

    step: str
    step_class: str
    quantities: dict[str, Polynomial] = field(default_factory=dict)
    left_tensor_id: int | None = None
    """Left operand of the first group of a product within a recurrence; the left operands of later groups are
    intermediate results."""


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
    """True if it computes what a decoder keeps of an encoder's result, which a step of one token skips."""
    attention: int | None = None
    """Number of the attention whose math path contains the operator (`trace.attention`), else None."""
    steps: list[Step] = field(default_factory=list)
    context_limit: int | None = None
    """Maximum number of context tokens that its work counts."""
    accesses: dict[int, Polynomial] = field(default_factory=dict)
    """Elements of a tensor that really move, by tensor id, if they are not the whole tensor."""
    draw_fractions: dict[int, float] = field(default_factory=dict)
    """Share of a tensor that each of many independent draws moves, by tensor id: `accesses` counts the overlap of two
    draws twice."""
    stops_gradient: bool = False
    """True if its results have no gradient, as in a region without gradients."""
    checkpoint: int | None = None
    """First operator of its checkpoint, whose region the backward pass runs again; None outside a checkpoint."""
    is_checkpoint_whole: bool = False
    """True if the whole region runs again, even after the last result that the backward pass needs."""
    is_backward: bool = False
    """True if it is part of the backward pass."""
    is_repeated: bool = False
    """True if it is a forward operator that the backward pass runs again."""
    forward: int | None = None
    """Forward operator of a backward or a repeated operator."""
    targets: list[int] = field(default_factory=list)
    """Tensors whose gradients a backward operator writes, in that order; for a sum of gradients, their common tensor."""


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
    """Reason why layouts are missing; see `schema.workload.Model`."""
    notes: list[str] = field(default_factory=list)
    """Notes on what was counted in place of data-dependent operators."""
    not_honoured: list[str] = field(default_factory=list)
    """Parts of the model's own backward code that the added backward pass does not follow."""
    planned_format: str = "nchw"
    """Memory format that inductor plans for its images; see `planned`."""
    traced: dict[str, int] = field(default_factory=dict)
    """Operators by the tracer's name; empty if copies of untraced layers were inserted."""
    logit_operators: frozenset[int] = frozenset()
    """Operators that make logits, which a server computes only for the last token of a prompt."""

    @property
    def keeps_tokens(self) -> bool:
        """True if keys, values or states stay between tokens."""
        return any(tensor.role == "kv_cache" for tensor in self.tensors)
