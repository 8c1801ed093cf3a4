"""Creation, reading and change of a session's database.

A new database consists of tables, catalog, default scenarios, views and maintained tables. They are assembled here, since the
packages that define them are independent.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from charz import __version__
from charz.schema import about, cache, file
from charz.schema.errors import CharzError, some
from charz.sql import seals, views

from . import template, verdicts
from .access import Access

if TYPE_CHECKING:
    from charz.sql.foreign import Found, Own

    from .verdicts import State, Verdict

_LISTED = 5
"""Number of names that a message lists before it counts the rest."""


def read(path: Path, create: bool = False, access: Access = Access()) -> duckdb.DuckDBPyConnection:
    """Return a read-only connection to the database, with the views of this version of charz.

    Views of an older version are replaced first. With `create`, a missing file is created.
    """
    if create and not path.exists():
        with change(path, access=access):
            pass
    connection = file.connect(path)
    if about.read(connection).get("views_fingerprint") == views.fingerprint():
        return connection
    try:
        _check_not_newer(connection, path)
        _check_not_exported(connection, path)
    finally:
        connection.close()
    with change(path, access=access):
        pass
    return file.connect(path)


def _check_not_newer(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise `CharzError` for a file with the views of a newer charz, which would otherwise be replaced by older views."""
    known = about.read(connection)
    made = known.get("charz_version", "")
    if known.get("views_fingerprint") != views.fingerprint() and _numbers(made) > _numbers(__version__):
        exists = f"charz {made} wrote it, this is charz {__version__}"
        next = f"install charz {made} or a later one, or name another file with --db"
        raise CharzError("a newer charz made this database", str(path), exists, next)


