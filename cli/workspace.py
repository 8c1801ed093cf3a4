"""The database a command works on: where it is, what a new one holds, and what-if scenarios.

A new database is tables, catalog, default scenarios and views; the parts come from packages that do
not know each other, so it is put together here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer

from charz import __version__
from charz.schema import database, ddl
from charz.schema.errors import CharzError, unknown_name
from charz.schema.scenario import Scenario
from charz.sql import views

from . import assumed, template

DEFAULT_DATABASE = "charz.duckdb"

DatabaseOption = Annotated[
    Path | None,
    typer.Option("--db", help="Database file; else $CHARZ_DB, else charz.duckdb in this folder.", show_default=False),
]
BatchOption = Annotated[int | None, typer.Option("--batch", min=1, help="Samples in one run.", show_default=False)]
SequenceOption = Annotated[int | None, typer.Option("--sequence", min=1, help="Tokens a sample.", show_default=False)]
PrecisionOption = Annotated[
    str | None, typer.Option("--precision", help="Precision policy, e.g. fp16.", show_default=False)
]
BackendOption = Annotated[str | None, typer.Option("--backend", help="Backend, e.g. inductor.", show_default=False)]

MOST = 10**9
"""Largest batch, sequence, context, image side and number of rows asked for: beyond it counts leave 64 bits."""


def one_of(kind: str, value: str, known: Sequence[str]) -> None:
    """Raise `CharzError` for a word that is none of those known."""
    if value not in known:
        raise CharzError(f"unknown {kind}", value, f"there are {', '.join(known)}")


def check_size(what: str, size: int | None) -> None:
    """Raise `CharzError` for a size that the views cannot count with."""
    if size is not None and not 1 <= size <= MOST:
        raise CharzError(f"{what} out of range", str(size), f"1 to {MOST:,} is possible")


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
    path = database_path(db)
    start = template.ready(_complete) if create and not path.exists() else None
    with database.replace(path, create=create, start=start) as connection:
        _complete(connection)
        yield connection


def _complete(connection: duckdb.DuckDBPyConnection) -> None:
    """Catalog, default scenarios and views, where they are missing or another charz's."""
    known = database.meta(connection)
    if "catalog_version" not in known:
        _fill_catalog(connection)
    elif known.get("views_fingerprint") != views.fingerprint():
        _fill_new_tables(connection)
    if known.get("views_fingerprint") != views.fingerprint():
        views.install(connection)
    if known.get("charz_version") != __version__:
        database.set_meta(connection, charz_version=__version__)


def _fill_catalog(connection: duckdb.DuckDBPyConnection) -> None:
    from charz.hardware_catalog import loader

    catalog = loader.load()
    loader.write(connection, catalog)
    if "catalog_version" not in database.meta(connection):
        database.set_meta(connection, catalog_version=getattr(catalog, "version", __version__))


def _fill_new_tables(connection: duckdb.DuckDBPyConnection) -> None:
    from charz.hardware_catalog import loader, sync

    sync.fill_new_tables(connection, loader.load())


