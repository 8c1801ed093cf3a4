"""Tables that say under which conditions a model is asked about, and what was measured."""

from __future__ import annotations

from typing import Annotated, ClassVar

from .ranges import Ordinal, Plausible, Possible
from .row import Row


class Scenario(Row):
    """Conditions of a run. A null size means the model's own default."""

    TABLE: ClassVar[str] = "scenario"
    KEY: ClassVar[tuple[str, ...]] = ("scenario_id",)

    scenario_id: Ordinal
    """Key."""
    batch: Annotated[int, Plausible(1, 65536)]
    """Samples in one run."""
    sequence: Annotated[int | None, Plausible(1, 1e8)]
    """Tokens processed a sample; null takes the model's default."""
    context: Annotated[int | None, Plausible(1, 1e8)]
    """Tokens attended to a sample; null equals the sequence."""
    phase: str
    """`forward`, `prefill` or `decode`."""
    precision: str
    """Precision policy, `precision_policy.policy`."""
    backend: str
    """Backend."""
    engine_version: str | None
    """Version of the backend, `engine_version.engine_version`; null takes the one that is assumed of it."""
    kv_precision: str | None
    """Format in which keys and values stay between tokens, a `precision`; null as the policy writes them."""
    device_count: Annotated[int | None, Plausible(1, 1024)]
    """Devices that share each kernel by tensor parallel; null is one."""
    weight_host_fraction: Annotated[float | None, Possible(0, 1), Plausible(0, 1)]
    """Share of the weights that lies in the host's memory and comes over the link in every step; null is none."""
    cache_host_fraction: Annotated[float | None, Possible(0, 1), Plausible(0, 1)]
    """Share of the key-value cache that does; null is none."""
    input_host_fraction: Annotated[float | None, Possible(0, 1), Plausible(0, 1)]
    """Share of the inputs that lies in the host's memory and comes over the link before every run; null is none."""
    memory_format: str
    """`nchw` or `nhwc`."""
    host_factor: Annotated[float, Plausible(0.02, 50)]
    """Host dispatch time relative to the reference host; 1 is the reference."""
    cache_state: str
    """`warm` when the last-level cache may hold a tensor from its producer, `cold` when never, `hot` when
    everything a kernel touches is there if it fits, as when one operator runs again and again."""
    power: str | None
    """Power mode by the name that parts give it, or a limit in watts, e.g. `150w`; null takes each part's default."""
    origin: str
    """`charz` for a shipped default, `user` for one added by `charz scenario add`."""


class Measurement(Row):
    """One measured run of a model."""

    TABLE: ClassVar[str] = "measurement"
    KEY: ClassVar[tuple[str, ...]] = ("measurement_id",)

    measurement_id: Ordinal
    """Key."""
    model: str
    """Model as the source names it."""
    model_source: str | None
    """What `charz ingest` would be asked for to get this model, e.g. `timm:resnet50` (joins
    `model.source`, with the resolution), or the name of one ingested model. Null when the name is not
    known to charz."""
    hardware: str | None
    """Part it was matched to; null when not in the catalog."""
    hardware_name: str
    """Part as the source names it, without the number of parts."""
    device_count: int
    """Parts that worked on it together."""
    backend: str
    """Backend."""
    software: str | None
    """Version of the framework, e.g. `pt240`: versions that differ are scored apart."""
    mode: str
    """`run` (back-to-back runs of one batch), `single_stream`, `multi_stream`, `offline`, `server`,
    `served` (through a server whose share is in the figure) or `decode` (time per output token)."""
    precision: str
    """Precision policy."""
    memory_format: str
    """`nchw` or `nhwc`."""
    batch: int | None
    """Samples in one run."""
    sequence: int | None
    """Tokens a sample, for a sequence model."""
    resolution: int | None
    """Image height and width. [pixel]"""
    latency_s: float | None
    """Time of one run. [s]"""
    throughput_per_s: float | None
    """Samples a second. [1/s]"""
    energy_j: float | None
    """Energy of one run. [J]"""
    energy_scope: str | None
    """`gpu`, `board` or `wall`; never compared across."""
    energy_per: str | None
    """What the energy was counted for: `run`, `sample`, `image`, `video`, `token` or `request`."""
    peak_memory_byte: float | None
    """Peak memory. [byte]"""
    parameter_count: float | None
    """Parameters of the network that ran, as the source counts them; null where it does not say."""
    source_id: str
    """Data set it comes from."""
    note: str | None
    """Anything a reader must know."""


class OperatorMeasurement(Row):
    """One measured operator."""

    TABLE: ClassVar[str] = "operator_measurement"
    KEY: ClassVar[tuple[str, ...]] = ("operator_measurement_id",)

    operator_measurement_id: Ordinal
    """Key."""
    model: str | None
    """Model it ran in; null for a micro-benchmark."""
    operator: str
    """Operator as the source names it."""
    operator_class: str
    """Class of the cost model."""
    hardware: str | None
    """Part it was matched to; null when not in the catalog."""
    hardware_name: str
    """Part as the source names it."""
    backend: str
    """Backend."""
    precision: str
    """Element type."""
    shape: str
    """Dimensions as text."""
    macs: float | None
    """Multiply-accumulates; null when the source does not tell."""
    flops: float | None
    """Operations; null when the source does not tell."""
    traffic_byte: float | None
    """Unique bytes moved; null when the source does not tell. [byte]"""
    latency_s: float
    """Time. [s]"""
    source_id: str
    """Data set it comes from."""
