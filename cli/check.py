"""Check that every invariant holds on this database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import duckdb
import typer

from charz.schema import ddl
from charz.sql.views import INVARIANT

from . import display
from .grid import PartsOption, names
from .workspace import (
    DatabaseOption,
    answer_once,
    hardware_name,
    model_name,
    open_workspace,
    stored_scenarios,
    with_scenarios,
)


def command(
    models: Annotated[
        list[str] | None, typer.Argument(help="Models; all when none is named.", show_default=False)
    ] = None,
    on: PartsOption = None,
    db: DatabaseOption = None,
) -> None:
    """List the views that must be empty with the rows each has; exit code 1 if one has any.

    One model after the other, under every scenario of the database: 5 seconds each on a few parts, half a minute on all.
    """
    with open_workspace(db) as connection:
        known = [name for (name,) in connection.execute("SELECT model FROM model ORDER BY model").fetchall()]
        chosen = [model_name(connection, name) for name in models or []] or known
        parts = [hardware_name(connection, name) for name in names(on)]
        invariants = dict(
            connection.execute(
                "SELECT view, description FROM view_catalog WHERE layer = ? ORDER BY view", [INVARIANT]
            ).fetchall()
        )
        scenarios = stored_scenarios(connection)
    broken: dict[str, list[str]] = {}
    rows = dict.fromkeys(invariants, 0)
    for i, model in enumerate(chosen or [None], start=1):
        with with_scenarios(db, scenarios, invariants, [model] if model else [], parts) as connection:
            counts = _counts(connection, list(invariants))
        for name, count in counts.items():
            rows[name] += count
            if count and model:
                broken.setdefault(name, []).append(model)
        if len(chosen) > 1:
            display.note(f"{i}/{len(chosen)} {model}: {sum(counts.values())} rows")
    display.show(
        display.table(
            ["invariant", "rows", "must be empty because"],
            [(name, rows[name], description) for name, description in invariants.items()],
        )
    )
    failing = [name for name, count in rows.items() if count]
    if failing:
        where = f", first in {broken[failing[0]][0]}" if failing[0] in broken else ""
        display.note(
            f'{len(failing)} of {len(rows)} broken{where}; `charz sql "SELECT * FROM {failing[0]}"` shows the rows'
        )
        raise typer.Exit(1)
    display.note(f"all {len(rows)} hold for {len(chosen)} models")


_SHARED = ("3_cost", "4_rollup")
"""Layers whose views many invariants read."""


def _counts(connection: duckdb.DuckDBPyConnection, invariants: Sequence[str]) -> dict[str, int]:
    """Rows of each invariant, with what they share computed once."""
    answer_once(connection, _SHARED)
    return {
        name: int(connection.execute(f"SELECT count(*) FROM {ddl.quote(name)}").fetchall()[0][0]) for name in invariants
    }
