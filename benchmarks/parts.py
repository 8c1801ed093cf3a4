"""ResNet-50 on every part of the catalog: share of peak, watts, and what was measured or its maker says.

    python -m benchmarks.parts [DATABASE] [--measurements ../shared/measurements] [--markdown docs/parts.md]

DATABASE is made, with the model, if it is not there. What makers say of parts without measured rows stands in
`benchmarks/parts_published.csv`.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from benchmarks import catalog, page
from charz.ingest.measurements import collection, store
from charz.ingest.run import run
from charz.ingest.sources.spec import parse
from charz.session import workspace
from charz.sql import evaluate, maintain
from charz.sql.evaluate import Scope, Triple

MODEL = "resnet50"
BATCHES = (1, 64)
PREFERRED = {"cpu": ("fp32", "bf16", "fp16", "int8"), "tpu": ("bf16", "int8"), "kpu": ("int8",)}
"""Precisions that a family is asked in, the first that the part computes in."""
OTHERS = ("fp16", "bf16", "int8", "fp32")
PUBLISHED = Path(__file__).with_name("parts_published.csv")
MEASURED_MODES = ("run", "single_stream", "offline")
TEXT = (
    "ResNet-50 under the backend that answers assume on a part, in the first of fp16, bf16, int8 and fp32 that it computes in"
    " (processors: fp32 first; TPUs bf16, KPUs int8). `share` is the time at the peak of all units over the time that is predicted, `W` the average"
    " power of the run. `rows` are the measured rows of the released files for this model on the part, at 224 pixels on one"
    " device, in any precision and under any backend that charz knows; `predicted / measured` is the median over them of the"
    " predicted time, of the same backend, precision, batch and memory format, over the measured one. They are a check of the"
    " part, not a score: fits saw many of them.",
    "Where no row was measured, `maker` is what the maker says, in samples a second, and `predicted / maker` the predicted rate"
    " over it.",
    "What stands out. GPUs take 1.98 ms at batch 1 whatever their size: the host issues inductor's kernels one by one; the fastest"
    " wait for it at 64 too. Processors of AMD, Arm and Apple run PyTorch eager, those of Intel OpenVINO; with 64 cores and more"
    " eager's teams of threads cost more than the arithmetic. Cerebras has 900,000 units, and work for few of them. The Coral's array"
    " is not stated, so that its one unit computes without tiles. Groq starts its kernels with the gap that is usual of NPUs, 1 us"
    " each, where its schedule is fixed for the whole network. RTX A5000: one row, of fp32 under ONNX Runtime. Xavier: two rows of"
    " fp16 whose power mode nobody states. Atom x7425E and Core Ultra 165H: one int8 row each in OpenVINO's latency mode, predicted"
    " too fast. A2 and RTX 2000E Ada: int8 at batch 1, predicted too slow.",
)


def targets(connection: duckdb.DuckDBPyConnection) -> dict[str, Triple]:
    """What each part is asked in: the backend that answers assume, and the first precision of its family's list."""
    query = """
        SELECT s.hardware, s.family, s.backend, s.precision
        FROM part_support AS s JOIN supported_backend AS b USING (hardware, backend)
        ORDER BY s.hardware, b.serves, b.is_default DESC, s.backend
    """
    backends: dict[str, str] = {}
    found: dict[str, list[tuple[int, str]]] = {}
    for part, family, backend, precision in connection.execute(query).fetchall():
        wanted = PREFERRED.get(family, OTHERS)
        if backends.setdefault(part, backend) == backend and precision in wanted:
            found.setdefault(part, []).append((wanted.index(precision), precision))
    return {part: (part, backends[part], min(ranked)[1]) for part, ranked in found.items()}


def measured(connection: duckdb.DuckDBPyConnection, folder: Path) -> list[dict[str, Any]]:
    """Measured times of a run of the model on one part of the catalog."""
    raw = [pl.read_parquet(folder / f"{name}.parquet") for name in ("models", "models_2")]
    rows = collection.models(pl.concat(raw, how="diagonal_relaxed"))
    kept = rows.filter(
        pl.col("model").str.contains(r"(?i)^resnet-?50(\.|$|-v1|_v1)")
        & (pl.col("resolution").is_null() | (pl.col("resolution") == 224))
        & (pl.col("device_count") == 1)
        & pl.col("mode").is_in(MEASURED_MODES)
        & pl.col("batch").is_not_null()
    ).with_columns(time_s=pl.coalesce(pl.col("latency_s"), pl.col("batch") / pl.col("throughput_per_s")))
    return kept.join(store.hardware_names(connection), on="hardware_name").filter(pl.col("time_s") > 0).to_dicts()


