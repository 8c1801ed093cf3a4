"""Display units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from charz.cli import display
from charz.session import quantities


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0012, "s", "1.20 ms"),
        (0.9999, "s", "1.00 s"),
        (1e-9, "s", "1.00 ns"),
        (0.0, "s", "0 s"),
        (999.0, "s", "999 s"),
        (3490.0, "s", "58.2 min"),
        (38_300.0, "s", "10.6 h"),
        (172_800.0, "s", "2.00 d"),
        (float("inf"), "s", "-"),
        (None, "s", "-"),
        (float("nan"), "J", "-"),
        (0.0853, "J", "85.3 mJ"),
        (102236160.0, "byte", "97.5 MiB"),
        (24 * 2**30, "byte", "24.0 GiB"),
        (1.814e9, "mac", "1.81 GMAC"),
        (756.5e12, "ops/s", "756 TOP/s"),
        (0.431, "fraction", "43 %"),
        (0.0042, "fraction", "0.4 %"),
        (2.5, "USD/h", "2.50 USD/h"),
    ],
)
def test_a_quantity_reads_as_people_write_it(value: float | None, unit: str, text: str) -> None:
    assert quantities.quantity(value, unit) == text


@given(st.floats(min_value=1e-15, max_value=1e18), st.sampled_from(["s", "J", "W", "byte/s"]))
def test_a_display_value_is_within_rounding(value: float, unit: str) -> None:
    number, prefixed = quantities.quantity(value, unit).split(" ")
    factors = {
        "E": 1e18,
        "P": 1e15,
        "T": 1e12,
        "G": 1e9,
        "M": 1e6,
        "k": 1e3,
        "m": 1e-3,
        "µ": 1e-6,
        "n": 1e-9,
        "p": 1e-12,
        "f": 1e-15,
    } | ({"h": 3600.0, "d": 86400.0} if unit == "s" else {})
    name = {"byte/s": "B/s"}.get(unit, unit)
    factor = 60.0 if prefixed == "min" else factors[prefixed[0]] if prefixed != name else 1.0
    assert float(number) * factor == pytest.approx(value, rel=0.006)


def test_columns_align_numbers_to_the_right() -> None:
    text = display.table(["name", "time"], [("a", "1.20 ms"), ("long", "10.0 ms")])
    assert text.splitlines() == ["name     time", "----  -------", "a     1.20 ms", "long  10.0 ms"]
    assert display.table(["a"], []) == "a\n-"
