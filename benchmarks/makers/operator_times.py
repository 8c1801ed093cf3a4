"""Predictions of measured single operators, each as one kernel through the same SQL as a network.

A file gives an operator's shapes, not its network, so views are recognized by name and the operands of every kernel count as just
written. The time of a node between two events is the host's time to issue it, then the device's to run it.
"""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl

from charz.hardware_catalog.calibration.kernels import neutral
from charz.ingest.measurements import operator_shape
from charz.schema.catalog.efficiency import Efficiency

from . import bare

_ELEMENT_BYTE = 4
"""Size of an element in fp32, the precision of every operator file read so far. [byte]"""

_HOST_FACTORS = np.exp(np.linspace(np.log(0.1), np.log(5.0), 79))


def predicted(
    connection: duckdb.DuckDBPyConnection,
    where: str = "TRUE",
    efficiency: pl.DataFrame | None = None,
    overrides: dict[str, pl.DataFrame] | None = None,
    host_factor_by_machine: bool = True,
) -> pl.DataFrame:
    """Return measured fp32 operators on known parts with the prediction `latency_s` and `measured_s`.

    Nodes that run no kernel cost the host's time of a view. With `host_factor_by_machine` the rows of a data set on one part
    share a factor on the host's time, because each part was in another host, which the rows do not name.
    """
    rows = measured(connection, where)
    if not len(rows):
        return rows
    times = bare.operator_times(
        connection,
        rows.filter(~pl.col("is_view")).select(_BORDER).unique("operator_id"),
        rows["hardware"].unique().sort().to_list(),
        "fp32",
        "eager",
        efficiency,
        overrides,
    )
    hosts = times.select("hardware", "host_kernel_s", "host_view_s").unique()
    joined = (
        rows.join(times.drop("host_kernel_s", "host_view_s"), on=["operator_id", "hardware"], how="left")
        .join(hosts, on="hardware")
        .with_columns(
            host_s=pl.when("is_view").then("host_view_s").otherwise("host_kernel_s"),
            device_s=pl.col("device_s").fill_null(0.0),
        )
    )
    if host_factor_by_machine:
        joined = joined.join(_host_factors(joined), on=["source", "hardware"])
    else:
        joined = joined.with_columns(host_factor=pl.lit(1.0))
    return joined.with_columns(latency_s=pl.col("host_s") * pl.col("host_factor") + pl.col("device_s"))


_BORDER = [
    "operator_id", "operator_class", "step_class", "macs", "flops", "threads", "m", "n", "k", "groups",
    "read_elements", "weight_elements", "written_elements",
]  # fmt: skip


def measured(connection: duckdb.DuckDBPyConnection, where: str) -> pl.DataFrame:
    """Read the operators whose shapes determine their work, numbered by distinct shape in `operator_id`."""
    rows = connection.sql(
        f"""
        SELECT model, operator, shape, hardware, source_id, latency_s AS measured_s,
            operator_class AS stated_class
        FROM operator_measurement AS x
        WHERE hardware IS NOT NULL AND latency_s > 0 AND precision = 'fp32' AND ({where})
        """
    ).pl()
    if not len(rows):
        return rows
    rows = rows.with_columns(is_training=pl.col("source_id").str.ends_with(":train"))
    keys = ["operator", "shape", "stated_class", "is_training"]
    shapes = rows.select(keys).unique(maintain_order=True).with_row_index("operator_id")
    work = pl.Series("work", [_work(*row) for _, *row in shapes.iter_rows()], dtype=operator_shape.WORK)
    described = shapes.with_columns(pl.col("operator_id").cast(pl.Int64), work).unnest("work")
    element = pl.lit(_ELEMENT_BYTE)
    columns = described.with_columns(
        is_view=pl.col("operator_class") == "view",
        step_class=pl.when(pl.col("m") > 0).then(pl.lit("gemm")).when(pl.col("flops") > 0).then(pl.lit("vector"))
        .otherwise(pl.lit("move")),
        groups=pl.col("gemm_count"),
        threads=pl.coalesce(pl.col("gemm_count") * pl.col("m") * pl.col("n"), pl.col("written_byte") / element),
        read_elements=(pl.col("traffic_byte") - pl.col("weight_byte") - pl.col("written_byte")) / element,
        weight_elements=pl.col("weight_byte") / element,
        written_elements=pl.col("written_byte") / element,
    )  # fmt: skip
    known = columns.filter(pl.col("operator_class") != "unknown")
    return rows.join(known, on=keys).with_columns(
        # Rows of one laboratory share a source, such as training and inference rows.
        source=pl.col("source_id").str.replace(r":[^:]*$", "")
    )


