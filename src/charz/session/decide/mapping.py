"""The command that searches the best loop nests of a model's matrix products on a part with an array."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from charz.schema.errors import CharzError, unknown_name

from .. import part_fields
from ..answer import Rows, answer
from ..axes import names, one_of
from ..core import Core
from ..parameters import Backend, Batch, Model, Names, Part, Precision, Sequence_, Text
from ..question import header, single
from ..scoped import Scoped
from .loop_nests import CHANGED_BY, DATAFLOWS, ROWS, Nest, Product, Room, Sizes, candidates, chosen

if TYPE_CHECKING:
    import pyarrow

GOALS = {"edp": "edp_js", "time": "latency_s", "energy": "energy_j"}
"""Goals to minimize, each with its column."""

SHORT = {**part_fields.SHORT, "rs": ROWS}

COLUMNS = (
    "product", "stands", "dataflow", "product_count", "m", "n", "k", "gemm_count", "outer_tile", "outer_kept", "inner_tile",
    "inner_kept", "cycles", "utilization_fraction", "dram_byte", "cache_byte", "array_byte", "hop_byte", "limited_by", "latency_s", "energy_j",
    "edp_js",
)  # fmt: skip

LOOP_COLUMNS = ("product", "stands", "dataflow", "level", "loop", "trips", "tile", "stays")

FROM_DRAM = ("activation_dram_fraction", "weight_dram_fraction")
"""Columns with the shares of operands that a run reads from main memory."""

CONDITIONS = "full clock, reference voltage, no efficiencies, dispatch or power limit"
"""Conditions of all nests, which differ from those of answers."""

LEVELS = ("outer", "inner")
FIXED = re.compile(r"(outer|inner)=(\d{1,9})x(\d{1,9})x(\d{1,9})")
"""Pattern of a level's tile in the option `--tile`."""

_BEST = "SELECT * FROM loop_nest_cost WHERE latency_s IS NOT NULL QUALIFY ROW_NUMBER() OVER ({window}) <= {top}"
_WINDOW = "PARTITION BY product, loop_nest_id < {searched}{also} ORDER BY {goal}, loop_nest_id"


class LoopNests(Core):
    """Search of loop nests for matrix products."""

    @answer()
    def mapping(
        self,
        model: Model,
        product: Annotated[str | None, Text("Operator that computes the matrix product; default all distinct products.")] = None,
        *,
        on: Part,
        batch: Batch = None,
        sequence: Sequence_ = None,
        precision: Precision = None,
        backend: Backend = None,
        dataflow: Annotated[
            Names | None,
            Text(
                "Dataflows, separated by commas: ws, os or is (weight, output or input stationary), df (domain flow), rs (row stationary); default all."
            ),
        ] = None,
        tile: Annotated[
            Names | None,
            Text("Fixed tiles, separated by commas, as LEVEL=ROWSxCOLUMNSxDEPTH: outer=512x512x256, inner=128x128x128."),
        ] = None,
        by: Annotated[str, Text("Goal to minimize: edp, time or energy.")] = "edp",
        each: Annotated[bool, Text("List the best nest of every dataflow.")] = False,
        loops: Annotated[bool, Text("List every nest as loops, the outermost first.")] = False,
        top: Annotated[int, Text("Number of nests to list for each product.", least=1, most=1000)] = 1,
    ) -> Rows:
        """Search the best loop nests for the matrix products of a model: dataflow, and tile and stationary operand of each memory level.

        Up to 5,000 candidates per product are evaluated in SQL (`loop_nest_cost`). Transfers and computation are assumed to overlap fully,
        and all operands come from main memory unless the run keeps them on chip. Outer tiles are in the memory that all units share, inner
        tiles in the memory of each array. Times are at full clock and energies at the reference voltage, without efficiencies. The nest
        that `charz explain` uses is also listed, as `chosen`.
        """
        goal = one_of("goal", by, GOALS)
        flows = [SHORT.get(name, name) for name in names(dataflow)] or list(DATAFLOWS)
        for flow in flows:
            one_of("dataflow", flow, DATAFLOWS)
        fixed = _fixed(tile)
        question = single(model, on, batch, sequence, precision, backend)
        scoped, keys = self.target(question, "run_product", "product_source")
        found = _products(scoped, keys, product)
        room = _room(scoped, keys, found)
        sources = _sources(scoped)
        found = [row | {name: sources.get(_sizes(row), {}).get(name) for name in FROM_DRAM} for row in found]
        searched = [
            (row, nest)
            for row in found
            for nest in candidates(_product(row), room[row["compute_precision"]], flows, fixed)
        ]
        if not searched:
            raise CharzError(
                "no product has nests with such tiles",
                ", ".join(f"{level}={'x'.join(map(str, cut))}" for level, cut in fixed.items()) or on,
                next="try smaller tiles",
            )
        run = [
            (row, nest)
            for row in found
            if (tiled := sources.get(_sizes(row))) and tiled["dataflow"] in DATAFLOWS
            for nest in chosen(
                _product(row), room[row["compute_precision"]], tiled["dataflow"], _tile(tiled), tiled["split_k"]
            )
        ]
        costed = self._costed([*searched, *run], keys, len(searched), GOALS[goal], each, top)
        order = {row["product"]: place for place, row in enumerate(found)}
        costed.sort(key=lambda row: (order[row["product"]], row["stands"], row[GOALS[goal]]))
        counts = {row["product"]: row["product_count"] for row in found}
        self.messages.remark(f"{_finding(costed, counts, goal)}; {CONDITIONS}")
        if loops:
            return Rows(
                LOOP_COLUMNS, [line for row in costed for line in _loops(row)], ("loop_nest_cost",), header=header([keys])
            )
        return Rows(
            COLUMNS, [_listed(row, counts) for row in costed], ("loop_nest_cost", "run_product"), header=header([keys])
        )

    def _costed(
        self,
        nests: Sequence[tuple[Mapping[str, Any], Nest]],
        keys: Mapping[str, Any],
        searched: int,
        goal: str,
        each: bool,
        top: int,
    ) -> list[dict[str, Any]]:
        """Rank the first `searched` nests and the other nests separately, and return the best of each group for each product."""
        window = _WINDOW.format(searched=searched, also=", dataflow" if each else "", goal=goal)
        query = _BEST.format(window=window, top=top)
        with self.cursor() as cursor:
            cursor.register("made_nests", nest_table(nests, keys))
            try:
                cursor.execute("CREATE OR REPLACE TEMP TABLE loop_nest AS SELECT * FROM made_nests")
                rows = Scoped(cursor).records(query)
            finally:
                cursor.execute("DROP TABLE IF EXISTS temp.loop_nest")
                cursor.unregister("made_nests")
        return [{**row, "stands": "best" if row["loop_nest_id"] < searched else "chosen"} for row in rows]


