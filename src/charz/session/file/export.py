"""The command that exports tables and answers for other tools, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from charz.schema import ddl
from charz.schema.errors import CharzError, unknown_name
from charz.sql.keys import TARGET as KEYS
from charz.sql.keys import place
from charz.sql.layers import ANSWER, MART, MARTS, REPORT

from ..answer import Rows, answer
from ..axes import names, sizes
from ..core import Core
from ..parameters import Backends, Batches, File, Names, Parts, Precisions, Sequences, Text
from ..question import Question
from ..scoped import Scoped
from . import mart
from .export_limits import MEMORY, memory_limited, writable

if TYPE_CHECKING:
    import duckdb
    import pyarrow

    from charz.sql.installed import Catalog
    from charz.sql.scopes import Scope

    from .export_files import Target

ASKS_FIRST_BYTE = 10**9
"""Size of the answers above which an export requires `force`. [byte]"""

ANSWER_BYTE = {"parquet": 400, "csv": 4400, "duckdb": 1900}
"""Size of all large reports for a kernel of a run on a part, by format, measured on torchvision models; correct within a third. [byte]"""

TILES = "kernel_tile"
"""Report of all candidate tiles, as large as all other reports together."""


KERNELS = ("kernel_latency", "kernel_energy")
"""Reports that show the time and energy of each kernel."""

ROWS_AT_ONCE = 122_880
"""Number of rows read together."""


@dataclass(frozen=True, slots=True)
class Contents:
    """Content of an export."""

    mart: Sequence[mart.Exported]
    tables: Sequence[str]
    views: Sequence[str]
    statements: str
    """Statements that make a database of the files."""
    texts: Mapping[str, Mapping[str | None, str]]
    """Descriptions of each relation and its columns; the relation's own has the key None."""
    keys: Mapping[str, Sequence[str]]
    """Columns that identify the rows of each relation, where they are declared."""

    @property
    def kinds(self) -> dict[str, Sequence[str]]:
        """Names of the relations by kind, in the order in which they are written."""
        return {"mart": [one.name for one in self.mart], "table": self.tables, "view": self.views}


class _Wanted:
    """Relations to be written, grouped by how they are evaluated."""

    def __init__(self, contents: Contents, connection: duckdb.DuckDBPyConnection) -> None:
        from charz.schema import database
        from charz.sql.installed import catalog
        from charz.sql.layers import MODELS
        from charz.sql.scopes import SUPPORT

        known: Catalog = catalog(connection)
        facts = {t.TABLE: tuple(t.model_fields) for t in database.TABLES}
        names = [*contents.tables, *contents.views]
        self.mart = [one for one in contents.mart if not one.is_live]
        """Relations of the mart that read parts, runs and answers at hand."""
        self.of_kernels = [one for one in contents.mart if one.is_live]
        """Relations of the mart that are evaluated kernel by kernel."""
        self.names = [one.name for one in contents.mart] + names
        self.columns = facts | {r.name: r.columns for r in known.relations.values()}
        self.own = [name for name in names if name not in self.columns]
        """Views of the user."""
        self.once = [n for n in names if n in facts or (n in known.relations and place(self.columns[n], "model") is None)]
        """Facts, and relations without a model."""
        rest = [name for name in names if name not in self.own and name not in self.once]
        costed = {r.name for r in known.of(*MODELS[:2])}
        tables = [r.name for r in known.relations.values() if r.is_table]
        read = {name: known.upstream([name], tables) for name in rest}
        self.summed = [
            name
            for name in rest
            if known.relations[name].at_hand or (SUPPORT in read[name] and not read[name] & costed)
        ]
        """Relations at hand, and those of runs on parts that read no costs."""
        live = [name for name in rest if name not in self.summed]
        self.of_parts = [name for name in live if read[name] & costed]
        """Relations of kernels of runs on parts."""
        self.of_runs = [name for name in live if name not in self.of_parts]
        """Relations of runs alone."""
        costs = [name for one in self.of_kernels for name in one.relation.reads if name in known.relations]
        self.portioned = [*dict.fromkeys([*self.of_runs, *self.of_parts, *costs])]


