"""Loop nests: tilings of products for the memories of a part and its array."""

from __future__ import annotations

from typing import Annotated, ClassVar

from .ranges import Ordinal, Plausible, Possible
from .row import Row

Cut = Annotated[int, Possible(1, 1e12), Plausible(1, 1e9)]
"""A dimension of a product or of its tile."""
ElementCut = Annotated[int | None, Possible(1, 1e12), Plausible(1, 1e9)]
"""A dimension of one array element's work, or a number of slices."""
Share = Annotated[float | None, Possible(0, 1e12), Plausible(0, 1e6)]
"""A ratio of bytes."""


class LoopNest(Row):
    """One way to run a product on an array: tiles for the shared memory and for the memory next to each array, the operand that stays
    during the innermost loop of each, and the operand that stays in the array. `charz mapping` makes candidates; `loop_nest_cost` costs
    rows that people add the same way."""

    TABLE: ClassVar[str] = "loop_nest"
    KEY: ClassVar[tuple[str, ...]] = ("loop_nest_id",)

    loop_nest_id: Ordinal
    """Key."""
    product: str
    """Name of the product."""
    hardware: str
    """Part."""
    backend: str
    """Backend; it decides the format in which the part computes."""
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
    """Positions of a convolution's kernel; null for other products."""
    image: Annotated[int | None, Possible(1, 1e15), Plausible(1, 1e12)]
    """Elements of a convolution's input; null for other products."""
    images: Cut
    """Number of square images of one size to which the rows belong: the batch of a convolution."""
    dataflow: str
    """Operand that stays in the array: `weight_stationary`, `output_stationary`, `input_stationary`, `wavefront` (domain flow: results
    stay) or `row_stationary` (each element convolves a row of a window with a row of the image)."""
    outer_m: Cut
    """Rows of the tile in the memory that all units share; the whole product if the part has no such memory."""
    outer_n: Cut
    """Columns of the outer tile."""
    outer_k: Cut
    """Depth of the outer tile."""
    outer_kept: str
    """Operand that stays during the innermost loop over outer tiles: `input`, `weight` or `output`."""
    inner_m: Cut
    """Rows of the tile in the memory next to an array."""
    inner_n: Cut
    """Columns of the inner tile."""
    inner_k: Cut
    """Depth of the inner tile."""
    inner_kept: str
    """Operand that stays during the innermost loop over inner tiles."""
    split_k: ElementCut
    """Number of slices of the depth that go to different arrays if results stay; null: one. If operands stay, arrays share the depth
    anyway."""
    activation_dram_fraction: Share
    """Bytes from main memory relative to those of input and results: data that earlier steps left on chip, or that stays there, does not
    come from main memory; null: 1."""
    weight_dram_fraction: Share
    """Bytes from main memory relative to those of weights: weights kept on chip from run to run do not come from main memory, weights that
    several groups of samples read come several times; null: 1."""
    element_n: ElementCut
    """Columns (filters) that an element of a row-stationary array processes at a time; null for other dataflows."""
    element_k: ElementCut
    """Depth that the element processes: a row of the window by some channels; null for other dataflows."""
