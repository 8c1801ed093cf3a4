"""Loop nests: how products may be cut for the memories of a part and its array."""

from __future__ import annotations

from typing import Annotated, ClassVar

from .ranges import Ordinal, Plausible, Possible
from .row import Row

Cut = Annotated[int, Possible(1, 1e12), Plausible(1, 1e9)]
"""A size of a product or of a tile of it."""
ElementCut = Annotated[int | None, Possible(1, 1e12), Plausible(1, 1e9)]
"""A size of what one element of an array works on, or a number of slices."""
Share = Annotated[float | None, Possible(0, 1e12), Plausible(0, 1e6)]
"""A ratio of bytes."""


class LoopNest(Row):
    """One way to run a product on an array: tiles for the memory that all units share and for the one beside each array, which
    operand stays while the innermost loop of each runs, and what the array holds. `charz mapping` makes candidates; rows that
    people add are costed alike (`loop_nest_cost`)."""

    TABLE: ClassVar[str] = "loop_nest"
    KEY: ClassVar[tuple[str, ...]] = ("loop_nest_id",)

    loop_nest_id: Ordinal
    """Key."""
    product: str
    """Name of the product."""
    hardware: str
    """Part."""
    backend: str
    """Backend, which decides what the part computes the format in."""
    compute_precision: str
    """Element type of the operands."""
    m: Cut
    """GEMM rows."""
    n: Cut
    """GEMM columns."""
    k: Cut
    """GEMM reduction length."""
    gemm_count: Cut
    """Independent products of that shape."""
    taps: Annotated[int | None, Possible(1, 1e6), Plausible(1, 1e4)]
    """Positions of a convolution's kernel; null of other products."""
    image: Annotated[int | None, Possible(1, 1e15), Plausible(1, 1e12)]
    """Elements of a convolution's input; null of other products."""
    images: Cut
    """Images that the rows belong to, all of one square size: the batch of a convolution."""
    dataflow: str
    """What stays in the array: `weight_stationary`, `output_stationary`, `input_stationary`, `wavefront` (domain flow: results
    stay) or `row_stationary` (each element convolves a row of a window with a row of the image)."""
    outer_m: Cut
    """Rows of the tile in the memory that all units share; the whole product where the part has none."""
    outer_n: Cut
    """Columns of that tile."""
    outer_k: Cut
    """Depth of that tile."""
    outer_kept: str
    """Operand that stays while the innermost loop over outer tiles runs: `input`, `weight` or `output`."""
    inner_m: Cut
    """Rows of the tile in the memory beside an array."""
    inner_n: Cut
    """Columns of that tile."""
    inner_k: Cut
    """Depth of that tile."""
    inner_kept: str
    """Operand that stays while the innermost loop over inner tiles runs."""
    split_k: ElementCut
    """Slices of the depth that go to different arrays where results stay; null: one. Depth of operands that stay is shared anyway."""
    activation_dram_fraction: Share
    """Bytes of main memory over those of input and results: what earlier steps left on the chip, and what stays there, does not
    come from there; null: all do."""
    weight_dram_fraction: Share
    """Bytes of main memory over those of weights: what stays on the chip from run to run does not come from there, what groups of
    samples read again does as often; null: all do, once."""
    element_n: ElementCut
    """Columns, filters, that an element of a row-stationary array works on at a time; null of other dataflows."""
    element_k: ElementCut
    """Depth that it works on: a row of the window by some channels; null of other dataflows."""
