"""Relations of the schema `mart` as an export writes them: limited to a scope, evaluated or from answers at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from charz.schema import ddl
from charz.sql.keys import place
from charz.sql.layers import ANSWERS, MARTS

if TYPE_CHECKING:
    import duckdb

    from charz.sql.installed import Relation

LIVE = ("kernels", "modules", "operators")
"""Relations with the grain of a kernel, which are evaluated when they are asked."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A relation of the mart."""

    relation: Relation

    @property
    def name(self) -> str:
        """Name with the schema, `mart.runs`."""
        return f"{MARTS}.{self.relation.name}"

    @property
    def is_live(self) -> bool:
        """True for a relation with the grain of a kernel."""
        return self.relation.name in LIVE

    @property
    def query(self) -> str:
        """Query of the rows that the views of a connection give, where those of the whole file are at hand."""
        return self.relation.body.replace(f"{ANSWERS}.", "")

    def limited(self, limits: Mapping[str, Sequence[str]]) -> str:
        """Return the query of the rows that belong to the named models and parts, or to no model or part."""
        from charz.sql.scopes import listed

        places = [(place(self.relation.columns, key), values) for key, values in limits.items()]
        kept = [f"({column} IN {listed(values)} OR {column} IS NULL)" for column, values in places if column is not None]
        return f"SELECT * FROM ({self.query}) WHERE {' AND '.join(kept) or 'TRUE'}"


def relations(connection: duckdb.DuckDBPyConnection, with_kernels: bool = True) -> list[Exported]:
    """Return the relations of the mart, those of kernels last or left out."""
    from charz.sql import installed

    found = [Exported(relation) for relation in installed.mart(connection)]
    return sorted((one for one in found if with_kernels or not one.is_live), key=lambda one: one.is_live)


def texts(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str | None, str]]:
    """Return the descriptions of the mart's relations and their columns; a relation's own has the key None."""
    found: dict[str, dict[str | None, str]] = {}
    for query in (
        f"SELECT view_name, NULL, comment FROM duckdb_views() WHERE schema_name = '{MARTS}'",
        f"SELECT table_name, column_name, comment FROM duckdb_columns() WHERE schema_name = '{MARTS}'",
    ):
        for name, column, text in connection.execute(query).fetchall():
            if text is not None:
                found.setdefault(f"{MARTS}.{name}", {})[column] = text
    return found


def quoted(name: str) -> str:
    """Return a quoted name, with its schema if it is a relation of the mart."""
    schema, _, view = name.partition(".")
    return f"{MARTS}.{ddl.quote(view)}" if schema == MARTS and view else ddl.quote(name)
