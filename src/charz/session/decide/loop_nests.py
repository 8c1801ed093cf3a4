"""Candidate loop nests of a matrix product on an array: tiles that fit the memory levels, and the stationary operand of each level."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

ROWS = "row_stationary"
DATAFLOWS = ("weight_stationary", "output_stationary", "input_stationary", "wavefront", ROWS)

RESULTS_STAY = ("output_stationary", "wavefront")

MOST_CANDIDATES = 5000
"""Largest number of candidate nests of a product."""

FINE_GRAINS = 8
"""Size, in multiples of the smallest tile, above which only whole multiples are tried: rounding up then wastes less than an eighth."""

STEPS = sorted({round(2 ** (power / 2)) for power in range(64)})
"""Trip counts of a loop that are tried: powers of the square root of 2, rounded."""

Sizes = tuple[int, int, int]
"""Rows, columns and depth of a product or a tile."""

CHANGED_BY = {"input": 1, "weight": 0, "output": 2}
"""Index of the dimension that each operand does not depend on. The operand stays in place while a loop over that dimension runs."""


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix product, or a convolution lowered to a matrix product."""

    sizes: Sizes
    gemm_count: int = 1
    taps: int = 1
    image: int | None = None
    """Number of elements of a convolution's input."""
    images: int = 1
    """Number of images whose pixels are the rows."""


@dataclass(frozen=True, slots=True)
class Room:
    """Capacity of a part for tiles."""

    rows: int
    columns: int
    """Columns of the array."""
    element_byte: float
    outer_byte: float | None
    """Size of the memory that all units share; None if each array has a memory but the units share none. [byte]"""
    inner_byte: float | None
    """Size of the memory of one array; None if unknown, so that any tile fits. [byte]"""
    array_count: int
    partial_byte: float = 4.0
    """Size of a partial result. [byte]"""
    accumulator_rows: float = 0.0
    """Number of partial results that each column of an array keeps in an accumulator memory."""


@dataclass(frozen=True, slots=True)
class Nest:
    """A candidate loop nest, which becomes a row of `loop_nest`."""

    dataflow: str
    outer: Sizes
    outer_kept: str
    inner: Sizes
    inner_kept: str
    element: tuple[int, int] | None = None
    """Columns and depth of the work of one element of a row-stationary array."""
    split: int = 1
    """Number of slices into which the depth is split (split-K), if results stay in the arrays."""


def candidates(
    product: Product,
    room: Room,
    dataflows: Sequence[str],
    fixed: Mapping[str, Sizes] | None = None,
    most: int = MOST_CANDIDATES,
) -> list[Nest]:
    """List nests of a product whose tiles fit the memories, at most `most` nests over all dataflows. `fixed` maps a level, `outer` or
    `inner`, to a given tile. The list is empty if a given tile does not fit."""
    fixed = fixed or {}
    share = most // len(dataflows)
    return [nest for dataflow in dataflows for nest in _of_dataflow(product, room, dataflow, fixed, share)]


def chosen(product: Product, room: Room, dataflow: str, tile: Sizes, split: int) -> list[Nest]:
    """Return the nests for the inner tile that predictions use. If the whole product fits the shared memory, or the memory of a single array, every
    operand is loaded once from the next level, and the tile of a single array is cut only along the streamed dimension. Otherwise return
    nests of the largest outer tiles that consist of equal numbers of inner tiles."""
    inner, (m, n, k) = _clipped(tile, product.sizes), product.sizes
    if room.outer_byte is None and room.array_count == split == 1:
        streams = {"weight_stationary": ((inner[0], n, k), "weight"), "input_stationary": ((m, inner[1], k), "input")}
        whole, kept = streams.get(dataflow, (product.sizes, "output"))
        if _lies_beside(product, room, dataflow, whole):
            return [Nest(dataflow, product.sizes, "output", whole, kept)]
    if _holds(product, room, room.outer_byte, product.sizes):
        return [Nest(dataflow, product.sizes, "output", inner, "output", split=split)]
    outers = itertools.product(_whole(m, inner[0]), _whole(n, inner[1]), _whole(k, inner[2]))
    return [
        Nest(dataflow, outer, outer_kept, inner, "output", split=split)
        for outer in _largest([outer for outer in outers if _holds(product, room, room.outer_byte, outer)])
        for outer_kept in _kept(product.sizes, outer)
    ]


def _whole(size: int, part: int) -> list[int]:
    """Return the multiples of `part` whose count of parts divides the total count."""
    count = math.ceil(size / part)
    return [min(size, part * parts) for parts in range(1, count + 1) if count % parts == 0]


def halo_fraction(product: Product, tile: Sizes) -> float:
    """Return the share of an input tile that must be loaded, since windows of a convolution overlap. Kernel and image are assumed square. A tile of
    all rows loads the whole image."""
    rows, _, depth = tile
    if product.image is None or product.taps <= 1 or depth < product.taps:
        return 1.0
    m, _, k = product.sizes
    if rows >= m:
        return min(1.0, product.image / (m * k * product.gemm_count))
    stride = math.sqrt(product.image * product.taps / (m * k * product.gemm_count))
    side = (math.sqrt(rows) - 1) * stride + math.sqrt(product.taps)
    return min(1.0, side**2 / (rows * product.taps))


