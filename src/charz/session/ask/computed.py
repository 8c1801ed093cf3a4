"""Columns of anybody's statement that no unit is known of, though their names end as if it were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from charz.schema.units import ending

if TYPE_CHECKING:
    from sqlglot import exp

_FRACTION = "_fraction"

_KEEPING = ("Max", "Min", "Sum", "Avg", "Median", "Quantile", "PercentileCont", "ArgMax", "ArgMin", "AnyValue", "First", "Last", "Coalesce",
            "Abs", "Round", "Paren", "Filter", "Window", "Neg")  # fmt: skip
"""What gives a value in the unit of its first argument."""


def columns(statement: str, names: Sequence[str]) -> frozenset[str]:
    """Those of a statement's columns whose alias promises a unit that what it computes does not have: `latency_s * 1000 AS time_s`. A
    column under its own name or another that ends alike has its unit, so do sums, extremes and means of it, and its quotient by what has
    no unit."""
    if not any(map(_ending, names)):
        return frozenset()
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(statement, read="duckdb")
    except SqlglotError:
        return frozenset()
    bare: set[str] = set()
    for alias in tree.find_all(exp.Alias):  # outermost first
        if (end := _ending(alias.alias)) and not _has(alias.this, end):
            bare.add(alias.alias)
    # A name that is computed in one place is of no unit anywhere, so that an outer query passes it on as such.
    return frozenset(bare.intersection(names))


def _ending(name: str) -> str:
    return _FRACTION if name.endswith(_FRACTION) else ending(name)


def _has(item: exp.Expression, end: str) -> bool:
    """Whether a value is in the unit of an ending."""
    kind = type(item).__name__
    if kind == "Column":
        return _ending(item.name) == end
    if kind in _KEEPING:
        return _has(item.this, end)
    if kind == "Div":
        return _has(item.this, end) and _is_plain(item.expression)
    if kind == "Mul":
        return any(
            _has(one, end) and _is_plain(other)
            for one, other in ((item.this, item.expression), (item.expression, item.this))
        )
    if kind in ("Add", "Sub"):
        return _has(item.this, end) and _has(item.expression, end)
    if kind == "Case":
        given = [branch.args["true"] for branch in item.args["ifs"]] + [item.args.get("default")]
        return all(_has(one, end) for one in given if one is not None and type(one).__name__ != "Null")
    return False


def _is_plain(item: exp.Expression) -> bool:
    """Whether a value is a count: a column without a unit, of itself or guarded against zero."""
    kind = type(item).__name__
    if kind in ("Nullif", "Paren", "Cast"):
        return _is_plain(item.this)
    return kind == "Column" and not _ending(item.name)
