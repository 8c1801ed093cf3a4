"""The cost model as views: read the files, order them, install them with their documentation.

A view is one file `LAYER/NAME.sql` that is valid DuckDB as it stands:

    -- What it answers, in one or more lines.
    -- Grain: model_id, hardware_id
    CREATE VIEW name (
        -- What the column holds. [unit]
        column_name,
    ) AS SELECT ...

`lint.py` checks what a file must keep to. This module only needs it to parse.
"""

from __future__ import annotations

import contextlib
import functools
import graphlib
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from charz.schema import database, ddl
from charz.schema.errors import CharzError
from charz.schema.meta import ViewCatalog, ViewColumn

ROOT = Path(__file__).parent
INVARIANT = "invariant"
"""Layer of the views that must be empty."""
REPORT = "5_report"
"""Layer whose views are read by people, not by views."""
LAYERS = ("1_workload", "2_mapping", "3_cost", "4_rollup", REPORT, INVARIANT)
"""Folders in the order in which a view may read the ones before."""

_HEAD = re.compile(r"CREATE\s+VIEW\s+(\w+)\s*\(\s*\n?", re.IGNORECASE)
_GRAIN = re.compile(r"^Grain:\s*(.+?)\.?$")
_END_OF_COLUMNS = re.compile(r"^\s*\)\s*AS\b", re.IGNORECASE)
_COLUMN_LINE = re.compile(r"^(\w+)\s*,?$")


@dataclass(frozen=True, slots=True)
class DocumentedColumn:
    """A column as the file documents it."""

    name: str
    description: str
    unit: str | None


@dataclass(frozen=True, slots=True)
class View:
    """One view file, parsed."""

    name: str
    layer: str
    path: Path
    description: str
    grain: tuple[str, ...]
    columns: tuple[DocumentedColumn, ...]
    body: str
    body_line: int
    """Line of the file on which the body starts."""
    relations: frozenset[str]
    """Names of tables and views that it reads."""

    @property
    def create(self) -> str:
        """The statement that makes it."""
        names = ", ".join(ddl.quote(c.name) for c in self.columns)
        return f"CREATE VIEW {ddl.quote(self.name)} ({names}) AS\n{self.body}"

    @property
    def comments(self) -> Iterable[str]:
        """`COMMENT ON` of the view and each of its columns."""
        name = ddl.quote(self.name)
        grain = f" One row for each {', '.join(self.grain)}." if self.grain else ""
        yield f"COMMENT ON VIEW {name} IS {ddl.literal(self.description + grain)}"
        for column in self.columns:
            text = f"{column.description} [{column.unit}]" if column.unit else column.description
            yield f"COMMENT ON COLUMN {name}.{ddl.quote(column.name)} IS {ddl.literal(text)}"


def load(root: Path | None = None) -> list[View]:
    """Every view under the layer folders, each after those it reads.

    Raises `CharzError` for a file that does not parse, a name used twice, and views that read each
    other in a circle.
    """
    return list(_parsed(_read(root or ROOT)))


def fingerprint(root: Path | None = None) -> str:
    """Hash of every view file."""
    return _hash(_read(root or ROOT))


def files(root: Path) -> list[Path]:
    """View files by layer and name."""
    return [path for layer in LAYERS for path in sorted((root / layer).glob("*.sql"))]


def install(connection: duckdb.DuckDBPyConnection, root: Path | None = None) -> list[View]:
    """Make every view anew, with comments, and fill `view_catalog` and `view_column`.

    Views that an earlier charz installed and this one does not have are dropped; a user's own stay.
    """
    texts = _read(root or ROOT)
    loaded = list(_parsed(texts))
    drop(connection)
    create(connection, loaded)
    _fill_catalog(connection, loaded)
    database.set_meta(connection, views_fingerprint=_hash(texts))
    return loaded


