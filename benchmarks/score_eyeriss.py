"""Eyeriss reproduced from its own parameters: elements at work, buffer and DRAM bytes, time and energy of AlexNet's convolutions.

    python -m benchmarks.score_eyeriss

The part is benchmarks/designs/eyeriss.yaml, with the normalized energies of the ISCA paper; passes over the array are those that the
JSSC paper's table of mappings states, outer tiles are searched. Beside them stands the best that the search finds by itself. What
is found goes to docs/validation-eyeriss.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from benchmarks import nests, page
from charz.session.decide.loop_nests import ROWS, STEPS, Nest, Product, Room, candidates

PAGE = Path(__file__).parents[1] / "docs" / "validation-eyeriss.md"
KEYS = {"hardware": "eyeriss", "backend": "xla", "compute_precision": "int16"}
WORD_BYTE = 2
BUFFER_WORD, DRAM_WORD = 6, 200
"""Energies of a word, in multiply-accumulates."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """A pass as the paper's table gives it."""

    strip: int
    """Rows of results."""
    filters: int
    channels: int
    """Of one element, both."""
    deep_sets: int
    wide_sets: int
    """Sets of elements for channels and for filters."""
    images: int


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer with what the chip took for a batch of four."""

    product: Product
    mapped: Mapped
    active: int
    processing_ms: float
    buffer_mb: float
    dram_mb: float


def _convolution(side: int, filters: int, channels: int, window: int, pixels: int, groups: int = 1) -> Product:
    sizes = (4 * side**2, filters // groups, channels // groups * window**2)
    return Product(sizes, groups, window**2, 4 * pixels**2 * channels, 4)


LAYERS = {
    "CONV1": Layer(_convolution(55, 96, 3, 11, 227), Mapped(7, 16, 1, 1, 2, 1), 154, 16.5, 18.5, 5.0),
    "CONV2": Layer(_convolution(27, 256, 96, 5, 27, 2), Mapped(27, 16, 2, 1, 1, 1), 135, 39.2, 77.6, 4.0),
    "CONV3": Layer(_convolution(13, 384, 256, 3, 13), Mapped(13, 16, 3, 2, 2, 4), 156, 21.8, 50.2, 3.0),
    "CONV4": Layer(_convolution(13, 384, 384, 3, 13, 2), Mapped(13, 16, 3, 2, 2, 4), 156, 16.0, 37.4, 2.1),
    "CONV5": Layer(_convolution(13, 256, 384, 3, 13, 2), Mapped(13, 16, 3, 2, 2, 4), 156, 10.0, 24.9, 1.3),
}
"""From memory of the JSSC paper, not checked; its totals, 208.5 and 15.4 MB, are the sums of these within rounding."""

BEST = """
    SELECT * FROM loop_nest_cost WHERE latency_s IS NOT NULL
    QUALIFY ROW_NUMBER() OVER (PARTITION BY product ORDER BY energy_j, loop_nest_id) = 1
