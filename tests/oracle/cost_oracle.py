"""The cost model a second time, in plain Python: reads only the base tables, follows the design's
formulas operator by operator and kernel by kernel, and shares no code with the views.

`predict` gives every kernel, operator and total of one model under one scenario on one part as
dictionaries whose keys are the columns of the views they must equal.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import duckdb

Record = dict[str, Any]

MODEL_TABLES = (
    "operator", "operator_part", "term", "edge", "tensor", "tensor_term", "access_term", "tensor_precision",
    "operator_layout", "layout_copy", "operator_precision", "precision_cast", "read_precision", "subgraph", "subgraph_operator", "subgraph_tensor",
    "tensor_lifetime", "heap_growth",
)  # fmt: skip
CATALOG_TABLES = (
    "hardware", "hardware_cluster", "hardware_memory", "hardware_peak", "hardware_power", "hardware_overhead",
    "precision", "precision_policy", "backend", "backend_support", "efficiency", "architectural_modifier",
    "cuda_limit", "energy_profile", "tiling_strategy", "scenario", "model",
)  # fmt: skip

ALL = -1
"""Stands for every candidate tile, where a step needs none."""
SYSTOLIC = ("weight_stationary", "wavefront")
"""Dataflows of arrays."""
VECTOR_BLOCK = 256
"""Threads of a block, the grain at which vector work is spread over the units."""
WEIGHTS = ("weight", "buffer", "constant")
CAST_BASE = 1_000_000
COPY_BASE = 2_000_000
BIAS_BASE = 3_000_000
CONVOLUTIONS = ("conv", "depthwise_conv", "conv_transposed")


@dataclass(slots=True)
class Prediction:
    """What one target comes out at."""

    kernels: list[Record] = field(default_factory=list)
    operators: list[Record] = field(default_factory=list)
    model: Record = field(default_factory=dict)


@dataclass(slots=True)
class Tables:
    """Base tables of one database, those of a model restricted to it."""

    rows: dict[str, list[Record]]

    @classmethod
    def read(cls, connection: duckdb.DuckDBPyConnection, model_id: int) -> Tables:
        """Everything the oracle needs about one model."""
        rows = {t: connection.sql(f"SELECT * FROM {t}").pl().to_dicts() for t in CATALOG_TABLES}
        for name in MODEL_TABLES:
            rows[name] = connection.sql(f"SELECT * FROM {name} WHERE model_id = {model_id}").pl().to_dicts()
        rows["model"] = [m for m in rows["model"] if m["model_id"] == model_id]
        return cls(rows)

    def where(self, table: str, **values: Any) -> list[Record]:
        """Rows with these values."""
        return [r for r in self.rows[table] if all(r[k] == v for k, v in values.items())]

    def one(self, table: str, **values: Any) -> Record:
        """The only row with these values."""
        (row,) = self.where(table, **values)
        return row


def by(rows: Iterable[Record], *keys: str) -> dict[Any, list[Record]]:
    """Rows grouped by one or more columns."""
    groups: dict[Any, list[Record]] = defaultdict(list)
    for row in rows:
        groups[row[keys[0]] if len(keys) == 1 else tuple(row[k] for k in keys)].append(row)
    return groups


# --- the run ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Run:
    """A model under a scenario: sizes and element types resolved."""

    scenario: Record
    batch: float
    sequence: float
    context: float

    def value(self, terms: Iterable[Record]) -> float:
        """A polynomial at this run's sizes."""
        return math.fsum(
            t["coefficient"]
            * self.batch ** t["batch_power"]
            * self.sequence ** t["sequence_power"]
            * self.context ** t["context_power"]
            for t in terms
        )


def resolve(model: Record, scenario: Record) -> Run | None:
    """The run, or None when the model has no such size."""
    if not model["is_batch_symbolic"] and scenario["batch"] != model["default_batch"]:
        return None
    asked = scenario["sequence"]
    if asked is not None and not model["is_sequence_symbolic"] and asked != model["default_sequence"]:
        return None
    if scenario["phase"] == "decode" and not model["has_context"]:
        return None
    length = model["default_sequence"] if asked is None else asked
    context = length if scenario["context"] is None else scenario["context"]
    return Run(scenario, scenario["batch"], 1 if scenario["phase"] == "decode" else length, context)


# --- the part -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Device:
    """What the model needs to know of a part."""

    row: Record
    units: float
    lanes: float
    arrays: dict[str, tuple[float, float, float]]
    """Units, rows and columns of the arrays behind a matrix peak, by its element type."""
    tile_byte: float | None
    tile_level: str | None
    tile_bandwidth: float | None
    cache_byte: float
    cache_level: str | None
    cache_bandwidth: float | None
    dram_bandwidth: float | None
    tdp_w: float | None
    gap_s: float
    latency_s: float
    clock_hz: float | None
    peaks: dict[tuple[str, str], float]
    single_peaks: dict[tuple[str, str], float]
    energy: dict[tuple[str, str], float]


