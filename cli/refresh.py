"""Evaluate every maintained table anew from the facts."""

from __future__ import annotations

from . import display
from .workspace import DatabaseOption, change_workspace


def command(db: DatabaseOption = None) -> None:
    """Evaluate the tables that are kept equal to a view anew, and put back the triggers that keep them so.

    For a file whose triggers are gone, as after EXPORT DATABASE; `charz check` tells.
    """
    from charz.sql import maintain

    with change_workspace(db, create=False) as connection:
        changed = maintain.differences(connection)
        maintain.refresh(connection)
    for table, count in changed.items():
        display.show(f"{table}: {count} rows differed")
    display.note("every maintained table is as its facts say")
