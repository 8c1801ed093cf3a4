"""Installation of the cost model in a database: views, maintained tables, and their documentation.

`documents` parses a file, `reading` finds what it reads and the order, `texts` the descriptions of its columns. This module installs
them: models as views, maintained tables as `rebuild.NAME` (a view) and `NAME` (its rows).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from charz.schema import about, ddl, sources
from charz.schema.errors import CharzError

from . import answers, compose, documents, graph, macros, terms, texts
from .documents import Document
from .installed import Relation
from .layers import ANSWER, ANSWERS, COST, LAYERS, MAPPING, MART, MARTS, REBUILD, REPORT, ROLLUP, WORKLOAD

ROOT = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class View:
    """A view or maintained table: its file and the relations it reads."""

    document: Document
    relations: tuple[str, ...]
    """Tables and views that the relation reads, those of the outermost `FROM` first."""
    aliases: Mapping[str, str]
    """Relation of each name in the outermost `FROM`."""
    body: str
    """Query for the relation's rows, with every macro expanded."""

    @property
    def name(self) -> str:
        """Name of the relation and of the file."""
        return self.document.name

    @property
    def layer(self) -> str:
        """Folder of the relation's file."""
        return self.document.layer

    @property
    def place(self) -> str:
        """Quoted name of the relation in a statement."""
        return f"{MARTS}.{ddl.quote(self.name)}" if self.layer == MART else ddl.quote(self.name)

    @property
    def is_table(self) -> bool:
        """True if the relation's rows are stored (a maintained table), false if it is a view."""
        return self.document.is_table

    @property
    def description(self) -> str:
        """Description of the relation."""
        return self.document.description

    @property
    def grain(self) -> tuple[str, ...]:
        """Columns that identify a row."""
        return self.document.grain


@dataclass(frozen=True, slots=True)
class Installed:
    """A view or maintained table as installed in a database."""

    view: View
    columns: tuple[texts.Column, ...]
    at_hand: str
    """Kind of the relation's rows at hand, as in `view_catalog`."""

    @property
    def relation(self) -> Relation:
        """Row of `view_catalog`, with the columns."""
        view, names = self.view, tuple(column.name for column in self.columns)
        return Relation(
            view.name, view.is_table, view.layer, view.relations, view.body, view.grain, self.at_hand, names
        )


def load(root: Path | None = None) -> list[View]:
    """Load every relation under the layer folders, each after the relations that it reads.

    Raises `CharzError` for a file that does not parse, a repeated name, or relations that read each other in a cycle.
    """
    return list(_parsed(_read(root or ROOT)))


def formulas(root: Path | None = None) -> list[macros.Macro]:
    """Parse every macro's file, sorted by name."""
    return [macros.parse(path, text) for path, text in _read(root or ROOT) if _is_macro(path)]


def fingerprint(root: Path | None = None) -> str:
    """Hash every file, and the code that makes triggers and texts from them."""
    root = root or ROOT
    found = [*files(root), *sorted(ROOT.glob("*.py"))]
    return _fingerprint(root, tuple(found), sources.state(found))


@functools.lru_cache(maxsize=4)
def _fingerprint(root: Path, found: tuple[Path, ...], state: str) -> str:
    """Hash the files in a state, which is computed once per process."""
    return sources.derived("views", found, lambda: _hash(_read(root))) if root == ROOT else _hash(_read(root))


def files(root: Path) -> list[Path]:
    """Return the files of macros, then those of relations by layer and name."""
    return [path for folder in (macros.FOLDER, *LAYERS) for path in sorted((root / folder).glob("*.sql"))]


