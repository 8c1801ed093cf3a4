"""Bare matrix products as a synthetic model, so that they go through the very same SQL as a network.

Every product is one operator, one kernel; the tables below stand in for an ingested model's. The
answer is `kernel_cost.device_s`: device time without the host.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from charz.schema.compiled import (
    OperatorPrecision,
    PrecisionCast,
    ReadPrecision,
    Subgraph,
    SubgraphOperator,
    SubgraphTensor,
    TensorPrecision,
)
from charz.schema.row import Row
from charz.schema.workload import AccessTerm, Model, Operator, OperatorPart, Tensor, TensorTerm, Term

from . import store
from .workbench import Workbench

MODEL_ID = 1
_BACKEND = "onnxruntime"
"""One without efficiency rows of its own: bare products are timed without a framework around them."""


def times(
    database: Path,
    products: pl.DataFrame,
    hardware: list[str],
    precision: str,
    efficiency: pl.DataFrame | None = None,
    overrides: dict[str, pl.DataFrame] | None = None,
    cache_states: tuple[str, ...] = ("warm",),
) -> pl.DataFrame:
    """Predicted time of every product on every part: columns `m, n, k, hardware_id, cache_state,
    device_s` and what the view says of tile and bound. `products` has `m, n, k` and, optionally,
    `gemm_count`. The activation counts as written by an earlier kernel, the weight does not."""
    shapes = products.unique().with_row_index("operator_id").with_columns(pl.col("operator_id").cast(pl.Int64))
    if "gemm_count" not in shapes.columns:
        shapes = shapes.with_columns(gemm_count=pl.lit(1.0))
    cases = pl.DataFrame({"hardware_id": hardware}).with_columns(
        model_id=pl.lit(MODEL_ID, pl.Int64), backend=pl.lit(_BACKEND), policy=pl.lit(precision),
        memory_format=pl.lit("nchw"), batch=pl.lit(1, pl.Int64), sequence=pl.lit(None, pl.Int64), host_factor=pl.lit(1.0),
    ).join(pl.DataFrame({"cache_state": cache_states}), how="cross")  # fmt: skip
    stand_ins = tables(shapes, precision) | (overrides or {})
    with Workbench(database, cases, efficiency, stand_ins, view="kernel_cost") as bench:
        found = bench.sql(
            """
            SELECT anchor_operator_id AS operator_id, hardware_id, cache_state, device_s, compute_s, memory_s, memory_level, strategy,
                tile_m, tile_n, tile_k, waves, utilization_fraction, kernel_gap_s
            FROM kernel_cost INNER JOIN scenario USING (scenario_id)
            """
        )
    return shapes.join(found, on="operator_id")


def tables(shapes: pl.DataFrame, precision: str) -> dict[str, pl.DataFrame]:
    """Workload and compiled tables of a model whose operators are the given products."""
    shapes = shapes.with_columns(model_id=pl.lit(MODEL_ID, pl.Int64))
    operators = shapes.select(
        "model_id", "operator_id", operator=pl.format("gemm_{}", "operator_id"), target=pl.lit("aten.mm.default"),
        operator_class=pl.lit("linear"), module_id=pl.lit(0), stage=pl.lit(0), rule=pl.lit("matmul"),
        is_view=pl.lit(False), is_inplace=pl.lit(False), is_size_bound=pl.lit(False),
    )  # fmt: skip
    tensors = _tensors(shapes, precision)
    made: dict[type[Row], pl.DataFrame] = {
        Model: _model(),
        Operator: operators,
        OperatorPart: shapes.select("model_id", "operator_id", part=pl.lit("main"), part_class=pl.lit("gemm")),
        Term: _terms(shapes),
        Tensor: tensors,
        TensorTerm: tensors.select("model_id", "tensor_id", "coefficient", *_POWERS),
        AccessTerm: pl.DataFrame(),
        PrecisionCast: pl.DataFrame(),
        ReadPrecision: pl.DataFrame(),
        TensorPrecision: tensors.select("model_id", "tensor_id", policy=pl.lit(precision), precision=pl.lit(precision)),
        OperatorPrecision: shapes.select("model_id", "operator_id", policy=pl.lit(precision), precision=pl.lit(precision)),
        Subgraph: shapes.select(
            "model_id", backend=pl.lit(_BACKEND), subgraph_id=pl.col("operator_id"), subgraph=pl.lit("linear"),
            anchor_operator_id=pl.col("operator_id"), kernel_class=pl.lit("linear"), operator_count=pl.lit(1),
            view_count=pl.lit(0), stage=pl.lit(0),
        ),
        SubgraphOperator: shapes.select(
            "model_id", "operator_id", backend=pl.lit(_BACKEND), subgraph_id=pl.col("operator_id"), is_folded=pl.lit(False)
        ),
        SubgraphTensor: tensors.select(
            "model_id", "tensor_id", "direction", "operator_id", backend=pl.lit(_BACKEND), role=pl.col("border_role"),
            subgraph_id=pl.col("operator_id"), is_produced=pl.col("role") == "activation",
        ),
    }  # fmt: skip
    return {row_type.TABLE: store.conform(frame, row_type) for row_type, frame in made.items()}


_POWERS = (pl.lit(0).alias("batch_power"), pl.lit(0).alias("sequence_power"), pl.lit(0).alias("context_power"))


def _model() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "model_id": [MODEL_ID], "model": ["bare"], "source": ["synthetic:gemm"], "architecture_family": ["gemm"],
            "input_signature": [""], "is_batch_symbolic": [True], "is_sequence_symbolic": [False], "has_context": [False],
            "is_training": [False], "default_batch": [1], "default_sequence": [1], "parameter_count": [0],
            "content_hash": [""], "rules_fingerprint": [""], "charz_version": [""], "ingest_s": [0.0],
        }
    )  # fmt: skip


def _terms(shapes: pl.DataFrame) -> pl.DataFrame:
    """Every quantity of every product as a constant term."""
    macs = pl.col("gemm_count") * pl.col("m") * pl.col("n") * pl.col("k")
    quantities = {
        "macs": macs,
        "flops": 2.0 * macs,
        "threads": pl.col("gemm_count") * pl.col("m") * pl.col("n"),
        "m": pl.col("m"),
        "n": pl.col("n"),
        "k": pl.col("k"),
        "groups": pl.col("gemm_count"),
    }
    return pl.concat(
        shapes.select(
            "model_id", "operator_id", part=pl.lit("main"), quantity=pl.lit(name), coefficient=value.cast(pl.Float64)
        ).with_columns(*_POWERS)
        for name, value in quantities.items()
    )


def _tensors(shapes: pl.DataFrame, precision: str) -> pl.DataFrame:
    """Activation, weight and result of every product."""
    sides = (
        ("input", "read", "activation", "m", "k"),
        ("weight", "read", "weight", "k", "n"),
        ("output", "write", "activation", "m", "n"),
    )
    frames = [
        shapes.select(
            "model_id", "operator_id",
            tensor_id=pl.col("operator_id") * 3 + index,
            tensor=pl.format("{}_{}", pl.lit(border_role), "operator_id"),
            producer_operator_id=pl.col("operator_id") if direction == "write" else pl.lit(None, pl.Int64),
            role=pl.lit(role), is_output=pl.lit(direction == "write"), precision=pl.lit(precision),
            shape=pl.format("[{}, {}]", rows, columns), is_size_bound=pl.lit(False),
            border_role=pl.lit(border_role), direction=pl.lit(direction),
            coefficient=(pl.col("gemm_count") * pl.col(rows) * pl.col(columns)).cast(pl.Float64),
        )
        for index, (border_role, direction, role, rows, columns) in enumerate(sides)
    ]  # fmt: skip
    return pl.concat(frames).with_columns(*_POWERS, storage_tensor_id=pl.col("tensor_id"))
