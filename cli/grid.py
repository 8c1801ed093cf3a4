"""Questions over many scenarios at once: axes as a user types them, the grid they span, and a
connection whose views answer for that grid alone."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from charz.schema.errors import CharzError

from . import assumed, display
from .workspace import (
    PREFERRED_PRECISIONS,
    Scope,
    ask,
    check_run,
    check_size,
    hardware_name,
    model_name,
    open_workspace,
    targets_of,
    without_size,
    without_targets,
)

ModelsArgument = Annotated[list[str], typer.Argument(help="Ingested models; `charz models` lists them.")]
PartsOption = Annotated[
    list[str] | None, typer.Option("--on", help="Parts, again for each or with commas; else every part.")
]
BatchesOption = Annotated[str | None, typer.Option("--batch", help="Batches: 8, 1,8,64 or 1:256 (doubling).")]
SequencesOption = Annotated[str | None, typer.Option("--sequence", help="Sequence lengths, as batches.")]
PrecisionsOption = Annotated[str | None, typer.Option("--precision", help="Precision policies, with commas.")]
BackendsOption = Annotated[str | None, typer.Option("--backend", help="Backends, with commas.")]

_UNITS = {
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0},
    "J": {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "µJ": 1e-6, "kJ": 1e3, "Wh": 3600.0},
    "byte": {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40},
}

MOST_SIZES = 1000
"""Sizes on one axis: each is a scenario of its own on every part."""


@dataclass(slots=True)
class Grid:
    """Axes of a question; an empty axis takes the defaults."""

    models: Sequence[str]
    hardware: Sequence[str] = ()
    batches: Sequence[int] = ()
    sequences: Sequence[int] = ()
    precisions: Sequence[str] = ()
    backends: Sequence[str] = ()
    fields: dict[str, Any] = field(default_factory=dict)
    """Further columns of every scenario."""
    runs: Sequence[dict[str, Any]] = ()
    """Runs as columns of a scenario, in place of every batch in every sequence."""
    preferred: Sequence[str] = PREFERRED_PRECISIONS
    """Without precisions, each part takes the first of these that it computes in."""


def numbers(text: str | None) -> list[int]:
    """Sizes as typed: `8`, `1,8,64`, `1:256` (doubling) or `64:1024:64` (steps)."""
    if text is None:
        return []
    found: set[int] = set()
    for part in names([text]) or [text]:
        match = re.fullmatch(r"(\d+)(?::(\d+)(?::(\d+))?)?", part)
        first, last, step = map(int, match.groups(match[1])) if match else (0, 0, 0)
        if not step or not 1 <= first <= last:
            raise CharzError("not a size", part, next="write 8, 1,8,64, 1:256 (doubling) or 64:1024:64 (steps)")
        check_size("size", last)
        doubled = [first * 2**i for i in range((last // first).bit_length())]
        sizes = range(first, last + 1, step) if match and match[3] else doubled
        if len(found) + len(sizes) > MOST_SIZES:
            raise CharzError("too many sizes", text, f"at most {MOST_SIZES} are possible", "take larger steps")
        found.update(sizes)
    return sorted(found)


def names(texts: Iterable[str] | None) -> list[str]:
    """Names as typed, separated by commas or given one by one, each once; `,key=value` is a model's setting and
    part of its name."""
    parts = (part.strip() for text in texts or () for part in re.split(r",(?!\s*[\w.]+=)", text))
    return list(dict.fromkeys(part for part in parts if part))


def amount(text: str | None, unit: str) -> float | None:
    """A limit as typed, e.g. `5ms`, `50mJ`, `8GiB`, in the engine's unit; a bare number is in that unit."""
    if text is None:
        return None
    match = re.fullmatch(r"\s*((?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,2})?)\s*([A-Za-zµ]*)\s*", text)
    known = _UNITS[unit]
    if not match or (match[2] and match[2] not in known):
        raise CharzError("not an amount", text, f"units: {', '.join(known)}", "write e.g. 5ms, 50mJ, 8GiB")
    return float(match[1]) * known.get(match[2], 1.0)


@contextlib.contextmanager
def asked(db: Path | None, grid: Grid, views: Iterable[str]) -> Iterator[Scope]:
    """A connection on which every view knows the grid's scenarios, models and parts and no others.

    The first preferred precision of each part and the backend that answers assume on it are the defaults. A line names
    the models and parts asked about that cannot run so; when all cannot, that is a `CharzError`. When the block ends
    without an error, a line says how many assumed inputs the answer, made of `views`, rests on.
    """
    with open_workspace(db) as connection:
        models = [model_name(connection, name) for name in grid.models]
        hardware = [hardware_name(connection, name) for name in grid.hardware]
        precisions = grid.precisions or grid.preferred
        check_run(connection, grid.backends, precisions)
        targets = targets_of(connection, hardware, grid.backends, precisions, is_first=not grid.precisions)
        sequences: list[int | None] = list(grid.sequences) or [None]
        runs = grid.runs or [{"batch": b, "sequence": s} for b in grid.batches or [1] for s in sequences]
        excluded = without_targets(connection, hardware, targets, grid.backends, precisions)
        ask(connection, [{**run, **grid.fields} for run in runs], models, targets)
        # Without a target no model has a run, whatever its size.
        reasons = (without_size(connection, models, runs[0]) if targets else []) + excluded
        if not connection.execute("SELECT 1 FROM run SEMI JOIN part_support USING (backend, precision)").fetchall():
            nothing = CharzError("no part runs this so", ", ".join(models), next="widen --on, --precision or --backend")
            raise reasons[0] if reasons else nothing
        if reasons:
            display.note("left out: " + "; ".join(f"{reason.where}, {reason.exists}" for reason in reasons))
        scope = Scope(connection)
        yield scope
        assumed.note(scope, *views)


def show(
    scope: Scope,
    view: str,
    columns: Sequence[str],
    tail: str = "",
    values: Sequence[Any] = (),
    source: str | None = None,
    beside: Sequence[str] = (),
) -> int:
    """Print columns of a view, each in the display unit of its documentation; returns the row count.

    `beside` are views of the same grain whose columns may stand beside its own.
    `source` is the relation to read where that is not the view itself but rows picked from it.
    """
    units = {name: unit for v in (*beside, view) for name, unit in scope.units(v).items()}
    rows = scope.records(f"SELECT {', '.join(columns)} FROM {source or scope.joined(view, *beside)} {tail}", values)
    if not rows:  # a header over nothing would stand before the line that says why
        return 0
    short = [_header(name) for name in columns]
    headers = [s if short.count(s) == 1 else n.replace("_", " ") for s, n in zip(short, columns, strict=True)]
    display.show(
        display.table(headers, [[_shown(row[name], name, units.get(name)) for name in columns] for row in rows])
    )
    return len(rows)


def _header(column: str) -> str:
    for suffix in ("_byte", "_per_s", "_s", "_js", "_j", "_w", "_fraction", "_usd"):
        if column.endswith(suffix):
            column = column[: -len(suffix)] + ("/s" if suffix == "_per_s" else "")
            break
    return column.removeprefix("is_").replace("_", " ")


def _shown(value: Any, column: str, unit: str | None) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    if column.endswith("_fraction"):
        return display.percent(value)
    if isinstance(value, float):
        if unit is None and value.is_integer() and abs(value) < 1e6:
            return int(value)
        return (
            display.quantity(value, unit)
            if unit in ("s", "J", "W", "byte", "J s", "USD")
            else display.significant(value)
        )
    return value
