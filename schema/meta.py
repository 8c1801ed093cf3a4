"""Tables in which a database describes itself."""

from __future__ import annotations

from typing import ClassVar

from . import about
from .row import Row


class Meta(Row):
    """A fact of the file: version of its layout, of charz, of its catalog or of its views."""

    TABLE: ClassVar[str] = about.TABLE
    KEY: ClassVar[tuple[str, ...]] = ("key",)

    key: str
    """`schema_fingerprint`, `charz_version`, `views_fingerprint`, `catalog_version`, ..."""
    value: str
    """Value as text."""


class ViewCatalog(Row):
    """Every view of the cost model, and every table kept equal to a view."""

    TABLE: ClassVar[str] = "view_catalog"
    KEY: ClassVar[tuple[str, ...]] = ("view",)

    view: str
    """Name."""
    kind: str
    """`view`, or `table` for a maintained table: `rebuild.NAME` recomputes its rows."""
    layer: str
    """Folder of its file, e.g. `4_cost`; `invariant` for a view that must be empty."""
    position: int
    """Place in the order of creation, from 0."""
    description: str
    """Question that the view answers."""
    grain: str
    """Columns that identify a row, comma-separated."""
    reads: str
    """Views and tables that it reads, comma-separated."""
    at_hand: str
    """`stored` if its rows are kept for every stored run on every part, `as NAME` if they equal those of another view, `derived` if it
    reads only such relations: `answer.NAME` has them. Empty for views that are only computed live."""
    body: str
    """Query that computes its rows."""


class ViewColumn(Row):
    """Every column of every view of the cost model."""

    TABLE: ClassVar[str] = "view_column"
    KEY: ClassVar[tuple[str, ...]] = ("view", "column_name")

    view: str
    """View it belongs to."""
    column_name: str
    """Name."""
    position: int
    """Place in the view, from 0."""
    type: str
    """DuckDB type."""
    unit: str | None
    """Unit; null for counts, fractions and names."""
    description: str
    """Meaning of the column."""


class MaintenanceTrigger(Row):
    """Every trigger that keeps a maintained table equal to its view, as charz installed it. `EXPORT DATABASE` and `COPY FROM DATABASE`
    drop triggers without a message; `charz doctor --invariants` compares."""

    TABLE: ClassVar[str] = "maintenance_trigger"
    KEY: ClassVar[tuple[str, ...]] = ("table_name", "trigger_name")

    table_name: str
    """Table whose change fires the trigger."""
    trigger_name: str
    """Name; triggers of one event fire in order of their names."""
    event: str
    """`INSERT`, `UPDATE` or `DELETE`."""
    position: int
    """Place in the order of creation, from 0."""
    sql: str
    """Statement that creates the trigger."""
