"""Kernels that a backend forms from operators: the name under which their efficiencies are found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

ATTENTION = "aten.scaled_dot_product_attention"


@pytest.mark.parametrize(
    ("kernel_class", "operands", "operator_name"),
    [
        ("attention", 3, ATTENTION),
        ("attention", 4, f"{ATTENTION}_masked"),
        # The fourth operand of another operator is not a mask.
        ("norm", 4, ATTENTION),
    ],
)
def test_a_masked_attention_has_a_name_of_its_own(
    check: Callable[..., None], kernel_class: str, operands: int, operator_name: str
) -> None:
    """The first three operands are queries, keys and values; the mask is the fourth."""
    check(
        "fused_kernel",
        {"operator_name": operator_name},
        run=[{}],
        backend=[{}],
        kernel=[{"kernel_id": 0, "kernel_class": kernel_class, "anchor_operator_id": 0}],
        operator=[{"operator_id": 0, "aten_operator": f"{ATTENTION}.default"}],
        operator_precision=[{"operator_id": 0, "precision": "fp16"}],
        edge=[{"consumer_operator_id": 0, "position": i} for i in range(operands)],
    )
