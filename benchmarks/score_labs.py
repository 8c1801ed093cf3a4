"""Errors on the results of other laboratories than timm, where nothing was fitted to what is scored.

    python -m benchmarks.score_labs DATABASE [--measurements ../shared/measurements] [--markdown docs/validation-labs.md]

DATABASE gets the models that it lacks, and the rows. A part or a model is left out in turn: the rows of the part itself go, the
shares that TensorRT and OpenVINO reach (`charz_latency_fit`) are scaled anew, and the factor on a laboratory's host time is chosen,
each without what is left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

import charz
from charz.hardware_catalog.calibration import errors, validation
from charz.hardware_catalog.calibration.kernels import Floats
from charz.hardware_catalog.calibration.questions import SCORED
from charz.hardware_catalog.calibration.rows import shared_rows
from charz.hardware_catalog.calibration.shipped import live
from charz.hardware_catalog.calibration.workbench import Workbench, measured_cases
from charz.session import workspace

from . import page
from .ingest_timm import take_in

OTHERS = f"({SCORED}) AND x.source_id NOT LIKE 'timm:%' AND x.batch IS NOT NULL AND x.hardware IS NOT NULL"
"""Condition on rows of `measurement` (alias `x`): those scored here."""

TABLE = "huggingface/transformers"
"""Hugging Face's table of vision models under `torch.compile`."""

SCALED = ("tensorrt", "openvino")
"""Backends with shares of that fit."""

LATENCY_FIT = "charz_latency_fit"

SCALES = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2)
"""Of the shares that `charz_latency_fit` found; what would be above the peak is the peak."""

TWO_SOCKETS = "xeon_8490h_2s"

HOST_FACTORS, DEVICE_FACTORS = np.geomspace(0.5, 4.0, 25), np.geomspace(0.5, 2.0, 29)

NAMED = ("t4", "a10", "l4", "a2")

HOSTED = ("jetson_nano", "jetson_orin_nx_16", "l4", "h100_sxm5_80")
"""Parts with hosts of four kinds."""

FIGURES = ["rows", "median_error", "p90_error", "bias", "within_30_fraction"]


TEXT = (
    "Written by `python -m benchmarks.score_labs DATABASE --markdown docs/validation-labs.md`; do not edit.",
    "Runs of whole models that timm did not publish: NVIDIA's DeepLearningExamples, MLPerf's single streams, torch2trt, Hugging"
    " Face's table of `torch.compile`, OpenVINO's benchmarks, NeuSight. Columns as in [validation](validation.md).",
    "Left out means: rows of efficiency of the part itself are gone, the shares that TensorRT's and OpenVINO's kernels reach are"
    " scaled anew on what is left, and the factor on the host's time, one a data set, is chosen on what is left; a data set whose"
    " other rows do not wait for the host has the usual host of each part.",
    "Causes, as far as they were found. XLA on GPUs: at large batches these TensorFlow runs take as long as PyTorch's eager kernels"
    " one by one (ResNet-50 in half precision: a T4 within 0.11 of charz's eager time from batch 16 on, a V100 of 32 GB within 0.25),"
    " so neither folded normalizations nor fewer passes are seen in them; the A100's are slower than the V100's at batch 32. Priced"
    " as inductor's kernels at eager's shares they come to a median error of 0.68 where the rules that ship have 0.66. The A100 under"
    " `torch.compile` waits for its host (ResNet-50 at batch 1, 4 and 16: 4.1, 4.3 and 5.0 ms). Products' shares of single operators,"
    " measured under eager, lent to inductor as one library's: V100 0.08 to 0.11, A100 0.12 to 0.24 at batches above 1, T4 as before:"
    " not taken. GPT-2 and OPT fell by 0.05 to 0.08 when a causal mask began to save what kernels skip. Two sockets: not found;"
    " BERT-base is furthest off.",
)


