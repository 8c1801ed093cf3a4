"""The database a command works on: where it is, what a new one holds, and what-if scenarios.

A new database is tables, catalog, default scenarios and views; the parts come from packages that do
not know each other, so it is put together here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer

from charz import __version__
from charz.schema import database, ddl
from charz.schema.errors import CharzError, unknown_name
from charz.schema.scenario import Scenario
from charz.sql import views

DEFAULT_DATABASE = "charz.duckdb"

DatabaseOption = Annotated[
    Path | None,
    typer.Option("--db", help="Database file; else $CHARZ_DB, else charz.duckdb in this folder.", show_default=False),
]
BatchOption = Annotated[int | None, typer.Option("--batch", min=1, help="Samples in one run.", show_default=False)]
SequenceOption = Annotated[
    int | None, typer.Option("--sequence", min=1, help="Tokens a sample.", show_default=False)
]
PrecisionOption = Annotated[
    str | None, typer.Option("--precision", help="Precision policy, e.g. fp16.", show_default=False)
]
BackendOption = Annotated[
    str | None, typer.Option("--backend", help="Backend, e.g. inductor.", show_default=False)
]


def database_path(db: Path | None = None) -> Path:
    """The file meant: the option, else `CHARZ_DB`, else `charz.duckdb` in the working directory."""
    return Path(db or os.environ.get("CHARZ_DB") or DEFAULT_DATABASE)


def open_workspace(db: Path | None = None, create: bool = False) -> duckdb.DuckDBPyConnection:
    """A read-only connection to the database, with this charz's layout and views.

    A file that another version of charz wrote is brought up to date first. With `create`, a missing
    file is made. Use it as a context manager, or close it.
    """
    path = database_path(db)
    if create and not path.exists():
        with change_workspace(path):
            pass
    connection = database.connect(path)
    if database.meta(connection).get("views_fingerprint") == views.fingerprint():
        return connection
    connection.close()
    with change_workspace(path):
        pass
    return database.connect(path)


@contextlib.contextmanager
def change_workspace(db: Path | None = None, create: bool = True) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a copy that takes the database's place when the block ends without an error.

    The block runs in one transaction (do not begin another). With `create`, a missing file is made:
    tables, catalog, default scenarios and views.
    """
    with database.replace(database_path(db), create=create) as connection:
        known = database.meta(connection)
        if "catalog_version" not in known:
            _fill_catalog(connection)
        if known.get("views_fingerprint") != views.fingerprint():
            views.install(connection)
        database.set_meta(connection, charz_version=__version__)
        yield connection


def _fill_catalog(connection: duckdb.DuckDBPyConnection) -> None:
    from charz.hardware_catalog import loader

    catalog = loader.load()
    loader.write(connection, catalog)
    if "catalog_version" not in database.meta(connection):
        database.set_meta(connection, catalog_version=getattr(catalog, "version", __version__))


