"""Tables of the conditions under which a model is predicted, and of measurements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from .conditions import CLIENTS_FROM
from .ranges import Ordinal, Plausible, Possible
from .row import Row


class Scenario(Row):
    """Conditions of a run. A null size means the model's own default."""

    TABLE: ClassVar[str] = "scenario"
    KEY: ClassVar[tuple[str, ...]] = ("scenario_id",)
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        "batch": "1",
        "phase": "'forward'",
        "memory_format": "'nchw'",
        "host_factor": "1",
        "cache_state": "'warm'",
        "origin": "'user'",
    }
    NUMBERS_FROM: ClassVar[int | None] = CLIENTS_FROM

    scenario_id: Ordinal
    """Key; a client's INSERT may leave it out, and then the number is above 1,000,000."""
    batch: Annotated[int, Plausible(1, 65536)]
    """Samples in one run."""
    sequence: Annotated[int | None, Plausible(1, 1e8)]
    """Tokens processed per sample; null: the model's default."""
    context: Annotated[int | None, Plausible(1, 1e8)]
    """Tokens attended to per sample; null: the sequence."""
    phase: str
    """`forward`, `prefill` or `decode`."""
    precision: str
    """Precision policy, `precision_policy.policy`."""
    backend: str
    """Backend."""
    engine_version: str | None
    """Version of the backend, `engine_version.engine_version`; null: its assumed version."""
    kv_precision: str | None
    """Format of the KV cache, a `precision`; null: the format in which the precision policy produces keys and values."""
    device_count: Annotated[int | None, Plausible(1, 1024)]
    """Number of devices that share each kernel by tensor parallelism; null: one."""
    weight_host_fraction: Annotated[float | None, Possible(0, 1), Plausible(0, 1)]
    """Share of the weights in the host's memory, transferred over the link in every step; null: 0."""
    cache_host_fraction: Annotated[float | None, Possible(0, 1), Plausible(0, 1)]
    """Share of the KV cache in the host's memory, transferred over the link in every step; null: 0."""
    input_host_fraction: Annotated[float | None, Possible(0, 1), Plausible(0, 1)]
    """Share of the inputs in the host's memory, transferred over the link before every run; null: 0."""
    memory_format: str
    """`nchw` or `nhwc`."""
    host_factor: Annotated[float, Plausible(0.02, 50)]
    """Host dispatch time relative to the reference host; 1 is the reference."""
    cache_state: str
    """State of the last-level cache: `warm` (a tensor may still be cached from its producer), `cold` (no tensor is cached) or `hot` (all
    data of a kernel that fit are cached, as when one operator runs repeatedly)."""
    power: str | None
    """Name of a power mode of the part, or a limit in watts, e.g. `150w`; null: each part's default."""
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
    """Argument of `charz ingest` for this model, e.g. `timm:resnet50` (joins `model.source`, with the resolution), or the name of one
    ingested model. Null if charz does not know the name."""
    hardware: str | None
    """Catalog part on which the measurement ran; null if not in the catalog."""
    hardware_name: str
    """Part as the source names it, without the number of parts."""
    device_count: int
    """Number of parts that ran together."""
    backend: str
    """Backend."""
    software: str | None
    """Version of the framework, e.g. `pt240`: each version is scored separately."""
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
    """Tokens per sample, for a sequence model."""
    resolution: int | None
    """Image height and width. [pixel]"""
    latency_s: float | None
    """Time of one run. [s]"""
    throughput_per_s: float | None
    """Samples per second. [1/s]"""
    energy_j: float | None
    """Energy of one run. [J]"""
    energy_scope: str | None
    """`gpu`, `board` or `wall`; values of different scopes are never compared."""
    energy_per: str | None
    """Unit of work of the energy: `run`, `sample`, `image`, `video`, `token` or `request`."""
    peak_memory_byte: float | None
    """Peak memory. [byte]"""
    parameter_count: float | None
    """Parameters of the network that ran, as the source counts them; null if not stated."""
    source_id: str
    """Data set of the measurement."""
    note: str | None
    """Anything a reader must know."""


class OperatorMeasurement(Row):
    """One measured operator."""

    TABLE: ClassVar[str] = "operator_measurement"
    KEY: ClassVar[tuple[str, ...]] = ("operator_measurement_id",)

    operator_measurement_id: Ordinal
    """Key."""
    model: str | None
    """Model in which the operator ran; null for a micro-benchmark."""
    operator: str
    """Operator as the source names it."""
    operator_class: str
    """Class of the cost model."""
    hardware: str | None
    """Catalog part on which the measurement ran; null if not in the catalog."""
    hardware_name: str
    """Part as the source names it."""
    backend: str
    """Backend."""
    precision: str
    """Element type."""
    shape: str
    """Dimensions as text."""
    macs: float | None
    """Multiply-accumulates; null if not stated."""
    flops: float | None
    """Operations; null if not stated."""
    traffic_byte: float | None
    """Unique bytes moved; null if not stated. [byte]"""
    latency_s: float
    """Time. [s]"""
    source_id: str
    """Data set of the measurement."""
