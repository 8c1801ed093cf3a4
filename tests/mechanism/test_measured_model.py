"""The ingested model that a measured row belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

MODELS = [
    {"model": "net", "source": "timm:net", "resolution": 224, "parameter_count": 1_004_999},
    {"model": "net@288", "source": "timm:net", "resolution": 288, "parameter_count": 2_000_000},
]
ROW = {"measurement_id": 1, "model_source": "timm:net", "resolution": 224, "parameter_count": 1_000_000.0}


@pytest.mark.parametrize(
    ("changed", "match", "model"),
    [
        # The count is rounded to two decimals of a million.
        ({}, "matched", "net"),
        # The source states no count.
        ({"parameter_count": None}, "matched", "net"),
        # Branches are folded into one.
        ({"parameter_count": 950_000.0}, "refused", "net"),
        ({"parameter_count": 1_060_000.0}, "refused", "net"),
        ({"resolution": 288}, "refused", "net@288"),
        # An ambiguous name belongs to the model with the same parameters.
        ({"resolution": None, "parameter_count": 2_000_000.0}, "matched", "net@288"),
        # By the model's own name, whatever the resolution.
        ({"model_source": "net", "resolution": 7}, "matched", "net"),
        ({"model_source": "net", "parameter_count": 950_000.0}, "refused", "net"),
        ({"resolution": 320}, "none", None),
        ({"model_source": "timm:other"}, "none", None),
        ({"model_source": None}, "none", None),
    ],
)
def test_another_network_is_refused(
    evaluate: Callable[..., list[dict[str, Any]]], changed: dict[str, Any], match: str, model: str | None
) -> None:
    """Rows of a network with other parameters do not belong to the model of that name."""
    (found,) = evaluate("measured_model", model=MODELS, measurement=[ROW | changed])
    assert (found["match"], found["model"]) == (match, model)


@pytest.mark.parametrize(
    ("changed", "followed"),
    [
        ({}, "tf32"),
        ({"hardware": "old"}, "fp32"),
        ({"precision": "fp16"}, "fp16"),
        ({"precision": "amp-fp16", "software": "pt240"}, "amp-fp16@2.4"),
        ({"precision": "amp-fp16", "software": "pt291"}, "amp-fp16"),
        ({"hardware": None}, "fp32"),
    ],
)
def test_a_measured_run_follows_the_policy_of_its_version_or_backend(
    evaluate: Callable[..., list[dict[str, Any]]], changed: dict[str, Any], followed: str
) -> None:
    """The part `new` runs TF32, which the backend allows for fp32 by default; the part `old` runs fp32 and fp16 alone."""
    asked = ROW | {"hardware": "new", "backend": "b", "precision": "fp32", "software": None} | changed
    runs = [("new", "fp32"), ("new", "tf32"), ("new", "fp16"), ("old", "fp32"), ("old", "fp16")]
    (found,) = evaluate(
        "measured_model",
        model=MODELS,
        measurement=[asked],
        part_support=[{"hardware": part, "backend": "b", "precision": policy, "default_precision": "tf32"} for part, policy in runs],
        policy_version=[{"policy": "amp-fp16", "software": "pt240", "followed_policy": "amp-fp16@2.4"}],
    )
    assert found["precision"] == followed
