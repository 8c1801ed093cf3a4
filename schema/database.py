"""Creation of a database's tables from the row types, and insertion of rows. `file` opens and replaces the file."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from . import about, ddl, layout, meta
from .errors import CharzError, nearest_names
from .row import Row

STORAGE_VERSION = "v2.0.0"
"""DuckDB storage format of a new file: the first with triggers."""

BLOCK_BYTE = 16384
"""Block size of a new file, the smallest that the engine accepts: a column takes at least one block and most tables have few rows. [byte]"""

_POLARS_TYPES = {
    "BIGINT": "Int64",
    "DOUBLE": "Float64",
    "VARCHAR": "String",
    "BOOLEAN": "Boolean",
    "TIMESTAMP": "Datetime",
}
"""Polars type of each database type, by name."""


def _row_types() -> list[type[Row]]:
    """Return the row types of every module of this package, by module and place within it."""
    package = __package__ or "charz.schema"
    found: list[type[Row]] = []
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if module.name == __name__:
            continue
        members = vars(importlib.import_module(module.name)).values()
        found += [
            m
            for m in members
            if isinstance(m, type) and issubclass(m, Row) and m.__module__ == module.name and "KEY" in vars(m)
        ]
    return found


TABLES: list[type[Row]] = _row_types()
"""Row type of every table."""

FACTS = [row_type for row_type in TABLES if row_type.__module__ != meta.__name__]
"""Row types of the tables that people and ingest write."""


def write_empty(path: Path) -> None:
    """Write a file with every table, all empty. Raises `CharzError` if it cannot be written."""
    with contextlib.closing(duckdb.connect()) as connection:
        try:
            connection.execute(
                f"ATTACH {ddl.literal(str(path))} AS created"
                f" (STORAGE_VERSION {ddl.literal(STORAGE_VERSION)}, BLOCK_SIZE {BLOCK_BYTE})"
            )
        except duckdb.Error as error:
            raise CharzError("cannot create a database", str(path.parent), str(error).splitlines()[0]) from error
        connection.execute("USE created")
        connection.begin()
        for row_type in TABLES:
            connection.execute(ddl.create_table(row_type))
        connection.execute(";\n".join(text for row_type in TABLES for text in ddl.comments(row_type)))
        about.write(connection, **{about.LAYOUT: layout.fingerprint()})
        connection.commit()


def insert(connection: duckdb.DuckDBPyConnection, row_type: type[Row], columns: Mapping[str, Sequence[object]]) -> int:
    """Append rows given as columns and return their number; a nullable column may be left out.

    Raises `CharzError` if a column is unknown, missing or of another type, or a key exists already.
    """
    import polars as pl

    known = {c.name: c for c in ddl.columns(row_type)}
    _check_names(row_type, columns, known)
    types = {name: getattr(pl, _POLARS_TYPES[known[name].duckdb_type]) for name in columns}
    try:
        frame = pl.DataFrame(dict(columns), schema=types, strict=True)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
        raise CharzError("values do not fit the table", row_type.TABLE, str(error)) from error
    if not len(frame):
        return 0
    names = ", ".join(map(ddl.quote, columns))
    connection.register("charz_rows_to_insert", frame.to_arrow())
    try:
        connection.execute(
            f"INSERT INTO {ddl.quote(row_type.TABLE)} ({names}) SELECT {names} FROM charz_rows_to_insert"
        )
    except duckdb.ConstraintException as error:
        raise CharzError("rows break a rule of the table", row_type.TABLE, str(error).splitlines()[0]) from error
    finally:
        # A failed insert has aborted the transaction, and the registration with it.
        with contextlib.suppress(duckdb.TransactionException):
            connection.unregister("charz_rows_to_insert")
    return len(frame)


def insert_rows(connection: duckdb.DuckDBPyConnection, rows: Sequence[Row]) -> int:
    """Append rows of one type and return their number; for a few rows, not a whole model."""
    if not rows:
        return 0
    row_type = type(rows[0])
    return insert(connection, row_type, {name: [getattr(r, name) for r in rows] for name in row_type.model_fields})


def repeated_keys(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Count repeated keys by table, in tables whose key has no index; empty if there are no repeats."""
    found = {}
    for row_type in TABLES:
        if not row_type.IS_KEY_ENFORCED:
            key = ", ".join(map(ddl.quote, row_type.KEY))
            repeated = f"SELECT {key} FROM {ddl.quote(row_type.TABLE)} GROUP BY {key} HAVING count(*) > 1"
            count = connection.execute(f"SELECT count(*) FROM ({repeated})").fetchall()[0][0]
            if count:
                found[row_type.TABLE] = count
    return found


def _check_names(row_type: type[Row], given: Mapping[str, object], known: Mapping[str, ddl.Column]) -> None:
    unknown = [name for name in given if name not in known]
    missing = [name for name, c in known.items() if name not in given and not c.is_nullable]
    if unknown:
        near = ", ".join(nearest_names(unknown[0], known))
        raise CharzError("no such column", f"{row_type.TABLE}.{unknown[0]}", f"nearest: {near}" if near else "")
    if missing:
        raise CharzError("columns without values", f"{row_type.TABLE}: {', '.join(missing)}")
