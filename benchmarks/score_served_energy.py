"""Time and energy of an output token of served language models against ML.ENERGY's figures on H100.

    python -m benchmarks.score_served_energy DATABASE [--rows FILE] [--markdown docs/validation-served-energy.md]

Rows of `models.parquet` of the campaign of 2025, that ran vLLM at a stated number of requests in flight on 1 to 8 H100 whose tensor
parallel degree is their number, of text models in the database. Energy is that of the GPUs alone.
Each row is a server that charz is asked about (`serve`) at that number of requests, under the version of vLLM that answers assume; nothing
is fitted on these rows. `time per token` is the median between two tokens of a request, as published, which steps with a prompt in them do
not move; charz gives the mean, which they do. `time of a token of all` is one over the tokens a second of all requests in flight, which has
prompts in it on both sides. No row says how long the prompts were: 480 tokens in lm-arena-chat (`benchmarks/score_energy.py`), 200 assumed
elsewhere. What must hold is said of batches of at most 32; larger ones are reported. `--rows` keeps scored rows for the next time.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

import charz
from benchmarks import catalog, page, score_energy
from charz.hardware_catalog.calibration import errors
from charz.schema.errors import CharzError
from charz.session import Session

MODELS = {
    "meta-llama/Llama-3.1-8B-Instruct": "hf:llama-3.1-8b", "meta-llama/Llama-3.1-70B-Instruct": "hf:llama-3.1-70b",
    "meta-llama/Llama-3.3-70B-Instruct": "hf:llama-3.1-70b", "meta-llama/Llama-3.1-405B-Instruct-FP8": "hf:llama-3.1-405b",
    "Qwen/Qwen3-8B": "hf:qwen3-8b", "Qwen/Qwen3-14B": "qwen3-14b", "Qwen/Qwen3-32B": "qwen3-32b",
    "Qwen/Qwen3-30B-A3B-Instruct-2507": "hf:qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B-Thinking-2507": "hf:qwen3-30b-a3b",
    "Qwen/Qwen3-Coder-30B-A3B-Instruct": "hf:qwen3-30b-a3b", "openai/gpt-oss-20b": "hf:gpt-oss-20b",
    "openai/gpt-oss-120b": "hf:gpt-oss-120b",
}  # fmt: skip
"""Name in the database by the model measured; `--name qwen3-14b --set` gives Qwen3-8B the sizes of a larger one."""

PROMPT = 200
"""Tokens of a prompt where nothing tells, assumed."""
MOST_BATCH = 32
CASE = ["model", "devices", "precision", "batch", "prompt", "answer"]
QUANTITIES = {
    "time per token": ("tpot_s", "measured_tpot_s"),
    "time of a token of all": ("token_s", "measured_token_s"),
    "energy of a token": ("token_j", "measured_token_j"),
}


def main() -> None:
    """Print or write the tables."""
    options = page.scoring(__doc__, "nothing")
    if options.rows and options.rows.exists():
        found = pl.read_parquet(options.rows)
    else:
        rows = measured(options.measurements)
        with charz.open(options.database) as db:
            held = db.sql("SELECT model FROM model")["model"]
            found = scored(db, rows.filter(pl.col("model").is_in(held.to_list())))
        if options.rows:
            found.write_parquet(options.rows)
    tables = list(report(found))
    if options.markdown:
        text = [" ".join((__doc__ or "").split("\n\n")[2].split())]
        page.write(options.markdown, "Time and energy of served tokens", text, tables)
        return
    for heading, table in tables:
        print(heading, table, sep="\n")


def measured(folder: Path) -> pl.DataFrame:
    """Rows of the campaign whose model and split are known, with their figures in seconds and joules."""
    note = pl.col("notes").fill_null("")
    return (
        pl.read_parquet(catalog.published_models(folder))
        .filter(
            pl.col("source_repo").str.starts_with("ml-energy/"), note.str.contains("per OUTPUT TOKEN"),
            pl.col("hardware").str.ends_with("NVIDIA H100"), pl.col("model").is_in(list(MODELS)),
        )
        .with_columns(
            measured_model=pl.col("model"), model=pl.col("model").replace_strict(MODELS),
            devices=note.str.extract(r"n_accel=(\d+)").cast(pl.Int64), tensor=note.str.extract(r"tp=(\d+)").cast(pl.Int64),
            task=note.str.extract(r"task=([\w-]+)"), batch=pl.col("batch").round().cast(pl.Int64),
            answer=pl.col("seq_or_resolution").str.extract(r"avg_out=([\d.]+)").cast(pl.Float64).round().cast(pl.Int64),
            measured_tpot_s=pl.col("latency_ms") / 1e3, measured_token_s=1.0 / pl.col("throughput_per_s"),
            measured_token_j=pl.col("energy_j"),
        )
        .filter(pl.col("devices") == pl.col("tensor"))
        .with_columns(prompt=pl.col("task").replace_strict(score_energy.PROMPTS, default=PROMPT, return_dtype=pl.Int64))
        .select(*CASE, "measured_model", "task", "measured_tpot_s", "measured_token_s", "measured_token_j")
    )  # fmt: skip


def scored(db: Session, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows that charz answers, with time and energy of a token as it predicts them."""
    found = []
    for case in rows.select(CASE).unique(maintain_order=True).iter_rows(named=True):
        try:
            answer = db.serve(
                case["model"], on="h100_sxm5_80", input=case["prompt"], output=case["answer"], concurrency=case["batch"],
                slots=case["batch"], devices=case["devices"], precision=case["precision"], backend="vllm",
            )  # fmt: skip
        except CharzError as error:
            print("left out:", case, error)
            continue
        found += [
            {**case, "tpot_s": row["tpot_s"], "token_s": 1.0 / row["tokens_per_s"], "token_j": row["token_j"]}
            for row in answer.iter_rows(named=True)
            if row["tokens_per_s"]
        ]
    schema = rows.select(CASE).schema | dict.fromkeys(["tpot_s", "token_s", "token_j"], pl.Float64)
    return rows.join(pl.DataFrame(found, schema=schema), on=CASE)


def report(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Errors of each quantity: of small and large batches, and of the small ones by model, devices and task."""
    long = pl.concat(
        rows.select(
            *CASE, "task", pl.lit(name).alias("quantity"), pl.col(predicted).alias("latency_s"), pl.col(seen).alias("measured_s")
        )
        for name, (predicted, seen) in QUANTITIES.items()
    )  # fmt: skip
    long = long.with_columns(is_small=pl.col("batch") <= MOST_BATCH)
    small = long.filter("is_small")
    return [
        ("By size of the batch", errors.table(long, ["quantity", "is_small"])),
        ("Batches of at most 32 by devices", errors.table(small, ["quantity", "devices"])),
        ("Batches of at most 32 by model and task", errors.table(small, ["quantity", "model", "precision", "task"])),
        ("By batch", errors.table(long, ["quantity", "batch"])),
    ]


if __name__ == "__main__":
    main()
