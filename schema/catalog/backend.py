"""Tables of backends, their versions and their fusion rules."""

from __future__ import annotations

from typing import Annotated, ClassVar

from ..ranges import HUGE, Plausible, Possible
from ..row import Row


class Backend(Row):
    """A way to execute a graph."""

    TABLE: ClassVar[str] = "backend"
    KEY: ClassVar[tuple[str, ...]] = ("backend",)
    RANGES_BY: ClassVar[tuple[str, ...]] = ("backend",)

    backend: str
    """`eager`, `inductor`, `tensorrt`, `onnxruntime`, `openvino`, `xla`, `kpu`, or one of these with the suffix `_unfused` or `_graph`."""
    name: str
    """Full name."""
    unfused_backend: str | None
    """Backend that runs the same graph with one kernel per operator; the comparison shows the savings of fusion. Null: none. If it has no
    rows in `backend_support`, it runs where this backend does, with its dispatch, efficiencies and bands."""
    captures: str | None
    """Backend whose kernels it runs, captured into a graph that the host launches as a whole (CUDA graphs) or, on parts of other families,
    grouped by layers that stay on chip. That backend's fusion rules apply, and no kernel waits for the host. Null: none."""
    folds_norm: bool
    """True if the backend treats weights as constants: it folds batch normalization into the preceding weights and computes once what
    depends on weights alone."""
    casts_are_kernels: bool
    """True if each conversion of an activation is a separate kernel."""
    weight_casts_are_kernels: bool
    """True if weights are converted in every run."""
    follows_strides: bool
    """True if operators run one by one on tensors in their stored memory layout, with a conversion where a kernel needs another one."""
    plans_layout: bool
    """True if the backend chooses the memory format of images itself (`model.planned_format`)."""
    stores_wide: bool
    """True if the backend stores the single-precision source of a reused activation instead of the activation itself
    (`kernel_tensor.is_wide`)."""
    plans_memory: bool
    """True if a result takes over the memory of an operand or of an earlier result that is not read again
    (`tensor_lifetime.block_tensor_id`)."""
    calls_aten: bool
    """True if convolutions are calls of PyTorch's ATen and memory on a processor comes from the C library's `malloc`."""
    adds_bias_kernels: bool
    """True if, on some parts (`backend_support.bias_is_kernel`), the backend adds the bias of a convolution in a separate kernel."""
    workspace_fraction: Annotated[float, Possible(0, 10), Plausible(0, 2)]
    """Scratch memory as a share of peak activations."""
    trains: bool
    """True if the backend runs a backward pass; backends that only serve trained models do not."""
    serves: bool
    """True for a server of language models: it runs only models with a key-value cache, computes logits only for the last token of a
    prompt, and processes prompts in chunks."""
    chunk_tokens: Annotated[float | None, Plausible(64, 1e6)]
    """Largest number of prompt tokens that a server processes in one step, over all prompts; null for other backends."""
    reserve_fraction: Annotated[float, Possible(0, 0.9), Plausible(0, 0.5)]
    """Share of a part's main memory that a server leaves free."""
    activation_bits: Annotated[int | None, Plausible(4, 64)]
    """Fewest bits in which the backend stores activations between kernels; null: the policy decides."""
    vector_rows: Annotated[int | None, Plausible(1, 1024)]
    """Largest number of rows of a product that the backend multiplies with its own kernels on the vector units; null if it has none."""
    causal_block: Annotated[int | None, Plausible(1, 1024)]
    """Queries that its attention processes together, skipping keys that a causal mask hides from all of them; null if it computes every
    score. FlashAttention-2 takes 128 (arXiv:2307.08691, `flash_fwd_launch_template.h`)."""
    drops_chunks: bool
    """True if layers whose queries attend only to their own chunk of the context (Llama 4) keep keys and values of the current chunk only;
    false if they keep the whole context."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class BackendSupport(Row):
    """A family that a backend runs on, and the dispatch costs there. A backend without rows that is the `backend.unfused_backend` of
    another uses the other's rows."""

    TABLE: ClassVar[str] = "backend_support"
    KEY: ClassVar[tuple[str, ...]] = ("backend", "family", "vendor")
    # A row with `dispatch` = `graph` belongs to the kind `graph`, whatever its backend.
    RANGES_BY: ClassVar[tuple[str, ...]] = ("backend",)

    backend: str
    """Backend."""
    family: str
    """Hardware family."""
    vendor: str
    """Maker of the part, or `*` for every one."""
    is_default: bool
    """True for the backend that answers assume on this family and vendor, and for the server that answers about serving assume; a part
    without such a row takes the first backend by name."""
    default_precision: str
    """Policy that the backend follows if a user asks for single precision without further options."""
    dispatch: str
    """`async_queue` (the host runs ahead of the device), `serial` (their times add) or `graph` (one launch)."""
    host_kernel_s: Annotated[
        float,
        Possible(0, HUGE),
        Plausible(1e-7, 1e-3),
        # The host issues the whole graph at once.
        Plausible(0, 1e-3, of="graph"),
    ]
    """Host time to issue one kernel. [s]"""
    host_view_s: Annotated[float, Possible(0, HUGE), Plausible(0, 1e-3)]
    """Host time of a view; 0 if views are compiled away. [s]"""
    run_s: Annotated[float, Possible(0, HUGE), Plausible(1e-7, 0.1)]
    """Host time paid once per run. [s]"""
    kernel_gap_fraction: Annotated[float, Possible(0, HUGE), Plausible(0.05, 20)]
    """Share of the part's own gap between kernels that remains under this backend."""
    bias_is_kernel: bool
    """True if a separate kernel adds the bias of a convolution; only for a backend with `adds_bias_kernels`."""
    sums_in_half: bool
    """True if vector units accumulate half-precision products in half precision, at their rate for it."""
    chunk_element: Annotated[
        float | None,
        Plausible(16, 1e6),
        Plausible(16, 1e6, of="eager", family="cpu", is_needed=True),
        Plausible(16, 1e6, of="inductor", family="cpu", is_needed=True),
    ]
    """Fewest elements of a loop per thread: below it, fewer threads run the loop. Null if unknown or not applicable."""
    shares_by_chunk: bool
    """True if the number of threads of a loop is its elements / `chunk_element`; false if a loop runs on all threads or one."""
    efficiency_backend: str | None
    """Backend whose efficiencies apply, as assumed, where this backend has none; null: none."""
    calls_library: bool
    """True if a server that keeps activations in single precision calls a library for products of many rows: operands are written out in
    16 bits for it (`library_call`), and it accumulates halves in half precision."""
    converts: bool
    """True if the backend runs policies in a format that the part lacks by computing in the wider `precision.fallback`."""
    packed_precision: str | None
    """Format in which the backend multiplies weights in packed blocks (`precision.kind`), after converting activations to it. Null if it
    unpacks the weights and computes in the policy's format."""
    efficient_core_ratio: Annotated[float | None, Possible(0, HUGE), Plausible(0.5, 16)]
    """Largest number of efficient cores per performance core at which the backend computes on the performance cores alone; twice as many
    for types of 8 bits and fewer. Null if the backend uses all cores."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class DeviceContext(Row):
    """Memory of a part that a framework's process takes in addition to its tensors: the driver's context, the stacks of all resident
    threads, and kernel code. A row that names the backend wins over one that names the maker; no row: nothing is taken."""

    TABLE: ClassVar[str] = "device_context"
    KEY: ClassVar[tuple[str, ...]] = ("backend", "family", "vendor")

    backend: str
    """Backend, or `*` for every one."""
    family: str
    """Hardware family."""
    vendor: str
    """Maker of the part, or `*` for every one."""
    context_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 4e9)]
    """Memory taken on every part of the kind: the driver's own and kernel code. [byte]"""
    thread_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 65536)]
    """Stack per resident thread of the part. [byte]"""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class DefaultBackend(Row):
    """The backend usual on parts of a kind in a number format, where it differs from `backend_support.is_default`: answers assume it if
    none is named (`assumed_backend`). The row with the fewest `*` wins."""

    TABLE: ClassVar[str] = "default_backend"
    KEY: ClassVar[tuple[str, ...]] = ("family", "vendor", "market", "precision")

    family: str
    """Hardware family."""
    vendor: str
    """Maker of the part, or `*` for every one."""
    market: str
    """Market of the part (`hardware.market`), or `*` for every one."""
    precision: str
    """Precision policy, or `*` for every one."""
    backend: str
    """Backend."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class EngineVersion(Row):
    """Host costs of each step under one version of a backend, whatever the part. The version is a condition of a run, as its precision is;
    at most three of its numbers are fitted."""

    TABLE: ClassVar[str] = "engine_version"
    KEY: ClassVar[tuple[str, ...]] = ("backend", "engine_version")

    backend: str
    """Backend."""
    engine_version: str
    """Version as its maker writes it, or year and month of the measurements."""
    is_assumed: bool
    """True for the version that answers assume for the backend."""
    step_s: Annotated[float, Possible(0, HUGE), Plausible(0, 0.1)]
    """Host time of a step that the device waits for: scheduling, inputs, the launch of a graph, sampling. [s]"""
    sample_s: Annotated[float, Possible(0, HUGE), Plausible(0, 0.01)]
    """Further host time per sample of the step. [s]"""
    kernel_s: Annotated[float, Possible(0, HUGE), Plausible(0, 1e-3)]
    """Further time, on top of the part's gap, of each kernel that a step launches one by one because no graph is captured. [s]"""
    kernel_sample_s: Annotated[float, Possible(0, HUGE), Plausible(0, 1e-4)]
    """Further time of each kernel per sample of the step. [s]"""
    prompt_kernel_s: Annotated[float, Possible(0, HUGE), Plausible(0, 1e-3)]
    """Further time of each kernel of a prompt: only steps of one token are captured as graphs. [s]"""
    merges_kernels: bool
    """True if the engine runs kernels of its own that do the work of several (`merged_kernel`), and all-reduces that read all devices at
    once (`collective.direct_call_fraction`)."""
    quantizes_apart: bool
    """True if a kernel of its own scales the activations of each linear layer that is computed in 8 bits or fewer, and in 4 bits another orders
    the scales of their blocks."""
    linear_vector_rows: Annotated[int | None, Plausible(1, 1024)]
    """Largest number of rows at which a linear layer's product runs at the pace of the vector units, whatever the matrix units would
    reach; null if it uses the matrix units."""
    paged_heads: Annotated[float | None, Plausible(1, 1e6)]
    """Number of query heads, summed over the samples of a step, above which each head reads its shared keys and values for itself; null if
    they are read once."""
    paged_ratio: Annotated[float | None, Plausible(1, 20)]
    """Time of those reads relative to reading as many bytes in order; null if there are no such reads."""
    convert_ops: Annotated[float | None, Possible(0, HUGE), Plausible(1, 1000)]
    """Operations with which a lane converts one element of the cache to the arithmetic's format, for each query head, on a part that does
    not compute in the cache's format; null if no such cost is known."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    note: str | None
    """Data that the numbers were fitted to."""


class EngineRequirement(Row):
    """Least compute capability of NVIDIA's parts on which a server runs, from one of its releases on until the next row."""

    TABLE: ClassVar[str] = "engine_requirement"
    KEY: ClassVar[tuple[str, ...]] = ("backend", "since_version")

    backend: str
    """Server, `backend.backend`."""
    since_version: str
    """First release to which the row applies."""
    least_compute_capability: str
    """Least compute capability, as in `hardware.compute_capability`."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    note: str | None
    """Releases whose documents state it."""


class LaunchFlag(Row):
    """A part of the command that starts a server or trainer, for one setting of an answer (`charz llm --launch`, `charz train --launch`). Flags
    with a package were compared with the argument parser of that version; flags without one are unchecked."""

    TABLE: ClassVar[str] = "launch_flag"
    KEY: ClassVar[tuple[str, ...]] = ("engine", "setting", "value")

    engine: str
    """Server: `vllm`, `sglang`, `trtllm` or `llama.cpp`; or trainer: `trl`."""
    setting: str
    """Setting of the answer, such as `tensor` or `kv_precision`; `assumed` for an assumption of charz."""
    value: str
    """Value of the setting that the row is for, or `*` for every one."""
    words: str | None
    """Words of the command, with numbers of the answer in braces; null if no flag sets it."""
    package: str | None
    """Package of the index whose argument parser has the flags; null: unchecked."""
    package_version: str | None
    """Version of the package."""
    since_version: str | None
    """Earliest version of the package whose parser was compared and has the flags too; null: no other version was compared."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    note: str | None
    """Difference between what the program does and what charz assumes; null if none is known."""


