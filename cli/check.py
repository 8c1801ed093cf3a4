"""Check that every invariant holds on this database, and that its maintained tables are as their facts say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import duckdb
import typer

from charz.schema import ddl
from charz.sql import maintain, triggers
from charz.sql.views import INVARIANT

from . import display
from .grid import PartsOption, names
from .workspace import DatabaseOption, hardware_name, model_name, narrowed, open_workspace

_SHARED = "5_rollup"
"""Layer whose views many invariants read."""


def command(
    models: Annotated[
        list[str] | None, typer.Argument(help="Models; all when none is named.", show_default=False)
    ] = None,
    on: PartsOption = None,
    db: DatabaseOption = None,
) -> None:
    """List the views that must be empty with the rows each has; exit code 1 if one has any, if a maintained table is not
    what its facts say, or if a trigger that keeps it so is missing.

    One model after the other, under every scenario of the database.
    """
    with open_workspace(db) as connection:
        known = [name for (name,) in connection.execute("SELECT model FROM model ORDER BY model").fetchall()]
        chosen = [model_name(connection, name) for name in models or []] or known
        parts = [hardware_name(connection, name) for name in names(on)]
        query = "SELECT view, description FROM view_catalog WHERE layer = ? ORDER BY view"
        invariants = dict(connection.execute(query, [INVARIANT]).fetchall())
        is_kept = _check_maintained(connection)
    broken: dict[str, str] = {}
    rows = dict.fromkeys(invariants, 0)
    for i, model in enumerate(chosen or [None], start=1):
        counts = _counts(db, model, parts, list(invariants))
        for name, count in counts.items():
            rows[name] += count
            if count:
                broken.setdefault(name, model or "the catalog")
        if len(chosen) > 1:
            display.note(f"{i}/{len(chosen)} {model}: {sum(counts.values())} rows")
    headers = ["invariant", "rows", "must be empty because"]
    display.show(display.table(headers, [(name, rows[name], text) for name, text in invariants.items()]))
    for name, model in broken.items():
        display.note(f'{name} is broken, first in {model}: `charz sql "SELECT * FROM {name}"` shows the rows')
    if broken or not is_kept:
        raise typer.Exit(1)
    display.note(f"all {len(rows)} hold for {len(chosen)} models, and every maintained table is as its facts say")


def _check_maintained(connection: duckdb.DuckDBPyConnection) -> bool:
    """Say which maintained tables differ from what their facts say and which triggers are missing; true if none."""
    differing, missing = maintain.differences(connection), triggers.missing(connection)
    for table, count in differing.items():
        display.note(f"{table}: {count} rows are not as their facts say; `charz refresh` evaluates it anew")
    if missing:
        named = ", ".join(missing[:3]) + (" ..." if len(missing) > 3 else "")
        display.note(f"{len(missing)} triggers are missing ({named}); `charz refresh` puts them back")
    return not differing and not missing


def _counts(db: Path | None, model: str | None, parts: list[str], invariants: list[str]) -> dict[str, int]:
    """Rows of each invariant, with what many of them read evaluated once."""
    with narrowed(db, models=[model] if model else [], hardware=parts) as connection:
        query = "SELECT view FROM view_catalog WHERE layer = ? AND kind = 'view' ORDER BY position"
        for (view,) in connection.execute(query, [_SHARED]).fetchall():
            name = ddl.quote(view)
            connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM {name}")
        return {
            name: int(connection.execute(f"SELECT count(*) FROM {ddl.quote(name)}").fetchall()[0][0])
            for name in invariants
        }
