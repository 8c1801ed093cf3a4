"""Check that every invariant holds on this database."""

from __future__ import annotations

import typer

from charz.sql.views import INVARIANT

from . import display
from .workspace import DatabaseOption, open_workspace


def command(db: DatabaseOption = None) -> None:
    """List the views that must be empty with the rows each has; exit code 1 if one has any."""
    with open_workspace(db) as connection:
        names = connection.execute(
            "SELECT view, description FROM view_catalog WHERE layer = ? ORDER BY view", [INVARIANT]
        ).fetchall()
        counts = [
            (name, connection.execute(f'SELECT count(*) FROM "{name}"').fetchall()[0][0], description)
            for name, description in names
        ]
    display.show(display.table(["invariant", "rows", "must be empty because"], counts))
    broken = [name for name, count, _ in counts if count]
    if broken:
        display.note(f'{len(broken)} of {len(counts)} broken; `charz sql "SELECT * FROM {broken[0]}"` shows the rows')
        raise typer.Exit(1)
    display.note(f"all {len(counts)} hold")
