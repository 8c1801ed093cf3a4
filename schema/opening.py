"""Opening of an existing database file by DuckDB, and only if this charz can use it."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb

from charz import __version__

from . import about, damage, ddl, layout
from .apart import apart
from .errors import CharzError

SCHEMAS = ("answer", "mart", "rebuild")
"""Schemas of a file in addition to `main`. The engine calls a database by its file up to a dot, and would not know which of the two a view means."""

_MARK, _MARK_AT = b"DUCK", 8
"""Bytes of the header of each DuckDB file, and their position. [byte]"""

_SQLITE = b"SQLite format 3"

_ATTEMPTS = 20
"""Number of attempts to open a file that is replaced meanwhile."""


def open_existing(path: Path, read_only: bool, name: Path | None = None) -> duckdb.DuckDBPyConnection:
    """Open an existing file and check that this charz can use it; errors show the path as `name`.

    DuckDB 2.0 reads a file's header, reopens the file and only then locks it. If the file was replaced or written in between, the
    connection shows a mixed state, so the file is opened again.
    """
    name = name or path
    for _ in range(_ATTEMPTS):
        check_is_file(path, name)
        before = _state(path)
        try:
            connection = _opened(path, read_only, name)
        except CharzError:
            if _state(path) == before:
                raise
            continue
        if _state(path) == before:
            return connection
        connection.close()
    raise CharzError("other clients keep writing the database", str(name), next="close them and try again")


def _opened(path: Path, read_only: bool, name: Path) -> duckdb.DuckDBPyConnection:
    _check_header(path, name)
    try:
        # An absolute path: the engine downloads an extension for a file called `sqlite:x` or `md:x`, and replaces `~`.
        connection = duckdb.connect(str(path.absolute()), read_only=read_only)
    except duckdb.Error as error:
        raise _opening_failed(name, error) from error
    try:
        connection.execute("SET enable_progress_bar = false")  # DuckDB would print it among the answers
        _check_layout(connection, name)
    except duckdb.Error as error:
        connection.close()
        raise _opening_failed(name, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _state(path: Path) -> tuple[int, ...] | None:
    """Return device, inode, size and time of a file, which change with each replacement and write; None if it does not exist."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def check_is_file(path: Path, name: Path) -> None:
    """Raise `CharzError` unless the file exists and can be a database."""
    if not path.exists():
        raise _missing(name)
    if path.is_dir():
        raise CharzError("a folder, not a database", str(name), next="name a file in it, e.g. --db charz.duckdb")
    if not path.is_file():
        raise CharzError("a pipe or device, not a database", str(name), next="name a file with --db")
    check_name(path)


def check_name(path: Path) -> None:
    """Raise `CharzError` for a file that is called like a schema of a database."""
    if path.name.partition(".")[0].lower() in SCHEMAS:
        exists = f"a database contains schemas called {', '.join(SCHEMAS)}"
        raise CharzError("not a name for a database", str(path), exists, "rename the file")


def not_permitted(name: Path) -> CharzError:
    """Return the error for a file that this user may not open."""
    return CharzError("no permission to open the database", str(name), next="change its permissions or copy it")


def _missing(path: Path) -> CharzError:
    folder = path.parent
    if not folder.is_dir():
        return CharzError("no such folder", str(folder), next="create it or name another with --db")
    others = sorted(p.name for p in folder.glob("*.duckdb"))
    exists = f"the folder has {', '.join(others[:5])}" if others else ""
    return CharzError("no such database", str(path), exists, "`charz ingest MODEL` makes one; --db names another")


def _check_header(path: Path, name: Path) -> None:
    """Raise `CharzError` for a file that DuckDB did not write: for some of these, SQLite's among them, the engine downloads an extension."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except PermissionError as error:
        raise not_permitted(name) from error
    if start[_MARK_AT:].startswith(_MARK):
        return
    exists = "it is an SQLite database" if start.startswith(_SQLITE) else "" if start else "it is empty"
    raise CharzError("not a charz database", str(name), exists, "name one with --db, or a new file for `charz ingest MODEL`")


def _opening_failed(path: Path, error: duckdb.Error) -> CharzError:
    text = str(error)
    if damage.is_found(error):
        return damage.error(path, error)
    if "Could not set lock" in text or "different configuration" in text or "already open" in text:
        holder = text.partition("Conflicting lock is held in ")[2].split(". ")[0]
        who = "another process" if holder else "this process"
        exists = f"held by {holder}" if holder else ""
        return CharzError(f"{who} has the database open for writing", str(path), exists, "close it and try again")
    if "Permission denied" in text or not os.access(path, os.R_OK):
        return not_permitted(path)
    return CharzError(
        "the database does not open", str(path), text.splitlines()[0], "restore it from a copy or make a new one"
    )


def _check_layout(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    query = "SELECT 1 FROM duckdb_tables() WHERE database_name = $1 AND schema_name = 'main' AND table_name = $2"
    reserved = "SELECT schema_name FROM duckdb_schemas() WHERE database_name = $1 AND lower(schema_name) IN ('temp', 'system', lower($1))"
    with apart(connection) as (cursor, current):
        if found := cursor.execute(reserved, [current]).fetchall():
            raise CharzError(
                "a schema of the database has the name of a database, so names in queries are ambiguous",
                str(path),
                f"schema {found[0][0]}",
                "drop it with a DuckDB client, or use another file",
            )
        if not cursor.execute(query, [current, about.TABLE]).fetchall():
            raise CharzError(
                "a DuckDB file that charz did not write", str(path), next="name a charz database with --db"
            )
        known = dict(cursor.execute(f"SELECT key, value FROM {ddl.quote(current)}.main.{about.TABLE}").fetchall())
    if known.get(about.LAYOUT) != layout.fingerprint():
        made = known.get("charz_version", "of an unknown version")
        raise CharzError(
            "another version of charz made this database",
            str(path),
            f"its tables have another layout: charz {made} wrote it, this is charz {__version__}",
            "ingest again into a new file, named with --db",
        )
