"""Tables that `charz ingest` fills from one model: what the network computes and moves.

Sizes are polynomials in batch B, sequence S, context C and the tokens L whose logits are made, as many as S unless a server
makes those of the last token alone. A polynomial is stored as rows, one a
term: `coefficient * B^batch_power * S^sequence_power * C^context_power * L^logit_power`.
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
    """Unique name shown everywhere, e.g. `resnet50`, `resnet50@288`, `timm:vit_tiny_patch16_224`."""
    source: str
    """What `charz ingest` was asked for: `torchvision:NAME`, `timm:NAME`, `hf:NAME`, a factory, a path."""
    architecture_family: str
    """Family the architecture belongs to (`resnet`, `vit`, `llama`), used to leave families out."""
    input_signature: str
    """Shape and type of each input, with B, S and C where a size is symbolic."""
    resolution: int | None
    """Height and width of a square image input; null for other inputs. [pixel]"""
    is_batch_symbolic: bool
    """True when one ingest answers every batch."""
    is_sequence_symbolic: bool
    """True when one ingest answers every sequence length."""
    has_context: bool
    """True when a decode phase follows from the graph: its attention reads a KV-cache and nothing else stays between tokens,
    or it is one token with the states of convolutions and recurrences given."""
    is_training: bool
    """True when the graph holds backward operators."""
    specialized_reason: str | None
    """Why a size had to be fixed to a number; null when nothing was."""
    not_honoured: str | None
    """What the model's code says of its backward pass that `charz ingest --train` does not follow; null where there is nothing."""
    default_batch: int
    """Batch used when the model is not batch-symbolic (then the only one that is valid), else 1."""
    default_sequence: int
    """Sequence length used when a scenario gives none; 1 for a model without a sequence axis."""
    parameter_count: int
    """Elements of all parameters, shared ones once."""
    published_macs: float | None
    """Multiply-accumulates its publisher states for batch 1; null when none is stated."""
    stored_policy: str | None
    """Precision policy in which its checkpoint is stored (`quantization_config`); null where that says none."""
    planned_format: str
    """Memory format that inductor plans for the model's images, `nchw` or `nhwc`."""
    layout_problem: str | None
    """Why `operator_layout` and `layout_copy` hold no row of the model: the operator that could not be followed in
    memory, or a size that depends on data. Every operator is then taken for one in the format asked for. Null when
    the layouts are known."""
    content_hash: str
    """SHA-256 of the exported graph, its sizes and the ingest rules; equal hash means nothing to do."""
    request_hash: str | None
    """Hash of what was asked for and of all it is built from (library versions, charz's ingest code);
    equal hash means that tracing again cannot change anything. Null when the model's code is the user's."""
    rules_fingerprint: str
    """Hash of the rules that the compiled tables were made with."""
    charz_version: str
    """Version of charz that wrote the rows."""
    ingested_at: datetime
    """When, in UTC."""
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
    """ATen overload it calls, e.g. `aten.conv2d.default`."""
    operator_class: str
    """What it is to the cost model: `conv`, `depthwise_conv`, `linear`, `matmul`, `attention`, `norm`, ..."""
    operator_kind: str
    """What it is to people: `pointwise_conv` of a convolution of single pixels, `squeeze_excite` of a member of such a gate,
    else its class."""
    module_id: int
    """Innermost module whose forward made it."""
    stage: int
    """Longest distance from an input in the graph of operators; equal stage may run at once. One that overwrites a
    storage comes after all that read it before, under whatever name."""
    rule: str | None
    """Registered rule that sized it; null when none exists, which `charz models --unsized` reports."""
    is_view: bool
    """True when it moves nothing: its output aliases an input."""
    is_inplace: bool
    """True when it overwrites its first input."""
    is_size_bound: bool
    """True when a data-dependent size was replaced by an upper bound."""
    is_backward: bool
    """True in the backward pass."""
    is_repeated: bool
    """True of an operator of the forward pass that the backward pass runs again, as the model's own checkpoints say."""
    source_file: str | None
    """File of the model's code that called it, the innermost that is no part of PyTorch; of a package as it is
    imported (`torchvision/models/resnet.py`). Null where the program arrived without its source."""
    source_line: int | None
    """Line in that file."""


class OperatorLayout(ModelRow):
    """How an operator's tensors lie in memory, where that is not in the memory format the run asks for.

    A format is passed on from tensor to tensor and lost on the way: a permuted view makes what follows run
    channels-last, a token sequence no longer knows channels. Only backends that follow strides
    (`backend.follows_strides`) run an operator in its layout.
    """

    TABLE: ClassVar[str] = "operator_layout"
    KEY: ClassVar[tuple[str, ...]] = ("model", "memory_format", "operator_id")

    memory_format: str
    """Format asked for, `nchw` or `nhwc`."""
    operator_id: int
    """Operator."""
    layout: str
    """`nhwc` where images have their channels next to each other, `strided` where an operand and the result run
    through memory in different orders, `view` where it turns out to move nothing, else `nchw`."""


