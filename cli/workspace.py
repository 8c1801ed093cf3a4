"""The database a command works on: where it is, what a new one holds, and what an answer is narrowed to.

A new database is tables, catalog, default scenarios, views and maintained tables; the parts come from packages that do
not know each other, so it is put together here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer

from charz import __version__
from charz.schema import ddl, file
from charz.schema.errors import CharzError, unknown_name
from charz.schema.scenario import Scenario
from charz.sql import maintain, views

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
    """A read-only connection to the database, with this charz's views.

    A file with the views of another charz gets this one's first. With `create`, a missing file is made. Use it as a
    context manager, or close it.
    """
    path = database_path(db)
    if create and not path.exists():
        with change_workspace(path):
            pass
    connection = file.connect(path)
    if file.meta(connection).get("views_fingerprint") == views.fingerprint():
        return connection
    connection.close()
    with change_workspace(path):
        pass
    return file.connect(path)


@contextlib.contextmanager
def change_workspace(db: Path | None = None, create: bool = True) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a copy that takes the database's place when the block ends without an error.

    The block runs in one transaction (do not begin another). With `create`, a missing file is made:
    tables, catalog, default scenarios, views and maintained tables.
    """
    path = database_path(db)
    start = template.ready(_complete) if create and not path.exists() else None
    with file.replace(path, create=create, start=start) as connection:
        _complete(connection)
        yield connection


def _complete(connection: duckdb.DuckDBPyConnection) -> None:
    """Catalog, default scenarios and views, where they are missing, and this charz's views in place of another's."""
    known = file.meta(connection)
    if "catalog_version" not in known:
        _fill_catalog(connection)
    if known.get("views_fingerprint") != views.fingerprint():
        views.install(connection)
    if known.get("charz_version") != __version__:
        file.set_meta(connection, charz_version=__version__)


def _fill_catalog(connection: duckdb.DuckDBPyConnection) -> None:
    from charz.hardware_catalog import loader

    catalog = loader.load()
    loader.write(connection, catalog)
    if "catalog_version" not in file.meta(connection):
        file.set_meta(connection, catalog_version=getattr(catalog, "version", __version__))


