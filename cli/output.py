"""Output of an answer as a table, or as JSON, CSV, markdown or parquet."""

from __future__ import annotations

import base64
import contextlib
import csv
import io
import itertools
import json
import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any
from uuid import UUID

from charz.schema import user_file
from charz.schema.errors import CharzError, printable
from charz.session import quantities
from charz.session.answer import Rows
from charz.session.explain import derivation

from . import display

TABLE_ROWS = 400
"""Largest number of rows that `table` and `markdown` show."""

_CONDITIONS = frozenset(
    {
        "model", "hardware", "backend", "engine_version", "precision", "kv_precision", "device_count", "batch", "sequence", "context",
        "phase", "power", "scenario_id", "input_tokens", "output_tokens", "rate_per_s", "concurrency", "framework",
    }
)  # fmt: skip
"""Columns that move to a heading above a table if they are equal in all rows."""

_NAMING = _CONDITIONS | {
    "split",
    "variant",
    "operator",
    "operator_class",
    "module",
    "kernel_id",
    "product",
    "stands",
    "dataflow",
}
"""Columns that identify rows, repeated in each block of a table that is wider than the line."""

Texts = Callable[[], dict[str, str]]
"""Function that returns the descriptions of columns."""

_GROUP_ROWS = 2**17
"""Number of rows in a parquet row group."""

FACTS_COLUMNS = 9
"""Smallest number of columns for which a single row is printed as a list, one column per line."""


class Format(StrEnum):
    """Formats of an answer."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"
    parquet = "parquet"


def write(rows: Rows, format: Format, out: Path | None, texts: Texts = dict, force: bool = False) -> None:
    """Write an answer to standard output, or to a user's file or pipe; an answer without columns writes nothing.

    `texts` returns the descriptions of columns, which some formats print. `force` overwrites a file that charz did not write. Raise
    `CharzError` for a file that is not writable.
    """
    if not rows.columns:
        return
    if format is Format.parquet and out is None and sys.stdout.isatty():
        raise CharzError("parquet is not text", "standard output is a terminal", next="name a file with --out")
    total = 0
    if format is Format.parquet:
        pieces = _parquet(rows)
    elif format in (Format.csv, Format.json):
        pieces = _streamed(rows.columns, rows.pieces(), format)
    else:
        listed, total = rows.first(TABLE_ROWS)
        pieces = iter([_header(rows), encode(rows.columns, listed, format, texts, rows.bare)])
    if out is not None:
        user_file.write_pieces(out, pieces, force)
        display.note(f"written to {out}")
        return
    _print(pieces, is_text=format is not Format.parquet)
    if total > TABLE_ROWS:
        display.note(f"{TABLE_ROWS} of {total} rows; --format csv or parquet writes all")


def write_sections(
    found: Iterable[tuple[str, Rows, Texts]], format: Format, out: Path | None, force: bool = False
) -> None:
    """Write several tables: one below another as text, as one object in JSON, and as one row for each value in CSV and parquet."""
    pieces = _sections(found, format)
    if out is None:
        _print(pieces, is_text=format is not Format.parquet)
        return
    user_file.write_pieces(out, pieces, force)
    display.note(f"written to {out}")


_LONG = ("section", "row", "column", "value", "word")
"""Columns of a file that contains several tables. Numbers are in `value`, other values in `word`."""


def _sections(found: Iterable[tuple[str, Rows, Texts]], format: Format) -> Iterator[bytes]:
    if format is Format.json:
        for i, (name, rows, _) in enumerate(found):
            yield f"{',' if i else '{'}{_json(name)}:".encode()
            yield b"".join(_streamed(rows.columns, rows.pieces(), format)).rstrip(b"\n")
        yield b"}\n"
        return
    if format in (Format.csv, Format.parquet):
        long = [
            (name, i, column, *_parted(value))
            for name, rows, _ in found
            for i, row in enumerate(rows.fetch())
            for column, value in zip(rows.columns, row, strict=True)
        ]
        together = Rows(_LONG, long)
        yield from _parquet(together) if format is Format.parquet else _streamed(_LONG, together.pieces(), format)
        return
    for number, (name, rows, texts) in enumerate(found):
        if number == 0:
            yield _header(rows)
        title = name.replace("_", " ").capitalize()
        heading = f"## {title}\n\n" if format is Format.markdown else f"\n{title}\n{'=' * len(title)}\n"
        listed, total = rows.first(TABLE_ROWS)
        yield heading.encode() + encode(rows.columns, listed, format, texts, rows.bare)
        if format is Format.markdown:
            yield b"\n"
        if total > TABLE_ROWS:
            display.note(f"{TABLE_ROWS} of {total} rows of {name}; --section {name} --format csv writes all")


def _header(rows: Rows) -> bytes:
    """Return the verdict, and the heading with model, part and conditions that all rows share."""
    verdict = f"{rows.verdict}\n\n".encode() if rows.verdict else b""
    return verdict + display.fitted(f"{display.listed(rows.header.split(', '))}\n\n").encode() if rows.header else verdict


def _parted(value: Any) -> tuple[float | None, str | None]:
    """Return a value as a pair: number and None, or None and text."""
    plain = _plain(value, is_number_kept=True)
    if isinstance(plain, bool) or plain is None:
        return None, None if plain is None else "true" if plain else "false"
    return (float(plain), None) if isinstance(plain, int | float) else (None, str(plain))


def _print(pieces: Iterable[bytes], is_text: bool) -> None:
    """Write to standard output, without control characters on a terminal."""
    is_shown = is_text and sys.stdout.isatty()
    with _standard_output():
        sys.stdout.flush()
    for piece in pieces:
        with _standard_output():
            sys.stdout.buffer.write(printable(piece.decode()).encode() if is_shown else piece)
            sys.stdout.buffer.flush()


@contextlib.contextmanager
def _standard_output() -> Iterator[None]:
    """Report a failed write in one line. Errors of the evaluation of rows, which may write temporary files, are raised outside."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise CharzError("cannot write to standard output", reason, next="name a file with --out") from error


