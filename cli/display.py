"""Numbers and tables as people read them. SI inside the engine, display units only here."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

import typer

from charz.schema.errors import printable
from charz.session.messages import Messages

_DECIMAL = (
    (1e18, "E"),
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
    (1e-12, "p"),
    (1e-15, "f"),
)
_BINARY = ((2.0**50, "Pi"), (2.0**40, "Ti"), (2.0**30, "Gi"), (2.0**20, "Mi"), (2.0**10, "Ki"), (1.0, ""))
_UNKNOWN = "-"


def quantity(value: float | None, unit: str) -> str:
    """A value of a unit of the engine in its display unit: `0.0012, "s"` is `1.20 ms`."""
    if unit == "byte":
        return size(value)
    if unit == "fraction":
        return percent(value)
    names = {"ops/s": "OP/s", "byte/s": "B/s", "op": "OP", "flop": "FLOP", "mac": "MAC"}
    if unit in ("USD", "USD/h"):
        return _UNKNOWN if value is None else f"{significant(value)} {unit}"
    return _scaled(value, names.get(unit, unit), _DECIMAL)


def size(value: float | None) -> str:
    """A number of bytes, e.g. `97.5 MiB`."""
    return _scaled(value, "B", _BINARY)


def percent(value: float | None) -> str:
    """A fraction, e.g. `43 %`."""
    if value is None or not math.isfinite(value):
        return _UNKNOWN
    share = 100 * value
    return f"{share:.0f} %" if share >= 9.95 or share == 0 else f"{share:.1f} %"


def significant(value: float, digits: int = 3) -> str:
    """A number with a few significant digits and no exponent where it reads well without one."""
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if not -4 <= magnitude < 7:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(0, digits - 1 - magnitude)}f}"


def cell(value: object) -> str:
    """One value of a query's result."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    return one_line(str(value))


def one_line(text: str) -> str:
    """Text that stays in its cell: ends of lines and control characters are written out."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], repeated: int = 1) -> str:
    """Aligned columns under a rule; numbers, and texts that start with one, to the right."""
    headers = [one_line(header) for header in headers]
    raw = [list(row) for row in rows]
    texts = [[cell(value) for value in row] for row in raw]
    is_number = [
        bool(texts) and all(_reads_as_number(row[i]) for row in texts) and any(row[i] for row in texts)
        for i in range(len(headers))
    ]
    widths = [max([len(header), *(len(row[i]) for row in texts)]) for i, header in enumerate(headers)]
    blocks = _blocks(widths, _table_width(), repeated)

    def line(parts: Sequence[str], block: Sequence[int]) -> str:
        aligned = (parts[i].rjust(widths[i]) if is_number[i] else parts[i].ljust(widths[i]) for i in block)
        return "  ".join(aligned).rstrip()

    def drawn(block: Sequence[int]) -> str:
        rule = "  ".join("-" * widths[i] for i in block)
        return "\n".join([line(headers, block), rule, *(line(row, block) for row in texts)])

    return "\n\n".join(drawn(block) for block in blocks)


def _blocks(widths: Sequence[int], most: int, repeated: int) -> list[list[int]]:
    """Columns that stand beside one another in a line; a further block begins with the first columns again, as far as they
    leave half of the line."""
    if not widths or sum(widths) + 2 * (len(widths) - 1) <= most:
        return [list(range(len(widths)))]
    kept = max(1, min(repeated, len(widths)))
    while kept > 1 and sum(widths[i] + 2 for i in range(kept)) > most // 2:
        kept -= 1
    first = list(range(kept))
    blocks = [first.copy()]
    for i in range(kept, len(widths)):
        used = sum(widths[j] + 2 for j in blocks[-1])
        if used + widths[i] > most and len(blocks[-1]) > kept:
            blocks.append(first.copy())
        blocks[-1].append(i)
    return blocks


def _table_width() -> int:
    """Columns of the terminal; where nobody looks, a row is one line however long."""
    return _width() if sys.stdout.isatty() or "COLUMNS" in os.environ else sys.maxsize


def markdown(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A GitHub table."""
    lines = [_markdown_row([one_line(header) for header in headers]), "|" + "---|" * len(headers)]
    return "\n".join(lines + [_markdown_row([cell(value) for value in row]) for row in rows])


def facts(rows: Iterable[tuple[str, str, str]]) -> str:
    """Names with their values and what each is, wrapped beside them."""
    listed = list(rows)
    wide = [max((len(row[i]) for row in listed), default=0) for i in (0, 1)]
    indent = wide[0] + wide[1] + 6
    found = []
    for name, value, text in listed:
        first = f"  {name.ljust(wide[0])}  {value.rjust(wide[1])}  "
        lines = textwrap.wrap(text, max(30, _width() - indent), break_on_hyphens=False) or [""]
        found.append(f"\n{' ' * indent}".join([first + lines[0], *lines[1:]]).rstrip())
    return "\n".join(found)


def _width() -> int:
    return shutil.get_terminal_size().columns


def show(text: str = "") -> None:
    """Print to stdout."""
    typer.echo(printable(text))


def note(text: str) -> None:
    """Print a remark to stderr, where it does not disturb a pipe."""
    typer.echo(one_line(text), err=True)


def heading(text: str) -> None:
    """Print a section's title after an empty line."""
    show(f"\n{text}\n{'=' * len(text)}")


def _scaled(value: float | None, unit: str, scale: Sequence[tuple[float, str]]) -> str:
    if value is None or not math.isfinite(value):
        return _UNKNOWN
    if value == 0:
        return f"0 {unit}"
    factor, prefix = next(((f, p) for f, p in scale if abs(value) >= f * 0.9995), scale[-1])
    return f"{_three_digits(value / factor)} {prefix}{unit}"


def _three_digits(value: float) -> str:
    size = abs(value)
    return f"{value:.0f}" if size >= 99.95 else f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"


def _reads_as_number(text: str) -> bool:
    return not text or text == _UNKNOWN or text.lstrip("-+")[:1].isdigit() or text in ("nan", "inf", "-inf")


def _markdown_row(parts: Sequence[str]) -> str:
    return "| " + " | ".join(part.replace("|", "\\|") for part in parts) + " |"


@contextlib.contextmanager
def messages() -> Iterator[Messages]:
    """What a session says beside its answers, on standard error, each line once: what is left out at once, the rest below
    an answer that came."""
    remarks: list[str] = []
    said = Messages(warn=note, remark=remarks.append, progress=progress).once()
    yield said
    for text in remarks:
        note(text)


@contextlib.contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[str], None]]:
    """A bar on standard error for many steps, where somebody looks."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda text: bar.update(task, advance=1, description=text[:40])
