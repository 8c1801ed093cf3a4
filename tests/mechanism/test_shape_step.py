"""Steps of shapes that no matrix unit computes."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.parametrize(("algorithm", "is_vector_only"), [("wide", True), ("large", False), (None, False)])
def test_narrow_groups_use_vector_units(check: Callable[..., None], algorithm: str | None, is_vector_only: bool) -> None:
    """cuDNN's kernel for all sizes has no tiles."""
    step = {"step_class": "gemm", "operator_class": "conv", "is_vector_only": False}
    operator = {"operator_class": "conv"}
    check("shape_step", {"is_vector_only": is_vector_only}, run_shape={"algorithm": algorithm}, executed_step=step, operator_class=operator)
