"""Upper limits of a run: seconds, joules per sample, bytes, watts and dollars per hour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..axes import amount
from ..parameters import Amount


@dataclass(frozen=True, slots=True)
class Limit:
    """Upper limit of a column."""

    name: str
    """Name of the option that states the limit."""
    column: str
    unit: str
    most: float
    too_much: str
    """Reason reported for a run that exceeds the limit."""
    unknown: str
    """Reason reported for a run whose value is unknown."""

    def is_met(self, run: Mapping[str, Any]) -> bool | None:
        """Return True if a run meets the limit, None if the value is unknown."""
        value = run[self.column]
        return value <= self.most if isinstance(value, int | float) else None


def limits(
    latency: Amount | None = None,
    energy: Amount | None = None,
    memory: Amount | None = None,
    power: Amount | None = None,
    price: float | None = None,
) -> list[Limit]:
    """Return the given limits in the order of the options. Raise `CharzError` for an invalid amount."""
    stated = (
        ("latency", "latency_s", "s", amount(latency, "s", "--latency"), "too slow", "time unknown"),
        ("energy", "sample_j", "J", amount(energy, "J", "--energy"), "too much energy", "energy unknown"),
        ("memory", "peak_memory_byte", "byte", amount(memory, "byte", "--memory"), "too much memory", "memory unknown"),
        ("power", "average_power_w", "W", amount(power, "W", "--power"), "too much power", "power unknown"),
        ("price", "price_usd_per_hour", "USD/h", price, "too expensive", "price unknown"),
    )
    return [Limit(name, column, unit, most, *texts) for name, column, unit, most, *texts in stated if most is not None]
