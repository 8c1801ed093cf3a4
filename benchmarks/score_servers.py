"""Error of predicted servers of language models under load against published figures.

    python -m benchmarks.score_servers DATABASE [--measurements ../shared/measurements] [--stated] [--every N] [--markdown FILE]

Rows of `serving.parquet` without a static batch: those that state how many requests are in flight (grade A: output tokens a second
and time per output token), and those that queue all requests at once, of which memory and the server's slots set the batch (grade
A and B: output tokens a second). Nothing is fitted on these rows: a server takes the version that answers assume. Figures per
device are multiplied by the devices. Where a source does not say how keys and values are kept, TensorRT-LLM's fp8
checkpoints keep them in fp8, as those of its pages that say so do, and all else as the policy writes them. Requests that arrive at a stated
rate are left out. The largest errors are of Llama-70B in fp8 on one H100, whose 70 GB leave next to no room: the batch follows from the
reserve that is assumed. gpt-oss is left out on one and two devices, where charz says that its chunk of a prompt does not fit.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

import charz
from benchmarks import page
from benchmarks.score_serving import KV, MODELS
from charz.hardware_catalog.calibration import errors
from charz.schema.errors import CharzError
from charz.session import Session

PARTS = {"A100 SXM": "a100_sxm4_80", "H100 SXM": "h100_sxm5_80", "H200": "h200_sxm_141", "MI300X": "mi300x_192"}
SERVED = MODELS | {
    "meta-llama/Llama-3.3-70B-Instruct": "hf:llama-3.1-70b", "openai/gpt-oss-120b": "hf:gpt-oss-120b",
}  # fmt: skip
PRECISIONS = {"fp16": "fp16", "bf16": "bf16", "fp8": "fp8", "mxfp4": "mxfp4"}
SLOTS = {"tensorrt_llm": 2048, "vllm": 256}
"""Most requests at once, as `trtllm-bench` and vLLM set them unless told otherwise."""
OPEN_LOOP = "open loop"
"""In the note of a row whose requests arrive at a stated rate: the rate sets what is made, not the server."""
CASE = ["model", "hardware", "backend", "precision", "kv", "devices", "input", "output", "concurrency"]


def main() -> None:
    """Print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path, help="file with the models")
    parser.add_argument(
        "--measurements", type=Path, default=Path("../shared/measurements"), help="folder of serving.parquet"
    )
    parser.add_argument("--markdown", type=Path, help="write the page there")
    parser.add_argument("--stated", action="store_true", help="only rows that state how many requests are in flight")
    parser.add_argument("--every", type=int, default=1, help="of the servers that queue all requests, one in so many")
    parser.add_argument("--rows", type=Path, help="every scored row, as parquet: read where it exists, else written")
    options = parser.parse_args()
    page.print_wide(4)
    if options.rows and options.rows.exists():
        rows = pl.read_parquet(options.rows)
    else:
        with charz.open(options.database) as db:
            known = measured(options.measurements, db)
            stated = known.filter(pl.col("concurrency").is_not_null())
            rows = scored(db, stated if options.stated else some(known, options.every))
        if options.rows:
            rows.write_parquet(options.rows)
    rows = rows.filter(~pl.col("note").fill_null("").str.contains(OPEN_LOOP)).with_columns(
        load=pl.when(pl.col("concurrency").is_null()).then(pl.lit("all at once")).otherwise(pl.lit("stated"))
    )
    tables = [
        ("By load and quantity", errors.table(rows, ["load", "quantity"])),
        ("By source, part and devices", errors.table(rows, ["load", "quantity", "source", "hardware", "devices"])),
        ("By model and precision", errors.table(rows, ["load", "quantity", "model", "precision"])),
    ]
    if options.markdown:
        text = [
            "Figures of servers of language models under load, as `benchmarks/score_servers.py` works them out.",
            " ".join((__doc__ or "").split("\n\n")[2].split()),
        ]
        if options.every > 1:
            text.append(
                f"Of the servers that queue all requests one case in {options.every} was asked, as they lie in the file."
            )
        page.write(options.markdown, "Servers under load against published figures", text, tables)
        return
    for heading, table in tables:
        print(heading, table, sep="\n")


