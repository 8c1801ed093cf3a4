"""Check of the pages with measured and predicted figures: each names the version of the shipped tables that it was made with.

`docs/README.md` lists every page of `docs/`. A page written by a command contains its version in a line, and `faults` lists pages of
another version, unless the list gives a reason.
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
"""Version of a page that names none."""


@dataclass(frozen=True, slots=True)
class Page:
    """A row of the list."""

    name: str
    command: str
    """Command that writes or prints its figures; empty for a page without figures."""
    reason: str
    """Reason for figures of an earlier version; empty for present ones."""


def line() -> str:
    """Return the version line of a page that is made now."""
    return line_of(version())


def line_of(version: str) -> str:
    """Return the version line for a version."""
    return f"Shipped tables: version {version}."


@functools.cache
def version() -> str:
    """Return a hash of everything that predictions depend on, except the model: catalog rows that the views read, and the views' queries.
    Texts, sources and the order of rows are excluded."""
    return version_of(loader.load().rows, views.load())


def version_of(rows: dict[type[Row], list[Row]], known: Iterable[View]) -> str:
    """Return the version of some rows and views."""
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
    """Parse the rows of the list. Raise `CharzError` without its table."""
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
    """List pages that contradict the list, and pages of another version without a reason, a line each."""
    present = present or version()
    rows = {page.name: page for page in listed((folder / LIST).read_text())}
    there = {path.name for path in folder.glob("*.md")} - {LIST}
    found = [f"docs/{name} is not in docs/{LIST}: add a row" for name in sorted(there - rows.keys())]
    found += [f"docs/{LIST} lists {name}, which does not exist: remove its row" for name in sorted(rows.keys() - there)]
    for name in sorted(there & rows.keys()):
        found += [f"docs/{name} {fault}" for fault in _faults(rows[name], (folder / name).read_text(), present)]
    return found


def _faults(page: Page, text: str, present: str) -> Iterator[str]:
    said = _LINE.findall(text)
    if not page.command:
        if said:
            yield f"has a version, but docs/{LIST} names no command that writes it: add one"
        return
    if len(said) != 1:
        yield f"has {len(said)} versions of the shipped tables: write one line `{line_of(present)}`"
    elif said[0] != present and not page.reason:
        yield f"was made with version {said[0]}, the present one is {present}: run `{page.command}`, or give a reason in docs/{LIST}"
    elif said[0] == present and page.reason:
        yield f"is of the present version: remove the reason from docs/{LIST}"
