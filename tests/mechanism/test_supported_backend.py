"""What a backend's dispatch costs on a part."""

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
    """Four times the reference host's time; a board in a computer takes that itself."""
    rows = evaluate(
        "supported_backend",
        hardware=[BOARD, MODULE],
        backend=[{"backend": "eager", "unfused_backend": None}],
        backend_support=[ROW],
        usual_host=[{"hardware": "module", "dispatch_ratio": 4.0}],
    )
    (row,) = [r for r in rows if r["hardware"] == hardware]
    assert (row["host_kernel_s"], row["host_view_s"], row["call_s"]) == expected


@pytest.mark.parametrize(
    ("family", "calls_aten", "cuts"), [("cpu", True, True), ("cpu", False, False), ("gpu", True, False)]
)
def test_attention_is_cut_by_queries(
    evaluate: Callable[..., list[dict[str, Any]]], family: str, calls_aten: bool, cuts: bool
) -> None:
    """By PyTorch on processors."""
    (row,) = evaluate(
        "supported_backend",
        hardware=[BOARD | {"family": family}],
        backend=[{"backend": "eager", "unfused_backend": None, "calls_aten": calls_aten}],
        backend_support=[ROW | {"family": family}],
    )
    assert (row["cuts_queries"], row["arithmetic"]) == (cuts, "queries " if cuts else "")


@pytest.mark.parametrize("changed", [{"calls_library": True}, {"sums_in_half": True}, {"packed_precision": "int8"}])
def test_what_decides_a_rate_tells_uses_apart(
    evaluate: Callable[..., list[dict[str, Any]]], changed: dict[str, Any]
) -> None:
    rows = evaluate(
        "supported_backend",
        hardware=[BOARD],
        backend=[{"backend": name, "unfused_backend": None} for name in ("eager", "other", "same")],
        backend_support=[ROW, ROW | {"backend": "same"}, ROW | {"backend": "other"} | changed],
    )
    uses = {row["backend"]: row["arithmetic"] for row in rows}
    assert uses["eager"] == uses["same"] != uses["other"]
