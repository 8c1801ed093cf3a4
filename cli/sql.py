"""Ask the database in SQL."""

from __future__ import annotations

import io
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import duckdb
import polars as pl
import typer

from charz.schema.errors import CharzError

from . import display, sandbox
from .grid import PartsOption, names
from .workspace import (
    BackendOption,
    BatchOption,
    DatabaseOption,
    PrecisionOption,
    SequenceOption,
    narrowed,
)

TABLE_ROWS = 200
"""Rows that `table` and `markdown` show of a longer result."""


class Format(StrEnum):
    """How a result is written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"
    markdown = "markdown"


def command(
    query: Annotated[str, typer.Argument(help="One SQL statement, or - to read it from standard input.")],
    format: Annotated[Format, typer.Option("--format", help="How the rows are written.")] = Format.table,
    out: Annotated[Path | None, typer.Option("--out", help="File to write; else standard output.")] = None,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds after which it is stopped; 0 for none.")] = 60.0,
    memory: Annotated[str, typer.Option("--memory", help="Memory it may use.")] = "4GB",
    batch: BatchOption = None,
    sequence: SequenceOption = None,
    precision: PrecisionOption = None,
    backend: BackendOption = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", help="Models the views answer for, again for each or with commas.")
    ] = None,
    on: PartsOption = None,
    db: DatabaseOption = None,
) -> None:
    """Ask the database in SQL: one statement, read only, kept away from files and network.

    With --batch, --sequence, --precision or --backend the views answer for that one scenario, with --model and
    --on for these models and parts alone: in a file of many models that takes a fraction of the time.
    """
    text = sandbox.one_statement(sys.stdin.read() if query == "-" else query)
    with narrowed(
        db,
        batch=batch,
        sequence=sequence,
        precision=precision,
        backend=backend,
        models=names(model),
        hardware=names(on),
    ) as connection:
        try:
            sandbox.lock(connection, memory)
        except duckdb.Error as error:
            raise CharzError("not an amount of memory", memory, next="write e.g. --memory 4GB") from error
        frame = ask(connection, text, timeout)
    write(frame, format, out)


def ask(connection: duckdb.DuckDBPyConnection, text: str, timeout_s: float) -> pl.DataFrame:
    """Rows of a statement. Raises `CharzError` when it fails, runs too long or has no rows to give."""
    with sandbox.time_limit(connection, timeout_s):
        try:
            relation = connection.sql(text)
            frame = None if relation is None else relation.pl()
        except duckdb.InterruptException:
            raise
        except duckdb.Error as error:
            raise sandbox.query_failed(error) from error
    if frame is None:
        raise CharzError(
            "the statement gives no rows", text, next="`charz sql` only reads; change rows with a DuckDB client"
        )
    return frame


def write(frame: pl.DataFrame, format: Format, out: Path | None) -> None:
    """Write a result to a file, all or nothing, or to standard output."""
    data = encode(frame, format)
    if out is not None:
        _write_file(out, data)
        display.note(f"{len(frame)} rows written to {out}")
        return
    if format is Format.parquet and sys.stdout.isatty():
        raise CharzError("parquet is not text", "standard output is a terminal", next="name a file with --out")
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    if format in (Format.table, Format.markdown) and len(frame) > TABLE_ROWS:
        display.note(f"{TABLE_ROWS} of {len(frame)} rows; --format csv or parquet writes all")


def encode(frame: pl.DataFrame, format: Format) -> bytes:
    """A result in a format. Floats keep every digit except in `table` and `markdown`."""
    if format is Format.parquet:
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        return buffer.getvalue()
    if format is Format.csv:
        return frame.write_csv().encode()
    if format is Format.json:
        return f"{frame.write_json()}\n".encode()
    render = display.markdown if format is Format.markdown else display.table
    return f"{render(frame.columns, frame.head(TABLE_ROWS).iter_rows())}\n".encode()


def _write_file(out: Path, data: bytes) -> None:
    if not out.name:
        raise CharzError("not a file to write", f"--out {out}", next="write e.g. --out rows.csv")
    part = out.with_name(f".{out.name}.part")
    try:
        part.write_bytes(data)
        os.replace(part, out)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise CharzError("cannot write the file", str(out), error.strerror or str(error)) from error
