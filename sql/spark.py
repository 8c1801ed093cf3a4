"""The models on other engines: their inputs as parquet, and their views in Spark's dialect.

The views of layers 3 to 6 run in DuckDB and Spark alike (`lint`); their inputs (facts, maintained tables, views of earlier layers) are
evaluated here and exported as rows (`stream`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from charz.schema.errors import CharzError, unknown_name

from .installed import Catalog, Relation, column_names, relations
from .layers import MODELS
from .portable import expanded_tree


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement for Spark, and the relation that it creates."""

    name: str
    text: str


def models(connection: duckdb.DuckDBPyConnection) -> list[Relation]:
    """Return the views that other engines evaluate, each after those it reads."""
    return [relation for relation in relations(connection) if relation.layer in MODELS]


def sources(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the tables and views that the models read, without the models themselves."""
    found = models(connection)
    own = {model.name for model in found}
    return sorted({name for model in found for name in model.reads} - own)


def statements(connection: duckdb.DuckDBPyConnection, folder: Path | str = "") -> list[Statement]:
    """Write the statements that create views of the exported rows and of all models in a Spark session, in order; without a folder, paths
    are relative to the rows' folder."""
    found = models(connection)
    columns = every_column(connection)
    of_rows = [
        Statement(name, f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT * FROM parquet.`{Path(folder) / name}`")
        for name in sources(connection)
    ]
    of_models = [
        Statement(model.name, f"CREATE OR REPLACE TEMPORARY VIEW {model.name} AS\n{lowered(model, columns)}")
        for model in found
    ]
    return of_rows + of_models


def script(connection: duckdb.DuckDBPyConnection) -> str:
    """Write the statements as one text, for engines that run in the folder of the rows."""
    return "".join(f"{statement.text};\n" for statement in statements(connection))


def every_column(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Return the columns of the models and of all that they read."""
    return {name: _columns(connection, name) for name in [*sources(connection), *(m.name for m in models(connection))]}


def lowered(model: Relation, columns: Mapping[str, Sequence[str]]) -> str:
    """Write the body of a model in Spark's dialect; `columns` of all that it reads."""

    tree = expanded_tree(model.body, columns, Path(model.layer) / f"{model.name}.sql")
    return _spark(tree)


def words(query: str) -> str:
    """Write a query without `*` in Spark's dialect.

    >>> print(words("SELECT FLOOR(x) AS a FROM t"))
    SELECT
      CAST(FLOOR(x) AS DOUBLE) AS a
    FROM t
    """
    import sqlglot

    return _spark(sqlglot.parse_one(query, read="duckdb"))


def _spark(tree: Any) -> str:
    from sqlglot import exp

    # CEIL and FLOOR of a DOUBLE are BIGINT in Spark. Innermost first, because a copy replaces each.
    for node in reversed(list(tree.find_all(exp.Ceil, exp.Floor))):
        if not isinstance(node.parent, exp.Cast):
            node.replace(exp.cast(node.copy(), "DOUBLE"))
    return str(tree.sql(dialect="spark", pretty=True))


@dataclass(frozen=True, slots=True)
class Query:
    """A query in DuckDB's dialect, parsed for another engine."""

    tree: Any
    reads: tuple[str, ...]
    """Relations that it names."""


def query(text: str, known: Collection[str]) -> Query:
    """Parse a query. Raises `CharzError` for any other statement, or for an unknown relation."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        trees = sqlglot.parse(text, read="duckdb")
    except SqlglotError as error:
        raise CharzError("the statement does not parse", str(error).splitlines()[0]) from error
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise CharzError("an engine answers queries only", text[:80], next="write one SELECT")
    tree = trees[0]
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    reads: dict[str, None] = {}
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or table.db:
            raise CharzError("an engine reads the relations of the file alone", table.sql("duckdb")[:80])
        name = table.name.lower()
        if name not in own:
            if name not in known:
                raise unknown_name("relation", table.name, known, "`charz schema` lists them")
            table.this.set("this", name)
            reads[name] = None
    return Query(tree, tuple(reads))


def composed(
    asked: Query, known: Catalog, columns: Mapping[str, Sequence[str]], rows: Mapping[str, str], texts: dict[str, str]
) -> str:
    """Write one statement for Spark: the query after a `WITH` of the models it depends on, each after those it reads, and of the `rows`
    that these read, by their queries. `texts` caches the models' texts."""
    from sqlglot import exp

    upstream = known.upstream(asked.reads, rows)
    parts = [f"{name} AS (\n{text}\n)" for name, text in rows.items() if name in upstream]
    for relation in known.of(*MODELS):
        if relation.name in upstream and relation.name not in rows:
            if relation.name not in texts:
                texts[relation.name] = lowered(relation, columns)
            parts.append(f"{relation.name} AS (\n{texts[relation.name]}\n)")
    tree = expanded_tree(asked.tree.sql(dialect="duckdb"), columns, Path("query"))
    key = "with_" if tree.args.get("with_") is not None else "with"
    if (own := tree.args.get(key)) is not None:
        if own.args.get("recursive"):
            raise CharzError("no recursion on an engine", "WITH RECURSIVE", next="ask it of the file")
        parts += [f"{cte.args['alias'].sql(dialect='spark')} AS (\n{_spark(cte.this)}\n)" for cte in own.expressions]
        tree.set(key, None)
    assert isinstance(tree, exp.Query)
    return f"WITH {', '.join(parts)}\n{_spark(tree)}" if parts else _spark(tree)


def needed(asked: Iterable[str], known: Catalog, ends: Collection[str]) -> set[str]:
    """Return the inputs of some relations that are not models: rows that an engine must have."""
    own = {model.name for model in known.of(*MODELS)}
    return {name for name in known.upstream(asked, ends) if name and (name not in own or name in ends)}


def _columns(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """Return the columns of a view, maintained table or fact."""
    query = (
        "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND schema_name = 'main' ORDER BY column_index"
    )
    return column_names(connection, name) or [column for (column,) in connection.execute(query, [name]).fetchall()]
