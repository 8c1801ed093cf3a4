"""The file behind a session: where it is, what a new one holds, and how it is changed.

A new database is tables, catalog, default scenarios, views and maintained tables; the parts come from packages that do
not know each other, so it is put together here.
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
    """A read-only connection to the database, with this charz's views.

    A file with the views of another charz gets this one's first. With `create`, a missing file is made.
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
    """Raise `CharzError` for a file with the views of a newer charz, in whose place this one would put older ones."""
    known = about.read(connection)
    made = known.get("charz_version", "")
    if known.get("views_fingerprint") != views.fingerprint() and _numbers(made) > _numbers(__version__):
        exists = f"charz {made} wrote it, this is charz {__version__}"
        next = f"install charz {made} or a later one, or name another file with --db"
        raise CharzError("a newer charz made this database", str(path), exists, next)


def _numbers(version: str) -> list[int]:
    """A version in an order: `1.10` is later than `1.9`."""
    return [int(number) for number in re.findall(r"\d+", version)]


@contextlib.contextmanager
def change(path: Path, create: bool = True, access: Access = Access()) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a copy that takes the database's place when the block ends without an error.

    Raises `CharzError` for a file with views, triggers or macros that are not charz's own, unless they are trusted.

    The block runs in one transaction (do not begin another). With `create`, a missing file is made:
    tables, catalog, default scenarios, views and maintained tables.
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
    """Raise `CharzError` where a file holds views, triggers or macros that charz did not put there."""
    from charz.sql import foreign

    with contextlib.closing(empty()) as own:
        known = foreign.objects(own)
    is_same = about.read(connection).get("views_fingerprint") == views.fingerprint()
    found = foreign.foreign_objects(connection, known, compare_texts=is_same)
    if found:
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        exists = f"{', '.join(found[:5])}{more}"
        raise CharzError(
            "the database holds what charz did not put there",
            str(path),
            exists,
            "--trust writes it all the same, e.g. `charz doctor --repair --trust`",
        )


def empty() -> duckdb.DuckDBPyConnection:
    """A read-only connection to a database without models: the template's, else one in memory."""
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
    """A connection to a new database without models that is thrown away: no trigger keeps what follows from its facts true."""
    from charz.sql import triggers

    if template_path := template.ready(_complete):
        shutil.copyfile(template_path, path)
        connection = duckdb.connect(str(path), config={"threads": 1})
    else:
        connection = _in_memory()
    triggers.drop(connection)
    return connection


def _complete(connection: duckdb.DuckDBPyConnection) -> None:
    """Catalog, default scenarios and views, where they are missing, and this charz's views in place of another's."""
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
