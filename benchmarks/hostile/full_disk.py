"""Fills the disk at each place that charz writes to: charz must report it in one line, write nothing partial, and work again
afterwards.

    python -m benchmarks.hostile.full_disk FILE DISK [--only WORD]

FILE is a small charz database; DISK is a folder on a file system of its own of about 64 MB, e.g. `mount -t tmpfs -o size=64m
tmpfs DISK`. Each place (database, temporary files, cache, key of the seals, answer) moves there in turn, and the disk is filled
except for some room.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.hostile import CHARZ, environment
from benchmarks.hostile.kill import differing_keys, state_of

KB, MB = 1000, 10**6

CASES: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    ("database", 0, ("scenario", "add", "--batch", "77")),
    ("database", 100 * KB, ("scenario", "add", "--batch", "77")),
    ("database", 5 * MB, ("scenario", "add", "--batch", "77")),
    ("database", 29 * MB, ("scenario", "add", "--batch", "77")),
    ("database", 0, ("ingest", "synthetic:mlp")),
    ("database", 20 * MB, ("ingest", "synthetic:mlp")),
    ("database", 28 * MB, ("ingest", "synthetic:mlp")),
    ("database", 31 * MB, ("ingest", "synthetic:mlp")),
    ("database", 10 * MB, ("refresh",)),
    ("database", 0, ("compare", "small", "--on", "t4")),
    ("temporary", 0, ("sql", "SELECT * FROM model_report")),
    ("temporary", 100 * KB, ("what-if", "--model", "width=8,16", "--", "report", "synthetic:mlp", "--on", "t4")),
    ("temporary", 100 * KB, ("diff", "small", "synthetic:mlp", "--on", "t4")),
    ("temporary", 20 * MB, ("diff", "small", "synthetic:mlp", "--on", "t4")),
    ("temporary", 10 * KB, ("plot", "pareto", "small", "--out", "picture.svg")),
    ("cache", 0, ("compare", "small", "--on", "t4")),
    ("cache", 1 * MB, ("scenario", "add", "--batch", "77")),
    ("cache", 21 * MB, ("scenario", "add", "--batch", "77")),
    ("cache", 10 * KB, ("compare", "small", "--on", "t4")),
    ("state", 0, ("compare", "small", "--on", "t4")),
    ("state", 0, ("scenario", "add", "--batch", "77")),
    ("out", 0, ("compare", "small", "--on", "t4", "--format", "csv", "--out", "{disk}/rows.csv")),
    ("out", 500 * KB, ("report", "small", "--on", "t4", "--html", "{disk}/page.html")),
    ("out", 10 * KB, ("sql", "SELECT * FROM range(100000)", "--format", "csv", "--out", "{disk}/rows.csv")),
)
"""Place of the files on the disk, room left there, and command."""

VARIABLES = {"temporary": "TMPDIR", "cache": "XDG_CACHE_HOME", "state": "XDG_STATE_HOME"}


def main() -> int:
    """Print the results. Return 1 if a case was half done, reported wrongly or left a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("disk", type=Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="charz-full-") as name:
        for place, room, arguments in CASES:
            if given.only not in f"{place} {' '.join(arguments)}":
                continue
            outcome = _outcome(Path(name), given.file, given.disk.resolve(), place, room, arguments)
            counts[outcome.partition(":")[0]] += 1
            print(f"{place}, {room // KB} KB left, {' '.join(arguments)}: {outcome}", flush=True)
    print(f"{counts.total()} full disks: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    return int(any(what.startswith("out") for what in counts))


def _outcome(folder: Path, file: Path, disk: Path, place: str, room: int, arguments: tuple[str, ...]) -> str:
    """Run a command with this much room on the disk, and return its outcome."""
    _empty(folder)
    _empty(disk)
    db = (disk if place == "database" else folder) / "charz.duckdb"
    shutil.copy(file, db)
    variables = {VARIABLES[place]: str(disk)} if place in VARIABLES else {}
    before = state_of(db)
    ballast = disk / "ballast"
    with ballast.open("wb") as written, contextlib.suppress(OSError):
        left = os.statvfs(disk)
        written.write(bytes(max(left.f_bavail * left.f_frsize - room, 0)))
    known = {path.name for path in disk.iterdir()}
    done = _charz(folder, db, variables, *(word.format(disk=disk) for word in arguments))
    left_over = sorted(path.name for path in disk.iterdir() if path.name not in known)
    ballast.unlink()
    is_told = done.returncode == 2 and done.stderr.splitlines()[-1:] and done.stderr.splitlines()[-1].startswith("charz: ")
    is_failed = done.returncode == 1 and "failed: " in done.stderr
    if done.returncode not in (0, 1, 2) or "Traceback" in done.stderr or (done.returncode == 2 and not is_told):
        return f"out: exit code {done.returncode}, {done.stderr[-300:]!r}"
    if is_told and str(disk) not in done.stderr.splitlines()[-1]:
        return f"out: does not name the disk, {done.stderr[-300:]!r}"
    after = state_of(db)
    if done.returncode and differing_keys(after, before) and not is_failed:
        return f"out: changed the file, {done.stderr[-200:]!r}"
    if place in ("database", "out") and done.returncode and left_over:
        return f"out: left {', '.join(left_over)}"
    if place == "cache" and any(name.endswith(".part") for path in disk.rglob("*") if (name := path.name)):
        return "out: left a partial file of the cache"
    again = _charz(folder, db, variables, "scenario", "add", "--batch", "99")
    if again.returncode:
        return f"out: the next command: {again.stderr[-300:]!r}"
    if again.returncode == 0 and (examined := _charz(folder, db, variables, "doctor", "small", "--invariants", "--on", "t4")).returncode:
        return f"out: unsound, {examined.stdout[-200:]!r} {examined.stderr[-300:]!r}"
    return "done" if done.returncode == 0 else f"refused: {done.stderr.splitlines()[-1][:160]}"


def _charz(folder: Path, db: Path, variables: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CHARZ, "--db", str(db), *arguments], cwd=folder, env=environment() | variables, capture_output=True, text=True,
        errors="replace", stdin=subprocess.DEVNULL, timeout=900, check=False,
    )  # fmt: skip


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    sys.exit(main())
