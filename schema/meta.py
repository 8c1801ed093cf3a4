"""Tables by which a database describes itself."""

from __future__ import annotations

from typing import ClassVar

from . import about
from .row import Row


class Meta(Row):
    """What the file is: version of its layout, of charz, of its catalog, of its views."""

    TABLE: ClassVar[str] = about.TABLE
    KEY: ClassVar[tuple[str, ...]] = ("key",)

    key: str
    """`schema_fingerprint`, `charz_version`, `views_fingerprint`, `catalog_version`, ..."""
    value: str
    """Its value as text."""


class ViewCatalog(Row):
    """Every view of the cost model, and every table that is kept equal to one."""

    TABLE: ClassVar[str] = "view_catalog"
    KEY: ClassVar[tuple[str, ...]] = ("view",)

    view: str
    """Name."""
    kind: str
    """`view`, or `table` for one whose rows are kept: `rebuild.NAME` evaluates them anew."""
    layer: str
    """Folder it stands in, e.g. `4_cost`; `invariant` for a view that must be empty."""
    position: int
    """Place in the order of creation, from 0."""
    description: str
    """What it answers."""
    grain: str
    """Columns that tell its rows apart, comma-separated."""
    reads: str
    """Views and tables it reads, comma-separated."""
    at_hand: str
    """`stored` where its rows are kept at hand for every stored run on every part, `as NAME` where they are those of another,
    `derived` where it rests on such relations: `answer.NAME` has them. Empty for what answers live alone."""
    body: str
    """The query that gives its rows."""


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
    """What it holds."""


class MaintenanceTrigger(Row):
    """Every trigger that keeps a maintained table equal to its view, as the database held it when charz installed it.
    `EXPORT DATABASE` and `COPY FROM DATABASE` leave triggers behind without a word; `charz doctor --rows` compares."""

    TABLE: ClassVar[str] = "maintenance_trigger"
    KEY: ClassVar[tuple[str, ...]] = ("table_name", "trigger_name")

    table_name: str
    """Table whose change fires it."""
    trigger_name: str
    """Name; those of one event fire in the order of their names."""
    event: str
    """`INSERT`, `UPDATE` or `DELETE`."""
    position: int
    """Place in the order of creation, from 0."""
    sql: str
    """Its statement."""
