"""A file of `sql/` as it stands: one relation, its documentation, its statement. Needs no database.

    -- What it answers, in one or more lines.
    -- Grain: model, hardware
    CREATE VIEW name AS
    WITH ...
    SELECT
        *,
        passed_on,
        -- What the column holds. [unit]
        expression AS made_here
    FROM ...

`CREATE VIEW` makes a model, evaluated when asked; `CREATE TABLE` a maintained table, whose rows are kept
(`maintain`). A column without a comment has the text of the column it is passed on from (`texts`).
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from charz.schema import ddl
from charz.schema.errors import CharzError

_HEAD = re.compile(r"^CREATE\s+(VIEW|TABLE)\s+(\w+)\s+AS\b", re.IGNORECASE | re.MULTILINE)
_TAG = re.compile(r"^(Grain|Link|Term|At hand):\s*(.+?)\.?$")
_SELECT = re.compile(r"^SELECT\b(\s+DISTINCT\b)?", re.IGNORECASE | re.MULTILINE)
_END_OF_ITEMS = re.compile(r"(FROM|UNION|EXCEPT|INTERSECT|WHERE|GROUP|ORDER)\b", re.IGNORECASE)
_NAMED = re.compile(r"\bAS\s+\"?(\w+)\"?$", re.IGNORECASE)
_COLUMN = re.compile(r"^(?:(\w+)\.)?\"?([A-Za-z_]\w*)\"?(?:\s+AS\s+\"?(\w+)\"?)?$", re.IGNORECASE)
_STAR = re.compile(r"^(?:(\w+)\.)?\*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the outermost `SELECT`."""

    name: str | None
    """Column it makes; null for a `*`."""
    qualifier: str | None
    """Name before the dot of a plain column or a star."""
    source: str | None
    """Column passed on, where the item is no more than that under the same name or another."""
    description: str
    """Comment above it; empty for a column whose text is inherited."""
    unit: str | None
    line: int
    """Line of the file on which it begins."""


@dataclass(frozen=True, slots=True)
class Term:
    """One mechanism that takes time, and the columns that hold it; empty where there is none."""

    name: str
    kind: str
    amount: str
    rate: str
    fraction: str
    seconds: str
    joules: str

    @property
    def efficiency_id(self) -> str:
        """Column of `part_efficiency` that names the row behind the fraction."""
        return self.fraction.replace("_fraction", "_efficiency_id")


@dataclass(frozen=True, slots=True)
class Document:
    """One file, parsed."""

    name: str
    kind: str
    """`view` or `table`."""
    layer: str
    path: Path
    description: str
    grain: tuple[str, ...]
    items: tuple[Item, ...]
    body: str
    body_line: int
    """Line of the file on which the body starts."""
    link: int | None = None
    """Place in the chain of mechanisms (`-- Link: 30`)."""
    at_hand: str = ""
    """`stored` or `as NAME` where its rows are kept at hand (`-- At hand: stored`, see `answers`)."""
    terms: tuple[Term, ...] = ()
    """What it adds to the rows of `kernel_term` (`-- Term: ...`)."""

    @property
    def is_table(self) -> bool:
        """True where rows are kept."""
        return self.kind == "table"

    @property
    def place(self) -> str:
        """`layer/file.sql`, for messages."""
        return f"{self.layer}/{self.path.name}"


def parse(path: Path, text: str) -> Document:
    """One relation from the text of its file. Raises `CharzError` naming file and line."""
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
        link=int(tags["Link"]) if "Link" in tags else None,
        at_hand=tags.get("At hand", ""),
        terms=tuple(_term(path, line) for line in tags.get("Term", "").splitlines()),
    )


def chained(found: Iterable[Document]) -> list[Document]:
    """The files with `FROM previous` put as the link before, `FROM last_link` as the last.

    A mechanism is a link: a file with a number that adds its columns to the link before, whatever that is, so that a new
    one is a file and no change to another. Raises `CharzError` for two links of one number and a first that reads `previous`.
    """
    found = list(found)
    links = sorted((d for d in found if d.link is not None), key=lambda d: (d.link or 0, d.name))
    before: dict[str, str] = {}
    for first, second in itertools.pairwise(links):
        if first.link == second.link:
            raise CharzError("two links have the same number", f"{first.place} and {second.place}: {first.link}")
        before[second.name] = first.name
    last = links[-1].name if links else None
    return [_with_names(d, {"previous": before.get(d.name), "last_link": last}) for d in found]


def _with_names(document: Document, meant: dict[str, str | None]) -> Document:
    body = document.body
    for word, name in meant.items():
        pattern = re.compile(rf"\b(FROM|JOIN)(\s+){word}\b(?!\s*\.)", re.IGNORECASE)
        if name is None and pattern.search(body):
            raise CharzError(f"no link is meant by `{word}`", document.place, next="name the relation it reads")
        body = pattern.sub(rf"\1\2{name}", body)
    return dataclasses.replace(document, body=body)


def _parse_header(text: str) -> tuple[str, dict[str, str]]:
    """Description, and the lines that begin with a word for the program."""
    words: list[str] = []
    tags: dict[str, str] = {}
    for line in (line.strip()[2:].strip() for line in text.splitlines() if line.strip().startswith("--")):
        if match := _TAG.match(line):
            tags[match.group(1)] = "\n".join(filter(None, (tags.get(match.group(1)), match.group(2))))
        else:
            words.append(line)
    return " ".join(words), tags


def _term(path: Path, line: str) -> Term:
    words = [word.strip() for word in line.split(",")]
    if len(words) != len(dataclasses.fields(Term)):
        expected = ", ".join(field.name for field in dataclasses.fields(Term))
        raise CharzError("a term does not say all it should", str(path), f"found {line!r}", f"write {expected}")
    return Term(*words)


def _items(path: Path, body: str, body_line: int) -> Iterator[Item]:
    """Items of the first `SELECT` that stands at the beginning of a line."""
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
    """Comment, text and place of each item from a position on, to the end of the list."""
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
    """True after `a IS DISTINCT`, whose FROM ends no list."""
    return "".join(item).rstrip().upper().endswith(" DISTINCT")


def _end_of_quoted(body: str, position: int) -> int:
    """Place after a quoted text; a doubled quote stays within."""
    mark = body[position]
    end = position + 1
    while end < len(body):
        if body[end] == mark:
            if body[end + 1 : end + 2] != mark:
                return end + 1
            end += 1
        end += 1
    return end
