"""Report of the tests' CPU time in U, by folder, at the end of every run.

U is the CPU time of `exec("for _ in range(10_000_000): pass", {})`, so that figures of different machines and times are comparable.
Each worker measures a share of it after every few tests, since a pass takes longer while another process keeps the core's other
thread or its clock busy, and so does a test. The time of a test includes its own fixtures and the processes that it waited for. A
shared fixture counts for the test that made it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections import Counter, defaultdict
from datetime import date
from pathlib import Path

import pytest
from stages import KEPT_IN_FULL

PASSES = 1_000_000
"""Passes of the loop that one measurement of U takes."""

EVERY_TESTS = 8
"""Tests of a worker between two measurements of U."""

MOST_NAMED = 20
"""Largest number of tests that are named for their cost."""

MOST_U = 20.0
"""Cost from which a test gives the reason in its marker: `slow("…")`, or `costly("…")` in the default stage. [U]"""

DEFAULT_STAGE = "not slow and not anew and not broad"
"""Markers of the stage that README's command runs."""

LAST_BROAD = Path(__file__).parent / "last_broad.txt"
"""Date and result of the last broad stage; `.ci/run` prints it."""

EVERY = "CHARZ_TEST_COSTS"
"""Variable of the environment that names a file for the CPU seconds of each phase of each test."""


class Cost:
    """Plugin that measures each phase of each test in its worker and sums them where the run is reported."""

    def __init__(self) -> None:
        self.last = _cpu_s()
        self.called: Counter[str] = Counter()
        """CPU time of a test itself, without fixtures. [s]"""
        self.folders: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.has_reason: set[str] = set()
        self.units_s: list[float] = []
        """Measurements of U by the workers. [CPU s]"""
        self.tests = 0

    @property
    def unit_s(self) -> float:
        """Mean of the measurements of U; without any, a new one. [CPU s]"""
        return statistics.mean(self.units_s or [_unit_s()])

    def pytest_runtest_logstart(self) -> None:
        """Exclude the time between two tests."""
        self.last = _cpu_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
        """Add the CPU time of the phase to its report, which xdist forwards."""
        report = yield
        now = _cpu_s()
        report.cpu_s, self.last = now - self.last, now
        if call.when == "teardown":
            self.tests += 1
            if self.tests % EVERY_TESTS == 1:
                report.unit_s = _unit_s()
        is_marked = any(mark.args for name in ("slow", "costly") for mark in item.iter_markers(name))
        report.has_reason = is_marked or item.nodeid.partition("[")[0] in KEPT_IN_FULL
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Sum the times, in the process that prints."""
        folder = self.folders[str(Path(report.nodeid.partition("::")[0]).parent)]
        spent = getattr(report, "cpu_s", 0.0)
        if (path := os.environ.get(EVERY)) and not os.environ.get("PYTEST_XDIST_WORKER"):
            with Path(path).open("a") as lines:
                lines.write(f"{spent:.3f}\t{report.when}\t{report.nodeid}\n")
        folder["cpu_s"] += spent
        if unit := getattr(report, "unit_s", None):
            self.units_s.append(unit)
        if report.when == "call":
            folder["tests"] += 1
            self.called[report.nodeid] += spent
            if getattr(report, "has_reason", False):
                self.has_reason.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail if the default stage of `.ci/run` takes more than its line of `budget.csv`."""
        config = session.config
        is_whole = config.option.markexpr == DEFAULT_STAGE and config.args == config.getini("testpaths")
        if not os.environ.get("CI") or not is_whole or hasattr(config, "workerinput"):
            return
        from benchmarks import budget

        spent = sum(sums["cpu_s"] for sums in self.folders.values()) / self.unit_s
        if spent > budget.limit("default_tests"):
            print(f"\n{spent:.0f} U of tests, {budget.limit('default_tests'):.0f} allowed by budget.csv")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        """Print a line for each folder, and the tests above their limit without a reason."""
        write = terminalreporter.write_line
        unit = self.unit_s
        terminalreporter.section(f"CPU time in U of {unit:.2f} s")
        rows = sorted(self.folders.items(), key=lambda one: -one[1]["cpu_s"])
        for name, sums in rows:
            write(f"{sums['cpu_s'] / unit:8.0f} U {sums['tests']:6} tests  {name}")
        total = sum((sums for _, sums in rows), Counter[str]())
        write(f"{total['cpu_s'] / unit:8.0f} U {total['tests']:6} tests  in all")
        config = terminalreporter.config
        is_ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and not config.option.collectonly
        if is_ended and config.option.markexpr == "broad" and config.args == config.getini("testpaths"):
            counts = {kind: len(terminalreporter.getreports(kind)) for kind in ("passed", "failed", "error", "skipped")}
            LAST_BROAD.write_text(
                f"Broad stage (pytest -m broad), last run {date.today()} at {_commit(config.rootpath)}:"
                f" {', '.join(f'{count} {kind}' for kind, count in counts.items())}, {total['cpu_s'] / unit:.0f} U\n"
            )
        costly = [
            f"{spent / unit:8.0f} U without a reason in its marker: {name}"
            for name, spent in self.called.most_common()
            if spent / unit > MOST_U and name not in self.has_reason
        ]
        for line in costly[:MOST_NAMED]:
            write(line)
        if len(costly) > MOST_NAMED:
            write(f"{len(costly) - MOST_NAMED} more tests above {MOST_U:.0f} U without a reason in their marker")


def _cpu_s() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _commit(root: Path) -> str:
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout.strip() or "no commit"


def _unit_s() -> float:
    """Measure U on a share of its passes. [CPU s]"""
    start = time.process_time()
    exec(f"for _ in range({PASSES}): pass", {})
    return (time.process_time() - start) * 10_000_000 / PASSES
