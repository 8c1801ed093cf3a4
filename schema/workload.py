"""Tables that `charz ingest` fills from one model: the operations and data of the network.

Sizes are polynomials in batch B, sequence S, context C and the number of tokens L whose logits are computed, S unless a server computes
only the last token's. A polynomial is stored as one row per term: `coefficient * B^batch_power * S^sequence_power * C^context_power *
L^logit_power`.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from .row import ModelRow, Row


class Model(Row):
    """One ingested network under one input signature; another resolution is another row."""

    TABLE: ClassVar[str] = "model"
    KEY: ClassVar[tuple[str, ...]] = ("model",)

    model: str
    """Unique name of the model, e.g. `resnet50`, `resnet50@288`, `timm:vit_tiny_patch16_224`."""
    source: str
    """Argument of `charz ingest`: `torchvision:NAME`, `timm:NAME`, `hf:NAME`, a factory, a path."""
    architecture_family: str
    """Architecture family (`resnet`, `vit`, `llama`), used to leave families out."""
    input_signature: str
    """Shape and type of each input, with B, S and C for symbolic sizes."""
    resolution: int | None
    """Height and width of a square image input; null for other inputs. [pixel]"""
    is_batch_symbolic: bool
    """True if one ingest answers every batch."""
    is_sequence_symbolic: bool
    """True if one ingest answers every sequence length."""
    has_context: bool
    """True if the graph yields a decode phase: its attention reads a KV cache and nothing else stays between tokens, or it is one token with
    the states of convolutions and recurrences given."""
    is_training: bool
    """True if the graph contains backward operators."""
    specialized_reason: str | None
    """Reason for which a size was fixed to a number; null if none was."""
    not_honoured: str | None
    """Parts of the backward pass in the model's code that `charz ingest --train` does not follow; else null."""
    default_batch: int
    """Batch used if the model is not batch-symbolic (then the only valid one), else 1."""
    default_sequence: int
    """Sequence length used if a scenario gives none; 1 for a model without a sequence axis."""
    parameter_count: int
    """Number of elements of all parameters; a shared parameter counts once."""
    published_macs: float | None
    """Multiply-accumulates that the model's publisher states for batch 1; null if not stated."""
    stored_policy: str | None
    """Precision policy in which the model's checkpoint is stored (`quantization_config`, else its 16-bit format); null if not stated."""
    planned_format: str
    """Memory format that inductor plans for the model's images, `nchw` or `nhwc`."""
    layout_problem: str | None
    """Reason for which `operator_layout` and `layout_copy` have no row of the model: an operator that could not be followed in memory, or
    a size that depends on data. Every operator is then assumed to run in the format asked for. Null if the layouts are known."""
    content_hash: str
    """SHA-256 of the exported graph, its sizes and the ingest rules; an equal hash means nothing to do."""
    request_hash: str | None
    """Hash of the request and everything the model is built from (library versions, charz's ingest code); an equal hash means that tracing
    again cannot change anything. Null if the model's code is the user's."""
    rules_fingerprint: str
    """Hash of the rules used for the compiled tables."""
    charz_version: str
    """Version of charz that wrote the rows."""
    ingested_at: datetime
    """Time of the ingest, in UTC."""
    ingest_s: float
    """Wall time of this ingest. [s]"""


class Module(ModelRow):
    """One `nn.Module` of a model; the root has the empty path."""

    TABLE: ClassVar[str] = "module"
    KEY: ClassVar[tuple[str, ...]] = ("model", "module_id")

    module_id: int
    """Key within the model; 0 is the root."""
    parent_module_id: int | None
    """Enclosing module; null for the root."""
    path: str
    """Dotted attribute path, e.g. `layer1.0.conv1`."""
    class_name: str
    """Python class, e.g. `Conv2d`."""
    depth: int
    """Number of enclosing modules."""


