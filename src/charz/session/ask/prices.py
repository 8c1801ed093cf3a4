"""Kinds of the prices that an answer compares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from charz.schema.errors import some

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

OWNED = "owned"
"""Kind of a price that charz derives from a list price."""


def kinds(connection: DuckDBPyConnection) -> dict[str, str | None]:
    """Return the kind of each part's price: `rent`, `owned` or None."""
    return dict(connection.execute("SELECT hardware, price_kind FROM part_price").fetchall())


def of(connection: DuckDBPyConnection, parts: Iterable[str]) -> dict[str, str | None]:
    """Return the kind of the price of each of these parts."""
    known = kinds(connection)
    return {part: known.get(part) for part in parts}


def said(connection: DuckDBPyConnection, kinds: Mapping[str, str | None]) -> list[str]:
    """Tell which rents are assumed, which parts have the cost of owning in place of a rent, and which have no price. `kinds` are those of the
    answer's parts."""
    owned, unknown = (sorted(part for part, kind in kinds.items() if kind == wanted) for wanted in (OWNED, None))
    lines = []
    rents = connection.execute("SELECT hardware, price_basis FROM part_price WHERE price_kind = 'rent'").fetchall()
    assumed = {part: basis.removeprefix("assumed, ") for part, basis in rents if part in kinds and basis.startswith("assumed")}
    if assumed:
        months = " to ".join(sorted({min(assumed.values()), max(assumed.values())}))
        lines.append(f"rent: {some(sorted(assumed), 3)} at an assumed price of {months}; `charz compare --price --rent PART=USD` takes yours")
    if owned:
        others = " Other prices are rents." if "rent" in kinds.values() else ""
        lines.append(
            f"owned: {some(owned, 3)}, which nobody rents out, at list price and a share of a host over three years at half use, with power, all"
            f" assumed; `charz compare MODEL --on {owned[0]} --price` shows the basis.{others}"
        )
    if unknown:
        lines.append(f"no price is known of {some(unknown, 3)}; `charz compare --price --rent PART=USD` states one")
    return lines


SOLD_IN_NODES = ("SXM", "OAM", "NVL")
"""Beginnings of the form factors of parts that are sold and rented in whole nodes; fewer are rented as a share of one."""


def of_nodes(connection: DuckDBPyConnection, choices: Sequence[tuple[str, int]]) -> list[str]:
    """Tell which choices, each a part and its number of devices, are no whole number of the nodes in which the part is sold."""
    devices = dict(connection.execute("SELECT of_part, MAX(node_device_count) FROM network GROUP BY of_part").fetchall())
    forms = dict(connection.execute("SELECT hardware, form_factor FROM hardware").fetchall())
    nodes = {part: devices.get(part) or devices.get("*") or 1 for part, _ in choices if forms[part].startswith(SOLD_IN_NODES)}
    parts = sorted({part for part, count in choices if count % nodes.get(part, 1)})
    if not parts:
        return []
    told = ", ".join(f"{part} ({nodes[part]:g} devices)" for part in parts)
    return [f"priced by the share of a node that is sold whole: {told}"]
