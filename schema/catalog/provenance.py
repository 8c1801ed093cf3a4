"""Tables of the origin of parts' numbers: sources, derivations, conflicts and rules."""

from __future__ import annotations

from typing import Annotated, ClassVar

from ..ranges import ANY, HUGE, TINY, Plausible, Possible
from ..row import Row


class HardwareProvenance(Row):
    """Source of one number of one part."""

    TABLE: ClassVar[str] = "hardware_provenance"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "field")

    hardware: str
    """Part that has the number."""
    field: str
    """Name of the number, `table.row_key.column`, e.g. `memory.dram.bandwidth_byte_per_s`, `peak.fp16.matrix.fp32.peak_ops_per_s`."""
    catalog_value: Annotated[float, ANY]
    """Value stated in the catalog file, in SI; the part's table has another value after an edit."""
    unit: str
    """Unit of the value."""
    source_id: str
    """Source of the value."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    formula: str | None
    """Formula of a derived value."""
    note: str | None
    """Anything a reader must know."""


class DerivationBasis(Row):
    """A basis of a derived number: either the quantity of the part by which a rule's coefficient is multiplied (`part_basis`), or
    the method by which the number follows from other numbers."""

    TABLE: ClassVar[str] = "derivation_basis"
    KEY: ClassVar[tuple[str, ...]] = ("basis",)

    basis: str
    """Name, e.g. `lane_clock`."""
    formula: str
    """Formula in words, e.g. `lanes x boost clock`."""


class DerivationInput(Row):
    """A number of a part that a basis depends on."""

    TABLE: ClassVar[str] = "derivation_input"
    KEY: ClassVar[tuple[str, ...]] = ("basis", "field")

    basis: str
    """Basis."""
    field: str
    """LIKE pattern of the number's field in `hardware_value`."""


class DerivationRule(Row):
    """A rule for a number that a part does not state: `value` times the part's `basis`. Of several rules that match, the longest
    architecture wins, then the row for one level, then the row for one scope."""

    TABLE: ClassVar[str] = "derivation_rule"
    KEY: ClassVar[tuple[str, ...]] = ("derivation_rule",)
    RANGES_BY: ClassVar[tuple[str, ...]] = ("quantity",)

    derivation_rule: str
    """Name of the rule."""
    quantity: str
    """Section and column of the number, e.g. `memory.bandwidth_byte_per_s`."""
    family: str
    """Family of the parts the rule applies to, or `*`."""
    architecture: str
    """First words of the architecture of the parts to which the rule applies, or `*`."""
    row_key: str
    """Level, overhead or peak the rule applies to; `*` for every level on the chip."""
    scope: str
    """Scope of the level, or `*`."""
    basis: str
    """Quantity of the part by which `value` is multiplied; joins `derivation_basis`."""
    value: Annotated[
        float,
        Possible(0, HUGE, of="overhead.overhead_s"),
        Plausible(TINY, 1e9, of="overhead.overhead_s"),
        Plausible(1e-3, 1e6),
    ]
    """Number that the basis is multiplied by."""
    unit: str
    """Unit of the value."""
    source_id: str
    """Source of the value."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    reason: str
    """Reason for the value."""


class RestatedNumber(Row):
    """The derived value of a number at the time a client last restated the number. Triggers write it; it overrides the value in the row
    itself (`derived_ops_per_s` and the like)."""

    TABLE: ClassVar[str] = "restated_number"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "field")

    hardware: str
    """Part that has the number."""
    field: str
    """Field of the number, as in `hardware_value`."""
    derived_value: float
    """Derived value at that time, in the unit of the field."""


class NumberRule(Row):
    """Possible and plausible ranges of the numbers of a column, in rows of one kind and family, from the column's declaration
    (`charz.schema.ranges`). An answer that depends on an impossible number is null; an answer that depends on an implausible
    number lists that number. If several rows match, the most specific applies; a match by kind outranks a match by family."""

    TABLE: ClassVar[str] = "number_rule"
    KEY: ClassVar[tuple[str, ...]] = ("kind", "quantity", "row_kind", "of_family")
    NUMBERS: ClassVar[Possible | None] = ANY

    kind: str
    """Table of the number without `hardware_`, as in fields of `hardware_value`; `energy` for `energy_profile`."""
    quantity: str
    """Column of the number."""
    row_kind: str
    """Kind of the rows, e.g. the level of a memory or the backend; `*` for all."""
    of_family: str
    """Family of the parts, or `*` for all families."""
    least: float
    """Smallest possible number, in SI."""
    most: float
    """Largest possible number, in SI."""
    plausible_least: float
    """Smallest plausible number, in SI."""
    plausible_most: float
    """Largest plausible number, in SI."""
    is_needed: bool
    """True where null is not plausible."""


class HardwareConflict(Row):
    """A number on which sources disagree, and the value chosen."""

    TABLE: ClassVar[str] = "hardware_conflict"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "field")

    hardware: str
    """Part or family concerned."""
    field: str
    """Field of the number."""
    values_by_source: str
    """Value that each source states."""
    chosen: str
    """Value that the catalog uses."""
    reason: str
    """Reason for the choice."""