@contextlib.contextmanager
def with_scenario(
    db: Path | None = None,
    *,
    batch: int | None = None,
    sequence: int | None = None,
    precision: str | None = None,
    backend: str | None = None,
    **fields: Any,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Answer for one scenario without touching the file: yields a connection on which every view
    knows that scenario and no other. With nothing given, the plain read-only connection.

    See `with_scenarios` for how; `fields` are further columns of the scenario row.
    """
    given = {"batch": batch, "sequence": sequence, "policy": precision, "backend": backend, **fields}
    given = {name: value for name, value in given.items() if value is not None}
    if not given:
        with open_workspace(db) as connection:
            yield connection
        return
    with with_scenarios(db, [given]) as connection:
        yield connection


@contextlib.contextmanager
def with_scenarios(
    db: Path | None, scenarios: list[dict[str, Any]], keep: bool = False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection on which the views' `scenario` rows are the ones given; `keep` adds the file's own.

    A scenario that names no backend is asked on the default backend of every hardware family. The
    file is attached read-only under an in-memory database that has its own `scenario` table and its
    own copy of the views: unqualified names are found there first, so the views read the new rows,
    and everything else from the file.
    """
    path = database_path(db)
    with open_workspace(path) as original:
        statements = views.installed(original)
        rows = _scenario_rows(original, scenarios)
        kept = original.sql("SELECT * FROM scenario").pl() if keep else None
    connection = duckdb.connect()
    try:
        connection.execute(f"ATTACH {ddl.literal(str(path))} AS file (READ_ONLY)")
        connection.execute("SET search_path = 'memory.main,file.main'")
        connection.execute(ddl.create_table(Scenario))
        if kept is not None:
            connection.register("kept_scenarios", kept.to_arrow())
            connection.execute("INSERT INTO scenario BY NAME SELECT * FROM kept_scenarios")
            connection.unregister("kept_scenarios")
        database.insert_rows(connection, rows)
        for _name, statement in statements:
            connection.execute(statement)
        yield connection
    finally:
        connection.close()


def _scenario_rows(connection: duckdb.DuckDBPyConnection, scenarios: list[dict[str, Any]]) -> list[Scenario]:
    """Whole rows from the fields given, numbered after the file's own."""
    (highest,) = connection.execute("SELECT coalesce(max(scenario_id), 0) FROM scenario").fetchall()[0]
    rows: list[Scenario] = []
    for given in scenarios:
        for backend in [given["backend"]] if "backend" in given else default_backends(connection):
            rows.append(scenario_row(connection, highest + len(rows) + 1, **{**given, "backend": backend}))
    return rows


def scenario_row(connection: duckdb.DuckDBPyConnection, scenario_id: int, **fields: Any) -> Scenario:
    """A scenario with the defaults nobody sees; unknown policies and backends are errors."""
    values = {
        "batch": 1,
        "sequence": None,
        "context": None,
        "phase": "forward",
        "policy": "fp32",
        "backend": "eager",
        "memory_format": "nchw",
        "host_factor": 1.0,
        "cache_state": "warm",
        "origin": "user",
    } | fields
    check_name(connection, "precision", values["policy"], "SELECT DISTINCT policy FROM precision_policy")
    check_name(connection, "backend", values["backend"], "SELECT backend FROM backend")
    return Scenario(scenario_id=scenario_id, **values)


def default_backends(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Backends that answers assume for one family or another."""
    query = "SELECT backend FROM backend WHERE is_default_for <> '' ORDER BY backend"
    return [backend for (backend,) in connection.execute(query).fetchall()]


def check_name(connection: duckdb.DuckDBPyConnection, kind: str, name: str, query: str) -> str:
    """The name, if the query's first column has it; else an error with the nearest ones."""
    known = [value for (value,) in connection.execute(query).fetchall()]
    if name not in known:
        raise unknown_name(kind, name, known)
    return name


def model_name(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """An ingested model's name as given, else an error with the nearest ones."""
    known = [value for (value,) in connection.execute("SELECT model FROM model").fetchall()]
    if name in known:
        return name
    raise unknown_name("model", name, known, f"`charz ingest {name}` adds it, `charz models` lists what is there")


def hardware_name(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """A part's id by id or alias, else an error with the nearest ones."""
    query = "SELECT hardware_id, hardware_id FROM hardware UNION ALL SELECT alias, hardware_id FROM hardware_alias"
    known = dict(connection.execute(query).fetchall())
    if name in known:
        return str(known[name])
    lowered = {alias.lower(): hardware_id for alias, hardware_id in known.items()}
    if name.lower() in lowered:
        return str(lowered[name.lower()])
    raise unknown_name("part", name, set(known.values()) | set(known), "`charz hardware list` shows all")


def no_rows(what: str, where: str, next: str = "") -> CharzError:
    """The error for a question whose answer is empty."""
    return CharzError(what, where, next=next)
