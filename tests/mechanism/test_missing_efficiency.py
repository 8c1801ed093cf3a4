"""Resources without an efficiency."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

WHOLE = {
    "matrix_fraction": 0.5, "matrix_half_ops": 1.0, "vector_fraction": 0.5, "vector_half_ops": 1.0, "memory_fraction": 0.5,
    "memory_half_byte": 1.0, "overlap_fraction": 0.5, "residency_fraction": 0.5,
}  # fmt: skip


def test_a_part_lacks_what_its_own_rows_lack(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """The first resource missing for any kernel class, whatever the rows of other parts are; a part without rows lacks all."""
    rows = evaluate(
        "missing_efficiency",
        part_backend=[{"hardware": part, "efficiency_chain": part} for part in ("whole", "short", "none")],
        chain_efficiency=[
            WHOLE | {"efficiency_chain": "whole"},
            WHOLE | {"efficiency_chain": "short", "kernel_class": "conv"},
            WHOLE | {"efficiency_chain": "short", "kernel_class": "norm", "vector_half_ops": None, "overlap_fraction": None},
        ],
    )
    assert {row["hardware"]: row["resource"] for row in rows} == {"short": "vector", "none": "any resource"}
