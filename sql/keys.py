"""Texts of key columns, for all relations: no file repeats them. A file in which a column of such a name means something else has its own
comment above it."""

from __future__ import annotations

from collections.abc import Collection

KEYS = {
    "run": "The run as one value: model, backend, precision policy, batch, sequence and number of its conditions (`scenario_id`).",
    "model": "Model, as `charz models` lists it.",
    "hardware": "Part of the catalog.",
    "backend": "Backend that executes the graph: `eager`, `inductor`, `tensorrt`, ...",
    "precision": "Precision policy: `fp32`, `amp-bf16`, `int8`, ...",
    "batch": "Samples in one run.",
    "sequence": "Tokens processed per sample; 1 in decode, or if the model has no sequence axis.",
    "scenario_id": "Conditions of the run (`scenario`).",
    "kernel_id": "Kernel of the model under the backend, numbered in order of execution.",
    "operator_id": "Operator of the model.",
    "tensor_id": "Tensor of the model.",
    "shape_id": "Shape: the first kernel of the run that costs the same.",
    "step_id": "Number of the step within the shape, from 0.",
}
"""Description of each key column, by name."""

CHAIN = "efficiency_chain"
"""Column that identifies groups of parts and backends with the same efficiencies; tables with it and without a part describe such groups."""

RUN = ("model", "backend", "precision", "batch", "sequence", "scenario_id")
"""Fields of `run`, the column by which relations below the reports tell runs apart."""

RUN_TYPE = (
    'STRUCT(model VARCHAR, backend VARCHAR, "precision" VARCHAR, batch BIGINT, "sequence" BIGINT, scenario_id BIGINT)'
)
"""Type of that column."""

PACKED = f"STRUCT_PACK({', '.join(f'{key} := {key}' for key in RUN)}) AS run"
"""Item that packs it from columns."""


def place(columns: Collection[str], key: str) -> str | None:
    """How a condition on a relation's rows names a key: a field of `run` or a column; None where the rows have no such key."""
    if "run" in columns and key in RUN:
        return f"run.{key}"
    return key if key in columns else None


def fields(columns: Collection[str]) -> list[str]:
    """Columns of a relation, quoted, with the fields of `run` in its place: the engine gives equal nested values other hashes."""
    return [field for name in columns for field in ([f"run.{key}" for key in RUN] if name == "run" else [f'"{name}"'])]


def natural(columns: Collection[str]) -> list[str]:
    """Columns of a relation with `run` taken apart."""
    return [name for column in columns for name in (RUN if column == "run" else (column,))]


TARGET = ("model", "hardware", "backend", "precision", "batch", "sequence", "scenario_id")
"""Columns that identify a run on a part."""
