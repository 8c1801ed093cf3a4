"""Puts ingested models into a database: one transaction, one model row a name, nothing half done."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import duckdb

from charz.schema import database
from charz.schema.compiled import (
    HeapGrowth,
    OperatorPrecision,
    PathSegment,
    PrecisionCast,
    ReadPrecision,
    Subgraph,
    SubgraphEdge,
    SubgraphOperator,
    SubgraphTensor,
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
    OperatorPart,
    Tensor,
    TensorTerm,
    Term,
)

from .rows import Columns

MODEL_TABLES: tuple[type[Row], ...] = (
    Module, Operator, OperatorLayout, LayoutCopy, OperatorPart, Term, Tensor, TensorTerm, Edge, AccessTerm,
    TensorPrecision, OperatorPrecision, PrecisionCast, ReadPrecision, Subgraph, SubgraphOperator, SubgraphTensor,
    SubgraphEdge, PathSegment, TensorLifetime, HeapGrowth,
)  # fmt: skip
"""Every table whose rows belong to one model."""


@dataclass(slots=True)
class Ingested:
    """One model ready to be written: its `model` row without key and time, and its other rows."""

    model: dict[str, Any]
    columns: dict[type[Row], Columns]


def content_hash(columns: dict[type[Row], Columns], model: dict[str, Any]) -> str:
    """SHA-256 of all that is stored of a model but keys, times and versions."""
    digest = hashlib.sha256()
    for name in sorted(model):
        digest.update(f"{name}={model[name]!r}\n".encode())
    for row_type in sorted(columns, key=lambda t: t.TABLE):
        for name, values in columns[row_type].items():
            digest.update(f"{row_type.TABLE}.{name}={values!r}\n".encode())
    return digest.hexdigest()


def known_hashes(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[int, str, str | None, str]]:
    """Key, content hash, request hash and rules of every model in the file, by name."""
    query = "SELECT model, model_id, content_hash, request_hash, rules_fingerprint FROM model"
    return {row[0]: row[1:] for row in connection.execute(query).fetchall()}


def write(connection: duckdb.DuckDBPyConnection, models: list[Ingested]) -> None:
    """Insert models, replacing those of the same name; the caller's transaction makes it atomic.

    Of several of one name (`resnet18` and `resnet18@224`) the last is written. A replaced model keeps its key, so that
    measurements stay matched to it.
    """
    known = known_hashes(connection)
    free = max((held[0] for held in known.values()), default=0) + 1
    gathered: dict[type[Row], Columns] = {}
    now = datetime.now(UTC).replace(tzinfo=None)
    for name, ingested in {ingested.model["model"]: ingested for ingested in models}.items():
        if name in known:
            model_id = known[name][0]
            _delete(connection, model_id)
        else:
            model_id, free = free, free + 1
        row = {"model_id": model_id, **ingested.model, "ingested_at": now}
        _append(gathered, Model, {k: [v] for k, v in row.items()})
        for row_type, columns in ingested.columns.items():
            length = len(next(iter(columns.values())))
            _append(gathered, row_type, {**columns, "model_id": [model_id] * length})
    for row_type, columns in gathered.items():
        database.insert(connection, row_type, columns)


def _append(gathered: dict[type[Row], Columns], row_type: type[Row], columns: Columns) -> None:
    into = gathered.setdefault(row_type, {name: [] for name in columns})
    for name, values in columns.items():
        into[name].extend(values)


def _delete(connection: duckdb.DuckDBPyConnection, model_id: int) -> None:
    tables: tuple[type[Row], ...] = (Model, *MODEL_TABLES)
    for row_type in tables:
        connection.execute(f"DELETE FROM {row_type.TABLE} WHERE model_id = ?", [model_id])