class Operator(ModelRow):
    """One node of the exported graph, in execution order."""

    TABLE: ClassVar[str] = "operator"
    KEY: ClassVar[tuple[str, ...]] = ("model", "operator_id")

    operator_id: int
    """Position in execution (topological) order, from 0."""
    operator: str
    """Name of the node in the graph, unique within the model."""
    aten_operator: str
    """ATen overload that the operator calls, e.g. `aten.conv2d.default`."""
    operator_class: str
    """Class in the cost model: `conv`, `depthwise_conv`, `linear`, `matmul`, `attention`, `norm`, ..."""
    operator_kind: str
    """Common name of the operator's type: `pointwise_conv` for a 1x1 convolution, `squeeze_excite` for an operator of a squeeze-excite
    gate, else the operator class."""
    module_id: int
    """Innermost module whose forward made the operator."""
    stage: int
    """Longest distance from an input in the graph of operators; operators of equal stage may run at once. An operator that overwrites a
    storage comes after all earlier readers of it, under any name."""
    rule: str | None
    """Registered rule that computed its sizes; null if no rule exists, which `charz models --unsized` reports."""
    is_view: bool
    """True if the operator moves no bytes, because its output aliases an input."""
    is_inplace: bool
    """True if the operator overwrites its first input."""
    is_size_bound: bool
    """True if a data-dependent size was replaced by an upper bound."""
    is_backward: bool
    """True for operators of the backward pass."""
    is_repeated: bool
    """True for an operator of the forward pass that the backward pass runs again because of the model's own checkpoints."""
    source_file: str | None
    """File of the model's code that called it, the innermost outside PyTorch; for a package the path as imported
    (`torchvision/models/resnet.py`). Null if the program came without its source."""
    source_line: int | None
    """Line in that file."""


class OperatorLayout(ModelRow):
    """Memory layout of an operator's tensors, where it differs from the memory format asked for.

    A format is passed from tensor to tensor and can be lost: after a permuted view operators run channels-last, a token sequence has no
    channels. Only backends that follow strides (`backend.follows_strides`) run an operator in its layout.
    """

    TABLE: ClassVar[str] = "operator_layout"
    KEY: ClassVar[tuple[str, ...]] = ("model", "memory_format", "operator_id")

    memory_format: str
    """Format asked for, `nchw` or `nhwc`."""
    operator_id: int
    """Operator."""
    layout: str
    """`nhwc` if the channels of images are adjacent, `strided` if an operand and the result have different memory orders, `view` if it
    moves nothing, else `nchw`."""


class LayoutCopy(ModelRow):
    """A tensor that an operator copies before it computes, because its kernel cannot take the tensor's strides.

    The exported graph does not show these: `matmul` of permuted operands copies them, and a view in one memory format is a copy in
    another. One kernel each on backends that follow strides.
    """

    TABLE: ClassVar[str] = "layout_copy"
    KEY: ClassVar[tuple[str, ...]] = ("model", "memory_format", "copy_id")

    memory_format: str
    """Format asked for, `nchw` or `nhwc`."""
    copy_id: int
    """Key within model and format, from 0."""
    operator_id: int
    """Operator that copies."""
    tensor_id: int
    """Tensor copied."""


class OperatorStep(ModelRow):
    """A step inside an operator that one kind of unit executes: one for most operators, three for attention."""

    TABLE: ClassVar[str] = "operator_step"
    KEY: ClassVar[tuple[str, ...]] = ("model", "operator_id", "step")

    operator_id: int
    """Operator that contains the step."""
    step: str
    """`main`, or `qk`, `softmax`, `av` in attention, `input` and `recurrent` in a recurrent cell."""
    step_class: str
    """`gemm` (a matrix product), `vector` (arithmetic on vector lanes), `move` (bytes only)."""


class Term(ModelRow):
    """One term of a quantity of an operator's step, a polynomial in B, S and C.

    Quantities: `macs`; `flops` (two per MAC plus all other arithmetic); `threads` (independent output elements); `accesses` (sequential
    memory accesses of one thread of PyTorch's own GPU kernel, where it loops over samples and channels). A `gemm` step has `m`, `n`,
    `k`, `groups` with `macs = groups * m * n * k`. A convolution also has `taps` (positions of its kernel) and, with one group, no
    dilation and a kernel of at most 3 per side, `image` and `samples` (elements and first dimension of its input). An attention also
    has `sharing` (query heads that share keys, whose rows form one product; 1 if absent) and, with a causal mask, `queries` and `keys`
    (per head: the last query sees all keys, each earlier one sees one less).
    """

    TABLE: ClassVar[str] = "term"
    KEY: ClassVar[tuple[str, ...]] = (
        "model", "operator_id", "step", "quantity",
        "batch_power", "sequence_power", "context_power", "logit_power",
    )  # fmt: skip

    operator_id: int
    """Operator it describes."""
    step: str
    """Step of the operator it describes."""
    quantity: str
    """`macs`, `flops`, `threads`, `accesses`, `m`, `n`, `k`, `groups`, `taps`, `image`, `samples`, `sharing`,
    `queries` or `keys`."""
    coefficient: float
    """Factor of the term."""
    batch_power: int
    """Exponent of the batch."""
    sequence_power: int
    """Exponent of the sequence length."""
    context_power: int
    """Exponent of the context length."""
    logit_power: int
    """Exponent of the number of tokens of a sample whose logits are computed (`run.logit_tokens`)."""
    context_limit: int | None
    """Largest number of context tokens that count (a sliding window); null: all."""


