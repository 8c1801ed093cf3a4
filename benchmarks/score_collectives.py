"""Error of predicted collective calls against NCCL's timings in aiconfigurator-core.

    python -m benchmarks.score_collectives [--package DIR]

The tables are those of the row in force (`charz calibrate --shipped collectives` fits it), and of what a whole latency
a step would give.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from benchmarks import page
from charz.hardware_catalog.calibration.shipped import collectives, live

WHOLE_STEPS = (0.0, 1.0, 1.0)
"""`FRACTIONS` of a call that begins at once and pays the link's latency at every step."""
SIZES = {"to 16 KiB": 2**14, "to 128 KiB": 2**17, "to 1 MiB": 2**20, "to 8 MiB": 2**23, "to 64 MiB": 2**26}
"""Where ranges of message sizes end. [byte]"""


def main() -> None:
    """Print the errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=Path, help="unpacked aiconfigurator_core folder; default the installed one")
    page.print_wide(3)
    tables = live.tables()
    measured = collectives.timings(parser.parse_args().package, tables["hardware_interconnect"])
    in_force = tables["collective"].filter(interconnect=collectives.LINK).select(collectives.FRACTIONS).row(0)
    for constants in (in_force, WHOLE_STEPS):
        scored = measured.with_columns(ratio=collectives.log_ratio(measured, *constants))
        print(constants, *(errors(scored, by) for by in ([], ["hardware"], ["op_name"], ["size"])), sep="\n")
        print(errors(scored, ["size", "n"]).pivot("n", index="size", values="median"))


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
