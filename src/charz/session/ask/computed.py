"""Detection of columns in a user's statement whose names end in a unit that their values do not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from charz.schema.units import ending

if TYPE_CHECKING:
    from sqlglot import exp

_FRACTION = "_fraction"

_KEEPING = ("Max", "Min", "Sum", "Avg", "Median", "Quantile", "PercentileCont", "ArgMax", "ArgMin", "AnyValue", "First", "Last", "Coalesce",
            "Abs", "Round", "Paren", "Filter", "Window", "Neg")  # fmt: skip
"""Expressions whose value has the unit of their first argument."""


def columns(statement: str, names: Sequence[str]) -> frozenset[str]:
    """Return the columns of a statement whose alias ends in a unit that the expression does not have, as in `latency_s * 1000 AS time_s`. Sums,
    extremes and means of a column keep the column's unit, and so does a product or quotient with a column without unit."""
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
    # An alias without unit in a subquery has no unit in the outer query either, which may pass the column on.
    return frozenset(bare.intersection(names))


def _ending(name: str) -> str:
    return _FRACTION if name.endswith(_FRACTION) else ending(name)


def _has(item: exp.Expression, end: str) -> bool:
    """Return True if an expression has the unit that a name's ending states."""
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
    """Return True if an expression is a count: a column without unit, possibly guarded against zero."""
    kind = type(item).__name__
    if kind in ("Nullif", "Paren", "Cast"):
        return _is_plain(item.this)
    return kind == "Column" and not _ending(item.name)
