"""Error of predicted energy against measured energy a token of language models on one GPU.

    python -m benchmarks.score_energy [DATABASE] [--measurements ../shared/measurements] [--prompt 200] [--markdown PAGE]

DATABASE is made if it is not there: 15 language models of known sizes (`benchmarks/language_models.py`), half
a minute each. Measured is the GPU alone (NVML). An output token costs a decode step at the mean context,
shared by the batch, and its part of the prefill of one prompt. No row says how long the prompts were:
`PROMPTS` has those that follow from the rows, `--prompt` tokens are assumed of the rest; the mean context is
the prompt and half the answer.

Three campaigns, three ways to run a model: `transformers` one request at a time (eager, one factor on the
host's time), and a serving system with CUDA graphs, early and late (inductor kernels, no host time). A serving
system keeps the GPU waiting, for longer with more requests. Three figures are therefore given: the GPU's own
work alone; with static power while it waits, the wait being two constants a campaign (of a step and of a
request) fitted on the rows of the other part, or of the other model where there is one part; and with static
power over the measured step. Wall energy of MLPerf systems is another scope and stands apart
(`benchmarks/score_wall_energy.py`); nothing adds the two.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from benchmarks import catalog, language_models, page
from charz.hardware_catalog.calibration import errors
from charz.hardware_catalog.calibration.shipped import live
from charz.hardware_catalog.calibration.workbench import Workbench
from charz.ingest.run import run
from charz.session import workspace
from charz.sql import maintain

PARTS = {
    "NVIDIA V100": "v100_sxm2_32", "NVIDIA A40": "a40", "NVIDIA A100": "a100_sxm4_40", "NVIDIA A100-SXM4-40GB": "a100_sxm4_40",
    "NVIDIA H100": "h100_sxm5_80", "NVIDIA H100 80GB HBM3": "h100_sxm5_80",
}  # fmt: skip
"""Part by the name the rows give; their A100 and V100 say no form factor."""

_SEEN = "google/codegemma-1.1-2b"
"""Its rows gave the share of the TDP that a waiting GPU draws, so they are no test."""

_MEASURED_ON = "lmsys/vicuna-7B"
"""Its rows gave the power that an A40 draws beside its memory traffic, so they are no test of A40."""

PROMPTS = {"lm-arena-chat": 480}
"""Mean tokens of a prompt by task. In two rows of lm-arena-chat fewer requests ran at once than the system allowed: the
cache was full. 0.9 of 80 GiB less weights and 1.5 GB of activations, over the cache of a token and the
requests, is 650 and 840 tokens a request (Llama-3.1-8B, 691 requests; Qwen3-8B, 474), less half an answer."""

NO_HOST = 1e-9
"""Factor on the host's time where a graph is launched whole: none of it, and 0 is no factor that a scenario may have."""

_LEGACY, _EARLY, _LATE = "transformers 2023", "serving 2024", "serving 2025"


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path, nargs="?", default=Path("language-models.duckdb"))
    parser.add_argument("--measurements", type=Path, default=Path("../shared/measurements"))
    parser.add_argument("--prompt", type=int, default=200, help="tokens of a prompt, assumed of all")
    parser.add_argument("--markdown", type=Path, help="write the tables to this page")
    parser.add_argument("--worst", type=int, default=12)
    return parser.parse_args()


def main() -> None:
    """Print the tables."""
    options = arguments()
    page.print_wide()
    start = time.perf_counter()
    path = catalog.published_models(options.measurements)
    if not options.database.exists():
        fill(options.database)
    with workspace.read(options.database) as connection:
        rows = scored(connection, measured(path, options.prompt))
    print_scores(rows, options.worst)
    if options.markdown is not None:
        write_page(options.markdown, rows, options.prompt)
    print(f"{time.perf_counter() - start:.1f} s")


def fill(database: Path) -> None:
    """Ingest the language models."""
    workspace.read(database, create=True).close()
    run(
        language_models.specs(),
        lambda: workspace.change(database),
        maintain.add_runs,
        report=lambda o: print(o.state, o.model, o.message),
    )