def predicted(
    connection: duckdb.DuckDBPyConnection, asked: Sequence[Triple], runs: Sequence[tuple[str, str, int, str]]
) -> dict[tuple[str, str, str, int, str], dict[str, float]]:
    """Answers by part, backend, precision, batch and memory format."""
    (usual,) = evaluate.scenario_rows(connection, [_usual(connection)])
    columns = ("backend", "precision", "batch", "memory_format")
    scenarios = [
        {**usual, "scenario_id": -1 - i, **dict(zip(columns, of, strict=True))}
        for i, of in enumerate(sorted(set(runs)))
    ]
    parts = sorted({part for part, _, _ in asked})
    scope = Scope(models=[MODEL], hardware=parts, targets=set(asked), scenarios=scenarios)
    query = """
        SELECT hardware, backend, precision, batch, memory_format, latency_s, energy_j / latency_s AS average_w,
            naive_s / latency_s AS share
        FROM model_cost
    """
    return {
        (part, *of): {"latency_s": latency_s, "average_w": watt, "share": share}
        for _ in evaluate.evaluated(connection, scope, ["model_cost"])
        for part, *of, latency_s, watt, share in connection.execute(query).fetchall()
    }


def _usual(connection: duckdb.DuckDBPyConnection) -> int:
    query = "SELECT MIN(scenario_id) FROM scenario WHERE phase = 'forward' AND power IS NULL AND cache_state = 'warm'"
    ((number,),) = connection.execute(query).fetchall()
    return int(number)


def table(connection: duckdb.DuckDBPyConnection, folder: Path) -> pl.DataFrame:
    """A line a part."""
    asked = targets(connection)
    makers = {row["hardware"]: row for row in pl.read_csv(PUBLISHED).to_dicts()}
    asked |= {part: (part, asked[part][1], row["precision"]) for part, row in makers.items()}
    supported = set(connection.execute("SELECT hardware, backend, precision FROM part_support").fetchall())
    rows = [row for row in measured(connection, folder) if _target(row) in supported]
    runs = [(backend, precision, batch, "nchw") for _, backend, precision in asked.values() for batch in BATCHES]
    runs += [(row["backend"], row["precision"], row["batch"], row["memory_format"]) for row in rows]
    answers = predicted(connection, [*asked.values(), *map(_target, rows)], runs)
    lines = []
    for part, (_, backend, precision) in asked.items():
        one, many = (answers[part, backend, precision, batch, "nchw"] for batch in BATCHES)
        ratios = [
            answers[(*_target(row), row["batch"], row["memory_format"])]["latency_s"] / row["time_s"]
            for row in rows
            if row["hardware"] == part
        ]
        maker = makers.get(part)
        said = answers[part, backend, precision, maker["batch"], "nchw"] if maker else None
        lines.append({
            "hardware": part, "backend": backend, "precision": precision,
            "1: ms": 1e3 * one["latency_s"], "1: share": one["share"], "1: W": one["average_w"],
            "64: samples/s": BATCHES[1] / many["latency_s"], "64: share": many["share"], "64: W": many["average_w"],
            "rows": len(ratios), "predicted / measured": statistics.median(ratios) if ratios else None,
            "maker": maker and float(maker["samples_per_s"]),
            "predicted / maker": maker and said and maker["batch"] / said["latency_s"] / maker["samples_per_s"],
        })  # fmt: skip
    return pl.DataFrame(lines, infer_schema_length=None)


def _target(row: dict[str, Any]) -> Triple:
    return row["hardware"], row["backend"], row["precision"]


def main() -> None:
    """Print the table, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path, nargs="?")
    parser.add_argument("--measurements", type=Path, default=Path("../shared/measurements"))
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    catalog.published_models(options.measurements)
    with catalog.database(options.database) as path:
        run([parse(MODEL)], lambda: workspace.change(path), maintain.add_runs)
        with workspace.read(path) as connection:
            found = table(connection, options.measurements)
    if options.markdown:
        page.write(options.markdown, "Every part", TEXT, [("ResNet-50", found)])
    else:
        page.print_wide(3)
        print(found)


if __name__ == "__main__":
    main()
