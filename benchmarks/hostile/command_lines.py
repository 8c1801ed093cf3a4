"""Command lines made at random: no traceback, no hang, no success said of a failure.

    python -m benchmarks.hostile.command_lines FILE [--count 3000] [--processes 300] [--seed 1]

Every command and option that there is gets names that exist, names that do not, numbers out of range, text that is none.
`--count` of them run in this process, `--processes` in one each. FILE is a small charz database; a copy is asked.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import typing
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from benchmarks.hostile import charz
from charz.cli.dispatch import run
from charz.cli.options import function
from charz.session.methods import Method, methods

HANGS_S = 65.0
"""The time limit of `sql`, and 5 s: of the processor's time, since others use the machine. [s]"""

BLOCKED_S = 600.0
"""When a command that does not work at all is given up. [s]"""

JUNK = (
    "", " ", "'", '"', "';--", "1); DROP TABLE source; --", "-1", "0", "1e400", "nan", "inf", "99999999999999999999", "1:0", "1:4:0",
    "8,", ",", "1,2,x", "a" * 5000, "\x1b[2J", "é", "漢字", "\u202e", "%s%n", "{x}", "../none", "/nonexistent/x.csv", "/dev/full",
    "NULL", "None", "true", "5ms", "20", "3 parsecs", "GB", "*", "[", "**", "?", "=", "a=b", "a=", "x.batch = 1", "1 = 1", "hf:no such",
    "nowhere:make", "none.py:make", "none.pt2", "timm:none", "synthetic:mlp", "synthetic:none", "hardware:t4", "family:none",
)  # fmt: skip

VALID = (
    "small", "other", "decoder", "t4", "rtx4090", "h100_sxm5_80", "fp32", "fp16", "int8", "eager", "inductor", "1", "8", "1:64", "1,8",
    "forward", "decode", "SELECT 1", "FROM scenario", "model_report", "table", "json", "csv", "markdown", "pareto", "roofline", "nhwc",
)  # fmt: skip

NAMED = {
    "models": ("small", "other", "decoder", "small,other"), "model": ("small", "decoder"), "on": ("t4", "rtx4090", "t4,rtx4090"),
    "part": ("t4", "rtx4090"), "first": ("t4",), "second": ("rtx4090",), "hardware": ("t4",), "batch": ("1", "8", "1,8"),
    "sequence": ("1", "128"), "context": ("1", "128"), "precision": ("fp32", "fp16"), "backend": ("eager", "inductor"),
    "latency": ("5ms",), "energy": ("50mJ",), "memory": ("8GiB", "1GB"), "query": ("SELECT 1", "FROM scenario"), "top": ("3",),
    "name": ("model_report", "scenario"), "kind": ("pareto", "roofline", "memory"), "piece": ("latency_s", "1", "kernel_0"),
    "scenario_id": ("1", "2"), "folder": ("exported",), "where": ("x.batch = 1",), "target": ("hardware:t4",), "timeout": ("5",),
}  # fmt: skip
"""What a parameter of a name means something with."""

CHANGES = (
    "t4.sm.unit_count=20", "rtx4090.sm.unit_count=64,128", "t4.power.default.tdp_w=100W", "t4.none=1", "none.sm.unit_count=1", "t4", "",
    "t4.sm.unit_count=nan", "t4.sm.unit_count=-1", "t4.sm.unit_count=1e400", "t4.sm.unit_count='; --", "=", "t4.sm.unit_count=1,2,3,4,5,6,7,8,9",
)  # fmt: skip
"""What `what-if` is told to change."""

LONG = frozenset({"measure", "fusion"})
"""Commands that work for minutes with valid input: they get junk alone."""


@dataclass(frozen=True)
class Outcome:
    """What a command line came to."""

    code: int
    out: str
    err: str
    took_s: float
    """Of the processor."""

    @property
    def fault(self) -> str | None:
        """What is wrong with it; None where nothing is."""
        lines = self.err.splitlines()
        if "Traceback" in self.err or "CHARZ_TRACEBACK" in self.err:
            return "a raw error"
        if self.took_s > HANGS_S:
            return "a hang"
        if self.code not in (0, 1, 2):
            return f"exit code {self.code}"
        if self.code == 2 and not (lines and lines[-1].startswith("charz: ")):
            return "a failure without its line"
        if self.code == 0 and any(line.startswith("charz: ") for line in lines):
            return "success said of a failure"
        if not all(line.isprintable() for line in lines):
            return "control characters in a message"
        return None


