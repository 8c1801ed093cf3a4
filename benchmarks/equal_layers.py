"""CPU time and memory of ingesting language models of many equal layers, beside ten ingests of ResNet-50.

    python -m benchmarks.equal_layers [--page docs/benchmark-equal-layers.md]

Each row is one process that makes the rows of a model: its user and system time, and the most memory that it held. The ingest alone
is what it took beside the start, the imports and the catalog. Writing rows and evaluating answers is not part of it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import polars as pl

from benchmarks import page
from charz.schema.workload import Operator

BASE, TIMES = "resnet50", 10
MODELS = (
    "hf:deepseek-v3",
    "hf:mixtral-8x22b",
    "hf:qwen3-30b-a3b",
    "hf:qwen3-30b-a3b,num_hidden_layers=94",
    "hf:gpt-oss-120b",
    "hf:llama-3.1-405b",
)
"""Qwen3-MoE also as deep as Qwen3-235B-A22B is."""
MOST_GB = 4.0


def main() -> None:
    """Print the table, and write it to a page where asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, help="write the page there")
    parser.add_argument("--one", nargs=2, metavar=("MODEL", "TIMES"), help="ingest it so often in this process")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(_ingested(asked.one[0], int(asked.one[1]))))
        return
    page.print_wide(2)
    rows = [_in_a_process(BASE, TIMES), *(_in_a_process(model, 1) for model in MODELS)]
    table = pl.DataFrame(rows)
    table = table.with_columns(
        (pl.col("ingest [CPU s]") / rows[0]["ingest [CPU s]"]).alias("of ten"),
        ((pl.col("ingest [CPU s]") <= rows[0]["ingest [CPU s]"]) & (pl.col("peak [GB]") <= MOST_GB)).alias("within"),
    )
    print(table)
    if asked.page:
        text = [
            "Equal layers are traced once (docs/decisions/ingest.md). Each row is one process: CPU time, user and system, of the"
            f" ingest alone and with the start, and the most memory held. The line is {TIMES} ingests of {BASE}, and {MOST_GB:.0f} GB. Writing"
            " rows to a file and evaluating runs is not part of it.",
        ]
        page.write(asked.page, "Models of equal layers", text, [("Ingest", table)])


def _ingested(model: str, times: int) -> dict[str, float]:
    from charz.hardware_catalog import loader
    from charz.ingest import pipeline
    from charz.ingest.compile.rules import from_rows
    from charz.ingest.sources.spec import parse

    rules = from_rows(loader.load().rows)
    start_s = time.process_time()
    for _ in range(times):
        made = pipeline.ingest(parse(model), rules)
    all_s, peak_gb = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {
        "operators": len(made.columns[Operator]["operator"]), "ingest [CPU s]": all_s - start_s, "with start [CPU s]": all_s,
        "peak [GB]": peak_gb,
    }  # fmt: skip


def _in_a_process(model: str, times: int) -> dict[str, float | str]:
    command = [sys.executable, "-m", "benchmarks.equal_layers", "--one", model, str(times)]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {"model": f"{times} x {model}" if times > 1 else model, **json.loads(said.splitlines()[-1])}


if __name__ == "__main__":
    main()