def tile_byte(product: Product, room: Room, tile: Sizes) -> float:
    """Compute the memory of a tile: double buffers of both operands, and partial results. [byte]"""
    m, n, k = tile
    loaded = m * k * halo_fraction(product, tile) + k * n
    return 2 * room.element_byte * loaded + room.partial_byte * m * n


def inner_byte(product: Product, room: Room, dataflow: str, tile: Sizes) -> float:
    """Compute the size of a tile in the memory of an array. Partial results need no memory if they fit in the cells or accumulators of the
    array. [byte]"""
    m, n, _ = tile
    if dataflow in RESULTS_STAY:
        stays = m <= room.rows and n <= room.columns
    else:
        streamed, across = (m, n) if dataflow == "weight_stationary" else (n, m)
        stays = math.ceil(across / room.columns) * streamed <= room.accumulator_rows
    return tile_byte(product, room, tile) - (room.partial_byte * m * n if stays else 0)


def _of_dataflow(product: Product, room: Room, dataflow: str, fixed: Mapping[str, Sizes], most: int) -> Sequence[Nest]:
    if dataflow == ROWS:
        return _of_rows(product, room, fixed, most)
    base = _base(room, dataflow)
    outers = [_clipped(fixed["outer"], product.sizes)] if "outer" in fixed else _outer_tiles(product, room, base)
    nests: list[list[Nest]] = []
    for outer in outers:
        held = list(itertools.product(_kept(product.sizes, outer)))
        inners = [_clipped(fixed["inner"], outer)] if "inner" in fixed else _inner_tiles(product, room, dataflow, outer)
        found = [
            Nest(dataflow, outer, outer_kept, inner, inner_kept)
            for inner in inners
            for (outer_kept,) in held
            for inner_kept in _kept(outer, inner)
            if _fits(product, room, dataflow, outer, inner)
        ]
        nests.append(found)
    return _spread(nests, most)


@dataclass(frozen=True, slots=True)
class _Pass:
    """A pass of a row-stationary array between two loads: the tile of the pass, and the columns and depth of one element's work."""

    tile: Sizes
    element: tuple[int, int]


def _of_rows(product: Product, room: Room, fixed: Mapping[str, Sizes], most: int) -> Sequence[Nest]:
    """List row-stationary nests. An inner tile is one pass of the array; an outer tile is several passes, whole images, or the whole product."""
    nests: list[list[Nest]] = []
    for one in _passes(product, room):
        if "inner" in fixed and _clipped(fixed["inner"], product.sizes) != one.tile:
            continue
        outers = [_clipped(fixed["outer"], product.sizes)] if "outer" in fixed else _around(product, room, one.tile)
        found = [
            Nest(ROWS, outer, outer_kept, one.tile, inner_kept, one.element)
            for outer in outers
            if _holds(product, room, room.outer_byte, outer)
            and all(a >= b for a, b in zip(outer, one.tile, strict=True))
            for outer_kept in _kept(product.sizes, outer)
            for inner_kept in ("weight", "output")
        ]
        nests.append(found)
    return _spread(nests, most)


