"""Single operators as a synthetic model, evaluated by the same SQL as a network.

Every operator is one kernel; the tables below replace those of an ingested model. The result is device time at full clock without
the host, because a power limit applies to a whole run. `power_s` is the shortest time that the limit would allow an operator
alone.
"""

from __future__ import annotations

import duckdb
import polars as pl

from charz.hardware_catalog.calibration.workbench import Workbench
from charz.ingest.measurements import store
from charz.schema.compiled import (
    Kernel,
    KernelOperator,
    KernelTensor,
    OperatorPrecision,
    PrecisionCast,
    ReadPrecision,
    TensorPrecision,
)
from charz.schema.row import Row
from charz.schema.workload import (
    AccessTerm,
    LayoutCopy,
    Model,
    Operator,
    OperatorLayout,
    OperatorStep,
    Tensor,
    TensorTerm,
    Term,
)

MODEL = "bare"
PRODUCT_BACKEND = "onnxruntime"
"""Backend without its own efficiency rows, because the products are timed without a framework."""

_QUANTITIES = ("macs", "flops", "threads", "m", "n", "k", "groups")
"""Quantities of a step, by their names in `schema.workload.Term`."""


def times(
    connection: duckdb.DuckDBPyConnection,
    products: pl.DataFrame,
    hardware: list[str],
    precision: str,
    efficiency: pl.DataFrame | None = None,
    overrides: dict[str, pl.DataFrame] | None = None,
    cache_states: tuple[str, ...] = ("warm",),
) -> pl.DataFrame:
    """Predict the time of every matrix product on every part: columns `m, n, k, hardware, cache_state, device_s` and the view's
    columns on tile and bound. `products` has `m, n, k` and, optionally, `gemm_count`. The activation counts as the result of an
    earlier kernel, the weight does not."""
    shapes = numbered(products)
    with product_bench(connection, shapes, hardware, precision, efficiency, overrides, cache_states) as bench:
        return shapes.join(read(bench), on="operator_id")


def numbered(products: pl.DataFrame) -> pl.DataFrame:
    """Number the distinct products by `operator_id`."""
    shapes = products.unique(maintain_order=True).with_row_index("operator_id")
    shapes = shapes.with_columns(pl.col("operator_id").cast(pl.Int64))
    return shapes if "gemm_count" in shapes.columns else shapes.with_columns(gemm_count=pl.lit(1.0))


def product_bench(
    connection: duckdb.DuckDBPyConnection,
    shapes: pl.DataFrame,
    hardware: list[str],
    precision: str,
    efficiency: pl.DataFrame | None = None,
    overrides: dict[str, pl.DataFrame] | None = None,
    cache_states: tuple[str, ...] = ("warm",),
) -> Workbench:
    """Make a workbench of numbered products, for `read`."""
    macs = pl.col("gemm_count") * pl.col("m") * pl.col("n") * pl.col("k")
    operators = shapes.select(
        "operator_id", "m", "n", "k", operator_class=pl.lit("linear"), step_class=pl.lit("gemm"), macs=macs, flops=2.0 * macs,
        threads=pl.col("gemm_count") * pl.col("m") * pl.col("n"), groups=pl.col("gemm_count"),
        read_elements=pl.col("gemm_count") * pl.col("m") * pl.col("k"),
        weight_elements=pl.col("gemm_count") * pl.col("k") * pl.col("n"),
        written_elements=pl.col("gemm_count") * pl.col("m") * pl.col("n"),
    )  # fmt: skip
    stand_ins = tables(operators, precision, PRODUCT_BACKEND) | (overrides or {})
    return _bench(connection, stand_ins, hardware, precision, PRODUCT_BACKEND, efficiency, cache_states)


