"""Error of predicted energy against measured energy a token of language models on one GPU.

    python -m benchmarks.score_energy [DATABASE] [--measurements ../shared/measurements] [--prompt 200] [--markdown PAGE]

DATABASE is made if it is not there: 15 language models of known sizes (`benchmarks/language_models.py`), half
a minute each. Measured is the GPU alone (NVML). An output token costs a decode step at the mean context,
shared by the batch, and its part of the prefill of one prompt. No row says how long the prompts were, so
`--prompt` tokens are assumed of all; the mean context is the prompt and half the answer.

Three campaigns, three ways to run a model: `transformers` one request at a time (eager), and a serving system
with CUDA graphs, early and late (inductor kernels, no host time). The early serving system kept the GPU
waiting, for longer with more requests: its step is given beside ours, and `waiting` scores the same energy
with static power over the measured step. Wall energy of MLPerf systems is another scope and stands apart:
`charz validate` does not score it and nothing here adds the two.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import polars as pl

from benchmarks import catalog, language_models, page
from charz.cli.workspace import change_workspace, open_workspace
from charz.ingest.measurements import score
from charz.ingest.measurements.workbench import Workbench
from charz.ingest.run import run

PARTS = {
    "NVIDIA V100": "v100_sxm2_32", "NVIDIA A40": "a40", "NVIDIA A100": "a100_sxm4_40", "NVIDIA A100-SXM4-40GB": "a100_sxm4_40",
    "NVIDIA H100": "h100_sxm5_80", "NVIDIA H100 80GB HBM3": "h100_sxm5_80",
}  # fmt: skip
"""Part by the name the rows give; their A100 and V100 say no form factor."""

_SEEN = "google/codegemma-1.1-2b"
"""Its rows gave the share of the TDP that a waiting GPU draws, so they are no test."""

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
    path = options.measurements / "models.parquet"
    if not path.is_file():
        raise SystemExit(f"no file {path}: it holds others' published figures, see its README")
    if not options.database.exists():
        fill(options.database)
    rows = scored(options.database, measured(path, options.prompt))
    print_scores(rows, options.worst)
    if options.markdown is not None:
        write_page(options.markdown, rows, options.prompt)
    print(f"{time.perf_counter() - start:.1f} s")


def fill(database: Path) -> None:
    """Ingest the language models."""
    open_workspace(database, create=True).close()
    run(
        language_models.specs(),
        lambda: change_workspace(database),
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
    )
    campaign = (
        pl.when(note.str.contains("legacy 2023"))
        .then(pl.lit(_LEGACY))
        .when(note.str.contains("per REQUEST"))
        .then(pl.lit(_EARLY))
        .otherwise(pl.lit(_LATE))
    )
    batch = pl.coalesce(note.str.extract(r"avg_batch=([\d.]+)").cast(pl.Float64), pl.col("batch")).round()
    return (
        raw.with_columns(campaign=campaign, answer=answer, batch=batch.cast(pl.Int64))
        .filter(pl.col("answer") > 0)
        .with_columns(
            hardware_id=pl.col("hardware").replace_strict(PARTS),
            named=pl.col("model").replace_strict(language_models.names()),
            measured_j=pl.when(pl.col("campaign") == _LATE)
            .then(pl.col("energy_j"))
            .otherwise(pl.col("energy_j") / pl.col("answer")),
            step_s=pl.when(pl.col("campaign") == _LEGACY)
            .then(pl.col("latency_ms") / 1e3 / pl.col("answer"))
            .otherwise(pl.col("latency_ms") / 1e3),
            context=((prompt + pl.col("answer") / 2) / 10).round().cast(pl.Int64) * 10,
            prompt=pl.lit(prompt, pl.Int64),
        )
        .select("model", "named", "hardware_id", "campaign", "precision", "batch", "answer", "context", "prompt", "measured_j", "step_s")
    )  # fmt: skip


def scored(database: Path, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with predicted `token_j`, its decode and prefill parts, and the predicted step."""
    import duckdb

    with duckdb.connect(str(database), read_only=True) as connection:
        models = connection.sql("SELECT model_id, model AS named FROM model").pl()
    eager = pl.col("campaign") == _LEGACY
    runs = rows.join(models, on="named").with_columns(
        backend=pl.when(eager).then(pl.lit("eager")).otherwise(pl.lit("inductor")),
        host_factor=pl.when(eager).then(1.0).otherwise(0.0),
        policy=pl.col("precision"),
        memory_format=pl.lit("nchw"),
        row=pl.int_range(pl.len()),
    )
    keys = ["model_id", "hardware_id", "backend", "policy", "memory_format", "host_factor"]
    decode = runs.select(
        *keys, "row", "batch", "context", sequence=pl.lit(None, pl.Int64), phase=pl.lit("decode"), samples="batch"
    )
    prefill = runs.select(
        *keys, "row", batch=pl.lit(1, pl.Int64), context=pl.lit(None, pl.Int64), sequence="prompt", phase=pl.lit("prefill"),
        samples=pl.lit(1, pl.Int64),
    )  # fmt: skip
    cases = pl.concat([decode, prefill.select(decode.columns)])
    with Workbench(database, cases, overrides=catalog.tables()) as bench:
        columns = ("latency_s", "static_energy_j", "energy_j")
        found = bench.predict(columns)
    wide = found.pivot(on="phase", index="row", values=list(columns))
    answer = pl.col("answer")
    return runs.join(wide, on="row").with_columns(
        token_j=pl.col("energy_j_decode") / pl.col("batch") + pl.col("energy_j_prefill") / answer,
        # Static power goes on while the system lets the GPU wait.
        waiting_j=(
            pl.col("energy_j_decode")
            + pl.col("static_energy_j_decode") * (pl.col("step_s") / pl.col("latency_s_decode") - 1.0).clip(lower_bound=0.0)
        ) / pl.col("batch") + pl.col("energy_j_prefill") / answer,
    )  # fmt: skip


