"""Conversion of a row type to its `CREATE TABLE`, comments and column types."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .row import Row

DUCKDB_TYPES: dict[type, str] = {
    int: "BIGINT",
    float: "DOUBLE",
    str: "VARCHAR",
    bool: "BOOLEAN",
    datetime: "TIMESTAMP",
}

_UNIT = re.compile(r"\[([^\[\]]+)\]\s*$")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    python_type: type
    is_nullable: bool
    description: str
    unit: str | None

    @property
    def duckdb_type(self) -> str:
        """Type in the database."""
        return DUCKDB_TYPES[self.python_type]


def columns(row_type: type[Row]) -> list[Column]:
    """Return the columns of a table in order."""
    hints = typing.get_type_hints(row_type)
    return [_column(row_type, name, hints[name], field.description) for name, field in row_type.model_fields.items()]


def create_table(row_type: type[Row]) -> str:
    """Create the text of `CREATE TABLE`, with `NOT NULL`, defaults and, if enforced, the primary key; a sequence of the table comes first."""
    defaults, sequence = dict(row_type.DEFAULTS), ""
    if row_type.NUMBERS_FROM is not None:
        name = f"{row_type.TABLE}_number"
        sequence = f"CREATE SEQUENCE {quote(name)} START {row_type.NUMBERS_FROM};\n"
        defaults[row_type.NUMBERED or row_type.KEY[0]] = f"nextval({literal(name)})"
    lines = [column_definition(c, defaults.get(c.name)) for c in columns(row_type)]
    if row_type.IS_KEY_ENFORCED:
        lines.append(f"PRIMARY KEY ({', '.join(map(quote, row_type.KEY))})")
    body = ",\n    ".join(lines)
    return f"{sequence}CREATE TABLE {quote(row_type.TABLE)} (\n    {body}\n)"


def column_definition(column: Column, default: str | None = None) -> str:
    """Return one line of a `CREATE TABLE`."""
    ends = ("" if column.is_nullable else " NOT NULL") + ("" if default is None else f" DEFAULT {default}")
    return f"{quote(column.name)} {column.duckdb_type}{ends}"


def comments(row_type: type[Row]) -> Iterator[str]:
    """Yield `COMMENT ON` for the table and each of its columns."""
    table = quote(row_type.TABLE)
    yield f"COMMENT ON TABLE {table} IS {literal(table_description(row_type))}"
    for column in columns(row_type):
        text = f"{column.description} [{column.unit}]" if column.unit else column.description
        yield f"COMMENT ON COLUMN {table}.{quote(column.name)} IS {literal(text)}"


def table_description(row_type: type[Row]) -> str:
    """Return a table's documentation as one paragraph."""
    text = inspect.cleandoc(row_type.__doc__ or "")
    if not text:
        raise TypeError(f"{row_type.__name__} has no docstring; it is the table's documentation")
    return " ".join(text.split())


def split_unit(text: str) -> tuple[str, str | None]:
    """Split `Main memory. [byte]` into description and unit."""
    text = " ".join(text.split())
    match = _UNIT.search(text)
    return (text[: match.start()].rstrip(), match.group(1)) if match else (text, None)


def quote(name: str) -> str:
    """Return a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a quoted string."""
    return "'" + text.replace("'", "''") + "'"


def keyed_hash(secret: str, *values: str) -> str:
    """Write a hash of expressions, or of all columns if none are given, that nobody can predict without the secret, the name of a
    parameter.

    The engine's `HASH(secret, a, b)` alone has collisions that are the same for every secret: it passes on a difference between hashes of values.
    So each value is hashed with the secret, and that hash again.

    >>> keyed_hash("key", "a")
    'HASH($key, HASH(HASH($key, a)))'
    """
    each = [f"HASH(HASH(${secret}, {value}))" for value in values] or [f"UNPACK(HASH(HASH(${secret}, COLUMNS(*))))"]
    return f"HASH(${secret}, {', '.join(each)})"


def _column(row_type: type[Row], name: str, annotation: object, docstring: str | None) -> Column:
    python_type, is_nullable = _unwrap(annotation)
    where = f"{row_type.__name__}.{name}"
    if python_type not in DUCKDB_TYPES:
        raise TypeError(f"{where} is {annotation}; a column is int, float, str, bool or datetime, optionally None")
    if not docstring:
        raise TypeError(f"{where} has no docstring; it is the column's documentation")
    description, unit = split_unit(docstring)
    return Column(name, python_type, is_nullable, description, unit)


def _unwrap(annotation: object) -> tuple[type, bool]:
    if typing.get_origin(annotation) not in (types.UnionType, typing.Union):
        return typing.cast(type, annotation), False
    options = typing.get_args(annotation)
    inner = [o for o in options if o is not types.NoneType]
    if len(inner) != 1:
        raise TypeError(f"{annotation} is not one type or that type and None")
    return inner[0], len(inner) < len(options)
