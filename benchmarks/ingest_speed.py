"""What charz adds to `torch.export.export` on the same models, in one process and end to end.

    python benchmarks/ingest_speed.py resnet50 efficientnet_b0 vit_b_16
    python benchmarks/ingest_speed.py --end-to-end resnet50
    python benchmarks/ingest_speed.py --jobs resnet50 efficientnet_b0 vit_b_16 ...

For each model both make the same export call; charz also lowers, sizes, compiles and writes. End to end,
`charz ingest` in a process of its own is held against a bare script in one, which imports the same
packages. With `--jobs`, two workers are held against one. Printed are processor seconds, which other
processes disturb less than wall time, and their ratio; for `--jobs` wall time, which needs two idle cores.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from charz.ingest import pipeline
from charz.ingest.compile.rules import Rules, from_connection
from charz.ingest.rows import Ingested
from charz.ingest.sources import build
from charz.ingest.sources.spec import Spec, parse
from charz.ingest.trace import export
from charz.ingest.write import write
from charz.session import workspace
from charz.sql import maintain

REPEATS = 3
LIMIT = 1.25
END_TO_END_LIMIT = 1.5
JOBS_LIMIT = 1.7

BARE = """
import duckdb, polars, torch
from charz.ingest.trace import torchvision_schemas
torchvision_schemas.prepare()  # for a torchvision without its compiled operators
import torchvision
with torch.device("meta"):
    model = torchvision.models.get_model({name!r}, weights=None).eval()
side = {side}
with torch.no_grad():
    image = torch.empty(2, 3, side, side, device="meta")
    torch.export.export(model, (image,), dynamic_shapes=({{0: torch.export.Dim.DYNAMIC}},), strict=False)
"""
"""The bare script."""


def seconds(function: Callable[[], object]) -> float:
    """Processor time of the fastest of a few calls."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def _export(spec: Spec) -> None:
    export.trace(build(spec))


def _ingest(spec: Spec, rules: Rules, made: list[Ingested]) -> None:
    made.append(pipeline.ingest(spec, rules))


def in_one_process(names: list[str]) -> int:
    """1 when charz takes more than the limit over all models together."""
    database = Path(tempfile.mkdtemp()) / "speed.duckdb"
    with workspace.change(database) as connection:
        rules = from_connection(connection)
    made: list[Ingested] = []
    bare = charz = 0.0
    export.trace(build(parse("alexnet")))  # imports and caches of torch are nobody's
    for name in names:
        spec = parse(name)
        bare_s = seconds(partial(_export, spec))
        charz_s = seconds(partial(_ingest, spec, rules, made))
        bare, charz = bare + bare_s, charz + charz_s
        print(f"{name:30s} export {bare_s:6.2f} s   charz {charz_s:6.2f} s   {charz_s / bare_s:.2f}")
    start = time.process_time()
    with workspace.change(database) as connection:
        write(connection, made[::REPEATS], maintain.add_runs)
    written = time.process_time() - start
    ratio = (charz + written) / bare
    print(f"write {written:.2f} s; together {ratio:.2f} times the export")
    return 1 if ratio > LIMIT else 0


def end_to_end(names: list[str]) -> int:
    """1 when a process of charz takes more than the limit over a process of the bare script."""
    folder = Path(tempfile.mkdtemp())
    os.environ["XDG_CACHE_HOME"] = str(folder)
    worst = 0.0
    for name in names:
        side = build(parse(name)).resolution
        bare = [sys.executable, "-c", BARE.format(name=name, side=side)]
        charz = [sys.executable, "-c", "from charz.cli import main; main()", "ingest", name, "--force", "--db"]
        taken: dict[str, list[float]] = {"bare": [], "new": [], "existing": []}
        for i in range(REPEATS + 1):  # the first round fills caches
            taken["bare"].append(process_seconds(bare))
            taken["new"].append(process_seconds([*charz, str(folder / f"{name}{i}.duckdb")]))
            taken["existing"].append(process_seconds([*charz, str(folder / f"{name}0.duckdb")]))
        least = {what: min(times[1:]) for what, times in taken.items()}
        new, existing = least["new"] / least["bare"], least["existing"] / least["bare"]
        print(
            f"{name:30s} bare {least['bare']:6.2f} s   charz {least['new']:6.2f} s into a new database ({new:.2f}),"
            f" {least['existing']:.2f} s into an existing one ({existing:.2f})"
        )
        worst = max(worst, new, existing)
    return 1 if worst > END_TO_END_LIMIT else 0


def process_seconds(command: list[str]) -> float:
    """Processor time of a process and of those it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def jobs(names: list[str]) -> int:
    """1 when two workers are not that much faster than one."""
    folder = Path(tempfile.mkdtemp())
    taken = []
    for workers in (1, 2):
        command = [sys.executable, "-c", "from charz.cli import main; main()", "ingest", *names]
        command += ["--jobs", str(workers), "--db", str(folder / f"{workers}.duckdb")]
        start = time.perf_counter()
        process_seconds(command)
        taken.append(time.perf_counter() - start)
        print(f"--jobs {workers}: {taken[-1]:.1f} s")
    load = os.getloadavg()[0]
    print(f"{taken[0] / taken[1]:.2f} times as fast; {load:.1f} processes wanted {os.cpu_count()} processors meanwhile")
    return 1 if taken[0] / taken[1] < JOBS_LIMIT else 0


def main() -> int:
    """Run what is asked for; 1 when it misses its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["resnet50", "efficientnet_b0", "vit_b_16"])
    parser.add_argument("--end-to-end", action="store_true")
    parser.add_argument("--jobs", action="store_true")
    options = parser.parse_args()
    measure = end_to_end if options.end_to_end else jobs if options.jobs else in_one_process
    return measure(options.names)


if __name__ == "__main__":
    sys.exit(main())