def device_of(tables: Tables, hardware_id: str) -> Device:
    """Reads a part's rows: its levels, peaks in the default power mode, energy coefficients."""
    clusters = tables.where("hardware_cluster", hardware_id=hardware_id)
    units = float(sum(c["unit_count"] for c in clusters))
    levels = {m["level"]: m for m in tables.where("hardware_memory", hardware_id=hardware_id)}

    def total(level: str | None, column: str) -> float | None:
        row = levels.get(level or "")
        if row is None or row[column] is None:
            return None
        return float(row[column] * (units if row["scope"] == "unit" else 1))

    on_chip = [m for m in levels.values() if m["level"] not in ("dram", "register") and m["capacity_byte"] is not None]
    cache = max(on_chip, key=lambda m: m["depth"])["level"] if on_chip else None
    row = tables.one("hardware", hardware_id=hardware_id)
    nearest = ["l2" if row["family"] == "cpu" else "scratchpad", "l1"]
    if row["family"] == "cpu" and levels.get("l2", {}).get("scope") != "unit":
        nearest.remove("l2")
    tile = next((n for n in nearest if total(n, "capacity_byte") is not None), None)
    fallback_byte = (total(cache, "capacity_byte") or 0.0) / units if cache else None
    modes = tables.where("hardware_power", hardware_id=hardware_id, is_default=True)
    clock = modes[0]["clock_fraction"] if modes else 1.0
    # A pool of unlike arrays counts as one of equal arrays with as many processing elements.
    pool = tuple(
        math.sqrt(sum(c["unit_count"] * (c[side] or 1) ** 2 for c in clusters) / units)
        for side in ("array_rows", "array_columns")
    )
    pools = {"all": (units, *pool)} | {
        c["cluster"]: (float(c["unit_count"]), float(c["array_rows"] or 1), float(c["array_columns"] or 1))
        for c in clusters
    }
    peaks: dict[tuple[str, str], float] = {}
    single_peaks: dict[tuple[str, str], float] = {}
    arrays: dict[str, tuple[float, float, float]] = {}
    for peak in tables.where("hardware_peak", hardware_id=hardware_id):
        if peak["unit"] == "matrix" and peak["accumulator"] == "fp16":
            continue
        key = (peak["precision"], peak["unit"])
        if peak["unit"] == "matrix" and peak["peak_ops_per_s"] * clock > peaks.get(key, 0.0):
            arrays[peak["precision"]] = pools[peak["cluster"]]
        for chosen in [peaks] if peak["accumulator"] in ("fp16", "bf16") else [peaks, single_peaks]:
            chosen[key] = max(chosen.get(key, 0.0), peak["peak_ops_per_s"] * clock)
    overheads = {o["overhead"]: o["overhead_s"] for o in tables.where("hardware_overhead", hardware_id=hardware_id)}
    boosts = [c["clock_boost_hz"] for c in clusters if c["clock_boost_hz"] is not None]
    return Device(
        row=row,
        units=units,
        lanes=sum(c["unit_count"] * (c["lanes"] or 0.0) for c in clusters) / units,
        arrays=arrays,
        tile_byte=levels[tile]["capacity_byte"] if tile else fallback_byte,
        tile_level=tile,
        tile_bandwidth=total(tile, "bandwidth_byte_per_s"),
        cache_byte=total(cache, "capacity_byte") or 0.0,
        cache_level=cache,
        cache_bandwidth=total(cache, "bandwidth_byte_per_s"),
        dram_bandwidth=total("dram", "bandwidth_byte_per_s"),
        tdp_w=modes[0]["tdp_w"] if modes else None,
        gap_s=overheads.get("kernel_gap", 0.0),
        latency_s=overheads.get("memory_latency", 0.0),
        clock_hz=max(boosts) * clock if boosts else None,
        peaks=peaks,
        single_peaks=single_peaks,
        energy={(e["what"], e["key"]): e["value"] for e in tables.where("energy_profile", hardware_id=hardware_id)},
    )


def executed(tables: Tables, device: Device, support: Record, precision: str, unit: str) -> tuple[str, float] | None:
    """Element type and peak a unit computes a precision in, along its fallbacks; vector units that must sum in single
    precision have only the peaks that do, those that need not take the faster."""
    if unit == "matrix":
        return first_rate(tables, device.peaks, precision, unit)
    single = first_rate(tables, device.single_peaks, precision, unit)
    half = None if support["sums_in_half"] is False else first_rate(tables, device.peaks, precision, unit)
    return half if half and (single is None or half[1] >= single[1]) else single


def first_rate(
    tables: Tables, peaks: dict[tuple[str, str], float], precision: str, unit: str
) -> tuple[str, float] | None:
    """The first of a precision and its fallbacks that has a peak."""
    name: str | None = precision
    for _ in range(4):
        if name is None:
            return None
        if (name, unit) in peaks:
            return name, peaks[name, unit]
        name = tables.one("precision", precision=name)["fallback"]
    return None


def support_of(tables: Tables, device: Device, backend: str) -> Record | None:
    """Dispatch of a backend on a part; a row of its maker's before one for all."""
    rows = tables.where("backend_support", backend=backend, family=device.row["family"])
    mine = [r for r in rows if r["vendor"] == device.row["vendor"]] or [r for r in rows if r["vendor"] == "*"]
    return mine[0] if mine else None


def is_native(tables: Tables, device: Device, policy: str) -> bool:
    """True when the part itself computes in the policy's matrix precision."""
    rows = {r["operator_class"]: r["compute_precision"] for r in tables.where("precision_policy", policy=policy)}
    wanted = rows.get("linear") or rows.get("*")
    return any((wanted, unit) in device.peaks for unit in ("matrix", "vector"))


def efficiency_of(
    tables: Tables, device: Device, run: Run, kernel: Record, resource: str
) -> tuple[float, float] | None:
    """Fraction and half work of the most specific row; None for a `reorder`, `paging` or `thread` without one."""
    scopes = {
        f"hardware:{device.row['hardware_id']}": 3,
        f"architecture:{device.row['architecture']}": 2,
        f"family:{device.row['family']}": 1,
        "*": 0,
    }
    call = library_call(device, kernel)
    name = "aten._slow_conv2d_forward" if call.get("is_native") else kernel["operator_name"]
    layout = "aliased" if call.get("is_aliased") and device.row["vendor"] == "intel" else kernel["layout"]
    mine = {
        "kernel_class": ("*", kernel["kernel_class"], name),
        "backend": ("*", *lenders(tables, device, run), run.scenario["backend"]),
        "precision_class": ("*", kernel["precision"]),
        "memory_format": ("*", "strided" if call.get("is_misread") else layout),
    }
    fitting = [
        r
        for r in tables.where("efficiency", resource=resource)
        if r["scope"] in scopes and all(r[k] in names for k, names in mine.items())
    ]
    if resource in ("reorder", "paging", "thread") and not fitting:
        return None
    best = max(fitting, key=lambda r: (scopes[r["scope"]], *(names.index(r[k]) for k, names in mine.items())))
    return best["maximum_fraction"], best["half_work"]


def lenders(tables: Tables, device: Device, run: Run) -> list[str]:
    """The backend whose efficiencies stand in for those the run's has not, if any."""
    rows = tables.where("backend_support", backend=run.scenario["backend"], family=device.row["family"])
    known = {r["vendor"]: r["efficiency_backend"] for r in rows if r["vendor"] in ("*", device.row["vendor"])}
    lender = known.get(device.row["vendor"], known.get("*"))
    return [lender] if lender else []


def library_call(device: Device, kernel: Record) -> Record:
    """What PyTorch on a processor does about the kernel's product; nothing on other parts."""
    return (kernel.get("call") or kernel.get("product") or {}) if device.row["family"] == "cpu" else {}


# --- tiles --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tile:
    """One candidate, timed at full efficiency."""

    seconds: float
    count: float
    waves: float
    shape: tuple[float | None, float | None, float | None]
    reload_byte: float


def waves_of(strategy: Record, count: float, units: float) -> float:
    """Rounds in which all tiles are done, a partial last one counted in part."""
    quantized = strategy["wave_quantization_fraction"]
    return quantized * math.ceil(count / units) + (1 - quantized) * max(1.0, count / units)


def fitted_block(device: Device, element_byte: float, divisor: int) -> float:
    """Side of the square block whose double-buffered operands fit the core's own cache."""
    side = math.sqrt(device.tile_byte / (2 * (2 * element_byte + 4)))
    return max(device.lanes, math.floor(side / (device.lanes * divisor)) * device.lanes)