def install(connection: duckdb.DuckDBPyConnection, root: Path | None = None, commits: bool = False) -> list[Installed]:
    """Install all views, maintained tables with their rows, triggers, comments, `view_catalog` and `view_column`, replacing what an
    earlier charz installed.

    Runs in the caller's transaction, or with `commits` in one a portion of runs (`evaluate.evaluated`).
    Rows of runs stay if nothing they follow from has changed. Relations that an earlier charz
    installed and this one lacks are dropped; a user's own stay.
    """
    from . import maintain, restate, triggers

    found = _read(root or ROOT)
    ordered = _parsed(found)
    kept = _same_runs(connection, ordered)
    drop(connection, kept, ordered)
    installed = create(connection, ordered, kept)
    _fill_catalog(connection, installed)
    maintain.refill(connection, with_runs=not kept, commits=commits)
    restate.settle(connection)
    triggers.install(connection)
    about.write(connection, views_fingerprint=_hash(found))
    return installed


def create(
    connection: duckdb.DuckDBPyConnection, ordered: Iterable[View], kept: Collection[str] = ()
) -> list[Installed]:
    """Create views with their comments, and maintained tables without rows except those kept.

    The engine binds a view with all it reads, down to the tables, which multiplies over a deep stack. So until all views are made, an
    empty temporary table, found before a view of its name, replaces each. Raises `CharzError` naming the file whose SQL does not bind.
    """
    ordered = sorted(ordered, key=lambda view: (ANSWER, MART).index(view.layer) + 1 if view.layer in (ANSWER, MART) else 0)
    at_hand = kinds(ordered)
    installed: list[Installed] = []
    known: dict[str, texts.Texts] = dict(texts.of_tables())
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {REBUILD}; CREATE SCHEMA IF NOT EXISTS {MARTS}")
    with _stand_ins(connection) as made:
        for view in ordered:
            if view.layer == ANSWER and installed[-1].view.layer != ANSWER:
                _check_at_hand(installed)
                answers.create(connection, [one.relation for one in installed])
            try:
                outputs = _outputs(connection, f"DESCRIBE {view.body}")
                _make(connection, view, outputs, ordered, is_kept=view.name in kept)
            except duckdb.Error as error:
                path = str(view.document.path)
                raise CharzError("a view does not bind", path, _first_lines(error), "correct its SQL") from error
            if not view.is_table:
                connection.execute(f"CREATE TEMP TABLE {ddl.quote(view.name)} ({_definition(outputs)})")
                made.append(view.name)
            columns = texts.resolve(view.document, outputs, view.relations, view.aliases, known)
            known[view.name] = {c.name: (c.description, c.unit) for c in columns}
            installed.append(Installed(view, tuple(columns), at_hand[view.name]))
    connection.execute(";\n".join(text for one in installed for text in _comments(one)))
    return installed


def kinds(views: Iterable[View]) -> dict[str, str]:
    """Determine the kind of each relation at hand: its file's tag, or `derived` for a report that reads costs only through such relations."""
    found: dict[str, str] = {}
    live: set[str] = set()
    for view in views:
        at_hand = [name for name in view.relations if found.get(name)]
        is_live = view.layer in (MAPPING, COST) or any(name in live for name in view.relations)
        derived = "derived" if at_hand and not is_live and view.layer in (ROLLUP, REPORT) else ""
        found[view.name] = view.document.at_hand or derived
        if is_live and not found[view.name]:
            live.add(view.name)
    return found


def _check_at_hand(installed: Iterable[Installed]) -> None:
    """Raise `CharzError` if two relations stored together share a column with different meanings."""
    seen: dict[str, tuple[str, str]] = {}
    for one in installed:
        for column in one.columns if one.at_hand == "stored" else ():
            name, text = seen.setdefault(column.name, (one.view.name, column.description))
            if text != column.description:
                where = f"{column.name} of {name} and of {one.view.name}"
                raise CharzError(
                    "one column at hand with two meanings", where, next="give one of them another name or text"
                )


def _make(
    connection: duckdb.DuckDBPyConnection,
    view: View,
    outputs: Sequence[tuple[str, str]],
    ordered: Sequence[View],
    is_kept: bool,
) -> None:
    name = view.place
    if not view.is_table:
        connection.execute(f"CREATE VIEW {name} AS\n{view.body}")
        return
    if not is_kept:
        connection.execute(f"CREATE TABLE {name} ({_definition(outputs)})")
    connection.execute(f"CREATE VIEW {REBUILD}.{name} AS\n{rebuilding(view, ordered)}")