def _check_not_exported(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise `CharzError` for a file that `charz export` wrote: its views are tables, which no change of a fact would update."""
    query = "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND database_name = current_database()"
    tables = {name for (name,) in connection.execute(query).fetchall()}
    own = {name for (name,) in connection.execute("SELECT view FROM view_catalog WHERE kind = 'view'").fetchall()}
    if own & tables:
        exists = f"{len(own & tables)} of its views are tables"
        raise CharzError("an export, not a database of charz", str(path), exists, "query it with DuckDB, or name the file that was exported with --db")


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version, for comparison: `1.10` is later than `1.9`."""
    return [int(number) for number in re.findall(r"\d{1,9}", version)]


@contextlib.contextmanager
def change(
    path: Path, create: bool = True, access: Access = Access(), repairs: bool = False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to a copy that replaces the database when the block ends without an error.

    Raise `CharzError` for an untrusted file with views, triggers or macros that charz did not create, and for any file whose macros shadow
    functions. With `repairs`, such macros are dropped from a trusted file instead. Answers at hand that this user's charz did not compute
    stay without a valid seal in an untrusted file.

    The block runs in one transaction (do not begin another). With `create`, a missing file is created with tables, catalog, default
    scenarios, views and maintained tables.
    """
    start = template.ready(_complete) if create and not path.exists() else None
    is_there = path.exists()
    with file.replace(path, create=create, start=start, wait_s=access.wait_s) as connection:
        if is_there:
            _check_not_newer(connection, path)
            _check_not_exported(connection, path)
        if is_there and not access.trust:
            check_own(connection, path)
        elif is_there:
            _refuse_shadowing(connection, path, repairs)
        _complete(connection)
        if is_there and not access.trust:
            seals.doubt(connection)
        yield connection
        seals.settle(connection)


def check_own(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise `CharzError` if a file to be written contains views, triggers or macros that charz did not create."""
    from charz.sql import foreign

    is_same = about.read(connection).get("views_fingerprint") == views.fingerprint()
    whole = foreign.found(connection, own(), is_whole=True, compare_texts=is_same)
    if whole.shadowing:
        raise _shadowed(whole.shadowing, path)
    if found := whole.acting:
        next = "--trust writes the file anyway, e.g. `charz doctor --repair --trust`"
        raise CharzError("the database contains objects that charz did not create", str(path), some(found, _LISTED), next)


def _refuse_shadowing(connection: duckdb.DuckDBPyConnection, path: Path, drops: bool) -> None:
    """Drop macros that shadow functions if `drops` is set; otherwise raise `CharzError` for such macros."""
    from charz.sql import foreign

    if names := foreign.shadowing(connection):
        if not drops:
            raise _shadowed(names, path)
        foreign.drop_macros(connection, names)


def _shadowed(names: Sequence[str], path: Path) -> CharzError:
    next = "`charz doctor --repair --trust` drops them"
    return CharzError("macros of the database take the place of functions", str(path), some(names, _LISTED), next)


def own() -> Own:
    """Return the description of a database without models, with which other databases are compared."""
    from charz.sql import foreign

    if known := template.own(_complete):
        return known
    if not _own_in_memory:
        with contextlib.closing(_in_memory()) as connection:
            _own_in_memory.append(foreign.own(connection))
    return _own_in_memory[0]


_own_in_memory: list[Own] = []
"""Description of a database without models, if the cache cannot store a template."""


def examined(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    access: Access = Access(),
    refuses: bool = True,
    opened: State | None = None,
) -> Verdict:
    """Return the findings about a file: objects that charz did not create, changed shipped rows, and computed rows that are wrong.

    Raise `CharzError` if macros shadow functions, or if objects of charz are changed and the file is not trusted. A file is examined
    once, and again after a change. `opened` is the file's state before the connection was made. Cached findings are read or written only
    if the file still has that state.
    """
    from charz.sql import foreign

    now = opened if opened is not None and verdicts.state(path) == opened else None
    verdict = verdicts.read(now)
    if verdict is None:
        if fault := cache.fault_of_folder():  # a reference file would take each command ten seconds
            if refuses and (names := foreign.shadowing(connection)):
                raise _shadowed(names, path)
            return verdicts.Verdict(foreign.Found(), fault=fault)
        verdict = _compared(connection)
        if now is not None and verdicts.state(path) == now:
            verdicts.write(now, verdict)
    if refuses:
        _refuse(verdict.found, path, access)
    return verdict


def _compared(connection: duckdb.DuckDBPyConnection) -> Verdict:
    """Compare a file with a file that charz has just made. Maintained tables of a file with changed objects are not evaluated."""
    from charz.sql import foreign, seals

    found = foreign.found(connection, own())
    altered: dict[str, int] = {}
    computed: dict[str, int] = {}
    is_sound = not (found.shadowing or found.changed or found.lacking)
    is_evaluated = bool(found.computed) and is_sound and not verdicts.is_verified(found.content)
    if found.tables or is_evaluated:
        with contextlib.closing(empty()) as ours:
            altered = foreign.altered(connection, ours, found.tables)
            if is_evaluated:
                computed = foreign.recomputed(connection, ours, found.computed)
    if is_evaluated and not computed:
        verdicts.verify(found.content)
    return verdicts.Verdict(found, altered, computed, seals.unsealed(connection))


def _refuse(found: Found, path: Path, access: Access) -> None:
    if found.shadowing:
        raise _shadowed(found.shadowing, path)
    if found.changed and not access.trust:
        next = "`charz doctor --repair --trust` restores the objects of charz, --trust reads the file anyway"
        what = "objects of charz in the database were changed"
        raise CharzError(what, str(path), some(found.changed, _LISTED), next)


def warnings(verdict: Verdict) -> list[str]:
    """List the warnings that accompany every answer from a file."""
    if verdict.fault:
        return [f"views, shipped rows and answers at hand are not compared with charz's own: {verdict.fault}"]
    lines = []
    if others := [*verdict.found.changed, *verdict.found.further]:
        lines.append(f"the database contains objects that charz did not create: {some(others, _LISTED)}")
    if verdict.found.lacking:
        lines.append(f"the database lacks {some(verdict.found.lacking, _LISTED)}: `charz doctor --repair` restores them")
    if verdict.altered:
        lines.append(f"{_counted('shipped', verdict.altered)}: `charz hardware sync` lists the changes")
    if verdict.computed:
        lines.append(f"{_counted('computed', verdict.computed)}: `charz refresh` computes them again")
    if verdict.unsealed:
        lines.append(
            f"{verdict.unsealed:,} answers at hand do not come from your charz, or facts of their model were changed, so commands evaluate them:"
            " `charz refresh` replaces them"
        )
    return lines


def _counted(kind: str, counts: Mapping[str, int]) -> str:
    """Write how many rows of a kind were changed in each table.

    >>> _counted("shipped", {"price": 2, "die": 1})
    '3 shipped rows were changed (die 1, price 2)'
    """
    total = sum(counts.values())
    tables = ", ".join(f"{table} {number}" for table, number in sorted(counts.items()))
    return f"{total:,} {kind} {'row was' if total == 1 else 'rows were'} changed ({tables})"


def empty() -> duckdb.DuckDBPyConnection:
    """Return a read-only connection to a database without models: the template, else a database in memory."""
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
    """Return a connection to a temporary database without models and triggers, so that maintained tables do not follow changes."""
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
    from charz.sql import triggers

    known = about.read(connection)
    is_other = known.get("views_fingerprint") != views.fingerprint()
    if "catalog_version" not in known:
        if is_other:
            triggers.drop(connection)  # of a file of another charz only their names are compared
        _fill_catalog(connection)
    if is_other:
        has_models = connection.execute("SELECT 1 FROM model LIMIT 1").fetchone() is not None
        views.install(connection, commits=has_models)  # two transactions would write the tables of parts of a new file twice
        about.write(connection, charz_version=__version__)


def _fill_catalog(connection: duckdb.DuckDBPyConnection) -> None:
    from charz.hardware_catalog import loader, sync

    catalog = loader.load()
    sync.write(connection, catalog)
    if "catalog_version" not in about.read(connection):
        about.write(connection, catalog_version=getattr(catalog, "version", __version__))