def lane_multiple(device: Device, size: float) -> float:
    """A size in whole vectors."""
    return math.ceil(size / device.lanes) * device.lanes


def most_rows(rows: float, block: float, most: int) -> float:
    """Rows of the unit that takes `most` neighbouring blocks, of which the last of a product may be short."""
    blocks = math.ceil(rows / block)
    return math.fsum(min(block, rows - block * (b % blocks)) for b in range(most))


def hunger(device: Device, s: Record, peak: float, element_byte: float) -> float:
    """How fast the units are for the memory beside them: 1 when a small tile costs all that it can."""
    if s["fed_macs"] is None or not device.tile_bandwidth:
        return 1.0
    return min(1.0, (peak / 2) / (device.tile_bandwidth / element_byte) / s["fed_macs"])


def tile(
    device: Device,
    s: Record,
    kind: str,
    peak: float,
    element_byte: float,
    m: float,
    n: float,
    k: float,
    g: float,
    is_alone: bool,
) -> Tile:
    """One candidate tile of a strategy for `g` products of m x n x k; one that another product continues, block
    by block, does not fill a pipeline of its own."""
    units = device.units
    if s["dataflow"] in SYSTOLIC:
        units, rows, columns = device.arrays[kind]
        clock = peak / (2 * rows * columns * units)
    unit_rate = peak / units
    if s["dataflow"] == "weight_stationary":
        tm, tn, tk = math.ceil(m / s["divisor"]), columns, rows
        count = g * math.ceil(k / tk) * math.ceil(n / tn) * math.ceil(m / tm)
        cycles = waves_of(s, count, units) * max(tm, rows) + rows + columns - 2
        seconds = cycles / (clock * s["efficiency_fraction"])
    elif s["dataflow"] == "wavefront":
        tm, tn, tk = rows, columns, k
        count = g * math.ceil(m / tm) * math.ceil(n / tn)
        cycles = k + rows + columns - 2 + (waves_of(s, count, units) - 1) * max(k, rows)
        seconds = cycles / (clock * s["efficiency_fraction"])
    elif s["dataflow"] == "query_block":
        tm, tn, tk = min(s["tile_m"], m), lane_multiple(device, min(s["tile_n"], n)), min(s["tile_k"], k)
        blocks = math.ceil(m / tm)
        count = g * blocks
        most = math.ceil(count / units)
        rows = most_rows(m, tm, most) + s["fill_k"] * most
        seconds = 2 * rows * lane_multiple(device, n) * k / unit_rate
    else:
        split, depth, latency_s, fill_s = s["split_k"], k, 0.0, 0.0
        sustained = unit_rate / (1 + (1 / s["efficiency_fraction"] - 1) * hunger(device, s, peak, element_byte))
        if s["tile_m"] == 0:
            block = fitted_block(device, element_byte, s["divisor"])
            tm, tn, tk = min(block, m), min(block, lane_multiple(device, n)), min(block, k)
            split = 1
        else:
            tm, tn, tk = s["tile_m"], s["tile_n"], s["tile_k"]
            step = tk if s["step_k"] is None else s["step_k"]
            depth = math.ceil(k / (step * split)) * step
            latency_s = s["latency_clock"] / device.clock_hz if device.clock_hz else 0.0
            # Filling takes steps of the reduction, at most the memory's latency.
            slowest_fill = s["fill_clock"] / device.clock_hz if device.clock_hz else math.inf
            fill_s = min(2 * tm * tn * s["fill_k"] / sustained, slowest_fill)
        count = g * math.ceil(m / tm) * math.ceil(n / tn) * split
        steady_s = 2 * tm * tn * depth / sustained
        seconds = waves_of(s, count, device.units) * steady_s
        if is_alone:
            # Later waves fill while other tiles on the unit compute.
            later_s = fill_s if s["exposed_fill"] is None else min(fill_s, s["exposed_fill"] * steady_s)
            seconds += fill_s + (waves_of(s, count, device.units) - 1) * later_s + latency_s
    loads = g * (m * k * math.ceil(n / tn) + k * n * math.ceil(m / tm))
    return Tile(seconds, count, math.ceil(count / units), (tm, tn, tk), element_byte * loads)


def direct(device: Device, s: Record, peak: float, flops: float, threads: float) -> Tile:
    """A narrow product without tiles on the vector units, in blocks of threads."""
    count = max(1.0, math.ceil(threads / VECTOR_BLOCK))
    block_flops = flops * min(1.0, VECTOR_BLOCK / max(threads, 1.0))
    seconds = waves_of(s, count, device.units) * block_flops / (peak / device.units * s["efficiency_fraction"])
    return Tile(seconds, count, math.ceil(count / device.units), (None, None, None), 0.0)


