"""The command that draws pictures of report views."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from charz.schema.errors import CharzError, unknown_name
from charz.sql.keys import TARGET as KEYS

from ..axes import cache_state, names, sizes
from ..core import Core
from ..messages import Messages
from ..parameters import Backends, Batches, Cache, File, Force, Names, Parts, Precisions, Sequences, Text
from ..question import Question
from ..saving import saving
from ..scoped import Scoped

Chart = Any
"""An Altair chart."""

Records = list[dict[str, Any]]

_NAMES = ("model", "hardware", "backend", "precision", "batch")

MOST_NAMED = 3
"""Largest number of models that a title names."""


class Plot(Core):
    """Drawing of report views."""

    @saving("picture.svg")
    def plot(
        self,
        kind: Annotated[str, Text("Kind of picture: roofline, tiling, pareto, memory, edp, batch, fusion or shmoo.")],
        models: Annotated[Names, Text("Ingested models; * in a name matches any text.")],
        *,
        out: Annotated[File | None, Text("Picture to write: .svg, .png, .pdf, .html or .json.")] = None,
        on: Parts = None,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        cache: Cache = "warm",
        force: Force = False,
    ) -> Chart:
        """Draw a picture of report views. Python returns an Altair chart; the command line writes a file."""
        from . import charts

        drawn = PICTURES.get(kind)
        if drawn is None:
            raise unknown_name("picture", kind, PICTURES)
        charts.library()
        question = Question(
            self._expanded(names(models)),
            names(on),
            sizes(batch) or drawn.batches,
            sizes(sequence),
            names(precision),
            names(backend),
            every_backend=drawn.every_backend,
            with_counterparts=drawn.with_counterparts,
            is_first=not drawn.every_precision,
            fields={"cache_state": cache_state(cache)},
        )
        scoped = self.asked(question, drawn.view, *drawn.also)
        if not scoped.records(f"SELECT 1 FROM {drawn.view} LIMIT 1"):
            next = "name other values with --on, --precision or --backend"
            raise CharzError("no part runs this combination", ", ".join(question.models), next=next)
        chart = drawn.draw(scoped, self.messages)
        if out is not None:
            charts.save(chart, Path(out), force)
        return chart

    def _expanded(self, patterns: Sequence[str]) -> list[str]:
        """Expand patterns with * to the names of matching models."""
        known = self._names("model")
        found = [name for p in patterns for name in (fnmatch.filter(known, p) if "*" in p else [p])]
        if not found:
            raise unknown_name("model", ", ".join(patterns), known)
        return list(dict.fromkeys(found))


def _subject(scoped: Scoped, view: str, condition: str = "TRUE") -> str:
    """Return the models of a picture, or their number if they are many, and the other names that its rows have in common."""
    columns = ", ".join(f"any_value({c}) AS {c}, count(DISTINCT {c}) AS {c}_count" for c in _NAMES[1:])
    (common,) = scoped.records(f"SELECT {columns} FROM {view} WHERE {condition}")
    models = [row["model"] for row in scoped.records(f"SELECT DISTINCT model FROM {view} WHERE {condition} ORDER BY model")]
    shared = [column for column in _NAMES[1:] if common[f"{column}_count"] == 1]
    named = " and ".join(models) if len(models) <= MOST_NAMED else f"{len(models)} models"
    return ", ".join([named, *(f"batch {common[c]}" if c == "batch" else str(common[c]) for c in shared)])


def _one_target(scoped: Scoped, view: str, messages: Messages) -> tuple[str, str]:
    """Return an SQL condition that selects one target, the first by name, and the target's part. Report if there are more targets."""
    from charz.schema import ddl

    found = scoped.records(f"SELECT DISTINCT {', '.join(_NAMES)}, scenario_id FROM {view} ORDER BY {', '.join(_NAMES)}, scenario_id")
    first = found[0]
    if len(found) > 1:
        messages.remark(f"{len(found)} targets fit; drawing {', '.join(str(first[name]) for name in _NAMES)}")
    model, part = ddl.literal(first["model"]), ddl.literal(first["hardware"])
    return f"model = {model} AND hardware = {part} AND scenario_id = {first['scenario_id']}", first["hardware"]


def _shown_part(row: dict[str, Any]) -> str:
    return f"{row['hardware']} (simulated)" if row["is_simulated"] else row["hardware"]


def _apart(rows: Records) -> Records:
    """Add the displayed name of the part to each row, with the backend and the model where they tell rows of a part apart."""
    parts = len({row["hardware"] for row in rows})
    apart = [name for name in ("backend", "model") if len({(row["hardware"], row[name]) for row in rows}) > parts]
    return [{**row, "part": " ".join([_shown_part(row), *(row[name] for name in apart)])} for row in rows]


