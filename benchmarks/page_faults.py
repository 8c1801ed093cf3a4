"""Fresh pages of PyTorch's runs on this processor, counted by the system, against those predicted.

    python -m benchmarks.page_faults FOLDER [--markdown docs/validation-page-faults.md]

Ten minutes on two cores; needs glibc, whose `malloc` is what is modelled. A network runs eager and under inductor at
batch 1 and eager at batch 8, once as it is and once with `MALLOC_TRIM_THRESHOLD_` and `MALLOC_MMAP_THRESHOLD_` so high
that the heap stays: the difference in time is what the pages cost.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import torch

from benchmarks import page
from benchmarks.this_machine import charz
from charz.hardware_catalog.calibration.shipped import live
from charz.hardware_catalog.calibration.workbench import Workbench
from charz.session import workspace
from charz.session.explain.explain import KEPT_HEAP

MODELS = (
    "alexnet", "densenet121", "efficientnet_b0", "mobilenet_v2", "resnet18", "resnet50", "squeezenet1_1", "vgg11",
    "convnext_tiny", "swin_t", "vit_b_16",
)  # fmt: skip
RUNS = (("eager", 1), ("eager", 8), ("inductor", 1))

COUNT = """
import json, resource, sys, time
from charz.ingest.trace import torchvision_schemas
torchvision_schemas.prepare()
import torch, torchvision
name, backend, batch = sys.argv[1], sys.argv[2], int(sys.argv[3])
model, image = torchvision.models.get_model(name, weights=None).eval(), torch.randn(batch, 3, 224, 224)
call = torch.compile(model) if backend == "inductor" else model
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt * resource.getpagesize()
with torch.inference_mode():
    for _ in range(4):
        call(image)
    before, seconds = faults(), []
    for _ in range(8):
        start = time.perf_counter()
        call(image)
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"mb": (faults() - before) / 8e6, "ms": 1e3 * min(seconds)}))
"""


def main() -> None:
    """Ingest, count, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="gets the database")
    parser.add_argument("--markdown", type=Path, help="write the table to this page")
    options = parser.parse_args()
    page.print_wide(1)
    options.folder.mkdir(parents=True, exist_ok=True)
    charz(options.folder, "ingest", *MODELS)
    table = predicted(options.folder / "charz.duckdb").join(counted(), on=["model", "backend", "batch"])
    table = table.select(
        "model", "backend", "batch", "predicted_mb", "counted_mb", "run_ms", "kept_ms",
        ms_per_mb=pl.when(pl.col("counted_mb") > 5).then((pl.col("run_ms") - pl.col("kept_ms")) / pl.col("counted_mb")),
    )  # fmt: skip
    print(table)
    if options.markdown is not None:
        write_page(options.markdown, table)


def predicted(database: Path) -> pl.DataFrame:
    """Megabytes of fresh pages of every run, as the view `page_fault` says."""
    with workspace.read(database) as connection:
        return _predicted(connection)


def _predicted(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    models = [name for (name,) in connection.sql("SELECT model FROM model").fetchall()]
    fixed = {
        "hardware": "i9_10940x", "precision": "fp32", "memory_format": "nchw", "sequence": None, "host_factor": 1.0,
        "cache_state": "warm", "phase": "forward", "context": None,
    }  # fmt: skip
    cases = [{"model": m, "backend": backend, "batch": batch, **fixed} for m in models for backend, batch in RUNS]
    query = """
        SELECT f.run.model, f.run.backend, f.run.batch, SUM(f.fault_byte) / 1e6 AS predicted_mb
        FROM page_fault AS f
        GROUP BY f.run.model, f.run.backend, f.run.batch
    """
    with Workbench(connection, pl.DataFrame(cases), overrides=live.tables()) as bench:
        found = bench.sql(query)
    return found.with_columns(batch=pl.col("batch").cast(pl.Int64))


def counted() -> pl.DataFrame:
    """Megabytes and milliseconds of every run, as it is and with the heap kept."""
    rows = []
    for name in MODELS:
        for backend, batch in RUNS:
            run, kept = (_count(name, backend, batch, environment) for environment in ({}, KEPT_HEAP))
            row = {"model": name, "backend": backend, "batch": batch, "counted_mb": run["mb"]}
            rows.append({**row, "run_ms": run["ms"], "kept_ms": kept["ms"]})
            print(rows[-1], flush=True)
    return pl.DataFrame(rows)


def _count(name: str, backend: str, batch: int, environment: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, "-c", COUNT, name, backend, str(batch)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **environment})
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def write_page(path: Path, table: pl.DataFrame) -> None:
    """The comparison, with what its columns mean."""
    agreeing = table.filter((pl.col("predicted_mb") > 1) == (pl.col("counted_mb") > 1)).height
    text = [
        "Written by `python -m benchmarks.page_faults FOLDER --markdown docs/validation-page-faults.md`; do not edit.",
        "Memory that glibc's `malloc` gives back at the end of a run, or within it, comes as fresh pages in the next, half a"
        " microsecond each 4 KiB and more in a virtual machine. charz plays the allocator from the graph (`heap_growth`,"
        " `page_fault`); `counted_mb` is what the system counted (`ru_minflt`) on two cores of this machine,"
        f" PyTorch {torch.__version__}. `kept_ms` is the time of the same run with"
        " `MALLOC_TRIM_THRESHOLD_` and `MALLOC_MMAP_THRESHOLD_` at 4e9, `ms_per_mb` the difference for each fresh MB."
        f" In {agreeing} of {table.height} runs more than 1 MB is counted where it is predicted, and not where not. Amounts"
        " differ from one process to the next, where the heap is not packed as it is taken to be. The plan of inductor's memory"
        " is that of PyTorch 2.4, from which timm's results are; later versions reuse a block only where the peak allows.",
    ]
    page.write(path, "Fresh pages on processors", text, [("Runs", table)])


if __name__ == "__main__":
    main()
