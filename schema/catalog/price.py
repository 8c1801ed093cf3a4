"""Tables of manufacturing costs and prices."""

from __future__ import annotations

from typing import Annotated, ClassVar

from ..ranges import HUGE, TINY, Plausible, Possible
from ..row import Row

CostNumber = Annotated[
    float,
    Possible(0, HUGE, of="memory_usd_per_gbyte"),
    Possible(0, HUGE, of="defect_per_cm2"),
    Possible(0, HUGE, of="edge_loss_mm"),
    Possible(0, HUGE, of="scribe_mm"),
    Possible(0, HUGE, of="package_usd"),
    Possible(0, HUGE, of="board_ratio"),
    Possible(TINY, 1, of="join_yield_fraction"),
    Plausible(200, 1e5, of="wafer_usd"),
    Plausible(0.01, 5, of="defect_per_cm2"),
    Plausible(1, 100, of="yield_cluster"),
    Plausible(50, 450, of="wafer_mm"),
    Plausible(0.5, 20, of="edge_loss_mm"),
    Plausible(0.01, 1, of="scribe_mm"),
    Plausible(50, 2000, of="reticle_mm2"),
    Plausible(1, 2, of="join_area_factor"),
    Plausible(0.5, 1, of="join_yield_fraction"),
    Plausible(0.001, 10, of="package_usd_per_mm2"),
    Plausible(0.01, 1000, of="package_usd"),
    Plausible(0, 1000, of="memory_usd_per_gbyte"),
    Plausible(0.01, 2, of="board_ratio"),
]
"""A number of a cost rule."""


class CostRule(Row):
    """A manufacturing cost: wafers and their defects by process, package and memory by technology, board. Joins `part_cost`; no time or
    energy depends on it."""

    TABLE: ClassVar[str] = "cost_rule"
    KEY: ClassVar[tuple[str, ...]] = ("cost_rule",)
    RANGES_BY: ClassVar[tuple[str, ...]] = ("quantity",)

    cost_rule: str
    """Name of the rule."""
    quantity: str
    """Quantity, e.g. `wafer_usd`, `defect_per_cm2` or `memory_usd_per_gbyte`."""
    row_key: str
    """Process in nm or technology of the main memory the rule applies to; `*` for all others."""
    value: CostNumber
    """Value, in `unit`."""
    cheap_value: CostNumber
    """Value that makes parts cheapest: low end of the band of `part_cost`."""
    dear_value: CostNumber
    """Value that makes parts dearest: high end of the band of `part_cost`."""
    unit: str
    """Unit of the three values."""
    source_id: str
    """Source of the value; the ends are assumed unless the reason names a source."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    reason: str
    """Reason for the value."""


class Price(Row):
    """Rental price of a part."""

    TABLE: ClassVar[str] = "price"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Part."""
    price_usd_per_hour: Annotated[float, Plausible(0.001, 1000)]
    """Price of one part per hour. [USD/h]"""
    dated: str
    """Month of the price, `YYYY-MM`."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class ListPrice(Row):
    """The maker's price of a part, or of the board with it. The hourly price of a part that nobody rents out is this price and that of a host,
    divided by the hours in which an owner uses them, with the electricity (`library_constant`, rows that decide `price`)."""

    TABLE: ClassVar[str] = "list_price"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Part."""
    sold_as: str
    """Product sold at the price: `card`, `module`, `developer kit`, `processor` or `computer`."""
    list_price_usd: Annotated[float, Plausible(1, 1e6)]
    """Price of one, before taxes. [USD]"""
    dated: str
    """Month of the price, `YYYY-MM`."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
