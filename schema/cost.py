"""The cost of a run's electricity."""

from __future__ import annotations

from typing import Annotated, ClassVar

from .ranges import HUGE, Plausible, Possible
from .row import Row


class Electricity(Row):
    """A supply of electricity that energy is charged to. The table ships empty: answers give grams of CO2 only if the user states a rate."""

    TABLE: ClassVar[str] = "electricity"
    KEY: ClassVar[tuple[str, ...]] = ("electricity",)

    electricity: str
    """Name of the supply, e.g. a country and year."""
    co2_gram_per_kwh: Annotated[float, Possible(0, HUGE), Plausible(1, 2000)]
    """CO2 emitted per kilowatt-hour. [g/kWh]"""
    price_usd_per_kwh: Annotated[float | None, Possible(0, HUGE), Plausible(0.001, 10)]
    """Price per kilowatt-hour; null if not asked for. [USD/kWh]"""
    overhead_factor: Annotated[float, Plausible(1, 10)]
    """Energy drawn from the supply per joule of the part: power conversion and cooling; 1 without such losses."""
