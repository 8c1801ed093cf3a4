"""The reference page of all parts, written from the catalog with the other pages of docs/reference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from charz.schema.catalog.part import (
    Hardware,
    HardwareCluster,
    HardwareFamily,
    HardwareMemory,
    HardwarePeak,
    HardwarePower,
)
from charz.schema.catalog.provenance import HardwareConflict, HardwareProvenance
from charz.schema.catalog.source import Confidence, Source

from . import loader
from .loader import Catalog

FAMILIES = {
    "gpu": "GPUs",
    "cpu": "CPUs",
    "tpu": "TPUs",
    "kpu": "KPUs",
    "npu": "Other accelerators",
    "dsp": "Signal processors",
}
COLUMNS = (
    "part", "name", "status", "units", "fp32 vector", "fp16/bf16 matrix", "int8 matrix", "memory", "memory speed",
    "TDP", "stated numbers: cited / derived / assumed",
)  # fmt: skip


def lines(catalog: Catalog | None = None) -> Iterator[str]:
    """Yield the page in Markdown, line by line."""
    catalog = catalog or loader.load()
    index = _Index(catalog)
    yield "# Hardware\n"
    yield f"{len(catalog.parts())} parts ship with charz. `charz hardware show PART --sources` lists every number of"
    yield "one with its source; `charz hardware add FILE` adds your own. Peaks are dense and a multiply-accumulate is"
    yield "two operations. Peaks with half-precision accumulation are left out here.\n"
    families = [row.family for row in catalog.rows.get(HardwareFamily, []) if isinstance(row, HardwareFamily)]
    for family in dict.fromkeys([*FAMILIES, *families]):
        parts = [part for part in catalog.parts() if part.family == family]
        if not parts:
            continue
        yield f"\n## {FAMILIES.get(family, family)}\n"
        if family == "kpu":
            yield "Every KPU is simulated: no silicon measurement exists.\n"
        yield _row(COLUMNS)
        yield "|" + "---|" * len(COLUMNS)
        for part in parts:
            yield _row(index.summary(part))
        yield from index.disagreements(parts)
    yield from _confidence_levels(catalog)
    yield from _sources(catalog, index)


class _Index:
    """Rows of the catalog by part."""

    def __init__(self, catalog: Catalog) -> None:
        self.rows: dict[type, dict[str, list[Any]]] = {}
        for row_type in (
            HardwareCluster,
            HardwareMemory,
            HardwarePeak,
            HardwarePower,
            HardwareProvenance,
            HardwareConflict,
        ):
            grouped: dict[str, list[Any]] = defaultdict(list)
            for row in catalog.rows.get(row_type, []):
                grouped[row.hardware].append(row)  # type: ignore[attr-defined]
            self.rows[row_type] = grouped

    def of(self, row_type: type, part: Hardware) -> list[Any]:
        """Return the rows of one table that belong to a part."""
        return self.rows[row_type][part.hardware]

    def summary(self, part: Hardware) -> tuple[str, ...]:
        """Return one line of the table."""
        units = ", ".join(f"{row.unit_count} {row.cluster}" for row in self.of(HardwareCluster, part))
        dram = next(row for row in self.of(HardwareMemory, part) if row.level == "dram")
        tdp = next((row.tdp_w for row in self.of(HardwarePower, part) if row.is_default), None)
        return (
            f"`{part.hardware}`", part.name, part.status, units,
            self.peak(part, "vector", "fp32"), self.peak(part, "matrix", "fp16", "bf16"),
            self.peak(part, "matrix", "int8"),
            f"{dram.capacity_byte / 2**30:.3g} GiB {dram.technology or ''}".strip(),
            f"{dram.bandwidth_byte_per_s / 1e9:.4g} GB/s", "unknown" if tdp is None else f"{tdp:g} W", self.trust(part),
        )  # fmt: skip

    def peak(self, part: Hardware, unit: str, *precisions: str) -> str:
        """Return the highest peak of a unit in any of the precisions; empty if it has none."""
        rates = [
            self.rate(part, row)
            for row in self.of(HardwarePeak, part)
            if row.unit == unit and row.precision in precisions and (unit, row.accumulator) != ("matrix", "fp16")
        ]
        return f"{max(rates) / 1e12:.4g} T" if rates else ""

    def rate(self, part: Hardware, row: HardwarePeak) -> float:
        """Return a peak as stated, or units times operations per clock times clock, as in `stated_peak`. [ops/s]"""
        if row.peak_ops_per_s is not None:
            return row.peak_ops_per_s
        cluster = next(cluster for cluster in self.of(HardwareCluster, part) if cluster.cluster == row.cluster)
        clock_hz = (cluster.clock_matrix_hz if row.unit == "matrix" else None) or cluster.clock_boost_hz
        return float(cluster.unit_count * row.ops_per_clock_per_unit * clock_hz)

    def trust(self, part: Hardware) -> str:
        """Count the numbers that are cited, derived and assumed."""
        levels = Counter(row.confidence for row in self.of(HardwareProvenance, part))
        derived, assumed = levels["derived"], levels["assumed"]
        return f"{levels.total() - derived - assumed} / {derived} / {assumed}"

    def disagreements(self, parts: list[Hardware]) -> Iterator[str]:
        """Yield the numbers of these parts on which sources disagree, and the chosen values."""
        rows = [(part, row) for part in parts for row in self.of(HardwareConflict, part)]
        if not rows:
            return
        yield "\nNumbers on which sources disagree:\n"
        yield _row(("part", "number", "values", "chosen", "reason"))
        yield "|" + "---|" * 5
        for part, row in rows:
            yield _row((f"`{part.hardware}`", f"`{row.field}`", row.values_by_source, row.chosen, row.reason))


def _confidence_levels(catalog: Catalog) -> Iterator[str]:
    yield "\n## Confidence\n"
    yield _row(("level", "meaning"))
    yield "|---|---|"
    levels = [row for row in catalog.rows[Confidence] if isinstance(row, Confidence)]
    for level in sorted(levels, key=lambda row: row.rank):
        yield _row((f"`{level.confidence}`", level.meaning))


def _sources(catalog: Catalog, index: _Index) -> Iterator[str]:
    cited = Counter(row.source_id for rows in index.rows[HardwareProvenance].values() for row in rows)
    yield "\n## Sources of the numbers above\n"
    yield _row(("source", "kind", "numbers", "where", "what"))
    yield "|" + "---|" * 5
    for source in catalog.rows[Source]:
        if isinstance(source, Source) and cited[source.source_id]:
            yield _row(
                (f"`{source.source_id}`", source.kind, str(cited[source.source_id]), source.locator, source.what)
            )


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