def main() -> None:
    """Fill, score, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("--measurements", type=Path, default=Path("../shared/measurements"))
    parser.add_argument("--rows", type=Path, help="write every scored row there, as parquet")
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    page.print_wide(3)
    fill(given.database, given.measurements)
    with workspace.read(given.database) as connection:
        tables = score(connection)
    for heading, frame in tables:
        print(heading, frame, sep="\n")
    if given.markdown is not None:
        page.write(given.markdown, "Validation on the results of other laboratories", TEXT, tables)


def fill(database: Path, folder: Path) -> None:
    """Take the measurements in, and ingest the models of those scored that the file lacks."""
    take_in(database, folder)
    with charz.open(database) as db:
        wanted = db.sql(
            f"SELECT DISTINCT x.model_source, x.resolution FROM measurement AS x WHERE {OTHERS} AND x.model_source LIKE '%:%'"
            " ORDER BY ALL"
        )
        names = [f"{name}@{side}" if name.startswith("timm:") and side else name for name, side in wanted.iter_rows()]
        db.ingest(list(dict.fromkeys(names)), no_answers=True)


def score(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, pl.DataFrame]]:
    """Every table of the page."""
    shipped = live.tables()
    cases = measured_cases(connection, OTHERS)
    unseen = {**shipped, "efficiency": shared_rows(shipped["efficiency"])}
    parts = left_out(connection, cases, unseen, "hardware")
    models = left_out(connection, cases.filter(source_id=TABLE), shipped, "model")
    named = parts.filter(pl.col("hardware").is_in(NAMED))
    return [
        ("T4, A10, L4 and A2, each left out", _table(named, "hardware", "backend", "precision")),
        ("The same four by model", _table(named, "hardware", "backend", "model")),
        ("Every part left out", _table(parts, "hardware", "backend")),
        ("Hugging Face's table, each model left out", _table(models, "hardware", "backend")),
        (
            "Hugging Face's table, host and device of each part and backend scaled on the other models",
            _table(scaled(models), "hardware", "backend"),
        ),
        ("Hugging Face's table by model", _table(models, "model", "backend")),
        (
            "GPT-2 and its kin, parts left out",
            _table(parts.filter(source_id="sitar-lab/NeuSight"), "model", "hardware"),
        ),
        ("OpenVINO at batch 1", openvino(parts.filter(backend="openvino"))),
        ("Two sockets of a Xeon 8490H", two_sockets(connection, cases, shipped)),
        ("Host time of ResNet-50 at batch 1, compiled", hosts(connection)),
        ("Bands by standing, parts left out", standings(connection, parts)),
    ]


def left_out(
    connection: duckdb.DuckDBPyConnection, cases: pl.DataFrame, tables: dict[str, pl.DataFrame], column: str
) -> pl.DataFrame:
    """The cases, those of each value of a column predicted by what was chosen without them."""
    is_scaled = pl.col("backend").is_in(SCALED)
    found = [_with_share(connection, group, tables, column) for group in cases.filter(is_scaled).partition_by("backend")]
    rest = cases.filter(~is_scaled)
    first = _predicted(connection, rest, tables)
    chosen = [
        validation.host_factors(first.filter(pl.col(column) != value)).with_columns(pl.lit(value).alias(column))
        for value in first[column].unique().sort()
    ]
    factors = pl.concat(chosen).rename({"host_factor": "chosen"})
    hosted = rest.join(factors, on=["source_id", column], how="left")
    hosted = hosted.with_columns(host_factor=pl.col("chosen").fill_null(1.0)).drop("chosen")
    return pl.concat([_predicted(connection, hosted, tables), *found], how="diagonal_relaxed")


def _with_share(
    connection: duckdb.DuckDBPyConnection, cases: pl.DataFrame, tables: dict[str, pl.DataFrame], column: str
) -> pl.DataFrame:
    """The cases of a backend whose kernels' share was fitted, with a scale on it that leaves those of a value out."""
    by_scale = [_predicted(connection, cases, {**tables, "efficiency": _efficiency(tables, s)}) for s in SCALES]
    found = []
    for value in cases[column].unique().sort():
        misses = [np.median(np.abs(_miss(frame.filter(pl.col(column) != value)))) for frame in by_scale]
        best = int(np.argmin(misses))
        found.append(by_scale[best].filter(pl.col(column) == value).with_columns(scale=pl.lit(SCALES[best])))
    return pl.concat(found)


def _miss(frame: pl.DataFrame) -> Floats:
    """Logarithm of predicted over measured of the rows that have both."""
    return errors.with_log_ratio(frame)[errors.LOG_RATIO].to_numpy()


def _efficiency(tables: dict[str, pl.DataFrame], scale: float) -> pl.DataFrame:
    fraction = pl.col("maximum_fraction")
    is_fitted = pl.col("source_id") == LATENCY_FIT
    scaled = pl.when(is_fitted).then((fraction * scale).clip(upper_bound=1.0)).otherwise(fraction)
    return tables["efficiency"].with_columns(maximum_fraction=scaled)


