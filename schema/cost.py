"""What a run costs beyond the part: the electricity it draws."""

from __future__ import annotations

from typing import Annotated, ClassVar

from .ranges import HUGE, Plausible, Possible
from .row import Row


class Electricity(Row):
    """A supply of electricity that energy is charged to. Shipped empty: grams of CO2 are given only
    where the user states a rate."""

    TABLE: ClassVar[str] = "electricity"
    KEY: ClassVar[tuple[str, ...]] = ("electricity",)

    electricity: str
    """Name of the supply, e.g. a country and year."""
    co2_gram_per_kwh: Annotated[float, Possible(0, HUGE), Plausible(1, 2000)]
    """Grams of CO2 emitted for a kilowatt-hour. [g/kWh]"""
    price_usd_per_kwh: Annotated[float | None, Possible(0, HUGE), Plausible(0.001, 10)]
    """Price of a kilowatt-hour; null when not asked for. [USD/kWh]"""
    overhead_factor: Annotated[float, Plausible(1, 10)]
    """Energy drawn from the supply for each joule of the part: power conversion and cooling; 1 is none."""