def _large(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the reports that are evaluated for every kernel of every run on every part, and those that compare runs or parts with each
    other or list changes."""
    from charz.sql.installed import catalog
    from charz.sql.layers import MODELS

    known: Catalog = catalog(connection)
    costed = {relation.name for relation in known.of(*MODELS[:2])}
    ends = [relation.name for relation in known.relations.values() if relation.is_table or relation.at_hand]
    query = "SELECT view, grain FROM view_catalog WHERE layer = ?"
    return {
        view
        for view, grain in connection.execute(query, [REPORT]).fetchall()
        if (not known.relations[view].at_hand and known.upstream([view], ends) & costed)
        or (len(set(grain.split(", ")) - set(KEYS)) > 1 and "hardware" in grain)
    }


class Export(Core):
    """Export of tables and answers."""

    @answer(common=("models", "on", "format", "dashboard", "views", "full", "batch", "precision", "force"))
    def export(
        self,
        folder: Annotated[File, Text("New or empty folder; with --format duckdb a new file.")],
        *,
        models: Annotated[Names | None, Text("Models; default all.")] = None,
        on: Parts = None,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        views: Annotated[Names | None, Text("Reports to write; default all except large ones.")] = None,
        tiles: Annotated[bool, Text("Include every candidate tile of every kernel.")] = False,
        full: Annotated[bool, Text("Include the reports of kernels, pairs and changes.")] = False,
        format: Annotated[Literal["parquet", "csv", "duckdb"], Text("Kind of file.")] = "parquet",
        storage: Annotated[str, Text("Oldest version of DuckDB that can read --format duckdb.")] = "v2.0.0",
        for_: Annotated[Literal["files", "spark"], Text("`spark` exports the rows for --engine.")] = "files",
        dashboard: Annotated[bool, Text("Write one HTML page of all models and parts, with filters, instead of a folder.")] = False,
        force: Annotated[bool, Text("Write more than a gigabyte of answers, or over a page of another program.")] = False,
    ) -> Rows:
        """Write every table and every answer to files for other tools.

        FOLDER/mart, or the schema `mart`, has what most tools need: models, parts, runs, prices, measurements, sources and predictions, each
        with one row a key. Of the reports, only those of runs and of parts are written by default, from answers at hand. Reports of kernels,
        of pairs of parts and of changes are large: `--views` names some of these, `--full` writes all, with the kernels, modules and operators
        of the mart.

        FOLDER/table and FOLDER/view contain a file for each relation. FOLDER/load.sql, run in FOLDER, loads the files of tables and mart and creates
        the views in DuckDB: a copy that answers, but without the triggers that update answers after an edit. With `--format duckdb` the tables
        of one file contain both. A batch, sequence, precision or backend replaces those of the file's scenarios.

        `--dashboard` writes FOLDER as one HTML file, which needs no network: every stored run of the models on the parts.

        With `--for spark`, FOLDER, which may be in an object store, receives the rows that the models read, in separate files for each model, for
        `--engine`. Repeated exports write only new rows. Its load.sql creates the views of the models in an engine that runs in that folder.
        """
        from charz.sql import evaluate

        if dashboard:
            return self._dashboard(Path(folder), names(models), names(on), force)
        if for_ == "spark":
            options = (on, batch, sequence, precision, backend, views, tiles, full)
            if format != "parquet" or any((*options, self._scope.hardware, self._scope.scenarios)):
                exists = "all parts and all scenarios of the file, as parquet"
                raise CharzError("not for Spark", "every option but --models", exists, "leave them out")
            return self._export_rows(str(folder), names(models))
        self.stays_here("an export of reports")
        folder = Path(folder)
        connection = self.writing_files()
        scope, limited = self._extent(
            names(models), names(on), sizes(batch), sizes(sequence), names(precision), names(backend)
        )
        large = _large(connection)
        contents = _for_files(connection, names(views), set() if full else large, tiles, format, full)
        with memory_limited(connection), writable(folder):
            kernels = evaluate.kernel_count(connection, scope)
            self._check_size(kernels, _share(connection, contents.views, large), format, force)
            wanted = _Wanted(contents, connection)
            counts = dict.fromkeys(wanted.names, 0)
            steps = 1 + len(wanted.mart) + len(wanted.own) + len(wanted.summed)
            steps += evaluate.portion_count(connection, scope, wanted.portioned) if wanted.portioned else 0
            with (
                _target(folder, format, storage, contents) as target,
                self.messages.progress("export", steps) as done,
            ):
                for name, reader in self._readers(connection, scope, wanted, limited, done):
                    counts[name] += target.append(name, reader)
        if not views:
            held_back = f"of kernels ({', '.join(KERNELS)}), pairs and changes"
            left = "" if full else f"; left out: {len(large)} large reports, {held_back}: --views names some, --full writes all"
            self.messages.remark(f"begin with {MARTS}.runs; view_column describes each column{left}")
        rows = [(kind, name, counts[name], target.byte(name)) for kind, listed in contents.kinds.items() for name in listed]
        return Rows(("kind", "name", "row_count", "file_byte"), rows)

    def _dashboard(self, page: Path, models: Sequence[str], parts: Sequence[str], force: bool) -> Rows:
        """Write the stored runs of some models on some parts, by default all, as one page."""
        from charz.schema import user_file
        from charz.sql.scopes import listed

        from ..page import dashboard

        user_file.check(page, force)
        chosen = [self.model_name(name) for name in models] or list(self._scope.models) or self._names("model")
        named = self.named_parts(parts)
        shown = ", ".join(dashboard.COLUMNS)
        query = f"SELECT {shown} FROM {MARTS}.runs JOIN (SELECT hardware, family FROM {MARTS}.parts) USING (hardware)"
        where = f"WHERE latency_s IS NOT NULL AND model IN {listed(chosen)} AND hardware IN {listed(named)}"
        rows = self.connection().execute(f"{query} {where} ORDER BY model, hardware, scenario_id").fetchall() if chosen else []
        if not rows:
            raise CharzError("no answers at hand", str(self.path), next="`charz ingest MODEL` adds a model, `charz refresh` its answers")
        user_file.write(page, dashboard.text(f"{len(chosen)} model{'s' * (len(chosen) != 1)} on {len(named)} part{'s' * (len(named) != 1)}", rows), force)
        return Rows(("kind", "name", "row_count", "file_byte"), [("dashboard", str(page), len(rows), page.stat().st_size)])

    def _export_rows(self, folder: str, models: Sequence[str]) -> Rows:
        """Update the rows for an engine."""
        from ..engine import rows
        from ..engine.store import Store

        connection = self.writing_files()
        chosen = [self.model_name(name) for name in models] or list(self._scope.models)
        if not self._names("model"):
            raise CharzError("no models yet", str(self.path), next="`charz ingest efficientnet_b0` adds one")
        store, known = Store(folder), self._relations()
        with memory_limited(connection), connection.cursor() as cursor:
            fresh = [m for m in rows.fresh_models(cursor, known, store) if not chosen or m in chosen]
            with self.messages.progress("export", 1 + len(fresh)) as done:
                written = rows.append(cursor, known, store, chosen or None, done)
        self.messages.remark(f"{len(fresh)} models written, {len(self._names('model')) - len(fresh)} existed")
        found = [("table", one.name, one.rows, one.byte, one.added) for one in written]
        return Rows(("kind", "name", "row_count", "file_byte", "added_count"), found)

    def _extent(
        self,
        models: Sequence[str],
        parts: Sequence[str],
        batches: Sequence[int],
        sequences: Sequence[int],
        precisions: Sequence[str],
        backends: Sequence[str],
    ) -> tuple[Scope, dict[str, Sequence[str]]]:
        """Return the scope of an export: models and parts under the scenarios of the file or session, with each named condition in place of
        theirs. Return also the named models and parts, to which facts are limited."""
        from charz.sql.scopes import Scope

        self.check_run(backends, precisions)
        limited = {"model": models or self._scope.models, "hardware": parts or self._scope.hardware}
        given = {"batch": batches, "sequence": sequences, "precision": precisions, "backend": backends}
        rows = self.whole().records("SELECT * FROM scenario ORDER BY scenario_id")
        for column, values in given.items():
            rows = [{**row, column: value} for row in rows for value in values or [row[column]]]
        if any(given.values()):
            rows, held = self.numbered([{k: v for k, v in row.items() if k != "scenario_id"} for row in rows])
            rows = list({row["scenario_id"]: row for row in rows}.values())
        else:
            held = {row["scenario_id"] for row in rows}
        named = [self.part_name(name) for name in parts]
        chosen = [self.model_name(name) for name in models] or self._names("model")
        if precisions or backends:
            policies = sorted({str(row["precision"]) for row in rows})
            asked = Question(
                models, named, precisions=precisions, backends=backends, every_backend=True, is_first=False
            )
            untrained = self._untrained(chosen)
            targets = self._targets(named, asked, policies, untrained)
            self._say_left_out(named, asked, policies, targets, untrained)
        self._say_fixed(chosen, batches, sequences)
        parts_asked = named or self._names("hardware")
        scope = Scope(models=chosen, hardware=parts_asked, scenarios=rows, stored=held)
        of = {"model": chosen, "hardware": parts_asked}
        return scope, {column: of[column] for column, given_names in limited.items() if given_names}

    def _readers(
        self,
        connection: duckdb.DuckDBPyConnection,
        scope: Scope,
        wanted: _Wanted,
        limited: Mapping[str, Sequence[str]],
        done: Callable[[str], None],
    ) -> Iterator[tuple[str, pyarrow.RecordBatchReader]]:
        """Yield each relation with some of its rows, which must be read before the next; every relation comes at least once."""
        from charz.sql import evaluate, holder
        from charz.sql.installed import catalog

        whole = Scoped(connection.cursor(), scope, is_live=self.is_live)
        for one in wanted.mart:
            yield one.name, whole.sql(one.limited(limited)).to_arrow_reader(ROWS_AT_ONCE)
            done(one.name)
        whole.close()
        with connection.cursor() as cursor:
            known = catalog(cursor)
            holder.hold(cursor, scope, wanted.once, known)
            with evaluate.shared(cursor, known, wanted.once, is_narrow=False):
                for name in wanted.once:
                    yield name, _reader(cursor, _limited(cursor, name, wanted.columns.get(name, ()), limited))
        done("facts")
        whole = Scoped(connection.cursor(), scope, is_live=self.is_live)
        if wanted.own:
            whole.connection  # noqa: B018  scopes everything, since a user's view may read anything
        for name in (*wanted.own, *wanted.summed):
            yield name, whole.sql(f"SELECT * FROM {ddl.quote(name)}").to_arrow_reader(ROWS_AT_ONCE)
            done(name)
        whole.close()
        if wanted.portioned:
            with connection.cursor() as cursor:
                for portion in evaluate.evaluated(cursor, scope, wanted.portioned, done):
                    for name in (*(wanted.of_runs if portion.is_first else ()), *wanted.of_parts):
                        yield name, _reader(cursor, ddl.quote(name))
                    for one in wanted.of_kernels:
                        yield one.name, _reader(cursor, f"({one.query})")

    def _say_fixed(self, models: Sequence[str], batches: Sequence[int], sequences: Sequence[int]) -> None:
        """Warn of models that have no run of the named sizes."""
        fixed = [
            f"{model}, its {name} is fixed at {size}"
            for name, sizes in (("batch", batches), ("sequence", sequences))
            for model, size in self.connection()
            .execute(f"SELECT model, default_{name} FROM model WHERE NOT is_{name}_symbolic ORDER BY model")
            .fetchall()
            if sizes and model in models and size not in sizes
        ]
        if fixed:
            self.messages.warn(f"left out: {'; '.join(fixed)}")

    def _check_size(self, kernels: int, share: float, format: str, force: bool) -> None:
        """Report the size of large answers. Raise `CharzError` for very large ones without `force`."""
        size = kernels * share * ANSWER_BYTE[format]
        if size <= ASKS_FIRST_BYTE:
            return
        text = f"about {size / 1e9:.1f} GB of answers: {kernels:,} kernels on parts"
        if not force:
            next = "--views, --models, --on and --batch narrow it, --force writes it"
            raise CharzError("a large export", text, next=next)
        self.messages.remark(f"writes {text}")


def _reader(cursor: duckdb.DuckDBPyConnection, source: str) -> pyarrow.RecordBatchReader:
    return cursor.sql(f"SELECT * FROM {source}").to_arrow_reader(ROWS_AT_ONCE)


def _limited(
    cursor: duckdb.DuckDBPyConnection, name: str, columns: Sequence[str], limited: Mapping[str, Sequence[str]]
) -> str:
    """Return the source of a relation's rows that belong to the named models and parts, or to no model or part."""
    from charz.sql.scopes import listed, stored

    places = [(place(columns, key), values) for key, values in limited.items()]
    limits = [f"({c} IN {listed(values)} OR {c} IS NULL)" for c, values in places if c is not None]
    is_fact = name not in ("scenario", "run") and name in _facts()
    source = stored(cursor, name) if is_fact else ddl.quote(name)
    return f"{source} WHERE {' AND '.join(limits) or 'TRUE'}"


def _facts() -> set[str]:
    from charz.schema import database

    return {row_type.TABLE for row_type in database.TABLES}


def _share(connection: duckdb.DuckDBPyConnection, views: Sequence[str], large: set[str]) -> float:
    """Return the share of some reports in the columns of all large ones."""
    query = "SELECT view, count(*) FROM view_column WHERE list_contains(?, view) GROUP BY view"
    wide = dict(connection.execute(query, [sorted(large)]).fetchall())
    return sum(wide.get(view, 0) for view in views) / sum(wide.values())


def _for_files(
    connection: duckdb.DuckDBPyConnection,
    views: Sequence[str],
    left_out: set[str],
    with_tiles: bool,
    format: str,
    with_kernels: bool,
) -> Contents:
    """Select the named reports, or all but the excluded ones."""
    known = _reports(connection)
    for name in views:
        if name not in known:
            raise unknown_name("report", name, known, "`charz schema` lists them")
    chosen = views or [name for name in known if (with_tiles if name == TILES else name not in left_out)]
    tables = _listed(connection, _TABLES)
    written = [*tables, *chosen]
    first = mart.relations(connection, with_kernels)
    return Contents(
        first,
        tables,
        chosen,
        _load_script(connection, first, tables, format),
        _texts(connection, written) | mart.texts(connection),
        {one.name: one.relation.grain for one in first} | _keys(connection, written),
    )


_COMMENTED = (
    "SELECT table_name, NULL, comment FROM duckdb_tables() WHERE schema_name = 'main'",
    "SELECT view_name, NULL, comment FROM duckdb_views() WHERE schema_name = 'main'",
    "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE schema_name = 'main'",
)
"""Queries for descriptions of tables, views and columns."""


def _texts(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> dict[str, dict[str | None, str]]:
    """Return the descriptions of relations and their columns, without remarks that are true of the file only."""
    from charz.sql.views import KEPT, LIVE

    found: dict[str, dict[str | None, str]] = {}
    rows = [row for query in _COMMENTED for row in connection.execute(query).fetchall()]
    for name, column, text in rows:
        if text is not None and name in names:
            found.setdefault(name, {})[column] = text.partition(KEPT)[0].partition(LIVE)[0]
    return found


def _keys(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the keys of facts, and the grain of views."""
    from charz.schema import database

    grains = dict(connection.execute("SELECT view, grain FROM view_catalog WHERE grain <> ''").fetchall())
    keys: dict[str, Sequence[str]] = {name: grain.split(", ") for name, grain in grains.items()}
    keys |= {row_type.TABLE: row_type.KEY for row_type in database.TABLES if row_type.KEY}
    return {name: keys[name] for name in names if name in keys}


def _load_script(connection: duckdb.DuckDBPyConnection, first: Sequence[mart.Exported], tables: Sequence[str], format: str) -> str:
    """Return statements that make the tables, those of the mart too, from the files and then the views; they run in the folder."""
    # Empty texts are written as "" and missing ones as nothing, which keeps them apart.
    options = ", HEADER, ALLOW_QUOTED_NULLS false" if format == "csv" else ""
    made = [*_listed(connection, _SEQUENCES), *_listed(connection, _TABLES.replace("table_name", "sql", 1))]
    made.append(f"CREATE SCHEMA {MARTS};")
    for one in first:
        columns = ", ".join(f"{ddl.quote(name)} {kind}" for name, kind, *_ in connection.execute(f"DESCRIBE {one.name}").fetchall())
        made.append(f"CREATE TABLE {mart.quoted(one.name)} ({columns});")
    places = {f"{MARTS}.{one.relation.name}": f"{MARTS}/{one.relation.name}" for one in first} | {t: f"table/{t}" for t in tables}
    filled = [
        f"COPY {mart.quoted(name)} FROM {ddl.literal(f'{place}.{format}')} (FORMAT {format}{options});" for name, place in places.items()
    ]
    query = f"SELECT view, body FROM view_catalog WHERE kind = 'view' AND layer NOT IN ('{ANSWER}', '{MART}') ORDER BY position"
    views = [f"CREATE VIEW {ddl.quote(name)} AS\n{body};" for name, body in connection.execute(query).fetchall()]
    return "\n".join([*made, *filled, *views]) + "\n"


def _target(folder: Path, format: str, storage: str, contents: Contents) -> Target:
    from .export_files import Database, Folder

    if format == "duckdb":
        return Database(folder, storage, MEMORY, contents.texts, contents.keys)
    places = {
        name: f"{kind}/{name.removeprefix(f'{MARTS}.') if kind == MARTS else name}"
        for kind, listed in contents.kinds.items()
        for name in listed
    }
    for_people = [*contents.kinds["mart"], *contents.views]
    return Folder(folder, format, places, {"load.sql": contents.statements}, for_people)


_TABLES = "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main' AND NOT temporary ORDER BY table_name"
_SEQUENCES = "SELECT sql FROM duckdb_sequences() WHERE schema_name = 'main' AND NOT temporary ORDER BY sequence_name"
_VIEWS = "SELECT view_name FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' AND NOT temporary ORDER BY 1"
_INNER = f"SELECT view FROM view_catalog WHERE layer <> '{REPORT}'"


def _reports(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return views for people, and the user's own."""
    inner = set(_listed(connection, _INNER))
    return [name for name in _listed(connection, _VIEWS) if name not in inner]


def _listed(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    return [name for (name,) in connection.execute(query).fetchall()]
