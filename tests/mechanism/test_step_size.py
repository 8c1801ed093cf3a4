"""Polynomials in batch, sequence and context, evaluated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

RUN = {"batch": 3, "sequence": 5, "context": 7}


def term(quantity: str, coefficient: float, batch: int = 0, sequence: int = 0, context: int = 0) -> dict[str, Any]:
    """Make one term of a step."""
    powers = {"batch_power": batch, "sequence_power": sequence, "context_power": context}
    return {"step": "main", "quantity": quantity, "coefficient": coefficient, **powers}


def test_terms_add_up(check: Callable[..., None]) -> None:
    """Batch 3, sequence 5, context 7."""
    terms = [
        term("macs", 2.0, 1, 1, 1),
        term("macs", 10.0),
        term("flops", 4.0, 1, 2),
        term("m", 1.0, 1, 1),
        term("n", 8.0),
        term("k", 1.0, 0, 0, 1),
        term("groups", 12.0),
    ]
    expected = {
        "macs": 220.0,  # 2 x 3 x 5 x 7 + 10
        "flops": 300.0,  # 4 x 3 x 25
        "m": 15.0,
        "n": 8.0,
        "k": 7.0,
        "gemm_count": 12.0,
        "threads": 0.0,
        "accesses": 0.0,
        "taps": None,
        "image": None,
        "sharing": 1.0,
    }
    check("step_size", expected, run=RUN, term=terms)


def test_a_step_that_is_no_product(check: Callable[..., None]) -> None:
    """The step has no rows, columns or depth."""
    expected = {"flops": 6.0, "threads": 3.0, "accesses": 9.0, "m": None, "n": None, "k": None, "gemm_count": None}
    check(
        "step_size", expected, run=RUN, term=[term("flops", 2.0, 1), term("threads", 1.0, 1), term("accesses", 3.0, 1)]
    )


def test_elements_of_a_tensor(check: Callable[..., None]) -> None:
    """3 x 4 per sample and 5."""
    terms = [
        {"coefficient": 4.0, "batch_power": 1, "sequence_power": 0, "context_power": 0},
        {"coefficient": 5.0, "batch_power": 0, "sequence_power": 0, "context_power": 0},
    ]
    check("tensor_size", {"elements": 17.0}, run=RUN, tensor_term=terms)
