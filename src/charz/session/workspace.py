"""The file of a session: its creation, reading and change.

A new database consists of tables, catalog, default scenarios, views and maintained tables. It is assembled here, since the packages that
own them are independent.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb

from charz import __version__
from charz.schema import about, file
from charz.schema.errors import CharzError
from charz.sql import views

from . import template
from .access import Access


def read(path: Path, create: bool = False, access: Access = Access()) -> duckdb.DuckDBPyConnection:
    """Return a read-only connection to the database, with the views of this charz.

    Views of an older charz are replaced first. With `create`, a missing file is created.
    """
    if create and not path.exists():
        with change(path, access=access):
            pass
    connection = file.connect(path)
    if about.read(connection).get("views_fingerprint") == views.fingerprint():
        return connection
    try:
        _check_not_newer(connection, path)
    finally:
        connection.close()
    with change(path, access=access):
        pass
    return file.connect(path)


def _check_not_newer(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise `CharzError` for a file with the views of a newer charz, which this one would replace by older views."""
    known = about.read(connection)
    made = known.get("charz_version", "")
    if known.get("views_fingerprint") != views.fingerprint() and _numbers(made) > _numbers(__version__):
        exists = f"charz {made} wrote it, this is charz {__version__}"
        next = f"install charz {made} or a later one, or name another file with --db"
        raise CharzError("a newer charz made this database", str(path), exists, next)


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version, for comparison: `1.10` is later than `1.9`."""
    return [int(number) for number in re.findall(r"\d+", version)]


@contextlib.contextmanager
def change(path: Path, create: bool = True, access: Access = Access()) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to a copy that replaces the database when the block ends without an error.

    Raise `CharzError` for a file with foreign views, triggers or macros, unless `access` trusts them.

    The block runs in one transaction (do not begin another). With `create`, a missing file is created with tables, catalog, default
    scenarios, views and maintained tables.
    """
    start = template.ready(_complete) if create and not path.exists() else None
    is_there = path.exists()
    with file.replace(path, create=create, start=start, wait_s=access.wait_s) as connection:
        if is_there:
            _check_not_newer(connection, path)
        if is_there and not access.trust:
            check_own(connection, path)
        _complete(connection)
        yield connection


def check_own(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise `CharzError` for a file with views, triggers or macros that are not charz's."""
    from charz.sql import foreign

    with contextlib.closing(empty()) as own:
        known = foreign.objects(own)
    is_same = about.read(connection).get("views_fingerprint") == views.fingerprint()
    found = foreign.foreign_objects(connection, known, compare_texts=is_same)
    if found:
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        exists = f"{', '.join(found[:5])}{more}"
        raise CharzError(
            "the database contains foreign views, triggers or macros",
            str(path),
            exists,
            "--trust writes it anyway, e.g. `charz doctor --repair --trust`",
        )


def empty() -> duckdb.DuckDBPyConnection:
    """Return a read-only connection to a database without models: the template, else one in memory."""
    if path := template.ready(_complete):
        return file.connect(path)
    return _in_memory()


def _in_memory() -> duckdb.DuckDBPyConnection:
    from charz.schema import database, ddl

    connection = duckdb.connect()
    for row_type in database.TABLES:
        connection.execute(ddl.create_table(row_type))
    _complete(connection)
    return connection


def apart(path: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection to a temporary database without models. Without triggers, its maintained tables do not follow changes."""
    from charz.sql import triggers

    if template_path := template.ready(_complete):
        shutil.copyfile(template_path, path)
        connection = duckdb.connect(str(path), config={"threads": 1})
    else:
        connection = _in_memory()
    triggers.drop(connection)
    return connection


def _complete(connection: duckdb.DuckDBPyConnection) -> None:
    """Add missing catalog, scenarios and views, and replace views of another charz."""
    known = about.read(connection)
    if "catalog_version" not in known:
        _fill_catalog(connection)
    if known.get("views_fingerprint") != views.fingerprint():
        views.install(connection)
        about.write(connection, charz_version=__version__)


def _fill_catalog(connection: duckdb.DuckDBPyConnection) -> None:
    from charz.hardware_catalog import loader, sync

    catalog = loader.load()
    sync.write(connection, catalog)
    if "catalog_version" not in about.read(connection):
        about.write(connection, catalog_version=getattr(catalog, "version", __version__))
