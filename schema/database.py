"""Opening, creating and changing a charz database file.

A file has one writer at a time and any number of readers. A change is made in a copy beside the
file and put in its place with `os.replace`, so a reader always sees a whole state and a killed
writer leaves the old one. A file is of the layout of the charz that made it and is never migrated: models are ingested
again into a new one.

Runs on Linux and macOS: Windows can neither lock with `flock` nor replace an open file.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib
import os
import pkgutil
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from . import ddl
from .errors import CharzError, nearest_names
from .meta import Meta
from .row import Row

STORAGE_VERSION = "v2.0.0"
"""DuckDB storage format of a new file: the first that holds triggers."""

FINGERPRINT = "schema_fingerprint"
"""Key under which a file says what layout it has."""

_POLARS_TYPES: dict[str, Any] = {
    "BIGINT": pl.Int64,
    "DOUBLE": pl.Float64,
    "VARCHAR": pl.String,
    "BOOLEAN": pl.Boolean,
    "TIMESTAMP": pl.Datetime("us"),
}


def _row_types() -> list[type[Row]]:
    """Row types of every module of this package, by module and place within it."""
    package = __package__ or "charz.schema"
    found: list[type[Row]] = []
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if module.name == "database":
            continue
        name = f"{package}.{module.name}"
        members = vars(importlib.import_module(name)).values()
        found += [
            m
            for m in members
            if isinstance(m, type) and issubclass(m, Row) and m.__module__ == name and "KEY" in vars(m)
        ]
    return found


TABLES: list[type[Row]] = _row_types()
"""Row type of every table."""


def fingerprint() -> str:
    """Hash of the layout: every table with its columns and key."""
    text = "\n".join(sorted(f"{ddl.create_table(t)} {t.KEY}" for t in TABLES))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def create(path: Path | str) -> None:
    """Write a new file with every table, all empty. Raises `CharzError` if the file exists."""
    path = Path(path)
    if path.exists():
        raise CharzError("the file exists already", str(path), next="choose another name")
    with replace(path, create=True):
        pass


def connect(path: Path | str, read_only: bool = True) -> duckdb.DuckDBPyConnection:
    """Open a file, created if it is missing and to be written.

    A connection keeps the state it was opened on: after another process has replaced the file, open
    it anew. Raises `CharzError` if there is no file to read, if it is not a charz database or of another
    charz's layout, or if another process holds it.
    """
    path = Path(path)
    if not path.exists() and not read_only:
        create(path)
    return _open(path, read_only)


@contextlib.contextmanager
def replace(path: Path | str, create: bool = False, start: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a copy that takes the file's place when the block ends without an error.

    The block runs in one transaction, so it must not begin another. With `create`, a missing file starts
    as a copy of `start`, or empty. Raises `CharzError` if another process writes or holds the file or the folder cannot be written.
    """
    path = Path(path)
    copy = path.with_name(f".{path.name}.writing")
    with contextlib.ExitStack() as stack:
        stack.enter_context(_writer_lock(path))
        stack.callback(_discard, copy)
        if path.exists() or not create:
            stack.enter_context(_still(path))
            _copy(path, copy)
        elif start is not None:
            _copy(start, copy)
        else:
            _create_empty(copy)
        connection = stack.enter_context(contextlib.closing(_open(copy, read_only=False, name=path)))
        connection.begin()
        yield connection
        connection.commit()
        connection.close()
        os.replace(copy, path)
        _sync_folder(path.parent)


def insert(connection: duckdb.DuckDBPyConnection, row_type: type[Row], columns: Mapping[str, Sequence[object]]) -> int:
    """Append rows given as columns and return how many; a nullable column may be left out.

    Raises `CharzError` if a column is unknown, missing or of another type, or a key exists already.
    """
    known = {c.name: c for c in ddl.columns(row_type)}
    _check_names(row_type, columns, known)
    types = {name: _POLARS_TYPES[known[name].duckdb_type] for name in columns}
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
        # A failed insert has aborted the transaction, and with it what was registered.
        with contextlib.suppress(duckdb.TransactionException):
            connection.unregister("charz_rows_to_insert")
    return len(frame)


def insert_rows(connection: duckdb.DuckDBPyConnection, rows: Sequence[Row]) -> int:
    """Append rows of one type and return how many; for a few rows, not for a whole model."""
    if not rows:
        return 0
    row_type = type(rows[0])
    return insert(connection, row_type, {name: [getattr(r, name) for r in rows] for name in row_type.model_fields})


