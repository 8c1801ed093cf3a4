"""Predicted power, and times under power limits, against measurements that no rule of energies was fitted on.

    python -m benchmarks.score_power [DATABASE] [--measurements ../shared/measurements] [--networks 45] [--markdown PAGE]

DATABASE is made if it is not there (three language models, ResNet-50, BERT-large and so many of timm's networks, a quarter
of an hour). Four questions:

- Average power of one H100 that serves language models (NVML), against decode steps and their share of prefill.
- Throughput of systems under a power limit over that of the same system without one (MLPerf Offline). The limit is
  what the submitter's configuration sets; it stands in `LIMITS` with the file.
- Time of timm's networks on a board of 300 W whose die ships at 600 W as well.
- Time on boards of at most 150 W, which are always at their limits.
"""

from __future__ import annotations

import argparse
import hashlib
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl

from benchmarks import catalog, ingest_timm, language_models, page, score_energy
from charz.hardware_catalog.calibration import errors
from charz.hardware_catalog.calibration.workbench import Workbench
from charz.ingest.measurements import collection, store
from charz.ingest.run import run
from charz.ingest.sources.spec import Spec, parse
from charz.session import workspace
from charz.sql import maintain

MODELS = ("torchvision:resnet50", "hf:bert-large-uncased")
LANGUAGE_MODELS = ("qwen3-8b", "llama-3.1-8b")
CAPPED = "NVIDIA RTX PRO 6000 Blackwell Max-Q"
SMALL = ("t4", "a2", "a10", "l4")


@dataclass(frozen=True, slots=True)
class Limit:
    """A system of MLPerf that ran under a power limit and without."""

    release: str
    organization: str
    system: str
    limited: str
    hardware: str
    model: str
    source: str
    precision: str
    batch: int
    watt: int
    file: str
    """Configuration that sets the limit."""


_NVIDIA, _DELL, _H3C = "closed/NVIDIA/configs", "closed/Dell/configs", "closed/H3C/configs"
_A2 = ("v3.0", "Dell", "XR4520c_A2x1_TRT", "XR4520c_MaxQ_A2x1_TRT_MaxQ", "a2")
_A30 = ("v2.1", "H3C", "A30x3_R4900G5_TRT", "A30x3_R4900G5_TRT_MaxQ", "a30")
_PCIE = ("v2.1", "NVIDIA", "A100-PCIe-80GBx8_TRT", "A100-PCIe-80GBx8_TRT_MaxQ", "a100_pcie_80")
_SXM = ("v2.1", "NVIDIA", "DGX-A100_A100-SXM-80GBx8_TRT", "DGX-A100_A100-SXM-80GBx8_TRT_MaxQ", "a100_sxm4_80")
_H100 = ("v3.0", "NVIDIA", "H100-PCIe-80GBx8_TRT", "H100-PCIe-80GBx8_TRT_MaxQ", "h100_pcie_80")
_RESNET, _BERT, _BERT_HALF = (
    ("resnet50", MODELS[0], "int8"), ("bert-99", MODELS[1], "int8"), ("bert-99.9", MODELS[1], "fp16"),
)  # fmt: skip
LIMITS = (
    Limit(*_A2, *_RESNET, 1024, 45, f"{_DELL}/resnet50/Offline/custom.py"),
    Limit(*_A2, *_BERT, 256, 45, f"{_DELL}/bert/Offline/custom.py"),
    Limit(*_A30, *_RESNET, 2048, 150, f"{_H3C}/resnet50/Offline/__init__.py"),
    Limit(*_A30, *_BERT, 1024, 150, f"{_H3C}/bert/Offline/__init__.py"),
    Limit(*_A30, *_BERT_HALF, 1024, 150, f"{_H3C}/bert/Offline/__init__.py"),
    Limit(*_PCIE, *_RESNET, 2048, 195, f"{_NVIDIA}/resnet50/Offline/__init__.py"),
    Limit(*_PCIE, *_BERT, 1024, 240, f"{_NVIDIA}/bert/Offline/__init__.py"),
    Limit(*_PCIE, *_BERT_HALF, 1024, 240, f"{_NVIDIA}/bert/Offline/__init__.py"),
    Limit(*_SXM, *_RESNET, 2048, 250, f"{_NVIDIA}/resnet50/Offline/__init__.py"),
    Limit(*_SXM, *_BERT, 1280, 275, f"{_NVIDIA}/bert/Offline/__init__.py"),
    Limit(*_SXM, *_BERT_HALF, 512, 275, f"{_NVIDIA}/bert/Offline/__init__.py"),
    Limit(*_H100, *_RESNET, 2048, 215, f"{_NVIDIA}/resnet50/Offline/__init__.py"),
    Limit(*_H100, *_BERT, 1280, 290, f"{_NVIDIA}/bert/Offline/__init__.py"),
)
FITTED = ("a100_sxm4_80", "h100_pcie_80")
"""Parts whose ratios gave the slope of the voltage: shown, not scored."""


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path, nargs="?", default=Path("power.duckdb"))
    parser.add_argument("--measurements", type=Path, default=Path("../shared/measurements"))
    parser.add_argument(
        "--networks", type=int, default=45, help="networks of timm on the capped board, by a fixed hash"
    )
    parser.add_argument("--markdown", type=Path, help="write the tables to this page")
    return parser.parse_args()