def main() -> int:
    """Print what the command lines came to; 1 if one came to what it must not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--processes", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    dice = random.Random(given.seed)
    signal.signal(signal.SIGALRM, _too_long)
    signal.signal(signal.SIGPROF, _too_long)
    file = given.file.resolve()
    is_bad = False
    for title, count, asked in (("in process", given.count, _here), ("processes", given.processes, _there)):
        counts: Counter[str] = Counter()
        slowest = 0.0
        with tempfile.TemporaryDirectory(prefix="charz-lines-") as name, contextlib.chdir(name):
            for _ in range(count):
                shutil.copy(file, "charz.duckdb")
                arguments = command_line(dice)
                outcome = asked(arguments)
                slowest = max(slowest, outcome.took_s)
                counts[outcome.fault or f"exit code {outcome.code}"] += 1
                if outcome.fault:
                    is_bad = True
                    shown = [text[:80] for text in arguments]
                    print(f"{outcome.fault}: {shown!r}: {outcome.err[-300:]!r}", flush=True)
        listed = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
        print(f"{title}: {counts.total()}; {listed}; the slowest took {slowest:.1f} s of CPU", flush=True)
    return int(is_bad)


def command_line(dice: random.Random) -> list[str]:
    """A command with arguments and options, some of them wrong."""
    found = methods()
    name = dice.choice(sorted(found))
    if name == "what-if":
        changed = dice.choices(CHANGES, k=dice.randint(1, 2))
        return [name, *(part for text in changed for part in ("--set", text)), "--", *command_line(dice)]
    chosen = found[name]
    arguments = [name]
    if not isinstance(chosen, Method):
        member = dice.choice(sorted(chosen))
        arguments.append(member)
        chosen = chosen[member]
    for parameter in inspect.signature(function(chosen)).parameters.values():
        arguments += _given(parameter, dice, name in LONG)
    if dice.random() < 0.05:
        arguments.append(dice.choice(("--none", "-x", "--", "extra", "\x1b[2J")))
    return arguments


def _given(parameter: inspect.Parameter, dice: random.Random, is_junk: bool) -> list[str]:
    """The parameter as typed, or nothing."""
    hint, declared = typing.get_args(parameter.annotation)[:2]
    # typer keeps the first of the flags as the default
    flags = [text for text in (declared.default, *(declared.param_decls or ())) if str(text).startswith("-")]
    is_option = bool(flags)
    if dice.random() > (0.12 if is_option else 0.95):
        return []
    if not is_option:
        return [_value(parameter.name, hint, dice, is_junk) or " "]
    flag = dice.choice(flags).split("/")[0]
    if hint is bool:
        return [flag]
    if parameter.name in ("out", "csv"):
        return [
            flag,
            dice.choice(("rows.csv", "charz.duckdb", "none/rows.csv", "", ".", "/dev/full", "/dev/null", "x" * 300)),
        ]
    if parameter.name == "characterize":  # ten minutes with a name that is one
        return [flag, dice.choice(("", "../none", "a b", "é"))]
    if parameter.name == "all_":
        return [flag, dice.choice(("", "none"))]
    return [flag, _value(parameter.name, hint, dice, is_junk)]


def _value(name: str, hint: Any, dice: random.Random, is_junk: bool) -> str:
    words = [
        word
        for member in (hint, *typing.get_args(hint))
        if typing.get_origin(member) is Literal
        for word in typing.get_args(member)
    ]
    if words and dice.random() < 0.7:
        return str(dice.choice(words))
    if name in NAMED and not is_junk and dice.random() < 0.75:
        return dice.choice(NAMED[name])
    return dice.choice(JUNK if is_junk or dice.random() < 0.4 else VALID)


def _here(arguments: Sequence[str]) -> Outcome:
    out, err = _Text(), _Text()
    begun = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, HANGS_S + 1)
    signal.setitimer(signal.ITIMER_REAL, BLOCKED_S)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = run(list(arguments))
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
    os.environ.pop("CHARZ_DB", None)
    return Outcome(code, out.text, err.text, time.process_time() - begun)


def _there(arguments: Sequence[str]) -> Outcome:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = charz(Path.cwd(), *arguments, timeout_s=BLOCKED_S)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Outcome(done.returncode, done.stdout, done.stderr, took)


class _Text(io.TextIOWrapper):
    """A standard stream that keeps what is written to it."""

    def __init__(self) -> None:
        self.kept = io.BytesIO()
        super().__init__(self.kept, encoding="utf-8", errors="backslashreplace")

    @property
    def text(self) -> str:
        self.flush()
        return self.kept.getvalue().decode()


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TimeoutError("a command line hangs")


if __name__ == "__main__":
    sys.exit(main())
