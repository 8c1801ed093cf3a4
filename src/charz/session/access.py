"""File of a session, and rights to use the file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from charz.schema.lock import WAIT_S

DEFAULT_DATABASE = "charz.duckdb"


@dataclass(frozen=True)
class Access:
    """Rights and conditions under which a session uses a file."""

    trust: bool = False
    """True if views, triggers and macros that charz did not create may run when the file is written."""
    wait_s: float = WAIT_S
    """Longest wait for another charz process that changes the file. [s]"""
    is_live: bool = False
    """True if every answer is evaluated on demand and precomputed answers are ignored."""
    may_ingest: bool = True
    """True if a command may trace a model that the file lacks, which runs the model's code."""
    engine: str = ""
    """Address of the engine that evaluates the models, e.g. `sc://host:port`; empty for DuckDB."""
    rows: str = ""
    """Folder or object store that the engine reads; empty for `FILE.rows`."""


def database_path(path: str | Path | None = None) -> Path:
    """Return the path of the database: the given path, else `CHARZ_DB`, else `charz.duckdb` in the working directory."""
    return Path(path or os.environ.get("CHARZ_DB") or DEFAULT_DATABASE)
