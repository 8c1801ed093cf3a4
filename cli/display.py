"""Formatting of numbers and tables for printing."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

import typer

from charz.schema.errors import printable
from charz.session.messages import Messages
from charz.session.quantities import UNKNOWN

LONGEST_NUMBER = 24
"""Largest number of characters of a number with a unit. A longer text that starts with a digit counts as a sentence."""

LEAST_WIDTH = 12
"""Smallest width of a text column in a table."""


def cell(value: object) -> str:
    """Format one value of a query's result."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    return one_line(short(str(value)))


MOST_LETTERS = 4_000
"""Maximum length of a text in a table."""


def short(text: str) -> str:
    """Shorten a long text to the beginning, followed by the number of characters."""
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}... ({len(text):,} letters, --format csv writes all)"


def one_line(text: str) -> str:
    """Escape ends of lines and control characters, so that a text fits a cell."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], keys: Sequence[int] = (0,)) -> str:
    """Format a table. Numbers, and texts that start with a number, are aligned to the right. Texts wider than their column are wrapped. If the
    columns do not fit in a line, the table continues in further blocks, which repeat the columns of `keys`."""
    headers = [one_line(header) for header in headers]
    texts = [[cell(value) for value in row] for row in rows]
    repeated = max(1, len(keys))
    if sum(max([len(h), *(len(row[i]) for row in texts)]) + 2 for i, h in enumerate(headers)) > _table_width() + 2:
        order = [*keys, *(i for i in range(len(headers)) if i not in keys)]
        headers, texts = [headers[i] for i in order], [[row[i] for i in order] for row in texts]
    is_number = [
        bool(texts) and all(_reads_as_number(row[i]) for row in texts) and any(row[i] for row in texts)
        for i in range(len(headers))
    ]
    widths = [max([len(header), *(len(row[i]) for row in texts)]) for i, header in enumerate(headers)]
    words = [
        max((len(word) for row in (headers, *texts) for word in row[i].split()), default=0) for i in range(len(headers))
    ]
    widths = _narrowed(
        widths, [w if number else word for w, number, word in zip(widths, is_number, words, strict=True)], repeated
    )
    blocks = _blocks(widths, _table_width(), _telling(texts, widths, repeated))

    def line(parts: Sequence[str], block: Sequence[int]) -> str:
        aligned = (parts[i].rjust(widths[i]) if is_number[i] else parts[i].ljust(widths[i]) for i in block)
        return "  ".join(aligned).rstrip()

    def lines(row: Sequence[str], block: Sequence[int]) -> list[str]:
        wrapped = {i: textwrap.wrap(row[i], widths[i], break_on_hyphens=False) or [""] for i in block}
        count = max(map(len, wrapped.values()), default=1)
        padded = [
            [wrapped[i][k] if i in wrapped and k < len(wrapped[i]) else "" for i in range(len(row))]
            for k in range(count)
        ]
        return [line(parts, block) for parts in padded]

    def drawn(block: Sequence[int]) -> str:
        rule = "  ".join("-" * widths[i] for i in block)
        return "\n".join([*lines(headers, block), rule, *(text for row in texts for text in lines(row, block))])

    return "\n\n".join(drawn(block) for block in blocks)


def _narrowed(widths: Sequence[int], least: Sequence[int], repeated: int) -> list[int]:
    """Narrow columns to fit a line. Repeated columns take at most half of the line together, or their longest words; other columns take the rest.
    Longer words, such as paths, are broken."""
    found, most = list(widths), _table_width()
    if sum(width + 2 for width in widths) <= most + 2 or len(widths) == 1:
        return found
    kept = min(repeated, len(found))
    for i in range(kept):
        found[i] = min(found[i], max(LEAST_WIDTH, most // 2 // kept - 2, least[i]))
    left = most - sum(width + 2 for width in found[:kept])
    for i in range(kept, len(found)):
        whole = least[i] if least[i] == found[i] and least[i] <= LONGEST_NUMBER else 0  # numbers and short words
        found[i] = min(found[i], max(LEAST_WIDTH, left, whole))
    return found


def _telling(texts: Sequence[Sequence[str]], widths: Sequence[int], count: int) -> list[int]:
    """Choose the columns that every block repeats: all of the first `count` if they leave half of the line. Otherwise drop columns, from the last,
    that are not needed to tell rows apart, then further columns until another column fits."""

    def distinct(columns: Sequence[int]) -> int:
        return len({tuple(row[i] for i in columns) for row in texts})

    kept = list(range(min(count, len(widths))))
    most, whole = _table_width(), distinct(kept)
    while len(kept) > 1 and sum(widths[i] + 2 for i in kept) > most // 2:
        lost = next((i for i in reversed(kept) if distinct([k for k in kept if k != i]) == whole), None)
        if lost is None:
            break
        kept.remove(lost)
    while len(kept) > 1 and sum(widths[i] + 2 for i in kept) > most - LEAST_ROOM:
        kept.pop()
    return kept


LEAST_ROOM = 16
"""Smallest width that repeated columns leave for other columns."""


def _blocks(widths: Sequence[int], most: int, kept: Sequence[int]) -> list[list[int]]:
    """Divide columns into blocks that fit a line. Each block after the first begins with the columns in `kept`."""
    if not widths or sum(widths) + 2 * (len(widths) - 1) <= most:
        return [list(range(len(widths)))]
    blocks = [list(kept)]
    for i in (i for i in range(len(widths)) if i not in kept):
        used = sum(widths[j] + 2 for j in blocks[-1])
        if used + widths[i] > most and len(blocks[-1]) > len(kept):
            blocks.append(list(kept))
        blocks[-1].append(i)
    return blocks


def _table_width() -> int:
    """Return the width of the terminal, or no limit if output is redirected."""
    return _width() if sys.stdout.isatty() or "COLUMNS" in os.environ else sys.maxsize


def fitted(text: str) -> str:
    """Wrap lines that are longer than the terminal, cut rules, and keep paths whole."""
    most = _table_width()
    lines = [line[:most] if set(line) <= {"-", "="} else line for line in text.split("\n")]
    pieces = [[line] if line.startswith("/") else [line[i : i + most] for i in range(0, max(len(line), 1), most)] for line in lines]
    return "\n".join(piece for line in pieces for piece in line)


def markdown(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Format a GitHub table."""
    lines = [_markdown_row([one_line(header) for header in headers]), "|" + "---|" * len(headers)]
    return "\n".join(lines + [_markdown_row([cell(value) for value in row]) for row in rows])


