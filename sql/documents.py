"""Parser of a file of `sql/`: one relation, its documentation, its statement. Needs no database.

    -- What it answers, in one or more lines.
    -- Grain: model, hardware
    CREATE VIEW name AS
    WITH ...
    SELECT
        *,
        passed_on,
        -- Meaning of the column. [unit]
        expression AS made_here
    FROM ...

`CREATE VIEW` makes a model, evaluated when queried; `CREATE TABLE` a maintained table, whose rows are kept (`maintain`). A column
without a comment has the text of the column that it passes on (`texts`).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from charz.schema import ddl
from charz.schema.errors import CharzError

_HEAD = re.compile(r"^CREATE\s+(VIEW|TABLE)\s+(\w+)\s+AS\b", re.IGNORECASE | re.MULTILINE)
_TAG = re.compile(r"^(Grain|Term|Sum|At hand):\s*(.+?)\.?$")
_SELECT = re.compile(r"^SELECT\b(\s+DISTINCT\b)?", re.IGNORECASE | re.MULTILINE)
_END_OF_ITEMS = re.compile(r"(FROM|UNION|EXCEPT|INTERSECT|WHERE|GROUP|ORDER)\b", re.IGNORECASE)
_NAMED = re.compile(r"\bAS\s+\"?(\w+)\"?$", re.IGNORECASE)
_COLUMN = re.compile(r"^(?:(\w+)\.)?(?:run\.)?\"?([A-Za-z_]\w*)\"?(?:\s+AS\s+\"?(\w+)\"?)?$", re.IGNORECASE)
_STAR = re.compile(r"^(?:(\w+)\.)?\*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the outermost `SELECT`."""

    name: str | None
    """Column that the item makes; null for a `*`."""
    qualifier: str | None
    """Name before the dot of a plain column or a star."""
    source: str | None
    """Column passed on, if the item is only that column under the same or another name."""
    description: str
    """Comment above the item; empty if the text is inherited."""
    unit: str | None
    line: int
    """First line of the item in the file."""


@dataclass(frozen=True, slots=True)
class Term:
    """Mechanism that takes time, with the names of its columns; an empty name means no such column."""

    name: str
    kind: str
    amount: str
    rate: str
    fraction: str
    seconds: str
    joules: str

    @property
    def efficiency_id(self) -> str:
        """Column of `chain_efficiency` with the id of the fraction's row."""
        return self.fraction.replace("_fraction", "_efficiency_id")


@dataclass(frozen=True, slots=True)
class Sum:
    """A column that is the sum of the terms of some kinds, in seconds or joules: `lint` compares it with them."""

    column: str
    field: str
    """Unit of the sum: `seconds` or `joules`."""
    kinds: str
    """Kinds of terms that the sum contains, separated by a space."""


@dataclass(frozen=True, slots=True)
class Document:
    """Parsed file of one relation."""

    name: str
    kind: str
    """Kind of the relation: `view` or `table`."""
    layer: str
    path: Path
    description: str
    grain: tuple[str, ...]
    items: tuple[Item, ...]
    body: str
    body_line: int
    """First line of the body in the file."""
    at_hand: str = ""
    """`stored` or `as NAME` if answers at hand contain the relation's rows (`-- At hand: stored`, see `answers`)."""
    terms: tuple[Term, ...] = ()
    """Terms that the file adds to `kernel_term` (`-- Term: ...`)."""
    sums: tuple[Sum, ...] = ()
    """Sums that the file computes (`-- Sum: ...`)."""

    @property
    def is_table(self) -> bool:
        """True if the relation's rows are stored (a maintained table), false if it is a view."""
        return self.kind == "table"

    @property
    def place(self) -> str:
        """Name of the file for messages, as `layer/file.sql`."""
        return f"{self.layer}/{self.path.name}"