def _of(row: dict[str, Any], *columns: str) -> dict[str, Any]:
    return {column: row[column] for column in columns}


def _checked(rows: Records, scoped: Scoped, view: str, messages: Messages, why: str) -> Records:
    """Return the rows of a picture. Raise `CharzError` for a picture without rows. Report the parts without a row, for the reason `why`."""
    if not rows:
        next = "name other values with --on, --batch, --precision or --backend"
        raise CharzError("nothing to draw", _subject(scoped, view), why, next)
    asked = [row["hardware"] for row in scoped.records(f"SELECT DISTINCT hardware FROM {view} ORDER BY hardware")]
    drawn = {row["hardware"] for row in rows}
    if lost := [part for part in asked if part not in drawn]:
        messages.warn(f"left out: {', '.join(lost)}, {why}")
    return rows


def _roofline(scoped: Scoped, messages: Messages) -> Chart:
    from . import charts

    condition, part = _one_target(scoped, "kernel_latency", messages)
    columns = (
        "kernel, kernel_class, latency_s, bottleneck, attained_ops_per_s, flops / moved_byte AS arithmetic_intensity"
    )
    query = f"SELECT {columns} FROM kernel_latency WHERE {condition} AND attained_ops_per_s > 0 AND moved_byte > 0"
    points = scoped.records(query)
    if not points:
        raise CharzError("no kernel computes", _subject(scoped, "kernel_latency", condition), next="draw another model")
    executed = scoped.records(f"SELECT DISTINCT executed_precision FROM kernel_mapping WHERE {condition}")
    intensities = [point["arithmetic_intensity"] for point in points]
    precisions = [row["executed_precision"] for row in executed]
    query = "SELECT * FROM roofline_roof WHERE hardware = ? AND list_contains(?, precision)"
    low, high = min(intensities) / 2, max(intensities) * 2
    drawn = ("roof", "arithmetic_intensity", "rate_ops_per_s")
    roofs = [
        {column: row[column] for column in drawn}
        for row in scoped.records(query, [part, precisions])
        if low <= row["arithmetic_intensity"] <= high
    ]
    return charts.roofline(points, roofs, f"Roofline: {_subject(scoped, 'kernel_latency', condition)}")


def _tiling(scoped: Scoped, messages: Messages) -> Chart:
    from . import charts

    columns = "m.kernel, m.tile_m, m.tile_n, m.tile_k, m.tile_count, m.strategy, hardware, m.is_simulated, backend, model"
    both = f"kernel_mapping AS m JOIN kernel_latency AS l USING ({', '.join(KEYS)}, kernel_id)"
    query = (
        f"SELECT {columns}, l.moved_byte AS footprint_byte FROM {both} WHERE m.tile_m IS NOT NULL AND l.moved_byte > 0"
    )
    points = [
        _of(row, "kernel", "tile_m", "tile_n", "tile_k", "tile_count", "strategy", "part", "footprint_byte")
        for row in _apart(
            _checked(scoped.records(query), scoped, "kernel_mapping", messages, "no kernel is cut into tiles there")
        )
    ]
    return charts.tiling(points, f"Tiles against footprint: {_subject(scoped, 'kernel_mapping')}")


def _pareto(scoped: Scoped, messages: Messages) -> Chart:
    from . import charts

    query = (
        "SELECT r.*, h.family FROM recommendation AS r JOIN hardware AS h USING (hardware) WHERE sample_j IS NOT NULL"
    )
    rows = _checked(scoped.records(query), scoped, "recommendation", messages, "no energy is known there")
    is_shared = len({row["model"] for row in rows}) > 1
    points = [
        {
            **_of(row, "model", "latency_s", "sample_j", "family"),
            "is_front": row["dominated_by"] is None and row["fits_device"],
            "silicon": "simulated" if row["is_simulated"] else "silicon",
            "label": f"{row['model'] + ' ' if is_shared else ''}{row['hardware']} {row['precision']} {row['backend']} b{row['batch']}",
        }
        for row in rows
    ]
    return charts.pareto(points, f"Latency against energy: {_subject(scoped, 'recommendation')}")


