"""Tables of energies, silicon and power."""

from __future__ import annotations

from typing import Annotated, ClassVar

from ..ranges import HUGE, TINY, Plausible, Possible
from ..row import Row


class ArchitecturalModifier(Row):
    """Relative energy-delay weight of an operator class on an architecture. The operators of a fused kernel share its cost by these
    weights."""

    TABLE: ClassVar[str] = "architectural_modifier"
    KEY: ClassVar[tuple[str, ...]] = ("operator_class", "architecture_class", "is_fused")

    operator_class: str
    """Class of the operator, or `*`."""
    architecture_class: str
    """`sequential`, `data_parallel`, `systolic` or `domain_flow` (`hardware_family`)."""
    is_fused: bool
    """True inside a fused kernel."""
    modifier: Annotated[float, Plausible(0.01, 100)]
    """Weight; 1 for a matrix operator."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class EnergyFact(Row):
    """A published energy figure and its scope."""

    TABLE: ClassVar[str] = "energy_fact"
    KEY: ClassVar[tuple[str, ...]] = ("energy_fact_id",)

    energy_fact_id: str
    """Name of the figure."""
    scope: str
    """`circuit`, `array`, `device`, `path`, `board` or `model`."""
    what: str
    """Operation or memory level."""
    subject: str
    """Hardware or class it is stated for."""
    process_nm: str | None
    """Process node. [nm]"""
    technology: str | None
    """Memory technology."""
    energy_j: Annotated[float, Plausible(1e-16, 1e-3)]
    """Energy of one `per`. [J]"""
    per: str
    """`op`, `MAC`, `byte`, `bit`, `64-bit access`, ..."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    note: str | None
    """Anything a reader must know."""


