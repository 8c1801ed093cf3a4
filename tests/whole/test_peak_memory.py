"""Peak activation memory under eager against PyTorch's own tracker; benchmarks/peak_memory.py has more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "vit_b_16"])
def test_within_five_percent_of_the_tracker(name: str) -> None:
    # the tracker patches torch for the whole process, so it gets one of its own
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peak_memory", name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "1 of 1 within 5 %" in done.stdout, done.stdout
