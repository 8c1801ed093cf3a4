"""Which ingested model a measured row is of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

MODEL = {"model": "net", "source": "timm:net", "resolution": 224, "parameter_count": 1_004_999}


@pytest.mark.parametrize(
    ("parameter_count", "is_scored"),
    [
        # As rounded to two decimals of a million.
        (1_000_000.0, True),
        # The source does not say.
        (None, True),
        # Branches folded into one.
        (950_000.0, False),
        (1_060_000.0, False),
    ],
)
def test_another_network_is_refused(
    evaluate: Callable[..., list[dict[str, Any]]], parameter_count: float | None, is_scored: bool
) -> None:
    """Rows of a network with other parameters are none of the model of that name."""
    row = {"measurement_id": 1, "model_source": "timm:net", "resolution": 224, "parameter_count": parameter_count}
    found = evaluate("measured_model", model=[MODEL], measurement=[row])
    assert [r["model"] for r in found] == (["net"] if is_scored else [])
