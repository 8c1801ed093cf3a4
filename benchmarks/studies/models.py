"""Runs of whole models, measured by timm, by other laboratories and by charz on an H200."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from benchmarks.makers import live, timm
from benchmarks.makers.ingest_timm import take_in
from benchmarks.study import Given
from charz.hardware_catalog.calibration import calibrate, errors, validation
from charz.hardware_catalog.calibration.kernels import Floats
from charz.hardware_catalog.calibration.questions import SCORED
from charz.hardware_catalog.calibration.rows import shared_rows
from charz.hardware_catalog.calibration.workbench import Workbench, measured_cases

FOLDER = Path(__file__).parents[1]
_BAND = ("p10_s", "p90_s")
_LEFT = "family left out"


def _of(frame: pl.DataFrame, family: str, standing: str, predicted: str = "latency_s") -> pl.DataFrame:
    """Rename a validated frame's columns."""
    kept = [name for name in _BAND if name in frame.columns]
    return frame.select(
        "hardware", *kept, _backend(frame), pl.col(family).alias("family"), pl.col("measured_s").alias("measured"), pl.col(predicted).alias("predicted"),
        pl.lit(standing).alias("standing"),
    )  # fmt: skip


def _backend(frame: pl.DataFrame) -> pl.Expr:
    """Name the backend with the memory format and the version of the framework, if rows have them."""
    return pl.concat_str([name for name in ("backend", "memory_format", "software") if name in frame.columns], separator=" ", ignore_nulls=True)


def shipped(given: Given) -> pl.DataFrame:
    """Predict every measured run of the file. The rows of a data set share one factor on the host's time."""
    with given.connection() as connection:
        return _of(validation.validate(connection, SCORED), "architecture_family", "as shipped, fits saw part")


def left_out(given: Given) -> pl.DataFrame:
    """Predict timm's results by fits without the model's family, and without the part."""
    with given.connection() as connection:
        families, parts = timm.calibrations(connection, 1.0, 10)
        bands = connection.sql("SELECT * FROM part_band WHERE quantity = 'latency'").pl()
    found = []
    for calibrations, column, standing in (
        (families, "family_out_s", _LEFT),
        (families, "part_out_s", "part left out"),
        (parts, "family_out_s", f"{_LEFT}, fit of the part"),
    ):
        for fitted in calibrations:
            if column in fitted.cases.columns:
                cases = fitted.cases.with_columns(batch_class=errors.batch_class())
                cases = cases.join(bands, on=["hardware", "backend", "batch_class"], how="left").with_columns(
                    p10_s=pl.col(column) * pl.col("low_factor"), p90_s=pl.col(column) * pl.col("high_factor")
                )
                found.append(_of(cases, "architecture_family", standing, column))
    return pl.concat(found)


OTHERS = f"({SCORED}) AND x.source_id NOT LIKE 'timm:%' AND x.batch IS NOT NULL AND x.hardware IS NOT NULL"
"""Condition on rows of `measurement` (alias `x`) of laboratories other than timm."""
SCALED = ("tensorrt", "openvino")
"""Backends whose kernels' share of the peak was fitted to batch-1 latencies."""
SCALES = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2)
"""Factors tried on these shares."""


def labs(given: Given) -> pl.DataFrame:
    """Predict other laboratories' runs, each part left out in turn.

    A part left out has no efficiency rows of its own. The shares of TensorRT's and OpenVINO's kernels and the factor on the
    host's time of a data set are fitted to the other parts.
    """
    take_in(given.file, given.measurements)
    with given.session() as db:
        wanted = db.sql(
            f"SELECT DISTINCT x.model_source, x.resolution FROM measurement AS x WHERE {OTHERS} AND x.model_source LIKE '%:%' ORDER BY ALL"
        )
    given.ingested(f"{name}@{side}" if name.startswith("timm:") and side else name for name, side in wanted.iter_rows())
    with given.connection() as connection:
        tables = live.tables()
        tables["efficiency"] = shared_rows(tables["efficiency"])
        cases = measured_cases(connection, OTHERS)
        is_scaled = pl.col("backend").is_in(SCALED)
        found = [_with_share(connection, group, tables) for group in cases.filter(is_scaled).partition_by("backend")]
        rest = cases.filter(~is_scaled)
        first = _predicted(connection, rest, tables)
        chosen = [
            validation.host_factors(first.filter(pl.col("hardware") != part)).with_columns(hardware=pl.lit(part))
            for part in first["hardware"].unique().sort()
        ]
        factors = pl.concat(chosen).rename({"host_factor": "chosen"})
        hosted = rest.join(factors, on=["source_id", "hardware"], how="left")
        hosted = hosted.with_columns(host_factor=pl.col("chosen").fill_null(1.0)).drop("chosen")
        rows = pl.concat([_predicted(connection, hosted, tables), *found], how="diagonal_relaxed")
        rows = validation.with_bands(connection, rows)
    return _of(rows, "model", "part left out")


