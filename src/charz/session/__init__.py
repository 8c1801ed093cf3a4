"""A session: a database of charz, asked and changed from Python.

Every command of `charz` is a method of the same name with the same options; what it answers is a polars frame in SI units,
the unit in each column's name.
"""

from __future__ import annotations

from .answers import Answers
from .core import CharzWarning, Voice
from .derivation import Derivations
from .keeping import Keeping
from .querying import Queries
from .report import Reports

__all__ = ["CharzWarning", "Session", "Voice"]


class Session(Answers, Reports, Derivations, Queries, Keeping):
    """A database of charz: what it knows, what it answers, how it is changed.

    Use it as a context manager, or `close` it. `path` is a file, else `$CHARZ_DB`, else `charz.duckdb` in the working
    folder; the first `ingest` makes a missing one.
    """


GROUPS: dict[str, type] = {}
"""Methods that stand together under a name, as `db.hardware.show`."""

GROUP_LINES: dict[str, str] = {}
"""What the methods of each group are about."""