def measured(path: Path, prompt: int) -> pl.DataFrame:
    """Rows of single GPUs with known models: energy an output token, mean context, batch."""
    note = pl.col("notes").fill_null("")
    answer = pl.col("seq_or_resolution").str.extract(r"avg_out=([\d.]+)").cast(pl.Float64)
    raw = pl.read_parquet(path).filter(
        pl.col("energy_j").is_not_null()
        & pl.col("source_repo").str.starts_with("ml-energy/")
        & pl.col("hardware").is_in(list(PARTS))
        & pl.col("model").is_in(list(language_models.names()))
        & (pl.col("model") != _SEEN)
        & ~((pl.col("model") == _MEASURED_ON) & (pl.col("hardware") == "NVIDIA A40"))
    )
    campaign = (
        pl.when(note.str.contains("legacy 2023"))
        .then(pl.lit(_LEGACY))
        .when(note.str.contains("per REQUEST"))
        .then(pl.lit(_EARLY))
        .otherwise(pl.lit(_LATE))
    )
    task = note.str.extract(r"task=([\w-]+)")
    batch = pl.coalesce(note.str.extract(r"avg_batch=([\d.]+)").cast(pl.Float64), pl.col("batch")).round()
    return (
        raw.with_columns(campaign=campaign, answer=answer, batch=batch.cast(pl.Int64))
        .filter(pl.col("answer") > 0)
        .with_columns(
            hardware=pl.col("hardware").replace_strict(PARTS),
            named=pl.col("model").replace_strict(language_models.names()),
            measured_j=pl.when(pl.col("campaign") == _LATE)
            .then(pl.col("energy_j"))
            .otherwise(pl.col("energy_j") / pl.col("answer")),
            # The late campaign gives a median step, which the steps with a prefill do not move: batch over rate is the mean.
            step_s=pl.when(pl.col("campaign") == _LEGACY)
            .then(pl.col("latency_ms") / 1e3 / pl.col("answer"))
            .when(pl.col("campaign") == _LATE)
            .then(pl.col("batch") / pl.col("throughput_per_s"))
            .otherwise(pl.col("latency_ms") / 1e3),
            prompt=task.replace_strict(PROMPTS, default=prompt, return_dtype=pl.Int64),
        )
        .with_columns(context=((pl.col("prompt") + pl.col("answer") / 2) / 10).round().cast(pl.Int64) * 10)
        .select("model", "named", "hardware", "campaign", "precision", "batch", "answer", "context", "prompt", "measured_j", "step_s")
    )  # fmt: skip


