"""Lints of catalog numbers. Each is fatal; each message names file, field, value and remedy.

A part may omit numbers that a rule gives (`derivation_rule`, `silicon_rule`). `part_file` finds faults of a file's shape on reading,
e.g. a string instead of a number.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from charz.schema import ranges
from charz.schema.catalog.energy import SiliconRule
from charz.schema.catalog.part import Hardware, HardwareAlias, HardwareFamily
from charz.schema.catalog.precision import Precision
from charz.schema.catalog.provenance import NumberRule
from charz.schema.catalog.source import Confidence, Source
from charz.schema.catalog.tiling import TilingStrategy
from charz.schema.row import Row

from .part import Part, required_columns, unit_of
from .problem import Problem

CLOSURE_TOLERANCE = 0.02
"""Largest relative difference of a dense peak from units * operations per clock * clock."""

ALLOWED = {
    "status": ("shipping", "announced", "simulated", "retired", "internal"),
    "kind": ("simt", "core", "systolic", "domain_flow"),
    "scope": ("unit", "chip"),
    "management": ("hardware", "software"),
    "level": ("register", "scratchpad", "l1", "l2", "l3", "dram"),
    "unit": ("vector", "matrix"),
    "overhead": ("kernel_gap", "launch", "memory_latency", "norm_block", "team"),
    "mesh": ("unit", "die", "element"),
    "energy_scope": ("board", "chip"),
    "what": ("op", "byte", "static"),
}
"""Allowed values of columns with a fixed vocabulary."""

ARRAY_SIDES = ("array_rows", "array_columns")
"""Columns of a cluster with the size of a unit's array."""

WITHOUT_SILICON = ("announced", "simulated")
"""States of parts without measurements (the macro `lacks_silicon`)."""


@dataclass(frozen=True, slots=True)
class Context:
    """The catalog that a part is checked against."""

    documents: dict[str, Source]
    """Known sources by name."""
    confidences: frozenset[str]
    precisions: dict[str, float]
    """Bits by precision; empty if the catalog has no precision table."""
    families: tuple[str, ...]
    """Known families, in order."""
    sparse: frozenset[str]
    """Formats of structured-sparse products, whose peaks exceed those of dense products."""
    dataflows: tuple[str, ...]
    """Operands that can stay in an array, in order; empty if the catalog has no table of tiles."""
    technologies: tuple[str, ...]
    """Technologies of main memory whose energy a rule states, in order; empty if the catalog has no rules."""
    with_dataflow: frozenset[str]
    """Families whose parts need not state a dataflow."""
    taken: dict[str, str]
    """Part by its id and aliases, for parts already known."""
    rules: dict[ranges.Place, ranges.Bounds]
    """Least and most possible values of numbers (`number_rule`)."""

    def bounds(self, place: str) -> tuple[float, float]:
        """Return the least and most possible value of the number at a place."""
        return ranges.closest(self.rules, *ranges.place(place)) or (-math.inf, math.inf)


def check_parts(parts: list[Part], tables: dict[type[Row], list[Row]]) -> list[Problem]:
    """List every fault of the parts; `tables` are the uniform tables, with `hardware` rows if some names are taken."""
    context = context_of(tables)
    problems = [problem for part in parts for lint in PART_LINTS for problem in lint(part, context)]
    return problems + list(_duplicate_names(parts, context))


def further(part: Part, known: list[Problem], tables: dict[type[Row], list[Row]]) -> list[Problem]:
    """List the faults of a part in other places than those of known faults of its format. Lints that need what the format lacks are left
    out."""
    if known and not (part.section("hardware") and part.section("cluster")):
        return []
    places = [problem.place for problem in known]
    found = check_parts([part], tables)
    return [
        problem
        for problem in found
        if not any(problem.place == place or problem.place.startswith(f"{place}.") for place in places)
    ]


