"""Random command lines must end without a traceback or a hang, and report success only if they succeed.

    python -m benchmarks.hostile.command_lines FILE [--count 3000] [--processes 300] [--seed 1]

Every command and option gets valid and unknown names, numbers out of range, and random text. `--count` command lines run in this
process, `--processes` in one each. FILE is a small charz database; a copy is used.
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
"""CPU time above which a command line hangs: the time limit of `sql` and 5 s, in CPU time because others use the machine. [s]"""

BLOCKED_S = 600.0
"""Wall time after which a command is killed, even if it uses no CPU. [s]"""

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
"""Valid values of a parameter by its name."""

CHANGES = (
    "t4.sm.unit_count=20", "rtx4090.sm.unit_count=64,128", "t4.power.default.tdp_w=100W", "t4.none=1", "none.sm.unit_count=1", "t4", "",
    "t4.sm.unit_count=nan", "t4.sm.unit_count=-1", "t4.sm.unit_count=1e400", "t4.sm.unit_count='; --", "=", "t4.sm.unit_count=1,2,3,4,5,6,7,8,9",
)  # fmt: skip
"""Values of `--set` of `what-if`."""

LONG = frozenset({"measure"})
"""Commands that run for minutes with valid input: they get only invalid input."""


@dataclass(frozen=True)
class Outcome:
    """Result of a command line."""

    code: int
    out: str
    err: str
    took_s: float
    """CPU time. [s]"""

    @property
    def fault(self) -> str | None:
        """Description of the fault; None if the result is correct."""
        lines = self.err.splitlines()
        if "Traceback" in self.err or "CHARZ_TRACEBACK" in self.err:
            return "a traceback"
        if self.took_s > HANGS_S:
            return "a hang"
        if self.code not in (0, 1, 2):
            return f"exit code {self.code}"
        if self.code == 2 and not (lines and lines[-1].startswith("charz: ")):
            return "a failure without a message"
        if self.code == 0 and any(line.startswith("charz: ") for line in lines):
            return "a failure with exit code 0"
        if not all(line.isprintable() for line in lines):
            return "control characters in a message"
        return None


def main() -> int:
    """Print the results. Return 1 if a command line had a fault."""
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
    """Draw a command with arguments and options, some of them wrong."""
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
    """Return the arguments for a parameter, or an empty list."""
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
    if parameter.name == "characterize":  # a valid name takes ten minutes
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
    """Standard stream that stores its text."""

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
