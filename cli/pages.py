"""Pages of measured and predicted figures: with which version of the shipped tables each was made.

`docs/README.md` lists every page of `docs/`. A page that a command writes says its version in a line, and `faults` names each
whose version is not the present one, unless the list says why it is of an earlier one.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from charz.hardware_catalog import loader
from charz.schema.catalog import Source
from charz.schema.errors import CharzError
from charz.schema.row import Row
from charz.sql import graph, views
from charz.sql.layers import MODELS
from charz.sql.views import View

FOLDER = Path(__file__).resolve().parent.parent / "docs"
LIST = "README.md"
_HEAD = "| page | what it shows | command | of an earlier version because |"
_LINE = re.compile(r"^Shipped tables: version (\w+)\.$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]+\]\(([\w./-]+)\)")
EARLIER = "unknown"
"""Version of a page that was made before pages said theirs."""


@dataclass(frozen=True, slots=True)
class Page:
    """A row of the list."""

    name: str
    command: str
    """The command that writes or prints its figures; empty for a page without any."""
    reason: str
    """Why its figures are of an earlier version; empty where they are of the present one."""


def line() -> str:
    """The line of a page that is made now."""
    return line_of(version())


def line_of(version: str) -> str:
    """The line of a page that is made with a version."""
    return f"Shipped tables: version {version}."


@functools.cache
def version() -> str:
    """Hash of all that a prediction follows from besides the model: the rows of the catalog that the views read, and the
    views' queries. Texts, sources and the order of rows do not count."""
    return version_of(loader.load().rows, views.load())


def version_of(rows: dict[type[Row], list[Row]], known: Iterable[View]) -> str:
    """The version of some rows and views."""
    known = list(known)
    reads = {view.name: view.relations for view in known}
    read = graph.ancestors([view.name for view in known if view.layer in MODELS], reads)
    said = [
        f"{view.name}: {' '.join(view.body.split())}" for view in known if view.layer in MODELS or view.name in read
    ]
    for row_type, found in rows.items():
        if row_type.TABLE in read and row_type is not Source:
            said += [f"{row_type.TABLE}: {row.model_dump_json()}" for row in found]
    return hashlib.sha256("\n".join(sorted(said)).encode()).hexdigest()[:12]


def listed(text: str) -> list[Page]:
    """The rows of the list. Raises `CharzError` where it has no such table."""
    lines = text.splitlines()
    if _HEAD not in lines:
        raise CharzError("no table of pages", f"docs/{LIST}", next=f"its head is {_HEAD}")
    found = []
    for row in lines[lines.index(_HEAD) + 2 :]:
        if not row.startswith("|"):
            break
        page, _, command, reason = (cell.strip() for cell in row.strip("|").split("|"))
        found.append(Page("".join(_LINK.findall(page)), command.strip("`"), reason))
    return found


def faults(folder: Path = FOLDER, present: str | None = None) -> list[str]:
    """A line for each page that is not what the list says of it, or of another version without a reason."""
    present = present or version()
    rows = {page.name: page for page in listed((folder / LIST).read_text())}
    there = {path.name for path in folder.glob("*.md")} - {LIST}
    found = [f"docs/{name} is not in docs/{LIST}: add a row" for name in sorted(there - rows.keys())]
    found += [f"docs/{LIST} lists {name}, which is not there: take its row out" for name in sorted(rows.keys() - there)]
    for name in sorted(there & rows.keys()):
        found += [f"docs/{name} {fault}" for fault in _faults(rows[name], (folder / name).read_text(), present)]
    return found


def _faults(page: Page, text: str, present: str) -> Iterator[str]:
    said = _LINE.findall(text)
    if not page.command:
        if said:
            yield f"says a version, and docs/{LIST} names no command that makes it: name it"
        return
    if len(said) != 1:
        yield f"says {len(said)} versions of the shipped tables: write one line `{line_of(present)}`"
    elif said[0] != present and not page.reason:
        yield f"was made with version {said[0]}, the present one is {present}: run `{page.command}`, or say in docs/{LIST} why not"
    elif said[0] == present and page.reason:
        yield f"is of the present version: take the reason out of docs/{LIST}"