def context_of(tables: dict[type[Row], list[Row]]) -> Context:
    taken = {row.hardware: row.hardware for row in tables.get(Hardware, []) if isinstance(row, Hardware)}
    aliases = {row.alias: row.hardware for row in tables.get(HardwareAlias, []) if isinstance(row, HardwareAlias)}
    return Context(
        documents={row.source_id: row for row in tables.get(Source, []) if isinstance(row, Source)},
        confidences=frozenset(row.confidence for row in tables.get(Confidence, []) if isinstance(row, Confidence)),
        precisions={row.precision: row.bits for row in tables.get(Precision, []) if isinstance(row, Precision)},
        families=tuple(row.family for row in tables.get(HardwareFamily, []) if isinstance(row, HardwareFamily)),
        sparse=frozenset(
            r.row_key
            for r in tables.get(SiliconRule, [])
            if isinstance(r, SiliconRule) and r.quantity == "sparse_ratio"
        ),
        dataflows=tuple(
            sorted(
                {r.dataflow for r in tables.get(TilingStrategy, []) if isinstance(r, TilingStrategy) and r.family == "*"}
            )
        ),
        technologies=tuple(
            sorted(
                r.row_key
                for r in tables.get(SiliconRule, [])
                if isinstance(r, SiliconRule) and r.quantity == "dram_pj_per_byte" and r.row_key != "*"
            )
        ),
        with_dataflow=frozenset(
            row.family for row in tables.get(HardwareFamily, []) if isinstance(row, HardwareFamily) and row.dataflow
        ),
        taken=taken | aliases,
        rules={
            (r.kind, r.quantity, r.row_kind, r.of_family): (r.least, r.most)
            for r in tables.get(NumberRule, [])
            if isinstance(r, NumberRule)
        },
    )


UNKNOWN_SOURCE = "describe it under `sources:` in the same file, or cite one of the catalog's"


def unresolved_source(part: Part, context: Context) -> Iterator[Problem]:
    """Find numbers with an undescribed source or confidence, and derived ones without formula."""
    known = context.documents.keys() | {source.source_id for source in part.sources}
    shares = {f"efficiency.{resource}": number for resource, number in part.efficiency.items()}
    for place, number in {**part.numbers, **shares}.items():
        if number.source not in known:
            yield Problem(part.path, f"{place}.source", number.source, UNKNOWN_SOURCE)
        if number.confidence not in context.confidences:
            levels = ", ".join(sorted(context.confidences))
            yield Problem(part.path, f"{place}.confidence", number.confidence, f"write one of {levels}")
        if number.confidence == "derived" and not number.formula:
            yield Problem(part.path, f"{place}.formula", None, "a derived number states its formula")
    for (what, key), energy in part.energy.items():
        if energy.source not in known:
            yield Problem(part.path, f"energy.{what}.{key}.source", energy.source, UNKNOWN_SOURCE)


def repeated_source(part: Part, context: Context) -> Iterator[Problem]:
    """Find sources of the part's own file whose name another document has. Variants of a chip describe one document in the same words."""
    for own in part.sources:
        known = context.documents.get(own.source_id)
        if known is not None and known != own:
            remedy = f"another document has this name ({known.locator}): choose another, or describe it in the same words"
            yield Problem(part.path, f"sources.{own.source_id}", own.locator, remedy)


def wrong_unit(part: Part, context: Context) -> Iterator[Problem]:
    """Find numbers in another unit than their column's."""
    for place, number in part.numbers.items():
        wanted = unit_of(place.rsplit(".", 1)[-1])
        if number.unit != wanted:
            yield Problem(part.path, f"{place}.unit", number.unit, f"convert the value and write unit: {wanted}")


def impossible_value(part: Part, context: Context) -> Iterator[Problem]:
    """Find numbers outside their possible range (`number_rule`); null means unknown, zero never does."""
    values = {place: number.value for place, number in part.numbers.items()}
    values |= {f"energy.{what}.{key}": energy.value for (what, key), energy in part.energy.items()}
    for place, value in values.items():
        least, most = context.bounds(place)
        if value is not None and not least <= value <= most:  # NaN is not
            remedy = f"write a number from {least:g} to {most:g}, or null when it is unknown"
            yield Problem(part.path, place, value, remedy)


