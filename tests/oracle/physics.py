"""Time and energy of kernels on a part: DESIGN section 5, implemented a second time.

A kernel's steps are placed on units and its traffic on memory levels; the larger of arithmetic and memory time counts, the part that
does not overlap is added, the power limit stretches it, and the host's queue orders the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .chip import Chip, Rate
from .facts import Facts, Record
from .network import Kernel, Run, Step

SAME = 1e-12
"""Largest relative difference of equal times, which is rounding."""


@dataclass(slots=True)
class Placement:
    """A step placed on units, with or without a tile."""

    rate: Rate
    units: float
    ideal_s: float
    count: float
    flops: float
    strategy: str | None = None
    tile: tuple[float | None, float | None, float | None] = (None, None, None)
    full: float = 1.0
    reload: float = 0.0
    held: float = 0.0
    reload_s: float = 0.0
    fetched: float = 0.0
    streamed: float = 0.0
    stream_s: float = 0.0
    spread: float | None = None
    """Rounds of its tiles, if more than tiles / units."""
    together: float = 1.0
    """Number of tiles that go to one unit at once."""
    column: Rate | None = None
    """Array whose single column runs a step other than a product."""

    @property
    def allocated(self) -> float:
        """Number of units with work."""
        return min(self.count / self.together, self.units)

    @property
    def peak_s(self) -> float:
        """Time at the peak. [s]"""
        return self.flops / self.rate.peak

    @property
    def second_an_operation(self) -> float:
        """Time of an operation on one unit; 0 without operations. [s]"""
        return self.units / self.rate.peak if self.flops > 0 else 0.0


@dataclass(slots=True)
class Prediction:
    """The predicted values of one target, by the names of the columns they must equal."""

    kernels: list[Record] = field(default_factory=list)
    steps: list[Record] = field(default_factory=list)
    operators: list[Record] = field(default_factory=list)
    model: Record = field(default_factory=dict)
    memory: Record = field(default_factory=dict)


def total(values: Iterable[float | None]) -> float | None:
    """Sum values; unknown if any of them is."""
    known = list(values)
    return None if None in known else math.fsum(known)  # type: ignore[arg-type]


def times(number: float | None, other: float | None) -> float | None:
    """Multiply two numbers; unknown if either is."""
    return None if number is None or other is None else number * other


# --- steps on units -----------------------------------------------------------------------------


class Mapper:
    """A mapper of kernels' steps to a chip."""

    def __init__(self, chip: Chip) -> None:
        self.chip, self.facts = chip, chip.facts
        self.block = self.facts.constant("vector_block_threads")

    def place(self, kernel: Kernel) -> list[dict[int | None, Placement]]:
        """Return the placements of each step by candidate tile, under None if it needs no tile."""
        scores = kernel.scores() if self.chip.cuts_queries else None
        is_untiled = kernel.kind == "conv" and kernel.call.algorithm == "wide"
        return [self.step(step, scores, is_untiled) for step in kernel.steps]

    def step(self, step: Step, scores: Step | None, is_untiled: bool) -> dict[int | None, Placement]:
        """Return all ways to run one step."""
        if not step.is_product and scores is None:
            lanes = self.chip.lanes_for(step.precision)
            rule = self.facts.one("operator_class", operator_class=step.operator_class)
            is_shared = self.chip.is_staged and rule["is_reducing"]
            return {None: self.shared(step, lanes) if is_shared else self.spread(step, lanes)}
        ways: dict[int | None, Placement] = {}
        for s in self.chip.tiles():
            way = self.way(step, s, scores, is_untiled)
            if way is not None:
                # The other operations in the products' tiles run at most at the peak.
                way.ideal_s = max(way.ideal_s, way.peak_s)
                if self.chip.fetches and s["dataflow"] not in ("weight_stationary", "input_stationary"):
                    way.fetched = way.fetched or way.reload
                if not self.chip.is_staged:
                    # Without a memory next to the units, tiles load from the last-level cache.
                    rate = self.chip.near_bandwidth if self.chip.near else self.chip.last_bandwidth
                    way.reload_s = way.reload / rate if rate else 0.0
                ways[s["candidate"]] = way
        return ways

    def way(self, step: Step, s: Record, scores: Step | None, is_untiled: bool) -> Placement | None:
        """Place one step with one candidate tile; None if the tile does not suit it, or a library has none for the step."""
        matrix, lanes = self.chip.rate("matrix", step.precision), self.chip.lanes_for(step.precision)
        dataflow = s["dataflow"]
        if dataflow == "query_block":
            return (
                self.query_block(step, s, scores, matrix or lanes, lanes) if scores and self.suits(scores, s) else None
            )
        if not step.is_product:
            return None
        if dataflow == "direct":
            has_lanes = self.chip.rate("vector", step.precision) is not None
            return self.spread(step, lanes, s) if has_lanes and (is_untiled or step.size("n") <= s["tile_n"]) else None
        if s["family"] == "*":
            if matrix is None:
                return self.spread(step, lanes) if s["divisor"] == 1 else None
            stays = dataflow in ("wavefront", "output_stationary")
            return self.wavefront(step, s, matrix) if stays else self.systolic(step, s, matrix)
        return None if scores or is_untiled or not self.fits(step, s) else self.output_stationary(step, s, matrix or lanes)

    def fits(self, step: Step, s: Record) -> bool:
        """Return whether the registers have room for the results of a listed tile, and the tile memory for a step of its operands, plus
        the results on units without a tile instruction."""
        results = 4.0 * s["tile_m"] * s["tile_n"]
        registers = self.chip.levels.get("register", {}).get("capacity_byte")
        if not results:
            return True
        room = self.chip.near_byte if self.chip.near or self.chip.last else math.inf
        operands = self.facts.width(step.precision) * (s["step_k"] or s["tile_k"]) * (s["tile_m"] + s["tile_n"])
        if s["matrix_instruction"] is not None:
            return results <= (registers or math.inf) and operands <= room
        return operands + results <= room

    @staticmethod
    def suits(scores: Step, s: Record) -> bool:
        """Return whether PyTorch uses blocks of this size for so many queries."""
        queries = scores.size("m") / scores.sizes.get("sharing", 1.0)
        return s["from_m"] <= queries and (s["below_m"] is None or queries < s["below_m"])

    def spread(self, step: Step, rate: Rate, s: Record | None = None) -> Placement:
        """Place a step in blocks of threads; each block costs as much as a full one."""
        threads, units = step.size("threads"), rate.units
        quantized, sustained = (s["wave_quantization_fraction"], s["efficiency_fraction"]) if s else (1.0, 1.0)
        count = max(1.0, math.ceil(threads / self.block))
        block_s = step.size("flops") * min(1.0, self.block / max(threads, 1.0)) / (rate.peak / units * sustained)
        ideal_s = max(self.waves(count, units, quantized) * block_s, step.size("flops") / rate.peak)
        placed = Placement(rate, units, ideal_s, count, step.size("flops"), s and s["strategy"])
        if self.chip.is_staged and step.is_product:
            # Every operand of every result passes both borders.
            m, n, k = step.size("m"), step.size("n"), step.size("k")
            width, groups = self.facts.width(step.precision), step.size("groups")
            passing = width * groups * (m * k + k * n + m * n)
            # Products of one unit, whole or in part, and whole ones whose columns it reads.
            own = math.ceil(count / units) * groups * min(1.0, self.block / max(threads, 1.0))
            read = min(groups, max(own, math.ceil(count / units)))
            busiest = width * (own * m * (k + n) + read * k * n)
            self.pass_borders(placed, (passing, busiest), (passing, busiest))
        return placed

    def pass_borders(self, placed: Placement, loaded: tuple[float, float], streamed: tuple[float, float]) -> None:
        """Set the bytes into the tile memories and on to the arithmetic, for all units, and the times, for the busiest unit."""
        placed.reload, placed.streamed = loaded[0], streamed[0]
        placed.reload_s = loaded[1] / self.chip.load_rate if self.chip.load_rate else 0.0
        placed.stream_s = streamed[1] / self.chip.stream_rate if self.chip.stream_rate else 0.0

    def shared(self, step: Step, rate: Rate) -> Placement:
        """Place results of many elements on a domain-flow part: units without a block share another's elements."""
        chip, results, flops = self.chip, step.size("threads"), step.size("flops")
        matrix = chip.rate("matrix", step.precision)
        elements = max(1.0, (step.size("macs") or flops) / max(results, 1.0))
        blocks = max(1.0, math.ceil(results / self.block))
        rounds = math.ceil(blocks / rate.units)
        block_s = flops * min(1.0, self.block / max(results, 1.0)) / (rate.peak / rate.units)
        meeting_s = min(self.block, results) * (
            (4 / chip.load_rate if chip.load_rate else 0.0) + rate.units / rate.peak
        )
        paying = math.log(2) * block_s / meeting_s if meeting_s else math.inf
        sharers = max(1.0, min(float(rate.units // blocks), math.floor(paying) if paying < math.inf else math.inf))
        placed = Placement(rate, rate.units, 0.0, blocks * sharers, flops)
        passing = self.facts.width(step.precision) * results * (elements + 1)
        busiest = passing * min(1.0, self.block / max(results, 1.0)) * rounds / sharers
        self.pass_borders(placed, (0.0, 0.0), (passing, busiest))
        clock = matrix and matrix.peak / (2 * matrix.rows * matrix.columns * matrix.units)
        fill_s = (elements + matrix.rows + matrix.columns - 2) / clock if matrix and clock else 0.0
        working_s = rounds * block_s / sharers + math.log2(sharers) * meeting_s
        placed.ideal_s = max(working_s, placed.peak_s, placed.stream_s) + fill_s
        if matrix and clock and step.size("macs"):
            tiles = math.ceil(math.ceil(results / matrix.rows) / matrix.units)
            column_s = (elements + matrix.rows - 1 + (tiles - 1) * max(elements, matrix.rows)) / clock
            if column_s < placed.ideal_s:
                placed.ideal_s, placed.column = column_s, matrix
        return placed

    @staticmethod
    def waves(count: float, units: float, quantized: float) -> float:
        """Return the rounds for all tiles; a share of the tiles waits for whole rounds."""
        return quantized * math.ceil(count / units) + (1 - quantized) * max(1.0, count / units)

    def tiled_units(self, rate: Rate) -> float:
        """Return the units that tiles use: all units for a matrix rate, for a vector rate those that have it."""
        return rate.units if rate.unit == "vector" else self.chip.units

    @staticmethod
    def unique(step: Step, rows: float, depth: float) -> float:
        """Return distinct pixels under a square of windows relative to the elements of their matrix, if a tile is deep enough for whole
        windows."""
        m, taps, image = step.size("m"), step.sizes.get("taps", 1.0), step.sizes.get("image")
        if image is None or taps == 1 or depth < taps:
            return 1.0
        elements = m * step.size("k") * step.size("groups")
        if rows >= m:
            return min(1.0, image / elements)
        window, stride = math.sqrt(taps), math.sqrt(taps * image / elements)
        return min(1.0, (window + stride * (math.sqrt(rows) - 1)) ** 2 / (rows * taps))

    def loads(self, step: Step, s: Record, tile: tuple[float, float, float], unique: float = 1.0) -> tuple[float, float]:
        """Return bytes that all tiles load, operands again for each tile, and bytes that one tile keeps."""
        width = self.facts.width(step.precision)
        m, n, k, (rows, columns, depth) = step.size("m"), step.size("n"), step.size("k"), tile
        loaded = width * step.size("groups") * (unique * m * k * math.ceil(n / columns) + k * n * math.ceil(m / rows))
        kept = s["stages"] * width * min(depth, k) * (rows + columns) + 4 * rows * columns
        return loaded, kept

    def output_stationary(self, step: Step, s: Record, rate: Rate) -> Placement | None:
        """Place tiles whose results stay in the unit: listed sizes, or square blocks fitted to the memory next to it."""
        chip, units = self.chip, self.tiled_units(rate)
        m, n, k, count = step.size("m"), step.size("n"), step.size("k"), step.size("groups")
        width, unit_rate = self.facts.width(step.precision), rate.peak / units
        filled = sustained = s["efficiency_fraction"]
        streamed, spread = 0.0, None
        if s["fed_macs"] is not None and chip.near_bandwidth:
            # A small tile loses less on a unit that is slow relative to the memory next to it.
            hunger = min(1.0, rate.peak * width / (2 * s["fed_macs"] * chip.near_bandwidth))
            sustained = filled / (filled + (1 - filled) * hunger)
        tile: tuple[float, float, float]
        if s["tile_m"] == 0:
            side = math.sqrt(chip.stated_near_byte / (2 * (2 * width + 4)))
            block = max(chip.lanes, math.floor(side / (chip.lanes * s["divisor"])) * chip.lanes)
            if block > chip.lanes and 2 * (2 * width + 4) * block**2 > chip.near_byte:
                return None
            tile = min(block, m), min(block, self.whole_vectors(n)), min(block, k)
            count *= math.ceil(m / tile[0]) * math.ceil(n / tile[1])
            turns = max(step.size("rounds"), 1.0)
            waves = turns * self.waves(count / turns, units, s["wave_quantization_fraction"])
            spread = turns * math.ceil(count / turns / units)
            ideal_s, full = waves * 2 * tile[0] * tile[1] * k / (unit_rate * sustained), 1.0
            streamed = self.first_level_blocks(step, tile)
        else:
            tile = s["tile_m"], s["tile_n"], s["tile_k"]
            count *= math.ceil(m / tile[0]) * math.ceil(n / tile[1]) * s["split_k"]
            # Rounds with weights too large for a unit run one after another.
            turns = max(step.size("rounds"), 1.0) if n * k * width > chip.near_byte else 1.0
            waves = turns * self.waves(count / turns, units, s["wave_quantization_fraction"])
            spread = turns * math.ceil(count / turns / units)
            step_s = 2 * tile[0] * tile[1] / (unit_rate * sustained)
            depth = s["step_k"] or s["tile_k"]
            steady_s = step_s * depth * math.ceil(k / (depth * s["split_k"]))
            longest_s = s["fill_clock"] / chip.clock_hz if chip.clock_hz else math.inf
            fill_s = 0.0 if step.is_continued else min(step_s * s["fill_k"], longest_s)
            begin_s = s["latency_clock"] / chip.clock_hz if chip.clock_hz and not step.is_continued else 0.0
            hidden_s = fill_s if s["exposed_fill"] is None else min(fill_s, s["exposed_fill"] * steady_s)
            filling_s = turns * fill_s + (waves - turns) * hidden_s
            ideal_s, full = waves * steady_s + filling_s + turns * begin_s, waves * steady_s / (waves * steady_s + filling_s)
        bandwidth = chip.stream_bandwidth
        return Placement(
            rate, units, ideal_s, count, step.size("flops"), s["strategy"], tile, full, *self.loads(step, s, tile),
            streamed=streamed, stream_s=streamed / bandwidth if bandwidth else 0.0, spread=spread,
        )  # fmt: skip

    def first_level_blocks(self, step: Step, tile: tuple[float, float, float]) -> float:
        """Return bytes loaded as square blocks of a core's first level, within blocks of its second."""
        if self.chip.stream is None:
            return 0.0
        width, lanes = self.facts.width(step.precision), self.chip.lanes
        side = math.sqrt(self.chip.levels[self.chip.stream]["capacity_byte"] / (2 * (2 * width + 4)))
        block = max(lanes, math.floor(side / lanes) * lanes)
        m, n, k = step.size("m"), step.size("n"), step.size("k")
        rows, columns = math.ceil(m / min(block, tile[0])), math.ceil(n / min(block, tile[1]))
        return width * step.size("groups") * (m * k * columns + k * n * rows)

    def whole_vectors(self, size: float) -> float:
        """Round a size up to whole vectors."""
        return math.ceil(size / self.chip.lanes) * self.chip.lanes

    def systolic(self, step: Step, s: Record, rate: Rate) -> Placement | None:
        """Place arrays that keep weights of the array's size while rows stream, or inputs while columns do."""
        m, n, k, count = step.size("m"), step.size("n"), step.size("k"), step.size("groups")
        holds_input = s["dataflow"] == "input_stationary"
        along, across = (n, m) if holds_input else (m, n)
        hertz = rate.peak / (2 * rate.rows * rate.columns * rate.units) * s["efficiency_fraction"]
        quantized = s["wave_quantization_fraction"]
        # At most as many rows as fit next to two arrays of weights, with their results in accumulators or in the same memory. Halving gives
        # equal parts.
        held = rate.accumulator_rows or math.inf
        if self.chip.near or self.chip.last:
            width, stages = self.facts.width(step.precision), s["stages"]
            row = stages * width * rate.rows + (0 if rate.accumulator_rows else 4 * rate.columns)
            held = min(held, math.floor((self.chip.near_byte - stages * width * rate.rows * rate.columns) / row))
            if held < 1:
                return None
        halvings = 0
        while held * 2**halvings < along:
            halvings += 1
        streamed = math.ceil(along / max(s["divisor"], 2**halvings))
        deep, wide, parts = math.ceil(k / rate.rows), math.ceil(across / rate.columns), math.ceil(along / streamed)
        own, kept_columns = min(wide, math.ceil(count * wide * parts / rate.units)), 1
        if self.chip.has_own_memory:
            spill = 0 if rate.accumulator_rows else 4 * streamed * rate.columns
            whole = stages * width * k * (streamed + rate.columns) + spill <= self.chip.near_byte
            room = math.floor((self.chip.near_byte / (stages * width * rate.rows) - streamed) / rate.columns)
            kept_columns = own if whole else max(1, min(own, (rate.accumulator_rows or 0) // streamed, room))
        groups, count = count, count * deep * wide * parts
        useful = self.waves(count, rate.units, quantized) * max(streamed, rate.rows)
        tile = (rate.columns, streamed, rate.rows) if holds_input else (streamed, rate.columns, rate.rows)
        cycles = useful + rate.rows + rate.columns - 2
        unique = self.unique(step, tile[0], min(rate.rows, k))
        loaded, kept = self.loads(step, s, tile, 1.0 if self.chip.has_own_memory else unique)
        fetches = (parts, math.ceil(wide / kept_columns)) if holds_input else (math.ceil(wide / kept_columns), parts)
        fetched = self.facts.width(step.precision) * groups * k * (unique * m * fetches[0] + n * fetches[1])
        met = self.met(groups * wide * parts, deep, rate.units) / (groups * wide * parts)
        again = 0 if rate.accumulator_rows else deep - 1
        fetched += 8 * groups * m * n * met
        loaded += 8 * groups * m * n * (met if self.chip.is_staged else max(met, again))
        kept -= 4 * tile[0] * tile[1] if rate.accumulator_rows else 0
        placed = Placement(
            rate, rate.units, cycles / hertz, count, step.size("flops"), s["strategy"], tile, useful / cycles, loaded, kept,
        )  # fmt: skip
        if self.chip.is_staged:
            turns, width = math.ceil(count / rate.units), self.facts.width(step.precision)
            loaded += groups * m * n * width
            passed = groups * (width * k * (along * wide + across * parts) + m * n * (width + 8 * again))
            self.pass_borders(placed, (loaded, loaded * turns / count), (passed, passed * turns / count))
        placed.fetched = fetched if self.chip.fetches else 0.0
        return placed

    @staticmethod
    def met(columns: float, deep: float, units: float) -> float:
        """Return the number of partial results that cross units: ends of units' turns within columns outside whole rounds."""
        left = columns % units
        if not left:
            return 0.0
        turns = math.ceil(left * deep / units)
        ends = math.ceil(left * deep / turns)
        return ends - (left if deep % turns == 0 else 1)

    def wavefront(self, step: Step, s: Record, rate: Rate) -> Placement | None:
        """Place blocks of a domain-flow array's tiles; None if a level has no room for one."""
        chip, width, stages = self.chip, self.facts.width(step.precision), s["stages"]
        m, n, k, groups, split = step.size("m"), step.size("n"), step.size("k"), step.size("groups"), s["split_k"]
        rows, columns, depth = rate.rows, rate.columns, math.ceil(step.size("k") / s["split_k"])
        tile_m, tile_n = s["tile_m"] or rows, s["tile_n"] or columns
        down, across = (sum(self.sides(size, t, a)) for size, t, a in ((m, tile_m, rows), (n, tile_n, columns)))
        block = math.ceil(min(tile_m, m) / rows) * math.ceil(min(tile_n, n) / columns)
        room = chip.near_byte if chip.near or chip.last else None
        slab = stages * width * (tile_m + tile_n)
        if s["tile_k"]:
            tile_k = min(s["tile_k"], depth)
        else:
            tile_k = depth if block > 1 or room is None else min(depth, math.floor(room / slab))
        slabs = math.ceil(depth / tile_k) if block > 1 and tile_k else 1
        kept = 4 * tile_m * tile_n if slabs > 1 else 0.0
        buffers = chip.levels[chip.stream]["capacity_byte"] if chip.stream else None
        if (buffers is not None and stages * width * (rows + columns) > buffers) or tile_k < 1:
            return None
        if room is not None and slab * tile_k + kept > room:
            return None
        count = down * across * groups * split
        most = max(math.ceil(count / rate.units), min(block, count))
        quantized = s["wave_quantization_fraction"]
        rounds = quantized * most + (1 - quantized) * max(1.0, count / rate.units)
        cycles = depth / slabs + rows + columns - 2 + (rounds * slabs - 1) * max(depth / slabs, rows)
        hertz = rate.peak / (2 * rows * columns * rate.units) * s["efficiency_fraction"]
        if chip.stream_bandwidth is not None:
            hertz = min(hertz, chip.stream_bandwidth / chip.units / (width * (rows + columns)))
        meetings = max((split - 1).bit_length(), math.ceil(most * (split - 1) / split)) if split > 1 else 0
        ideal_s = cycles / hertz + meetings * (4 * rows * columns / chip.load_rate if chip.load_rate else 0.0)
        placed = Placement(
            rate, rate.units, ideal_s, count, step.size("flops"), s["strategy"], (tile_m, tile_n, tile_k), rounds * depth / cycles,
            held=slab * tile_k + kept, spread=most, together=min(block, count),
        )  # fmt: skip
        # Software moves results too.
        result = width if chip.is_staged else 0.0
        unique = self.unique(step, tile_m, tile_k)
        loaded = width * (unique * m * k * math.ceil(n / tile_n) + k * n * math.ceil(m / tile_m))
        loaded += m * n * (result + 4 * (split - 1))
        stays = buffers is not None and width * (rows * depth / slabs + stages * columns) <= buffers
        streamed = width * (m * k * (math.ceil(n / tile_n) if stays else across) + k * n * down + m * n)
        streamed += 8 * m * n * (slabs - 1)
        # Without staging, arrays read each tile's operands, and blocks in a line on one unit share their rows.
        lines = math.ceil(n / tile_n)
        turns = min(lines, math.ceil(count / (block * rate.units))) if tile_k >= depth else 1
        fetched = loaded - width * unique * m * k * (lines - math.ceil(lines / turns))
        if not chip.is_staged:
            share, sums = (1.0, 0) if chip.has_own_memory else (unique, 4 * (split - 1))
            loaded = width * (share * m * k * (lines if stays else across) + k * n * down) + m * n * (8 * (slabs - 1) + sums)
        # The largest tile of the array, one of `split` slices of its reduction.
        m, n = min(rows, m), min(columns, n)
        one = (
            width
            * k
            * (unique * m * math.ceil(step.size("n") / tile_n) / across + n * math.ceil(step.size("m") / tile_m) / down)
        )
        one += m * n * (result + 4 * (split - 1))
        passed = width * k * (m * (math.ceil(step.size("n") / tile_n) / across if stays else 1) + n)
        passed += m * n * (width + 8 * (slabs - 1))
        self.pass_borders(placed, (groups * loaded, most * one / split), (groups * streamed, most * passed / split))
        placed.fetched = groups * fetched if chip.fetches else 0.0
        return placed

    @staticmethod
    def sides(size: float, block: float, array: float) -> Iterable[int]:
        """Yield the array tiles along one side of each block of a product."""
        while size > 0:
            yield math.ceil(min(size, block) / array)
            size -= block

    def query_block(self, step: Step, s: Record, scores: Step, rate: Rate, lanes: Rate) -> Placement:
        """Place blocks of queries of every head, adjacent ones on a unit; the unit with most rows takes longest."""
        units, block = self.tiled_units(rate), s["tile_m"]
        sharing = scores.sizes.get("sharing", 1.0)
        queries, heads = scores.size("m") / sharing, scores.size("groups") * sharing
        blocks = math.ceil(queries / block)
        most = math.ceil(heads * blocks / units)
        rows = math.fsum(min(block, queries - block * (b % blocks)) for b in range(most))
        placed = Placement(lanes, units, 0.0, heads * blocks, step.size("flops"), s["strategy"])
        if not step.is_product:
            placed.ideal_s = rows / (heads * queries) * step.size("flops") / (lanes.peak / units)
            return placed
        n, k = step.size("n"), step.size("k")
        placed.rate = rate
        placed.tile = min(block, queries), self.whole_vectors(min(s["tile_n"], n)), min(s["tile_k"], k)
        turns = rows + most * s["fill_k"]
        placed.ideal_s = 2 * turns * self.whole_vectors(n) * k / (rate.peak / units * s["efficiency_fraction"])
        placed.full = rows / turns
        placed.reload, placed.held = self.loads(step, s, placed.tile)  # type: ignore[arg-type]
        return placed


# --- kernels ------------------------------------------------------------------------------------


class Machine:
    """A chip that runs the kernels of one scenario."""

    def __init__(self, chip: Chip, run: Run) -> None:
        assert chip.support is not None
        self.chip, self.run, self.support, self.mapper = chip, run, chip.support, Mapper(chip)
        self.static_w = chip.energy.get(("static", "chip"))

    def execute(self, kernel: Kernel) -> tuple[Record, list[Placement]]:
        """Run the kernel with its fastest candidate; of times equal within rounding the one with less energy, then the lower number."""
        ways = self.mapper.place(kernel)
        tiled = [set(w) for w in ways if None not in w]
        numbers = sorted(set.intersection(*tiled)) if tiled else [0]  # type: ignore[type-var]
        best: tuple[Record, list[Placement]] | None = None
        for number in numbers:
            placed = [w[None] if None in w else w[number] for w in ways]
            cost = self.cost(kernel, placed) | {"candidate": number}
            if best is None or self.is_better(cost, best[0]):
                best = cost, placed
        assert best is not None, "no tile suits the kernel"
        return best

    @staticmethod
    def is_better(cost: Record, other: Record) -> bool:
        """Return whether a later candidate beats the best so far."""
        if not math.isclose(cost["unlimited_s"], other["unlimited_s"], rel_tol=SAME):
            return bool(cost["unlimited_s"] < other["unlimited_s"])
        mine, its = cost["dynamic_energy_j"] or 0.0, other["dynamic_energy_j"] or 0.0
        return mine < its and not math.isclose(mine, its, rel_tol=SAME)

    def chain(self, kernel: Kernel) -> tuple[float, int]:
        """Return further bytes that a domain-flow chain moves, and the number of links that leave the chip."""
        batch, state = self.run.batch, self.chip.shares(kernel.kind, "*", "*", self.run.scenario["memory_format"])
        share = state["residency"][0] or 0.0
        room, streamed = self.left(share), 1 - self.kept_weights(share)
        kernel.passes = 1
        samples = [min(batch, math.floor(room * batch / size)) for size in kernel.links]
        open_links = [2 * size for size in kernel.links if size > room]
        lost = [2 * size for size, most in zip(kernel.links, samples, strict=True) if most < 1]
        passes = max((math.ceil(batch / most) for most in samples if most >= 1), default=1)
        passed = sum(lost) + (passes - 1) * kernel.weights
        if sum(lost) + (passes - 1) * kernel.weights * streamed >= sum(open_links):
            return float(sum(open_links)), len(open_links)
        kernel.passes = passes
        return passed, len(lost)

    def groups(self, kernel: Kernel, share: float) -> int:
        """Return the number of sample groups that a domain-flow part runs in sequence, so that tensors between kernels stay on chip."""
        local, room = kernel.produced + kernel.written, self.left(share)
        if not self.chip.takes_groups or self.run.scenario["cache_state"] == "cold" or not room:
            return 1
        count = math.ceil(local / room)
        anew = max(0, count - kernel.passes) * kernel.weights * (1 - self.kept_weights(share))
        return count if 2 <= count <= self.run.batch and anew < local else 1

    def kept_weights(self, share: float) -> float:
        """Share of all weights that stay on chip from run to run."""
        memory = self.run.memory
        total_byte = memory["weight_byte"] + memory["buffer_byte"]
        state = self.run.scenario["cache_state"]
        if not total_byte or not (state == "weights_resident" or (self.chip.keeps_weights and state == "warm")):
            return 0.0
        whole, single = self.fitting_weights(share)
        # Run sample by sample, weights that do not stay are read for each sample.
        by_sample = self.chip.takes_groups and self.run.batch * (1 - single) < 1 - whole
        return single if by_sample else whole

    def fitting_weights(self, share: float) -> tuple[float, float]:
        """Return the shares of all weights that fit in addition to the activations of the batch, and of one sample."""
        memory = self.run.memory
        total_byte = memory["weight_byte"] + memory["buffer_byte"]
        peak = max([memory["activation_byte"], *(size for kernel in self.run.kernels for size in kernel.links)])
        room = self.room(share)
        whole, single = (min(1.0, max(0.0, room - peak / many) / total_byte) for many in (1, self.run.batch))
        return whole, single

    def room(self, share: float) -> float:
        """Return the usable bytes of the last level: all of them if software places data there."""
        return self.chip.last_byte * (1.0 if self.chip.is_placed else share)

    def left(self, share: float) -> float:
        """Return the bytes left for activations: if weights stay that fit only with one sample's activations, the remainder."""
        memory, kept = self.run.memory, self.kept_weights(share)
        if not kept or kept <= self.fitting_weights(share)[0]:
            return self.room(share)
        return self.room(share) - kept * (memory["weight_byte"] + memory["buffer_byte"])

    def resident(self, kernel: Kernel, share: float) -> float:
        """Return the bytes that the last-level cache serves."""
        state, local = self.run.scenario["cache_state"], kernel.produced + kernel.written
        if state == "hot" and kernel.traffic <= self.chip.last_byte:
            return kernel.traffic
        room = self.left(share) * self.groups(kernel, share)
        again = max(self.groups(kernel, share), kernel.passes)
        kept = self.kept_weights(share) * kernel.weights * again
        return kept + (local if state != "cold" and local <= room else 0.0)

    def team(self, kernel: Kernel, loop: float) -> float:
        """Return the number of threads that run a loop: all for a library's product, by its length for a loop of the backend."""
        chunk, units = self.support["chunk_element"], self.chip.units
        if chunk is None or any(s.size("macs") for s in kernel.steps):
            return units
        if self.support["shares_by_chunk"]:
            return min(units, max(1.0, loop / chunk))
        return units if loop >= chunk * self.chip.stated_units else 1.0

    def cost(self, kernel: Kernel, placed: list[Placement]) -> Record:
        """Compute every term of the kernel with these placements."""
        chip, run, bandwidth = self.chip, self.run, self.chip.dram_bandwidth
        assert bandwidth is not None
        reach = chip.reaches(kernel)
        kinds = {unit: [p for p in placed if p.rate.unit == unit] for unit in ("matrix", "vector")}
        ideal = {unit: math.fsum(p.ideal_s for p in ps) for unit, ps in kinds.items()}
        naive_s = max(math.fsum(p.peak_s for p in ps) for ps in kinds.values())
        # Half-work: every product on the matrix units starts separately; all work on vector units is one loop.
        starts = {
            "matrix": math.fsum(p.second_an_operation for p in kinds["matrix"]),
            "vector": max((p.second_an_operation for p in kinds["vector"]), default=0.0),
        }
        matrix_s, vector_s = (
            (ideal[unit] + reach[unit][1] * starts[unit]) / reach[unit][0]
            for unit in ("matrix", "vector")  # type: ignore[operator]
        )
        compute_s = max(matrix_s, vector_s, naive_s)
        # Memory levels.
        spilled, cuts = self.chain(kernel)
        residency = reach["residency"][0] or 0.0
        anew = max(0, self.groups(kernel, residency) - kernel.passes) * kernel.weights
        moved, resident = kernel.traffic + spilled + anew, self.resident(kernel, residency)
        share, half = reach["memory"]
        dram, reload = moved - resident, math.fsum(p.reload for p in placed)
        fetched, streamed = math.fsum(p.fetched for p in placed), math.fsum(p.streamed for p in placed)
        reload_s, stream_s = math.fsum(p.reload_s for p in placed), math.fsum(p.stream_s for p in placed)
        if chip.is_staged:
            # Every byte passes every level, whatever the tiles.
            reload = max(reload, moved)
            reload_s = max(reload_s, moved / chip.load_rate / chip.units if chip.load_rate else 0.0)
        if chip.stream:
            rate = chip.stream_rate if chip.is_staged else chip.slower(chip.stream_bandwidth)
            streamed = max(streamed, moved)
            stream_s = max(stream_s, moved / rate / chip.units if rate else 0.0)
        feed_s = 0.0 if chip.is_staged else stream_s
        assert share is not None and half is not None
        loop = kernel.largest / chip.facts.width(kernel.precision)
        team, thread = self.team(kernel, loop), reach["thread"][0]
        walks = run.backend["follows_strides"] and chip.layout(kernel) != "nhwc"
        levels = {
            "dram": (dram + (half * chip.stated_units if moved > 0 else 0.0)) / (bandwidth * share),
            "cache": moved / (chip.last_bandwidth * share) if chip.last_bandwidth else 0.0,
            "latency": max((s.size("accesses") for s in kernel.steps), default=0.0) * chip.latency_s if walks else 0.0,
            "thread": moved / (chip.unit_bandwidth * thread * team)
            if chip.unit_bandwidth and thread and team < chip.units
            else 0.0,
            "fetch": fetched / chip.last_bandwidth if chip.last_bandwidth else 0.0,
            "tile": reload_s,
            "stream": stream_s if chip.is_staged else 0.0,
        }
        rows = math.fsum(s.size("rows") for s in kernel.steps)
        block_s, flight = 0.0, reach["flight"][0]
        if run.backend["follows_strides"]:
            is_channel = kernel.kind == "batch_norm"
            block_s = rows * (chip.channel_row_s if is_channel else chip.norm_row_s)
            block_s = 0.0 if is_channel and chip.layout(kernel) == "nhwc" else block_s
            if is_channel and kernel.precision != "fp32":
                block_s += 2 * chip.gap_s * self.support["kernel_gap_fraction"]
        levels["row"] = block_s + levels["dram"] if block_s and kernel.kind != "batch_norm" else 0.0
        is_flying = run.backend["follows_strides"] and flight and not any(s.size("macs") for s in kernel.steps)
        levels["flight"] = loop * chip.element_s / flight + block_s if is_flying else 0.0  # type: ignore[operator]
        memory_s = max(levels.values())
        slowest = max(levels, key=lambda level: levels[level])
        # Exposed times: the library's reordering, fresh pages, teams of threads.
        is_cpu = chip.family == "cpu"
        reordered = kernel.call.reordered + (kernel.weights if chip.layout(kernel) == "aliased" else 0.0)
        flown = kernel.call.moved if chip.reads_channels_last else 0.0
        converted = kernel.call.converted + (kernel.call.moved_byte if flown else 0.0)
        reordered = reordered if is_cpu else converted if chip.family == "gpu" else 0.0
        reorder = reordered if reach["reorder"][0] is not None else 0.0
        paged = kernel.faults if is_cpu and reach["paging"][0] is not None else 0.0
        reorder_s, paging_s = (
            byte / (bandwidth * reach[r][0]) if byte else 0.0
            for byte, r in ((reorder, "reorder"), (paged, "paging"))  # type: ignore[operator]
        )
        if flown:
            flown_s = flown * chip.element_s / flight if flight else 0.0
            reorder_s = max(reorder_s, flown_s) + 3 * chip.gap_s * self.support["kernel_gap_fraction"]
        has_team = self.support["chunk_element"] is not None and team > 1 and moved > 0
        rounds = max(math.fsum(step.size("rounds") for step in kernel.steps), 1.0)
        team_s = (reach["thread"][1] or 0.0) * chip.team_s * rounds if has_team else 0.0
        if chip.family == "gpu" and rounds > 1:
            is_held = kernel.weights <= 2 * chip.near_byte
            team_s = 2 * rounds * (chip.latency_s if is_held else chip.gap_s * self.support["kernel_gap_fraction"])
        # Energy at the reference voltage.
        has_products = any(s.size("macs") for s in kernel.steps)
        instructions_j = 0.0 if has_products else loop * chip.energy.get(("op", "element"), 0.0)
        joules = {
            "compute_energy_j": total([*(times(p.flops, (p.column or p.rate).joule) for p in placed), instructions_j]),
            "dram_energy_j": times(dram, chip.energy.get(("byte", "dram"))),
            "cache_energy_j": times(moved, chip.energy.get(("byte", chip.last))) if chip.last else 0.0,
            "reload_energy_j": times(reload, chip.energy.get(("byte", chip.near)))
            if chip.near
            else times(max(0.0, reload - moved), chip.energy.get(("byte", chip.last)))
            if chip.last
            else 0.0,
            "fetch_energy_j": times(fetched - moved, chip.energy.get(("byte", chip.last))) if fetched > moved else 0.0,
            # If loads bypass the first level, its energy is part of an operation's.
            "stream_energy_j": times(streamed, chip.energy.get(("byte", chip.stream)))
            if chip.stream and chip.is_staged
            else 0.0,
            "reorder_energy_j": times(reorder, chip.energy.get(("byte", "dram"))),
        }
        exposed_s = reorder_s + paging_s + team_s
        serial_s = (1 - reach["overlap"][0]) * min(compute_s, memory_s)  # type: ignore[operator]
        unlimited_s = max(max(compute_s, memory_s) + serial_s, feed_s) + exposed_s
        busiest = max(ideal.values())
        return joules | {
            "kernel_id": kernel.kernel_id, "fused_kernel_id": kernel.fused_id, "kernel_class": kernel.kind,
            "layout": chip.layout(kernel), "macs": math.fsum(s.size("macs") for s in kernel.steps),
            "flops": math.fsum(s.size("flops") for s in kernel.steps),
            "threads": max((s.size("threads") for s in kernel.steps), default=0.0), "input_byte": kernel.read,
            "weight_byte": kernel.weights, "kv_cache_byte": kernel.cache, "output_byte": kernel.written,
            "produced_byte": kernel.produced, "traffic_byte": kernel.traffic, "moved_byte": moved, "cut_count": cuts,
            "loop_elements": loop, "resident_byte": resident, "dram_byte": dram, "reload_byte": reload,
            "matrix_s": matrix_s, "vector_s": vector_s, "compute_s": compute_s, "dram_s": levels["dram"],
            "cache_s": levels["cache"], "fetch_byte": fetched, "fetch_s": levels["fetch"], "reload_s": levels["tile"],
            "stream_byte": streamed, "stream_s": stream_s, "feed_s": feed_s,
            "latency_bound_s": levels["latency"], "block_s": block_s, "row_s": levels["row"], "flight_s": levels["flight"],
            "thread_s": levels["thread"], "team_size": team, "team_s": team_s, "memory_s": memory_s,
            "memory_level": {"cache": chip.last, "fetch": chip.last, "tile": chip.near or chip.last, "stream": chip.stream}.get(
                slowest, slowest
            ), "reorder_byte": reorder,
            "reorder_s": reorder_s, "paged_byte": paged, "paging_s": paging_s, "exposed_s": exposed_s, "serial_s": serial_s,
            "memory_energy_j": total(v for name, v in joules.items() if name != "compute_energy_j"),
            "dynamic_energy_j": total(joules.values()), "unlimited_s": unlimited_s, "overlap_fraction": reach["overlap"][0],
            "clocked_memory_s": max(levels["cache"], levels["fetch"], levels["tile"], levels["stream"]), "naive_s": naive_s,
            "roofline_s": max(naive_s, dram / bandwidth), "utilization_fraction": naive_s / busiest if busiest else 1.0,
            "units_allocated": max((p.allocated for p in placed), default=chip.units),
        }  # fmt: skip

    # --- the run ---------------------------------------------------------------------------------

    def predict(self) -> Prediction:
        """Predict all kernels in order, with the host's queue."""
        made = Prediction(memory=self.run.memory)
        factor, dispatch = self.run.scenario["host_factor"], self.support["dispatch"]
        call_s, issued, ended = self.support["run_s"] * factor, 0.0, 0.0
        kernels = [
            (position, k) for position, k in enumerate(self.run.kernels) if k.kind != "bias" or self.support["bias_is_kernel"]
        ]  # fmt: skip
        executed = [self.execute(kernel) for _, kernel in kernels]
        static_w = self.limit([cost for cost, _ in executed], [kernel for _, kernel in kernels], call_s)
        for (position, kernel), (cost, placed) in zip(kernels, executed, strict=True):
            made.kernels.append(cost)
            made.steps += [self.step_row(kernel, i, p, cost) for i, p in enumerate(placed)]
            host = self.support["host_kernel_s"] + kernel.views * self.support["host_view_s"]
            issue_s = 0.0 if dispatch == "graph" else host * factor
            issued += issue_s
            start = max(ended, issued) if dispatch == "async_queue" else ended + issue_s
            end_s = start + cost["device_s"]
            latency_s = end_s - ended
            static_j = times(static_w, latency_s)
            working = min(cost["utilization_fraction"], cost["units_allocated"] / self.chip.units)
            idle_s = latency_s - cost["busy_s"] * working
            cost |= {
                "position": position, "host_issue_s": issue_s, "run_call_s": call_s, "end_s": end_s, "latency_s": latency_s,
                "overhead_s": max(0.0, latency_s - cost["busy_s"]), "static_energy_j": static_j,
                "wasted_energy_j": times(static_w, idle_s), "energy_j": total([cost["dynamic_energy_j"], static_j]),
            }  # fmt: skip
            ended = end_s
        self.sum_up(made, call_s, static_w)
        for cost, (_, kernel) in zip(made.kernels, kernels, strict=True):
            made.operators += self.share(cost, kernel, made.model)
        return made

    def step_row(self, kernel: Kernel, number: int, p: Placement, cost: Record) -> Record:
        """Describe the mapping of one step to the part."""
        return {
            "kernel_id": kernel.kernel_id, "step_id": number, "unit": (p.column or p.rate).unit,
            "executed_precision": (p.column or p.rate).precision,
            "strategy": p.strategy, "flops": p.flops, "peak_ops_per_s": p.rate.peak, "tile_m": p.tile[0], "tile_n": p.tile[1],
            "tile_k": p.tile[2], "tile_count": p.count, "tile_unit_count": p.units, "units_allocated": p.allocated,
            "waves": p.spread or math.ceil(p.count / p.units), "pipelining_fraction": p.full, "reload_byte": p.reload,
            "tile_byte": p.held, "ideal_s": p.ideal_s,
            "utilization_fraction": min(1.0, p.peak_s / p.ideal_s) if p.ideal_s else 1.0,
        }  # fmt: skip

    @staticmethod
    def slowed(cost: Record, clock: float) -> float:
        """Return the time of a kernel at a clock, a share of the full one: only parts on the units' clock slow down."""
        compute, memory = cost["compute_s"] / clock, max(cost["memory_s"], cost["clocked_memory_s"] / clock)
        together = max(compute, memory) + (1 - cost["overlap_fraction"]) * min(compute, memory)
        return float(max(together, cost["feed_s"] / clock) + cost["exposed_s"])

    def limit(self, costs: list[Record], kernels: list[Kernel], call_s: float) -> float | None:
        """Set every kernel to the clock that the run sustains under the limit of its power mode, and return the static power at it."""
        chip, support = self.chip, self.support
        limit_w, top = self.mode()
        gap_s = chip.gap_s * support["kernel_gap_fraction"]
        factor, hosted = self.run.scenario["host_factor"], support["dispatch"] != "graph"
        issue_s = (
            math.fsum(support["host_kernel_s"] + k.views * support["host_view_s"] for k in kernels) * factor * hosted
        )
        swinging = ("compute_energy_j", "cache_energy_j", "reload_energy_j", "fetch_energy_j", "stream_energy_j")
        clocked_j = total(c[name] for c in costs for name in swinging)
        dynamic_j = total(c["dynamic_energy_j"] for c in costs)

        beside_s = call_s + gap_s * len(costs) + (0.0 if support["dispatch"] == "async_queue" else issue_s)

        def busy(clock: float) -> float:
            return math.fsum(self.slowed(c, clock) for c in costs)

        def dynamic(clock: float) -> float:
            return clocked_j * chip.voltage_square(clock) + (dynamic_j - clocked_j)  # type: ignore[operator]

        def needs(clock: float, busy_s: float) -> float:
            return dynamic(clock) / max(busy_s + beside_s, call_s + issue_s) + chip.static_w(clock)  # type: ignore[operator]

        def lasts(clock: float) -> float:
            left_w = limit_w - chip.static_w(clock)  # type: ignore[operator]
            return dynamic(clock) / left_w if left_w > 0 else math.inf

        clock, pause = top, 1.0
        if limit_w is not None and None not in (clocked_j, dynamic_j, self.static_w):
            steps = [top * chip.needed("clock_floor") ** (k / 5) for k in range(6)]
            watts = [needs(step, busy(step)) for step in steps]
            least_s = busy(top)
            below = next((k for k in range(6) if watts[k] <= limit_w), 6)
            if below == 6:
                clock, least_s = steps[-1], busy(steps[-1])
            elif below > 0:
                clock, least_s = self.between(needs, busy, steps, below, limit_w)
                if lasts(clock) > max(beside_s + busy(steps[below]), call_s + issue_s):
                    clock, least_s = steps[below], busy(steps[below])
            square = chip.voltage_square(clock)
            needed_s = lasts(clock)
            if needed_s > max(beside_s + least_s, call_s + issue_s):
                pause = (needed_s - beside_s) / least_s
        square = chip.voltage_square(clock)
        for cost in costs:
            busy_s = self.slowed(cost, clock) * pause
            for name in swinging:
                cost[name] = times(cost[name], square)
            joules = (*swinging[1:], "dram_energy_j", "reorder_energy_j")
            cost["memory_energy_j"] = total(cost[name] for name in joules)
            cost["dynamic_energy_j"] = total([cost["compute_energy_j"], cost["memory_energy_j"]])
            cost |= {
                "busy_s": busy_s, "power_s": busy_s - cost["unlimited_s"], "clock_fraction": clock, "pause_ratio": pause,
                "is_power_bound": busy_s > cost["unlimited_s"] * (1 + 1e-9) and (
                    max(cost["compute_s"], cost["clocked_memory_s"], cost["feed_s"]) >= clock * cost["memory_s"]
                    or busy_s - cost["unlimited_s"] > 0.5 * busy_s
                ), "device_s": busy_s + gap_s,
                "static_w": chip.static_w(clock),
            }  # fmt: skip
        return chip.static_w(clock)

    @classmethod
    def between(
        cls,
        needs: Callable[[float, float], float],
        busy: Callable[[float], float],
        steps: list[float],
        below: int,
        limit_w: float,
    ) -> tuple[float, float]:
        """Estimate a clock between a step that fits the limit and one that does not, by two power laws, and the least time at it."""

        def on_law(slow: tuple[float, float], full: tuple[float, float]) -> float:
            power = math.log(full[0] / slow[0]) / math.log(full[1] / slow[1])
            return slow[0] * (limit_w / slow[1]) ** power

        slow, full = ((step, needs(step, busy(step))) for step in (steps[below], steps[below - 1]))
        first = on_law(slow, full)
        found = first, needs(first, cls.least(busy, steps, below, first))
        if found[1] < limit_w:
            first = on_law(found, full)
        elif found[1] > limit_w:
            first = on_law(slow, found)
        return first, cls.least(busy, steps, below, first)

    @staticmethod
    def least(busy: Callable[[float], float], steps: list[float], below: int, clock: float) -> float:
        """Bound from below a time that is convex in 1 / clock, by lines through two steps on either side."""

        def line(first: float, second: float) -> float:
            slope = (busy(second) - busy(first)) / (1 / second - 1 / first)
            return busy(first) + slope * (1 / clock - 1 / first)

        bounds = [busy(steps[below - 1])]
        if below >= 2:
            bounds.append(line(steps[below - 2], steps[below - 1]))
        if below <= 4:
            bounds.append(line(steps[below], steps[below + 1]))
        return max(bounds)

    def mode(self) -> tuple[float | None, float]:
        """Return the power limit of the run and its highest clock, in its power mode. [W]"""
        name = self.run.scenario["power"]
        if name is None:
            return self.chip.tdp_w, 1.0
        modes = [m for m in self.chip.facts.where("hardware_power", hardware=self.chip.name) if m["mode"] == name]
        if modes:
            return modes[0]["tdp_w"], modes[0]["clock_fraction"] / self.chip.clock_fraction
        return float(name.removesuffix("w")), 1.0

    def sum_up(self, made: Prediction, call_s: float, static_w: float | None) -> None:
        """Sum up the run: costs paid once and all of its kernels."""
        ks = made.kernels
        sums = {
            c: total(k[c] for k in ks)
            for c in (
                "macs", "flops", "dram_byte", "device_s", "naive_s", "roofline_s", "compute_energy_j", "memory_energy_j",
                "energy_j", "wasted_energy_j", "static_energy_j",
            )
        }  # fmt: skip
        call_j = times(static_w, call_s)
        latency_s = math.fsum(k["latency_s"] for k in ks) + call_s
        is_known = static_w is not None and None not in [k["dynamic_energy_j"] for k in ks]
        watts = [k["dynamic_energy_j"] / k["busy_s"] for k in ks if k["busy_s"]] if is_known else []
        busy_s = math.fsum(k["busy_s"] for k in ks)
        used_s = math.fsum(k["busy_s"] * k["utilization_fraction"] for k in ks)
        made.model = sums | {
            "kernel_count": len(ks), "traffic_byte": math.fsum(k["moved_byte"] for k in ks), "latency_s": latency_s,
            "run_call_s": call_s, "host_issue_s": math.fsum(k["host_issue_s"] for k in ks) + call_s,
            "power_s": math.fsum(k["busy_s"] for k in ks if k["is_power_bound"]),
            "team_s": math.fsum(k["team_s"] for k in ks if not k["is_power_bound"]),
            "overhead_s": latency_s - busy_s,
            "energy_j": total([sums["energy_j"], call_j]), "static_energy_j": total([sums["static_energy_j"], call_j]),
            "wasted_energy_j": total([sums["wasted_energy_j"], call_j]),
            "peak_energy_j": max(k["dynamic_energy_j"] + static_w * k["device_s"] for k in ks) if watts else None,
            "peak_power_w": static_w + max(watts) if watts else None,  # type: ignore[operator]
            "utilization_fraction": used_s / busy_s if busy_s else None,
        }  # fmt: skip

    def share(self, cost: Record, kernel: Kernel, model: Record) -> list[Record]:
        """Divide a kernel's cost among its operators: by operations and modifier, else by elements written, else equally."""
        facts = self.chip.facts
        kind = facts.one("hardware_family", family=self.chip.family)["architecture_class"]
        is_inserted = kernel.kernel_id != kernel.fused_id
        own = [m["operator_id"] for m in self.run.working if m["kernel_id"] == kernel.kernel_id]
        members = [kernel.anchor] if is_inserted or not own else own
        rows = facts.where("architectural_modifier", architecture_class=kind, is_fused=kernel.operators > 1)
        modifiers = {r["operator_class"]: r["modifier"] for r in rows}
        classes = [kernel.kind if is_inserted else self.run.operators[o]["operator_class"] for o in members]
        work, written = (
            [math.fsum(s.size(quantity) for s in kernel.steps if s.operator_id == o) for o in members]
            for quantity in ("flops", "threads")
        )
        weighed = [w * modifiers.get(c, modifiers.get("*", 1.0)) for w, c in zip(work, classes, strict=True)]
        weights = next(w for w in (weighed, written, [1.0] * len(members)) if sum(w) > 0)
        edp_js = total([times(cost["energy_j"], model["latency_s"]), times(cost["latency_s"], model["energy_j"])])
        found = []
        for operator_id, weight in zip(members, weights, strict=True):
            part = weight / math.fsum(weights)
            found.append(
                {
                    "kernel_id": kernel.kernel_id, "operator_id": operator_id, "share_fraction": part,
                    "latency_s": part * cost["latency_s"], "energy_j": times(part, cost["energy_j"]),
                    "edp_js": times(part / 2, edp_js),
                }
            )  # fmt: skip
        return found


def predict(facts: Facts, scenario: Record, hardware: str, runs: dict[int, Run]) -> Prediction | None:
    """Predict one target; None if the part cannot run the scenario. Runs are reused from part to part."""
    if scenario["scenario_id"] not in runs:
        runs[scenario["scenario_id"]] = Run(facts, scenario)
    run = runs[scenario["scenario_id"]]
    if not run.is_valid:
        return None
    chip = Chip(facts, hardware, run.backend)
    modes = [mode["mode"] for mode in facts.where("hardware_power", hardware=hardware)]
    has_mode = scenario["power"] is None or scenario["power"] in modes or scenario["power"][:-1].isdigit()
    return Machine(chip, run).predict() if chip.runs(run.policy) and has_mode else None
