"""Fills a database with the timm models of the measured rows, and with the measurements.

    python -m benchmarks.makers.ingest_timm DATABASE --measurements ../shared/measurements [--limit 300] [--also regnet hiera] [--jobs 1]

Resumable: what is there already is skipped. Networks are written as timm wrote them
when they were measured (`timm_as_measured`). Models are dealt round the families, so that a run cut
short holds some of each, and `--also` adds all of whose names begin so; 1,433 of them take about an hour and a half on one core.
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
"""Measurements of whole models."""


def main() -> None:
    """Import the measurements, then ingest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("--measurements", type=Path, default=Path("../shared/measurements"))
    parser.add_argument("--limit", type=int, default=None, help="how many models")
    parser.add_argument("--also", nargs="*", default=[], help="beginnings of names of models to take besides")
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
    """Both files at once: a data set that stands in both would lose the rows of the first."""
    context = files.TraceContext(None, None, "eager")
    batches = [files.read(folder / name, [], None, context) for name in FILES]
    with workspace.change(database) as connection:
        files.store_batches(connection, batches)
    return pl.concat([batch.frame for batch in batches], how="diagonal")


def wanted(frame: pl.DataFrame) -> list[Spec]:
    """A request for every measured timm model and resolution, dealt round the families."""
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