class LayoutCopy(ModelRow):
    """A tensor that an operator copies before it computes, because the kernel behind it cannot take its strides.

    The exported graph does not show these: `matmul` of permuted operands copies them, and what is a view of
    one memory format is a copy of another. One kernel each on backends that follow strides.
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
    """A step inside an operator that one kind of unit executes: one for most, three for attention."""

    TABLE: ClassVar[str] = "operator_step"
    KEY: ClassVar[tuple[str, ...]] = ("model", "operator_id", "step")

    operator_id: int
    """Operator it is a step of."""
    step: str
    """`main`, or `qk`, `softmax`, `av` in attention, `input` and `recurrent` in a recurrent cell."""
    step_class: str
    """`gemm` (a matrix product), `vector` (arithmetic on vector lanes), `move` (bytes only)."""


class Term(ModelRow):
    """One term of a quantity of an operator's step, a polynomial in B, S and C.

    Quantities: `macs`; `flops` (two a MAC plus all other arithmetic); `threads` (independent output
    elements); `accesses` (those to memory that a thread of PyTorch's own GPU kernel makes one after another, where
    it walks through samples and channels); for a `gemm` step `m`, `n`, `k`, `groups` with
    `macs = groups * m * n * k`; and for that of a convolution `taps` (positions of its kernel) and, of one group,
    undilated, the kernel at most 3 on a side, `image` and `samples` (elements and first dimension of its input);
    and for those of an attention `sharing` (heads of queries that share keys, whose rows are one product's; 1 if absent)
    and, where its mask is causal, `queries` and `keys` (of one head: the last query sees all keys, each before it one less).
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
    """Exponent of the tokens of a sample whose logits are made (`run.logit_tokens`)."""
    context_limit: int | None
    """Most tokens of the context that count, those of a sliding window; null where all do."""


class Tensor(ModelRow):
    """One value of the graph: an input, a weight, an activation."""

    TABLE: ClassVar[str] = "tensor"
    KEY: ClassVar[tuple[str, ...]] = ("model", "tensor_id")

    tensor_id: int
    """Key within the model."""
    tensor: str
    """Name in the graph or, of a weight, its attribute path."""
    producer_operator_id: int | None
    """Operator that makes it; null for an input or a weight."""
    role: str
    """`input`, `weight`, `buffer`, `constant`, `kv_cache` (keys, values and states that stay between tokens), `gradient` (of a
    trained weight) or `activation`."""
    is_output: bool
    """True when the model returns it."""
    precision: str
    """Element type in the exported graph, a `precision` row."""
    shape: str
    """Dimensions as text, e.g. `[B, 64, 56, 56]`."""
    is_batch_first: bool
    """True when its first dimension is the batch alone and others follow: `[B, ...`."""
    storage_tensor_id: int
    """Tensor whose memory it shares: itself unless it is a view or was written in place."""
    is_trained: bool
    """True of a weight that a step of training changes: its `requires_grad` is set."""
    is_size_bound: bool
    """True when a data-dependent size was replaced by an upper bound."""
    is_chunked: bool
    """True of a cache of which queries attend to their own chunk of the context alone: an engine may keep all of it
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
    """Exponent of the tokens of a sample whose logits are made (`run.logit_tokens`)."""
    context_limit: int | None
    """Most tokens of the context that count, those of a sliding window; null where all do."""


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
    """Elements an operator really moves of a tensor when that is not all of it: the rows an
    embedding gathers, the slice an index reads, what an in-place copy writes, the experts that
    tokens choose. Without a row, the whole tensor moves."""

    TABLE: ClassVar[str] = "access_term"
    KEY: ClassVar[tuple[str, ...]] = (
        "model", "operator_id", "tensor_id", "batch_power", "sequence_power", "context_power", "logit_power",
    )  # fmt: skip

    operator_id: int
    """Operator that reads or writes."""
    tensor_id: int
    """Tensor read or written."""
    draw_fraction: float | None
    """Share of the tensor that each of many independent random draws moves, alike on all terms: the elements then count
    twice what two draws have in common. Null where they count nothing twice, or less than the whole tensor."""
    coefficient: float
    """Factor of the term."""
    batch_power: int
    """Exponent of the batch."""
    sequence_power: int
    """Exponent of the sequence length."""
    context_power: int
    """Exponent of the context length."""
    logit_power: int
    """Exponent of the tokens of a sample whose logits are made (`run.logit_tokens`)."""
    context_limit: int | None
    """Most tokens of the context that count, those of a sliding window; null where all do."""
