"""charz: how fast, how many joules, does it fit, why, and what would help — as SQL.

`charz.open(path)` is the program: a `Session` whose methods answer in polars frames and ingest models.
The pipeline reads off the package names: `charz.ingest` lowers a PyTorch model to rows,
`charz.schema` owns the tables, `charz.hardware_catalog` holds the machines,
`charz.sql` holds the cost model as views, `charz.session` asks them, and `charz.cli` is the command line over it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from .session import Session

__version__ = "0.1.0"


def open(
    path: str | Path | None = None,
    *,
    is_guarded: bool = False,
    trust: bool = False,
    wait_s: float = 30.0,
    is_live: bool = False,
    engine: str | None = None,
    rows: str | Path | None = None,
) -> Session:
    """A session with a database file, else with `$CHARZ_DB`, else with `charz.duckdb` in the working folder.

    With `is_guarded`, SQL given to it reads the database and nothing else: no files, no network, no settings. With `trust`,
    what others put into a file may run when it is written: triggers, views, the code of a `.pt2`. `wait_s` is how long another
    charz that changes the file is waited for [s]. With `is_live`, every answer is evaluated when it is asked for, and none taken
    that is at hand. With an `engine`, as `sc://host:port`, the models are evaluated there, over what `charz export ROWS --for
    spark` wrote to `rows`, else to the folder PATH.rows.
    """
    from .session import Session
    from .session.access import Access

    return Session(
        path, is_guarded=is_guarded, access=Access(trust, wait_s, is_live, engine=engine or "", rows=str(rows or ""))
    )