def map_part(
    tables: Tables,
    device: Device,
    support: Record,
    run: Run,
    part: Record,
    terms: dict[str, list[Record]],
    operator: Record,
) -> dict[int, Record]:
    """Where one step of an operator runs and how long its arithmetic takes at full efficiency, by candidate tile;
    under ALL when every candidate suits it."""
    precision = operator["precision"]
    is_alone = operator["operator_class"] != "attention" or part["part"] != "qk"
    size = {q: run.value(t) for q, t in terms.items()}
    flops, threads = size.get("flops", 0.0), size.get("threads", 0.0)
    order = ("matrix", "vector") if part["part_class"] == "gemm" else ("vector", "matrix")
    rates = {unit: executed(tables, device, support, precision, unit) for unit in order}
    kind, peak = next(rates[u] for u in order if rates[u])  # type: ignore[misc]
    unit = "matrix" if part["part_class"] == "gemm" and rates["matrix"] else "vector"
    record = {
        "macs": size.get("macs", 0.0), "flops": flops, "threads": threads, "steps": size.get("steps", 0.0),
        "unit": unit, "peak": peak, "executed_precision": kind, "reload_byte": 0.0, "shape": (None, None, None),
    }  # fmt: skip
    strategies = tables.where("tiling_strategy", family=device.row["family"])
    if part["part_class"] == "gemm" and unit == "vector":
        # No array computes this: it is spread over the vector units like any other work.
        systolic = [s["candidate"] for s in strategies if s["dataflow"] in SYSTOLIC]
        if systolic:
            blocks = max(1.0, math.ceil(threads / VECTOR_BLOCK))
            block_s = flops / max(threads, 1.0) * min(max(threads, 1.0), VECTOR_BLOCK) / (peak / device.units)
            waves = math.ceil(blocks / device.units)
            spread = record | {"count": blocks, "waves": waves, "ideal_s": max(waves * block_s, flops / peak)}
            return dict.fromkeys(systolic, spread)
    if part["part_class"] != "gemm":
        if operator["query_block"]:
            # The scores of a block stay with the unit that computed them.
            heads, queries = operator["heads"], operator["queries"]
            blocks = math.ceil(queries / operator["query_block"])
            most = math.ceil(heads * blocks / device.units)
            share = most_rows(queries, operator["query_block"], most) / (heads * queries)
            ideal_s = max(share * flops / (peak / device.units), flops / peak)
            return {ALL: record | {"count": heads * blocks, "waves": most, "ideal_s": ideal_s}}
        # Every block takes as long as its threads, all equal, take on one unit.
        blocks = max(1.0, math.ceil(threads / VECTOR_BLOCK))
        waves = math.ceil(blocks / device.units)
        block_flops = flops / max(threads, 1.0) * min(max(threads, 1.0), VECTOR_BLOCK)
        ideal_s = max(waves * block_flops / (peak / device.units), flops / peak)
        return {ALL: record | {"count": blocks, "waves": waves, "ideal_s": ideal_s}}
    element_byte = tables.one("precision", precision=precision)["bits"] / 8
    found: dict[int, Record] = {}
    limits = tables.where("cuda_limit", compute_capability=device.row["compute_capability"])
    instruction = limits[0]["matrix_instruction"] if limits else "mma"
    for s in strategies:
        if s["matrix_instruction"] not in (None, instruction):
            continue
        if operator["query_block"] != (s["tile_m"] if s["dataflow"] == "query_block" else None):
            continue
        if s["dataflow"] != "direct":
            sharing = size.get("sharing", 1.0) if s["dataflow"] == "query_block" else 1.0
            product = size["m"] / sharing, size["n"], size["k"], size["groups"] * sharing
            t, rate = tile(device, s, kind, peak, element_byte, *product, is_alone), (unit, kind, peak)
        elif rates["vector"] and size["n"] <= s["tile_n"]:
            t, rate = direct(device, s, rates["vector"][1], flops, threads), ("vector", *rates["vector"])
        else:
            continue
        # Bias and the like ride along at the peak: never faster than all operations at full rate.
        found[s["candidate"]] = record | {
            "unit": rate[0], "executed_precision": rate[1], "peak": rate[2], "count": t.count, "waves": t.waves,
            "shape": t.shape, "reload_byte": t.reload_byte, "ideal_s": max(t.seconds, flops / rate[2]),
        }  # fmt: skip
    return found


def query_blocks(
    tables: Tables, device: Device, run: Run, operator_class: str, scores: dict[str, list[Record]]
) -> Record:
    """Queries that PyTorch's attention on a processor takes at once, None for other kernels, of how many heads."""
    backend = tables.one("backend", backend=run.scenario["backend"])
    if operator_class != "attention" or "m" not in scores or device.row["family"] != "cpu" or not backend["calls_aten"]:
        return {"query_block": None}
    sharing = run.value(scores["sharing"]) if "sharing" in scores else 1.0
    queries, heads = run.value(scores["m"]) / sharing, run.value(scores["groups"]) * sharing
    return {
        "query_block": 256 if queries >= 768 else 64 if queries >= 192 else 32, "queries": queries, "heads": heads,
    }  # fmt: skip


def fastest(
    tables: Tables, device: Device, run: Run, support: Record, kernel: Record, steps: list[dict[int, Record]]
) -> Record:
    """The kernel run with the one candidate, for all its steps, that makes it fastest."""
    tiled = [{*s} for s in steps if ALL not in s]
    choices = []
    for number in set.intersection(*tiled) if tiled else {0}:
        parts = [s[ALL] if ALL in s else s[number] for s in steps]
        choices.append((number, cost(tables, device, run, support, kernel, parts)))
    return min(choices, key=lambda c: (c[1]["busy_s"] * (1 + 1e-9 * c[0]), c[0]))[1]


# --- kernels ------------------------------------------------------------------------------------


