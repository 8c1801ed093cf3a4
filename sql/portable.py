"""Rewriting of a view's text for other engines: every `*`, also `* EXCLUDE (...)` and `f(COLUMNS(*))`, becomes its columns, and every
output that a later output of the same `SELECT` names is substituted there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .reading import syntax_tree
from .views import View

Columns = Mapping[str, Sequence[str]]
"""Columns in order, by relation."""


def portable(view: View, columns: Columns) -> str:
    """Write the body of a view without `*` and without references to other outputs, in DuckDB's dialect; `columns` of all relations
    that it reads, as in `view_column` and `duckdb_columns()`."""
    return expanded(view.body, columns, view.document.path)


def expanded(body: str, columns: Columns, path: Path) -> str:
    """Write a query without `*` and without references to other outputs, in DuckDB's dialect.

    >>> print(expanded("SELECT * EXCLUDE (a), b + 1 AS c, c * 2 AS d FROM t", {"t": ["a", "b"]}, Path("v.sql")))
    SELECT
      b,
      b + 1 AS c,
      (
        b + 1
      ) * 2 AS d
    FROM t
    """
    return str(expanded_tree(body, columns, path).sql(dialect="duckdb", pretty=True))


def expanded_tree(body: str, columns: Columns, path: Path) -> Any:
    """Parse a query, and expand every `*` and all references to other outputs."""
    tree = syntax_tree(body, path)
    _expand(tree, dict(columns))
    return tree


def _expand(query: Any, known: dict[str, Sequence[str]]) -> list[str]:
    """Expand every `*` of a query and of all queries within it, and return the query's columns."""
    from sqlglot import exp

    if isinstance(query, exp.Subquery):
        return _expand(query.this, known)
    known = dict(known)
    with_ = query.args.get("with_") or query.args.get("with")
    for cte in with_.expressions if with_ is not None else []:
        known[cte.alias] = _expand(cte.this, known)
    if isinstance(query, exp.SetOperation):
        first = _expand(query.this, known)
        _expand(query.expression, known)
        return first
    sources = dict(_sources(query, known))
    query.set("expressions", [new for item in query.expressions for new in _written_out(item, sources)])
    _inline(query.expressions, {column for columns in sources.values() for column in columns})
    # Queries within conditions; those of WITH and FROM are already expanded.
    for inner in [node for node in query.find_all(exp.Select) if node.parent_select is query]:
        if not isinstance(inner.parent, exp.CTE):
            _expand(inner, known)
    return [item.alias_or_name for item in query.expressions]


def _sources(select: Any, known: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the columns that each item of a FROM adds to a `*`."""
    from sqlglot import exp

    joins = select.args.get("joins") or []
    from_ = select.args.get("from_") or select.args.get("from")
    for clause in [*([from_] if from_ is not None else []), *joins]:
        source = clause.this
        columns = source.alias_column_names
        if not columns:
            columns = known[source.name] if isinstance(source, exp.Table) else _expand(source, dict(known))
        if isinstance(clause, exp.Join):
            if clause.kind in ("SEMI", "ANTI") or clause.side in ("SEMI", "ANTI"):
                continue
            shared = {column.name for column in clause.args.get("using") or []}
            columns = [column for column in columns if column not in shared]
        yield source.alias_or_name, columns


def _written_out(item: Any, sources: Mapping[str, Sequence[str]]) -> Iterator[Any]:
    from sqlglot import exp

    if (each := item.find(exp.Columns)) is not None:
        for column in _written_out(each.this, sources):
            new = item.copy()
            new.find(exp.Columns).replace(column.copy())
            yield exp.alias_(new, column.name)
        return
    star = item.this if isinstance(item, exp.Column) and isinstance(item.this, exp.Star) else item
    if not isinstance(star, exp.Star):
        yield item
        return
    left_out = {column.name for column in star.args.get("except_") or star.args.get("except") or []}
    named = [item.table] if isinstance(item, exp.Column) else list(sources)
    for source in named:
        qualifier = source if len(sources) > 1 or isinstance(item, exp.Column) else None
        for column in sources[source]:
            if column not in left_out:
                yield exp.column(column, table=qualifier)


def _inline(items: Sequence[Any], columns: set[str]) -> None:
    """Substitute an output where a later one names it, unless a column of a source has that name: the column wins."""
    from sqlglot import exp

    made: dict[str, Any] = {}
    for item in items:
        for column in list(item.find_all(exp.Column)):
            if not column.table and column.name in made and column.name not in columns:
                column.replace(exp.paren(made[column.name].copy()))
        if isinstance(item, exp.Alias):
            made[item.alias] = item.this
