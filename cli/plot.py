"""Draw a picture: roofline, tiling, pareto, memory, edp, batch, fusion or shmoo."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from charz.schema.errors import CharzError, unknown_name
from charz.sql import PACES

from . import display, drawing
from .grid import (
    BackendsOption,
    BatchesOption,
    Grid,
    PartsOption,
    PrecisionsOption,
    SequencesOption,
    asked,
    names,
    numbers,
)
from .workspace import PREFERRED_PRECISIONS, DatabaseOption, Scope, open_workspace

_DOUBLING = [2**i for i in range(11)]


def command(
    kind: Annotated[str, typer.Argument(help="roofline, tiling, pareto, memory, edp, batch, fusion or shmoo.")],
    models: Annotated[list[str], typer.Argument(help="Ingested models; * stands for any text.")],
    out: Annotated[Path, typer.Option("--out", help="Picture: .svg, .png, .pdf, .html or .json.")],
    on: PartsOption = None,
    batch: BatchesOption = None,
    sequence: SequencesOption = None,
    precision: PrecisionsOption = None,
    backend: BackendsOption = None,
    db: DatabaseOption = None,
) -> None:
    """Draw a picture of report views into a file."""
    picture = PICTURES.get(kind)
    if picture is None:
        raise unknown_name("picture", kind, PICTURES)
    view, draw, defaults = picture
    grid = Grid(
        _expanded(db, names(models)),
        names(on),
        numbers(batch) or defaults.get("batches", []),
        numbers(sequence),
        names([precision or ""]) or defaults.get("precisions", []),
        names([backend or ""]) or (_every_backend(db) if defaults.get("every_backend") else []),
    )
    with asked(db, grid, {view, *defaults.get("also", ())}) as scope:
        if not scope.connection.execute(f"SELECT 1 FROM {view} LIMIT 1").fetchall():
            raise CharzError(
                "no part runs this so", ", ".join(grid.models), next="name others with --on, --precision or --backend"
            )
        chart = draw(scope)
    drawing.save(chart, out)
    display.note(f"{kind} written to {out}")


def _expanded(db: Path | None, patterns: list[str]) -> list[str]:
    """Model names, with those that a pattern with * matches."""
    if not any("*" in pattern for pattern in patterns):
        return patterns
    with open_workspace(db) as connection:
        known = [name for (name,) in connection.execute("SELECT model FROM model ORDER BY model").fetchall()]
    found = [name for p in patterns for name in (fnmatch.filter(known, p) if "*" in p else [p])]
    if not found:
        raise unknown_name("model", patterns[0], known)
    return list(dict.fromkeys(found))


def _every_backend(db: Path | None) -> list[str]:
    with open_workspace(db) as connection:
        return [name for (name,) in connection.execute("SELECT backend FROM backend ORDER BY backend").fetchall()]


def _subject(scope: Scope, view: str) -> str:
    """What a picture is of: the names its rows have in common."""
    query = f"SELECT {', '.join(f'any_value({c}), count(DISTINCT {c})' for c in _NAMES)} FROM {view}"
    values = scope.connection.execute(query).fetchall()[0]
    common = dict(zip(_NAMES, zip(values[::2], values[1::2], strict=True), strict=True))
    parts = [
        str(value) if column != "batch" else f"batch {value}" for column, (value, count) in common.items() if count == 1
    ]
    return ", ".join(parts)


_NAMES = ("model", "hardware", "backend", "precision", "batch")


def _one_target(scope: Scope, view: str) -> str:
    """Condition that picks one target, the first by name, and says so when there were more."""
    scope.connection.execute(f"CREATE TEMP TABLE drawn AS SELECT * FROM {view}")
    query = "SELECT DISTINCT model, hardware, backend, precision, batch, scenario_id FROM drawn ORDER BY ALL"
    rows = scope.connection.execute(query).fetchall()
    model, hardware, *_, scenario_id = rows[0]
    if len(rows) > 1:
        display.note(f"{len(rows)} targets fit; drawing {', '.join(map(str, rows[0][:-1]))}")
    others = "DELETE FROM drawn WHERE NOT (model = ? AND hardware = ? AND scenario_id = ?)"
    scope.connection.execute(others, [model, hardware, scenario_id])
    return "drawn"


def _roofline(scope: Scope) -> Any:
    drawn = _one_target(scope, "kernel_latency")
    points = scope.records(
        f"""
        SELECT kernel, kernel_class, latency_s, bottleneck, attained_ops_per_s,
            flops / moved_byte AS arithmetic_intensity
        FROM {drawn}
        WHERE attained_ops_per_s > 0 AND moved_byte > 0
        """,
    )
    roofs = scope.records(
        f"""
        SELECT roof, arithmetic_intensity, rate_ops_per_s
        FROM roofline_roof
        WHERE hardware = (SELECT any_value(hardware) FROM {drawn})
            AND precision IN (SELECT executed_precision FROM kernel_mapping)
            AND arithmetic_intensity BETWEEN ? AND ?
        """,
        [min(p["arithmetic_intensity"] for p in points) / 2, max(p["arithmetic_intensity"] for p in points) * 2],
    )
    return drawing.roofline(points, roofs, f"Roofline: {_subject(scope, drawn)}")


def _tiling(scope: Scope) -> Any:
    points = scope.records(
        """
        SELECT m.kernel, m.tile_m, m.tile_n, m.tile_k, m.tile_count, m.strategy,
            m.hardware || CASE WHEN m.is_simulated THEN ' (simulated)' ELSE '' END AS part, m.backend,
            l.moved_byte AS footprint_byte
        FROM kernel_mapping AS m
        JOIN kernel_latency AS l USING (model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id)
        WHERE m.tile_m IS NOT NULL AND l.moved_byte > 0
        """,
    )
    return drawing.tiling(_apart(points), f"Tiles against footprint: {_subject(scope, 'kernel_mapping')}")


def _apart(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, their parts named with the backend where one part runs under several."""
    if len({(row["part"], row["backend"]) for row in rows}) == len({row["part"] for row in rows}):
        return rows
    return [{**row, "part": f"{row['part']} {row['backend']}"} for row in rows]