def kernels_of(tables: Tables, run: Run, support: Record) -> list[Record]:
    """Kernels of a run in order, with the bytes they move, conversions included."""
    backend = tables.one("backend", backend=run.scenario["backend"])
    policy = run.scenario["policy"]
    byte = {p["precision"]: p["bits"] / 8 for p in tables.rows["precision"]}
    elements = {t: run.value(terms) for t, terms in by(tables.rows["tensor_term"], "tensor_id").items()}
    accessed = {k: run.value(v) for k, v in by(tables.rows["access_term"], "operator_id", "tensor_id").items()}
    drawn = {(r["operator_id"], r["tensor_id"]): r["draw_fraction"] for r in tables.rows["access_term"]}
    held = {r["tensor_id"]: r["precision"] for r in tables.where("tensor_precision", policy=policy)}
    copies = {(r["operator_id"], r["tensor_id"]): r["precision"] for r in tables.where("read_precision", policy=policy)}
    computed = {r["operator_id"]: r["precision"] for r in tables.where("operator_precision", policy=policy)}
    crossings = by(tables.where("subgraph_tensor", backend=backend["backend"]), "subgraph_id")
    home = {r["operator_id"]: r["subgraph_id"] for r in tables.where("subgraph_operator", backend=backend["backend"])}
    tensors = {t["tensor_id"]: t for t in tables.rows["tensor"]}
    targets = {o["operator_id"]: o["target"] for o in tables.rows["operator"]}
    classes = {o["operator_id"]: o["operator_class"] for o in tables.rows["operator"]}
    links = links_of(tables, home, {t: elements[t] * byte[kind] for t, kind in held.items()})
    wanted = run.scenario["memory_format"]
    planned = tables.rows["model"][0]["planned_format"] if backend["plans_layout"] else None
    format_of_run = planned or wanted
    follows = bool(backend["follows_strides"])
    layouts = {r["operator_id"]: r["layout"] for r in tables.where("operator_layout", memory_format=wanted) if follows}
    sizes = {k: run.value(v) for k, v in by(tables.rows["term"], "operator_id", "part", "quantity").items()}
    kernels = []
    for s in tables.where("subgraph", backend=backend["backend"]):
        moved: dict[str, float] = defaultdict(float)
        for c in crossings.get(s["subgraph_id"], []):
            kind = held[c["tensor_id"]]
            if c["direction"] == "read":
                kind = copies.get((c["operator_id"], c["tensor_id"]), kind)
            # A row gathered twice is read once.
            whole = elements[c["tensor_id"]]
            moved_elements = accessed.get((c["operator_id"], c["tensor_id"]), whole)
            share = drawn.get((c["operator_id"], c["tensor_id"]))
            if share is not None:
                # Left out by one draw, by two, and so on.
                moved_elements = whole - whole * (1 - share) ** (moved_elements / whole / share)
            size = min(moved_elements, whole) * (max(byte[kind], 4) if c["is_wide"] else byte[kind])
            role = "output" if c["direction"] == "write" else c["role"]
            moved[role] += size
            if role in ("input", "output"):
                moved["largest"] = max(moved["largest"], size)
            moved["produced"] += size if c["direction"] == "read" and c["is_produced"] else 0.0
        layout = layouts.get(s["anchor_operator_id"], format_of_run)
        if layout == "view":
            moved.clear()
            layout = format_of_run
        kernels.append(
            {
                "subgraph_id": s["subgraph_id"],
                "order": (float(s["subgraph_id"]), s["subgraph_id"]),
                "kernel_class": s["kernel_class"],
                "operator_name": ".".join(targets[s["anchor_operator_id"]].split(".")[:2]),
                "precision": computed[s["anchor_operator_id"]],
                "layout": layout,
                "view_count": s["view_count"],
                "operator_count": s["operator_count"],
                "weight_byte": moved["weight"],
                "traffic_byte": moved["input"] + moved["weight"] + moved["kv_cache"] + moved["output"],
                "local_byte": moved["produced"] + moved["output"],
                "loop_elements": moved["largest"] / byte[computed[s["anchor_operator_id"]]],
                "links": links.get(s["subgraph_id"], []),
                "output_byte": moved["output"],
                "anchor": s["anchor_operator_id"],
            }
        )
    for k in kernels:
        k["call"] = convolution_call(tables, run, backend, k, sizes, elements, byte[k["precision"]])
        k["product"] = linear_call(tables, backend, k, sizes, byte[k["precision"]])
    faults = page_faults(tables, run, backend, kernels, home, elements, held)
    for k in kernels:
        k["fault_byte"] = faults.get(k["subgraph_id"], 0.0)
    for c in tables.where("precision_cast", policy=policy):
        tensor = tensors[c["tensor_id"]]
        is_weight = tensor["role"] in WEIGHTS
        runs = backend["weight_casts_are_kernels"] if is_weight else backend["casts_are_kernels"]
        if not runs or c["operator_id"] not in home:
            continue
        read = elements[c["tensor_id"]] * byte[c["from_precision"]]
        written = elements[c["tensor_id"]] * byte[c["to_precision"]]
        kernels.append(
            {
                "subgraph_id": CAST_BASE + c["cast_id"],
                "order": (home[c["operator_id"]] - 0.5, CAST_BASE + c["cast_id"]),
                "kernel_class": "cast",
                "operator_name": "cast",
                "precision": c["to_precision"],
                "layout": format_of_run,
                "view_count": 0,
                "operator_count": 1,
                "made_for": c["operator_id"],
                "weight_byte": read if is_weight else 0.0,
                "traffic_byte": read + written,
                "local_byte": written + (0.0 if tensor["producer_operator_id"] is None else read),
                "loop_elements": elements[c["tensor_id"]],
            }
        )
    for c in tables.where("layout_copy", memory_format=format_of_run):
        tensor = tensors[c["tensor_id"]]
        is_image = classes[c["operator_id"]] in CONVOLUTIONS and tensor["role"] not in WEIGHTS
        if not (follows or (backend["plans_layout"] and is_image)):
            continue
        size = elements[c["tensor_id"]] * byte[computed[c["operator_id"]]]
        kernels.append(
            {
                "subgraph_id": COPY_BASE + c["copy_id"],
                "order": (home[c["operator_id"]] - 0.25, COPY_BASE + c["copy_id"]),
                "kernel_class": "copy",
                "operator_name": "copy",
                "precision": computed[c["operator_id"]],
                "layout": "strided",
                "view_count": 0,
                "operator_count": 1,
                "made_for": c["operator_id"],
                "weight_byte": size if tensor["role"] in WEIGHTS else 0.0,
                "traffic_byte": 2 * size,
                "local_byte": size + (0.0 if tensor["producer_operator_id"] is None else size),
                "loop_elements": elements[c["tensor_id"]],
            }
        )
    if support["bias_is_kernel"]:
        kernels += bias_kernels(tables, home, elements, byte, computed, layouts, format_of_run)
    return sorted(kernels, key=lambda k: k["order"])


def linear_call(
    tables: Tables, backend: Record, kernel: Record, sizes: dict[tuple[int, str, str], float], width: float
) -> Record | None:
    """What PyTorch on a processor does about a linear layer: rows that share cache sets, a result that holds the bias."""
    size = {q: v for (o, part, q), v in sizes.items() if o == kernel["anchor"] and part == "main"}
    if not backend["calls_aten"] or kernel["kernel_class"] != "linear" or "k" not in size:
        return None
    has_bias = any(e["position"] == 2 for e in tables.where("edge", consumer_operator_id=kernel["anchor"]))
    result = size["groups"] * size["m"] * size["n"] * width
    return {"is_aliased": size["k"] * width % 2048 == 0, "reorder_byte": 2 * result if has_bias else 0.0}


def convolution_call(
    tables: Tables,
    run: Run,
    backend: Record,
    kernel: Record,
    sizes: dict[tuple[int, str, str], float],
    elements: dict[int, float],
    width: float,
) -> Record | None:
    """What PyTorch on a processor does about a convolution: reorders, scratch memory, its own product or oneDNN."""
    if not backend["calls_aten"] or kernel["kernel_class"] not in CONVOLUTIONS:
        return None
    size = {q: v for (o, part, q), v in sizes.items() if o == kernel["anchor"] and part == "main"}
    operands = {e["position"]: e["tensor_id"] for e in tables.where("edge", consumer_operator_id=kernel["anchor"])}
    reads = {position: elements[tensor_id] for position, tensor_id in operands.items()}
    weight = reads[1] * width
    planned = tables.rows["model"][0]["planned_format"] or run.scenario["memory_format"]
    image_id = operands[0]
    tensor = tables.one("tensor", tensor_id=image_id)
    whole = tables.one("tensor", tensor_id=tensor["storage_tensor_id"])
    is_view = tensor["shape"].startswith("[B,") and tensor["shape"] != whole["shape"]
    is_planned = backend["plans_layout"] and planned == "nhwc"
    is_misread = is_planned and run.batch == 1 and size.get("taps", 1) == 1 and is_view
    copies = tables.where("layout_copy", memory_format=planned, operator_id=kernel["anchor"], tensor_id=image_id)
    is_small = "image" in size and size["image"] <= 20480
    if kernel["precision"] == "fp32" and size.get("samples") == 1 and is_small:
        columns = size["m"] * size["k"]
        unfolded = 0.0 if columns == size["image"] else columns * width
        call = {"is_native": True, "is_misread": False, "scratch": unfolded, "reorder_byte": 2 * unfolded}
    else:
        image = result = copy = 0.0
        if is_misread:
            copy = reads[0] * width
        if is_misread or (not backend["plans_layout"] and kernel["layout"] == "nchw"):
            result = kernel["output_byte"]
            if "k" not in size or "taps" not in size or size["k"] / size["taps"] >= 16:
                image = reads[0] * width
        call = {
            "is_native": False,
            "is_misread": is_misread,
            "scratch": copy + max(weight + image, result),
            "reorder_byte": 2 * (weight + (0.0 if copies else copy) + image + result),
        }
    call["channels_last"] = weight if backend["plans_layout"] and size.get("taps", 0) > 1 else 0.0
    call["reorder_byte"] += 2 * call["channels_last"]
    return call


