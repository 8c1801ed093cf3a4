"""A way to run the command as a user does."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Charz = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def charz(tmp_path: Path) -> Charz:
    """Run `charz` in an empty folder."""

    def call(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        return run(*arguments, **{"cwd": tmp_path, **options})  # type: ignore[arg-type]

    return call


def run(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "CHARZ_DB"} | (env or {})
    command = [sys.executable, "-c", "from charz.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=600)


def assert_one_line_error(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """A failure that a user can read: one line on stderr, exit code 2, nothing on stdout."""
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("charz: ")
    for part in parts:
        assert part in done.stderr


def same(left: object, right: object) -> bool:
    """Equal; of two floats, to nine digits: threads sum in any order, which shows in a difference of sums."""
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-15) or (math.isnan(left) and math.isnan(right))
    return left == right
