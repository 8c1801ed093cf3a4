"""What a session says beside its answers reaches the one who asked."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

import charz
from charz.session import CharzWarning


def test_a_warning_points_at_the_line_that_asked(file: Path) -> None:
    with charz.open(file) as db, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = inspect.currentframe()
        assert frame is not None
        line = frame.f_lineno + 1
        db.compare(["small"], on="t4", backend=["eager", "openvino"])
    (warning,) = [w for w in caught if issubclass(w.category, CharzWarning)]
    assert "openvino on t4" in str(warning.message)
    assert (warning.filename, warning.lineno) == (__file__, line)