def rebuilding(view: View, ordered: Iterable[View]) -> str:
    """Write the query for a maintained table's rows from facts and the maintained tables it reads, each intermediate view once."""
    ordered = list(ordered)
    reads = {v.name: v.relations for v in ordered}
    bodies = {v.name: v.body for v in ordered if not v.is_table}
    parts = compose.ancestors(view.name, reads, list(bodies))
    kept = {v.name for v in ordered if v.is_table}
    read = sorted({r for name in (view.name, *parts) for r in reads[name]} & kept)
    # Within `rebuild` an unqualified name would be the view's.
    shielded = [(name, f"SELECT * FROM main.{ddl.quote(name)}") for name in read]
    return compose.composed(view.body, [*shielded, *((name, bodies[name]) for name in parts)])


@contextlib.contextmanager
def _stand_ins(connection: duckdb.DuckDBPyConnection) -> Iterator[list[str]]:
    made: list[str] = []
    try:
        yield made
    finally:
        with contextlib.suppress(duckdb.TransactionException):  # a failed statement has undone them already
            for name in made:
                connection.execute(f"DROP TABLE temp.{ddl.quote(name)}")


def _outputs(connection: duckdb.DuckDBPyConnection, describe: str) -> list[tuple[str, str]]:
    return [(name, kind) for name, kind, *_ in connection.execute(describe).fetchall()]


