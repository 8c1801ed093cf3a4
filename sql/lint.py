"""Lint of the files of `sql/`: `python -m charz.sql.lint`.

The contract: one file per relation or macro with its name, a description, a grain, a text and a unit for each column, outputs of plain
types. The layers: a relation reads its own layer or an earlier one, one without readers is a report, and a maintained table depends on
parts or on runs alone. The sums: each contains the terms of its kinds and nothing else, and no mechanism redefines a column. The
dialect: layers 3 to 6 run in DuckDB and Spark alike. The option `--numbers` lists numbers typed in
a file (`typed_numbers`): most belong into a row with a source.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from charz.schema import database, ddl, units
from charz.schema.errors import CharzError
from charz.schema.row import ModelRow
from charz.schema.units import UNITS

from . import answers, graph, layers, reading, texts, views
from .keys import KEYS, RUN_TYPE
from .macros import Macro
from .views import View

OUTPUT_TYPES = frozenset(ddl.DUCKDB_TYPES.values())
"""Allowed types of a view's columns: the types that tables have. HUGEINT and DECIMAL change type in other programs."""

_BANNED_WORDS = {
    "QUALIFY": "write the window in a subquery and filter on it",
    "RECURSIVE": "compile it at ingest",
    "MACRO": "move it to sql/macro",
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


MOST_LINES = 150
"""Largest number of lines of a file."""

PORTABLE = layers.MODELS
"""Layers whose views other engines evaluate."""

_OF_PARTS = frozenset({"hardware", "family", "scope", "compute_capability", "architecture_class"})
"""Columns of which every hardware table has at least one."""

_PLAIN_NUMBERS = frozenset({0.0, 1.0, 2.0, 8.0})
"""Numbers that describe no part, library or algorithm; 8 is the bits of a byte."""


def check(root: Path | None = None) -> list[str]:
    """List every problem of every file as `file: message`, in the order of the files."""
    loaded = views.load(root)
    problems = [f"{view.document.place}: {message}" for view in loaded for message in _check_text(view)]
    problems += [
        f"{view.document.place}: {message}" for view, message in (*_check_layers(loaded), *_check_sums(loaded))
    ]
    formulas = views.formulas(root)
    callers = [*(view.document.body for view in loaded), *(macro.expression for macro in formulas)]
    problems += [f"{macro.place}: {message}" for macro in formulas for message in _check_macro(macro, callers)]
    return sorted(problems + _check_bound(loaded))


def typed_numbers(root: Path | None = None) -> list[str]:
    """List numbers typed in files of the first four layers, as `file: number in expression`."""
    texts = [
        (v.document.place, v.document.body, v.document.path) for v in views.load(root) if v.layer in layers.LAYERS[:4]
    ]
    texts += [(macro.place, f"SELECT {macro.expression}", macro.path) for macro in views.formulas(root)]
    return [
        f"{place}: {node.name} in {_shown(node.parent or node)}"
        for place, text, path in texts
        for node in reading.syntax_tree(text, path).find_all(exp.Literal)
        if node.is_number and not _is_plain(float(node.name))
    ]


def _is_plain(number: float) -> bool:
    is_power_of_ten = number > 0 and f"{number:e}".startswith("1.000000e")
    return number in _PLAIN_NUMBERS or is_power_of_ten


def _check_text(view: View) -> Iterator[str]:
    """Yield problems that can be found without a database."""
    document = view.document
    if document.path.stem != view.name:
        yield f"the file is named {document.path.stem}, the relation {view.name}"
    if not view.description:
        yield f"no description above CREATE {document.kind.upper()}"
    if not view.grain:
        yield "no `-- Grain:` line with the columns that tell its rows apart"
    lines = document.body_line + document.body.count("\n")
    if lines > MOST_LINES:
        yield f"{lines} lines; a file has at most {MOST_LINES}: make a view of a part of it"
    for item in document.items:
        if item.name in KEYS and item.description == KEYS[item.name]:
            yield f"line {item.line}: the text of {item.name} is in sql/keys.py already"
    yield from _check_dialect(view)


def unit_problem(name: str, unit: str | None) -> str | None:
    """Compare a column's name with its `[unit]`, and describe the problem, if any."""
    promised = UNITS.get(units.ending(name))
    if unit == promised:
        return None
    if promised is None:
        return f"column {name} has unit [{unit}] but no such suffix"
    return f"column {name} needs [{promised}], it has {f'[{unit}]' if unit else 'no unit'}"


def _check_layers(loaded: list[View]) -> Iterator[tuple[View, str]]:
    by_name = {view.name: view for view in loaded}
    read = {name for view in loaded for name in view.relations if view.layer != layers.INVARIANT}
    tables = {row_type.TABLE for row_type in database.TABLES}
    for view in loaded:
        for name in sorted(set(view.relations) & by_name.keys()):
            if layers.LAYERS.index(by_name[name].layer) > layers.LAYERS.index(view.layer):
                yield view, f"reads {name} of the later layer {by_name[name].layer}"
        for name in sorted(set(view.relations) - by_name.keys() - tables):
            yield view, f"reads {name}, which is neither a view nor a table"
        if view.name in tables:
            yield view, f"there is a table {view.name}"
        if view.name not in read and view.layer not in (layers.REPORT, layers.ANSWER, layers.INVARIANT, layers.MART):
            yield view, f"no view reads it; a report belongs in {layers.REPORT}"
        if view.is_table:
            yield from ((view, message) for message in _check_root(view, by_name))


def _check_root(view: View, by_name: dict[str, View]) -> Iterator[str]:
    """Check that a maintained table depends on parts alone or on runs alone, so that a change of either touches few rows."""
    facts = {row_type.TABLE: row_type for row_type in database.TABLES}
    if view.layer not in (layers.HARDWARE, layers.WORKLOAD):
        yield f"rows are kept in {layers.HARDWARE} and {layers.WORKLOAD} only; write CREATE VIEW"
        return
    for name in sorted(_facts_of(view, by_name)):
        row_type = facts.get(name)
        if row_type is None:
            continue
        is_of_runs = issubclass(row_type, ModelRow) or name in ("model", "scenario")
        if view.layer == layers.HARDWARE and is_of_runs:
            yield f"a maintained table of parts depends on {name}, a table of models or scenarios"
        if view.layer == layers.WORKLOAD and _OF_PARTS & row_type.model_fields.keys() and not is_of_runs:
            yield f"a maintained table of runs depends on {name}, a table of the hardware"


def _facts_of(view: View, by_name: dict[str, View]) -> set[str]:
    reads = {name: other.relations for name, other in by_name.items()}
    return graph.ancestors([view.name], reads) - by_name.keys()


def _check_bound(loaded: list[View]) -> list[str]:
    """List problems that show once a body is bound to the tables: names, texts and types of its outputs."""
    problems: list[str] = []
    failed: set[str] = set()
    known: dict[str, texts.Texts] = dict(texts.of_tables())
    at_hand = views.kinds(loaded)
    with duckdb.connect() as connection:
        for row_type in database.TABLES:
            connection.execute(ddl.create_table(row_type))
        answers.stand_in(connection)
        for view in loaded:
            place = view.document.place
            if failed & set(view.relations):  # the problem is reported at its own file
                failed.add(view.name)
                continue
            try:
                described = connection.execute(f"DESCRIBE {view.body}").fetchall()
                outputs = [(name, kind) for name, kind, *_ in described]
                columns = texts.resolve(view.document, outputs, view.relations, view.aliases, known)
            except (duckdb.Error, CharzError) as error:
                problems.append(f"{place}: {error.line if isinstance(error, CharzError) else _first_line(error)}")
                failed.add(view.name)
                continue
            # The engine binds a view with all that it reads, so an empty table replaces it.
            definition = ", ".join(f"{ddl.quote(name)} {kind}" for name, kind in outputs)
            connection.execute(f"CREATE TABLE {ddl.quote(view.name)} ({definition})")
            if at_hand[view.name]:
                kept = f"{layers.ANSWERS}.{ddl.quote(view.name)}"
                connection.execute(f"CREATE TABLE {kept} ({definition}, {answers.MARK} BOOLEAN)")
            known[view.name] = {c.name: (c.description, c.unit) for c in columns}
            problems += [f"{place}: {message}" for message in _check_columns(view, columns)]
    return problems


def _check_columns(view: View, columns: list[texts.Column]) -> Iterator[str]:
    names = [column.name for column in columns]
    for name in view.grain:
        if name not in names:
            yield f"grain column {name} is not a column"
    if view.is_table and view.layer == layers.WORKLOAD and "run" not in names:
        yield "a maintained table of runs has the column run"
    for column in columns:
        if column.is_inherited:
            pass  # reported where the column is made
        elif not column.description:
            yield f"line {column.line}: column {column.name} has no text; write `-- Its meaning. [unit]` above it"
        elif message := unit_problem(column.name, column.unit):
            yield f"line {column.line}: {message}"
        is_run = column.name == "run" and column.type == RUN_TYPE
        if column.type not in OUTPUT_TYPES and not is_run and (column.is_made or not column.is_inherited):
            yield f"line {column.line}: column {column.name} is {column.type}; cast it to one of {', '.join(sorted(OUTPUT_TYPES))}"


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _check_sums(loaded: list[View]) -> Iterator[tuple[View, str]]:
    """Check that a sum contains each term of its kinds once, itself or through another sum, and nothing else."""
    terms = [term for view in loaded for term in view.document.terms]
    sums = {one.column: (view, one) for view in loaded for one in view.document.sums}
    found = {column: _summands(view, column) for column, (view, _) in sums.items()}
    partial = {name for names in found.values() for name in names} & sums.keys()
    for column, (view, one) in sums.items():
        of_kind = {getattr(term, one.field) for term in terms if term.kind in one.kinds.split()} - {""}
        added = _leaves(column, found)
        yield from (
            (view, f"{column} sums {n}, which no term of {one.kinds} names") for n in sorted({*added} - of_kind)
        )
        yield from ((view, f"{column} sums {n} twice") for n in sorted({n for n in added if added.count(n) > 1}))
        if column not in partial:
            missing = sorted(of_kind - {*added})
            yield from ((view, f"{column} lacks {name}, which a term of {one.kinds} names") for name in missing)


def _summands(view: View, column: str) -> list[str]:
    """List the columns of which an output is made."""
    tree = reading.syntax_tree(view.body, view.document.path)
    items = [item for item in tree.expressions if item.alias_or_name == column]
    return [node.name for item in items for node in item.find_all(exp.Column)]


def _leaves(column: str, sums: dict[str, list[str]]) -> list[str]:
    """List the terms of a sum, with each sum in it replaced by its terms."""
    return [leaf for name in sums[column] for leaf in (_leaves(name, sums) if name in sums else [name])]


def _remade(tree: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    """Find columns that a mechanism excludes from its input and computes again, so that one name would have two meanings."""
    for item in tree.expressions if isinstance(tree, exp.Select) else []:
        star = item.this if isinstance(item, exp.Column) else item
        left_out = (
            {c.name for c in star.args.get("except_") or star.args.get("except") or ()}
            if isinstance(star, exp.Star)
            else set()
        )
        made = [o for o in tree.expressions if isinstance(o, exp.Alias) and o.alias in left_out]
        yield from ((output, f"a mechanism adds; it makes {output.alias} anew") for output in made)


def _check_macro(macro: Macro, callers: list[str]) -> Iterator[str]:
    if macro.path.stem != macro.name:
        yield f"the file is named {macro.path.stem}, the macro {macro.name}"
    if not macro.description:
        yield "no description above CREATE MACRO"
    if not any(f"{macro.name}(" in text for text in callers):
        yield "nobody calls it"
    yield from _check_text_of(f"SELECT {macro.expression} AS x", 1, macro.path, is_portable=True)


def _check_dialect(view: View) -> Iterator[str]:
    is_portable = view.layer in PORTABLE and not view.is_table
    document = view.document
    yield from _check_text_of(document.body, document.body_line, document.path, is_portable=is_portable)
    if view.layer == layers.COST:
        tree = reading.syntax_tree(document.body, document.path)
        yield from (f"{message}: {_shown(node)}" for node, message in _remade(tree))


def _check_text_of(text: str, first_line: int, path: Path, *, is_portable: bool) -> Iterator[str]:
    yield from _check_tokens(text, first_line, is_portable=is_portable)
    tree = reading.syntax_tree(text, path)
    for rule in (*_TREE_RULES, *(_PORTABLE_RULES if is_portable else ())):
        for node, message in rule(tree):
            yield f"{message}: {_shown(node)}"


def _check_tokens(text: str, first_line: int, *, is_portable: bool) -> Iterator[str]:
    tokens = sqlglot.tokenize(text, read="duckdb")
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type == TokenType.IDENTIFIER:
            continue
        line = first_line + token.line - 1
        if _is_decimal(token):
            yield f"line {line}: {token.text} is a DECIMAL; write {token.text.rstrip('0').rstrip('.') or '0'}e0"
        elif is_portable and (message := _banned(token, following)):
            yield f"line {line}: {message}"


def _banned(token: Token, following: Token | None) -> str | None:
    """Explain why a word is not portable to other engines; None if it is portable."""
    word = token.text.upper()
    calls = following is not None and following.token_type == TokenType.L_PAREN
    if calls and (word in _BANNED_CALLS or word.startswith(_BANNED_PREFIXES)):
        return f"{word}() does not port; write {_BANNED_CALLS.get(word, 'plain columns')}"
    if word in _BANNED_WORDS and token.token_type not in (TokenType.STRING, TokenType.VAR):
        return f"{word} does not port; {_BANNED_WORDS[word]}"
    if token.token_type in (TokenType.DIV, TokenType.CARET, TokenType.L_BRACKET):
        return f"{token.text} does not port; write FLOOR(x / y), POWER or plain columns"
    return None


def _is_decimal(token: Token) -> bool:
    return token.token_type == TokenType.NUMBER and "." in token.text and "e" not in token.text.lower()


def _divisions(tree: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    for node in tree.find_all(exp.Div):
        if not _is_never_zero(node.expression):
            yield node, "a division needs NULLIF(divisor, 0)"


def _is_never_zero(node: exp.Expression) -> bool:
    """Return whether a divisor is written so that it can never be zero."""
    if isinstance(node, exp.Paren | exp.Cast | exp.Sqrt | exp.Neg):
        return _is_never_zero(node.this)
    if isinstance(node, exp.Literal):
        return bool(node.is_number) and float(node.this) != 0
    if isinstance(node, exp.Mul | exp.Pow):
        return all(_is_never_zero(side) for side in (node.this, node.expression))
    if isinstance(node, exp.Greatest):
        # The larger of any number and a positive one is positive.
        return any(isinstance(side, exp.Literal) and _is_never_zero(side) for side in [node.this, *node.expressions])
    return isinstance(node, exp.Nullif | exp.Exp)


def _group_by_all(tree: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    for node in tree.find_all(exp.Group):
        if node.args.get("all"):
            yield node, "GROUP BY ALL does not port; name the columns"


def _own_names(tree: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    """Find outputs without an alias: engines name them differently."""
    for select in tree.find_all(exp.Select):
        # A subquery that is only tested needs no names; in a UNION the first arm gives them.
        is_later_arm = isinstance(select.parent, exp.SetOperation) and select.arg_key == "expression"
        needs_none = is_later_arm or isinstance(select.parent, exp.Exists | exp.In)
        for output in select.expressions:
            if not needs_none and not isinstance(output, exp.Alias | exp.Column | exp.Star) and output.find(exp.Columns) is None:
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
    """Find LAG and LEAD with an offset: DuckDB 2.0 stores LAG(x, 1, 0) as LAG(x, 1, 0, 1, 0), which 1.5 does not read."""
    for node in tree.find_all(exp.Lag, exp.Lead):
        if node.args.get("offset") or node.args.get("default"):
            yield node, "write COALESCE(LAG(x) OVER (...), default): DuckDB 1.5 does not read it as 2.0 stores it"


def _lists(tree: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    for node in tree.find_all(exp.Array, exp.Lambda, exp.Struct, exp.Bracket):
        yield node, "lists and structs do not port; use rows and columns"


def _own_clauses(tree: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    for node in tree.find_all(exp.CTE, exp.Distinct):
        if node.args.get("materialized") is not None:
            yield node, "MATERIALIZED does not port; leave it to the engine"
        if node.args.get("on"):
            yield node, "DISTINCT ON does not port; filter on ROW_NUMBER()"


def _ordered_windows(tree: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    for window in tree.find_all(exp.Window):
        order = window.args.get("order")
        for ordered in order.expressions if order is not None else []:
            if not isinstance(ordered.this, exp.Column):
                yield window, "a window is ordered by columns; compute the expression as one first"


def _shadowing(tree: exp.Expression) -> Iterator[tuple[exp.Expression, str]]:
    """Find names of a `WITH` that are also tables: they hide the table, and the dependency with it."""
    tables = {row_type.TABLE for row_type in database.TABLES}
    for node in tree.find_all(exp.CTE):
        if node.alias in tables:
            yield node, f"WITH {node.alias} hides the table of that name"


_Rule = Callable[[exp.Expression], Iterator[tuple[exp.Expression, str]]]
_TREE_RULES: tuple[_Rule, ...] = (_divisions, _own_names, _shadowing)
_PORTABLE_RULES: tuple[_Rule, ...] = (_group_by_all, _rounding_casts, _offsets, _lists, _own_clauses, _ordered_windows)


def _shown(node: exp.Expression) -> str:
    text = " ".join(node.sql(dialect="duckdb", comments=False).split())
    return text if len(text) <= 90 else f"{text[:87]}..."


def main() -> int:
    """Print every problem; exit code 1 if there is one."""
    try:
        problems = check()
    except CharzError as error:
        problems = [error.line]
    for problem in problems:
        print(problem)
    for number in typed_numbers() if "--numbers" in sys.argv else ():
        print(f"number: {number}")
    print(f"{len(problems)} problems in {len(views.files(views.ROOT))} files", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
