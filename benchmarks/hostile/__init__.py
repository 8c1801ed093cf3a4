"""Attempts to break charz: each script prints its counts, which are in `benchmarks/results/figures.csv`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CHARZ = (sys.executable, "-c", "from charz.cli import main; main()")


def charz(folder: Path, *arguments: str, timeout_s: float = 300.0) -> subprocess.CompletedProcess[str]:
    """Run a command line in a process of its own, in a folder."""
    return subprocess.run(
        [*CHARZ, *arguments], cwd=folder, env=environment(), capture_output=True, text=True, errors="replace",
        stdin=subprocess.DEVNULL, timeout=timeout_s, check=False,
    )  # fmt: skip


def environment() -> dict[str, str]:
    """Return the environment without a variable that names a database."""
    return {name: value for name, value in os.environ.items() if not name.startswith("CHARZ_")}
