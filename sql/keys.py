"""Texts of key columns, for all relations: no file repeats them. A file in which a column of such a name means something else has its own
comment above it."""

from __future__ import annotations

KEYS = {
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

TARGET = ("model", "hardware", "backend", "precision", "batch", "sequence", "scenario_id")
"""Columns that identify a run on a part."""