def write_page(path: Path, rows: pl.DataFrame, prompt: int) -> None:
    """The tables as a page."""
    text = [
        "Written by `python -m benchmarks.score_energy --markdown docs/validation-energy.md`; do not edit.",
        f"{len(rows)} measurements of {rows['model'].n_unique()} language models on one GPU, energy of the GPU alone for an output"
        f" token, against a decode step at the mean context and its share of a prefill of {prompt} tokens; no row says how long"
        " the prompts were. Columns as in [validation](validation.md).",
        "The serving system of 2024 kept the GPU waiting: its step took several times as long as the GPU needs, and more with"
        " more requests. Its energy is therefore also given with static power over the measured step.",
        "Wall energy of MLPerf edge systems is another scope and is not in these tables.",
    ]
    by = ["campaign", "hardware_id"]
    tables = [
        ("Energy of an output token", score.table(rows, by, "token_j", "measured_j")),
        ("Energy of an output token, by campaign", score.table(rows, by[:1], "token_j", "measured_j")),
        ("The same with static power over the measured step", score.table(rows, by[:1], "waiting_j", "measured_j")),
        ("Time of a decode step", score.table(rows, by, "latency_s_decode", "step_s")),
    ]
    page.write(path, "Validation of energy", text, tables)


def print_scores(rows: pl.DataFrame, worst: int) -> None:
    """Energy, the step's time, and energy at the measured step."""
    print("energy of an output token [J]")
    print(score.table(rows, ["campaign", "hardware_id"], "token_j", "measured_j"))
    print(score.table(rows, ["campaign"], "token_j", "measured_j"))
    print("time of a decode step [s]")
    print(score.table(rows, ["campaign", "hardware_id"], "latency_s_decode", "step_s"))
    print("energy of an output token with static power over the measured step [J]")
    print(score.table(rows, ["campaign"], "waiting_j", "measured_j"))
    columns = [
        "model",
        "hardware_id",
        "campaign",
        "batch",
        "answer",
        "measured_j",
        "token_j",
        "step_s",
        "latency_s_decode",
    ]
    print(score.worst(rows, worst, "token_j", "measured_j").select(*columns, "log_ratio"))


if __name__ == "__main__":
    main()
