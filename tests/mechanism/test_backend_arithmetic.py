"""The use of a part's units by a backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("family", "calls_aten", "cuts"), [("cpu", True, True), ("cpu", False, False), ("gpu", True, False)]
)
def test_attention_is_cut_by_queries(check: Callable[..., None], family: str, calls_aten: bool, cuts: bool) -> None:
    """PyTorch splits it by queries on processors."""
    check(
        "backend_arithmetic",
        {"cuts_queries": cuts, "arithmetic": "queries" if cuts else "plain"},
        supported_backend={"family": family},
        backend={"calls_aten": calls_aten},
    )


def test_backends_that_use_the_units_alike_share_an_arithmetic(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Each of the four properties distinguishes two backends; a backend's other properties do not."""
    uses: dict[str, dict[str, Any]] = {
        "plain": {}, "other": {"dispatch": "graph"}, "library": {"calls_library": True}, "half": {"sums_in_half": True},
        "packed": {"packed_precision": "int8"}, "both": {"calls_library": True, "sums_in_half": True},
    }  # fmt: skip
    rows = evaluate(
        "part_backend",
        supported_backend=[{"family": "cpu", "backend": name} | use for name, use in uses.items()] + [{"family": "cpu", "backend": "aten"}],
        backend=[{"backend": name, "calls_aten": name == "aten"} for name in [*uses, "aten"]],
        efficiency=[],
        hardware=[{}],
    )
    found = {row["backend"]: row["arithmetic"] for row in rows}
    assert found == {
        "plain": "plain", "other": "plain", "library": "library", "half": "half", "packed": "int8", "both": "library half", "aten": "queries",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("bits", "efficient", "rate", "units"),
    [
        # Two efficient cores a performance core: 0.75 of 800 operations, on 4 of the 12 cores.
        (32, 8, 600.0, 4.0),
        (32, 9, 800.0, 13.0),
        # Twice as many for 8 bits.
        (8, 16, 600.0, 4.0),
        (8, 17, 800.0, 13.0),
    ],
)
def test_few_efficient_cores_are_left_out(
    evaluate: Callable[..., list[dict[str, Any]]], bits: int, efficient: int, rate: float, units: float
) -> None:
    (row,) = evaluate(
        "arithmetic_rate",
        supported_backend=[{"efficient_core_ratio": 2.0}],
        backend=[{}],
        hardware_rate=[{"precision": "t", "single_vector_ops_per_s": 800.0, "single_vector_unit_count": 13.0, "single_performance_fraction": 0.75}],
        hardware_cluster=[
            {"cluster": "p_core", "unit_count": 4}, {"cluster": "e_core", "unit_count": efficient},
            {"hardware": "other", "cluster": "p_core", "unit_count": 100}, {"hardware": "other", "cluster": "e_core", "unit_count": 1},
        ],
        part=[{}],
        precision=[{"precision": "t", "bits": bits}],
        library_constant=[{"library_constant": "vector_block_threads", "value": 256.0}],
    )
    assert (row["vector_ops_per_s"], row["vector_unit_count"]) == (rate, units)
    assert row["arithmetic"] == "performance2.0"


def test_a_part_without_efficient_cores_shares_the_plain_rates(check: Callable[..., None]) -> None:
    for cluster, arithmetic in (("core", "plain"), ("e_core", "performance2.0")):
        check(
            "backend_arithmetic",
            {"arithmetic": arithmetic},
            supported_backend={"efficient_core_ratio": 2.0},
            backend={},
            hardware_cluster=[{"cluster": cluster}],
        )


def test_one_rate_for_each_arithmetic(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """Two backends that use the units alike share a row, and `part_rate` has both."""
    given = {
        "supported_backend": [{"backend": name, "sums_in_half": name == "third"} for name in ("first", "second", "third")],
        "backend": [{"backend": name} for name in ("first", "second", "third")],
        "hardware_rate": [{"precision": "fp16", "vector_ops_per_s": 4.0, "single_vector_ops_per_s": 2.0}],
        "part": [{}],
        "precision": [{"precision": "fp16", "bits": 16}],
        "library_constant": [{"library_constant": "vector_block_threads", "value": 256.0}],
    }
    rates = {row["arithmetic"]: row["vector_ops_per_s"] for row in evaluate("arithmetic_rate", **given)}
    assert rates == {"plain": 2.0, "half": 4.0}
    rows = evaluate("part_rate", **given, efficiency=[], hardware=[{}])
    assert sorted((row["backend"], row["vector_ops_per_s"]) for row in rows) == [("first", 2.0), ("second", 2.0), ("third", 4.0)]