@contextlib.contextmanager
def with_scenario(
    db: Path | None = None,
    *,
    batch: int | None = None,
    sequence: int | None = None,
    precision: str | None = None,
    backend: str | None = None,
    needed: Iterable[str] | None = None,
    models: Sequence[str] = (),
    hardware: Sequence[str] = (),
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Answer for one scenario, and for the models and parts named alone, without touching the file:
    yields a connection on which every view knows these and no others. With nothing given, the plain
    read-only connection.

    Without a backend a scenario is asked on the default backend of every hardware family; without
    anything of a scenario, the file's own are asked.
    """
    given = {"batch": batch, "sequence": sequence, "policy": precision, "backend": backend}
    given = {name: value for name, value in given.items() if value is not None}
    with open_workspace(db) as connection:
        if not given and not models and not hardware:
            yield connection
            return
        models = [model_name(connection, name) for name in models]
        hardware = [hardware_name(connection, name) for name in hardware]
        if given:
            backends = [given.pop("backend")] if backend else default_backends(connection)
            rows = [scenario_row(connection, i, backend=b, **given) for i, b in enumerate(backends, start=1)]
        else:
            rows = stored_scenarios(connection)
    with with_scenarios(db, rows, needed, models, hardware) as connection:
        yield connection


@contextlib.contextmanager
def with_scenarios(
    db: Path | None,
    scenarios: Sequence[Scenario],
    needed: Iterable[str] | None = None,
    models: Sequence[str] = (),
    hardware: Sequence[str] = (),
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection on which the views' `scenario` rows are the ones given (make them with
    `scenario_row`), and the file's stay untouched. To add to the file's own, pass those as well.

    `needed` names the views that will be read: binding all of them costs about a second. `models` and
    `hardware` name the only models and parts there are to be: a question about one pair then costs
    as much as one pair, however large the file.

    The file is attached read-only under an in-memory database that has its own `scenario` table and
    its own copy of the views: unqualified names are found there first, so the views read the new
    rows, and everything else from the file.
    """
    path = database_path(db)
    with open_workspace(path) as original:
        statements = views.installed(original, needed)
    with contextlib.closing(duckdb.connect()) as connection:
        database.quiet(connection)
        connection.execute(f"ATTACH {ddl.literal(str(path))} AS file (READ_ONLY)")
        connection.execute("SET search_path = 'memory.main,file.main'")
        connection.execute(ddl.create_table(Scenario))
        database.insert_rows(connection, scenarios)
        _keep_only(connection, "model", "model", models)
        _keep_only(connection, "hardware", "hardware_id", hardware)
        views.make(connection, statements)
        yield connection


def _keep_only(connection: duckdb.DuckDBPyConnection, table: str, column: str, values: Sequence[str]) -> None:
    """Hide a table of the file behind a copy of the rows that are asked about."""
    if values:
        connection.execute(
            f"CREATE TABLE {table} AS SELECT * FROM file.main.{table} WHERE list_contains(?, {column})", [list(values)]
        )


@dataclass(frozen=True, slots=True)
class Target:
    """One model on one part under one scenario, and a connection whose views know it."""

    connection: duckdb.DuckDBPyConnection
    model: str
    model_id: int
    hardware_id: str
    scenario: Scenario

    @property
    def key(self) -> tuple[str, str, int]:
        """What the report views call it: model, hardware, scenario_id."""
        return self.model, self.hardware_id, self.scenario.scenario_id

    def rows(self, view: str, columns: Sequence[str], tail: str = "") -> list[tuple[Any, ...]]:
        """Columns of a report view for this target; `tail` follows the WHERE clause."""
        query = f"SELECT {', '.join(columns)} FROM {view} WHERE model = ? AND hardware = ? AND scenario_id = ? {tail}"
        return self.connection.execute(query, list(self.key)).fetchall()


PREFERRED_POLICIES = ("fp32", "bf16", "fp16", "int8")
"""Policies a part is asked in when none is named, of which it takes the first it computes in: the model's own
format where the part has it."""


def keep_preferred(connection: duckdb.DuckDBPyConnection, policies: Sequence[str]) -> None:
    """Leave each part the scenarios of the first of the policies it computes in, and no others."""
    connection.execute(
        """
        CREATE TEMP TABLE target AS
        SELECT * FROM memory.main.target
        QUALIFY dense_rank() OVER (PARTITION BY hardware_id ORDER BY list_position(?, policy)) = 1
        """,
        [list(policies)],
    )
    kept = {policy for (policy,) in connection.execute("SELECT DISTINCT policy FROM target").fetchall()}
    if kept:
        connection.execute("DELETE FROM scenario WHERE NOT list_contains(?, policy)", [list(kept)])
    if len(kept) < 2:  # the view then says the same, and the engine sees through it
        connection.execute("DROP TABLE temp.target")


@contextlib.contextmanager
def on_target(
    db: Path | None,
    model: str,
    hardware: str,
    *,
    needed: Iterable[str],
    batch: int | None = None,
    sequence: int | None = None,
    precision: str | None = None,
    backend: str | None = None,
) -> Iterator[Target]:
    """One model on one part, everything left open taken from the defaults: batch 1 (or the model's
    fixed batch), the family's backend, fp32 where the part has it.

    When the block ends without an error, a line says how many assumed inputs the answer rests on. Raises
    `CharzError` for unknown names and for a combination that cannot run.
    """
    with open_workspace(db) as connection:
        model_name(connection, model)
        hardware_id = hardware_name(connection, hardware)
        query = "SELECT model_id, default_batch FROM model WHERE model = ?"
        model_id, default_batch = connection.execute(query, [model]).fetchall()[0]
        fields = {"batch": batch or default_batch, "sequence": sequence}
        fields["backend"] = backend or default_backend(connection, hardware_id)
        policies = (precision,) if precision else PREFERRED_POLICIES
        rows = [scenario_row(connection, i, policy=p, **fields) for i, p in enumerate(policies, start=1)]
    with with_scenarios(db, rows, {*assumed.VIEWS, *needed}, [model], [hardware_id]) as connection:
        keep_preferred(connection, policies)
        if reasons := left_out(connection, [model], [hardware_id], rows):
            raise reasons[0]
        ((scenario_id,),) = connection.execute("SELECT scenario_id FROM target").fetchall()
        answer_once(connection)
        yield Target(connection, model, model_id, hardware_id, rows[scenario_id - 1])
        assumed.note(connection, *needed)


def answer_once(connection: duckdb.DuckDBPyConnection, layers: Sequence[str] = ()) -> None:
    """Put a temporary table before every view, or every one of the layers named, in order of creation, so that
    each is evaluated once: a temporary table is found before a view of its name.

    On one pair the engine would plan a deep stack of views for longer than it computes it.
    """
    query = """
        SELECT v.view_name
        FROM duckdb_views() AS v
        JOIN view_catalog AS c ON c.view = v.view_name
        WHERE v.database_name = 'memory' AND NOT v.internal AND (len($1) = 0 OR list_contains($1, c.layer))
        ORDER BY v.view_oid
    """
    for (view,) in connection.execute(query, [list(layers)]).fetchall():
        connection.execute(f"CREATE TEMP TABLE {ddl.quote(view)} AS SELECT * FROM memory.main.{ddl.quote(view)}")


def default_backend(connection: duckdb.DuckDBPyConnection, hardware_id: str) -> str:
    """The backend that answers assume on a part: its family's, if that supports its maker."""
    rows = connection.execute(_SUPPORTED_BACKENDS, [hardware_id]).fetchall()
    if not rows:
        raise CharzError("no backend runs on this part", hardware_id, next="add a row to backend_support")
    return str(rows[0][0])


_SUPPORTED_BACKENDS = """
    SELECT b.backend
    FROM supported_backend AS s
    JOIN backend AS b ON b.backend = s.backend
    WHERE s.hardware_id = ?
    ORDER BY contains(',' || b.is_default_for || ',', ',' || s.family || ',') DESC, b.backend
"""


def left_out(
    connection: duckdb.DuckDBPyConnection, models: Sequence[str], hardware: Sequence[str], rows: Sequence[Scenario]
) -> list[CharzError]:
    """Why the models and parts that no target has are without one: the size, the backend or the precision."""
    query = "SELECT DISTINCT model FROM run JOIN model USING (model_id)"
    sized = {model for (model,) in connection.execute(query).fetchall()}
    errors = [_no_size(connection, model, rows[0]) for model in models if model not in sized]
    if len(errors) < len(models):
        running = {part for (part,) in connection.execute("SELECT DISTINCT hardware_id FROM target").fetchall()}
        errors += [_not_executed(connection, part, rows) for part in hardware if part not in running]
    return errors


def _no_size(connection: duckdb.DuckDBPyConnection, model: str, asked: Scenario) -> CharzError:
    query = "SELECT is_batch_symbolic, default_batch, default_sequence FROM model WHERE model = ?"
    is_batch_free, batch, sequence = connection.execute(query, [model]).fetchall()[0]
    fixed = f"its sequence is {sequence}" if is_batch_free else f"its batch is fixed at {batch}"
    size = f"batch {asked.batch}" + (f", sequence {asked.sequence}" if asked.sequence else "")
    return CharzError("the model has no such size", f"{model}, {size}", fixed)


def _not_executed(connection: duckdb.DuckDBPyConnection, hardware_id: str, rows: Sequence[Scenario]) -> CharzError:
    backends = [b for (b,) in connection.execute(_SUPPORTED_BACKENDS, [hardware_id]).fetchall()]
    asked = dict.fromkeys(row.backend for row in rows)
    if not asked.keys() & set(backends):
        exists = f"it has {', '.join(backends)}"
        return CharzError("this backend does not run on this part", f"{', '.join(asked)} on {hardware_id}", exists)
    query = "SELECT precision FROM hardware_rate WHERE hardware_id = ? AND is_native ORDER BY precision"
    formats = [p for (p,) in connection.execute(query, [hardware_id]).fetchall()]
    policies = ", ".join(dict.fromkeys(row.policy for row in rows))
    exists = f"it computes in {', '.join(formats)}"
    return CharzError("this part does not compute in this precision", f"{policies} on {hardware_id}", exists)


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
    for size in ("batch", "sequence", "context"):
        check_size(size, values[size])
    check_name(connection, "precision", values["policy"], "SELECT DISTINCT policy FROM precision_policy")
    check_name(connection, "backend", values["backend"], "SELECT backend FROM backend")
    return Scenario(scenario_id=scenario_id, **values)


def stored_scenarios(connection: duckdb.DuckDBPyConnection) -> list[Scenario]:
    """The database's own scenarios."""
    return [Scenario(**row) for row in connection.sql("SELECT * FROM scenario").pl().iter_rows(named=True)]


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
    """A part's id by any name it has, else an error with the candidates or the nearest ones."""
    from charz.hardware_catalog import names

    return names.resolve(connection, name)
