"""Energy and power: language models on one GPU (NVML), systems under a power limit, boards at their limits, energy at the wall."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from benchmarks.makers import ingest_timm, live
from benchmarks.study import Given
from charz.hardware_catalog.calibration.workbench import Workbench
from charz.ingest.measurements import collection, store
from charz.ingest.run import run
from charz.ingest.sources.spec import Spec, parse
from charz.session import workspace
from charz.sql import maintain

from . import language_models

MODELS = ("torchvision:resnet50", "hf:bert-large-uncased")
PARTS = {
    "NVIDIA V100": "v100_sxm2_32", "NVIDIA A40": "a40", "NVIDIA A100": "a100_sxm4_40", "NVIDIA A100-SXM4-40GB": "a100_sxm4_40",
    "NVIDIA H100": "h100_sxm5_80", "NVIDIA H100 80GB HBM3": "h100_sxm5_80",
}  # fmt: skip
"""Part by its name in the rows, whose A100 and V100 state no form factor."""
_SEEN = "google/codegemma-1.1-2b"
"""Model whose rows gave the share of the TDP that a waiting GPU draws, so they are not scored."""
_MEASURED_ON = "lmsys/vicuna-7B"
"""Model whose rows gave the power of an A40 other than for memory traffic, so they are not scored for A40."""
PROMPTS = {"lm-arena-chat": 480}
"""Mean tokens of a prompt by task, from the two rows in which the full cache limited the requests in flight."""
PROMPT = 200
"""Tokens of a prompt for other tasks, assumed."""
NO_HOST = 1e-9
"""Factor on the host's time of a graph launched as a whole; the factor of a scenario must be positive."""
_LEGACY, _EARLY, _LATE = "transformers 2023", "serving 2024", "serving 2025"


def filled(given: Given, specs: list[Spec]) -> None:
    """Ingest the specifications that the file lacks."""
    with given.connection():
        pass
    run(specs, lambda: workspace.change(given.file), maintain.add_runs, report=lambda o: print(o.state, o.model, o.message))


def tokens(given: Given) -> pl.DataFrame:
    """Predict the energy of an output token: a decode step at the mean context, its share of one prefill, and static power while
    the serving system keeps the GPU waiting.

    The wait, a time of a step and of a request, is fitted to the rows of the other part, or of the other model.
    """
    rows = _served(given).select("hardware", "campaign", "backend", measured="measured_j", predicted="served_j")
    return rows.with_columns(family="campaign", standing=pl.lit("waits of other rows")).drop("campaign")


def power(given: Given) -> pl.DataFrame:
    """Predict the average power of the same runs, as energy over time. [W]"""
    watt = pl.col("batch") / pl.col("step_s")
    return _served(given).select(
        "hardware", "backend", measured=pl.col("measured_j") * watt,
        predicted=pl.col("served_j") * pl.col("batch") / pl.col("served_step_s"), family="campaign", standing=pl.lit("waits of other rows"),
    )  # fmt: skip


def _served(given: Given) -> pl.DataFrame:
    filled(given, language_models.specs())
    with given.connection() as connection:
        return scored(connection, measured(given))