def _passes(product: Product, room: Room) -> Iterator[_Pass]:
    """Yield passes of a row-stationary array: combinations of a strip of result rows, the largest numbers of filters and channels that fit an
    element, and a division of the sets of elements among filters and channels."""
    m, n, k = product.sizes
    window = round(math.sqrt(product.taps))
    side = math.sqrt(m / product.images)
    if window**2 != product.taps or window > room.rows:
        return
    channels = k // product.taps
    filters_held = [
        (filters, depth)
        for filters, depth, _ in _largest(
            [
                (p, q, 1)
                for p, q in itertools.product(_cuts(n, 1), _cuts(channels, 1))
                if room.inner_byte is None or _element_byte(room, p, window * q) <= room.inner_byte
            ]
        )
    ]
    whole = math.ceil(side)
    for strip, images in [
        *((s, 1) for s in _cuts(whole, 1)),
        *([(whole, product.images)] if product.images > 1 else []),
    ]:
        beside = max(1, room.columns // strip)
        sets = (room.rows // window) * beside // math.ceil(strip / room.columns)
        # Undominated divisions: filters take as many sets as channels leave.
        for deep in sorted({sets // wide for wide in range(1, sets + 1)}):
            wide = sets // deep
            for p, q in filters_held:
                rows = min(m, math.ceil(min(strip, side) * side * images))
                yield _Pass((rows, min(n, p * wide), min(k, product.taps * q * deep)), (p, window * q))


def _element_byte(room: Room, filters: int, depth: int) -> float:
    """Compute the memory of all elements of an array. Each element stores filters, the pixels under them, and a partial result per filter. [byte]"""
    held = room.element_byte * (filters * depth + depth) + room.partial_byte * filters
    return room.rows * room.columns * held


def _around(product: Product, room: Room, inner: Sizes) -> list[Sizes]:
    """List outer tiles of whole passes. The rows are a strip, an image or all rows, the depth is that of a pass or the whole depth, and the columns
    are as many as fit."""
    m, n, k = product.sizes
    if room.outer_byte is None:
        return [product.sizes]
    found = []
    for rows, depth in itertools.product({inner[0], max(inner[0], m // product.images), m}, {inner[2], k}):
        widths = (min(n, math.ceil(n / inner[1] / trips) * inner[1]) for trips in STEPS)
        tile = next(
            ((rows, w, depth) for w in widths if _holds(product, room, room.outer_byte, (rows, w, depth))), None
        )
        found += [tile] if tile else []
    return sorted(set(found), reverse=True)


def _fits(product: Product, room: Room, dataflow: str, outer: Sizes, inner: Sizes) -> bool:
    return _holds(product, room, room.outer_byte, outer) and _lies_beside(product, room, dataflow, inner)


def _lies_beside(product: Product, room: Room, dataflow: str, tile: Sizes) -> bool:
    return room.inner_byte is None or inner_byte(product, room, dataflow, tile) <= room.inner_byte


def _holds(product: Product, room: Room, capacity_byte: float | None, tile: Sizes) -> bool:
    return capacity_byte is None or tile_byte(product, room, tile) <= capacity_byte


def _base(room: Room, dataflow: str) -> Sizes:
    """Return the smallest tile, of which other tiles are multiples: the array's size, and as many streamed steps as the array has rows."""
    if dataflow == "weight_stationary":
        return room.rows, room.columns, room.rows
    if dataflow == "input_stationary":
        return room.columns, room.rows, room.rows
    return room.rows, room.columns, room.rows


def _cuts(size: int, base: int) -> list[int]:
    """List candidate tile sizes, the largest first. They are rounded up to multiples of `base`; for small sizes, unrounded sizes are listed too."""
    shares = {math.ceil(size / trips) for trips in STEPS if trips <= size} | {1}
    grains = {min(size, math.ceil(share / base) * base) for share in shares}
    return sorted(grains if size > FINE_GRAINS * base else shares | grains, reverse=True)


def _tiles(sizes: Sizes, base: Sizes) -> Iterator[Sizes]:
    m, n, k = (_cuts(size, grain) for size, grain in zip(sizes, base, strict=True))
    return itertools.product(m, n, k)


def _outer_tiles(product: Product, room: Room, base: Sizes) -> list[Sizes]:
    """List the tiles that fit the shared memory and that no other such tile contains. Without shared memory, return the whole product."""
    if room.outer_byte is None:
        return [product.sizes]
    return _largest([t for t in _tiles(product.sizes, base) if _holds(product, room, room.outer_byte, t)])


def _inner_tiles(product: Product, room: Room, dataflow: str, outer: Sizes) -> list[Sizes]:
    """List the tiles that fit the memory of an array: first tiles that no other tile contains, then smaller tiles, which may use the array's rows
    and columns better or leave work for other arrays."""
    fitting = [t for t in _tiles(outer, _base(room, dataflow)) if _lies_beside(product, room, dataflow, t)]
    largest = _largest(fitting)
    others = sorted(set(fitting).difference(largest), key=lambda tile: (-math.prod(tile), tile))
    return [*largest, *others]


def _largest(tiles: Collection[Sizes]) -> list[Sizes]:
    """Drop tiles that another tile contains, and sort the other tiles, the largest first."""
    deepest: dict[tuple[int, int], int] = {}
    for m, n, k in tiles:
        deepest[m, n] = max(k, deepest.get((m, n), 0))
    found: list[Sizes] = []
    for (m, n), k in sorted(deepest.items(), key=lambda pair: -pair[0][0] * pair[0][1] * pair[1]):
        if not any(m <= a and n <= b and k <= c for a, b, c in found):
            found.append((m, n, k))
    return found


def _kept(around: Sizes, tile: Sizes) -> list[str]:
    """List the operands that can stay in place while the innermost loop runs, since a loop of several trips does not change them."""
    trips = [math.ceil(a / b) for a, b in zip(around, tile, strict=True)]
    return [name for name, place in CHANGED_BY.items() if trips[place] > 1] or ["output"]


def _clipped(tile: Sizes, around: Sizes) -> Sizes:
    m, n, k = (min(a, b) for a, b in zip(tile, around, strict=True))
    return m, n, k


def _spread(groups: Sequence[Sequence[Nest]], most: int) -> list[Nest]:
    """Merge groups by taking one nest of each group in turn, up to `most` nests."""
    rounds = itertools.zip_longest(*groups)
    return list(itertools.islice((nest for turn in rounds for nest in turn if nest is not None), most))
