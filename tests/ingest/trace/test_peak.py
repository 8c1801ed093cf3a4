"""Peak memory of PyTorch's attention, of modules whose body is a function, of one that no fused kernel takes, and of a network in
training, compared with the tracker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_modules_meet_the_tracker() -> None:
    script = Path(__file__).with_name("tracked_peak.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == 6
    for name, predicted, tracked in lines:
        assert float(predicted) == pytest.approx(float(tracked), rel=0.005), name
