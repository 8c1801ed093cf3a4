"""A session: a database of charz, asked and changed from Python.

Every command of `charz` is a method of the same name with the same options; what it answers is a polars frame in SI units,
the unit in each column's name.
"""

from __future__ import annotations

import inspect

from .answers import Answers
from .catalog import Hardware, Scenarios
from .derivation import Derivations
from .explore import Exploring
from .exporting import Exporting
from .keeping import Keeping
from .pictures import Pictures
from .report import Reports
from .truth import Measurements, Truth
from .voice import CharzWarning, Voice
from .whatif import WhatIf
from .workload import Workload

__all__ = ["CharzWarning", "Session", "Voice"]


class Session(Answers, Reports, Derivations, Workload, Keeping, Exporting, Pictures, Truth, WhatIf, Exploring):
    """A database of charz: what it knows, what it answers, how it is changed.

    Use it as a context manager, or `close` it. `path` is a file, else `$CHARZ_DB`, else `charz.duckdb` in the working
    folder; the first `ingest` makes a missing one.
    """

    @property
    def hardware(self) -> Hardware:
        """Parts of the hardware catalog: list, show with sources, compare, check, add your own."""
        return Hardware(self)

    @property
    def scenario(self) -> Scenarios:
        """Scenarios: the conditions a model is asked about."""
        return Scenarios(self)

    @property
    def measurements(self) -> Measurements:
        """Measured results: import files of them, list what a database holds."""
        return Measurements(self)


GROUPS: dict[str, type] = {"hardware": Hardware, "measurements": Measurements, "scenario": Scenarios}
"""Methods that stand together under a name, as `db.hardware.show`."""

GROUP_LINES = {name: inspect.getdoc(getattr(Session, name)) or "" for name in GROUPS}
"""What the methods of each group are about."""
