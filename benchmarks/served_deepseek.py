"""DeepSeek's public figure of DeepSeek-V3 as it is served, beside what charz says of its splits.

    python -m benchmarks.served_deepseek FILE [--markdown docs/validation-deepseek.md]

FILE gets the model with two of its layers; splits say that there are 61. Published (DeepSeek, overview of its inference system,
2025): a node of 8 H800 takes in 73.7 thousand tokens of prompts a second on average, of which 56.3 % lie in a cache, or makes 14.8
thousand tokens; prompts run on 32 devices and steps on 144, attention on replicas of one device and experts spread over all. Not
published, and assumed here: prompts of 4,096 tokens, four of them in a chunk; 88 requests a device at 4,989 tokens of context, which
gives the 20 to 22 tokens a second that a request is said to get; all layers hold experts (the first three have a dense product that
is as wide as the experts of a token); experts are met evenly; what goes to experts travels in 16 bits. charz adds computing and
exchanges; DeepSeek runs two batches in turn, one of which computes while the other is under way: `overlapped` is the larger of both.
Latents are kept as they are and what expands them is multiplied into queries and results, so a step reads a latent of 512 and a key of
64 values a token and layer (`cache a token`, of all layers). Work, links and host are those of a run of all layers, memory is a device's.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import polars as pl

import charz
from benchmarks import page
from charz.session import Session
from charz.session.ask import splits
from charz.session.core import Question

MODEL, LAYERS, PART, NODE = "deepseek-v3-layers", 61, "h800_sxm5_80", 8
SETTINGS = ["num_hidden_layers=2", "first_k_dense_replace=0"]
BACKEND, PRECISION = "vllm", "fp8"
CACHED = 0.563
PROMPT, PROMPTS = 4096, 4
CONTEXT, REQUESTS = 4989, 88
GIVEN = round(PROMPT * (1 - CACHED))
PUBLISHED = {"prefill": (32, 73.7e3 * (1 - CACHED)), "decode": (144, 14.8e3)}
"""Devices, and tokens a second of a node that are worked on, by phase."""


def main() -> None:
    """Print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path, help="file that gets the model")
    parser.add_argument("--markdown", type=Path, help="write the page there")
    options = parser.parse_args()
    page.print_wide(4)
    with charz.open(options.database) as db:
        if not options.database.exists() or MODEL not in set(db.sql("SELECT model FROM model")["model"]):
            db.ingest(["hf:deepseek-v3"], settings=SETTINGS, no_answers=True, name=MODEL)
        found = compared(db)
    if options.markdown:
        text = [" ".join(paragraph.split()) for paragraph in (__doc__ or "").split("\n\n")[2:]]
        page.write(options.markdown, "DeepSeek-V3 as it is served", text, [("A node of eight H800", found)])
        return
    print(found)


def compared(db: Session) -> pl.DataFrame:
    """Tokens a second of a node, published and predicted, and what the time of a run is made of."""
    runs: list[dict[str, Any]] = [
        {"batch": PROMPTS, "phase": "prefill", "sequence": GIVEN, "context": PROMPT},
        {"batch": REQUESTS, "phase": "decode", "sequence": None, "context": CONTEXT},
    ]
    scoped = db.asked(
        Question([MODEL], [PART], precisions=[PRECISION], backends=[BACKEND], runs=runs, serves=True), "serving_split"
    )
    made = [
        split.model_copy(update={"block_count": LAYERS})
        for devices, _ in PUBLISHED.values()
        for split in splits.served([1], [1], [1], [devices], most=devices)
    ]
    splits.hold(scoped, made)
    rows = []
    for row in scoped.records("SELECT * FROM serving_split ORDER BY phase DESC"):
        devices, published = PUBLISHED[row["phase"]]
        if row["device_count"] != devices:
            continue
        tokens = row["batch"] * row["sequence"]
        links_s = row["tensor_s"] + row["expert_s"] + row["context_s"] + row["send_s"]
        each = NODE * tokens
        overlapped_s = max(row["work_s"], links_s) + row["host_s"]
        rows.append({
            "phase": row["phase"], "devices": devices, "published": published, "predicted": each / row["pass_s"] if row["pass_s"] else None,
            "overlapped": each / overlapped_s, "work_s": row["work_s"], "links_s": links_s, "host_s": row["host_s"],
            "limit": row["step_limit"], "cache a token": row["kv_cache_byte"] / (row["batch"] * row["context"]),
            "memory GB": row["peak_memory_byte"] / 1e9, "fits": row["fits_device"],
        })  # fmt: skip
    return pl.DataFrame(rows).with_columns(
        ratio=pl.col("predicted") / pl.col("published"), ratio_overlapped=pl.col("overlapped") / pl.col("published")
    )


if __name__ == "__main__":
    main()
