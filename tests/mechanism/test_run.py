"""The models that run under each scenario, with resolved sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

MODEL = {
    "is_batch_symbolic": True, "is_sequence_symbolic": True, "has_context": True, "default_batch": 1, "default_sequence": 128,
}  # fmt: skip
SCENARIO = {"context": None, "phase": "forward", "memory_format": "nchw", "host_factor": 1.0, "cache_state": "warm"}


@pytest.mark.parametrize(
    ("model", "scenario", "sizes"),
    [
        ({}, {"batch": 8, "sequence": None}, (8, 128, 128)),
        ({}, {"sequence": 512}, (1, 512, 512)),
        # One token attends to the 1,024 before it and itself.
        ({}, {"phase": "decode", "sequence": None, "context": 1025}, (1, 1, 1025)),
        ({"has_context": False}, {"phase": "decode", "sequence": None, "context": 1025}, None),
        ({"is_batch_symbolic": False}, {"batch": 8}, None),
        ({"is_batch_symbolic": False, "default_batch": 8}, {"batch": 8, "sequence": None}, (8, 128, 128)),
        ({"is_sequence_symbolic": False}, {"sequence": 512}, None),
        ({"is_sequence_symbolic": False}, {"sequence": 128}, (1, 128, 128)),
        # A model without a sequence has 0, never unknown.
        ({"is_sequence_symbolic": False, "default_sequence": 0}, {"sequence": None}, (1, 0, 0)),
    ],
)
def test_sizes(
    evaluate: Callable[..., list[dict[str, Any]]],
    model: dict[str, Any],
    scenario: dict[str, Any],
    sizes: tuple[int, int, int] | None,
) -> None:
    """Batch, sequence and context of the run, or no run."""
    rows = evaluate("run", model=[MODEL | model], scenario=[SCENARIO | scenario], backend=[{}])
    assert [(row["batch"], row["sequence"], row["context"]) for row in rows] == ([sizes] if sizes else [])


POLICIES = [
    {"policy": "fp32", "compute_precision": "fp32", "weight_precision": "fp32"},
    {"policy": "amp-bf16", "operator_class": "linear", "compute_precision": "bf16"},
    {"policy": "w8a16", "operator_class": "*", "compute_precision": "fp16", "weight_precision": "fp16"},
    {"policy": "w8a16", "operator_class": "linear", "compute_precision": "fp16", "weight_precision": "int8"},
]
FORMATS = [{"precision": name, "trains": name != "int8"} for name in ("fp32", "bf16", "fp16", "int8")]


@pytest.mark.parametrize(
    ("is_training", "trains", "policy", "runs"),
    [
        (True, True, "fp32", 1),
        (True, True, "amp-bf16", 1),
        (True, True, "w8a16", 0),  # the weights of its linear layers are integers
        (True, False, "fp32", 0),
        (False, False, "w8a16", 1),
    ],
)
def test_training(
    evaluate: Callable[..., list[dict[str, Any]]], is_training: bool, trains: bool, policy: str, runs: int
) -> None:
    """A backward pass runs if backend and policy train, a forward pass everywhere."""
    rows = evaluate(
        "run",
        model=[MODEL | {"is_training": is_training}],
        scenario=[SCENARIO | {"sequence": None, "precision": policy}],
        backend=[{"trains": trains}],
        precision_policy=POLICIES,
        precision=FORMATS,
    )
    assert len(rows) == runs


@pytest.mark.parametrize(
    ("plans_layout", "planned_format", "run_layout"),
    [(False, "nhwc", "nchw"), (True, "nhwc", "nhwc"), (True, None, "nchw"), (True, "nchw", "nchw")],
)
def test_planned_layout(
    check: Callable[..., None], plans_layout: bool, planned_format: str | None, run_layout: str
) -> None:
    """The format asked for is nchw; a backend that plans layouts takes the model's planned format."""
    expected = {"memory_format": "nchw", "run_layout": run_layout}
    model = MODEL | {"planned_format": planned_format}
    check("run", expected, model=model, scenario=SCENARIO, backend={"plans_layout": plans_layout})
