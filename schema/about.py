"""What a database says of itself, by keys: its layout, the charz that wrote it, its catalog, its views."""

from __future__ import annotations

import duckdb

TABLE = "charz_meta"
"""Table in which a file says what it is."""

LAYOUT = "schema_fingerprint"
"""Key under which a file says what layout it has."""


def read(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """All that the file says of itself."""
    return dict(connection.execute(f"SELECT key, value FROM {TABLE}").fetchall())


def write(connection: duckdb.DuckDBPyConnection, **values: str) -> None:
    """Change what the file says of itself."""
    for key, value in values.items():
        connection.execute(f"INSERT OR REPLACE INTO {TABLE} VALUES (?, ?)", [key, value])
