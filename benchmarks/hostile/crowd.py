"""Readers and writers of one file at once: no change may be lost, and no reader may fail or see a partial change.

    python -m benchmarks.hostile.crowd FILE [--seconds 120] [--readers 8] [--writers 2]

FILE is a small charz database; a copy is used. A writer adds a new scenario each time. A reader opens the file each time and
compares the scenarios with the runs that triggers maintain for them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from charz.schema.errors import CharzError
from charz.session import Session
from charz.session.access import Access

_KEPT = "SELECT (SELECT count(*) FROM scenario) AS scenarios, (SELECT count(DISTINCT run.scenario_id) FROM run) AS kept"

Told = tuple[list[int], list[str]]
"""Batches that a writer added, or numbers of scenarios that a reader saw, and errors."""


def main() -> int:
    """Print the numbers of changes, answers and losses. Return 1 if a change was lost or a process failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--writers", type=int, default=2)
    given = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="charz-crowd-") as name:
        path = Path(name) / "charz.duckdb"
        shutil.copy(given.file, path)
        tasks: list[tuple[Callable[..., Told], int]] = [(_write, i) for i in range(given.writers)]
        tasks += [(_read, i) for i in range(given.readers)]
        with context.Pool(len(tasks)) as pool:
            waiting = [pool.apply_async(task, (path, number, given.seconds)) for task, number in tasks]
            told = [one.get() for one in waiting]
        writers, readers = told[: given.writers], told[given.writers :]
        written = {batch for batches, _ in writers for batch in batches}
        with Session(path) as session:
            held = set(session.scenario.list()["batch"].to_list())
            is_well = bool(session.doctor()["is_well"].all())
    errors = [error for _, said in told for error in said]
    shrunk = sum(seen != sorted(seen) for seen, _ in readers)
    print(f"{len(written)} changes by {given.writers} writers, {len(written - held)} lost; file sound: {is_well}")
    print(
        f"{sum(len(seen) for seen, _ in readers)} answers to {given.readers} readers, {shrunk} readers went back in time"
    )
    print(f"{len(errors)} errors" + "".join(f"\n  {error}" for error in sorted(set(errors))[:10]))
    return int(bool(errors or shrunk or written - held or not is_well))


def _write(path: Path, number: int, seconds: float) -> Told:
    """Add scenarios of batches that no other writer adds."""
    batches: list[int] = []
    errors: list[str] = []
    end = time.monotonic() + seconds
    batch = 1000 * (number + 1)
    while time.monotonic() < end:
        batch += 1
        try:
            with Session(path, access=Access(wait_s=seconds)) as session:
                session.scenario.add(batch=batch)
            batches.append(batch)
        except CharzError as error:
            errors.append(f"writer: {error.line}")
    return batches, errors


def _read(path: Path, number: int, seconds: float) -> Told:
    """Open the file and compare its scenarios with the runs maintained for them."""
    seen: list[int] = []
    errors: list[str] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with Session(path) as session:
                ((scenarios, kept),) = session.sql(_KEPT).rows()
        except CharzError as error:
            errors.append(f"reader: {error.line}")
            continue
        if scenarios != kept:
            errors.append(f"reader: {scenarios} scenarios, runs of {kept}")
        seen.append(scenarios)
    return seen, errors


if __name__ == "__main__":
    sys.exit(main())