def create(connection: duckdb.DuckDBPyConnection, ordered: Iterable[View]) -> None:
    """Make views with their comments. Raises `CharzError` naming the file whose SQL does not bind."""
    ordered = list(ordered)
    make(connection, [(view.name, view.create) for view in ordered], {view.name: str(view.path) for view in ordered})
    connection.execute(";\n".join(text for view in ordered for text in view.comments))


def make(
    connection: duckdb.DuckDBPyConnection,
    statements: Iterable[tuple[str, str]],
    places: Mapping[str, str] | None = None,
) -> None:
    """Run `CREATE VIEW` statements given by name, each after those it reads.

    The engine binds a view together with all it reads, down to the tables, which multiplies over a deep
    stack. So an empty temporary table, found before a view of its name, stands in for each view that is
    made until all are. Raises `CharzError` naming the view, by its place if that is given.
    """
    made: list[str] = []
    try:
        for name, statement in statements:
            try:
                connection.execute(statement)
                columns = connection.execute(f"DESCRIBE {ddl.quote(name)}").fetchall()
            except duckdb.Error as error:
                where = (places or {}).get(name, name)
                raise CharzError("a view does not bind", where, _first_lines(error), "correct its SQL") from error
            definition = ", ".join(f"{ddl.quote(column)} {kind}" for column, kind, *_ in columns)
            connection.execute(f"CREATE TEMP TABLE {ddl.quote(name)} ({definition})")
            made.append(name)
    finally:
        with contextlib.suppress(duckdb.TransactionException):  # a failed statement has undone them already
            for name in made:
                connection.execute(f"DROP TABLE temp.{ddl.quote(name)}")


