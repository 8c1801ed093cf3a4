"""Tables of precisions, operator classes and precision policies."""

from __future__ import annotations

from typing import Annotated, ClassVar

from ..ranges import Plausible, Possible
from ..row import Row


class Precision(Row):
    """A number format."""

    TABLE: ClassVar[str] = "precision"
    KEY: ClassVar[tuple[str, ...]] = ("precision",)

    precision: str
    """Name, e.g. `fp16`, `tf32`, `int8`, `bool`."""
    bits: Annotated[float, Possible(1, 1024), Plausible(1, 128)]
    """Bits per element in memory, including its share of the block scales; tf32 is stored as fp32. [bit]"""
    kind: str
    """`float`, `integer`, `boolean`, `complex` or `packed` (products of floating-point numbers with weights in packed blocks, which a
    backend may compute in another format, `backend_support.packed_precision`)."""
    accumulator: str
    """Format in which products are summed."""
    fallback: str | None
    """Format in which a part computes if it has no rate for this one; null ends the chain."""
    fallback_operations: Annotated[float, Possible(1, 1024), Plausible(1, 16)]
    """Operations of the fallback format per operation of this one; a 64-bit integer product takes three 32-bit ones and their carries."""
    integer_stand_in: str | None
    """Format that replaces it on a part without a floating-point rate: norms, softmax and similar operators run there in integer
    approximations (I-BERT, Kim et al. 2021); null if none is needed."""
    trains: bool
    """True where autograd computes gradients of such tensors; for formats below 16 bits PyTorch has only conversions and a few products."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class OperatorClass(Row):
    """A class of operators and its properties that rules need. Other tables refer to it by name."""

    TABLE: ClassVar[str] = "operator_class"
    KEY: ClassVar[tuple[str, ...]] = ("operator_class",)

    operator_class: str
    """Name, e.g. `conv`, `elementwise`; `unknown` for an operator without a rule."""
    is_matrix: bool
    """True for matrix products, convolutions and operators made of them. Such an operator is its kernel's anchor."""
    is_convolution: bool
    """True for convolutions of every kind."""
    is_foldable: bool
    """True if a batch normalization that follows can be folded into the weights."""
    allocates_result: bool
    """True if the library call allocates its result itself, even under a backend that plans memory."""
    is_widening: bool
    """True if ATen promotes operands of mixed types within the kernel: for these, `follow` means the widest type."""
    is_normalizing: bool
    """True for normalizations: a loop compiler stores their scaled and shifted result instead of recomputing it."""
    saves_nothing: bool
    """True if the backward pass needs neither operands nor results of the forward pass."""
    takes_bias: bool
    """True if the operands are the first two reads and a third is the bias, whose gradient is a sum."""
    saves_other: bool
    """True for products: the gradient of one operand needs only the other operand."""
    is_single_algorithm: bool
    """True if all operators of the class share one algorithm, so that no efficiencies are fitted per ATen operator."""
    varies_by_format: bool
    """True if each memory format has its own algorithm, under every backend."""
    varies_by_strides: bool
    """True if a backend that generates no code per graph runs a different kernel for each memory format."""
    is_inserted: bool
    """True if charz itself inserts kernels of the class: conversions, layout copies, added biases."""
    is_reducing: bool
    """True for operators other than matrix products that sum or compare many elements into each result, so the reduction can be split."""


class PolicyVersion(Row):
    """A version of the framework that follows another policy than the newest version does, or another name of a policy."""

    TABLE: ClassVar[str] = "policy_version"
    KEY: ClassVar[tuple[str, ...]] = ("policy", "software")

    policy: str
    """Policy asked for."""
    software: str
    """Version of the framework as measurements name it, `pt240` for PyTorch 2.4.0; `*` where `policy` is another name."""
    followed_policy: str
    """Policy that the version follows, `precision_policy.policy`."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class PrecisionPolicy(Row):
    """The effect of a policy on the operators of one class.

    A row for a class within a module's class wins over one for an ATen operator, which wins over one for the operator's class; a row
    with operator_class `*` applies to all classes without their own. A `*` row with rule `drop` also converts inputs, as `model.half()`
    with its inputs does; one with `follow` leaves them, as autocast does.
    """

    TABLE: ClassVar[str] = "precision_policy"
    KEY: ClassVar[tuple[str, ...]] = ("policy", "operator_class")

    policy: str
    """`fp32`, `tf32`, `fp16`, `bf16`, `amp-fp16`, `amp-bf16`, `int8`, `w8a16`, `w4a16`, `fp8`, `sparse-fp16` (2:4 weights), ...; a suffix
    `@VERSION` names the last version of the framework that follows it, `amp-fp16@2.4`."""
    operator_class: str
    """Operator class, class within a module's class such as `norm:GroupNormAct`, ATen operator such as `aten.sum`, or `*`. A prefix
    `attention|` limits the row to operators of an attention's math path, `module:PATTERN|` to modules whose path matches."""
    rule: str
    """`drop` (convert operands to `compute_precision`), `keep` (convert narrower operands to fp32), `widen` (read operands unconverted,
    compute and write fp32), `promote` (convert operands to the widest type), `follow` (read operands unconverted; the widest type
    decides in elementwise operators and concatenation, else the first) or `absent` (this version of the framework does not run the
    operator: its result is its operand)."""
    compute_precision: str | None
    """Format of the arithmetic for `drop`; for `follow`, the format in which the unit computes on unconverted operands (tf32)."""
    weight_precision: str | None
    """Format in which weights are stored and read without conversion; null: unchanged. Vectors (biases, scales) take the value of the `*`
    row."""
    activation_precision: str | None
    """Format in which results are written; null: the rule decides."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