def main() -> None:
    """Print the tables."""
    options = arguments()
    page.print_wide(3)
    rows = {name: pl.read_parquet(options.measurements / f"{name}.parquet") for name in ("models", "models_2")}
    capped = collection.models(rows["models_2"]).filter(pl.col("hardware_name") == CAPPED)
    if not options.database.exists():
        fill(options.database, capped, options.networks)
    with workspace.read(options.database) as connection:
        tables = [
            *served(connection, catalog.published_models(options.measurements)),
            *limited(connection, rows["models"]),
            *timed(connection, capped, "Networks on the board of 300 W", "hardware"),
            *timed(connection, _small(rows["models"]), "Boards that are at their limits", "hardware"),
        ]
    for title, table in tables:
        print(title)
        print(table)
    if options.markdown is not None:
        page.write(options.markdown, "Validation of power", _TEXT, tables)


def fill(database: Path, capped: pl.DataFrame, networks: int) -> None:
    """Ingest the models."""

    def order(spec: Spec) -> str:
        return hashlib.md5(str(spec).encode(), usedforsecurity=False).hexdigest()

    specs = [parse(name) for name in MODELS]
    specs += [spec for spec in language_models.specs() if spec.name in LANGUAGE_MODELS]
    specs += sorted(ingest_timm.wanted(capped), key=order)[:networks]
    workspace.read(database, create=True).close()
    run(
        specs,
        lambda: workspace.change(database),
        maintain.add_runs,
        report=lambda o: print(o.state, o.model, o.message),
    )


def served(connection: duckdb.DuckDBPyConnection, path: Path) -> list[tuple[str, pl.DataFrame]]:
    """Average power while language models are served."""
    models = connection.sql("SELECT model AS named FROM model").pl()
    rows = score_energy.measured(path, prompt=200).filter(
        (pl.col("hardware") == "h100_sxm5_80") & (pl.col("campaign") == "serving 2025")
    )
    rows = rows.join(models, on="named", how="semi").with_columns(
        row=pl.int_range(pl.len()), measured_w=pl.col("measured_j") * pl.col("batch") / pl.col("step_s")
    )
    found = score_energy.predicted(connection, rows, 0.0)
    share = pl.col("batch") / pl.col("answer")
    found = found.with_columns(
        predicted_w=(pl.col("energy_j_decode") + share * pl.col("energy_j_prefill"))
        / (pl.col("latency_s_decode") + share * pl.col("latency_s_prefill"))
    )
    return [("Average power of an H100 that serves", errors.table(found, ["hardware"], "predicted_w", "measured_w"))]


