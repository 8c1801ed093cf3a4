"""Kinds of the prices that an answer compares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from charz.schema.errors import some

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from ..core import Core

RENT = "rent"
"""Kind of a price that somebody asks for, or that the user states."""

OWNED = "owned"
"""Kind of a price that charz derives from a list price."""


def kinds(session: Core) -> dict[str, str | None]:
    """Return the kind of each part's price: `rent`, `owned` or None."""
    found = dict(session.connection().execute("SELECT hardware, price_kind FROM part_price").fetchall())
    return found | dict.fromkeys(session.rents, RENT)


def of(session: Core, parts: Iterable[str]) -> dict[str, str | None]:
    """Return the kind of the price of each of these parts."""
    known = kinds(session)
    return {part: known.get(part) for part in parts}


def said(session: Core, kinds: Mapping[str, str | None], option: str = "--rent PART=USD") -> list[str]:
    """Tell which rents the user states and which are assumed, which parts have the cost of owning in place of a rent, and which have no price. `kinds`
    are those of the answer's parts, and `option` states a rent."""
    connection, stated = session.connection(), session.rents
    owned, unknown = (sorted(part for part, kind in kinds.items() if kind == wanted) for wanted in (OWNED, None))
    lines = [f"your rent: {', '.join(f'{part} {usd:g} USD/h' for part, usd in stated.items() if part in kinds)}"] if set(stated) & set(kinds) else []
    rents = connection.execute("SELECT hardware, price_basis FROM part_price WHERE price_kind = 'rent'").fetchall()
    assumed = {part: basis.removeprefix("assumed, ") for part, basis in rents if part in kinds and part not in stated and basis.startswith("assumed")}
    if assumed:
        months = " to ".join(sorted({min(assumed.values()), max(assumed.values())}))
        lines.append(f"rent: {some(sorted(assumed), 3)} at an assumed price of {months}; `{option}` takes yours")
    if owned:
        others = " Other prices are rents." if "rent" in kinds.values() else ""
        lines.append(
            f"owned: {some(owned, 3)}, which nobody rents out, at list price and a share of a host over three years at half use, with power, all"
            f" assumed; `charz compare MODEL --on {owned[0]} --price` shows the basis.{others}"
        )
    if unknown:
        lines.append(f"no price is known of {some(unknown, 3)}; `{option}` states one")
    return lines


SOLD_IN_NODES = ("SXM", "OAM", "NVL")
"""Beginnings of the form factors of parts that are sold and rented in whole nodes; fewer are rented as a share of one."""


def node_sizes(connection: DuckDBPyConnection) -> dict[str, int]:
    """Return the number of devices of a node by part; `*` is any other part."""
    return {part: int(count) for part, count in connection.execute("SELECT of_part, MAX(node_device_count) FROM network GROUP BY of_part").fetchall()}


def sold(connection: DuckDBPyConnection, parts: Iterable[str]) -> dict[str, int]:
    """Return the number of devices of the nodes in which those of the parts are sold that are not sold alone."""
    devices = node_sizes(connection)
    forms = dict(connection.execute("SELECT hardware, form_factor FROM hardware").fetchall())
    return {part: devices.get(part) or devices.get("*") or 1 for part in parts if forms[part].startswith(SOLD_IN_NODES)}


def nodes(part: str, count: int, whole: Mapping[str, int]) -> str | None:
    """Tell what share of a node some devices are, or how many nodes. `whole` are the devices of nodes that are sold whole; other parts are sold alone.

    >>> [nodes("h100", count, {"h100": 8}) for count in (4, 8, 16)], nodes("t4", 4, {"h100": 8})
    (['4 of 8 devices of a node', '1 node', '2 nodes'], None)
    """
    node = whole.get(part)
    if node is None:
        return None
    if count % node:
        return f"{count} of {node} devices of a node" if count < node else f"{count / node:.3g} nodes"
    return "1 node" if count == node else f"{count // node} nodes"


def of_nodes(connection: DuckDBPyConnection, choices: Sequence[tuple[str, int]]) -> list[str]:
    """Tell which choices, each a part and its number of devices, are no whole number of the nodes in which the part is sold."""
    whole = sold(connection, [part for part, _ in choices])
    parts = sorted({part for part, count in choices if count % whole.get(part, 1)})
    if not parts:
        return []
    told = ", ".join(f"{part} ({whole[part]} devices)" for part in parts)
    return [f"priced by the share of a node that is sold whole: {told}"]
