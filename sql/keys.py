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
    "batch": "Number of samples in one run.",
    "sequence": "Number of tokens processed per sample; 1 in decode, or if the model has no sequence axis.",
    "scenario_id": "Number of the run's conditions: a row of `scenario`.",
    "kernel_id": "Kernel of the model under the backend, numbered in order of execution.",
    "operator_id": "Operator of the model.",
    "tensor_id": "Tensor of the model.",
    "shape_id": "Shape of the kernel: number of the run's first kernel with the same properties, and so the same cost.",
    "step_id": "Number of the step within the shape, from 0.",
}
"""Description of each key column, by name."""

CHAIN = "efficiency_chain"
"""Column that identifies groups of parts and backends with the same efficiencies; tables with it and without a part describe such groups."""

RUN = ("model", "backend", "precision", "batch", "sequence", "scenario_id")
"""Fields of `run`, the column that identifies a run in relations below the reports."""

RUN_TYPE = (
    'STRUCT(model VARCHAR, backend VARCHAR, "precision" VARCHAR, batch BIGINT, "sequence" BIGINT, scenario_id BIGINT)'
)
"""Type of the column `run`."""

PACKED = f"STRUCT_PACK({', '.join(f'{key} := {key}' for key in RUN)}) AS run"
"""SQL item that packs the column `run` from its fields."""


def place(columns: Collection[str], key: str) -> str | None:
    """Return the name of a key in conditions on a relation: a field of `run` or a column; None if the relation lacks the key."""
    if "run" in columns and key in RUN:
        return f"run.{key}"
    return key if key in columns else None


def fields(columns: Collection[str]) -> list[str]:
    """Return the quoted columns of a relation, with `run` as its fields, because the engine hashes equal nested values differently."""
    return [field for name in columns for field in ([f"run.{key}" for key in RUN] if name == "run" else [f'"{name}"'])]


def natural(columns: Collection[str]) -> list[str]:
    """Return the columns of a relation, with `run` replaced by its fields."""
    return [name for column in columns for name in (RUN if column == "run" else (column,))]


TARGET = ("model", "hardware", "backend", "precision", "batch", "sequence", "scenario_id")
"""Columns that identify a run on a part."""
