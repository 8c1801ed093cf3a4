"""Sessions: query and change a charz database from Python.

Every command of `charz` is a method of the same name with the same options. It returns a polars frame in SI units; each column's name ends in its unit.
"""
from __future__ import annotations

import inspect

from .ask.compare import Compare
from .ask.diff import Diff
from .ask.graph import Graph
from .ask.llm import Llm
from .ask.parallel import Parallel
from .ask.plot import Plot
from .ask.report import Report
from .ask.schema import Schema
from .ask.serve import Serve
from .ask.sql import Sql
from .ask.step import Step
from .ask.train import Train
from .catalog.calibrate import Calibrate
from .catalog.hardware import Hardware
from .catalog.measure import Measure
from .catalog.measurements import Measurements
from .catalog.models import Models
from .catalog.scenario import Scenario
from .catalog.validate import Validate
from .decide.assert_ import Assert
from .decide.elasticity import Elasticity
from .decide.explore import Explore
from .decide.mapping import LoopNests
from .decide.opportunities import Opportunities
from .decide.recommend import Recommend
from .decide.what_if import WhatIf
from .decide.workload import Workload
from .explain.explain import Explain
from .file.doctor import Doctor
from .file.engine import Engine
from .file.export import Export
from .file.ingest import Ingest
from .file.mcp import Mcp
from .file.merge import Merge
from .file.refresh import Refresh
from .messages import CharzWarning, Messages

__all__ = ["CharzWarning", "Messages", "Session"]


class Session(
    Compare,
    Diff,
    Graph,
    Llm,
    Parallel,
    Plot,
    Report,
    Schema,
    Workload,
    Serve,
    Train,
    Models,
    Measure,
    Calibrate,
    Validate,
    Assert,
    Elasticity,
    Explore,
    LoopNests,
    Opportunities,
    Recommend,
    WhatIf,
    Explain,
    Doctor,
    Export,
    Ingest,
    Mcp,
    Merge,
    Sql,
    Step,
    Refresh,
):
    """An open charz database, with a method for each command.

    Use it as a context manager, or `close` it. `path` is a file, else `$CHARZ_DB`, else `charz.duckdb` in the working folder; the first
    `ingest` creates a missing file.
    """

    @property
    def hardware(self) -> Hardware:
        """Parts of the hardware catalog: list, show with sources, compare, check, and add parts of your own."""
        return Hardware(self)

    @property
    def scenario(self) -> Scenario:
        """Scenarios: sets of conditions under which models are evaluated."""
        return Scenario(self)

    @property
    def measurements(self) -> Measurements:
        """Measured results: import files, list data sets."""
        return Measurements(self)

    @property
    def engine(self) -> Engine:
        """Spark-compatible engine on this machine, which evaluates models in place of DuckDB."""
        return Engine(self)


GROUPS: dict[str, type] = {"engine": Engine, "hardware": Hardware, "measurements": Measurements, "scenario": Scenario}
"""Groups of methods by name, as in `db.hardware.show`."""

GROUP_LINES = {name: inspect.getdoc(getattr(Session, name)) or "" for name in GROUPS}
"""Description of each group."""