def operator_times(
    connection: duckdb.DuckDBPyConnection,
    operators: pl.DataFrame,
    hardware: list[str],
    precision: str,
    backend: str,
    efficiency: pl.DataFrame | None = None,
    overrides: dict[str, pl.DataFrame] | None = None,
    cache_states: tuple[str, ...] = ("warm",),
    steps: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Predict the time of every operator on every part, with the view's columns on tile and bound.

    `operators` has `operator_id, operator_class, step_class`, the quantities `macs, flops, threads, m, n, k, groups` (null if not
    applicable) and the elements that cross its border: `read_elements` (results of an earlier kernel), `weight_elements`,
    `written_elements`. For operators of several steps, `steps` has class and quantities, with `operator_id, step` and these
    columns.
    """
    stand_ins = tables(operators, precision, backend, steps) | (overrides or {})
    with _bench(connection, stand_ins, hardware, precision, backend, efficiency, cache_states) as bench:
        return read(bench)


def read(bench: Workbench) -> pl.DataFrame:
    """Read every operator's costs on every part under every cache state."""
    return bench.sql(
        """
        SELECT c.anchor_operator_id AS operator_id, c.hardware, c.cache_state,
            c.unlimited_s + c.kernel_gap_s AS device_s, c.compute_s, c.memory_s,
            c.dynamic_energy_j / NULLIF(c.tdp_w - c.static_w, 0) AS power_s,
            c.memory_level, m.unit, m.strategy, m.tile_m, m.tile_n, m.tile_k, m.waves, c.utilization_fraction, c.kernel_gap_s,
            t.host_kernel_s, t.host_view_s
        FROM kernel_cost AS c
        INNER JOIN part_support AS t
            ON t.hardware = c.hardware AND t.backend = c.run.backend AND t.precision = c.run.precision
        INNER JOIN kernel_mapping AS m
            ON m.model = c.run.model AND m.scenario_id = c.run.scenario_id AND m.hardware = c.hardware AND m.kernel_id = c.kernel_id
        """
    )


def _bench(
    connection: duckdb.DuckDBPyConnection,
    stand_ins: dict[str, pl.DataFrame],
    hardware: list[str],
    precision: str,
    backend: str,
    efficiency: pl.DataFrame | None,
    cache_states: tuple[str, ...],
) -> Workbench:
    cases = pl.DataFrame({"hardware": hardware}).with_columns(
        model=pl.lit(MODEL), backend=pl.lit(backend), precision=pl.lit(precision),
        memory_format=pl.lit("nchw"), batch=pl.lit(1, pl.Int64), sequence=pl.lit(None, pl.Int64), host_factor=pl.lit(1.0),
    ).join(pl.DataFrame({"cache_state": cache_states}), how="cross")  # fmt: skip
    return Workbench(connection, cases, efficiency, stand_ins)


def tables(
    operators: pl.DataFrame, precision: str, backend: str, steps: pl.DataFrame | None = None
) -> dict[str, pl.DataFrame]:
    """Make the workload and compiled tables of a model whose kernels are the given operators; `steps` as in `operator_times`."""
    listed = operators.with_columns(model=pl.lit(MODEL))
    steps = listed.with_columns(step=pl.lit("main")) if steps is None else steps.with_columns(model=pl.lit(MODEL))
    tensors = _tensors(listed, precision)
    made: dict[type[Row], pl.DataFrame] = {
        Model: _model(),
        Operator: listed.select(
            "model", "operator_id", "operator_class", operator=pl.format("{}_{}", "operator_class", "operator_id"),
            aten_operator=pl.lit("bare"), module_id=pl.lit(0), stage=pl.lit(0), rule=pl.lit("bare"),
            is_view=pl.lit(False), is_inplace=pl.lit(False), is_size_bound=pl.lit(False),
            is_backward=pl.lit(False), is_repeated=pl.lit(False),
        ),
        OperatorStep: steps.select("model", "operator_id", "step", "step_class"),
        Term: _terms(steps),
        Tensor: tensors,
        TensorTerm: tensors.select("model", "tensor_id", "coefficient", *_POWERS),
        AccessTerm: pl.DataFrame(),
        OperatorLayout: pl.DataFrame(),
        LayoutCopy: pl.DataFrame(),
        PrecisionCast: pl.DataFrame(),
        ReadPrecision: pl.DataFrame(),
        TensorPrecision: tensors.select("model", "tensor_id", policy=pl.lit(precision), precision=pl.lit(precision)),
        OperatorPrecision: listed.select("model", "operator_id", policy=pl.lit(precision), precision=pl.lit(precision)),
        Kernel: listed.select(
            "model", backend=pl.lit(backend), kernel_id=pl.col("operator_id"), kernel=pl.col("operator_class"),
            anchor_operator_id=pl.col("operator_id"), kernel_class=pl.col("operator_class"), operator_count=pl.lit(1),
            view_count=pl.lit(0), stage=pl.lit(0),
        ),
        KernelOperator: listed.select(
            "model", "operator_id", backend=pl.lit(backend), kernel_id=pl.col("operator_id"), is_folded=pl.lit(False)
        ),
        KernelTensor: tensors.select(
            "model", "tensor_id", "direction", "operator_id", backend=pl.lit(backend), role=pl.col("border_role"),
            kernel_id=pl.col("operator_id"), is_produced=pl.col("role") == "activation", is_wide=pl.lit(False),
        ),
    }  # fmt: skip
    return {row_type.TABLE: store.conform(frame, row_type) for row_type, frame in made.items()}


_POWERS = tuple(pl.lit(0).alias(f"{name}_power") for name in ("batch", "sequence", "context", "logit"))


def _model() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "model": [MODEL], "source": ["synthetic:bare"], "architecture_family": ["bare"],
            "input_signature": [""], "is_batch_symbolic": [True], "is_sequence_symbolic": [False], "has_context": [False],
            "is_training": [False], "default_batch": [1], "default_sequence": [1], "parameter_count": [0], "planned_format": ["nchw"],
            "content_hash": [""], "rules_fingerprint": [""], "charz_version": [""], "ingest_s": [0.0],
        }
    )  # fmt: skip


def _terms(steps: pl.DataFrame) -> pl.DataFrame:
    """Convert every quantity of every step to a constant term."""
    return pl.concat(
        steps.filter(pl.col(name).is_not_null()).select(
            "model", "operator_id", "step", quantity=pl.lit(name), coefficient=pl.col(name).cast(pl.Float64)
        ).with_columns(*_POWERS)
        for name in _QUANTITIES
    )  # fmt: skip


def _tensors(operators: pl.DataFrame, precision: str) -> pl.DataFrame:
    """Make the input, weight and result tensors of every operator."""
    sides = (
        ("input", "read", "activation", "read_elements"),
        ("weight", "read", "weight", "weight_elements"),
        ("output", "write", "activation", "written_elements"),
    )
    frames = [
        operators.filter(pl.col(elements) > 0).select(
            "model", "operator_id",
            tensor_id=pl.col("operator_id") * 3 + index,
            tensor=pl.format("{}_{}", pl.lit(border_role), "operator_id"),
            producer_operator_id=pl.col("operator_id") if direction == "write" else pl.lit(None, pl.Int64),
            role=pl.lit(role), is_output=pl.lit(direction == "write"), precision=pl.lit(precision),
            shape=pl.format("[{}]", elements), is_batch_first=pl.lit(False), is_size_bound=pl.lit(False),
            is_trained=pl.lit(False),
            border_role=pl.lit(border_role), direction=pl.lit(direction),
            coefficient=pl.col(elements).cast(pl.Float64),
        )
        for index, (border_role, direction, role, elements) in enumerate(sides)
    ]  # fmt: skip
    return pl.concat(frames).with_columns(*_POWERS, storage_tensor_id=pl.col("tensor_id"))