def page_faults(
    tables: Tables,
    run: Run,
    backend: Record,
    kernels: list[Record],
    home: dict[int, int],
    elements: dict[int, float],
    held: dict[int, str],
) -> dict[int, float]:
    """Fresh pages by kernel: of small blocks a share, of those above 32 MiB all."""
    fractions = {g["batch"]: g["growth_fraction"] for g in tables.where("heap_growth", backend=backend["backend"])}
    known = [batch for batch in fractions if batch <= run.batch]
    if not known:
        return {}
    bits = {p["precision"]: p["bits"] for p in tables.rows["precision"]}
    roles = {t["tensor_id"]: t["role"] for t in tables.rows["tensor"]}
    storage = {t["tensor_id"]: t["storage_tensor_id"] for t in tables.rows["tensor"]}
    wide = {
        storage[c["tensor_id"]]
        for c in tables.where("subgraph_tensor", backend=backend["backend"], direction="write", is_wide=True)
    }
    blocks: dict[Any, list[tuple[int, float]]] = defaultdict(list)
    for life in tables.where("tensor_lifetime", backend=backend["backend"]):
        precision = held[life["tensor_id"]]
        if life["tensor_id"] in wide and bits[precision] < 32:
            precision = "fp32"
        if life["first_subgraph_id"] >= 0:
            size = elements[life["tensor_id"]] * bits[precision] / 8
            blocks[life["block_tensor_id"], precision].append((life["first_subgraph_id"], size))
    for r in tables.where("read_precision", policy=run.scenario["policy"]):
        is_kernel = backend["weight_casts_are_kernels" if roles[r["tensor_id"]] in WEIGHTS else "casts_are_kernels"]
        if is_kernel and r["operator_id"] in home:
            size = elements[r["tensor_id"]] * bits[r["precision"]] / 8
            blocks["copy", r["tensor_id"], r["precision"]].append((home[r["operator_id"]], size))
    called = [(k["subgraph_id"], k["call"]) for k in kernels if k["call"]]
    for subgraph, call in called:
        blocks["scratch", subgraph].append((subgraph, call["scratch"]))
        if call["channels_last"] >= 32 * 2**20:
            blocks["last", call["channels_last"]].append((subgraph, call["channels_last"]))
    found: dict[int, float] = defaultdict(float)
    for held_from in blocks.values():
        size = max(b for _, b in held_from)
        found[min(s for s, _ in held_from)] += size if size >= 32 * 2**20 else size * fractions[max(known)]
    return found


def bias_kernels(
    tables: Tables,
    home: dict[int, int],
    elements: dict[int, float],
    byte: dict[str, float],
    computed: dict[int, str],
    layouts: dict[int, str],
    format_of_run: str,
) -> list[Record]:
    """Kernels that add the bias of a convolution to its result: read it, write it, read the bias."""
    made = []
    for o in tables.rows["operator"]:
        me = o["operator_id"]
        bias = [e["tensor_id"] for e in tables.where("edge", consumer_operator_id=me) if e["position"] == 2]
        if o["operator_class"] not in CONVOLUTIONS or not bias or me not in home:
            continue
        result = min(t["tensor_id"] for t in tables.rows["tensor"] if t["producer_operator_id"] == me)
        read, added = elements[result] * byte[computed[me]], elements[bias[0]] * byte[computed[me]]
        layout = layouts.get(me, format_of_run)
        made.append(
            {
                "subgraph_id": BIAS_BASE + me,
                "order": (home[me] + 0.25, BIAS_BASE + me),
                "kernel_class": "bias",
                "operator_name": "bias",
                "precision": computed[me],
                "layout": format_of_run if layout == "view" else layout,
                "view_count": 0,
                "operator_count": 1,
                "made_for": me,
                "weight_byte": added,
                "traffic_byte": 2 * read + added,
                "local_byte": 2 * read,
                "loop_elements": elements[result],
            }
        )
    return made


MATRIX_CLASSES = ("conv", "depthwise_conv", "conv_transposed", "linear", "matmul", "attention")


def links_of(tables: Tables, home: dict[int, int], byte: dict[int, float]) -> dict[int, list[float]]:
    """Sizes of the tensors a kernel makes and a matrix operator of the same kernel reads; a cache is in memory."""
    tensors = {t["tensor_id"]: t for t in tables.rows["tensor"]}
    classes = {o["operator_id"]: o["operator_class"] for o in tables.rows["operator"]}
    found: set[tuple[int, int]] = set()
    for edge in tables.rows["edge"]:
        reader = edge["consumer_operator_id"]
        root = tensors[tensors[edge["tensor_id"]]["storage_tensor_id"]]
        subgraph = home.get(reader)
        is_inside = subgraph is not None and subgraph == home.get(root["producer_operator_id"])
        if is_inside and root["role"] != "kv_cache" and classes[reader] in MATRIX_CLASSES:
            found.add((subgraph, root["tensor_id"]))  # type: ignore[arg-type]
    sizes: dict[int, list[float]] = defaultdict(list)
    for subgraph, tensor in found:
        sizes[subgraph].append(byte[tensor])
    return sizes


def summed(values: Iterable[float | None]) -> float | None:
    """Sum, unknown as soon as one summand is."""
    known = list(values)
    return None if any(v is None for v in known) else math.fsum(known)  # type: ignore[arg-type]


def product(a: float | None, b: float | None) -> float | None:
    """Product, unknown when a factor is."""
    return None if a is None or b is None else a * b