def _with_share(connection: duckdb.DuckDBPyConnection, cases: pl.DataFrame, tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Predict a backend's cases, each part's with the scale that fits the other parts best."""

    def miss(frame: pl.DataFrame) -> Floats:
        return errors.with_log_ratio(frame)[errors.LOG_RATIO].abs().to_numpy()

    def scaled(scale: float) -> pl.DataFrame:
        fraction, is_fitted = pl.col("maximum_fraction"), pl.col("source_id") == "charz_latency_fit"
        changed = pl.when(is_fitted).then((fraction * scale).clip(upper_bound=1.0)).otherwise(fraction)
        return _predicted(connection, cases, tables | {"efficiency": tables["efficiency"].with_columns(maximum_fraction=changed)})

    by_scale = [scaled(scale) for scale in SCALES]
    found = []
    for part in cases["hardware"].unique().sort():
        best = int(np.argmin([np.median(miss(frame.filter(pl.col("hardware") != part))) for frame in by_scale]))
        found.append(by_scale[best].filter(hardware=part))
    return pl.concat(found)


def _predicted(connection: duckdb.DuckDBPyConnection, cases: pl.DataFrame, tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    with Workbench(connection, cases, overrides=tables) as bench:
        return bench.predict(validation.COLUMNS)


H200, SOURCE = "h200_sxm_141", "h200"
FITTED = f"x.mode = 'run' AND x.source_id = '{SOURCE}' AND x.backend = 'eager' AND x.batch >= 16"
"""Condition that selects rows to which the part's own efficiencies are fitted."""


def h200(given: Given) -> pl.DataFrame:
    """Predict the models of `measured/h200_models.csv`: as shipped, as an unmeasured part, and with families left out."""
    path = FOLDER / "measured" / "h200_models.csv"
    rows = pl.read_csv(path)
    wanted: dict[int | None, list[str]] = defaultdict(list)
    for name, side in rows.select("model_source", "resolution").unique(maintain_order=True).iter_rows():
        wanted[side if name.startswith("timm:") else None].append(name)
    for side, names in wanted.items():
        given.ingested(names, resolution=side)
    with given.session() as db:
        db.measurements.import_(path, map=[f"{name}={name}" for name in rows.columns], source=SOURCE)
    where = f"x.source_id = '{SOURCE}'"
    with given.connection() as connection:
        found = [
            _of(validation.validate(connection, where, is_family_only=alone), "architecture_family", standing)
            for alone, standing in ((False, "as shipped, fits saw part"), (True, "part not measured"))
        ]
        (fitted,) = calibrate.fit(connection, f"hardware:{H200}", backends=["eager"], where=FITTED)
    return pl.concat([*found, _of(fitted.cases, "architecture_family", _LEFT, "family_out_s")], how="diagonal")


def makers(given: Given) -> pl.DataFrame:
    """Predict ResNet-50 on parts without measured rows, to compare with their makers' figures."""
    given.ingested(["torchvision:resnet50"])
    found = []
    with given.session() as db:
        families = dict(db.sql("SELECT hardware, family FROM hardware").iter_rows())
        for row in pl.read_csv(FOLDER / "parts_published.csv").iter_rows(named=True):
            answer = db.report("resnet50", on=row["hardware"], precision=row["precision"], batch=row["batch"])
            found += [
                (row["hardware"], one["backend"], families[row["hardware"]], row["samples_per_s"], row["batch"] / one["latency_s"])
                for one in answer.iter_rows(named=True)
                if one["latency_s"]
            ]
    return pl.DataFrame(found, ["hardware", "backend", "family", "measured", "predicted"], orient="row")
