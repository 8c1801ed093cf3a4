"""What a run may take at most: seconds, joules a sample, bytes, watts, dollars an hour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..axes import amount
from ..parameters import Amount


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that one column of an answer may be."""

    name: str
    """Name of the option that states it."""
    column: str
    unit: str
    most: float
    too_much: str
    """What a run that exceeds it is."""
    unknown: str
    """What a run is whose value is not known."""

    def is_met(self, run: Mapping[str, Any]) -> bool | None:
        """Whether a run keeps within it; None where its value is not known."""
        value = run[self.column]
        return value <= self.most if isinstance(value, int | float) else None


def limits(
    latency: Amount | None = None,
    energy: Amount | None = None,
    memory: Amount | None = None,
    power: Amount | None = None,
    price: float | None = None,
) -> list[Limit]:
    """The limits that were given, in the order of the options. Raises `CharzError` for what is no amount of its unit."""
    stated = (
        ("latency", "latency_s", "s", amount(latency, "s", "--latency"), "too slow", "time unknown"),
        ("energy", "sample_j", "J", amount(energy, "J", "--energy"), "too much energy", "energy unknown"),
        ("memory", "peak_memory_byte", "byte", amount(memory, "byte", "--memory"), "too much memory", "memory unknown"),
        ("power", "average_power_w", "W", amount(power, "W", "--power"), "too much power", "power unknown"),
        ("price", "price_usd_per_hour", "USD/h", price, "too expensive", "price unknown"),
    )
    return [Limit(name, column, unit, most, *texts) for name, column, unit, most, *texts in stated if most is not None]
