"""Attempts to break charz, each a script that prints what it counted; results go to docs/robustness.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CHARZ = (sys.executable, "-c", "from charz.cli import main; main()")


def charz(folder: Path, *arguments: str, timeout_s: float = 300.0) -> subprocess.CompletedProcess[str]:
    """A command line in a process of its own, run in a folder."""
    return subprocess.run(
        [*CHARZ, *arguments], cwd=folder, env=environment(), capture_output=True, text=True, errors="replace",
        stdin=subprocess.DEVNULL, timeout=timeout_s, check=False,
    )  # fmt: skip


def environment() -> dict[str, str]:
    """The environment without a database named in it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("CHARZ_")}