def _pareto(scope: Scope) -> Any:
    query = """
        SELECT c.latency_s, c.sample_j, h.family, c.dominated_by IS NULL AND c.fits_device AS is_front,
            CASE WHEN c.is_simulated THEN 'simulated' ELSE 'silicon' END AS silicon,
            c.hardware || ' ' || c.precision || ' ' || c.backend || ' b' || c.batch AS label
        FROM recommendation AS c
        JOIN hardware AS h ON h.hardware = c.hardware
        WHERE c.sample_j IS NOT NULL
    """
    return drawing.pareto(scope.records(query), f"Latency against energy: {_subject(scope, 'recommendation')}")


def _memory(scope: Scope) -> Any:
    rows = scope.connection.execute("SELECT DISTINCT model, scenario_id FROM memory_timeline ORDER BY ALL").fetchall()
    if len(rows) > 1:
        display.note(f"{len(rows)} runs fit; drawing the first")
    steps = scope.records(
        "SELECT * FROM memory_timeline WHERE model = ? AND scenario_id = ? ORDER BY kernel_id", rows[0]
    )
    first = steps[0]
    return drawing.memory(
        [
            {k: r[k] for k in ("kernel_id", "resident_byte", "allocated_byte", "total_byte", "operator", "module")}
            for r in steps
        ],
        f"Memory: {first['model']}, {first['backend']}, {first['precision']}, batch {first['batch']}",
    )


def _edp(scope: Scope) -> Any:
    drawn = _one_target(scope, "kernel_edp")
    rows = scope.records(
        f"SELECT kernel_class, edp_fraction, edp_rank, cumulative_fraction FROM {drawn} ORDER BY edp_rank"
    )
    return drawing.edp(rows, f"Energy-delay product: {_subject(scope, drawn)}")


def _batch(scope: Scope) -> Any:
    query = """
        SELECT hardware || CASE WHEN is_simulated THEN ' (simulated)' ELSE '' END AS part,
            backend, batch, throughput_per_s, saturating_batch
        FROM batch_sweep
        WHERE fits_device
        ORDER BY batch
    """
    rows = _apart(scope.records(query))
    return drawing.batch(rows, f"Batch sweep: {_subject(scope, 'batch_sweep')}")


def _fusion(scope: Scope) -> Any:
    query = """
        SELECT t.*, r.kernel_count
        FROM model_latency AS t
        JOIN model_report AS r USING (model, hardware, backend, precision, batch, sequence, scenario_id)
        ORDER BY t.model, t.hardware, t.scenario_id
    """
    rows = scope.records(query)
    first = rows[0]
    rows = [row for row in rows if (row["model"], row["hardware"]) == (first["model"], first["hardware"])]
    bars = [
        {
            "backend": row["backend"],
            "pace": pace,
            "rank": rank,
            "seconds": row[column],
            "total_s": row["latency_s"],
            "label": f"{display.seconds(row['latency_s'])}, {row['kernel_count']} kernels",
        }
        for row in rows
        for rank, (pace, column) in enumerate(PACES.items())
    ]
    return drawing.fusion(bars, f"Fused against unfused: {_subject(scope, 'model_report')}")


def _shmoo(scope: Scope) -> Any:
    points = scope.records("SELECT * FROM shmoo_point ORDER BY footprint_byte")
    levels = scope.records(
        """
        SELECT DISTINCT level || ' of ' || hardware AS label, capacity_byte
        FROM memory_fit
        WHERE level <> 'register'
        ORDER BY capacity_byte, label
        """,
    )
    columns = ("model", "batch", "footprint_byte", "attained_ops_per_s", "tile", "served")
    return drawing.shmoo(
        [{c: p[c] for c in columns} | {"series": f"{p['part']}, {p['backend']}"} for p in points],
        levels,
        f"From on-chip to off-chip: {_subject(scope, 'shmoo_point')}",
    )


PICTURES: dict[str, tuple[str, Callable[[Scope], Any], dict[str, Any]]] = {
    "roofline": ("kernel_latency", _roofline, {"also": ["roofline_roof", "kernel_mapping"]}),
    "tiling": ("kernel_mapping", _tiling, {"also": ["kernel_latency"]}),
    "pareto": (
        "recommendation",
        _pareto,
        {"batches": [1, 8, 64], "precisions": PREFERRED_PRECISIONS, "every_backend": True},
    ),
    "memory": ("memory_timeline", _memory, {}),
    "edp": ("kernel_edp", _edp, {}),
    "batch": ("batch_sweep", _batch, {"batches": _DOUBLING}),
    "fusion": ("model_report", _fusion, {"every_backend": True}),
    "shmoo": ("shmoo_point", _shmoo, {"also": ["memory_fit"]}),
}
"""View a picture is drawn from, how, and the axes it takes where none are given."""