def cost(tables: Tables, device: Device, run: Run, support: Record, kernel: Record, parts: list[Record]) -> Record:
    """The kernel with its device time and dynamic energy."""
    fraction = {
        r: efficiency_of(tables, device, run, kernel, r) for r in ("matrix", "vector", "memory", "overlap", "residency")
    }
    reorder, paging, thread = (efficiency_of(tables, device, run, kernel, r) for r in ("reorder", "paging", "thread"))
    ideal = {u: math.fsum(p["ideal_s"] for p in parts if p["unit"] == u) for u in ("matrix", "vector")}
    # Saturation: each matrix product starts up on its own; fused vector steps run as one loop.
    startup = {
        u: [device.units / p["peak"] for p in parts if p["unit"] == u and p["flops"] > 0] for u in ("matrix", "vector")
    }
    matrix_s = (ideal["matrix"] + fraction["matrix"][1] * sum(startup["matrix"])) / fraction["matrix"][0]
    vector_s = (ideal["vector"] + fraction["vector"][1] * max(startup["vector"], default=0.0)) / fraction["vector"][0]
    naive = {u: math.fsum(p["flops"] / p["peak"] for p in parts if p["unit"] == u) for u in ("matrix", "vector")}
    compute_s = max(matrix_s, vector_s, *naive.values())

    traffic = kernel["traffic_byte"]
    state = run.scenario["cache_state"]
    resident = 0.0
    if state == "hot" and traffic <= device.cache_byte:
        resident = traffic
    elif state in ("hot", "warm"):
        resident = kernel["local_byte"] if kernel["local_byte"] <= fraction["residency"][0] * device.cache_byte else 0.0
    # Links of a domain-flow chain that do not fit on chip are written and read once, or the batch passes in parts that do,
    # each reading all weights.
    room = (
        efficiency_of(tables, device, run, kernel | {"precision": "*", "operator_name": "*"}, "residency")[0]
        * device.cache_byte
    )
    links = kernel.get("links", [])
    fitting = [min(run.batch, math.floor(room / (size / run.batch))) for size in links]
    passes = max((math.ceil(run.batch / most) for most in fitting if most >= 1), default=1)
    never = sum(2 * size for size, most in zip(links, fitting, strict=True) if most < 1)
    traffic += min(sum(2 * size for size in links if size > room), never + (passes - 1) * kernel["weight_byte"])
    dram_byte = traffic - resident
    reload_byte = math.fsum(p["reload_byte"] for p in parts)
    share, half = fraction["memory"]
    times: dict[str | None, float] = {"cache": 0.0, "tile": 0.0}
    if device.dram_bandwidth:
        times["dram"] = (dram_byte + (half * device.units if traffic > 0 else 0.0)) / (device.dram_bandwidth * share)
    if device.cache_bandwidth:
        times["cache"] = traffic / (device.cache_bandwidth * share)
    if device.tile_bandwidth:
        times["tile"] = reload_byte / device.tile_bandwidth
    # PyTorch's own kernels: one thread a pixel waits for each sample and channel in turn, unless channels lie inside.
    walks = tables.one("backend", backend=run.scenario["backend"])["follows_strides"] and kernel["layout"] != "nhwc"
    latency_bound_s = max((p["steps"] for p in parts), default=0.0) * device.latency_s if walks else 0.0
    # A loop of fewer elements than its threads should have each stays with one thread, or with as many as have them,
    # alone on the memory; libraries share their products, and what is shared begins and ends with its team.
    chunk, is_product = support["chunk_element"], any(p["macs"] for p in parts)
    team_size = float(device.units)
    if chunk and not is_product:
        possible = min(team_size, max(1.0, kernel["loop_elements"] / chunk))
        team_size = possible if support["shares_by_chunk"] or possible == team_size else 1.0
    thread_s = team_s = 0.0
    if thread and device.dram_bandwidth:
        second_a_byte = device.units / device.dram_bandwidth
        thread_s = traffic * second_a_byte / (thread[0] * team_size) if team_size < device.units else 0.0
        team_s = thread[1] * second_a_byte if team_size > 1 and traffic > 0 and chunk is not None else 0.0
    memory_s = max(*times.values(), latency_bound_s, thread_s)
    serial_s = (1 - fraction["overlap"][0]) * min(compute_s, memory_s)
    # Weights and images that the library puts in its own order are written and read once more.
    call = library_call(device, kernel)
    reorder_byte = 0.0 if reorder is None else call.get("reorder_byte", 0.0)
    if reorder and call.get("is_aliased") and device.row["vendor"] == "intel":
        reorder_byte += kernel["weight_byte"]
    reorder_s = reorder_byte / (device.dram_bandwidth * reorder[0]) if reorder and device.dram_bandwidth else 0.0
    # Memory that was given back to the system comes anew, page by page.
    paged_byte = kernel.get("fault_byte", 0.0) if paging and device.row["family"] == "cpu" else 0.0
    paging_s = paged_byte / (device.dram_bandwidth * paging[0]) if paging and device.dram_bandwidth else 0.0

    energy = device.energy
    compute_j = summed(product(p["flops"], energy.get(("op", f"{p['executed_precision']}.{p['unit']}"))) for p in parts)
    memory_j = summed(
        [
            product(dram_byte + reorder_byte, energy.get(("byte", "dram"))),
            product(traffic, energy.get(("byte", device.cache_level))) if device.cache_level else 0.0,
            product(reload_byte, energy.get(("byte", device.tile_level))) if device.tile_level else 0.0,
        ]
    )
    static_w = energy.get(("static", "chip"))
    dynamic_j = summed([compute_j, memory_j])
    power_s = None
    if dynamic_j is not None and static_w is not None and device.tdp_w is not None and device.tdp_w != static_w:
        power_s = dynamic_j / (device.tdp_w - static_w)
    busy_s = max(max(compute_s, memory_s) + serial_s + reorder_s + paging_s + team_s, power_s or 0.0)
    return kernel | {
        "traffic_byte": traffic,
        "macs": math.fsum(p["macs"] for p in parts),
        "flops": math.fsum(p["flops"] for p in parts),
        "threads": max((p["threads"] for p in parts), default=0.0),
        "resident_byte": resident,
        "dram_byte": dram_byte,
        "reload_byte": reload_byte,
        "matrix_s": matrix_s,
        "vector_s": vector_s,
        "compute_s": compute_s,
        "dram_s": times.get("dram"),
        "cache_s": times["cache"],
        "reload_s": times["tile"],
        "latency_bound_s": latency_bound_s,
        "team_size": team_size,
        "thread_s": thread_s,
        "team_s": team_s,
        "memory_s": memory_s,
        "serial_s": serial_s,
        "reorder_byte": reorder_byte,
        "reorder_s": reorder_s,
        "paged_byte": paged_byte,
        "paging_s": paging_s,
        "power_s": power_s,
        "busy_s": busy_s,
        "device_s": busy_s + device.gap_s * support["kernel_gap_fraction"],
        "naive_s": max(naive.values()),
        "roofline_s": max(*naive.values(), dram_byte / device.dram_bandwidth if device.dram_bandwidth else 0.0),
        "compute_energy_j": compute_j,
        "memory_energy_j": memory_j,
        "dynamic_energy_j": dynamic_j,
        "static_w": static_w,
        "utilization_fraction": utilization(parts),
        "tile_m": slowest(parts)["shape"][0] if parts else None,
        "tile_count": slowest(parts)["count"] if parts else 1.0,
    }


