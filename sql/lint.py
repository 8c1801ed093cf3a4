"""What a view file must keep to, checked: `python -m charz.sql.lint`.

The contract: one file a view named as the view, a description, a grain, a comment a column with its
unit, outputs of plain types, and columns that are named in the list as in the body (DuckDB matches
them by position and swaps silently). The layers: a view reads its own layer or an earlier one, and
one that nobody reads is a report. The dialect: what runs in DuckDB and Spark alike.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from charz.schema import database, ddl
from charz.schema.errors import CharzError

from . import views
from .views import View

OUTPUT_TYPES = frozenset(ddl.DUCKDB_TYPES.values())
"""Types a view may give: what tables hold. HUGEINT and DECIMAL arrive elsewhere as something else."""

UNITS = {
    "_byte_per_s": "byte/s",
    "_ops_per_s": "ops/s",
    "_usd_per_hour": "USD/h",
    "_intensity": "ops/byte",
    "_per_j": "1/J",
    "_per_s": "1/s",
    "_per_usd": "1/USD",
    "_s": "s",
    "_js": "J s",
    "_j": "J",
    "_w": "W",
    "_hz": "Hz",
    "_byte": "byte",
    "_usd": "USD",
    "_nm": "nm",
}
"""Unit that the end of a column's name promises, longest ending first."""

_BANNED_WORDS = {
    "QUALIFY": "put the window in a subquery and filter on it",
    "RECURSIVE": "compile it at ingest",
    "MACRO": "write the expression out",
    "PIVOT": "write CASE columns",
    "UNPIVOT": "write a UNION ALL",
    "ASOF": "use a window",
    "POSITIONAL": "join on a key",
    "SAMPLE": "a view is deterministic",
}
_BANNED_CALLS = {
    "LOG": "LN, LOG10 or LOG2: LOG is base 10 in DuckDB and natural in Spark",
    "UNNEST": "a join with rows: lists do not port",
    "LIST": "aggregates to scalars: lists do not port",
    "ARG_MIN": "MIN_BY",
    "ARG_MAX": "MAX_BY",
    "STRUCT_PACK": "plain columns",
    "IFNULL": "COALESCE",
    "RANDOM": "a deterministic expression",
}
_BANNED_PREFIXES = ("LIST_", "ARRAY_", "STRUCT_", "MAP_")


def check(root: Path | None = None) -> list[str]:
    """Every problem of every view as `file:line: message`, in the order of the files."""
    loaded = views.load(root)
    problems = [f"{_place(view)}: {message}" for view in loaded for message in _check_text(view)]
    problems += [f"{_place(view)}: {message}" for view, message in _check_layers(loaded)]
    return sorted(problems + _check_bound(loaded))


def _check_text(view: View) -> Iterator[str]:
    """Problems that show without a database."""
    if view.path.stem != view.name:
        yield f"the file is named {view.path.stem}, the view {view.name}"
    if not view.description:
        yield "no description above CREATE VIEW"
    if not view.grain:
        yield "no `-- Grain:` line with the columns that tell its rows apart"
    names = [column.name for column in view.columns]
    for name in view.grain:
        if name not in names:
            yield f"grain column {name} is not a column"
    for name in sorted({n for n in names if names.count(n) > 1}):
        yield f"column {name} is listed twice"
    for column in view.columns:
        if not column.description:
            yield f"column {column.name} has no comment above it"
        elif message := unit_problem(column.name, column.unit):
            yield message
    yield from _check_dialect(view)


def unit_problem(name: str, unit: str | None) -> str | None:
    """What is wrong between a column's name and its `[unit]`, if anything."""
    promised = next((u for ending, u in UNITS.items() if name.endswith(ending)), None)
    if unit == promised:
        return None
    if promised is None:
        return f"column {name} has unit [{unit}] but no such suffix"
    return f"column {name} must say [{promised}], it says {f'[{unit}]' if unit else 'no unit'}"


def _check_layers(loaded: list[View]) -> Iterator[tuple[View, str]]:
    by_name = {view.name: view for view in loaded}
    read = {name for view in loaded for name in view.relations if view.layer != views.INVARIANT}
    tables = {row_type.TABLE for row_type in database.TABLES}
    for view in loaded:
        for name in sorted(view.relations & by_name.keys()):
            if views.LAYERS.index(by_name[name].layer) > views.LAYERS.index(view.layer):
                yield view, f"reads {name} of the later layer {by_name[name].layer}"
        for name in sorted(view.relations - by_name.keys() - tables):
            yield view, f"reads {name}, which is neither a view nor a table"
        if view.name in tables:
            yield view, f"there is a table {view.name}"
        if view.name not in read and view.layer not in (views.REPORT, views.INVARIANT):
            yield view, f"no view reads it; a report stands in {views.REPORT}"


def _check_bound(loaded: list[View]) -> list[str]:
    """Problems that show once a view is bound to the tables: names and types of its outputs."""
    problems = []
    with duckdb.connect() as connection:
        for row_type in database.TABLES:
            connection.execute(ddl.create_table(row_type))
        for view in loaded:
            try:
                views.create(connection, [view])
            except CharzError as error:
                problems.append(f"{_place(view)}: {error.exists}")
                continue
            outputs = connection.execute(f"DESCRIBE {view.body}").fetchall()
            problems += [f"{_place(view)}: {message}" for message in _check_outputs(view, outputs)]
    return problems


