"""The text of a view for other engines: every `*`, also `* EXCLUDE (...)` and `f(COLUMNS(*))`, written out as the columns it stands for, and
every output that a later output of the same `SELECT` names, written out there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .reading import syntax_tree
from .views import View

Columns = Mapping[str, Sequence[str]]
"""Columns in order, by relation."""


def portable(view: View, columns: Columns) -> str:
    """The body of a view without stars and names of outputs beside them, in DuckDB's words; `columns` of all that it reads,
    as `view_column` and `duckdb_columns()` have them."""
    return expanded(view.body, columns, view.document.path)


def expanded(body: str, columns: Columns, path: Path) -> str:
    """A query without stars and names of outputs beside them."""
    return str(expanded_tree(body, columns, path).sql(dialect="duckdb", pretty=True))


def expanded_tree(body: str, columns: Columns, path: Path) -> Any:
    """The same, parsed."""
    tree = syntax_tree(body, path)
    _expand(tree, dict(columns))
    return tree


def _expand(query: Any, known: dict[str, Sequence[str]]) -> list[str]:
    """Write out the stars of a query and of all within it, and return the columns it gives."""
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
    # Conditions with a query of their own; of those of WITH and FROM nothing is left to write out.
    for inner in [node for node in query.find_all(exp.Select) if node.parent_select is query]:
        if not isinstance(inner.parent, exp.CTE):
            _expand(inner, known)
    return [item.alias_or_name for item in query.expressions]


def _sources(select: Any, known: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Sequence[str]]]:
    """Columns that each item of a FROM adds to a star."""
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
    """Put what an output is made of where a later one names it, unless a column of a source has that name: it comes first."""
    from sqlglot import exp

    made: dict[str, Any] = {}
    for item in items:
        for column in list(item.find_all(exp.Column)):
            if not column.table and column.name in made and column.name not in columns:
                column.replace(exp.paren(made[column.name].copy()))
        if isinstance(item, exp.Alias):
            made[item.alias] = item.this