def repeated_keys(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Keys that several rows have, counted by table, of the tables whose key no index guards; empty when all is well."""
    found = {}
    for row_type in TABLES:
        if not row_type.IS_KEY_ENFORCED:
            key = ", ".join(map(ddl.quote, row_type.KEY))
            repeated = f"SELECT {key} FROM {ddl.quote(row_type.TABLE)} GROUP BY {key} HAVING count(*) > 1"
            count = connection.execute(f"SELECT count(*) FROM ({repeated})").fetchall()[0][0]
            if count:
                found[row_type.TABLE] = count
    return found


def quiet(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep DuckDB's progress bar, which it prints to standard output, out of the answers there."""
    connection.execute("SET enable_progress_bar = false")


def meta(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """What the file says of itself."""
    return dict(connection.execute(f"SELECT key, value FROM {Meta.TABLE}").fetchall())


def set_meta(connection: duckdb.DuckDBPyConnection, **values: str) -> None:
    """Change what the file says of itself."""
    for key, value in values.items():
        connection.execute(f"INSERT OR REPLACE INTO {Meta.TABLE} VALUES (?, ?)", [key, value])


def _check_names(row_type: type[Row], given: Mapping[str, object], known: Mapping[str, ddl.Column]) -> None:
    unknown = [name for name in given if name not in known]
    missing = [name for name, c in known.items() if name not in given and not c.is_nullable]
    if unknown:
        near = ", ".join(nearest_names(unknown[0], known))
        raise CharzError("no such column", f"{row_type.TABLE}.{unknown[0]}", f"nearest: {near}" if near else "")
    if missing:
        raise CharzError("columns without values", f"{row_type.TABLE}: {', '.join(missing)}")


def _open(path: Path, read_only: bool, name: Path | None = None) -> duckdb.DuckDBPyConnection:
    """Open an existing file and check that this charz can use it; `name` is the path to speak of."""
    name = name or path
    if not path.exists():
        raise _missing(name)
    if path.is_dir():
        raise CharzError("a folder, not a database", str(name), next="name a file in it, e.g. --db charz.duckdb")
    try:
        connection = duckdb.connect(str(path), read_only=read_only)
    except duckdb.Error as error:
        raise _opening_failed(name, error) from error
    quiet(connection)
    try:
        _check_layout(connection, name)
    except BaseException:
        connection.close()
        raise
    return connection


def _missing(path: Path) -> CharzError:
    folder = path.parent
    if not folder.is_dir():
        return CharzError("no such folder", str(folder), next="create it or name another with --db")
    others = sorted(p.name for p in folder.glob("*.duckdb"))
    exists = f"the folder has {', '.join(others[:5])}" if others else ""
    return CharzError("no such database", str(path), exists, "`charz ingest MODEL` makes one; --db names another")


def _opening_failed(path: Path, error: duckdb.Error) -> CharzError:
    text = str(error)
    if "not a valid DuckDB" in text or "not a DuckDB" in text:
        return CharzError("not a DuckDB database", str(path), next="name a charz database with --db")
    if "Could not set lock" in text or "different configuration" in text or "already open" in text:
        holder = text.partition("Conflicting lock is held in ")[2].split(". ")[0]
        exists = f"held by {holder}" if holder else ""
        return CharzError(
            "another process has the database open for writing", str(path), exists, "close it and try again"
        )
    if "Permission denied" in text or not os.access(path, os.R_OK):
        return CharzError("no permission to open the database", str(path), next="change its permissions or copy it")
    return CharzError(
        "the database does not open", str(path), text.splitlines()[0], "restore it from a copy or make a new one"
    )


def _check_layout(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    tables = connection.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()
    if (Meta.TABLE,) not in tables:
        raise CharzError("a DuckDB file that charz did not write", str(path), next="name a charz database with --db")
    if meta(connection).get(FINGERPRINT) != fingerprint():
        raise CharzError(
            "another version of charz made this database",
            str(path),
            "its tables have another layout",
            "ingest again into a new file, named with --db",
        )


@contextlib.contextmanager
def _writer_lock(path: Path) -> Iterator[None]:
    """Hold the right to replace a file; dies with the process, whatever kills it."""
    lock = path.with_name(f".{path.name}.lock")
    descriptor = _acquire(lock, path)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            lock.unlink()
        os.close(descriptor)


def _acquire(lock: Path, path: Path) -> int:
    while True:
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:
            raise CharzError("no such folder", str(path.parent), next="create it or name another with --db") from None
        except OSError as error:
            raise _folder_not_writable(path, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 20).decode(errors="replace").strip()
            os.close(descriptor)
            exists = f"process {holder} writes it" if holder else ""
            raise CharzError(
                "another charz is writing this database", str(path), exists, "wait for it, then try again"
            ) from None
        # The holder before us may have unlinked the file we opened: then this lock guards nothing.
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(descriptor).st_ino == lock.stat().st_ino:
                os.ftruncate(descriptor, 0)
                os.write(descriptor, str(os.getpid()).encode())
                return descriptor
        os.close(descriptor)


def _folder_not_writable(path: Path, error: OSError) -> CharzError:
    return CharzError(
        f"cannot write in this folder ({error.strerror})",
        str(path.absolute().parent),
        next="change its permissions, or name a file elsewhere with --db",
    )


@contextlib.contextmanager
def _still(path: Path) -> Iterator[None]:
    """Keep every other process from writing to a file while its copy is changed.

    DuckDB refuses a writer while a reader is open. A log left by another client is folded into the
    file first, since the file about to take its place must not replay it.
    """
    log = path.with_name(f"{path.name}.wal")
    if log.exists():
        _open(path, read_only=False).close()
    reader = _open(path, read_only=True)
    try:
        yield
    finally:
        reader.close()


def _copy(path: Path, copy: Path) -> None:
    _discard(copy)
    try:
        shutil.copyfile(path, copy)
    except OSError as error:
        raise _folder_not_writable(path, error) from error


def _create_empty(path: Path) -> None:
    _discard(path)
    with contextlib.closing(duckdb.connect()) as connection:
        try:
            connection.execute(
                f"ATTACH {ddl.literal(str(path))} AS created (STORAGE_VERSION {ddl.literal(STORAGE_VERSION)})"
            )
        except duckdb.Error as error:
            raise CharzError("cannot create a database", str(path.parent), str(error).splitlines()[0]) from error
        connection.execute("USE created")
        connection.begin()
        for row_type in TABLES:
            connection.execute(ddl.create_table(row_type))
        connection.execute(";\n".join(text for row_type in TABLES for text in ddl.comments(row_type)))
        set_meta(connection, **{FINGERPRINT: fingerprint()})
        connection.commit()


def _discard(path: Path) -> None:
    for leftover in (path, path.with_name(f"{path.name}.wal")):
        with contextlib.suppress(FileNotFoundError):
            leftover.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the new name durable: without it a power loss may bring the old file back."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