def parse(path: Path, text: str) -> Document:
    """Parse the text of a file. Raises `CharzError` naming file and line.

    >>> text = '''-- Peaks of parts.
    ... -- Grain: hardware
    ... CREATE VIEW v AS
    ... SELECT
    ...     -- Peak rate. [ops/s]
    ...     units * rate AS peak_ops_per_s
    ... FROM t'''
    >>> document = parse(Path("1_hardware/v.sql"), text)
    >>> document.name, document.grain, document.items[0].description, document.items[0].unit
    ('v', ('hardware',), 'Peak rate.', 'ops/s')
    """
    head = _HEAD.search(text)
    if head is None:
        raise CharzError(
            "no `CREATE VIEW name AS` or `CREATE TABLE name AS` in the file",
            str(path),
            next="see the format in sql/documents.py",
        )
    description, tags = _parse_header(text[: head.start()])
    rest = text[head.end() :]
    lead = len(rest) - len(rest.lstrip())
    body = rest.strip().rstrip(";").rstrip()
    body_line = text.count("\n", 0, head.end() + lead) + 1
    return Document(
        name=head.group(2),
        kind=head.group(1).lower(),
        layer=path.parent.name,
        path=path,
        description=description,
        grain=tuple(name.strip() for name in tags.get("Grain", "").split(",") if name.strip()),
        items=tuple(_items(path, body, body_line)),
        body=body,
        body_line=body_line,
        at_hand=tags.get("At hand", ""),
        terms=tuple(_tagged(path, line, Term) for line in tags.get("Term", "").splitlines()),
        sums=tuple(_tagged(path, line, Sum) for line in tags.get("Sum", "").splitlines()),
    )


def _parse_header(text: str) -> tuple[str, dict[str, str]]:
    """Split a header into the description and the lines that begin with a tag."""
    words: list[str] = []
    tags: dict[str, str] = {}
    for line in (line.strip()[2:].strip() for line in text.splitlines() if line.strip().startswith("--")):
        if match := _TAG.match(line):
            tags[match.group(1)] = "\n".join(filter(None, (tags.get(match.group(1)), match.group(2))))
        else:
            words.append(line)
    return " ".join(words), tags


_Tag = TypeVar("_Tag", Term, Sum)


def _tagged(path: Path, line: str, tag: type[_Tag]) -> _Tag:
    words = [word.strip() for word in line.split(",")]
    names = [field.name for field in dataclasses.fields(tag)]
    if len(words) != len(names):
        what = tag.__name__.lower()
        raise CharzError(
            f"a {what} lacks a field or has too many", str(path), f"found {line!r}", f"write {', '.join(names)}"
        )
    return tag(*words)


def _items(path: Path, body: str, body_line: int) -> Iterator[Item]:
    """Yield the items of the first `SELECT` at the beginning of a line."""
    start = _SELECT.search(body)
    if start is None:
        raise CharzError("no SELECT at the beginning of a line", str(path))
    for comment, expression, offset in _split(body, start.end()):
        line = body_line + body.count("\n", 0, offset)
        if star := _STAR.match(expression):
            yield Item(None, star.group(1), None, "", None, line)
        elif column := _COLUMN.match(expression):
            qualifier, source, name = column.groups()
            yield Item(name or source, qualifier, source, *ddl.split_unit(comment), line)
        elif named := _NAMED.search(expression):
            yield Item(named.group(1), None, None, *ddl.split_unit(comment), line)
        else:
            raise CharzError("an output needs AS name", f"{path}:{line}", f"found {expression[:60]!r}")


def _split(body: str, position: int) -> Iterator[tuple[str, str, int]]:
    """Yield comment, text and position of each item from a position to the end of the list."""
    comment: list[str] = []
    item: list[str] = []
    begin, depth = position, 0
    while position < len(body):
        character = body[position]
        if body.startswith("--", position):
            end = body.find("\n", position)
            end = len(body) if end < 0 else end
            if not "".join(item).strip():
                comment.append(body[position + 2 : end].strip())
            position = end
            continue
        if character in "'\"":
            end = _end_of_quoted(body, position)
            item.append(body[position:end])
            position = end
            continue
        is_word_begin = character.isalpha() and not (body[position - 1].isalnum() or body[position - 1] in "_.")
        if depth == 0 and is_word_begin and _END_OF_ITEMS.match(body, position) and not _is_distinct_from(item):
            break
        if depth == 0 and character == ",":
            yield " ".join(comment), " ".join("".join(item).split()), begin
            comment, item = [], []
        else:
            if not item or not "".join(item).strip():
                begin = position
            depth += (character == "(") - (character == ")")
            item.append(character)
        position += 1
    if "".join(item).strip():
        yield " ".join(comment), " ".join("".join(item).split()), begin


def _is_distinct_from(item: list[str]) -> bool:
    """Return whether the item ends with `a IS DISTINCT`, whose FROM does not end the list."""
    return "".join(item).rstrip().upper().endswith(" DISTINCT")


def _end_of_quoted(body: str, position: int) -> int:
    """Return the position after a quoted text; a doubled quote does not end it."""
    mark = body[position]
    end = position + 1
    while end < len(body):
        if body[end] == mark:
            if body[end + 1 : end + 2] != mark:
                return end + 1
            end += 1
        end += 1
    return end
