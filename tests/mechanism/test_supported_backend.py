"""Dispatch costs of a backend on a part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

ROW = {
    "backend": "eager", "family": "gpu", "vendor": "*", "host_kernel_s": 2.0, "host_view_s": 0.5, "run_s": 3.0,
}  # fmt: skip
BOARD = {"hardware": "board", "family": "gpu", "vendor": "maker"}
MODULE = {"hardware": "module", "family": "gpu", "vendor": "maker"}


@pytest.mark.parametrize(("hardware", "expected"), [("board", (2.0, 0.5, 3.0)), ("module", (8.0, 2.0, 12.0))])
def test_a_module_s_own_cores_dispatch(
    evaluate: Callable[..., list[dict[str, Any]]], hardware: str, expected: tuple[float, float, float]
) -> None:
    """Four times the reference host's time; a board in a computer takes the reference time."""
    rows = evaluate(
        "supported_backend",
        hardware=[BOARD, MODULE],
        backend=[{"backend": "eager", "unfused_backend": None}],
        backend_support=[ROW],
        usual_host=[{"hardware": "module", "dispatch_ratio": 4.0}],
    )
    (row,) = [r for r in rows if r["hardware"] == hardware]
    assert (row["host_kernel_s"], row["host_view_s"], row["call_s"]) == expected
