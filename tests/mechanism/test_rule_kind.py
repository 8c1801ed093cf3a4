"""The plausible range of a rule's number follows from its row, not from the name of a backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from charz.hardware_catalog import loader

Record = dict[str, Any]
ROW = {
    "backend": "mine", "family": "gpu", "vendor": "*", "dispatch": "graph", "host_kernel_s": 0.0, "host_view_s": 0.0, "run_s": 1e-4,
    "kernel_gap_fraction": 1.0, "chunk_element": None,
}  # fmt: skip


@pytest.mark.parametrize(("dispatch", "expected"), [("graph", set()), ("async_queue", {"host_kernel_s"}), ("serial", {"host_kernel_s"})])
def test_a_backend_that_launches_graphs_takes_nothing_for_a_kernel(
    evaluate: Callable[..., list[Record]], dispatch: str, expected: set[str]
) -> None:
    """A 0 as in shipped rows is plausible for a new graph backend, on any family; not for one that issues its kernels."""
    rules = [rule.model_dump() for rule in loader.number_rules()]
    for family in ("gpu", "cpu", "mine"):
        row = ROW | {"dispatch": dispatch, "family": family}
        (numbers,) = [evaluate("rule_number", backend_support=[row])]
        assert {number["row_kind"] for number in numbers} == {"graph" if dispatch == "graph" else "mine"}
        faults = evaluate("rule_fault", rule_number=numbers, number_rule=rules)
        assert {fault["quantity"] for fault in faults} == expected


def test_a_backend_without_scratch_memory_is_plausible(evaluate: Callable[..., list[Record]]) -> None:
    """Five shipped backends have none; 10 times the activations is implausible."""
    rules = [rule.model_dump() for rule in loader.number_rules()]
    for fraction, expected in ((0.0, set()), (5.0, {"workspace_fraction"})):
        rows = evaluate(
            "condition_fault", backend=[{"backend": "mine", "workspace_fraction": fraction, "reserve_fraction": 0.0}], number_rule=rules
        )
        assert {row["quantity"] for row in rows} == expected