def _check_outputs(view: View, outputs: list[tuple[Any, ...]]) -> Iterator[str]:
    if len(outputs) != len(view.columns):
        yield f"{len(view.columns)} columns are listed, the body gives {len(outputs)}"
        return
    for position, (column, (name, kind, *_)) in enumerate(zip(view.columns, outputs, strict=True), start=1):
        if column.name != name:
            yield f"column {position} is listed as {column.name}, the body calls it {name}"
        if kind not in OUTPUT_TYPES:
            yield f"column {column.name} is {kind}; cast it to one of {', '.join(sorted(OUTPUT_TYPES))}"


def _check_dialect(view: View) -> Iterator[str]:
    yield from _check_tokens(view)
    tree = views.syntax_tree(view.body, view.path)
    for rule in _TREE_RULES:
        for node, message in rule(tree):
            yield f"{message}: {_shown(node)}"


def _check_tokens(view: View) -> Iterator[str]:
    tokens = sqlglot.tokenize(view.body, read="duckdb")
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        word = token.text.upper()
        line = view.body_line + token.line - 1
        calls = following is not None and following.token_type == TokenType.L_PAREN
        if token.token_type == TokenType.IDENTIFIER:
            continue
        if calls and (word in _BANNED_CALLS or word.startswith(_BANNED_PREFIXES)):
            yield f"line {line}: {word}() does not port; write {_BANNED_CALLS.get(word, 'plain columns')}"
        elif word in _BANNED_WORDS and token.token_type not in (TokenType.STRING, TokenType.VAR):
            yield f"line {line}: {word} does not port; {_BANNED_WORDS[word]}"
        elif _is_decimal(token):
            yield f"line {line}: {token.text} is a DECIMAL; write {token.text.rstrip('0').rstrip('.') or '0'}e0"
        elif token.token_type in (TokenType.DIV, TokenType.CARET, TokenType.L_BRACKET):
            yield f"line {line}: {token.text} does not port; write FLOOR(x / y), POWER or plain columns"


def _is_decimal(token: Token) -> bool:
    return token.token_type == TokenType.NUMBER and "." in token.text and "e" not in token.text.lower()


def _divisions(tree: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    for node in tree.find_all(exp.Div):
        if not _is_never_zero(node.expression):
            yield node, "a division needs NULLIF(divisor, 0)"


def _is_never_zero(node: exp.Expression) -> bool:
    """True for a divisor that is written so that it cannot be zero."""
    if isinstance(node, exp.Paren | exp.Cast | exp.Sqrt | exp.Neg):
        return _is_never_zero(node.this)
    if isinstance(node, exp.Literal):
        return bool(node.is_number) and float(node.this) != 0
    if isinstance(node, exp.Mul | exp.Pow):
        return all(_is_never_zero(side) for side in (node.this, node.expression))
    if isinstance(node, exp.Greatest):
        # The larger of anything and a positive number is positive.
        return any(isinstance(side, exp.Literal) and _is_never_zero(side) for side in [node.this, *node.expressions])
    return isinstance(node, exp.Nullif | exp.Exp)


def _group_by_all(tree: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    for node in tree.find_all(exp.Group):
        if node.args.get("all"):
            yield node, "GROUP BY ALL does not port; name the columns"


def _own_names(tree: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    """Outputs without a name of their own: engines name them differently."""
    for select in tree.find_all(exp.Select):
        # A subquery that is only tested needs no names; of a UNION the first arm gives them.
        is_later_arm = isinstance(select.parent, exp.SetOperation) and select.arg_key == "expression"
        needs_none = is_later_arm or isinstance(select.parent, exp.Exists | exp.In)
        for output in select.expressions:
            if not needs_none and not isinstance(output, exp.Alias | exp.Column | exp.Star):
                yield output, "an output needs AS name"


def _rounding_casts(tree: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    for node in tree.find_all(exp.Cast):
        inner = node.this.unnest()
        if node.is_type("bigint", "int") and (isinstance(inner, exp.Div) or _has_float(inner)):
            yield node, "CAST to BIGINT rounds here and truncates elsewhere; FLOOR or ROUND first"


def _has_float(node: exp.Expression) -> bool:
    if not isinstance(node, exp.Mul | exp.Add | exp.Sub | exp.Literal):
        return False
    return any(n.is_number and not n.is_int for n in node.find_all(exp.Literal))


def _offsets(tree: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    """DuckDB 2.0 stores LAG(x, 1, 0) as LAG(x, 1, 0, 1, 0), which 1.5 does not read."""
    for node in tree.find_all(exp.Lag, exp.Lead):
        if node.args.get("offset") or node.args.get("default"):
            yield node, "write COALESCE(LAG(x) OVER (...), default): DuckDB 1.5 does not read it as 2.0 stores it"


def _lists(tree: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    for node in tree.find_all(exp.Array, exp.Lambda, exp.Struct, exp.Bracket):
        yield node, "lists and structs do not port; use rows and columns"


def _shadowing(tree: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    """A name of a `WITH` that is also a table hides the table, and the dependency with it."""
    tables = {row_type.TABLE for row_type in database.TABLES}
    for node in tree.find_all(exp.CTE):
        if node.alias in tables:
            yield node, f"WITH {node.alias} hides the table of that name"


_TREE_RULES: tuple[Callable[[exp.Expression], Iterator[tuple[exp.Expression, str]]], ...] = (
    _divisions,
    _group_by_all,
    _own_names,
    _rounding_casts,
    _offsets,
    _lists,
    _shadowing,
)


def _shown(node: exp.Expression) -> str:
    text = " ".join(node.sql(dialect="duckdb", comments=False).split())
    return text if len(text) <= 90 else f"{text[:87]}..."


def _place(view: View) -> str:
    return f"{view.layer}/{view.path.name}"


def main() -> int:
    """Print every problem; exit code 1 if there is one."""
    try:
        problems = check()
    except CharzError as error:
        problems = [error.line]
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems in {len(views.files(views.ROOT))} view files", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
