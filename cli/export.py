"""Write every table and report to files that other tools read."""

from __future__ import annotations

import contextlib
import os
import shutil
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import duckdb
import typer

from charz.schema import ddl
from charz.schema.errors import CharzError
from charz.sql.views import REPORT

from . import display
from .workspace import DatabaseOption, open_workspace


class FileFormat(StrEnum):
    """File format of an export."""

    parquet = "parquet"
    csv = "csv"


def command(
    folder: Annotated[Path, typer.Argument(help="Folder to make; must be new or empty.")],
    format: Annotated[FileFormat, typer.Option("--format", help="One file a table or view.")] = FileFormat.parquet,
    db: DatabaseOption = None,
) -> None:
    """Write every table to FOLDER/table and every report view to FOLDER/view, one file each.

    FOLDER/load.sql makes tables of the table files and views of the model's statements in DuckDB: a copy that answers, but
    without the triggers by which an edit of a number changes the answers.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CharzError("the folder is not empty", str(folder), next="name a new one")
    part = folder.with_name(f".{folder.name}.part")
    with open_workspace(db) as connection:
        try:
            shutil.rmtree(part, ignore_errors=True)
            counts = _write_all(connection, part, format)
            if folder.exists():
                folder.rmdir()
            os.replace(part, folder)
        except (OSError, duckdb.IOException) as error:
            raise CharzError("cannot write the folder", str(folder), str(error).splitlines()[0]) from error
        finally:
            with contextlib.suppress(OSError):
                shutil.rmtree(part)
    display.show(f"{counts['table']} tables and {counts['view']} views written to {folder} as {format.value}")


def _write_all(connection: duckdb.DuckDBPyConnection, part: Path, format: FileFormat) -> dict[str, int]:
    tables = _names(connection, _TABLES)
    views = _names(connection, _REPORTS)
    for kind, names in (("table", tables), ("view", views)):
        (part / kind).mkdir(parents=True)
        for name in names:
            _write_one(connection, name, part / kind / f"{name}.{format.value}", format)
    (part / "load.sql").write_text(_load_script(connection, tables, format))
    return {"table": len(tables), "view": len(views)}


def _write_one(connection: duckdb.DuckDBPyConnection, name: str, path: Path, format: FileFormat) -> None:
    options = "FORMAT parquet, COMPRESSION zstd" if format is FileFormat.parquet else "FORMAT csv, HEADER"
    connection.execute(f"COPY (SELECT * FROM {ddl.quote(name)}) TO {ddl.literal(str(path))} ({options})")


def _load_script(connection: duckdb.DuckDBPyConnection, tables: list[str], format: FileFormat) -> str:
    """Statements that make the tables from the files, then the views over them; run in the folder."""
    statements = _names(connection, _TABLES.replace("table_name", "sql", 1))
    # An empty text is written as "" and a missing one as nothing: keep them apart.
    options = ", HEADER, ALLOW_QUOTED_NULLS false" if format is FileFormat.csv else ""
    statements += [
        f"COPY {ddl.quote(t)} FROM {ddl.literal(f'table/{t}.{format.value}')} (FORMAT {format.value}{options});"
        for t in tables
    ]
    query = "SELECT view, body FROM view_catalog WHERE kind = 'view' ORDER BY position"
    statements += [f"CREATE VIEW {ddl.quote(view)} AS\n{body};" for view, body in connection.execute(query).fetchall()]
    return "\n".join(statements) + "\n"


_TABLES = "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main' ORDER BY table_name"
_REPORTS = f"""
    SELECT view_name
    FROM duckdb_views() LEFT JOIN view_catalog ON view = view_name
    WHERE NOT internal AND schema_name = 'main' AND coalesce(layer = '{REPORT}', TRUE)
    ORDER BY view_name
"""
"""Views that are read by people, and a user's own."""


def _names(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    return [name for (name,) in connection.execute(query).fetchall()]
