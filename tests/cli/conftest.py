"""A way to run the command as a user does."""

from __future__ import annotations

import contextlib
import io
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from charz.cli import dispatch

Charz = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def charz(tmp_path: Path) -> Charz:
    """Run `charz` in an empty folder, within this process; `test_process` tests a separate process."""

    def call(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        return run(*arguments, **{"cwd": tmp_path, **options})  # type: ignore[arg-type]

    return call


def run(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for name in ("stdin", "stdout", "stderr")}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        with environment(env or {}):
            try:
                code: object = dispatch.run(list(arguments))
            except SystemExit as ended:
                code = ended.code
    said = [streams[name].buffer.getvalue().decode() for name in ("stdout", "stderr") if not streams[name].flush()]
    return subprocess.CompletedProcess(arguments, int(code or 0), *said)  # type: ignore[call-overload]


@contextlib.contextmanager
def environment(added: dict[str, str]) -> Iterator[None]:
    """Use an environment without `CHARZ_DB` and with `added`; restore it after the block."""
    before = dict(os.environ)
    os.environ.pop("CHARZ_DB", None)
    os.environ.update(added)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def assert_one_line_error(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """Assert a readable failure: one line on stderr, exit code 2, nothing on stdout."""
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("charz: ")
    for part in parts:
        assert part in done.stderr


def same(left: object, right: object) -> bool:
    """Compare values, floats to nine digits: threads sum in any order, which shows in a difference of sums."""
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-15) or (math.isnan(left) and math.isnan(right))
    return left == right
