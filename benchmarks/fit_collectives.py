"""Constants of a collective call, fitted on NCCL's timings in aiconfigurator-core.

    python -m benchmarks.fit_collectives [--package DIR]

The three fractions of `collective` (see there for the formula) are fitted to the least mean |log ratio| over parts
joined by NVLink, with the latency and bandwidth that the catalog states of the link: parts, collectives, sizes and counts
of devices weigh the same. The tables are those of the row in force, and of what a whole latency a step would give.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
from scipy.optimize import minimize

from benchmarks import catalog, page
from charz.ingest.measurements import aiconfigurator

LINK = "nvlink"
FRACTIONS = ("call_fraction", "step_fraction", "bandwidth_fraction")
WHOLE_STEPS = (0.0, 1.0, 1.0)
"""`FRACTIONS` of a call that begins at once and pays the link's latency at every step."""
SIZES = {"to 16 KiB": 2**14, "to 128 KiB": 2**17, "to 1 MiB": 2**20, "to 8 MiB": 2**23, "to 64 MiB": 2**26}
"""Where ranges of message sizes end. [byte]"""


def main() -> None:
    """Print the fitted constants and the errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=Path, help="unpacked aiconfigurator_core folder; default the installed one")
    page.print_wide(3)
    measured = timings(parser.parse_args().package)
    in_force = catalog.tables()["collective"].filter(interconnect=LINK).select(FRACTIONS).row(0)
    found = minimize(lambda x: np.mean(np.abs(log_ratio(measured, *np.exp(x)))), np.log(in_force), method="Nelder-Mead")
    print(*FRACTIONS, "fitted:", np.exp(found.x).round(3))
    for constants in (in_force, WHOLE_STEPS):
        scored = measured.with_columns(ratio=log_ratio(measured, *constants))
        print(constants, *(errors(scored, by) for by in ([], ["hardware"], ["op_name"], ["size"])), sep="\n")
        print(errors(scored, ["size", "n"]).pivot("n", index="size", values="median"))


def timings(package: Path | None) -> pl.DataFrame:
    """Measured collectives, the versions' median, with the part's link and the ring's `steps` and `share`."""
    connection = duckdb.connect()
    aiconfigurator.relation(connection, aiconfigurator.data_root(package), "nccl").create_view("timing")
    connection.register("link", catalog.tables()["hardware_interconnect"].to_arrow())
    return connection.sql(
        """
        SELECT t.hardware, t.op_name, t.num_gpus AS n, l.latency_s AS link_s, l.bandwidth_byte_per_s,
            t.message_size * CASE t.precision WHEN 'fp16' THEN 2 ELSE 1 END AS byte,
            (t.num_gpus - 1) * CASE t.op_name WHEN 'all_reduce' THEN 2 ELSE 1 END AS steps,
            steps / t.num_gpus AS share, median(t.latency_s) AS measured_s
        FROM timing AS t
        JOIN link AS l ON l.hardware = t.hardware AND l.interconnect = $link
        GROUP BY ALL
        ORDER BY ALL
        """,
        params={"link": LINK},
    ).pl()


def log_ratio(measured: pl.DataFrame, call: float, step: float, fraction: float) -> np.ndarray:
    """Logarithm of predicted over measured time."""
    latency = pl.col("link_s") * (call + step * pl.col("steps"))
    transfer = pl.col("share") * pl.col("byte") / (fraction * pl.col("bandwidth_byte_per_s"))
    return measured.select(((latency + transfer) / pl.col("measured_s")).log()).to_series().to_numpy()


def errors(scored: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Errors a group, smaller messages first."""
    ranges = [pl.when(pl.col("byte") <= end).then(pl.lit(name)) for name, end in SIZES.items()]
    error = pl.col("ratio").abs()
    return (
        scored.sort("byte", "n")
        .with_columns(size=pl.coalesce(*ranges, pl.lit("above")))
        .group_by(by or pl.lit("all").alias("of"), maintain_order=True)
        .agg(rows=pl.len(), median=error.median(), p90=error.quantile(0.9), bias=pl.col("ratio").median())
    )


if __name__ == "__main__":
    main()