"""

CAUSES = (
    "Figures of the paper are from memory and not checked. Of CONV3 that memory has another mapping (4 channels an element, one set for channels,"
    " four for filters), which would read and write 69 MB; its 50.2 MB are those of the mapping of CONV4 and CONV5, which is taken."
    " Processing takes a little less here: loading the first weights of a pass is not counted."
    " DRAM misses: the chip's figures are of compressed pixels (zeros left out), and charz keeps room in"
    " the buffer for a second copy of the operands and for weights, which the chip streams past it, so that fewer partial sums fit and"
    " pixels are loaded more often. The memories of the elements take {element:.1f} of the energy of array and buffer together, where the"
    " ISCA paper says about 4 on chip (with the arithmetic on neither side)."
)


def main() -> None:
    """Cost both and write the page."""
    with nests.opened("eyeriss") as connection:
        stated = _best(connection, [(n, x.product, nest) for n, x in LAYERS.items() for nest in stated_nests(x)])
        room = Room(12, 14, WORD_BYTE, 108 * 1024, 168 * 260 * WORD_BYTE, 1, WORD_BYTE)
        found = _best(
            connection,
            [(n, x.product, nest) for n, x in LAYERS.items() for nest in candidates(x.product, room, [ROWS])],
        )
    rows, levels, free = [], [], []
    for name, layer in LAYERS.items():
        ours = stated[name]
        buffer_mb, dram_mb, ms = ours["cache_byte"] / 1e6, ours["dram_byte"] / 1e6, ours["cycles"] / 200e6 * 1e3
        rows.append(
            {
                "layer": name, "elements, paper": layer.active, "elements": round(ours["active_elements"]), "ms, paper": layer.processing_ms,
                "ms": ms, "ratio of ms": ms / layer.processing_ms, "buffer MB, paper": layer.buffer_mb, "buffer MB": buffer_mb,
                "ratio of buffer": buffer_mb / layer.buffer_mb, "DRAM MB, paper": layer.dram_mb, "DRAM MB": dram_mb,
                "ratio of DRAM": dram_mb / layer.dram_mb,
            }
        )  # fmt: skip
        levels.append({"layer": name, **_levels(ours)})
        best = found[name]
        free.append(
            {
                "layer": name, "elements": round(best["active_elements"]), "buffer MB": best["cache_byte"] / 1e6,
                "DRAM MB": best["dram_byte"] / 1e6, "ms": best["cycles"] / 200e6 * 1e3,
                "energy, found / stated": sum(_levels(best).values()) / sum(_levels(ours).values()),
            }
        )  # fmt: skip
    near = {what: sum(abs(row[f"ratio of {what}"] - 1) <= 0.25 for row in rows) for what in ("ms", "buffer", "DRAM")}
    equal = sum(row["elements"] == row["elements, paper"] for row in rows)
    said = (
        f"Elements at work equal the paper's in {equal} of {len(rows)} layers. Within 25 %: time of processing {near['ms']} of {len(rows)},"
        f" energy of the buffer {near['buffer']}, energy of DRAM {near['DRAM']}."
    )
    share = sum(x["element memories"] for x in levels) / sum(x["array"] + x["buffer"] for x in levels)
    tables = [
        ("Passes of the paper", pl.DataFrame(rows)),
        ("Energy by level, in 10^9 multiply-accumulates", pl.DataFrame(levels)),
        ("Best found by energy", pl.DataFrame(free)),
    ]
    page.write(PAGE, "Eyeriss, convolutions of AlexNet", [WRITTEN, said, CAUSES.format(element=share)], tables)
    print(said)


def stated_nests(layer: Layer) -> Iterator[Nest]:
    """The layer's passes in every outer tile and order: the engine says which the buffer holds."""
    mapped, (m, n, k) = layer.mapped, layer.product.sizes
    window, side = math.isqrt(layer.product.taps), math.isqrt(m // layer.product.images)
    inner = (
        mapped.strip * side * mapped.images,
        mapped.filters * mapped.wide_sets,
        layer.product.taps * mapped.channels * mapped.deep_sets,
    )
    element = (mapped.filters, window * mapped.channels)
    for rows, depth, trips in itertools.product({inner[0], max(inner[0], side**2), m}, {inner[2], k}, STEPS[:12]):
        wide = min(n, math.ceil(n / inner[1] / trips) * inner[1])
        for outer_kept, inner_kept in itertools.product(("input", "weight", "output"), ("weight", "output")):
            yield Nest(ROWS, (rows, wide, depth), outer_kept, inner, inner_kept, element)


def _best(connection: duckdb.DuckDBPyConnection, some: list[tuple[str, Product, Nest]]) -> dict[str, dict[str, Any]]:
    return {row["product"]: row for row in nests.costed(connection, some, KEYS, BEST)}


def _levels(row: Mapping[str, Any]) -> dict[str, float]:
    """Normalized energies, in 10^9 multiply-accumulates."""
    words = {"element memories": (row["array_byte"], 1), "array": (row["element_hop_byte"], 2)}
    words |= {"buffer": (row["cache_byte"], BUFFER_WORD), "DRAM": (row["dram_byte"], DRAM_WORD)}
    macs = row["m"] * row["n"] * row["k"] * row["gemm_count"]
    return {"arithmetic": macs / 1e9} | {name: byte / WORD_BYTE * each / 1e9 for name, (byte, each) in words.items()}


WRITTEN = "Written by `python -m benchmarks.score_eyeriss`; do not edit. " + " ".join(
    (__doc__ or "").split("\n\n")[2].split()
)

if __name__ == "__main__":
    main()