def measured(given: Given) -> pl.DataFrame:
    """Read rows of single GPUs with known models: energy of an output token, mean context, batch."""
    note = pl.col("notes").fill_null("")
    named = language_models.names()
    raw = given.table("models").filter(
        pl.col("energy_j").is_not_null(), pl.col("source_repo").str.starts_with("ml-energy/"), pl.col("hardware").is_in(list(PARTS)),
        pl.col("model").is_in(list(named)), pl.col("model") != _SEEN,
        ~((pl.col("model") == _MEASURED_ON) & (pl.col("hardware") == "NVIDIA A40")),
    )  # fmt: skip
    campaign = pl.when(note.str.contains("legacy 2023")).then(pl.lit(_LEGACY))
    campaign = campaign.when(note.str.contains("per REQUEST")).then(pl.lit(_EARLY)).otherwise(pl.lit(_LATE))
    batch = pl.coalesce(note.str.extract(r"avg_batch=([\d.]+)").cast(pl.Float64), pl.col("batch")).round().cast(pl.Int64)
    answer = pl.col("seq_or_resolution").str.extract(r"avg_out=([\d.]+)").cast(pl.Float64)
    is_late = pl.col("campaign") == _LATE
    # The late campaign gives a median step, which excludes steps with a prefill; batch over rate is the mean.
    step_s = pl.when(pl.col("campaign") == _LEGACY).then(pl.col("latency_ms") / 1e3 / pl.col("answer"))
    step_s = step_s.when(is_late).then(pl.col("batch") / pl.col("throughput_per_s")).otherwise(pl.col("latency_ms") / 1e3)
    prompt = note.str.extract(r"task=([\w-]+)").replace_strict(PROMPTS, default=PROMPT, return_dtype=pl.Int64)
    return (
        raw.with_columns(campaign=campaign, answer=answer, batch=batch)
        .filter(pl.col("answer") > 0)
        .with_columns(
            hardware=pl.col("hardware").replace_strict(PARTS), named=pl.col("model").replace_strict(named), step_s=step_s, prompt=prompt,
            measured_j=pl.when(is_late).then(pl.col("energy_j")).otherwise(pl.col("energy_j") / pl.col("answer")),
        )
        .with_columns(context=((pl.col("prompt") + pl.col("answer") / 2) / 10).round().cast(pl.Int64) * 10)
        .select("model", "named", "hardware", "campaign", "precision", "batch", "answer", "context", "prompt", "measured_j", "step_s")
    )  # fmt: skip


def scored(connection: duckdb.DuckDBPyConnection, rows: pl.DataFrame) -> pl.DataFrame:
    """Add the predicted energy of a token and time of a step, waits included. `transformers` has one factor on its host's time."""
    models = connection.sql("SELECT model AS named FROM model").pl()
    runs = rows.join(models, on="named", how="semi").with_columns(row=pl.int_range(pl.len()))
    alone = _predicted(connection, runs, 1.0)
    is_legacy = pl.col("campaign") == _LEGACY
    legacy = alone.filter(is_legacy)
    factor = float((legacy["step_s"] / legacy["latency_s_decode"]).median() or 1.0)  # type: ignore[arg-type]  # a float column
    return _with_waits(pl.concat([alone.filter(~is_legacy), _predicted(connection, runs.filter(is_legacy), factor)]))


def _predicted(connection: duckdb.DuckDBPyConnection, runs: pl.DataFrame, host_factor: float) -> pl.DataFrame:
    """Predict the decode step and the prefill of one prompt."""
    is_eager = pl.col("campaign") == _LEGACY
    runs = runs.with_columns(
        backend=pl.when(is_eager).then(pl.lit("eager")).otherwise(pl.lit("inductor")),
        host_factor=pl.when(is_eager).then(host_factor).otherwise(NO_HOST), memory_format=pl.lit("nchw"),
    )  # fmt: skip
    keys = ["hardware", "backend", "precision", "memory_format", "host_factor", "row", pl.col("named").alias("model")]
    none = pl.lit(None, pl.Int64)
    decode = runs.select(*keys, "batch", "context", sequence=none, phase=pl.lit("decode"))
    prefill = runs.select(*keys, batch=pl.lit(1, pl.Int64), context=none, sequence="prompt", phase=pl.lit("prefill"))
    columns = ("latency_s", "static_energy_j", "energy_j")
    with Workbench(connection, pl.concat([decode, prefill]), overrides=live.tables()) as bench:
        found = bench.predict(columns)
    wide = found.pivot(on="phase", index="row", values=list(columns))
    return runs.drop("host_factor").join(wide, on="row").with_columns(
        token_j=pl.col("energy_j_decode") / pl.col("batch") + pl.col("energy_j_prefill") / pl.col("answer"),
        work_s=pl.col("latency_s_decode") + pl.col("latency_s_prefill") * pl.col("batch") / pl.col("answer"),
    )  # fmt: skip