def some(rows: pl.DataFrame, every: int) -> pl.DataFrame:
    """The rows that state how many requests are in flight, and one case in so many of the others, as they lie in the file."""
    queued = rows.filter(pl.col("concurrency").is_null()).select(CASE).unique(maintain_order=True).gather_every(every)
    stated = rows.filter(pl.col("concurrency").is_not_null())
    return pl.concat([stated, rows.join(queued, on=CASE, how="semi", nulls_equal=True)])


def measured(folder: Path, db: Session) -> pl.DataFrame:
    """The rows that can be asked about, as times: of a token of all requests, or of one of each."""
    held = set(db.sql("SELECT model FROM model")["model"])
    engine = pl.col("framework")
    backend = (
        pl.when(engine.str.contains("TensorRT-LLM")).then(pl.lit("tensorrt_llm"))
        .when(engine.str.contains("vLLM")).then(pl.lit("vllm"))
    )  # fmt: skip
    return (
        pl.read_parquet(folder / "serving.parquet")
        .filter(
            pl.col("task") == "serve", pl.col("batch").is_null(), pl.col("grade").is_in(["A", "B"]),
            pl.col("quantity").is_in(["output_throughput", "TPOT", "ITL"]), pl.col("input_tokens").is_not_null(),
            pl.col("concurrency").is_not_null() | (pl.col("quantity") == "output_throughput"),
            (pl.col("hardware_count") == pl.col("tp")) | (pl.col("hardware_count") == 1),
        )
        .with_columns(
            model=pl.col("model").replace_strict(SERVED, default=None),
            hardware=pl.col("hardware_norm").replace_strict(PARTS, default=None),
            precision=pl.col("precision_weights").replace_strict(PRECISIONS, default=None),
            kv=pl.when(engine.str.contains("TensorRT-LLM") & pl.col("precision_kv").is_null() & (pl.col("precision_weights") == "fp8"))
            .then(pl.lit("fp8_e4m3")).otherwise(pl.col("precision_kv").replace_strict(KV, default=None)),
            devices=pl.col("hardware_count").cast(pl.Int64), backend=backend,
            input=pl.col("input_tokens").round().cast(pl.Int64), output=pl.col("output_tokens").round().cast(pl.Int64),
            concurrency=pl.col("concurrency").cast(pl.Int64),
            quantity=pl.col("quantity").replace({"ITL": "TPOT"}),
        )
        .filter(
            pl.col("model").is_in(held), pl.col("hardware").is_not_null(), pl.col("precision").is_not_null(),
            pl.col("backend").is_not_null(),
        )
        .with_columns(
            measured_s=pl.when(pl.col("quantity") == "TPOT").then(pl.col("value") / 1e3).otherwise(
                1.0 / (pl.col("value") * pl.when(pl.col("scope") == "per_device").then(pl.col("devices")).otherwise(1))
            )
        )
    )  # fmt: skip


def scored(db: Session, rows: pl.DataFrame) -> pl.DataFrame:
    """Every row that charz answers, with `latency_s`: the time of a token of all requests, or of one of each."""
    cases = rows.select(CASE).unique(maintain_order=True)
    found = []
    for case in cases.iter_rows(named=True):
        try:
            answer = db.serve(
                case["model"], on=case["hardware"], input=case["input"], output=case["output"],
                concurrency=case["concurrency"], slots=SLOTS[case["backend"]], devices=case["devices"],
                precision=case["precision"], backend=case["backend"], kv_precision=case["kv"],
            )  # fmt: skip
        except CharzError as error:
            print("left out:", case["model"], case["hardware"], case["precision"], error)
            continue
        for row in answer.iter_rows(named=True):
            if row["tokens_per_s"]:
                made = {"output_throughput": 1.0 / row["tokens_per_s"], "TPOT": row["tpot_s"]}
                found += [{**case, "quantity": name, "latency_s": time_s} for name, time_s in made.items()]
    schema = rows.select(*CASE, "quantity").schema | {"latency_s": pl.Float64}
    return rows.join(pl.DataFrame(found, schema=schema), on=[*CASE, "quantity"], nulls_equal=True)


if __name__ == "__main__":
    main()
