"""Changes of the layout that cannot be made by adding alone, as numbered steps.

`STEPS[n]` takes a file of schema version `n` to `n + 1` and runs inside the transaction that
`database.migrate` holds. Raise `SCHEMA_VERSION` with each new step. New tables and new nullable
columns need none: `database.migrate` adds them to a file that lacks them.
"""

from __future__ import annotations

from collections.abc import Callable

import duckdb

SCHEMA_VERSION = 1
"""Version of the layout that this charz writes."""

STEPS: dict[int, Callable[[duckdb.DuckDBPyConnection], None]] = {}
"""Step that leads away from each older version."""
