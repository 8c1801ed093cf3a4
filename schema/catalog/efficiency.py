"""Tables of fitted and measured efficiencies, and of bands of predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from ..ranges import HUGE, TINY, Plausible, Possible, Size
from ..row import Row

FIRST_OWN_ID = 1_000_000
"""Least `efficiency_id` of a row that charz writes into a database: lower ones are the shipped catalog's, also in later versions."""
FIRST_OF_CLIENTS = 2_000_000
"""Least `efficiency_id` of a row that a client inserts without a number."""


class Efficiency(Row):
    """Share of a peak that well-written kernels reach, a saturation curve in the kernel's size.

    `fraction = maximum_fraction * w / (w + half_work)`, with w the work per occupied unit. The most specific row wins: the part's own,
    then a sibling's (`lending_part`), its architecture's and its family's.
    """

    TABLE: ClassVar[str] = "efficiency"
    KEY: ClassVar[tuple[str, ...]] = (
        "scope", "backend", "kernel_class", "operator_name", "precision_class", "memory_format", "resource",
    )  # fmt: skip
    RANGES_BY: ClassVar[tuple[str, ...]] = ("resource", "backend")
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("backend", "kernel_class", "operator_name", "precision_class", "memory_format"), "'*'"),
        "half_work": "0",
        "source_id": "'assumption'",
        "confidence": "'assumed'",
    }
    NUMBERS_FROM: ClassVar[int | None] = FIRST_OF_CLIENTS
    NUMBERED: ClassVar[str | None] = "efficiency_id"

    efficiency_id: Annotated[int, Possible(1, HUGE)]
    """Number by which an answer refers to the row; never reused. Rows fitted in a database start at a million; a client's INSERT may leave
    it out, and then the number is above two million."""
    scope: str
    """`hardware:NAME`, `architecture:NAME`, `family:NAME` or `*`."""
    backend: str
    """Backend, or `*`."""
    kernel_class: str
    """Class of the kernel's anchor, or `*`."""
    operator_name: str
    """ATen operator of the anchor (`aten.gelu`), within that class; `*` for all."""
    precision_class: str
    """Operand precision, or `*`."""
    memory_format: str
    """Memory layout of the anchor's tensors (`kernel_cost.layout`), or `*`."""
    resource: str
    """`matrix`, `vector` (shares of peak arithmetic), `memory` (share of peak bandwidth), `overlap` (share of the shorter of arithmetic
    and memory time that overlaps the longer), `residency` (share of a last-level cache that keeps data from kernel to kernel; all of it
    if software manages the level), `reorder` (share of peak bandwidth at which a library reorders weights and images, or copies a bias
    into the result, at every call; no row: nothing is reordered), `paging` (share of peak bandwidth at which the system hands out fresh
    pages; no row: memory is kept from run to run), `thread` (share of one unit's bandwidth,
    `hardware_memory.unit_bandwidth_byte_per_s`, that a single-threaded loop reaches; no row: unknown) or `flight` (mean number of
    loads that a resident thread keeps in flight; no row: bandwidth limits the kernel)."""
    maximum_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.005, 1)]
    """Share of the peak that a large kernel reaches, above 0 and at most 1. For `matrix`, the share of the rate of its tiles
    (`tiling_strategy`)."""
    half_work: Annotated[
        float,
        Possible(0, HUGE),
        Plausible(0, 1e8),
        Plausible(0.01, 100, of="thread.inductor"),
        Plausible(10, 1e7, of="matrix.eager", family="gpu"),
        Plausible(10, 1e7, of="matrix.inductor", family="gpu"),
        Plausible(10, 1e7, of="matrix.inductor", family="cpu"),
        Plausible(10, 1e6, of="memory.eager", family="gpu"),
        Plausible(10, 1e6, of="memory.inductor", family="gpu"),
    ]
    """Work per unit at which half of that is reached: operations for arithmetic, bytes for memory. For `thread`, the time in which the
    backend's thread team starts and finishes, as a multiple of the part's (`hardware_overhead`, `team`)."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    note: str | None
    """Data that the row was fitted to, or the reason for an assumption."""


class PredictionBand(Row):
    """Distance of measurements from predictions: quantiles of measured / predicted on rows that the fit did not see. The most specific row
    wins: the part's own before its family's."""

    TABLE: ClassVar[str] = "prediction_band"
    KEY: ClassVar[tuple[str, ...]] = ("scope", "backend", "batch_class", "quantity")

    scope: str
    """`hardware:NAME`, `family:NAME` or `*`."""
    backend: str
    """Backend, or `*`."""
    batch_class: str
    """`1`, `2-8`, `9-64`, `>64` samples, or `*`."""
    quantity: str
    """`latency` or `energy` of a run; `ttft` or `tpot` of a server under load."""
    low_factor: Annotated[float, Plausible(0.01, 10)]
    """Tenth percentile of measured / predicted."""
    high_factor: Annotated[float, Plausible(0.1, 100)]
    """Ninetieth percentile of measured / predicted."""
    median_error_fraction: Annotated[float | None, Plausible(0, 10)]
    """Median of |predicted / measured - 1|; null if it was not recorded."""
    row_count: Size
    """Number of measurements used; 0 if assumed."""
    part_count: Size
    """Number of measured parts."""
    parts: str | None = None
    """Measured parts of a server under load, joined by commas."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class LibraryConstant(Row):
    """A number built into a library, an allocator or a compiler, or assumed of a part's owner."""

    TABLE: ClassVar[str] = "library_constant"
    KEY: ClassVar[tuple[str, ...]] = ("library_constant",)
    RANGES_BY: ClassVar[tuple[str, ...]] = ("library_constant",)

    library_constant: str
    """Name, e.g. `mapped_block_byte`."""
    value: Annotated[
        float,
        Plausible(1, 1e9),
        Plausible(32, 1024, of="vector_block_threads"),
        Plausible(1, 256, of="blocked_channels"),
        Plausible(64, 1e6, of="aliased_row_byte"),
        Plausible(1, 1e4, of="depthwise_taps"),
        Plausible(1, 1e4, of="depthwise_half_taps"),
        Plausible(1, 1e4, of="depthwise_short_taps"),
        Plausible(1, 1e4, of="depthwise_least_channels"),
        Plausible(1, 1e4, of="depthwise_least_width"),
        Plausible(1, 1e4, of="depthwise_strided_channels"),
        Plausible(1, 1e4, of="depthwise_large_channels"),
        Plausible(1, 1e4, of="depthwise_large_width"),
        Plausible(1e6, 1e11, of="depthwise_large_elements"),
        Plausible(16, 1e5, of="allocator_block_byte"),
        Plausible(16, 1e6, of="native_convolution_elements"),
        Plausible(32, 1024, of="norm_block_threads"),
        Plausible(1000, 2e5, of="owned_h"),
        Possible(TINY, 1, of="owned_use_fraction"),
        Plausible(0.01, 1, of="owned_use_fraction"),
        Plausible(0, 1e5, of="host_usd"),
        Plausible(1, 10, of="power_factor"),
        Plausible(0, 10, of="electricity_usd_per_kwh"),
    ]
    """Value, in `unit`."""
    unit: str
    """`byte`, `element`, `channel`, `thread`, `clock`, `h`, `USD`, `USD/kWh` or `1`."""
    decides: str
    """Subject of the constant: `memory` (memory that a run uses), `processor` (kernels of a backend that calls ATen, on a processor),
    `unit` (distribution of work over a part's units) or `price` (hourly cost of a part that nobody rents out)."""
    source_id: str
    """Source of the value."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    note: str | None
    """Effect of the constant."""