def _with_waits(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the wait, fitted to the rows of other parts or models, and static power during it."""
    waited = pl.Series("wait_s", np.zeros(len(rows)))
    for campaign in (_EARLY, _LATE):
        inside = rows["campaign"] == campaign
        by = "hardware" if rows.filter(inside)["hardware"].n_unique() > 1 else "model"
        for (left_out,), _ in rows.filter(inside).group_by(by):
            step, request = _host_times(rows.filter(inside & (rows[by] != left_out)))
            wait = (step + request * rows["batch"]).clip(lower_bound=0.0)
            waited = pl.select(pl.when(inside & (rows[by] == left_out)).then(wait).otherwise(waited)).to_series()
    static_w = pl.col("static_energy_j_decode") / pl.col("latency_s_decode")
    return rows.with_columns(wait_s=waited).with_columns(
        served_j=pl.col("token_j") + static_w * pl.col("wait_s") / pl.col("batch"), served_step_s=pl.col("work_s") + pl.col("wait_s")
    )


def _host_times(rows: pl.DataFrame) -> tuple[float, float]:
    """Fit the waits of the GPU in a step and in a request: least squares of relative errors. [s]"""
    step, batch = rows["step_s"].to_numpy(), rows["batch"].to_numpy().astype(float)
    wait = np.maximum(step - rows["work_s"].to_numpy(), 0.0)
    weighed = np.stack([np.ones_like(step), batch], axis=1) / step[:, None]
    (fixed, each), *_ = np.linalg.lstsq(weighed, wait / step, rcond=None)
    return float(fixed), float(each)


LIMITS = Path(__file__).parents[1] / "measured" / "power_limits.csv"
"""Systems of MLPerf that ran with and without a power limit, with the file of the submission that sets the limit."""
FITTED = ("a100_sxm4_80", "h100_pcie_80")
"""Parts whose ratios gave the slope of the voltage."""
SOURCES = {"resnet50": MODELS[0], "bert-99": MODELS[1], "bert-99.9": MODELS[1]}


def limits(given: Given) -> pl.DataFrame:
    """Predict the ratio of the throughput of systems with a power limit to that without."""
    given.ingested(MODELS)
    place = pl.col("source_path").str.extract_groups(r"closed/(?<organization>[^/]+)/results/(?<system>[^/]+)/[^/]+/Offline/")
    logs = given.table("models").with_columns(place.alias("place"), release=pl.col("source_repo").str.extract(r"_(v[\d.]+)$"))
    logs = logs.unnest("place")
    with LIMITS.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    with given.connection() as connection:
        names = dict(connection.sql("SELECT source, model FROM model").fetchall())
        cases, ratios = [], []
        for number, row in enumerate(rows):
            of = logs.filter(release=row["release"], organization=row["organization"], model=row["model"])
            free, capped = (of.filter(system=row[name])["throughput_per_s"].max() for name in ("system", "limited"))
            ratios.append(float(capped) / float(free))  # type: ignore[arg-type]  # a float column
            source = SOURCES[row["model"]]
            cases += [
                {
                    "row": number, "model": names[source], "hardware": row["hardware"], "backend": "tensorrt", "precision": row["precision"],
                    "memory_format": "nchw", "batch": int(row["batch"]), "sequence": 177 if source == MODELS[1] else None,
                    "host_factor": 1.0, "power": watt,
                }
                for watt in (None, f"{row['watt']}w")
            ]  # fmt: skip
        with Workbench(connection, pl.DataFrame(cases, infer_schema_length=None)) as bench:
            found = bench.predict(("latency_s",)).sort("row", "power", nulls_last=False)
    free, capped = found.filter(pl.col("power").is_null()), found.filter(pl.col("power").is_not_null())
    standing = pl.when(pl.col("hardware").is_in(FITTED)).then(pl.lit("fitted")).otherwise(pl.lit("not fitted"))
    return pl.DataFrame({
        "hardware": capped["hardware"], "backend": capped["backend"], "family": [row["model"] for row in rows], "measured": ratios,
        "predicted": free["latency_s"] / capped["latency_s"],
    }).with_columns(standing=standing)  # fmt: skip


CAPPED, NETWORKS = "NVIDIA RTX PRO 6000 Blackwell Max-Q", 45


def capped(given: Given) -> pl.DataFrame:
    """Predict 45 of timm's networks, chosen by a fixed hash, on a board of 300 W whose die also ships at 600 W."""
    rows = collection.models(given.table("models_2")).filter(hardware_name=CAPPED)

    def order(spec: Spec) -> str:
        return hashlib.md5(str(spec).encode(), usedforsecurity=False).hexdigest()

    filled(given, sorted(ingest_timm.wanted(rows), key=order)[:NETWORKS])
    with given.connection() as connection:
        models = connection.sql("SELECT model, source AS model_source, resolution, architecture_family AS family FROM model").pl()
        known = connection.sql("SELECT DISTINCT policy AS precision FROM precision_policy").pl()
        cases = (
            rows.rename({"model": "published_model"})
            .join(store.hardware_names(connection), on="hardware_name")
            .join(models, on=["model_source", "resolution"])
            .join(known, on="precision", how="semi")
            .filter(pl.col("latency_s") > 0)
            .with_columns(host_factor=pl.lit(1.0), measured=pl.col("latency_s"))
            .drop("latency_s", "energy_j")
        )
        with Workbench(connection, cases) as bench:
            found = bench.predict(("latency_s",))
    return found.select("hardware", "backend", "family", "measured", predicted="latency_s")


BATCHES = {"single_stream": 1, "multi_stream": 8}
"""Samples of a query by scenario. Logs of offline runs do not state the number."""
OFFLINE_BATCH = 64


def wall(given: Given) -> pl.DataFrame:
    """Predict the energy of a sample at the wall, for systems with one accelerator.

    charz models the accelerator. The power of the rest of a system is a constant: the median over the system's other rows of wall
    power minus predicted power of the accelerator. Server scenarios are left out, since the log chooses their rate.
    """
    filled(given, [parse(name) for name in MODELS])
    rows = collection.models(given.table("models")).filter(
        pl.col("energy_scope") == "wall", pl.col("device_count") == 1, pl.col("energy_j") > 0, pl.col("mode") != "server"
    )
    with given.connection() as connection:
        models = connection.sql("SELECT model, source AS model_source FROM model").pl()
        cases = (
            rows.rename({"model": "published_model", "energy_j": "measured"})
            .join(store.hardware_names(connection), on="hardware_name")
            .join(models, on="model_source")
            .with_columns(
                system=pl.col("note").str.extract(r"system=([^;]+)"), host_factor=pl.lit(1.0), row=pl.int_range(pl.len()),
                wall_w=pl.col("note").str.extract(r"avg_wall_watts=([\d.]+)").cast(pl.Float64),
                batch=pl.col("mode").replace_strict(BATCHES, default=OFFLINE_BATCH, return_dtype=pl.Int64),
            )
            .filter(pl.col("wall_w").is_not_null())
            .drop("latency_s")
        )  # fmt: skip
        with Workbench(connection, cases, overrides=live.tables()) as bench:
            found = bench.predict(("latency_s", "energy_j")).filter(pl.col("latency_s").is_not_null())
    found = found.with_columns(accelerator_w=pl.col("energy_j") / pl.col("latency_s"))
    rest = []
    for row in found.iter_rows(named=True):
        others = found.filter((pl.col("system") == row["system"]) & (pl.col("row") != row["row"]))
        rest.append((others["wall_w"] - others["accelerator_w"]).median() if len(others) else None)
    sample = (pl.col("energy_j") + pl.col("rest_w") * pl.col("latency_s")) / pl.col("batch")
    systems = found.with_columns(rest_w=pl.Series(rest, dtype=pl.Float64)).filter(pl.col("rest_w").is_not_null())
    return systems.select("hardware", "backend", "measured", family="mode", predicted=sample, standing=pl.lit("rest of system of other rows"))