KEYS = ("model", "hardware", "backend", "precision", "batch", "sequence", "scenario_id")
"""Natural keys of a target."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A connection, and what its views are asked for."""

    connection: duckdb.DuckDBPyConnection
    keys: Mapping[str, Any] = field(default_factory=dict)
    """Values by natural key that every view is asked for, as constants, which reach its scans; empty where the
    connection's views know nothing else (`narrowed`)."""

    def of(self, view: str) -> str:
        """The rows of a view that are asked for, as a relation of a query."""
        columns = self.units(view) if self.keys else {}
        asked = [f"{ddl.quote(k)} = {_constant(v)}" for k, v in self.keys.items() if k in columns]
        return f"(SELECT * FROM {ddl.quote(view)} WHERE {' AND '.join(asked)})" if asked else ddl.quote(view)

    def joined(self, *views: str) -> str:
        """The rows of views of one grain that are asked for, side by side, as a relation of a query."""
        seen = set(self.units(views[0]))
        parts = [self.of(views[0])]
        for view in views[1:]:
            new = [column for column in self.units(view) if column not in seen]
            seen.update(new)
            parts.append(f"(SELECT {', '.join((*KEYS, *new))} FROM {self.of(view)}) USING ({', '.join(KEYS)})")
        return " JOIN ".join(parts)

    def units(self, view: str) -> dict[str, str | None]:
        """Unit of each column of a view, in order."""
        query = "SELECT column_name, unit FROM view_column WHERE view = ? ORDER BY position"
        return dict(self.connection.execute(query, [view]).fetchall())

    def records(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Rows of a query by column name."""
        cursor = self.connection.execute(query, list(values))
        columns = [column[0] for column in cursor.description or ()]
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]

    def rows(self, view: str, columns: Sequence[str] = ("*",), tail: str = "") -> list[dict[str, Any]]:
        """Columns of the rows of a view that are asked for; `tail` follows the relation."""
        return self.records(f"SELECT {', '.join(columns)} FROM {self.of(view)} {tail}")


def _constant(value: Any) -> str:
    return ddl.literal(value) if isinstance(value, str) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target(Scope):
    """One model on one part under one scenario."""

    model: str
    hardware: str
    scenario: Scenario

    @property
    def asked(self) -> str:
        """What of the scenario is worth a title."""
        return f"batch {self.scenario.batch}, {self.scenario.precision}, {self.scenario.backend}"


@contextlib.contextmanager
def narrowed(
    db: Path | None = None,
    *,
    batch: int | None = None,
    sequence: int | None = None,
    precision: str | None = None,
    backend: str | None = None,
    models: Sequence[str] = (),
    hardware: Sequence[str] = (),
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Answer for one scenario, and for the models and parts named alone, without touching the file: yields a connection on
    which every view knows these and no others. With nothing given, the plain read-only connection.

    Without a backend a scenario is asked on the one that answers assume on each part; without anything of a scenario,
    the file's own are asked.
    """
    with open_workspace(db) as connection:
        chosen = [model_name(connection, name) for name in models]
        parts = [hardware_name(connection, name) for name in hardware]
        if batch or sequence or precision or backend:
            run = {"batch": batch or 1, "sequence": sequence}
            check_run(connection, [backend] if backend else [], [precision] if precision else [])
            targets = targets_of(connection, parts, [backend] if backend else [], [precision or "fp32"])
            ask(connection, [run], chosen, targets)
        elif models or hardware:
            maintain.ask(connection, models=chosen or None, hardware=parts or None)
        yield connection


Triple = tuple[str, str, str]
"""Part, backend and precision of a target."""

PREFERRED_PRECISIONS = ("fp32", "bf16", "fp16", "int8")
"""Policies a part is asked in when none is named, of which it takes the first it computes in: the model's own
format where the part has it."""


def targets_of(
    connection: duckdb.DuckDBPyConnection,
    hardware: Sequence[str],
    backends: Sequence[str],
    precisions: Sequence[str],
    is_first: bool = False,
) -> list[Triple]:
    """What of this runs: each part, or every one if none is named, under each backend, or under the one that answers
    assume on it, in each precision, or in the first of them that it computes in (`is_first`)."""
    query = """
        WITH supported AS (
            SELECT hardware, backend
            FROM supported_backend
            WHERE (len($1) = 0 OR list_contains($1, hardware)) AND (len($2) = 0 OR list_contains($2, backend))
            QUALIFY len($2) > 0 OR row_number() OVER (PARTITION BY hardware ORDER BY is_default DESC, backend) = 1
        )
        SELECT hardware, backend, precision
        FROM part_support
        SEMI JOIN supported USING (hardware, backend)
        WHERE list_contains($3, precision)
        QUALIFY NOT $4 OR dense_rank() OVER (PARTITION BY hardware ORDER BY list_position($3, precision)) = 1
        ORDER BY ALL
    """
    return connection.execute(query, [list(hardware), list(backends), list(precisions), is_first]).fetchall()


def ask(
    connection: duckdb.DuckDBPyConnection,
    runs: Sequence[Mapping[str, Any]],
    models: Sequence[str],
    targets: Sequence[Triple],
) -> list[Scenario]:
    """Make every view of a read-only connection know these models, or all if none is named, on these targets, under each
    of the runs, given as columns of a scenario, and no others; returns the scenarios."""
    pairs = sorted({(precision, backend) for _, backend, precision in targets})
    rows = numbered(connection, [scenario_row(**run, backend=b, precision=p) for run in runs for p, b in pairs])
    parts = list(dict.fromkeys(hardware for hardware, *_ in targets))
    ((every,),) = connection.execute("SELECT count(DISTINCT hardware) FROM part_support").fetchall()
    maintain.ask(
        connection, scenarios=rows, models=list(models) or None, hardware=parts if len(parts) < every else None
    )
    maintain.keep_targets(connection, targets)
    return rows


@contextlib.contextmanager
def on_target(
    db: Path | None,
    model: str,
    hardware: str,
    *,
    views: Sequence[str] = (),
    batch: int | None = None,
    sequence: int | None = None,
    precision: str | None = None,
    backend: str | None = None,
) -> Iterator[Target]:
    """One model on one part, everything left open taken from the defaults: batch 1 (or the model's
    fixed batch), the backend that answers assume on the part, fp32 where the part has it.

    When the block ends without an error, a line says how many assumed inputs the answer, made of `views`, rests on. Raises
    `CharzError` for unknown names and for a combination that cannot run.
    """
    with open_workspace(db) as connection:
        model_name(connection, model)
        part = hardware_name(connection, hardware)
        backends = [backend or default_backend(connection, part)]
        precisions = [precision] if precision else list(PREFERRED_PRECISIONS)
        check_run(connection, backends, precisions)
        found = targets_of(connection, [part], backends, precisions, is_first=True)
        if not found:
            raise _not_executed(connection, part, backends, precisions)
        ((default_batch,),) = connection.execute("SELECT default_batch FROM model WHERE model = ?", [model]).fetchall()
        run = {"batch": batch or default_batch, "sequence": sequence}
        (row,) = numbered(connection, [scenario_row(**run, backend=found[0][1], precision=found[0][2])])
        query = "SELECT sequence FROM run WHERE model = ? AND scenario_id = ?"
        sizes = connection.execute(query, [model, row.scenario_id]).fetchall()
        if not sizes:  # not a scenario of the file
            ask(connection, [run], [model], found)
            sizes = connection.execute(query, [model, row.scenario_id]).fetchall()
        if not sizes:
            raise _no_size(connection, model, run)
        keys = {
            "model": model,
            "hardware": part,
            "backend": row.backend,
            "precision": row.precision,
            "batch": row.batch,
            "sequence": sizes[0][0],
            "scenario_id": row.scenario_id,
        }
        target = Target(connection, keys, model=model, hardware=part, scenario=row)
        yield target
        assumed.note(target, *views)


def numbered(connection: duckdb.DuckDBPyConnection, rows: Sequence[Scenario]) -> list[Scenario]:
    """The scenarios with the numbers they have in the file, or with new ones."""
    same = [name for name in Scenario.model_fields if name not in ("scenario_id", "origin")]
    query = f"SELECT {', '.join(same)}, min(scenario_id) FROM scenario GROUP BY ALL"
    held = {tuple(values): number for *values, number in connection.execute(query).fetchall()}
    ((highest,),) = connection.execute("SELECT coalesce(max(scenario_id), 0) FROM scenario").fetchall()
    found = []
    for row in rows:
        number = held.setdefault(tuple(getattr(row, name) for name in same), highest + 1)
        highest = max(highest, number)
        found.append(row.model_copy(update={"scenario_id": number}))
    return found


def default_backend(connection: duckdb.DuckDBPyConnection, hardware: str) -> str:
    """The backend that answers assume on a part."""
    found = supported_backends(connection, hardware)
    if not found:
        raise CharzError("no backend runs on this part", hardware, next="add a row to backend_support")
    return found[0]


def supported_backends(connection: duckdb.DuckDBPyConnection, hardware: str) -> list[str]:
    """Backends that run on a part, the one that answers assume first."""
    query = "SELECT backend FROM supported_backend WHERE hardware = ? ORDER BY is_default DESC, backend"
    return [backend for (backend,) in connection.execute(query, [hardware]).fetchall()]


def without_targets(
    connection: duckdb.DuckDBPyConnection,
    hardware: Sequence[str],
    targets: Sequence[Triple],
    backends: Sequence[str],
    precisions: Sequence[str],
) -> list[CharzError]:
    """Why the parts that none of the targets is on are without one: the backend or the precision. To be asked before
    `ask`, which hides those parts."""
    running = {part for part, *_ in targets}
    return [
        _not_executed(connection, part, list(backends) or [default_backend(connection, part)], precisions)
        for part in hardware
        if part not in running
    ]


def without_size(
    connection: duckdb.DuckDBPyConnection, models: Sequence[str], run: Mapping[str, Any]
) -> list[CharzError]:
    """Why the models that a connection has no run of are without one. To be asked after `ask`."""
    sized = {model for (model,) in connection.execute("SELECT DISTINCT model FROM run").fetchall()}
    return [_no_size(connection, model, run) for model in models if model not in sized]


def _no_size(connection: duckdb.DuckDBPyConnection, model: str, run: Mapping[str, Any]) -> CharzError:
    query = "SELECT is_batch_symbolic, default_batch, default_sequence FROM model WHERE model = ?"
    is_batch_free, batch, sequence = connection.execute(query, [model]).fetchall()[0]
    fixed = f"its sequence is {sequence}" if is_batch_free else f"its batch is fixed at {batch}"
    size = f"batch {run['batch']}" + (f", sequence {run['sequence']}" if run["sequence"] else "")
    return CharzError("the model has no such size", f"{model}, {size}", fixed)


def _not_executed(
    connection: duckdb.DuckDBPyConnection, hardware: str, backends: Sequence[str], precisions: Sequence[str]
) -> CharzError:
    supported = supported_backends(connection, hardware)
    if not set(backends) & set(supported):
        exists = f"it has {', '.join(supported)}"
        return CharzError("this backend does not run on this part", f"{', '.join(backends)} on {hardware}", exists)
    query = "SELECT precision FROM hardware_rate WHERE hardware = ? AND is_native ORDER BY precision"
    exists = f"it computes in {', '.join(p for (p,) in connection.execute(query, [hardware]).fetchall())}"
    where = f"{', '.join(precisions)} on {hardware}"
    return CharzError("this part does not compute in this precision", where, exists)


def check_run(connection: duckdb.DuckDBPyConnection, backends: Sequence[str], precisions: Sequence[str]) -> None:
    """Raise `CharzError` for an unknown backend or precision policy."""
    for name in precisions:
        check_name(connection, "precision", name, "SELECT DISTINCT policy FROM precision_policy")
    for name in backends:
        check_name(connection, "backend", name, "SELECT backend FROM backend")


def scenario_row(**fields: Any) -> Scenario:
    """A scenario with the defaults nobody sees, without a number yet (`numbered`)."""
    values = {
        "scenario_id": 0,
        "batch": 1,
        "sequence": None,
        "context": None,
        "phase": "forward",
        "precision": "fp32",
        "backend": "eager",
        "memory_format": "nchw",
        "host_factor": 1.0,
        "cache_state": "warm",
        "origin": "user",
    } | fields
    for size in ("batch", "sequence", "context"):
        check_size(size, values[size])
    return Scenario(**values)


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
