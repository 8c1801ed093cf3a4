"""Fits the numbers of `engine_version` and factors of `framework` to published rows, and prints them.

    python -m benchmarks.makers.published engines|frameworks --file FILE [--measurements FOLDER]

FILE contains the language models; missing models of training are ingested. For an engine version the best fits with one, two and
three numbers are printed.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.studies import serving, training
from benchmarks.study import Given

MOST_NUMBERS = 3


def engines(given: Given) -> None:
    """Print the numbers of each engine version."""
    with given.session() as db:
        rows = serving.static_rows(given, db)
    for key, group in rows.group_by("backend", "version", maintain_order=True):
        for count in range(1, MOST_NUMBERS + 1):
            tried = [serving.fit(group, which) for which in itertools.combinations(range(len(serving.FACTORS)), count)]
            best = min(tried, key=lambda numbers: _loss(group, numbers))
            print(key, len(group), {name: f"{value:.2g}" for name, value in zip(serving.FACTORS, best, strict=True) if value})


def _loss(rows: pl.DataFrame, numbers: np.ndarray) -> float:
    times = rows["kernel_s"].to_numpy() + rows.select(serving.COUNTS).to_numpy() @ numbers
    return float(np.abs(np.log(times / rows["measured_s"].to_numpy())).mean())


def frameworks(given: Given) -> None:
    """Print the factors of each framework."""
    rows, tried = training.candidates(given)
    for (name,), group in rows.group_by("framework", maintain_order=True):
        best = tried[str(name)][training.best(group)]
        print(name, len(group), best.model_dump(exclude={"framework", "source_id", "confidence"}, exclude_none=True))


def main() -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=["engines", "frameworks"])
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--measurements", type=Path, default=Given.__dataclass_fields__["measurements"].default)
    options = parser.parse_args()
    {"engines": engines, "frameworks": frameworks}[options.which](Given(options.file, options.measurements))


if __name__ == "__main__":
    main()
