"""Memory of a part that a process takes in addition to its tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from charz.hardware_catalog import loader

Record = dict[str, Any]
Evaluate = Callable[..., list[Record]]

SUPPORTED = [
    {"hardware": "board", "backend": "eager", "family": "gpu", "vendor": "maker"},
    {"hardware": "board", "backend": "xla", "row_backend": "xla", "family": "gpu", "vendor": "maker"},
    {"hardware": "board", "backend": "xla_unfused", "row_backend": "xla", "family": "gpu", "vendor": "maker", "is_counterpart": True},
    {"hardware": "other", "backend": "eager", "family": "gpu", "vendor": "rival"},
    {"hardware": "bare", "backend": "eager", "family": "gpu", "vendor": "maker"},
    {"hardware": "core", "backend": "eager", "family": "cpu", "vendor": "maker"},
]  # fmt: skip
CONTEXTS = [
    {"backend": "*", "family": "gpu", "vendor": "*", "context_byte": 100.0, "thread_byte": 0.0, "confidence": "assumed"},
    {"backend": "*", "family": "gpu", "vendor": "maker", "context_byte": 200.0, "thread_byte": 2.0, "confidence": "derived"},
    {"backend": "eager", "family": "gpu", "vendor": "maker", "context_byte": 300.0, "thread_byte": 1.0, "confidence": "derived"},
]
PARTS = [
    {"hardware": "board", "unit_count": 10, "unit_thread_count": 8},
    {"hardware": "other", "unit_count": 10, "unit_thread_count": None},
    {"hardware": "bare", "unit_count": 10, "unit_thread_count": None},
    {"hardware": "core", "unit_count": 10, "unit_thread_count": 8},
]


def test_part_context(evaluate: Evaluate) -> None:
    """80 threads take a byte each under eager and two under XLA; a row of the backend wins over one of the maker. Without the number of
    threads that the row needs, the context is unknown; a processor has no context."""
    rows = evaluate("part_context", supported_backend=SUPPORTED, device_context=CONTEXTS, part=PARTS)
    found = {(row["hardware"], row["backend"]): (row["context_row"], row["context_byte"]) for row in rows}
    assert found == {
        ("board", "eager"): ("eager.gpu.maker", 380.0),
        ("board", "xla"): ("*.gpu.maker", 360.0),
        ("board", "xla_unfused"): ("*.gpu.maker", 360.0),
        ("other", "eager"): ("*.gpu.*", 100.0),
        ("bare", "eager"): ("eager.gpu.maker", None),
    }


def test_a_number_that_cannot_be_is_no_context(evaluate: Evaluate) -> None:
    """An implausible number still counts."""
    given = {"supported_backend": SUPPORTED, "device_context": CONTEXTS, "part": PARTS}
    fault = {"kind": "device_context", "row_key": "eager.gpu.maker", "quantity": "context_byte"}
    for is_possible, expected in ((False, None), (True, 380.0)):
        rows = evaluate("part_context", rule_fault=[fault | {"is_possible": is_possible}], **given)
        assert {row["context_byte"] for row in rows if (row["hardware"], row["backend"]) == ("board", "eager")} == {expected}


@pytest.mark.parametrize(("part", "gibibyte"), [("rtx4090", 0.383), ("h100_sxm5_80", 0.453), ("a100_sxm4_80", 0.406), ("t4", 0.234)])
def test_context_of_shipped_parts(part: str, gibibyte: float) -> None:
    """200 MiB and a KiB for each of 128 * 1536, 132 * 2048, 108 * 2048 and 40 * 1024 threads; the last three agree with the 216 MiB that
    NVIDIA's driver reserves on an A100."""
    tables = {row_type.TABLE: rows for row_type, rows in loader.load().rows.items()}
    (row,) = [
        r for r in tables["device_context"] if (r.backend, r.family, r.vendor) == ("eager", "gpu", "nvidia")  # type: ignore[attr-defined]
    ]
    (hardware,) = [r for r in tables["hardware"] if r.hardware == part]  # type: ignore[attr-defined]
    (limit,) = [r for r in tables["cuda_limit"] if r.compute_capability == hardware.compute_capability]  # type: ignore[attr-defined]
    units = sum(r.unit_count for r in tables["hardware_cluster"] if r.hardware == part)  # type: ignore[attr-defined]
    found = row.context_byte + row.thread_byte * limit.threads_per_sm * units  # type: ignore[attr-defined]
    assert found / 2**30 == pytest.approx(gibibyte, abs=5e-4)
