"""Memory and CPU time of every command but `ingest`, `measure` and `fusion`, and how soon Ctrl-C ends it.

    python -m benchmarks.bounds FILE [--within 150] [--only check,doctor]

FILE holds some twenty models with their answers. Each command runs in a process of its own on a copy of the file, over 256 batches
and on all parts where it takes them. One that works for longer than `--within` (in the time of ten million empty passes of a
Python loop) is interrupted, and the time until it has ended is measured. Results go to docs/bounds.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl

from benchmarks import page
from benchmarks.engine import unit_s
from benchmarks.hostile import CHARZ, environment

PAGE = Path(__file__).parents[1] / "docs" / "bounds.md"

MOST_BYTE = 1e9
"""Memory that a command may hold."""
STOPPED_WITHIN_S = 2.0
"""Time in which Ctrl-C ends a command. [s]"""
MOST_U = {"check": 60.0, "doctor": 100.0}
"""CPU time of commands that have a bound."""
GIVEN_UP_S = 120.0
"""When a command that Ctrl-C does not end is killed. [s]"""

BATCHES = ",".join(map(str, range(1, 257)))
PART = "rtx4090"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command came to."""

    name: str
    code: int
    cpu_u: float
    peak_byte: float
    stopped_s: float | None
    """From Ctrl-C to its end; None of a command that ended by itself. [s]"""
    said: str

    @property
    def is_bounded(self) -> bool:
        """Whether it kept to all bounds."""
        is_ended = self.stopped_s is None or (self.stopped_s <= STOPPED_WITHIN_S and self.name not in MOST_U)
        is_known = self.code in (0, 1, 130)
        return (
            is_ended and is_known and self.peak_byte <= MOST_BYTE and self.cpu_u <= MOST_U.get(self.name, float("inf"))
        )


def commands(models: Sequence[str], folder: Path) -> dict[str, list[str]]:
    """Arguments of every command, as much of the file as it takes."""
    every, first = ",".join(models), models[0]
    swept = ["--batch", BATCHES]
    return {
        "models": ["models"],
        "coverage": ["coverage"],
        "schema": ["schema"],
        "describe": ["describe", "SELECT * FROM model_report"],
        "sql": ["sql", "SELECT * FROM model_report"],
        "check": ["check"],
        "doctor": ["doctor"],
        "compare": ["compare", every, *swept],
        "sweep": ["sweep", every, *swept, "--precision", "fp32,fp16,int8"],
        "cost": ["cost", every, *swept],
        "concurrency": ["concurrency", first, *swept],
        "llm": ["llm", every, *swept],
        "recommend": ["recommend", first],
        "opportunities": ["opportunities", first, "--on", PART],
        "parallel": ["parallel", first, "--on", PART],
        "memory": ["memory", first, "--on", PART],
        "report": ["report", first, "--on", PART],
        "explain": ["explain", first, "--on", PART],
        "explore": ["explore", "--base", "kpu_t64", "--vary", "tiles=16:1024:7", "--vary", "dram=32GB/s:1TB/s:36", "--models", every],
        "what-if": ["what-if", "--set", f"{PART}.sm.unit_count=20,80", "--", "compare", every, *swept],
        "plot": ["plot", "batch", first, "--out", str(folder / "picture.svg")],
        "export": ["export", str(folder / "exported"), "--force"],
        "validate": ["validate"],
        "calibrate": ["calibrate", f"hardware:{PART}", "--no-write"],
        "hardware list": ["hardware", "list"],
        "hardware show": ["hardware", "show", PART],
        "hardware diff": ["hardware", "diff", PART, "t4"],
        "hardware check": ["hardware", "check"],
        "hardware sync": ["hardware", "sync"],
        "scenario list": ["scenario", "list"],
        "scenario add": ["scenario", "add", "--batch", "7", "--precision", "fp16", "--backend", "inductor"],
        "measurements list": ["measurements", "list"],
        "refresh": ["refresh"],
    }  # fmt: skip