class EnergyProfile(Row):
    """Energy coefficients that a part states, all converted to one scope so that they can be added; others follow from rules
    (`part_energy`).

    Arithmetic: `what` is `op` and `key` is `PRECISION.UNIT`. Memory: `what` is `byte` and `key` the level. Static: `what` is `static`
    and `key` is `chip`; its value is a power.
    """

    TABLE: ClassVar[str] = "energy_profile"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "what", "key")
    RANGES_BY: ClassVar[tuple[str, ...]] = ("what",)

    hardware: str
    """Part."""
    what: str
    """`op`, `byte` or `static`."""
    key: str
    """Precision and unit, memory level, or `chip`."""
    value: Annotated[
        float, Plausible(1e-16, 1e-9, of="op"), Plausible(1e-15, 1e-8, of="byte"), Plausible(0.01, 1e4, of="static")
    ]
    """Joules per operation or byte; watts for `static`. [J]"""
    scope: str
    """Scope that every row of the part is converted to: `board` or `chip`."""
    source_id: str
    """Source of the value."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    formula: str
    """Formula that composes the value from facts."""


class SiliconRule(Row):
    """A property of silicon: area, leakage and energy by process, format, level and technology, and voltage by clock. Areas, leakage and
    energies of the parts of every family follow from these rows. Of the rows of a quantity that match, the longest architecture wins,
    then the row of a family."""

    TABLE: ClassVar[str] = "silicon_rule"
    KEY: ClassVar[tuple[str, ...]] = ("silicon_rule",)
    RANGES_BY: ClassVar[tuple[str, ...]] = ("quantity",)

    silicon_rule: str
    """Name of the rule."""
    quantity: str
    """Quantity, e.g. `mac_um2`, `leakage_w_per_mm2` or `lift`; joins `part_area`, `part_energy` and `part_silicon`."""
    family: str
    """Family of the parts the rule applies to, or `*`."""
    architecture: str
    """First words of their architecture, or `*`."""
    row_key: str
    """Precision, unit, cluster, level, technology, kind of area or process the rule applies to, or `*`."""
    value: Annotated[
        float,
        Possible(0, HUGE, of="unit_um2"),
        Possible(0, HUGE, of="lane_um2"),
        Possible(0, HUGE, of="phy_mm2_per_gbyte_per_s"),
        Possible(0, HUGE, of="memory_w_per_gbyte"),
        Possible(0, 1, of="voltage_slope"),
        Possible(0, 1, of="leakage_share"),
        Possible(0, 1, of="clocking_share"),
        Possible(0, 1, of="link_distance_fraction"),
        Possible(TINY, 1, of="voltage_floor"),
        Possible(TINY, 1, of="clock_floor"),
        Possible(TINY, 1, of="sram_fill_least"),
        Possible(TINY, 1, of="sram_fill_most"),
        Plausible(0.01, 10, of="circuit_ratio"),
        Plausible(0.1, 100, of="process_pj"),
        Plausible(0.5, 1000, of="usual_process_nm"),
        Plausible(0.01, 100, of="lift"),
        Plausible(1, 8, of="sparse_ratio"),
        Plausible(1e8, 1e10, of="reference_clock_hz"),
        Plausible(0.05, 20, of="unit_factor"),
        Plausible(1, 2000, of="element_ratio"),
        Plausible(0.3, 2, of="reference_voltage_v"),
        Plausible(0.5, 1000, of="dram_pj_per_byte"),
        Plausible(0.1, 1, of="voltage_slope"),
        Plausible(0.2, 1, of="voltage_floor"),
        Plausible(1, 2, of="voltage_ceiling"),
        Plausible(0.05, 1, of="clock_floor"),
        Plausible(1, 1000, of="logic_mtr_per_mm2"),
        Plausible(10, 1e6, of="mac_um2"),
        Plausible(0.5, 50, of="mac_area_factor"),
        Plausible(0, 1e9, of="unit_um2"),
        Plausible(1e5, 1e9, of="unit_um2", family="cpu"),
        Plausible(0, 1e8, of="lane_um2"),
        Plausible(1e4, 1e8, of="lane_um2", family="cpu"),
        Plausible(0.1, 500, of="uncore_mm2"),
        Plausible(0.005, 1, of="sram_um2"),
        Plausible(0.01, 1, of="sram_fill_least"),
        Plausible(0.001, 0.5, of="sram_fill_doubling"),
        Plausible(0.1, 1, of="sram_fill_most"),
        Plausible(1, 20, of="port_factor"),
        Plausible(1, 2, of="tag_factor"),
        Plausible(1, 3, of="layout_factor"),
        Plausible(0, 2, of="phy_mm2_per_gbyte_per_s"),
        Plausible(0.001, 2, of="link_mm2_per_gbyte_per_s"),
        Plausible(0.0001, 1, of="leakage_w_per_mm2"),
        Plausible(0.01, 1, of="leakage_share"),
        Plausible(0.0001, 1, of="clocking_w_per_mm2_ghz"),
        Plausible(0.01, 1, of="clocking_share"),
        Plausible(0.05, 5, of="clock_load_ratio"),
        Plausible(0, 5, of="memory_w_per_gbyte"),
        Plausible(0.01, 10, of="sram_access_ratio"),
        Plausible(0.01, 10, of="sram_wire_ratio_per_mm"),
        Plausible(0.01, 10, of="link_wire_ratio_per_mm"),
        Plausible(0.01, 1, of="link_distance_fraction"),
        Plausible(0.1, 100, of="level_lift"),
        Plausible(1e9, 1e13, of="channel_byte_per_s"),
        Plausible(1e8, 1e12, of="channel_byte"),
    ]
    """Value, in `unit`."""
    unit: str
    """Unit of the value."""
    source_id: str
    """Source of the value."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    reason: str
    """Reason for the value."""


class RestPower(Row):
    """Stated or measured power of a part at rest. `part_leakage` is checked against it; no prediction depends on it."""

    TABLE: ClassVar[str] = "rest_power"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "state")

    hardware: str
    """Part."""
    state: str
    """`rest` (clocks at their floor), `waiting` (clocks at working speed) or `clocks` (the clocks' share of `waiting`)."""
    stated_w: Annotated[float, Plausible(0.01, 1e4)]
    """Power in that state. [W]"""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    note: str | None
    """Anything a reader must know."""


class PowerRange(Row):
    """The lowest power limit that a board accepts; a limit below it is refused."""

    TABLE: ClassVar[str] = "power_range"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Part."""
    least_w: Annotated[float, Plausible(0.5, 2000)]
    """Lowest power limit. [W]"""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