class ExpertSkew(Row):
    """Skew with which the tokens of a family of models choose experts. A family without a row chooses them evenly."""

    TABLE: ClassVar[str] = "expert_skew"
    KEY: ClassVar[tuple[str, ...]] = ("architecture_family",)

    architecture_family: str
    """Family of models, `model.architecture_family`."""
    skew: Annotated[float, Possible(0, 5), Plausible(0, 2.5)]
    """Standard deviation of the logarithm of an expert's share of the tokens (`met_share`)."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    note: str | None
    """Data that the number was fitted to."""


class FusionRule(Row):
    """A producer that a backend runs in one kernel with its consumer.

    If a pair has several rows, all of their conditions must be true. A row for an ATen operator wins over one for its class.
    """

    TABLE: ClassVar[str] = "fusion_rule"
    KEY: ClassVar[tuple[str, ...]] = ("backend", "producer_class", "consumer_class", "condition")

    backend: str
    """Backend the rule applies to."""
    producer_class: str
    """Class of the operator that writes the tensor, or an ATen operator such as `aten.add`."""
    consumer_class: str
    """Class of the operator that reads it, or an ATen operator."""
    condition: str
    """`always`, `single_consumer` (no other operator reads the tensor), `same_elements` (the consumer writes as many elements as the
    producer, or as a reduction reads), `chained` (the producer itself runs in the kernel of one of its operands), `innermost` (the
    consumer does not reduce images over pixels where these are planned channels-last) or `inlined` (the producer is not an activation
    whose argument is stored in its place)."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