def _fixed(tile: Names | None) -> dict[str, Sizes]:
    fixed: dict[str, Sizes] = {}
    for text in tile.split(",") if isinstance(tile, str) else tile or ():
        match = FIXED.fullmatch(text)
        level, *sizes = match.groups() if match else ("",)
        if not match or "0" in {size.strip("0") or "0" for size in sizes}:
            raise CharzError("not a tile of a level", text, next="write e.g. inner=128x128x64 or outer=512x512x256")
        fixed[level] = (int(sizes[0]), int(sizes[1]), int(sizes[2]))
    return fixed


def _products(scoped: Scoped, keys: Mapping[str, Any], product: str | None) -> list[dict[str, Any]]:
    """List the distinct products of the run, the product with most work first. Equal names are numbered."""
    rows = scoped.records("SELECT * FROM run_product ORDER BY m * n * k * gemm_count * product_count DESC, product")
    if not rows:
        raise CharzError("no matrix products", keys["model"], next="`charz report` shows the model's kernels")
    if product is not None:
        known = [row["product"] for row in rows]
        rows = [row for row in rows if row["product"] == product]
        if not rows:
            raise unknown_name(
                "product", product, known, f"`charz mapping {keys['model']} --on {keys['hardware']}` lists them"
            )
    seen: dict[str, int] = {}
    for row in rows:
        seen[row["product"]] = number = seen.get(row["product"], 0) + 1
        if number > 1:
            row["product"] += f" #{number}"
    return rows


