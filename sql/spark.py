"""The models on other engines: what they read as parquet, and their views in Spark's words.

The views of layers 3 to 6 keep to what runs in DuckDB and Spark alike (`lint`); what they read (facts, maintained tables,
the views of the layers before) is evaluated here and exported as rows (`stream`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from .installed import Relation, column_names, relations
from .layers import MODELS
from .portable import expanded_tree

"""Layers that are views there."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement for Spark, and the relation that it makes."""

    name: str
    text: str


def models(connection: duckdb.DuckDBPyConnection) -> list[Relation]:
    """Views that other engines evaluate, each after those it reads."""
    return [relation for relation in relations(connection) if relation.layer in MODELS]


def sources(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Tables and views that the models read and are none of."""
    found = models(connection)
    own = {model.name for model in found}
    return sorted({name for model in found for name in model.reads} - own)


def statements(connection: duckdb.DuckDBPyConnection, folder: Path) -> list[Statement]:
    """What makes the exported rows of a folder and all models known to a Spark session, in order."""
    found = models(connection)
    columns = {name: _columns(connection, name) for name in [*sources(connection), *(model.name for model in found)]}
    of_rows = [
        Statement(name, f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT * FROM parquet.`{folder / name}.parquet`")
        for name in sources(connection)
    ]
    of_models = [
        Statement(model.name, f"CREATE OR REPLACE TEMPORARY VIEW {model.name} AS\n{lowered(model, columns)}")
        for model in found
    ]
    return of_rows + of_models


def lowered(model: Relation, columns: dict[str, list[str]]) -> str:
    """The body of a model in Spark's words; `columns` of all that it reads."""
    from sqlglot import exp

    tree = expanded_tree(model.body, columns, Path(model.layer) / f"{model.name}.sql")
    # Of a DOUBLE they make a BIGINT there. Innermost first, since a copy takes the place of each.
    for node in reversed(list(tree.find_all(exp.Ceil, exp.Floor))):
        if not isinstance(node.parent, exp.Cast):
            node.replace(exp.cast(node.copy(), "DOUBLE"))
    return str(tree.sql(dialect="spark", pretty=True))


def _columns(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """Columns of a view, maintained table or fact."""
    query = (
        "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND schema_name = 'main' ORDER BY column_index"
    )
    return column_names(connection, name) or [column for (column,) in connection.execute(query, [name]).fetchall()]
