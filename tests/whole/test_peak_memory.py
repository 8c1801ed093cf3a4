"""Peak activation memory under eager compared with PyTorch's own tracker; the study `peak_memory` has more models."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from benchmarks.studies import graphs
predicted, side = graphs.predicted_byte(sys.argv[1])
print(predicted / graphs.tracked_byte(sys.argv[1], side))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "vit_b_16"])
def test_within_five_percent_of_the_tracker(name: str) -> None:
    # The tracker patches torch for the whole process, so it runs in one of its own.
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert float(done.stdout) == pytest.approx(1.0, abs=0.05)