def listed(items: Iterable[str]) -> str:
    """Join items with commas, and wrap lines between items."""
    joined = ", ".join(item.replace(" ", _HELD_SPACE) for item in items)
    return textwrap.fill(joined, _table_width(), break_on_hyphens=False, break_long_words=False).replace(
        _HELD_SPACE, " "
    )


_HELD_SPACE = "\N{NO-BREAK SPACE}"
"""A space at which lines are not broken."""


def facts(rows: Iterable[tuple[str, str, str]]) -> str:
    """List names with values and descriptions. Descriptions wrap next to the values or, in a narrow terminal, below them. A value that is a sentence
    is printed as part of the description."""
    known = [
        (name, "", f"{value} {text}".rstrip()) if len(value) > LONGEST_NUMBER else (name, value, text)
        for name, value, text in rows
    ]
    wide = [max((len(row[i]) for row in known), default=0) for i in (0, 1)]
    indent = wide[0] + wide[1] + 6
    is_beside = _width() - indent >= LEAST_TEXT
    found = []
    for name, value, text in known:
        first = f"  {name.ljust(wide[0])}  {value.rjust(wide[1])}".rstrip()
        room = _width() - (indent if is_beside else BELOW)
        lines = textwrap.wrap(text, room, break_on_hyphens=False, break_long_words=False)
        if is_beside and lines:
            first = f"{first.ljust(indent)}{lines.pop(0)}"
        found.append("\n".join([first, *(" " * (indent if is_beside else BELOW) + line for line in lines)]))
    return "\n".join(found)


LEAST_TEXT, BELOW = 24, 6
"""Smallest width of a description next to a value, and the indent of a description below the value."""


def _width() -> int:
    return shutil.get_terminal_size().columns


def show(text: str = "") -> None:
    """Print to stdout."""
    typer.echo(printable(text))


def note(text: str) -> None:
    """Print a remark to stderr, which keeps pipes clean."""
    typer.echo(one_line(text), err=True)


def _reads_as_number(text: str) -> bool:
    is_short = len(text) <= LONGEST_NUMBER and text.lstrip("-+")[:1].isdigit()
    return not text or text == UNKNOWN or is_short or text in ("nan", "inf", "-inf")


def _markdown_row(parts: Sequence[str]) -> str:
    return "| " + " | ".join(part.replace("|", "\\|") for part in parts) + " |"


@contextlib.contextmanager
def messages() -> Iterator[Messages]:
    """Print a session's messages to stderr without repetitions: warnings immediately, remarks after an answer, also after a
    negative one, whose exit code is 1."""
    remarks: list[str] = []
    negative: typer.Exit | None = None
    try:
        yield Messages(warn=note, remark=remarks.append, progress=progress, status=status).once()
    except typer.Exit as ended:
        negative = ended
    for text in remarks:
        note(text)
    if negative is not None:
        raise negative


@contextlib.contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[str], None]]:
    """Show a progress bar with remaining time on a terminal's stderr, if there are several steps."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda text: bar.update(task, advance=1, description=text[:40])


@contextlib.contextmanager
def status() -> Iterator[Callable[[str], None]]:
    """Show what is done now and the time since the start on a terminal's stderr."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    with Progress(SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as line:
        task = line.add_task("", total=None)
        yield lambda text: line.update(task, description=text[:60])