def unknown_word(part: Part, context: Context) -> Iterator[Problem]:
    """Find text columns with a value outside their vocabulary."""
    if part.text("family") not in context.families:
        remedy = f"write one of {', '.join(context.families)}, or add the family to tables/{HardwareFamily.TABLE}.csv"
        yield Problem(part.path, "family", part.text("family"), remedy)
    yield from _outside(part, "status", part.text("status"), "status")
    yield from _dataflow(part, context)
    for section, column in (("cluster", "kind"), ("memory", "scope"), ("memory", "management"), ("peak", "unit")):
        for key, row in part.section(section).items():
            yield from _outside(part, f"{section}.{key}.{column}", row.get(column), column)
    for level in part.section("memory"):
        yield from _outside(part, f"memory.{level}", level, "level")
    technology = part.section("memory").get("dram", {}).get("technology")
    if technology is not None and context.technologies and technology not in context.technologies:
        yield Problem(part.path, "memory.dram.technology", technology, f"write one of {', '.join(context.technologies)}")
    for overhead in part.section("overhead"):
        yield from _outside(part, f"overhead.{overhead}", overhead, "overhead")
    for mesh in part.section("mesh"):
        yield from _outside(part, f"mesh.{mesh}", mesh, "mesh")
    for key, row in part.section("peak").items():
        if context.precisions and row["precision"] not in context.precisions:
            known = ", ".join(context.precisions)
            yield Problem(part.path, f"peak.{key}.precision", row["precision"], f"write one of {known}")
        cluster = row.get("cluster")
        if cluster not in part.section("cluster") and cluster != "all":
            known = ", ".join([*part.section("cluster"), "all"])
            yield Problem(part.path, f"peak.{key}.cluster", cluster, f"write one of {known}")


def _dataflow(part: Part, context: Context) -> Iterator[Problem]:
    """Find faults of the dataflow: stated without an array, missing for an array, not in the vocabulary; and arrays with only one side."""
    given = part.text("dataflow")
    arrays = [key for key in part.section("cluster") if _array_operations(part, key)]
    for key, row in part.section("cluster").items():
        stated = [row.get(side) for side in ARRAY_SIDES]
        if any(stated) and not all(stated):
            lacking = ARRAY_SIDES[0 if stated[0] is None else 1]
            yield Problem(part.path, f"cluster.{key}.{lacking}", None, f"state {' and '.join(ARRAY_SIDES)}, or neither")
    if given and not arrays:
        yield Problem(part.path, "dataflow", given, "state array_rows and array_columns of a cluster, or leave it out")
    if arrays and not given and part.text("family") not in context.with_dataflow:
        words = ", ".join(context.dataflows)
        remedy = f"state the dataflow of the array of cluster {arrays[0]}: write one of {words}; without it tiles ignore the array"
        yield Problem(part.path, "dataflow", None, remedy)
    if given and context.dataflows and given not in context.dataflows:
        yield Problem(part.path, "dataflow", given, f"write one of {', '.join(context.dataflows)}")


def _outside(part: Part, place: str, value: Any, vocabulary: str) -> Iterator[Problem]:
    if value not in ALLOWED[vocabulary]:
        yield Problem(part.path, place, value, f"write one of {', '.join(ALLOWED[vocabulary])}")


def missing_column(part: Part, context: Context) -> Iterator[Problem]:
    """Find rows that lack a number their table requires."""
    for section in ("cluster", "memory", "peak", "power", "overhead", "interconnect", "mesh"):
        for key, row in part.section(section).items():
            for column in required_columns(section):
                if row.get(column) is None:
                    yield Problem(part.path, f"{section}.{key}.{column}", None, "state it with its source")


def incomplete(part: Part, context: Context) -> Iterator[Problem]:
    """Find parts that the cost model cannot answer for."""
    if not part.section("cluster"):
        yield Problem(part.path, "cluster", None, "give at least one cluster with its unit_count")
    if not part.section("peak"):
        yield Problem(part.path, "peak", None, "give at least one peak, of unit: matrix or vector")
    for column in ("capacity_byte", "bandwidth_byte_per_s"):
        if part.value(f"memory.dram.{column}") is None:
            yield Problem(part.path, f"memory.dram.{column}", None, "state main memory, or the memory that replaces it")
    defaults = [mode for mode, row in part.section("power").items() if row.get("is_default") is True]
    if len(defaults) != 1:
        yield Problem(part.path, "power", ", ".join(defaults) or None, "mark exactly one mode `is_default: true`")