def _work(operator: str, shape: str, stated_class: str, is_training: bool) -> operator_shape.Work:
    """Return the work of a row of `operator_measurement` from any file."""
    if " -> " not in shape:
        return operator_shape.from_text(operator, shape, "fp32")
    kind, _, target = operator.partition(":")
    inputs, _, output = shape.partition(" -> ")
    dtype = None if stated_class == "view" else "torch.float32"
    return operator_shape.from_fx_node(kind, target, inputs, output, dtype, is_training)


def _host_factors(rows: pl.DataFrame) -> pl.DataFrame:
    """Fit for each machine the factor with the least median error of its short rows: `source, hardware, host_factor`."""
    short = rows.filter(pl.col("device_s") < pl.col("host_s"))
    found = []
    for (source, part), group in short.group_by("source", "hardware"):
        host, device, measured_s = (group[c].to_numpy() for c in ("host_s", "device_s", "measured_s"))
        errors = [np.median(np.abs(np.log((f * host + device) / measured_s))) for f in _HOST_FACTORS]
        found.append((source, part, float(_HOST_FACTORS[int(np.argmin(errors))])))
    schema = {"source": pl.String, "hardware": pl.String, "host_factor": pl.Float64}
    machines = rows.select("source", "hardware").unique()
    chosen = pl.DataFrame(found, schema=schema, orient="row")
    return machines.join(chosen, on=["source", "hardware"], how="left").with_columns(
        pl.col("host_factor").fill_null(1.0)
    )


def efficiencies(
    connection: duckdb.DuckDBPyConnection,
    where: str,
    efficiency: pl.DataFrame,
    source_id: str,
    overrides: dict[str, pl.DataFrame] | None = None,
    classes: tuple[str, ...] = ("linear", "matmul", "norm", "softmax", "elementwise", "activation"),
    least_rows: int = 8,
) -> list[Efficiency]:
    """Make eager efficiency rows of the measured parts, numbered from 1: for each class and resource the median share of the
    ideal time, over operators that take at least ten times the host's time."""
    residency = efficiency.select(list(Efficiency.model_fields)).filter(pl.col("resource") == "residency")
    ideal = predicted(connection, where, neutral(0.0, residency), overrides)
    if not len(ideal):
        return []
    host_s = pl.col("host_s") * pl.col("host_factor")
    long = ideal.filter(pl.col("operator_class").is_in(classes) & (pl.col("measured_s") > 10 * host_s)).with_columns(
        resource=pl.when(pl.col("memory_s") > pl.col("compute_s")).then(pl.lit("memory")).otherwise(pl.col("unit")),
        # An operator bound by both, or by the power limit, shows the efficiency of neither.
        is_clear=((pl.col("memory_s") / pl.col("compute_s")).log().abs() > 0.7)
        & (pl.col("power_s").fill_null(0.0) < 0.7 * pl.col("measured_s")),
        fraction=pl.max_horizontal("memory_s", "compute_s") / (pl.col("measured_s") - host_s),
    )
    clear = pl.col("is_clear")
    found = (
        long.group_by("hardware", "operator_class", "resource")
        .agg(pl.col("fraction").filter(clear).median(), clear.sum().alias("rows"), clear.mean().alias("clear_share"))
        # If another bound limits most operators, the others are not a fair sample.
        .filter((pl.col("rows") >= least_rows) & (pl.col("clear_share") > 0.5))
        .drop("clear_share")
        .sort("hardware", "operator_class", "resource")
    )
    return [
        Efficiency(
            efficiency_id=number, scope=f"hardware:{part}", backend="eager", kernel_class=kernel_class,
            operator_name="*", precision_class="*", memory_format="*",
            resource=resource, maximum_fraction=float(f"{min(1.0, fraction):.3g}"), half_work=0.0, source_id=source_id,
            confidence="measured", note=f"median of {count} single operators in fp32",
        )
        for number, (part, kernel_class, resource, fraction, count) in enumerate(found.iter_rows(), start=1)
    ]  # fmt: skip