def slowest(parts: list[Record]) -> Record:
    """The part that sets a kernel's arithmetic time; of equals the better used one."""
    return max(parts, key=lambda p: p["ideal_s"] * (1 + 1e-9 * used(p)))


def used(part: Record) -> float:
    """Share of the peak that shape and waves leave to a part."""
    return min(1.0, part["flops"] / (part["peak"] * part["ideal_s"])) if part["ideal_s"] > 0 else 1.0


def utilization(parts: list[Record]) -> float:
    """Share of the peak that shape and waves leave to the slowest part."""
    return used(slowest(parts)) if parts else 1.0


def queue(kernels: list[Record], support: Record, host_factor: float) -> None:
    """When each kernel is issued, starts and ends; its latency is what it adds to the run."""
    issued = ended = 0.0
    for i, k in enumerate(kernels):
        is_graph = support["dispatch"] == "graph"
        host = 0.0 if is_graph else support["host_kernel_s"] + k["view_count"] * support["host_view_s"]
        k["host_issue_s"] = (host + (support["run_s"] if i == 0 else 0.0)) * host_factor
        issued += k["host_issue_s"]
        start = max(ended, issued) if support["dispatch"] == "async_queue" else ended + k["host_issue_s"]
        k["end_s"] = start + k["device_s"]
        k["latency_s"] = k["end_s"] - ended
        ended = k["end_s"]
        k["static_energy_j"] = product(k["static_w"], k["latency_s"])
        k["energy_j"] = summed([k["dynamic_energy_j"], k["static_energy_j"]])


def attribute(kernels: list[Record]) -> Record:
    """Totals, and each kernel's energy-delay product, its own and the share that adds up."""
    total_s = math.fsum(k["latency_s"] for k in kernels)
    total_j = summed(k["energy_j"] for k in kernels)
    for k in kernels:
        k["local_edp_js"] = product(k["energy_j"], k["latency_s"])
        k["edp_js"] = None if total_j is None else 0.5 * (k["energy_j"] * total_s + k["latency_s"] * total_j)
    return {
        "latency_s": total_s,
        "energy_j": total_j,
        "macs": math.fsum(k["macs"] for k in kernels),
        "flops": math.fsum(k["flops"] for k in kernels),
        "traffic_byte": math.fsum(k["traffic_byte"] for k in kernels),
        "device_s": math.fsum(k["device_s"] for k in kernels),
        "host_issue_s": math.fsum(k["host_issue_s"] for k in kernels),
    }


ARCHITECTURE_CLASS = {"cpu": "sequential", "dsp": "sequential", "gpu": "data_parallel", "kpu": "domain_flow"}


def share(tables: Tables, device: Device, kernel: Record, members: list[Record]) -> list[Record]:
    """A kernel's cost shared by operations times modifier, else by elements written, else equally."""
    kind = ARCHITECTURE_CLASS.get(device.row["family"], "systolic")
    is_fused = kernel["operator_count"] > 1
    modifiers = {
        r["operator_class"]: r["modifier"]
        for r in tables.where("architectural_modifier", architecture_class=kind, is_fused=is_fused)
    }
    for m in members:
        m["modifier"] = modifiers.get(m["operator_class"], modifiers.get("*", 1.0))
    for weigh in (lambda m: m["flops"] * m["modifier"], lambda m: m["threads"], lambda m: 1.0):
        weights = [weigh(m) for m in members]
        if sum(weights) > 0:
            break
    return [
        {
            "subgraph_id": kernel["subgraph_id"],
            "operator_id": m["operator_id"],
            "share_fraction": w / math.fsum(weights),
            "latency_s": w / math.fsum(weights) * kernel["latency_s"],
            "energy_j": product(w / math.fsum(weights), kernel["energy_j"]),
            "edp_js": product(w / math.fsum(weights), kernel["edp_js"]),
        }
        for m, w in zip(members, weights, strict=True)
    ]


def predict(tables: Tables, scenario_id: int, hardware_id: str) -> Prediction | None:
    """Everything about one target; None when the part cannot run the scenario."""
    scenario = tables.one("scenario", scenario_id=scenario_id)
    run = resolve(tables.rows["model"][0], scenario)
    device = device_of(tables, hardware_id)
    support = support_of(tables, device, scenario["backend"])
    if run is None or support is None or not is_native(tables, device, scenario["policy"]):
        return None
    computed = {r["operator_id"]: r["precision"] for r in tables.where("operator_precision", policy=scenario["policy"])}
    classes = {o["operator_id"]: o["operator_class"] for o in tables.rows["operator"]}
    views = {o["operator_id"] for o in tables.rows["operator"] if o["is_view"]}
    terms = by(tables.rows["term"], "operator_id", "part")
    steps = by(tables.rows["operator_part"], "operator_id")
    members: dict[int, list[Record]] = defaultdict(list)
    parts: dict[int, list[dict[int, Record]]] = defaultdict(list)
    for m in tables.where("subgraph_operator", backend=scenario["backend"], is_folded=False):
        operator_id = m["operator_id"]
        if operator_id in views:
            continue
        scores = by(terms.get((operator_id, "qk"), []), "quantity")
        mapped = [
            map_part(
                tables,
                device,
                support,
                run,
                p,
                by(terms.get((operator_id, p["part"]), []), "quantity"),
                {
                    "operator_class": classes[operator_id],
                    "precision": computed[operator_id],
                    **query_blocks(tables, device, run, classes[operator_id], scores),
                },
            )
            for p in steps.get(operator_id, [])
        ]
        parts[m["subgraph_id"]] += mapped
        members[m["subgraph_id"]].append(
            {
                "operator_id": operator_id,
                "operator_class": classes[operator_id],
                "flops": math.fsum(sizes["flops"] for sizes, *_ in map(dict.values, mapped)),
                "threads": math.fsum(sizes["threads"] for sizes, *_ in map(dict.values, mapped)),
            }
        )
    kernels = [
        fastest(tables, device, run, support, k, parts[k["subgraph_id"]]) for k in kernels_of(tables, run, support)
    ]
    result = Prediction(kernels)
    queue(result.kernels, support, scenario["host_factor"])
    result.model = attribute(result.kernels)
    for k in result.kernels:
        if "made_for" in k:
            members[k["subgraph_id"]] = [
                {"operator_id": k["made_for"], "operator_class": k["kernel_class"], "flops": 0.0, "threads": 0.0}
            ]
        result.operators += share(tables, device, k, members[k["subgraph_id"]])
    return result