def scored(connection: duckdb.DuckDBPyConnection, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with predicted `token_j`, its share of decode and of prefill, and the predicted step; `served_j` and
    `waiting_j` with static power while the GPU waits, as predicted and as measured."""
    models = connection.sql("SELECT model AS named FROM model").pl()
    runs = rows.join(models, on="named", how="semi").with_columns(row=pl.int_range(pl.len()))
    alone = predicted(connection, runs, 1.0)
    legacy = alone.filter(pl.col("campaign") == _LEGACY)
    factor = float((legacy["step_s"] / legacy["latency_s_decode"]).median())  # type: ignore[arg-type]  # a float column
    found = pl.concat(
        [
            alone.filter(pl.col("campaign") != _LEGACY),
            predicted(connection, runs.filter(pl.col("campaign") == _LEGACY), factor),
        ]
    )
    return _with_waits(found.with_columns(host_factor=pl.lit(factor)))


def predicted(connection: duckdb.DuckDBPyConnection, runs: pl.DataFrame, host_factor: float) -> pl.DataFrame:
    """Times and energies of the decode step and of the prefill of one prompt."""
    eager = pl.col("campaign") == _LEGACY
    runs = runs.with_columns(
        backend=pl.when(eager).then(pl.lit("eager")).otherwise(pl.lit("inductor")),
        host_factor=pl.when(eager).then(host_factor).otherwise(NO_HOST),
        memory_format=pl.lit("nchw"),
    )
    shared = ("hardware", "backend", "precision", "memory_format", "host_factor", "row")
    keys = [pl.col("named").alias("model"), *(pl.col(name) for name in shared)]
    decode = runs.select(
        *keys, "batch", "context", sequence=pl.lit(None, pl.Int64), phase=pl.lit("decode"), samples="batch"
    )
    prefill = runs.select(
        *keys, batch=pl.lit(1, pl.Int64), context=pl.lit(None, pl.Int64), sequence="prompt", phase=pl.lit("prefill"),
        samples=pl.lit(1, pl.Int64),
    )  # fmt: skip
    cases = pl.concat([decode, prefill.select(decode.columns)])
    with Workbench(connection, cases, overrides=live.tables()) as bench:
        columns = ("latency_s", "static_energy_j", "energy_j")
        found = bench.predict(columns)
    wide = found.pivot(on="phase", index="row", values=list(columns))
    return runs.drop("host_factor").join(wide, on="row").with_columns(
        token_j=pl.col("energy_j_decode") / pl.col("batch") + pl.col("energy_j_prefill") / pl.col("answer"),
        work_s=pl.col("latency_s_decode") + pl.col("latency_s_prefill") * pl.col("batch") / pl.col("answer"),
    )  # fmt: skip


def _with_waits(rows: pl.DataFrame) -> pl.DataFrame:
    """`waiting_j` from the wait as measured, `served_j` from the one the rows of other parts, or models, suggest."""
    waited = pl.Series("wait_s", np.zeros(len(rows)))
    for campaign in (_EARLY, _LATE):
        inside = rows["campaign"] == campaign
        by = "hardware" if rows.filter(inside)["hardware"].n_unique() > 1 else "model"
        for (left_out,), _ in rows.filter(inside).group_by(by):
            seen, unseen = inside & (rows[by] != left_out), inside & (rows[by] == left_out)
            step, request = _host_times(rows.filter(seen))
            waited = pl.select(
                pl.when(unseen).then((step + request * rows["batch"]).clip(lower_bound=0.0)).otherwise(waited)
            ).to_series()
    static_w = pl.col("static_energy_j_decode") / pl.col("latency_s_decode")
    return rows.with_columns(wait_s=waited).with_columns(
        served_j=pl.col("token_j") + static_w * pl.col("wait_s") / pl.col("batch"),
        served_step_s=pl.col("work_s") + pl.col("wait_s"),
        waiting_j=pl.col("token_j")
        + static_w * (pl.col("step_s") - pl.col("work_s")).clip(lower_bound=0.0) / pl.col("batch"),
    )


def _host_times(rows: pl.DataFrame) -> tuple[float, float]:
    """Time a step and a request of it keep the GPU waiting: least squares of relative errors. [s]"""
    step, batch = rows["step_s"].to_numpy(), rows["batch"].to_numpy().astype(float)
    wait = np.maximum(step - rows["work_s"].to_numpy(), 0.0)
    weighed = np.stack([np.ones_like(step), batch], axis=1) / step[:, None]
    (fixed, each), *_ = np.linalg.lstsq(weighed, wait / step, rcond=None)
    return float(fixed), float(each)


def tables(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Every table with its title."""
    by, campaign = ["campaign", "hardware"], ["campaign"]
    return [
        ("Energy of an output token, waits included", errors.table(rows, by, "served_j", "measured_j")),
        ("The same by campaign", errors.table(rows, campaign, "served_j", "measured_j")),
        ("All rows", errors.table(rows.with_columns(scope=pl.lit("gpu")), ["scope"], "served_j", "measured_j")),
        ("The GPU's work alone", errors.table(rows, campaign, "token_j", "measured_j")),
        ("With static power over the measured step", errors.table(rows, campaign, "waiting_j", "measured_j")),
        ("Time of a step, waits included", errors.table(rows, by, "served_step_s", "step_s")),
        ("Time of the GPU's work in a step", errors.table(rows, by, "work_s", "step_s")),
    ]


def write_page(path: Path, rows: pl.DataFrame, prompt: int) -> None:
    """The tables as a page."""
    text = [
        "Written by `python -m benchmarks.score_energy --markdown docs/validation-energy.md`; do not edit.",
        f"{len(rows)} measurements of {rows['model'].n_unique()} language models on one GPU, energy of the GPU alone for an output"
        " token, against a decode step at the mean context and its share of a prefill. No row says how long the prompts were:"
        f" {', '.join(f'{tokens} tokens in {task}' for task, tokens in PROMPTS.items())} (from the requests that filled the"
        f" cache), {prompt} assumed elsewhere. Columns as in [validation](validation.md).",
        f"`transformers 2023` shares one factor on the host's time, {rows['host_factor'][0]:.2f}. The serving systems keep the GPU"
        " waiting, longer with more requests: a time of a step and a time of a request, fitted on the rows of the other part"
        " (2024) or of the other model (2025), never on those scored. While it waits the GPU draws its static power. The GPU's"
        " work alone and the same over the measured step stand beside it.",
        "[Wall energy of MLPerf edge systems](validation-wall-energy.md) is another scope and is not in these tables.",
    ]
    page.write(path, "Validation of energy", text, tables(rows))


def print_scores(rows: pl.DataFrame, worst: int) -> None:
    """The tables, and the worst rows."""
    for title, table in tables(rows):
        print(title)
        print(table)
    columns = [
        "model",
        "hardware",
        "campaign",
        "batch",
        "answer",
        "measured_j",
        "token_j",
        "served_j",
        "step_s",
        "work_s",
    ]
    print(errors.worst(rows, worst, "served_j", "measured_j").select(*columns, "log_ratio"))


if __name__ == "__main__":
    main()