def open_peak(part: Part, context: Context) -> Iterator[Problem]:
    """Find dense peaks that differ from units * operations per clock * clock without a conflicts entry that explains it."""
    explained = {conflict["field"] for conflict in part.conflicts}
    for key, row in part.section("peak").items():
        place = f"peak.{key}.peak_ops_per_s"
        stated = row.get("peak_ops_per_s")
        expected = min(expected_peaks(part, key), key=lambda product: abs(product - (stated or 0)), default=0.0)
        if not expected or not stated or place in explained:
            continue
        ratio = stated / expected
        if abs(ratio - 1.0) > CLOSURE_TOLERANCE:
            shown = f"{stated:.5g}, but units * ops/clock * clock = {expected:.5g} ({ratio:.3f})"
            hint = "; twice the product is a sparse figure" if abs(ratio - 2.0) < 2 * CLOSURE_TOLERANCE else ""
            yield Problem(
                part.path, place, shown, f"correct one of them or add a conflicts entry with field: {place}{hint}"
            )


def expected_peaks(part: Part, key: str) -> list[float]:
    """Return the expected values of a peak: units * operations per clock * clock, at the boost clock and that of the matrix units; empty
    if a factor is unknown, or if the part's file states the derived peak that the peak is a ratio to. [ops/s]"""
    row = part.section("peak")[key]
    by_cluster = part.peak_operations.get(key) or {}
    if row.get("derived_ops_per_s"):
        return []
    if by_cluster:
        terms = [_units_times_clock(part, cluster) for cluster in by_cluster]
        products = [term * operations for term, operations in zip(terms, by_cluster.values(), strict=True) if term]
        return [sum(products)] if len(products) == len(terms) else []
    units, operations = part.value(f"cluster.{row.get('cluster')}.unit_count"), row.get("ops_per_clock_per_unit")
    clocks = [part.value(f"cluster.{row.get('cluster')}.clock_{name}_hz") for name in ("boost", "matrix")]
    return [units * operations * clock for clock in clocks if units and operations and clock]


def contradicted_array(part: Part, context: Context) -> Iterator[Problem]:
    """Find matrix peaks that the array cannot reach: each element does one multiply-accumulate per clock. Narrower formats may run two or
    four at once, and wider ones may take several clocks, if the operations per clock state it or another peak of the same units is the
    array's own."""
    explained = {conflict["field"] for conflict in part.conflicts}
    peaks = {
        key: row
        for key, row in part.section("peak").items()
        if row["unit"] == "matrix" and row["precision"] not in context.sparse and not row.get("derived_ops_per_s")
    }
    shares = {key: [share for share in _array_shares(part, key) if 0.0 < share < math.inf] for key in peaks}
    own = {peaks[key].get("cluster") for key, found in shares.items() if any(_closes(share, 1.0) for share in found)}
    for key, row in peaks.items():
        place = f"peak.{key}.peak_ops_per_s"
        is_told = bool(row.get("ops_per_clock_per_unit") or part.peak_operations.get(key) or row.get("cluster") in own)
        for share in shares[key]:
            power = 2.0 ** round(math.log2(share))
            if place in explained or (_closes(share, power) and (is_told or power == 1.0)):
                continue
            stated = "its operations a clock" if row.get("peak_ops_per_s") is None else f"{row['peak_ops_per_s']:.5g}"
            shown = f"{stated}, {share:.3f} of units * array_rows * array_columns * 2 * clock"
            remedy = (
                "correct one of them, state ops_per_clock_per_unit where an element does two, four, ... operations of this format at"
                f" once or takes as many clocks, or add a conflicts entry with field: {place}"
            )
            yield Problem(part.path, place, shown, remedy)
            break


def _closes(ratio: float, wanted: float) -> bool:
    return abs(ratio / wanted - 1.0) <= CLOSURE_TOLERANCE


