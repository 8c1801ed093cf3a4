"""Tables of several devices: collectives, networks, splits, and training on them."""

from __future__ import annotations

from typing import Annotated, ClassVar

from ..ranges import HUGE, TINY, Plausible, Possible
from ..row import Row


class Collective(Row):
    """The cost of a collective call on a kind of link, in a ring: the time of V bytes on n devices is
    `latency_s * (call_fraction + step_fraction * steps) + share * V / (bandwidth_fraction * bandwidth_byte_per_s)`,
    with n - 1 steps and a share of (n - 1) / n, twice that for an all-reduce."""

    TABLE: ClassVar[str] = "collective"
    KEY: ClassVar[tuple[str, ...]] = ("interconnect",)

    interconnect: str
    """`hardware_interconnect.interconnect`, or `*` for links without their own row."""
    call_fraction: Annotated[float, Possible(0, HUGE), Plausible(0.01, 100)]
    """Time to start and finish a call, as a share of the link's latency."""
    step_fraction: Annotated[float, Possible(0, HUGE), Plausible(0.001, 100)]
    """Time of each step of the ring, as a share of the link's latency."""
    bandwidth_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.05, 1)]
    """Share of the link's bandwidth that messages reach."""
    direct_call_fraction: Annotated[float, Possible(0, HUGE), Plausible(0.01, 100)]
    """Time of an all-reduce in one kernel of a server, whose devices read one another, without the bytes, as a share of the link's
    latency (`direct_time`)."""
    direct_bandwidth_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.05, 1)]
    """Share of the link's bandwidth that it reaches."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class Network(Row):
    """The network between nodes, for one of the part's ports."""

    TABLE: ClassVar[str] = "network"
    KEY: ClassVar[tuple[str, ...]] = ("of_part",)

    of_part: str
    """Part whose nodes it joins, or `*` for parts without their own row."""
    network: str
    """Name, e.g. `infiniband_hdr`."""
    network_byte_per_s: Annotated[float, Plausible(1e8, 1e12)]
    """Bandwidth in one direction for each part of a node. [byte/s]"""
    network_s: Annotated[float, Possible(0, HUGE), Plausible(1e-7, 1e-3)]
    """Time of an empty message. [s]"""
    node_device_count: Annotated[int, Plausible(1, 1e3)]
    """Parts per node."""
    network_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.05, 1)]
    """Share of that bandwidth that collectives reach."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class Optimizer(Row):
    """Memory and traffic of an optimizer per trained weight."""

    TABLE: ClassVar[str] = "optimizer"
    KEY: ClassVar[tuple[str, ...]] = ("optimizer",)

    optimizer: str
    """Name, e.g. `adam`."""
    gradient_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 16)]
    """Gradient kept per weight. [byte]"""
    master_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 16)]
    """Single-precision copy per weight; 0 if weights are in single precision. [byte]"""
    state_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 16)]
    """Moments kept per weight. [byte]"""
    moved_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 100)]
    """Bytes that a step reads and writes per weight. [byte]"""
    bandwidth_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.1, 1)]
    """Share of main-memory bandwidth that its step reaches."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class Framework(Row):
    """The training behaviour of a framework. At most three of its factors are fitted: `kernel_factor`, `overlap_fraction` and one of
    `attention_factor` and `tensor_fraction`."""

    TABLE: ClassVar[str] = "framework"
    KEY: ClassVar[tuple[str, ...]] = ("framework",)

    framework: str
    """Name, e.g. `megatron`; `plain` is an ideal framework: kernels as fast as the backend's."""
    backend: str
    """Backend whose times the factors multiply; `*` for a framework tied to no backend."""
    is_default: bool
    """True for the framework assumed on its backend if none is named; with `*`, on any backend without its own."""
    kernel_factor: Annotated[float, Possible(TINY, HUGE), Plausible(0.2, 5)]
    """Time of its kernels relative to charz's backend."""
    attention_factor: Annotated[float | None, Possible(TINY, HUGE), Plausible(0.2, 5)]
    """Time of its attention kernels relative to charz's backend; null: `kernel_factor`."""
    warpgroup_attention_factor: Annotated[float | None, Possible(TINY, HUGE), Plausible(0.2, 5)]
    """`attention_factor` on parts whose tensor cores are driven by groups of warps (`part.matrix_instruction`), an instruction that
    kernels written for earlier parts do not use; null: `kernel_factor`."""
    overlap_fraction: Annotated[float, Possible(0, 1), Plausible(0, 1)]
    """Share of the computing time that transfers of gradients and weights overlap."""
    tensor_fraction: Annotated[float, Possible(0, 1), Plausible(0, 1)]
    """Share of tensor-parallel traffic that no computation hides."""
    reduce_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 8)]
    """Gradient bytes sent per weight. [byte]"""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class DeviceSplit(Row):
    """A split of training or serving over tensor x context x data x pipeline devices; ranks in that order."""

    TABLE: ClassVar[str] = "device_split"
    KEY: ClassVar[tuple[str, ...]] = ("split",)

    split: str
    """Name of the split: its degrees of tensor (tp), pipeline (pp), context (cp), data (dp) and expert (ep) parallelism above 1, or `one`."""
    framework: str | None
    """Framework that trains, `framework.framework`; null: the backend's default."""
    optimizer: str
    """Optimizer, `optimizer.optimizer`."""
    tensor: int
    """Number of devices that share each product (Shoeybi et al. 2019)."""
    pipeline: int
    """Number of pipeline stages, each with consecutive layers (Narayanan et al. 2021)."""
    interleave: int
    """Number of groups of layers on each pipeline stage."""
    context: int
    """Number of devices that share the tokens of a sample."""
    data: int
    """Number of replicas, each with its own samples."""
    expert: int
    """Number of the `context` x `data` devices over which experts are spread."""
    micro_batches: int
    """Micro batches of a replica per step."""
    zero_stage: Annotated[int, Possible(0, 3)]
    """State that replicas shard (Rajbhandari et al. 2019): 0 none, 1 the optimizer's states, 2 gradients too, 3 weights too, as fully
    sharded data parallel does."""
    recompute: str
    """Activations that the backward pass recomputes: `none`, `selective` (the core of attention) or `full` (each layer from its input)."""
    is_sequence_parallel: bool
    """True if operators that tensor parallelism leaves whole are split along the tokens."""
    block_count: int | None
    """Number of layers that replaces the model's own; null: the model's."""
    adapter_rank: int | None
    """Rank of the adapters that are trained instead of the weights; null if the weights are trained."""
    frozen_precision: str | None
    """Format in which untrained weights are kept; null: their own."""