def _memory(scoped: Scoped, messages: Messages) -> Chart:
    from . import charts

    runs = scoped.records("SELECT DISTINCT model, scenario_id FROM memory_timeline ORDER BY model, scenario_id")
    if len(runs) > 1:
        messages.remark(f"{len(runs)} runs fit; drawing the first")
    query = "SELECT * FROM memory_timeline WHERE model = ? AND scenario_id = ? ORDER BY position"
    steps = scoped.records(query, [runs[0]["model"], runs[0]["scenario_id"]])
    first = steps[0]
    return charts.memory(
        [_of(row, "position", "resident_byte", "allocated_byte", "total_byte", "operator", "module") for row in steps],
        f"Memory: {first['model']}, {first['backend']}, {first['precision']}, batch {first['batch']}",
    )


def _edp(scoped: Scoped, messages: Messages) -> Chart:
    from . import charts

    condition, _ = _one_target(scoped, "kernel_edp", messages)
    columns = "kernel_class, edp_fraction, edp_rank, cumulative_fraction"
    rows = scoped.records(f"SELECT {columns} FROM kernel_edp WHERE {condition} ORDER BY edp_rank")
    return charts.edp(rows, f"Energy-delay product: {_subject(scoped, 'kernel_edp', condition)}")


def _batch(scoped: Scoped, messages: Messages) -> Chart:
    from . import charts

    query = "SELECT * FROM batch_sweep WHERE fits_device AND throughput_per_s IS NOT NULL ORDER BY batch"
    rows = _apart(_checked(scoped.records(query), scoped, "batch_sweep", messages, "no batch fits the memory there"))
    points = [_of(row, "part", "backend", "batch", "throughput_per_s", "saturating_batch") for row in rows]
    return charts.batch(points, f"Batch sweep: {_subject(scoped, 'batch_sweep')}")


def _fusion(scoped: Scoped, _: Messages) -> Chart:
    from charz.sql import PACES

    from . import charts

    found = scoped.rows("model_latency", tail="ORDER BY model, hardware, scenario_id", beside=("model_report",))
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetch()]
    several = [name for name in ("model", "hardware") if len({row[name] for row in rows}) > 1]
    bars = [
        {
            "run": " ".join(str(row[name]) for name in (*several, "backend")),
            "kernel_count": row["kernel_count"],
            "pace": pace,
            "rank": rank,
            "seconds": row[column],
            "total_s": row["latency_s"],
        }
        for row in rows
        for rank, (pace, column) in enumerate(PACES.items())
    ]
    return charts.fusion(bars, f"Fused against unfused: {_subject(scoped, 'model_report')}")


def _shmoo(scoped: Scoped, _: Messages) -> Chart:
    from . import charts

    points = [
        {
            **_of(row, "model", "batch", "footprint_byte", "attained_ops_per_s", "tile", "served"),
            "weights": row["weight_level"] or "no weights",
            "series": f"{row['part']}, {row['backend']}",
        }
        for row in scoped.records("SELECT * FROM shmoo_point ORDER BY footprint_byte")
    ]
    query = "SELECT DISTINCT level, hardware, capacity_byte FROM memory_fit WHERE level <> 'register' ORDER BY level, hardware"
    rows = sorted(scoped.records(query), key=lambda row: row["capacity_byte"])
    is_shared = len({row["hardware"] for row in rows}) > 1
    levels = [
        {
            "label": f"{row['level']} of {row['hardware']}" if is_shared else row["level"],
            "capacity_byte": row["capacity_byte"],
        }
        for row in rows
    ]
    return charts.shmoo(points, levels, f"From on-chip to off-chip: {_subject(scoped, 'shmoo_point')}")


@dataclass(frozen=True, slots=True)
class Picture:
    """A kind of picture."""

    view: str
    draw: Callable[[Scoped, Messages], Chart]
    also: tuple[str, ...] = ()
    """Further views that the picture reads."""
    batches: Sequence[int] = ()
    every_backend: bool = False
    with_counterparts: bool = False
    """True if unfused counterparts of the backends are drawn too."""
    every_precision: bool = False
    """True if all preferred precisions of a part are drawn, False if only the first is."""


PICTURES = {
    "roofline": Picture("kernel_latency", _roofline, ("roofline_roof", "kernel_mapping")),
    "tiling": Picture("kernel_mapping", _tiling, ("kernel_latency",)),
    "pareto": Picture("recommendation", _pareto, batches=(1, 8, 64), every_backend=True, every_precision=True),
    "memory": Picture("memory_timeline", _memory),
    "edp": Picture("kernel_edp", _edp),
    "batch": Picture("batch_sweep", _batch, batches=tuple(2**i for i in range(11))),
    "fusion": Picture("model_report", _fusion, every_backend=True, with_counterparts=True),
    "shmoo": Picture("shmoo_point", _shmoo, ("memory_fit",), batches=(1, 4, 16, 64, 256)),
}
"""Pictures by kind."""
