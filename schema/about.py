"""Facts that a database stores about itself, by key: its layout, the charz that wrote it, its catalog, its views."""

from __future__ import annotations

import duckdb

TABLE = "charz_meta"
"""Table in which a file describes itself."""

LAYOUT = "schema_fingerprint"
"""Key of the layout's fingerprint."""


def read(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return all facts that the file stores about itself."""
    return dict(connection.execute(f"SELECT key, value FROM {TABLE}").fetchall())


def write(connection: duckdb.DuckDBPyConnection, **values: str) -> None:
    """Change facts that the file stores about itself."""
    for key, value in values.items():
        connection.execute(f"INSERT OR REPLACE INTO {TABLE} VALUES (?, ?)", [key, value])
