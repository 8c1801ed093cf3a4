"""Which file a session works on, and how it may be written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from charz.schema.lock import WAIT_S

DEFAULT_DATABASE = "charz.duckdb"


@dataclass(frozen=True)
class Access:
    """How a file may be written."""

    trust: bool = False
    """Whether views, triggers and macros that charz did not put there may run when it is written."""
    wait_s: float = WAIT_S
    """How long another charz that changes the file is waited for. [s]"""
    is_live: bool = False
    """Whether every answer is evaluated when it is asked for, and none taken that is at hand."""
    may_ingest: bool = True
    """Whether a question may trace a model that the file has not, which runs its code."""
    engine: str = ""
    """Address of the engine that evaluates the models, as `sc://host:port`; DuckDB where it is empty."""
    rows: str = ""
    """Folder or place in an object store of what the engine reads; where it is empty, FILE.rows beside the file."""


def database_path(path: str | Path | None = None) -> Path:
    """The file meant: the one given, else `CHARZ_DB`, else `charz.duckdb` in the working directory."""
    return Path(path or os.environ.get("CHARZ_DB") or DEFAULT_DATABASE)
