"""A cache in a format that the part does not compute in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {"family": "gpu", "cache_convert_ops": 6000.0, "kv_precision": "fp8_e4m3"}
RATE = {"compute_precision": "fp8_e4m3", "is_native": False, "unit_count": 10.0, "lanes": 2.0, "clock_hz": 100.0}


@pytest.mark.parametrize(
    ("shape", "rate", "convert_s"),
    [
        # 6,000 operations on 10 units with 2 lanes at 100 Hz.
        pytest.param({}, {}, 3.0, id="converted"),
        pytest.param({}, {"is_native": True}, 0.0, id="native"),
        pytest.param({"kv_precision": "none"}, {}, 0.0, id="as the arithmetic"),
        pytest.param({"cache_convert_ops": 0.0}, {}, 0.0, id="a prompt"),
        pytest.param({"family": "cpu"}, {}, 0.0, id="a processor"),
        pytest.param({}, {"clock_hz": None}, None, id="unknown clock"),
    ],
)
def test_time(check: Callable[..., None], shape: dict[str, object], rate: dict[str, object], convert_s: float) -> None:
    """Lanes convert one element at a time."""
    check("cost_convert", {"convert_s": convert_s}, cost_library=SHAPE | shape, arithmetic_rate=RATE | rate)
