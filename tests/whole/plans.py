"""Tables in the engine's plan of a query."""

from __future__ import annotations

import json
from typing import Any

import duckdb


def planned(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    """List the tables that a query's plan reads, once for each scan."""
    ((_, text),) = connection.execute(f"EXPLAIN (FORMAT json) {query}").fetchall()
    return [name for plan in json.loads(text) for name in _read(plan)]


def _read(plan: dict[str, Any]) -> list[str]:
    is_scan = plan["name"].strip() in ("SEQ_SCAN", "TABLE_SCAN", "INDEX_SCAN")
    read = [plan["extra_info"].get("Table", "").rpartition(".")[2].strip('"')] if is_scan else []
    return read + [name for child in plan["children"] for name in _read(child)]
