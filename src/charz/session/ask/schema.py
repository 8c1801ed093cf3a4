"""The command that describes views, tables and the columns of queries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from charz import sandbox
from charz.schema.errors import unknown_name
from charz.schema.units import UNITS, ending
from charz.sql.layers import MART, MARTS

from ..answer import Rows, answer
from ..parameters import Text
from .sql import Sql

if TYPE_CHECKING:
    import duckdb
    from sqlglot import exp

_AT_HAND = "CASE WHEN at_hand <> '' THEN 'answer.' || view END"

_NAMED = f"CASE WHEN layer = '{MART}' THEN '{MARTS}.' ELSE '' END || view"

_CATALOG = f"SELECT layer, {_NAMED}, {_AT_HAND}, description FROM view_catalog ORDER BY layer, view"

_VIEWS = f"""SELECT CASE schema_name WHEN '{MARTS}' THEN '{MARTS}.' ELSE '' END || view_name, comment FROM duckdb_views()
    WHERE NOT internal AND schema_name IN ('main', '{MARTS}')"""

_TABLES = "SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main'"

_COLUMNS = "SELECT column_name, data_type, comment FROM duckdb_columns() WHERE schema_name = ? AND table_name = ?"


class Schema(Sql):
    """Descriptions of everything that SQL can read."""

    def _meanings(self, query: str) -> dict[str, str]:
        import sqlglot
        from sqlglot.errors import SqlglotError

        try:
            tree = sqlglot.parse_one(query, dialect="duckdb")
        except (SqlglotError, RecursionError):
            self.messages.warn("left out: meanings of columns, since the query cannot be parsed")
            return {}
        return _meanings(self.connection(), tree)

    @answer()
    def schema(
        self, name: Annotated[str | None, Text("View, table or query; default lists all views and tables.")] = None
    ) -> Rows:
        """List all views and tables, or the columns of a view, table or query with type, unit and meaning.

        The column `at_hand` names the table that contains precomputed rows of a view.
        """
        connection = self.connection()
        found = connection.execute(_CATALOG).fetchall()
        if name is None:
            views = {view for _, view, _, _ in found}
            tables = sorted(row for row in connection.execute(_TABLES).fetchall() if row[0] not in views)
            listed = [*found, *(("table", table, None, text) for table, text in tables)]
            rows = [(layer, name, kept, _first_sentence(text or "")) for layer, name, kept, text in listed]
            return Rows(("layer", "name", "at_hand", "holds"), rows)
        if not name.replace(".", "").isidentifier():
            return self._of_query(sandbox.one_statement(name))
        kept = {kept: view for _, view, kept, _ in found if kept}
        place, name = ("answer" if name in kept else "main"), kept.get(name, name)
        known = dict([*connection.execute(_VIEWS).fetchall(), *connection.execute(_TABLES).fetchall()])
        if name not in known:
            raise unknown_name("view or table", name, known, "`charz schema` lists them")
        self.messages.remark(f"{name}: {known[name] or ''}")
        if name.startswith(f"{MARTS}."):
            place, _, name = name.partition(".")
        return _listed(connection.execute(f"{_COLUMNS} ORDER BY column_index", [place, name]).fetchall())

    def _of_query(self, query: str) -> Rows:
        """Return the columns of a query."""
        sandbox.check_is_select(query)
        meanings = self._meanings(query)
        return _listed((name, kind, meanings.get(name)) for name, kind, *_ in self.sql(f"DESCRIBE {query}").iter_rows())


def _meanings(connection: duckdb.DuckDBPyConnection, tree: exp.Expr) -> dict[str, str]:
    """Return the descriptions of the columns that a query passes on unchanged from views and tables."""
    from sqlglot import exp

    read = dict.fromkeys(table.name for table in tree.find_all(exp.Table))
    known: dict[str, str] = {}
    for name in reversed(read):
        known.update({column: text for column, _, text in connection.execute(_COLUMNS, ["main", name]).fetchall() if text})
    for select in tree.find_all(exp.Select):
        for item in select.expressions:
            if isinstance(item, exp.Alias) and isinstance(item.this, exp.Column) and item.this.name in known:
                known.setdefault(item.alias, known[item.this.name])
            elif isinstance(item, exp.Alias):
                known.pop(item.alias, None)
    return known


def _listed(columns: Iterable[tuple[str, str, str | None]]) -> Rows:
    """Return a row for each column: its name, type, unit and meaning."""
    rows = []
    for name, kind, text in columns:
        unit = UNITS.get(ending(name)) or ("fraction" if name.endswith("_fraction") else None)
        rows.append((name, kind, unit, text))
    return Rows(("column", "type", "unit", "meaning"), rows)


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".")