def _room(scoped: Scoped, keys: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> dict[str, Room]:
    """Return the part's capacity for tiles by element type. Raise `CharzError` for a part without an array."""
    part, backend = keys["hardware"], keys["backend"]
    (memory,) = scoped.records("SELECT * FROM part WHERE hardware = ?", [part])
    rates = {
        row["compute_precision"]: row
        for row in scoped.records("SELECT * FROM part_rate WHERE hardware = ? AND backend = ?", [part, backend])
    }
    rooms: dict[str, Room] = {}
    for name in {row["compute_precision"] for row in found}:
        rate = rates[name]
        if not rate["matrix_array_rows"] or rate["matrix_array_rows"] * rate["matrix_array_columns"] == 1:
            raise CharzError(
                f"no array of known shape computes {name}", part,
                next="TPUs, KPUs and parts with `cluster.….array_rows` have an array; elsewhere `charz explain --tile` compares tiles",
            )  # fmt: skip
        pool, arrays = rate["tile_memory_pool_byte"], int(rate["matrix_unit_count"] or rate["unit_count"] or 1)
        inner = rate["tile_memory_byte"] or (pool / rate["unit_count"] if pool else None)
        # A memory that several arrays share counts as outer memory, as in `nest_trip`.
        shares = memory["cache_level"] != memory["tile_memory_level"] or (pool and arrays > 1)
        outer = memory["cache_byte"] if memory["cache_level"] and shares else None
        rooms[name] = Room(
            int(rate["matrix_array_rows"]), int(rate["matrix_array_columns"]), rate["element_byte"], outer, inner,
            arrays, rate["accumulator_byte"], rate["accumulator_rows"],
        )  # fmt: skip
    return rooms


def _sources(scoped: Scoped) -> dict[Sizes, dict[str, Any]]:
    """Map the sizes of each product to dataflow, tile and main memory shares of the first kernel that computes the product. Products without a
    tile are omitted."""
    query = "SELECT * FROM product_source WHERE tile_m IS NOT NULL ORDER BY kernel_id, step_id"
    found: dict[Sizes, dict[str, Any]] = {}
    for row in scoped.records(query):
        found.setdefault(_sizes(row), row)
    return found


def _tile(row: Mapping[str, Any]) -> Sizes:
    return int(row["tile_m"]), int(row["tile_n"]), int(row["tile_k"])


def _sizes(row: Mapping[str, Any]) -> Sizes:
    return int(row["m"]), int(row["n"]), int(row["k"])


def _product(row: Mapping[str, Any]) -> Product:
    return Product(_sizes(row), int(row["gemm_count"]), int(row["taps"]), int(row["image"]), int(row["images"]))


def nest_table(nests: Sequence[tuple[Mapping[str, Any], Nest]], keys: Mapping[str, Any]) -> pyarrow.Table:
    """Convert nests to rows of `loop_nest`."""
    import pyarrow

    columns: dict[str, list[Any]] = {"loop_nest_id": list(range(len(nests)))}
    columns |= {name: [row[name] for row, _ in nests] for name in ("product", "compute_precision")}
    columns |= {name: [keys[name]] * len(nests) for name in ("hardware", "backend")}
    columns |= {
        name: [int(row[name]) for row, _ in nests] for name in ("m", "n", "k", "gemm_count", "taps", "image", "images")
    }
    columns["dataflow"] = [nest.dataflow for _, nest in nests]
    columns["split_k"] = pyarrow.array([nest.split for _, nest in nests], pyarrow.int64())
    columns |= {name: pyarrow.array([row.get(name) for row, _ in nests], pyarrow.float64()) for name in FROM_DRAM}
    for place, dimension in enumerate("nk"):
        cuts = [nest.element[place] if nest.element else None for _, nest in nests]
        columns[f"element_{dimension}"] = pyarrow.array(cuts, pyarrow.int64())
    for level in LEVELS:
        columns[f"{level}_kept"] = [getattr(nest, f"{level}_kept") for _, nest in nests]
        for place, dimension in enumerate("mnk"):
            columns[f"{level}_{dimension}"] = [getattr(nest, level)[place] for _, nest in nests]
    return pyarrow.table(columns)


def _listed(row: Mapping[str, Any], counts: Mapping[str, int]) -> list[Any]:
    tiles = {f"{level}_tile": "x".join(str(row[f"{level}_{d}"]) for d in "mnk") for level in LEVELS}
    hop_byte = row["unit_hop_byte"] + row["die_hop_byte"]
    shown = {**row, **tiles, "product_count": counts[row["product"]], "hop_byte": hop_byte}
    return [shown[name] for name in COLUMNS]


def _loops(row: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yield the loops of a nest, the outermost first, without loops of one trip. In each level, the innermost loop is the loop that does not change
    the stationary operand. The array runs the innermost tile."""
    around = [row[d] for d in "mnk"]
    told = [row["product"], row["stands"], row["dataflow"]]
    for level in LEVELS:
        tile = [row[f"{level}_{d}"] for d in "mnk"]
        text, kept = "x".join(map(str, tile)), row[f"{level}_kept"]
        last = CHANGED_BY[kept]
        for place in (*(p for p in range(3) if p != last), last):
            trips = -(-around[place] // tile[place])
            if trips > 1:
                yield [*told, level, "mnk"[place], trips, text, kept if place == last else None]
        around = tile
    yield [*told, "array", None, None, "x".join(map(str, around)), row["dataflow"]]


def _finding(rows: Sequence[Mapping[str, Any]], counts: Mapping[str, int], goal: str) -> str:
    """Compare the best nests with the chosen nests in one sentence."""
    best: dict[str, Mapping[str, Any]] = {}
    chosen: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        (best if row["stands"] == "best" else chosen).setdefault(row["product"], row)
    both = best.keys() & chosen.keys()
    if not both:
        return f"these are the best nests by {goal} of {len(best)} products; no chosen nest can be compared"
    sums = {
        name: sum(counts[p] * best[p][name] for p in both) / sum(counts[p] * chosen[p][name] for p in both)
        for name in ("latency_s", "energy_j", "dram_byte")
    }
    return (
        f"the best nests by {goal} of {len(both)} products take {sums['latency_s']:.3g} of the time of the chosen nests,"
        f" {sums['energy_j']:.3g} of the energy and {sums['dram_byte']:.3g} of the bytes of main memory"
    )
