"""Fills a database with the timm models of the measured rows, and with the measurements.

    python -m benchmarks.makers.ingest_timm DATABASE --measurements ../shared/measurements [--limit 300] [--also regnet hiera] [--jobs 1]

A further run resumes: it skips models in the file. Networks are those that timm had when they were measured (`timm_as_measured`).
The families take turns, so that an interrupted run has models of each, and `--also` adds all models whose names have these
prefixes. 1,433 models take about an hour and a half on one core.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import polars as pl

from charz.ingest.measurements import files
from charz.ingest.run import run
from charz.ingest.sources import timm
from charz.ingest.sources.spec import Spec, parse
from charz.session import workspace
from charz.sql import maintain

from . import timm_as_measured

FILES = ("models.parquet", "models_2.parquet")
"""Files with measurements of whole models."""


def main() -> None:
    """Import the measurements, then ingest the models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("--measurements", type=Path, default=Path("../shared/measurements"))
    parser.add_argument("--limit", type=int, default=None, help="number of models")
    parser.add_argument("--also", nargs="*", default=[], help="prefixes of names of further models")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    measured = take_in(options.database, options.measurements)
    print(f"{len(measured)} measurements")
    specs = wanted(measured)
    first = specs[: options.limit]
    beginnings = tuple(f"timm:{beginning}" for beginning in options.also)
    specs = first + [spec for spec in specs[len(first) :] if spec.shown.startswith(beginnings)]
    timm_as_measured.patch()
    outcomes = run(
        specs,
        lambda: workspace.change(options.database),
        maintain.add_runs,
        options.jobs,
        report=lambda o: print(o.state, o.model, o.message),
    )
    print(f"{sum(o.state != 'failed' for o in outcomes)} of {len(outcomes)} models")


def take_in(database: Path, folder: Path) -> pl.DataFrame:
    """Import both files at once, since a data set in both would lose the rows of the first."""
    context = files.TraceContext(None, None, "eager")
    batches = [files.read(folder / name, [], None, context) for name in FILES]
    with workspace.change(database) as connection:
        files.store_batches(connection, batches)
    return pl.concat([batch.frame for batch in batches], how="diagonal")


def wanted(frame: pl.DataFrame) -> list[Spec]:
    """Make a request for every measured timm model and resolution, with the families in turn."""
    known = set(timm.names())
    pairs = (
        frame.filter(pl.col("model_source").str.starts_with("timm:") & pl.col("resolution").is_not_null())
        .group_by("model_source", "resolution")
        .len()
        .sort("len", "model_source", "resolution", descending=[True, False, False])
    )
    by_family: dict[str, list[Spec]] = defaultdict(list)
    for source, resolution, _ in pairs.iter_rows():
        name = source.removeprefix("timm:")
        if name in known:
            by_family[name.split("_")[0]].append(parse(f"{source}@{resolution}"))
    longest = max((len(specs) for specs in by_family.values()), default=0)
    return [specs[i] for i in range(longest) for _, specs in sorted(by_family.items()) if i < len(specs)]


if __name__ == "__main__":
    main()
