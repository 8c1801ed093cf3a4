"""Views and maintained tables of a database, read from `view_catalog` without sqlglot."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import duckdb

from .layers import ANSWERS, MART, MARTS, REBUILD


@dataclass(frozen=True, slots=True)
class Relation:
    """Row of `view_catalog`."""

    name: str
    is_table: bool
    layer: str
    reads: tuple[str, ...]
    body: str
    grain: tuple[str, ...]
    at_hand: str
    """Kind of the relation's rows at hand (`answers`): `stored`, `as NAME`, `derived`, or empty."""
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Catalog:
    """Views and maintained tables of a file, each after the relations that it reads."""

    relations: dict[str, Relation]

    def of(self, *layers: str) -> list[Relation]:
        """Return the relations of some layers."""
        return [relation for relation in self.relations.values() if relation.layer in layers]

    def tables(self, layer: str) -> list[Relation]:
        """Return the maintained tables of a layer."""
        return [relation for relation in self.of(layer) if relation.is_table]

    def upstream(self, names: Iterable[str], ends: Collection[str] = ()) -> set[str]:
        """Return some relations and all that they read, facts included; relations read only through `ends` are left out."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                if name in self.relations and name not in ends:
                    waiting += self.relations[name].reads
        return found


def catalog(connection: duckdb.DuckDBPyConnection) -> Catalog:
    """Read the relations of a connection's file, without those of `mart`."""
    return _catalog(connection, f"layer <> '{MART}'")


def mart(connection: duckdb.DuckDBPyConnection) -> list[Relation]:
    """Read the relations of `mart`, by name."""
    return sorted(_catalog(connection, f"layer = '{MART}'").relations.values(), key=lambda relation: relation.name)


def _catalog(connection: duckdb.DuckDBPyConnection, condition: str) -> Catalog:
    query = f"""
        SELECT view, kind, layer, reads, body, grain, at_hand, columns
        FROM view_catalog
        JOIN (SELECT view, LIST(column_name ORDER BY position) AS columns FROM view_column GROUP BY view) USING (view)
        WHERE {condition}
        ORDER BY position
    """
    return Catalog(
        {
            view: Relation(
                view,
                kind == "table",
                layer,
                tuple(reads.split(", ")),
                body,
                tuple(grain.split(", ")),
                at_hand,
                tuple(columns),
            )
            for view, kind, layer, reads, body, grain, at_hand, columns in connection.execute(query).fetchall()
        }
    )


def relations(connection: duckdb.DuckDBPyConnection) -> list[Relation]:
    """Return every view and maintained table, each after the relations that it reads."""
    return list(catalog(connection).relations.values())


def column_names(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """Return the columns of a view or maintained table, in order."""
    query = "SELECT column_name FROM view_column WHERE view = ? ORDER BY position"
    return [column for (column,) in connection.execute(query, [name]).fetchall()]


def own_views(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """Return names in lower case and texts of views that are not in `catalog`: a user's, and those of `mart`."""
    query = f"""
        SELECT LOWER(view_name), sql FROM duckdb_views()
        WHERE database_name = current_database() AND schema_name NOT IN ('{ANSWERS}', '{REBUILD}')
            AND NOT internal AND (schema_name = '{MARTS}' OR view_name NOT IN (SELECT view FROM view_catalog))
    """
    return connection.execute(query).fetchall()


def own_macros(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """Return names in lower case and texts of the file's macros, which are all a user's: charz stores no macros in a file."""
    query = """
        SELECT LOWER(function_name), macro_definition FROM duckdb_functions()
        WHERE database_name = current_database() AND NOT internal AND macro_definition IS NOT NULL
    """
    return connection.execute(query).fetchall()


def comparable(sql: str) -> str:
    """Sort the names of EXCLUDE lists in a statement, which DuckDB prints in any order.

    >>> comparable("SELECT * EXCLUDE (b, a) FROM t")
    'SELECT * EXCLUDE (a, b) FROM t'
    """
    return re.sub(r"EXCLUDE \(([^()]*)\)", lambda m: f"EXCLUDE ({', '.join(sorted(m[1].split(', ')))})", sql)
