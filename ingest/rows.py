"""Converts a `Graph` to the columns of the workload tables, without `model`, which the writer adds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from charz.schema import database
from charz.schema.row import ModelRow, Row
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

from .compile.kinds import kinds
from .graph import Graph, GraphOperator, Polynomial, Powers

Columns = dict[str, list[Any]]

_POWERS = ("batch_power", "sequence_power", "context_power", "logit_power", "context_limit")


@dataclass(slots=True)
class Ingested:
    """One model ready to be written: its `model` row without the time, and its other rows without their model."""

    model: dict[str, Any]
    columns: dict[type[Row], Columns]
    remark: str = ""
    """Remark on chosen and omitted inputs of the traced example."""


def encoded(result: Ingested | str) -> str:
    """Encode a model's rows or an error as JSON, which can be read without running code."""
    if isinstance(result, str):
        return json.dumps({"error": result})
    columns = {row_type.TABLE: values for row_type, values in result.columns.items()}
    return json.dumps({"model": result.model, "columns": columns, "remark": result.remark})


def decoded(text: str | bytes) -> Ingested | str:
    """Decode the rows or the error that `encoded` wrote. Raises `ValueError` for another text."""
    found = json.loads(text)
    if isinstance(found, dict) and isinstance(error := found.get("error"), str):
        return error
    try:
        types = {row_type.TABLE: row_type for row_type in database.TABLES if issubclass(row_type, ModelRow)}
        columns: dict[type[Row], Columns] = {types[table]: _checked(types[table], values) for table, values in found["columns"].items()}
        return Ingested(_checked(Model, found["model"]), columns, str(found["remark"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not the rows of a model") from error


def _checked(row_type: type[Row], values: dict[str, Any]) -> dict[str, Any]:
    if unknown := values.keys() - row_type.model_fields.keys():
        raise KeyError(*unknown)
    return dict(values)


def content_hash(columns: Mapping[type[Row], Columns], model: Mapping[str, Any]) -> str:
    """Hash (SHA-256) all stored values of a model except times and versions."""
    digest = hashlib.sha256()
    for name in sorted(model):
        digest.update(f"{name}={model[name]!r}\n".encode())
    for row_type in sorted(columns, key=lambda t: t.TABLE):
        for name, values in columns[row_type].items():
            digest.update(f"{row_type.TABLE}.{name}={values!r}\n".encode())
    return digest.hexdigest()


def workload(graph: Graph) -> dict[type[Row], Columns]:
    """Return the columns of every workload table except `model`."""
    operators, tensors, logits = graph.operators, graph.tensors, graph.logit_operators
    return {
        Module: _fields(graph.modules, ("module_id", "parent_module_id", "path", "class_name", "depth")),
        Operator: _fields(
            operators,
            (
                "operator_id",
                "operator",
                "aten_operator",
                "operator_class",
                "module_id",
                "stage",
                "rule",
                "is_view",
                "is_inplace",
                "is_size_bound",
                "is_backward",
                "is_repeated",
                "source_file",
                "source_line",
            ),
        )
        | {"operator_kind": kinds(graph)},
        OperatorLayout: _transposed(
            ("memory_format", "operator_id", "layout"),
            [
                (memory_format, o, layout)
                for memory_format, found in graph.layouts.items()
                for o, layout in found.items()
                if layout != memory_format and not operators[o].is_view
            ],
        ),
        LayoutCopy: _transposed(
            ("memory_format", "copy_id", "operator_id", "tensor_id"),
            [
                (memory_format, i, operator_id, tensor_id)
                for memory_format, copies in graph.copies.items()
                for i, (operator_id, tensor_id) in enumerate(copies)
            ],
        ),
        OperatorStep: _transposed(
            ("operator_id", "step", "step_class"),
            [(o.operator_id, s.step, s.step_class) for o in operators for s in o.steps],
        ),
        Term: _transposed(("operator_id", "step", "quantity", "coefficient", *_POWERS), _terms(operators, logits)),
        Tensor: _fields(
            tensors,
            (
                "tensor_id",
                "tensor",
                "producer_operator_id",
                "role",
                "is_output",
                "precision",
                "shape",
                "is_batch_first",
                "storage_tensor_id",
                "is_trained",
                "is_size_bound",
                "is_chunked",
            ),
        ),
        TensorTerm: _transposed(
            ("tensor_id", "coefficient", *_POWERS),
            [
                (t.tensor_id, c, *_sized(powers, t.producer_operator_id in logits, t.context_limit))
                for t in tensors
                for powers, c in t.elements.items()
            ],
        ),
        Edge: _transposed(
            ("consumer_operator_id", "position", "tensor_id", "producer_operator_id"),
            [(o.operator_id, i, t, tensors[t].producer_operator_id) for o in operators for i, t in enumerate(o.reads)],
        ),
        AccessTerm: _transposed(
            ("operator_id", "tensor_id", "draw_fraction", "coefficient", *_POWERS),
            [
                (
                    o.operator_id,
                    t,
                    o.draw_fractions.get(t),
                    c,
                    *_sized(powers, o.operator_id in logits, o.context_limit),
                )
                for o in operators
                for t, size in o.accesses.items()
                for powers, c in size.items()
            ],
        ),
    }


def _sized(powers: Powers, is_of_logits: bool, limit: int | None) -> tuple[int | None, ...]:
    """Return the exponents of batch, sequence, context and of tokens with logits, which replace the sequence in logit operators, and
    the limit of the context."""
    batch, sequence, context = powers
    most = limit if context else None
    return (batch, 0, context, sequence, most) if is_of_logits else (batch, sequence, context, 0, most)


def _terms(operators: Sequence[GraphOperator], logits: Collection[int]) -> list[tuple[Any, ...]]:
    return [
        (o.operator_id, s.step, quantity, c, *_sized(powers, o.operator_id in logits, o.context_limit))
        for o in operators
        for s in o.steps
        for quantity, size in s.quantities.items()
        for powers, c in size.items()
    ]


def _fields(items: Sequence[Any], names: tuple[str, ...]) -> Columns:
    return {name: [getattr(item, name) for item in items] for name in names}


def _transposed(names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> Columns:
    if not rows:
        return {name: [] for name in names}
    return dict(zip(names, (list(column) for column in zip(*rows, strict=True)), strict=True))


def total(graph: Graph, quantity: str) -> Polynomial:
    """Sum a quantity over all operators, e.g. `macs`."""
    result: Polynomial = {}
    for o in graph.operators:
        for s in o.steps:
            for powers, c in s.quantities.get(quantity, {}).items():
                result[powers] = result.get(powers, 0.0) + c
    return result