class Tensor(ModelRow):
    """One value of the graph: an input, a weight, an activation."""

    TABLE: ClassVar[str] = "tensor"
    KEY: ClassVar[tuple[str, ...]] = ("model", "tensor_id")

    tensor_id: int
    """Key within the model."""
    tensor: str
    """Name in the graph or, for a weight, its attribute path."""
    producer_operator_id: int | None
    """Operator that makes the tensor; null for an input or a weight."""
    role: str
    """`input`, `weight`, `buffer`, `constant`, `kv_cache` (KV cache, and states of convolutions and recurrences), `gradient` (of a trained weight)
    or `activation`."""
    is_output: bool
    """True if the model returns the tensor."""
    precision: str
    """Element type in the exported graph, a `precision` row."""
    shape: str
    """Dimensions as text, e.g. `[B, 64, 56, 56]`."""
    is_batch_first: bool
    """True if its first dimension is the batch alone and others follow: `[B, ...`."""
    storage_tensor_id: int
    """Tensor whose storage the tensor uses: another tensor for a view or an in-place result, else the tensor itself."""
    is_trained: bool
    """True for a weight that a training step changes: its `requires_grad` is set."""
    is_size_bound: bool
    """True if a data-dependent size was replaced by an upper bound."""
    is_chunked: bool
    """True for a cache whose queries attend only to their own chunk of the context: an engine may still keep all of it
    (`backend.drops_chunks`)."""


class TensorTerm(ModelRow):
    """One term of a tensor's element count; an expanded (stride 0) dimension counts once."""

    TABLE: ClassVar[str] = "tensor_term"
    KEY: ClassVar[tuple[str, ...]] = (
        "model", "tensor_id", "batch_power", "sequence_power", "context_power", "logit_power",
    )  # fmt: skip

    tensor_id: int
    """Tensor it describes."""
    coefficient: float
    """Factor of the term."""
    batch_power: int
    """Exponent of the batch."""
    sequence_power: int
    """Exponent of the sequence length."""
    context_power: int
    """Exponent of the context length."""
    logit_power: int
    """Exponent of the number of tokens of a sample whose logits are computed (`run.logit_tokens`)."""
    context_limit: int | None
    """Largest number of context tokens that count (a sliding window); null: all."""


class Edge(ModelRow):
    """An operator reading a tensor; weights and inputs have no producer."""

    TABLE: ClassVar[str] = "edge"
    KEY: ClassVar[tuple[str, ...]] = ("model", "consumer_operator_id", "position")

    consumer_operator_id: int
    """Operator that reads."""
    position: int
    """Index among the tensors the operator reads."""
    tensor_id: int
    """Tensor read."""
    producer_operator_id: int | None
    """Operator that made the tensor; null for an input or a weight."""


class AccessTerm(ModelRow):
    """Elements of a tensor that an operator moves, where it does not move the whole tensor: rows that an embedding gathers, the slice that
    an index reads, elements that an in-place copy writes, experts that tokens choose. Without a row, the whole tensor moves."""

    TABLE: ClassVar[str] = "access_term"
    KEY: ClassVar[tuple[str, ...]] = (
        "model", "operator_id", "tensor_id", "batch_power", "sequence_power", "context_power", "logit_power",
    )  # fmt: skip

    operator_id: int
    """Operator that reads or writes."""
    tensor_id: int
    """Tensor read or written."""
    draw_fraction: float | None
    """Share of the tensor that each of many independent random draws moves, equal on all terms: the elements then count the overlap of two
    draws twice. Null if nothing is counted twice, or less than the whole tensor is moved."""
    coefficient: float
    """Factor of the term."""
    batch_power: int
    """Exponent of the batch."""
    sequence_power: int
    """Exponent of the sequence length."""
    context_power: int
    """Exponent of the context length."""
    logit_power: int
    """Exponent of the number of tokens of a sample whose logits are computed (`run.logit_tokens`)."""
    context_limit: int | None
    """Largest number of context tokens that count (a sliding window); null: all."""