def _definition(outputs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{ddl.quote(column)} {kind}" for column, kind in outputs)


KEPT, LIVE = " Kept equal to", " Evaluated when it is asked;"
"""Beginnings of remarks that apply only in a charz file."""


def _comments(installed: Installed) -> Iterable[str]:
    """Yield `COMMENT ON` for the relation, each of its columns, and its relation at hand."""
    view = installed.view
    kind = "TABLE" if view.is_table else "VIEW"
    grain = f" One row for each {', '.join(view.grain)}." if view.grain else ""
    kept = f"{KEPT} {REBUILD}.{view.name}: do not write to it." if view.is_table else ""
    places = [(kind, view.place, kept)]
    if installed.at_hand:
        stored = f"{ANSWERS}.{view.name}"
        live = f"{LIVE} {stored} has it at hand for stored scenarios."
        answered = f" At hand for stored scenarios; {view.name} evaluates it when it is asked."
        places = [(kind, ddl.quote(view.name), live), ("VIEW", f"{ANSWERS}.{ddl.quote(view.name)}", answered)]
    for kind, name, remark in places:
        yield f"COMMENT ON {kind} {name} IS {ddl.literal(view.description + grain + remark)}"
        for column in installed.columns:
            text = f"{column.description} [{column.unit}]" if column.unit else column.description
            yield f"COMMENT ON COLUMN {name}.{ddl.quote(column.name)} IS {ddl.literal(text)}"
    if answers.is_marked(installed.relation):
        yield f"COMMENT ON COLUMN {ANSWERS}.{view.name}.{answers.MARK} IS {ddl.literal(answers.MARKED)}"


def drop(connection: duckdb.DuckDBPyConnection, kept: Collection[str] = (), own: Iterable[View] = ()) -> None:
    """Drop the triggers, views and maintained tables that charz installed, except those kept, and their descriptions; also this charz's
    `own`, which the file may have without listing them."""
    from . import triggers

    triggers.drop(connection)
    connection.execute(f"DROP SCHEMA IF EXISTS {REBUILD} CASCADE; DROP SCHEMA IF EXISTS {ANSWERS} CASCADE")
    query = f"SELECT view, kind, CASE WHEN layer = '{MART}' THEN '{MARTS}.' ELSE '' END FROM view_catalog"
    installed = {place + ddl.quote(name): (name, kind) for name, kind, place in connection.execute(query).fetchall()}
    for place, (name, kind) in ({v.place: (v.name, v.document.kind) for v in own} | installed).items():
        if name not in kept:
            connection.execute(f"DROP {kind} IF EXISTS {place}")
    connection.execute("DELETE FROM view_column; DELETE FROM view_catalog")


def _same_runs(connection: duckdb.DuckDBPyConnection, ordered: Sequence[View]) -> set[str]:
    """Return the maintained tables of runs if no trigger is missing and their texts, down to the facts, are all unchanged; else none."""
    from . import installed, triggers

    before = {r.name: (f"{r.is_table} {r.body}", r.reads) for r in installed.relations(connection)}
    now = {v.name: (f"{v.is_table} {v.body}", v.relations) for v in ordered}
    tables = {v.name for v in ordered if v.is_table and v.layer == WORKLOAD}
    is_same = triggers.are_kept(connection) and all(_upstream_text(name, now) == _upstream_text(name, before) for name in tables)
    return tables if is_same else set()


def _upstream_text(name: str, known: Mapping[str, tuple[str, Sequence[str]]]) -> dict[str, str]:
    """Return the bodies of a relation and of all that it reads."""
    upstream = {name} | graph.ancestors([name], {relation: reads for relation, (_, reads) in known.items()})
    return {relation: known[relation][0] for relation in upstream if relation in known}


def _read(root: Path) -> tuple[tuple[Path, str], ...]:
    """Read every file once, so that the hash is that of the installed text."""
    return tuple((path, path.read_text()) for path in files(root))


def _is_macro(path: Path) -> bool:
    return path.parent.name == macros.FOLDER


def _hash(found: Iterable[tuple[Path, str]]) -> str:
    digest = hashlib.sha256()
    code = ((path, path.read_text()) for path in sorted(ROOT.glob("*.py")))
    for path, text in (*found, *code):
        digest.update(f"{path.parent.name}/{path.name}\0{text}\0".encode())
    return digest.hexdigest()[:16]


@functools.lru_cache(maxsize=4)
def _parsed(found: tuple[tuple[Path, str], ...]) -> tuple[View, ...]:
    from . import reading

    views: dict[str, View] = {}
    written = macros.written_out(macros.parse(path, text) for path, text in found if _is_macro(path))
    parsed = [documents.parse(path, text) for path, text in found if not _is_macro(path)]
    if any(document.terms for document in parsed):
        parsed.append(terms.document(parsed, ROOT))
    for document in parsed:
        if document.name in views:
            other = views[document.name].document.path
            raise CharzError("two views have the same name", f"{document.name}: {other} and {document.path}")
        body = macros.expanded(document.body, written, document.path)
        read = reading.read(body, document.path)
        views[document.name] = View(document, read.relations, read.aliases, body)
    return tuple(views[name] for name in graph.order({name: view.relations for name, view in views.items()}))


def _fill_catalog(connection: duckdb.DuckDBPyConnection, installed: Sequence[Installed]) -> None:
    from charz.schema import database
    from charz.schema.meta import ViewCatalog, ViewColumn

    rows = [
        ViewCatalog(
            view=one.view.name,
            kind=one.view.document.kind,
            layer=one.view.layer,
            position=i,
            description=one.view.description,
            grain=", ".join(one.view.grain),
            reads=", ".join(sorted(one.view.relations)),
            at_hand=one.at_hand,
            body=one.view.body,
        )
        for i, one in enumerate(installed)
    ]
    columns = [
        ViewColumn(
            view=one.view.name, column_name=c.name, position=i, type=c.type, unit=c.unit, description=c.description
        )
        for one in installed
        for i, c in enumerate(one.columns)
    ]
    database.insert_rows(connection, rows)
    database.insert_rows(connection, columns)


def _first_lines(error: Exception) -> str:
    """Return the lines of an engine's message that describe the error, without the lines that mark its position."""
    return " ".join(line.strip() for line in str(error).splitlines()[:3] if line.strip() and "^" not in line)