def encode(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    format: Format,
    texts: Texts = dict,
    bare: Collection[str] = (),
) -> bytes:
    """Encode an answer as text. Numbers keep every digit except in `table` and `markdown`; units of `bare` columns are unknown."""
    if format in (Format.csv, Format.json):
        return b"".join(_streamed(columns, [rows], format))
    if format is Format.table and tuple(columns) == derivation.COLUMNS:
        return printable(display.fitted(f"{_derivation(rows)}\n")).encode()
    columns, cells = _cells(columns, rows[:TABLE_ROWS], bare)
    if format is Format.markdown:
        return f"{display.markdown(quantities.headers(columns, bare), cells)}\n".encode()
    return printable(display.fitted(f"{_table(columns, cells, texts, bare)}\n")).encode()


def _streamed(columns: Sequence[str], pieces: Iterable[Sequence[Sequence[Any]]], format: Format) -> Iterator[bytes]:
    """Yield CSV or JSON of rows that arrive in portions."""
    if format is Format.csv:
        yield _csv([[user_file.no_formula(name) for name in columns]])
        yield from (_csv([_csv_cell(value) for value in row] for row in piece) for piece in pieces)
        return
    before = "["
    for piece in pieces:
        objects = (_json({name: _plain(v) for name, v in zip(columns, row, strict=True)}) for row in piece)
        if text := ",".join(objects):
            yield f"{before}{text}".encode()
            before = ","
    yield b"[]\n" if before == "[" else b"]\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _cells(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], bare: Collection[str]
) -> tuple[Sequence[str], list[list[str]]]:
    """Convert values to display units. The unit is in the column's name; columns that end in `value` take the unit from the column `unit`."""
    if "unit" not in columns or not any(name.endswith("value") for name in columns):
        ends = ["" if name in bare else name for name in columns]
        return columns, [[shown(value, end) for end, value in zip(ends, row, strict=True)] for row in rows]
    unit = columns.index("unit")
    kept = [i for i in range(len(columns)) if i != unit]
    return [columns[i] for i in kept], [
        [_measure(row[i], None, row[unit]) if columns[i].endswith("value") else shown(row[i], columns[i]) for i in kept]
        for row in rows
    ]


