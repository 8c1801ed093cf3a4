"""The relations that a query reads, by sqlglot.

sqlglot takes 0.2 s to import, so code that only opens a database must not import this: `view_catalog` has the order and the reads of
installed views.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from charz.schema.errors import CharzError


@dataclass(frozen=True, slots=True)
class Reading:
    """The relations that the body of a relation reads."""

    relations: tuple[str, ...]
    """Tables and views that the body reads, those of the outermost `FROM` first."""
    aliases: Mapping[str, str]
    """Relation of each name in the outermost `FROM`."""


def read(body: str, path: Path) -> Reading:
    """Find the relations that a query reads, without those of its own `WITH`, and their names in it.

    >>> read("WITH w AS (SELECT * FROM run) SELECT * FROM part AS p JOIN w USING (backend)", Path("v.sql"))
    Reading(relations=('part', 'run'), aliases={'p': 'part'})
    """
    tree = syntax_tree(body, path)
    from sqlglot import exp

    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    outermost = tree
    while isinstance(outermost, exp.SetOperation):
        outermost = outermost.this
    sources = [outermost.args.get("from_") or outermost.args.get("from"), *(outermost.args.get("joins") or [])]
    tables = [source.this for source in sources if source is not None and isinstance(source.this, exp.Table)]
    aliases = {table.alias_or_name: table.name for table in tables if table.name not in own}
    # A depth-first walk keeps the order of the text.
    everything = [table.name for table in tree.find_all(exp.Table, bfs=False) if not table.db]
    first = [*aliases.values(), *(name for name in everything if name not in own)]
    return Reading(tuple(dict.fromkeys(first)), aliases)


def syntax_tree(body: str, path: Path) -> Any:
    """Parse the body of a relation."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        statements = sqlglot.parse(body, read="duckdb")
    except SqlglotError as error:
        raise CharzError("a view does not parse", str(path), _first_line(error), "correct its SQL") from error
    if len(statements) != 1 or statements[0] is None:
        raise CharzError("a view file has exactly one statement", str(path), f"it has {len(statements)}")
    return statements[0]


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
