"""Rows of a database in Python: the catalog, and the rows that ingest wrote for one model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import duckdb

from charz.schema import database
from charz.schema.row import ModelRow
from charz.schema.workload import Model

Record = dict[str, Any]


@dataclass(slots=True)
class Facts:
    """Tables that people and ingest write, those of a model restricted to it; also the relations of `sql/` that derive a part's numbers,
    which tests/mechanism tests."""

    rows: dict[str, list[Record]]
    groups: dict[tuple[str, ...], dict[Any, list[Record]]] = field(default_factory=dict)

    @classmethod
    def read(cls, connection: duckdb.DuckDBPyConnection, model: str) -> Facts:
        """Read all rows of one model and of all parts."""
        rows = {}
        for row_type in database.TABLES:
            is_of_model = issubclass(row_type, ModelRow) or row_type is Model
            where = f"WHERE model = '{model}'" if is_of_model else ""
            rows[row_type.TABLE] = connection.sql(f"SELECT * FROM {row_type.TABLE} {where}").pl().to_dicts()
        for view in ("part_memory", "part_peak", "part_overhead"):
            rows[view] = connection.sql(f"SELECT * FROM {view}").pl().to_dicts()
        return cls(rows)

    def by(self, table: str, *columns: str) -> dict[Any, list[Record]]:
        """Group rows by one or more columns."""
        key = (table, *columns)
        if key not in self.groups:
            groups: dict[Any, list[Record]] = defaultdict(list)
            for row in self.rows[table]:
                groups[row[columns[0]] if len(columns) == 1 else tuple(row[c] for c in columns)].append(row)
            self.groups[key] = dict(groups)
        return self.groups[key]

    def where(self, table: str, **values: Any) -> list[Record]:
        """Return the rows with these values."""
        found = self.by(table, *values)
        return found.get(next(iter(values.values())) if len(values) == 1 else tuple(values.values()), [])

    def one(self, table: str, **values: Any) -> Record:
        """Return the only row with these values."""
        (row,) = self.where(table, **values)
        return row

    def constant(self, name: str) -> float:
        """Return a constant of a library or an allocator."""
        return float(self.one("library_constant", library_constant=name)["value"])

    def width(self, precision: str) -> float:
        """Return the size of an element in memory. [byte]"""
        return float(self.one("precision", precision=precision)["bits"]) / 8


def polynomial(terms: Iterable[Record], batch: float, sequence: float, context: float) -> float:
    """Evaluate a polynomial at a batch, a sequence and a context."""
    return sum(
        t["coefficient"] * batch ** t["batch_power"] * sequence ** (t["sequence_power"] + t["logit_power"])
        * min(context, t.get("context_limit") or context) ** t["context_power"]
        for t in terms
    )  # fmt: skip