def _array_shares(part: Part, key: str) -> list[float]:
    """Return the ratio of a peak, or of its operations per clock, to the arrays' multiply-accumulates; empty if a factor is unknown."""
    row, by_cluster = part.section("peak")[key], part.peak_operations.get(key)
    if by_cluster:
        pairs = [(operations, _array_operations(part, cluster)) for cluster, operations in by_cluster.items()]
        return [operations / array for operations, array in pairs if array]
    clusters = list(part.section("cluster")) if row.get("cluster") == "all" else [str(row.get("cluster"))]
    arrays = {_array_operations(part, cluster) for cluster in clusters}
    if 0.0 in arrays:
        return []
    if row.get("ops_per_clock_per_unit"):
        return [row["ops_per_clock_per_unit"] / array for array in arrays] if len(arrays) == 1 else []
    found = []
    for name in ("boost", "matrix"):
        clocks = [part.value(f"cluster.{cluster}.clock_{name}_hz") for cluster in clusters]
        units = [part.value(f"cluster.{cluster}.unit_count") for cluster in clusters]
        terms = [
            (count or 0.0) * _array_operations(part, cluster) * (clock or 0.0)
            for count, cluster, clock in zip(units, clusters, clocks, strict=True)
        ]
        if all(terms) and row.get("peak_ops_per_s"):
            found.append(row["peak_ops_per_s"] / sum(terms))
    return sorted(found, key=lambda share: abs(math.log2(share)))[:1]


def _array_operations(part: Part, cluster: str) -> float:
    """Return operations per clock of a unit whose array does one multiply-accumulate per element; 0 without an array."""
    sides = [part.value(f"cluster.{cluster}.{side}") or 0.0 for side in ARRAY_SIDES]
    return 2.0 * sides[0] * sides[1]


def _units_times_clock(part: Part, cluster: str) -> float | None:
    units = part.value(f"cluster.{cluster}.unit_count")
    clock = part.value(f"cluster.{cluster}.clock_boost_hz")
    return None if units is None or clock is None else units * clock


def sparse_peak(part: Part, context: Context) -> Iterator[Problem]:
    """Find matrix peaks of exactly twice the value expected from the part's wider formats: a matrix unit moves the same bits per clock in
    every format, and a 2:4 sparse headline doubles that. Half-precision accumulation is skipped: it doubles the rate too."""
    explained = {conflict["field"] for conflict in part.conflicts}
    matrix = {key: row for key, row in part.section("peak").items() if row["unit"] == "matrix"}
    for key, row in matrix.items():
        bits = context.precisions.get(row["precision"])
        place = f"peak.{key}.peak_ops_per_s"
        is_other = row.get("accumulator") == "fp16" or row["precision"] in context.sparse
        if bits is None or is_other or place in explained or not row.get("peak_ops_per_s"):
            continue
        wider = [
            other["peak_ops_per_s"] * context.precisions[other["precision"]]
            for other_key, other in matrix.items()
            if other_key != key
            and other["precision"] not in context.sparse
            and bits <= context.precisions.get(other["precision"], 0) <= 32
            and other.get("peak_ops_per_s")
        ]
        ratio = row["peak_ops_per_s"] * bits / max(wider) if wider else 0.0
        if abs(ratio - 2.0) <= 2 * CLOSURE_TOLERANCE:
            shown = f"{row['peak_ops_per_s']:.5g}, twice what its wider formats reach"
            yield Problem(
                part.path, place, shown, f"store the dense peak, or add a conflicts entry with field: {place}"
            )


def no_memory_on_chip(part: Part, context: Context) -> Iterator[Problem]:
    """Find accelerators, and parts whose main memory is the host's, without a memory level on the chip: every activation would cross to
    main memory and back."""
    memory = part.section("memory")
    is_accelerator = part.text("family") in ("tpu", "npu", "dsp")
    if not is_accelerator and memory.get("dram", {}).get("technology") != "host":
        return
    if not any(row.get("capacity_byte") for level, row in memory.items() if level not in ("register", "dram")):
        remedy = "state the memory on the chip, e.g. memory.scratchpad, with confidence: assumed if no document does"
        yield Problem(part.path, "memory", ", ".join(memory) or None, remedy)


