"""Units, as the ends of column names promise them."""

from __future__ import annotations

UNITS = {
    "_byte_per_s": "byte/s",
    "_ops_per_s": "ops/s",
    "_usd_per_hour": "USD/h",
    "_j_per_byte": "J/byte",
    "_intensity": "ops/byte",
    "_per_j": "1/J",
    "_per_s": "1/s",
    "_per_usd": "1/USD",
    "_s": "s",
    "_js": "J s",
    "_j": "J",
    "_w": "W",
    "_hz": "Hz",
    "_byte": "byte",
    "_usd": "USD",
    "_nm": "nm",
}
"""Unit by the end of a column's name, longest ending first."""


def ending(column: str) -> str:
    """The end of a column's name that promises a unit; empty without one."""
    return next((end for end in UNITS if column.endswith(end)), "")