def limited(connection: duckdb.DuckDBPyConnection, raw: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Throughput under a limit over that without."""
    place = pl.col("source_path").str.extract_groups(
        r"closed/(?<organization>[^/]+)/results/(?<system>[^/]+)/[^/]+/Offline/"
    )
    logs = raw.with_columns(place.alias("place"), release=pl.col("source_repo").str.extract(r"_(v[\d.]+)$")).unnest(
        "place"
    )
    rows = []
    for limit in LIMITS:
        of = logs.filter(
            (pl.col("release") == limit.release) & (pl.col("organization") == limit.organization)
            & (pl.col("model") == limit.model)
        )  # fmt: skip
        full, capped = (
            of.filter(pl.col("system") == name)["throughput_per_s"].max() for name in (limit.system, limit.limited)
        )
        rows.append({"limit": limit, "measured": float(capped) / float(full)})  # type: ignore[arg-type]  # a float column
    names = dict(connection.sql("SELECT source, model FROM model").fetchall())
    cases = pl.DataFrame(
        [
            {
                "row": i, "model": names[row["limit"].source], "hardware": row["limit"].hardware, "backend": "tensorrt",
                "precision": row["limit"].precision, "memory_format": "nchw", "batch": row["limit"].batch,
                "sequence": 177 if row["limit"].source == MODELS[1] else None, "host_factor": 1.0, "power": power,
            }
            for i, row in enumerate(rows)
            for power in (None, f"{row['limit'].watt}w")
        ],
        infer_schema_length=None,
    )  # fmt: skip
    with Workbench(connection, cases) as bench:
        found = bench.predict(("latency_s", "clock_fraction")).sort("row", "power", nulls_last=False)
    full, capped = found.filter(pl.col("power").is_null()), found.filter(pl.col("power").is_not_null())
    shown = pl.DataFrame(
        {
            "hardware": capped["hardware"], "model": [row["limit"].model for row in rows], "limit_w": [row["limit"].watt for row in rows],
            "measured": [row["measured"] for row in rows], "predicted": full["latency_s"] / capped["latency_s"],
            "clock": capped["clock_fraction"], "configuration": [row["limit"].file for row in rows],
        }
    ).with_columns(error=pl.col("predicted") - pl.col("measured"))  # fmt: skip
    size = pl.col("error").abs()
    scored = shown.filter(~pl.col("hardware").is_in(FITTED))
    summary = scored.group_by("hardware").agg(
        pl.len().alias("rows"), size.median().alias("median"), size.max().alias("largest")
    )
    return [("Throughput under a limit over that without", shown), ("Its error by part", summary.sort("hardware"))]


def timed(
    connection: duckdb.DuckDBPyConnection, rows: pl.DataFrame, title: str, by: str
) -> list[tuple[str, pl.DataFrame]]:
    """Times of networks that are in the database."""
    models = connection.sql("SELECT model, source AS model_source, resolution FROM model").pl()
    known = connection.sql("SELECT DISTINCT policy AS precision FROM precision_policy").pl()
    cases = (
        rows.rename({"model": "published_model"})
        .join(store.hardware_names(connection), on="hardware_name")
        .join(models, on="model_source", how="inner", suffix="_of_model")
        .filter(
            (pl.col("latency_s") > 0)
            & (pl.col("resolution").is_null() | (pl.col("resolution") == pl.col("resolution_of_model")))
        )
        .join(known, on="precision", how="semi")
        .with_columns(host_factor=pl.lit(1.0), measured_s=pl.col("latency_s"))
        .drop("latency_s", "energy_j")
    )
    with Workbench(connection, cases) as bench:
        found = bench.predict(("latency_s", "power_s"))
    found = found.filter(pl.col("latency_s").is_not_null()).with_columns(
        limited=pl.col("power_s") > 0.5 * pl.col("latency_s")
    )
    share = found.group_by(by).agg(pl.col("limited").mean().alias("at the limit")).sort(by)
    return [(title, errors.table(found, [by]).join(share, on=by, how="left"))]


def _small(raw: pl.DataFrame) -> pl.DataFrame:
    """Rows with a batch on the small boards, that ran alone."""
    return collection.models(raw).filter(
        pl.col("hardware_name").str.contains(r"(?:T4|A2|A10|L4)(?: 16GB)?$")
        & pl.col("batch").is_not_null()
        & (pl.col("device_count") == 1)
        & pl.col("mode").is_in(["run", "single_stream", "multi_stream"])
        & pl.col("backend").is_in(["eager", "inductor", "tensorrt"])
    )


_TEXT = (
    "Written by `python -m benchmarks.score_power --markdown docs/validation-power.md`; do not edit. Columns as in"
    " [validation](validation.md); `at the limit` is the share of runs that the power limit makes longer.",
    "What energies rest on, and what of this was left out of it: [power](decisions/power.md). A100 SXM and H100 PCIe gave the slope"
    " of the voltage, so that their ratios are shown and not scored.",
)


if __name__ == "__main__":
    main()
