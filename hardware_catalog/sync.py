"""Update of an older database to the shipped catalog, row by row, without touching rows that the user added, changed or removed.

A database stores a short hash of every row its catalog brought (`catalog_rows` of its meta table). A row that no longer has its hash
was edited; a row without one is the user's own.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import duckdb

from charz.schema import about, database, ddl
from charz.schema.catalog.source import Source
from charz.schema.row import Row

from .loader import Catalog, columns_of

ROWS_KEY = "catalog_rows"
VERSION_KEY = "catalog_version"

_REFERENCE_ONLY = {"hardware_provenance", "shipped_part"}
"""Tables of the catalog's own statements: never edited by the user, always updated."""


@dataclass(frozen=True, slots=True)
class Change:
    """A sync's decision on one row."""

    action: str
    """`add`, `update`, `remove`, or `keep` for a user's edit that the catalog would overwrite."""
    table: str
    key: str
    detail: str


def write(connection: duckdb.DuckDBPyConnection, catalog: Catalog) -> None:
    """Insert every row of the catalog into the empty tables of a database and record the inserted rows."""
    for row_type, rows in catalog.rows.items():
        database.insert(connection, row_type, columns_of(row_type, rows))
    remember(connection, catalog)


def remember(connection: duckdb.DuckDBPyConnection, catalog: Catalog) -> None:
    """Record the catalog's rows, so that a later sync recognizes edits."""
    about.write(connection, **{VERSION_KEY: catalog.version, ROWS_KEY: _dumped(_hashes(catalog.rows))})


def shipped_sources(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the sources that the catalog brought; others came with a user's parts or measurements."""
    known = json.loads(about.read(connection).get(ROWS_KEY, "{}"))
    return {source_id for key in known.get(Source.TABLE, {}) for source_id in json.loads(key)}


def plan(connection: duckdb.DuckDBPyConnection, catalog: Catalog) -> list[Change]:
    """List every change that `apply` would make, and every edit it would keep."""
    return [change for change, _ in _decide(connection, catalog)]


def apply(connection: duckdb.DuckDBPyConnection, catalog: Catalog) -> list[Change]:
    """Bring the catalog into the database and return the changes; call inside a transaction."""
    decided = _decide(connection, catalog)
    for change, _ in decided:
        if change.action in ("update", "remove"):
            _delete(connection, change)
    added: dict[type[Row], list[Row]] = {}
    for change, row in decided:
        if change.action in ("add", "update") and row is not None:
            added.setdefault(type(row), []).append(row)
    for rows in added.values():
        database.insert_rows(connection, rows)
    remember(connection, catalog)
    return [change for change, _ in decided]


def _hashes(rows_by_type: dict[type[Row], list[Row]]) -> dict[str, dict[str, str]]:
    return {row_type.TABLE: {_key(row): _row_hash(row) for row in rows} for row_type, rows in rows_by_type.items()}


def _dumped(hashes: dict[str, dict[str, str]]) -> str:
    return json.dumps(hashes, separators=(",", ":"))


def _decide(connection: duckdb.DuckDBPyConnection, catalog: Catalog) -> list[tuple[Change, Row | None]]:
    known: dict[str, dict[str, str]] = json.loads(about.read(connection).get(ROWS_KEY, "{}"))
    decided: list[tuple[Change, Row | None]] = []
    for row_type, rows in catalog.rows.items():
        decided += _decide_table(connection, row_type, rows, known.get(row_type.TABLE, {}))
    return decided


def _decide_table(
    connection: duckdb.DuckDBPyConnection, row_type: type[Row], rows: list[Row], known: dict[str, str]
) -> list[tuple[Change, Row | None]]:
    table = row_type.TABLE
    present = {_key(row): row for row in stored(connection, row_type)}
    offered = {_key(row): row for row in rows}
    decided: list[tuple[Change, Row | None]] = []
    for key, row in offered.items():
        old = present.get(key)
        if old is None:
            if key not in known:
                decided.append((Change("add", table, key, ""), row))
        elif _row_hash(old) != _row_hash(row):
            is_own = table not in _REFERENCE_ONLY and _row_hash(old) != known.get(key)
            action = "keep" if is_own else "update"
            decided.append((Change(action, table, key, _difference(old, row)), row))
    for key, old in present.items():
        if key in known and key not in offered:
            is_own = table not in _REFERENCE_ONLY and _row_hash(old) != known[key]
            decided.append((Change("keep" if is_own else "remove", table, key, "no longer in the catalog"), None))
    return decided


def stored(connection: duckdb.DuckDBPyConnection, row_type: type[Row]) -> list[Row]:
    """Read every row of a table in the database."""
    names = list(row_type.model_fields)
    columns = ", ".join(map(ddl.quote, names))
    records = connection.execute(f"SELECT {columns} FROM {ddl.quote(row_type.TABLE)}").fetchall()
    return [row_type.model_construct(**dict(zip(names, record, strict=True))) for record in records]


def _delete(connection: duckdb.DuckDBPyConnection, change: Change) -> None:
    row_type = next(t for t in database.TABLES if change.table == t.TABLE)
    condition = " AND ".join(f"{ddl.quote(name)} = ?" for name in row_type.KEY)
    values: list[Any] = json.loads(change.key)
    connection.execute(f"DELETE FROM {ddl.quote(change.table)} WHERE {condition}", values)


def _difference(old: Row, new: Row) -> str:
    """List the columns that differ, the stored value first."""
    changed = [
        f"{name} {getattr(old, name)} -> {getattr(new, name)}"
        for name in _compared(new)
        if getattr(old, name) != getattr(new, name)
    ]
    return ", ".join(changed)


def _key(row: Row) -> str:
    return json.dumps([getattr(row, name) for name in type(row).KEY])


def _compared(row: Row) -> list[str]:
    """Return the columns that the catalog or a user states; charz fills the others."""
    return [name for name in type(row).model_fields if name not in row.RATIO_TO.values()]


def _row_hash(row: Row) -> str:
    """Hash a row's values."""
    values = {name: getattr(row, name) for name in _compared(row)}
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()[:12]
