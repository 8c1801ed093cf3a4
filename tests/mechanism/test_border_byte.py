"""Bytes of every tensor that crosses a kernel's border."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

PRECISIONS = [{"precision": "fp32", "bits": 32}, {"precision": "fp16", "bits": 16}, {"precision": "int4", "bits": 4}]
CROSSING = {"direction": "read", "role": "input"}
GIVEN: dict[str, Any] = {
    "run": [{"context": 0}],
    "tensor_size": [{"chunk_elements": 100.0}],
    "tensor_precision": [{"precision": "fp16"}],
    "precision": PRECISIONS,
}
ACCESS = {"batch_power": 0, "sequence_power": 0, "context_power": 0}


@pytest.mark.parametrize(
    ("crossing", "given", "moved_byte"),
    [
        pytest.param({}, {}, 200.0, id="its own type"),
        pytest.param({}, {"tensor_precision": [{"precision": "int4"}]}, 50.0, id="half a byte"),
        pytest.param({}, {"read_precision": [{"precision": "fp32"}]}, 400.0, id="read in another type"),
        pytest.param(
            {"direction": "write"}, {"read_precision": [{"precision": "fp32"}]}, 200.0, id="written in its own"
        ),
        # A compiler that stores wide values: as fp32.
        pytest.param({"is_wide": True}, {}, 400.0, id="wide"),
        # 30 of its 100 elements, or 3,000 reads of them, which move at most all.
        pytest.param({}, {"access_term": [ACCESS | {"coefficient": 30.0}]}, 60.0, id="part of it"),
        pytest.param({}, {"access_term": [ACCESS | {"coefficient": 3000.0}]}, 200.0, id="rows read twice"),
        # Two draws of a quarter each move 1 - (3 / 4)^2 = 7 / 16 on average.
        pytest.param(
            {}, {"access_term": [ACCESS | {"coefficient": 50.0, "draw_fraction": 0.25}]}, 87.5, id="independent draws"
        ),
    ],
)
def test_moved_bytes(
    check: Callable[..., None], crossing: dict[str, Any], given: dict[str, Any], moved_byte: float
) -> None:
    """The tensor has 100 elements."""
    check("border_byte", {"moved_byte": moved_byte}, kernel_tensor=CROSSING | crossing, **(GIVEN | given))


def test_sums_by_role(check: Callable[..., None]) -> None:
    """The kernel's reads and writes are summed by role."""
    crossing = [
        {"tensor_id": 0, "direction": "read", "role": "input", "is_produced": True, "moved_byte": 1.0},
        {"tensor_id": 1, "direction": "read", "role": "input", "is_produced": False, "moved_byte": 2.0},
        {"tensor_id": 2, "direction": "read", "role": "weight", "is_produced": False, "moved_byte": 64.0},
        {"tensor_id": 3, "direction": "read", "role": "kv_cache", "is_produced": False, "moved_byte": 8.0},
        {"tensor_id": 4, "direction": "write", "role": "output", "is_produced": False, "moved_byte": 16.0},
        {"tensor_id": 5, "direction": "write", "role": "output", "is_produced": False, "moved_byte": 32.0},
        {"tensor_id": 5, "direction": "write", "role": "output", "backend": "inductor", "moved_byte": 512.0},
    ]
    expected = {
        "input_byte": 3.0,
        "weight_byte": 64.0,
        "kv_cache_byte": 8.0,
        "output_byte": 48.0,
        "produced_byte": 1.0,
        "largest_byte": 32.0,
    }
    check("kernel_traffic", expected, run={}, border_byte=crossing)


@pytest.mark.parametrize(("producer", "moved_byte"), [(1, 100.0), (None, 200.0)], ids=["keys", "a state"])
def test_a_state_is_not_of_the_format_of_keys(check: Callable[..., None], producer: int | None, moved_byte: float) -> None:
    """100 elements in fp16; keys and values are kept in 8 bits, a state that the run receives stays in its format."""
    check(
        "border_byte",
        {"moved_byte": moved_byte},
        kernel_tensor={"tensor_id": 0, "direction": "read", "role": "kv_cache"},
        tensor={"storage_tensor_id": 0, "role": "kv_cache", "producer_operator_id": producer},
        **(GIVEN | {"run": [{"context": 0, "kv_bits": 8}]}),
    )