def drop(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop the views that charz installed, and whatever stands in the way of one of its names."""
    for (name,) in connection.execute("SELECT view FROM view_catalog").fetchall():
        connection.execute(f"DROP VIEW IF EXISTS {ddl.quote(name)}")
    connection.execute("DELETE FROM view_column; DELETE FROM view_catalog")


def installed(connection: duckdb.DuckDBPyConnection, needed: Iterable[str] | None = None) -> list[tuple[str, str]]:
    """Name and statement of each installed view, in the order in which they can be made.

    With `needed`, only those views and the ones they read.
    """
    query = (
        "SELECT view, sql, reads FROM view_catalog JOIN duckdb_views() ON view_name = view"
        " WHERE NOT internal ORDER BY position"
    )
    rows = connection.execute(query).fetchall()
    wanted = {view for view, _, _ in rows} if needed is None else set(needed)
    for view, _, reads in reversed(rows):
        if view in wanted:
            wanted.update(reads.split(", "))
    return [(view, statement) for view, statement, _ in rows if view in wanted]


def _read(root: Path) -> tuple[tuple[Path, str], ...]:
    """Every view file with its text, read once, so that what is made is what is hashed."""
    return tuple((path, path.read_text()) for path in files(root))


def _hash(texts: Iterable[tuple[Path, str]]) -> str:
    digest = hashlib.sha256()
    for path, text in texts:
        digest.update(f"{path.parent.name}/{path.name}\0{text}\0".encode())
    return digest.hexdigest()[:16]


@functools.lru_cache(maxsize=4)
def _parsed(texts: tuple[tuple[Path, str], ...]) -> tuple[View, ...]:
    views: dict[str, View] = {}
    for path, text in texts:
        view = parse(path, text)
        if view.name in views:
            raise CharzError("two views have the same name", f"{view.name}: {views[view.name].path} and {path}")
        views[view.name] = view
    return tuple(views[name] for name in _order(views))


def _order(views: Mapping[str, View]) -> list[str]:
    # Alphabetical input and sorted edges make the order the same on every machine.
    graph = {name: sorted(views[name].relations & views.keys()) for name in sorted(views)}
    try:
        return list(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        raise CharzError("views read each other in a circle", " -> ".join(error.args[1])) from None


def parse(path: Path, text: str) -> View:
    """One view from the text of its file. Raises `CharzError` naming file and line."""
    head = _HEAD.search(text)
    if head is None:
        raise CharzError("no `CREATE VIEW name (` in the file", str(path), next="see the view contract in sql/views.py")
    description, grain = _parse_header(text[: head.start()])
    first_line = text.count("\n", 0, head.end()) + 1
    columns, body, body_line = _parse_columns(path, text[head.end() :].splitlines(), first_line)
    return View(
        name=head.group(1),
        layer=path.parent.name,
        path=path,
        description=description,
        grain=grain,
        columns=tuple(columns),
        body=body,
        body_line=body_line,
        relations=relations(body, path),
    )


def relations(body: str, path: Path) -> frozenset[str]:
    """Names a query reads, those of its own `WITH` left out."""
    tree = syntax_tree(body, path)
    from sqlglot import exp

    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    return frozenset(table.name for table in tree.find_all(exp.Table)) - own


def syntax_tree(body: str, path: Path):  # type: ignore[no-untyped-def]  # sqlglot is imported only here
    """The parsed body of a view; sqlglot is slow to import, so only who needs it pays."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        statements = sqlglot.parse(body, read="duckdb")
    except SqlglotError as error:
        raise CharzError("a view does not parse", str(path), _first_lines(error), "correct its SQL") from error
    if len(statements) != 1 or statements[0] is None:
        raise CharzError("a view file holds one statement", str(path), f"it has {len(statements)}")
    return statements[0]


def _parse_header(text: str) -> tuple[str, tuple[str, ...]]:
    lines = [line.strip()[2:].strip() for line in text.splitlines() if line.strip().startswith("--")]
    grain: tuple[str, ...] = ()
    words = []
    for line in lines:
        if match := _GRAIN.match(line):
            grain = tuple(name.strip() for name in match.group(1).split(","))
        else:
            words.append(line)
    return " ".join(words), grain


def _parse_columns(path: Path, lines: list[str], first_line: int) -> tuple[list[DocumentedColumn], str, int]:
    """Documented columns, the body after `) AS`, and its line in the file."""
    columns: list[DocumentedColumn] = []
    comment: list[str] = []
    for number, line in enumerate(lines):
        stripped = line.strip()
        if end := _END_OF_COLUMNS.match(line):
            body = "\n".join([line[end.end() :], *lines[number + 1 :]]).strip().rstrip(";").rstrip()
            return columns, body, first_line + number
        if stripped.startswith("--"):
            comment.append(stripped[2:].strip())
        elif name := _COLUMN_LINE.match(stripped):
            columns.append(DocumentedColumn(name.group(1), *ddl.split_unit(" ".join(comment))))
            comment = []
        elif stripped:
            raise CharzError(
                "a column list holds one `-- comment` and one name a line",
                f"{path}:{first_line + number}",
                f"found {stripped!r}",
            )
    raise CharzError("the column list does not end in `) AS`", str(path))


def _fill_catalog(connection: duckdb.DuckDBPyConnection, ordered: list[View]) -> None:
    query = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"
    types = {(view, column): kind for view, column, kind in connection.execute(query).fetchall()}
    database.insert_rows(
        connection,
        [
            ViewCatalog(
                view=v.name,
                layer=v.layer,
                position=i,
                description=v.description,
                grain=", ".join(v.grain),
                reads=", ".join(sorted(v.relations)),
            )
            for i, v in enumerate(ordered)
        ],
    )
    database.insert_rows(
        connection,
        [
            ViewColumn(
                view=v.name,
                column_name=c.name,
                position=i,
                type=types[v.name, c.name],
                unit=c.unit,
                description=c.description,
            )
            for v in ordered
            for i, c in enumerate(v.columns)
        ],
    )


def _first_lines(error: Exception) -> str:
    """The part of an engine's message that says what is wrong, without its drawing."""
    return " ".join(line.strip() for line in str(error).splitlines()[:3] if line.strip() and "^" not in line)
