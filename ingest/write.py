"""Writes ingested models into a database: one transaction, one model row a name, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

import duckdb

from charz.schema import database
from charz.schema.compiled import (
    CacheSplit,
    HeapGrowth,
    Kernel,
    KernelEdge,
    KernelOperator,
    KernelTensor,
    OperatorPrecision,
    OperatorSplit,
    PathSegment,
    PrecisionCast,
    ReadPrecision,
    TensorLifetime,
    TensorPrecision,
)
from charz.schema.row import Row
from charz.schema.workload import (
    AccessTerm,
    Edge,
    LayoutCopy,
    Model,
    Module,
    Operator,
    OperatorLayout,
    OperatorStep,
    Tensor,
    TensorTerm,
    Term,
)

from .rows import Columns, Ingested

MODEL_TABLES: tuple[type[Row], ...] = (
    Module, Operator, OperatorLayout, LayoutCopy, OperatorStep, Term, Tensor, TensorTerm, Edge, AccessTerm,
    OperatorSplit, CacheSplit, TensorPrecision, OperatorPrecision, PrecisionCast, ReadPrecision, Kernel, KernelOperator, KernelTensor,
    KernelEdge, PathSegment, TensorLifetime, HeapGrowth,
)  # fmt: skip
"""Tables whose rows belong to one model."""


class AddRuns(Protocol):
    """Function that evaluates the runs of new models, in the caller's transaction: `add_runs` of `charz.sql.maintain`, or `add_models`,
    which fills their answers too."""

    def __call__(self, connection: duckdb.DuckDBPyConnection, *, models: Sequence[str]) -> None:
        """Evaluate the runs of these models."""


def known_hashes(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, str | None, str]]:
    """Return content hash, request hash and rules of every model in the file, by name."""
    query = "SELECT model, content_hash, request_hash, rules_fingerprint FROM model"
    return {row[0]: row[1:] for row in connection.execute(query).fetchall()}


def write(connection: duckdb.DuckDBPyConnection, models: Sequence[Ingested], add_runs: AddRuns) -> None:
    """Insert models, replacing those of the same name, and evaluate their runs; the caller's transaction makes it atomic.

    If several have the same name (`resnet18` and `resnet18@224`), the last is written.
    """
    latest = {ingested.model["model"]: ingested for ingested in models}
    gathered: dict[type[Row], Columns] = {}
    now = datetime.now(UTC).replace(tzinfo=None)
    for name, ingested in latest.items():
        _append(gathered, Model, {k: [v] for k, v in {**ingested.model, "ingested_at": now}.items()})
        for row_type, columns in ingested.columns.items():
            length = len(next(iter(columns.values())))
            _append(gathered, row_type, {"model": [name] * length, **columns})
    for name in latest.keys() & known_hashes(connection).keys():
        delete(connection, name)
    for row_type, columns in gathered.items():
        database.insert(connection, row_type, columns)
    if latest:
        add_runs(connection, models=list(latest))


def delete(connection: duckdb.DuckDBPyConnection, model: str) -> None:
    """Remove every row of a model."""
    tables: tuple[type[Row], ...] = (Model, *MODEL_TABLES)
    for row_type in tables:
        connection.execute(f"DELETE FROM {row_type.TABLE} WHERE model = ?", [model])


def _append(gathered: dict[type[Row], Columns], row_type: type[Row], columns: Columns) -> None:
    into = gathered.setdefault(row_type, {name: [] for name in columns})
    for name, values in columns.items():
        into[name].extend(values)
