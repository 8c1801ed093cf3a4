"""Table of tiling strategies."""

from __future__ import annotations

from typing import Annotated, ClassVar

from ..ranges import HUGE, Ordinal, Plausible, Possible, Share, Size
from ..row import Row


class TilingStrategy(Row):
    """A candidate tile of a tiling strategy; each kernel uses its fastest candidate.

    A size of 0 is fitted: the engine computes the largest tile that the capacity rule allows.
    """

    TABLE: ClassVar[str] = "tiling_strategy"
    KEY: ClassVar[tuple[str, ...]] = ("family", "candidate")
    RANGES_BY: ClassVar[tuple[str, ...]] = ("strategy",)

    strategy: str
    """Name, e.g. `gpu_shared_memory`, `cpu_l2_square`, `weight_stationary`, `domain_flow`."""
    candidate: Ordinal
    """Key within the family; strategies for arrays use numbers that no family uses."""
    family: str
    """Hardware family it applies to; `*` for arrays, on every part with that dataflow (`part_strategy`)."""
    matrix_instruction: str | None
    """`cuda_limit.matrix_instruction` of the parts it applies to; null for all parts of the family."""
    level: str
    """Memory level whose capacity limits the tile; `array` for arrays, whose level differs from part to part."""
    dataflow: str
    """`output_stationary` (tiles in waves over the units; for arrays, results stay in the array), `direct` (no tiles, on vector units, for
    products no wider than `tile_n`), `query_block` (PyTorch's fused attention on processors: blocks of `tile_m` queries),
    `weight_stationary` (weights stay in the array, rows stream through), `input_stationary` (rows stay, weights stream through) or
    `wavefront` (domain flow, results stay in the array)."""
    tile_m: Annotated[
        Size,
        Plausible(0, 4096),
        Plausible(1, 4096, of="gpu_shared_memory"),
        Plausible(1, 4096, of="gpu_warpgroup"),
        Plausible(1, 4096, of="gpu_tensor_memory"),
        Plausible(1, 4096, of="cpu_query_block"),
        Plausible(1, 4096, of="npu_output_tiles"),
        Plausible(1, 4096, of="dsp_output_tiles"),
    ]
    """Rows of the output tile."""
    tile_n: Annotated[
        Size,
        Plausible(0, 4096),
        Plausible(1, 4096, of="gpu_shared_memory"),
        Plausible(1, 4096, of="gpu_warpgroup"),
        Plausible(1, 4096, of="gpu_tensor_memory"),
        Plausible(1, 4096, of="cpu_query_block"),
        Plausible(1, 4096, of="npu_output_tiles"),
        Plausible(1, 4096, of="dsp_output_tiles"),
        Plausible(1, 4096, of="gpu_direct"),
        Plausible(1, 4096, of="kpu_direct"),
    ]
    """Columns of the output tile."""
    tile_k: Annotated[
        Size,
        Plausible(0, 4096),
        Plausible(1, 4096, of="gpu_shared_memory"),
        Plausible(1, 4096, of="gpu_warpgroup"),
        Plausible(1, 4096, of="gpu_tensor_memory"),
        Plausible(1, 4096, of="cpu_query_block"),
        Plausible(1, 4096, of="npu_output_tiles"),
        Plausible(1, 4096, of="dsp_output_tiles"),
    ]
    """Depth of one stage along the reduction."""
    from_m: Annotated[int | None, Possible(0, 1e9), Plausible(0, 1e5)]
    """Smallest number of queries at which a `query_block` is chosen; null for other dataflows."""
    below_m: Annotated[int | None, Possible(0, 1e9), Plausible(0, 1e5)]
    """Number of queries up to which a `query_block` is chosen; null: unlimited."""
    divisor: Annotated[float, Plausible(0.1, 64)]
    """Divisor of a fitted size: above 1 gives smaller blocks for products too small to fill the part, below 1 larger ones for parts with
    more memory than their files state."""
    split_k: Annotated[int, Plausible(1, 128)]
    """Slices of the reduction computed by different units and summed afterwards; 1 for none."""
    stages: Annotated[int, Plausible(1, 16)]
    """Buffers in flight: 2 is double buffering."""
    step_k: Annotated[int | None, Plausible(1, 4096)]
    """Depth to which a tile's last stage is padded; null for all of `tile_k`."""
    fill_k: Annotated[
        float,
        Possible(0, HUGE),
        Plausible(0, 1e5),
        Plausible(1, 10000, of="gpu_shared_memory"),
        Plausible(1, 10000, of="gpu_warpgroup"),
        Plausible(1, 10000, of="gpu_tensor_memory"),
        Plausible(1, 10000, of="npu_output_tiles"),
        Plausible(1, 10000, of="dsp_output_tiles"),
        Plausible(0.1, 1000, of="cpu_query_block"),
    ]
    """Steps of the reduction spent filling and draining the pipeline of one tile; for `query_block`, the number of rows whose time a block
    takes to reorder its keys and values."""
    fill_clock: Annotated[
        float,
        Possible(0, HUGE),
        Plausible(0, 1e7),
        Plausible(10, 1e6, of="gpu_shared_memory"),
        Plausible(10, 1e6, of="gpu_warpgroup"),
        Plausible(10, 1e6, of="gpu_tensor_memory"),
        Plausible(10, 1e7, of="npu_output_tiles"),
        Plausible(10, 1e7, of="dsp_output_tiles"),
    ]
    """Upper limit of the clocks for filling and draining, however slow the unit. [clock]"""
    exposed_fill: Annotated[float | None, Possible(0, HUGE), Plausible(0.05, 100)]
    """Upper limit, from the second wave on, of the filling and draining time that other tiles on the same unit do not cover, as a multiple
    of the tile's steady time; null if a unit runs one tile at a time and nothing is covered."""
    latency_clock: Annotated[
        float,
        Possible(0, HUGE),
        Plausible(0, 1e6),
        Plausible(10, 1e6, of="gpu_shared_memory"),
        Plausible(10, 1e6, of="gpu_warpgroup"),
        Plausible(10, 1e6, of="gpu_tensor_memory"),
        Plausible(10, 1e6, of="gpu_direct"),
    ]
    """Clocks from the kernel's start to its first step and from its last step to its end: first loads,
    pipeline, write-back. A split reduction pays it again for the kernel that sums. [clock]"""
    wave_quantization_fraction: Annotated[
        float,
        Possible(0, 1),
        Plausible(0.01, 1, of="gpu_shared_memory"),
        Plausible(0.01, 1, of="gpu_direct"),
        Plausible(0.01, 1, of="cpu_l2_square"),
        Plausible(0.01, 1, of="cpu_query_block"),
        Plausible(0.01, 1, of="weight_stationary"),
        Plausible(0.01, 1, of="input_stationary"),
        Plausible(0.01, 1, of="output_stationary"),
        Plausible(0.01, 1, of="domain_flow"),
        Plausible(0.01, 1, of="kpu_direct"),
        Plausible(0.01, 1, of="npu_output_tiles"),
        Plausible(0.01, 1, of="dsp_output_tiles"),
    ]
    """Share of a last, partial wave that other tiles on the same unit do not hide: 1 is `ceil(waves)`."""
    efficiency_fraction: Share
    """Share of the matrix peak that this tile sustains once filled, on a unit too fast for its operands."""
    fed_macs: Annotated[float | None, Plausible(1, 1000)]
    """Multiply-accumulates per element from the memory next to the unit, from which a unit pays the full `1 / efficiency_fraction - 1`; a
    slower unit pays in proportion. Null: every unit pays. [MAC/element]"""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
