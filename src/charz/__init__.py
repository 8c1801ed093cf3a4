"""charz predicts time, energy and memory of a PyTorch model on a hardware part, explains them, and suggests changes, in SQL.

`charz.open(path)` returns a `Session`, whose methods ingest models and return polars frames. `charz.ingest` lowers a PyTorch model to
rows, `charz.schema` defines the tables, `charz.hardware_catalog` contains the parts, `charz.sql` the cost model as views, `charz.session`
the methods, and `charz.cli` the command line.
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
    """Open a session with a database file: `path`, else `$CHARZ_DB`, else `charz.duckdb` in the working folder.

    With `is_guarded`, SQL statements can read the database only: no files, network or settings. With `trust`, triggers and views that charz
    did not create, and the code of a `.pt2` file, may run when the database is written. `wait_s` limits the wait for another charz process
    that changes the file [s]. With `is_live`, every answer is evaluated on demand and answers at hand (precomputed predictions) are
    ignored. With an `engine`, e.g. `sc://host:port`, that engine evaluates the models. It reads the rows that `charz export ROWS --for
    spark` wrote to `rows`, by default the folder PATH.rows.
    """
    from .session import Session
    from .session.access import Access

    return Session(
        path, is_guarded=is_guarded, access=Access(trust, wait_s, is_live, engine=engine or "", rows=str(rows or ""))
    )
