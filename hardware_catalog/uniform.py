"""Reading of the uniform tables: `tables/NAME.csv` has the rows of the type whose `TABLE` is NAME."""

from __future__ import annotations

import csv
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from charz.schema import catalog, database, scenario
from charz.schema.row import Row

from .problem import CatalogError, Problem

TYPES: dict[str, type[Row]] = {
    row.TABLE: row for row in database.TABLES if row.__module__.startswith((catalog.__name__, scenario.__name__))
}
"""Row type of every table that a CSV file may fill, by name."""


def read(path: Path) -> list[Row]:
    """Read the rows of one CSV file; an empty cell is null.

    Raises:
        CatalogError: the file names no table, or a row does not have its columns, types and key.
    """
    row_type = TYPES.get(path.stem)
    if row_type is None:
        raise CatalogError([Problem(path, "-", path.stem, f"no such table; known: {', '.join(sorted(TYPES))}")])
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        records = list(reader)
    columns = set(reader.fieldnames or ())
    if columns != set(row_type.model_fields):
        missing = ", ".join(sorted(row_type.model_fields.keys() - columns)) or "none"
        extra = ", ".join(sorted(columns - row_type.model_fields.keys())) or "none"
        raise CatalogError(
            [Problem(path, "header", f"missing {missing}, unknown {extra}", "make it the columns of the table")]
        )
    optional = {name for name, info in row_type.model_fields.items() if not _is_text(info.annotation)}
    rows, problems = [], []
    for index, record in enumerate(records, start=2):
        cleaned = {name: None if value == "" and name in optional else value for name, value in record.items()}
        try:
            rows.append(_ADAPTERS[path.stem].validate_python(cleaned))
        except ValidationError as error:
            for fault in error.errors():
                place = f"line {index}, {'.'.join(map(str, fault['loc']))}"
                problems.append(Problem(path, place, fault["input"], fault["msg"]))
    if problems:
        raise CatalogError(problems)
    return rows


def _is_text(annotation: object) -> bool:
    return annotation is str


_ADAPTERS: dict[str, TypeAdapter[Row]] = {name: TypeAdapter(row) for name, row in TYPES.items()}