def measured(name: str, arguments: Sequence[str], file: Path, within_s: float) -> Outcome:
    """Run a command until it ends, or until it has worked so long and Ctrl-C ends it."""
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen(
            [*CHARZ, "--db", str(file), *arguments],
            env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True,
        )  # fmt: skip
        signalled: float | None = None
        peak_byte = 0.0
        while True:
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            peak_byte = max(peak_byte, _held_byte(process.pid))
            now = time.monotonic()
            if signalled is None and _cpu_s(process.pid) > within_s:
                os.killpg(process.pid, signal.SIGINT)
                signalled = now
            elif signalled is not None and now - signalled > GIVEN_UP_S:
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.1)
        stopped_s = None if signalled is None else time.monotonic() - signalled
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        lines = [line for line in said.read().splitlines() if line.strip()]
    peak_byte = max(peak_byte, used.ru_maxrss * 1024.0)
    cpu_s = used.ru_utime + used.ru_stime
    return Outcome(name, process.returncode, cpu_s / unit_s(), peak_byte, stopped_s, lines[-1][:120] if lines else "")


def _group(leader: int) -> list[Path]:
    """Folders in /proc of a command and the processes it began."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(fields[2]) == leader and fields[0] != "Z":
            found.append(folder)
    return found


def _cpu_s(leader: int) -> float:
    """CPU time of a command until now. [s]"""
    ticks = 0
    for folder in _group(leader):
        try:
            ticks += sum(map(int, (folder / "stat").read_text().rpartition(")")[2].split()[11:15]))
        except OSError:
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def _held_byte(leader: int) -> float:
    """Memory that a command and the processes it began hold now. [byte]"""
    pages = 0
    for folder in _group(leader):
        try:
            pages += int((folder / "statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


def main() -> int:
    """Measure, print and write the page; 1 if a command did not keep to a bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--within", type=float, default=150.0, help="in U")
    parser.add_argument("--only", default="", help="commands, with commas; writes no page")
    given = parser.parse_args()
    with duckdb.connect(str(given.file), read_only=True) as connection:
        models = [name for (name,) in connection.execute("SELECT model FROM model ORDER BY model").fetchall()]
    chosen = set(filter(None, given.only.split(",")))
    outcomes = []
    for name in commands(models, Path()):
        if chosen and name not in chosen:
            continue
        with tempfile.TemporaryDirectory(prefix="charz-bounds-", dir=given.file.parent) as folder:
            path = Path(shutil.copy(given.file, folder))
            arguments = commands(models, Path(folder))[name]
            outcomes.append(measured(name, arguments, path, max(given.within, 1.5 * MOST_U.get(name, 0.0)) * unit_s()))
        print(outcomes[-1], flush=True)
        if not chosen:
            page.write(PAGE, "Bounds", _text(models, given.within, outcomes), [("Commands", _table(outcomes))])
    return int(not all(outcome.is_bounded for outcome in outcomes))


def _text(models: Sequence[str], within_u: float, outcomes: Sequence[Outcome]) -> list[str]:
    beyond = [outcome.name for outcome in outcomes if not outcome.is_bounded]
    left = [name for name in commands(models, Path()) if name not in {outcome.name for outcome in outcomes}]
    return [
        f"`python -m benchmarks.bounds FILE` on a file of {len(models)} models: every command but `ingest`, `measure` and `fusion`,"
        " over 256 batches and on all parts where it takes them, on a copy of the file. U is the CPU time of ten million empty"
        f" passes of a Python loop. A command that works for more than {within_u:g} U is interrupted; the time from Ctrl-C to its end"
        " passed while others used the machine. Memory is that of the command and of all processes that it began.",
        f"A command holds at most {MOST_BYTE / 1e9:g} GB and ends within {STOPPED_WITHIN_S:g} s of Ctrl-C; "
        + ", ".join(f"`{name}` takes at most {most:g} U" for name, most in MOST_U.items())
        + (f". Beyond a bound: {', '.join(beyond)}." if beyond else ". All keep to that.")
        + (f" Not measured yet: {', '.join(left)}." if left else ""),
    ]


def _table(outcomes: Sequence[Outcome]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "command": [outcome.name for outcome in outcomes],
            "CPU time [U]": [f"{outcome.cpu_u:.1f}" for outcome in outcomes],
            "memory [MB]": [f"{outcome.peak_byte / 1e6:.0f}" for outcome in outcomes],
            "ended": ["by itself" if o.stopped_s is None else f"{o.stopped_s:.1f} s after Ctrl-C" for o in outcomes],
            "is bounded": ["yes" if outcome.is_bounded else "no" for outcome in outcomes],
        }
    )


if __name__ == "__main__":
    sys.exit(main())
