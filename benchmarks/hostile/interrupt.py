"""Ctrl-C at random moments: the command must end within two seconds, report it in one line and leave the old file.

    python -m benchmarks.hostile.interrupt FILE [--count 50] [--seed 1]

FILE is a small charz database; a copy is used. The signal goes to the command and to the processes that it started, as from a
terminal. Commands that end before the signal are counted separately.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.hostile import CHARZ, environment

WITHIN_S = 2.0
"""CPU time within which an interrupted command must end; wall time would depend on other users of the machine. [s]"""
BLOCKED_S = 180.0
"""Wall time after which a command that does not end is killed. [s]"""
GONE_S = 60.0
"""Wall time within which child processes must end: an import of torch ignores the signal. [s]"""
BEGUN_S = 0.6
"""Time from the start of a process until charz handles the signal, since the interpreter starts first. [s]"""

_ENDLESS = "SELECT count(*) FROM range(10000000) a(i), range(10000000) b(j) WHERE i * j = 7"

COMMANDS: dict[str, tuple[str, ...]] = {
    "sql": ("sql", _ENDLESS),
    "sql without end": ("sql", _ENDLESS, "--timeout", "0"),
    "sql, rows": ("sql", "SELECT * FROM range(3000000000)", "--out", "/dev/null"),
    "sql, one call": ("sql", "SELECT length(repeat('x', 3000000000))", "--memory", "10GB"),
    "ingest": ("ingest", "synthetic:mlp", "synthetic:conv2d", "resnet18", "--jobs", "2"),
    "refresh": ("refresh",),
    "invariants": ("doctor", "--invariants", "--every"),
    "doctor": ("doctor",),
    "recommend": ("recommend", "small,other,decoder"),
    "saturation": ("compare", "small,other", "--batch", "1:4096", "--precision", "fp32,fp16,int8", "--saturation"),
    "export": ("export", "exported", "--force"),
    "calibrate": ("calibrate", "hardware:t4", "--folds", "2", "--suite"),
    "plot": ("plot", "pareto", "small", "--out", "picture.svg", "--force"),
}
"""Commands that run for seconds, except `calibrate`, which without measurements is refused at once."""


def main() -> int:
    """Print the results. Return 1 if a command did not end in time, or ended wrongly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    # a background job of a shell ignores SIGINT, and its children would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    dice = random.Random(given.seed)
    counts: Counter[str] = Counter()
    slowest = slowest_cpu = 0.0
    with tempfile.TemporaryDirectory(prefix="charz-interrupt-") as name:
        folder = Path(name)
        for number in range(given.count):
            command = list(COMMANDS)[number % len(COMMANDS)]
            outcome, took, cpu = _interrupted(folder, given.file, COMMANDS[command], BEGUN_S + dice.uniform(0.0, 5.0))
            slowest, slowest_cpu = max(slowest, took), max(slowest_cpu, cpu)
            counts[outcome] += 1
            if outcome not in ("stopped", "done before"):
                print(f"{command}: {outcome}", flush=True)
    print(f"{counts.total()}; " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    print(f"the slowest stopped in {slowest:.2f} s, and {slowest_cpu:.2f} CPU s")
    return int(not set(counts) <= {"stopped", "done before"})


def _interrupted(folder: Path, file: Path, arguments: tuple[str, ...], after_s: float) -> tuple[str, float, float]:
    """Interrupt a command. Return its outcome, and the wall and CPU time from the signal to its end. [s]"""
    for leftover in folder.iterdir():
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    path = folder / "charz.duckdb"
    shutil.copy(file, path)
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        process = subprocess.Popen(
            [*CHARZ, "--db", str(path), *arguments],
            cwd=folder, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
            start_new_session=True,
        )  # fmt: skip
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(after_s)
            return "done before", 0.0, 0.0
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = sum(used for used, _ in stats(process.pid).values())
        os.killpg(process.pid, signal.SIGINT)
        began = time.monotonic()
        try:
            process.wait(BLOCKED_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "did not end", BLOCKED_S, BLOCKED_S
        took = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = max(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - used, 0.0)
        while any(is_running for _, is_running in stats(process.pid).values()):
            if time.monotonic() - began > took + GONE_S:
                return "left a process", took, cpu
            time.sleep(0.02)
        errors.seek(0)
        return _outcome(folder, path, file, process.returncode, errors.read(), cpu), took, cpu


def stats(group: int) -> dict[str, tuple[float, bool]]:
    """Return the CPU time of each process of the group, and whether it still runs: one that has just ended has used its time before the
    signal. [s]"""
    found = {}
    for state in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            kind, _, its_group, *rest = state.read_text().rpartition(")")[2].split()
            if int(its_group) == group:
                found[state.parent.name] = sum(map(int, rest[8:12])) / os.sysconf("SC_CLK_TCK"), kind != "Z"
    return found


def _outcome(folder: Path, path: Path, file: Path, code: int, said: str, cpu: float) -> str:
    if cpu > WITHIN_S:
        return f"stopped after {cpu:.1f} CPU s"
    if code in (0, 1, 2, -signal.SIGINT) and "Traceback" not in said:  # -SIGINT means that the interpreter was ending
        return "done before"
    if code != 130 or said.splitlines()[-1:] != ["charz: interrupted"]:
        return f"exit code {code}: {said[-300:]!r}"
    if path.read_bytes() != file.read_bytes() and "kept" not in said:
        return "changed the file"
    left = sorted(p.name for p in folder.iterdir() if p.name != path.name)
    return f"left {', '.join(left)}" if left else "stopped"


if __name__ == "__main__":
    sys.exit(main())