def _predicted(
    connection: duckdb.DuckDBPyConnection, cases: pl.DataFrame, tables: dict[str, pl.DataFrame]
) -> pl.DataFrame:
    with Workbench(connection, cases, overrides=tables) as bench:
        return bench.predict(validation.COLUMNS)


def scaled(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of a part and backend with one factor on the host's time and one on the device's, those of each model by the two that
    suit the other models' rows best."""
    found = []
    for own in frame.partition_by("hardware", "backend"):
        for name in own["model"].unique().sort():
            others, rows = own.filter(pl.col("model") != name), own.filter(model=name)
            pairs = [(host, device) for host in HOST_FACTORS for device in DEVICE_FACTORS]
            misses = [
                np.mean(np.abs(np.log(_latency_s(others, *pair) / others["measured_s"].to_numpy()))) for pair in pairs
            ]
            best = pairs[int(np.argmin(misses))]
            found.append(rows.with_columns(latency_s=pl.Series(_latency_s(rows, *best))))
    return pl.concat(found)


def _latency_s(frame: pl.DataFrame, host_factor: float, device_factor: float) -> Floats:
    device, host, kernels = (frame[name].to_numpy() for name in ("device_s", "host_issue_s", "kernel_count"))
    return validation.queued_s(device * device_factor, host * host_factor, kernels)


def _table(frame: pl.DataFrame, *by: str) -> pl.DataFrame:
    return errors.table(frame, by).select(*by, *FIGURES)


def openvino(parts: pl.DataFrame) -> pl.DataFrame:
    """Rows with a batch: as they come, and with one factor for the source."""
    one = parts.with_columns(latency_s=pl.col("latency_s") / np.exp(np.median(_miss(parts))))
    told = {"parts left out": parts, "one factor besides": one}
    return pl.concat(_table(frame.with_columns(what=pl.lit(what)), "what", "precision") for what, frame in told.items())


def two_sockets(
    connection: duckdb.DuckDBPyConnection, cases: pl.DataFrame, shipped: dict[str, pl.DataFrame]
) -> pl.DataFrame:
    """From documents alone, as it ships, and with one factor that each model's rows are left out of."""
    own = cases.filter(pl.col("hardware") == TWO_SOCKETS)
    documents = {**shipped, "efficiency": shipped["efficiency"].filter(confidence="assumed")}
    ships = _predicted(connection, own, shipped)
    others = [float(np.median(_miss(ships.filter(pl.col("model") != name)))) for name in ships["model"]]
    fitted = ships.with_columns(latency_s=pl.col("latency_s") / pl.Series(others).exp())
    told = {
        "documents alone": _predicted(connection, own, documents),
        "as it ships": ships,
        "one factor, model left out": fitted,
    }
    return pl.concat(
        _table(frame.with_columns(what=pl.lit(what)), "what", "model", "precision") for what, frame in told.items()
    )


def hosts(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """What each part's usual host takes to issue ResNet-50."""
    cases = pl.DataFrame({"hardware": HOSTED}).with_columns(
        model=pl.lit("resnet50"), backend=pl.lit("inductor"), precision=pl.lit("fp16"), memory_format=pl.lit("nchw"),
        batch=pl.lit(1, pl.Int64), sequence=pl.lit(None, pl.Int64), host_factor=pl.lit(1.0),
    )  # fmt: skip
    with Workbench(connection, cases) as bench:
        found = bench.predict(("host_issue_s", "device_s", "latency_s"))
    milliseconds = [(pl.col(f"{name}_s") * 1e3).alias(f"{name}_ms") for name in ("host_issue", "device", "latency")]
    return found.select("hardware", *milliseconds)


def standings(connection: duckdb.DuckDBPyConnection, rows: pl.DataFrame) -> pl.DataFrame:
    """What the shipped bands cover, and their mean width in logarithms beside three times the p90 of their standing."""
    bands = connection.sql(
        "SELECT hardware, backend, batch_class, low_factor, high_factor, band_basis FROM part_band WHERE quantity = 'latency'"
    ).pl()
    joined = errors.with_log_ratio(rows.with_columns(batch_class=errors.batch_class())).join(
        bands, on=["hardware", "backend", "batch_class"]
    )
    return errors.band_table(joined, ["band_basis", "backend"])


if __name__ == "__main__":
    main()