def half_on_vector_units(part: Part, context: Context) -> Iterator[Problem]:
    """Find parts with one 16-bit format on matrix units and the other only on vector units, without a note: matrix units of nearly all
    makers run both, and an omitted rate would silently become the far lower one of the vector units."""
    peaks = part.section("peak")
    for missing, stated in (("fp16", "bf16"), ("bf16", "fp16")):
        if not any((row["unit"], row["precision"]) == ("matrix", stated) for row in peaks.values()):
            continue
        own = {key: row for key, row in peaks.items() if row["precision"] == missing}
        if any(row["unit"] == "matrix" for row in own.values()):
            continue
        for key in own:
            place = f"peak.{key}.peak_ops_per_s"
            if not _has_note(part, place):
                yield Problem(
                    part.path, place, f"{missing} on vector units alone, {stated} on matrix units",
                    f"state the {missing} matrix peak, or add a note that the matrix units lack it",
                )  # fmt: skip


def hot_peak(part: Part, context: Context) -> Iterator[Problem]:
    """Find peaks at which arithmetic by a stated energy alone draws more than the TDP, without a note on the TDP or the peak. Coefficients
    are for single-precision accumulation, so peaks with half-precision accumulation are skipped."""
    tdp = part.value("power.default.tdp_w")
    if tdp is None:
        return
    for key, row in part.section("peak").items():
        energy = part.energy.get(("op", f"{row['precision']}.{row['unit']}"))
        place = f"peak.{key}.peak_ops_per_s"
        if (
            energy is None
            or (row.get("accumulator") == "fp16" and row["unit"] == "matrix")
            or not row.get("peak_ops_per_s")
        ):
            continue
        if _has_note(part, place) or _has_note(part, "power.default.tdp_w"):
            continue
        power = row["peak_ops_per_s"] * energy.value
        if power > tdp:
            shown = (
                f"{row['peak_ops_per_s']:.4g} ops/s * {energy.value:.3g} J = {power:.4g} W, above the TDP of {tdp:g} W"
            )
            yield Problem(part.path, place, shown, "correct peak, energy or TDP, or note why both are right")


def _has_note(part: Part, place: str) -> bool:
    number = part.numbers.get(place)
    return number is not None and bool(number.note)


def missing_energy_scope(part: Part, context: Context) -> Iterator[Problem]:
    """Find energy coefficients without a stated scope: pJ in the circuit and on the board differ tenfold."""
    if part.energy and part.energy_scope not in ALLOWED["energy_scope"]:
        yield Problem(part.path, "energy_scope", part.energy_scope or None, "write energy_scope: board or chip")


def baseless_simulation(part: Part, context: Context) -> Iterator[Problem]:
    """Find numbers of a part without silicon that only silicon could give."""
    status = part.text("status")
    if status not in WITHOUT_SILICON:
        return
    for place, number in part.numbers.items():
        if number.confidence in ("measured", "device_query"):
            remedy = f"no silicon of status {status} exists: write theoretical, or another status"
            yield Problem(part.path, f"{place}.confidence", number.confidence, remedy)


PART_LINTS = (
    unresolved_source, repeated_source, wrong_unit, impossible_value, unknown_word, missing_column, incomplete, open_peak,
    contradicted_array, sparse_peak, no_memory_on_chip, half_on_vector_units, hot_peak, missing_energy_scope, baseless_simulation,
)  # fmt: skip


def _duplicate_names(parts: list[Part], context: Context) -> Iterator[Problem]:
    """Find names, ids or aliases, that two parts share."""
    names = Counter(name for part in parts for name in {part.hardware, *part.aliases})
    repeated = Counter(alias for part in parts for alias in part.aliases)
    for part in parts:
        for name in dict.fromkeys([part.hardware, *part.aliases]):
            place = "id" if name == part.hardware else "aliases"
            owner = context.taken.get(name)
            if owner is not None:
                yield Problem(
                    part.path, place, name, f"{owner} has this name: choose another, or --replace a part of your own"
                )
            elif names[name] > 1 or (name != part.hardware and repeated[name] > 1):
                yield Problem(part.path, place, name, "two parts have this name: choose another for one of them")