def _table(columns: Sequence[str], cells: Sequence[Sequence[str]], texts: Texts, bare: Collection[str] = ()) -> str:
    """Format a table below a caption with the conditions that all rows share. A single row of many columns is formatted as a list."""
    headers = quantities.headers(columns, bare)
    if not cells and len(columns) >= FACTS_COLUMNS:
        return "no rows"
    is_list = len(cells) == 1 and (len(columns) >= FACTS_COLUMNS or "launch" in columns)
    same = [
        i
        for i, name in enumerate(columns)
        if name in _CONDITIONS and (is_list or len(cells) > 1) and len({row[i] for row in cells}) == 1
    ]
    caption = display.listed(f"{headers[i]} {cells[0][i]}" for i in same if cells[0][i] != "-")
    kept = [i for i in range(len(columns)) if i not in same]
    if is_list:
        known = texts()
        body = display.facts((columns[i], cells[0][i], known.get(columns[i], "")) for i in kept)
    else:
        keys = [place for place, i in enumerate(kept) if columns[i] in _NAMING] or [0]
        body = display.table([headers[i] for i in kept], [[row[i] for i in kept] for row in cells], keys)
    return f"{caption}\n\n{body}" if caption else body


def _derivation(rows: Sequence[Sequence[Any]]) -> str:
    """Format a derivation. Each step has a title, and lines of names, values and descriptions."""
    lines = []
    for step, of_step in itertools.groupby(rows, key=lambda row: row[0]):
        lines.append(f"\n{step}\n{'=' * len(step)}")
        for item, of_item in itertools.groupby(of_step, key=lambda row: row[1]):
            lines += [f"\n{item}"] if item else []
            lines.append(
                display.facts(
                    (name, _measure(value, word, unit), text) for _, _, name, value, word, unit, text in of_item
                )
            )
    return "\n".join(lines).lstrip("\n")


def _measure(value: float | None, word: str | None, unit: str | None) -> str:
    if value is None:
        return word or "-"
    if unit in quantities.DISPLAYED or unit in ("fraction", "mac", "flop"):
        return quantities.quantity(value, str(unit))
    return f"{quantities.count(value)} {unit}" if unit and unit not in ("count", "ops") else quantities.count(value)


def shown(value: Any, column: str) -> str:
    """Format one value in the display unit of its column's name."""
    if value is None or isinstance(value, bool | int | float):
        return quantities.shown(value, column)
    return display.cell(_plain(value))


def _csv(rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _csv_cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    plain = _plain(value, is_number_kept=True)
    if isinstance(plain, dict | list):
        return json.dumps(plain, ensure_ascii=False)
    return user_file.no_formula(plain) if isinstance(plain, str) else plain


def _plain(value: Any, is_number_kept: bool = False) -> Any:
    """Convert a value for JSON: unsupported types become text, NaN and infinity become null."""
    if isinstance(value, float):
        return value if is_number_kept or math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta | UUID):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


class _Sink(io.RawIOBase):
    """A buffer whose content is read and removed in portions."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._kept.append(bytes(data))
        self._position += len(self._kept[-1])
        return len(self._kept[-1])

    def tell(self) -> int:
        return self._position

    def taken(self) -> bytes:
        """Return the bytes written since the last call."""
        found = b"".join(self._kept)
        self._kept.clear()
        return found


def _parquet(rows: Rows) -> Iterator[bytes]:
    """Yield parquet, one row group at a time."""
    from pyarrow import parquet

    table = rows.arrow()
    sink = _Sink()
    with parquet.ParquetWriter(sink, table.schema, compression="zstd") as writer:
        for start in range(0, max(table.num_rows, 1), _GROUP_ROWS):
            rows.check()
            writer.write_table(table.slice(start, _GROUP_ROWS))
            yield sink.taken()
    yield sink.taken()
