"""Timings of single kernels in aiconfigurator-core, on the parts that fits and scores use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import polars as pl

from . import aiconfigurator

PARTS = ("a100_sxm4_80", "h100_sxm5_80", "h200_sxm_141", "b200_sxm", "l40s")


def of(package: Path | None, kind: str, hardware: Sequence[str]) -> duckdb.DuckDBPyConnection:
    """Open a connection with a view `timing` of the package's timings of a kind on the parts."""
    connection = duckdb.connect()
    relation = aiconfigurator.relation(connection, aiconfigurator.data_root(package), kind)
    connection.register("hardware_wanted", pl.DataFrame({"hardware": hardware}).to_arrow())
    relation.create_view("every_timing")
    connection.execute("CREATE VIEW timing AS FROM every_timing SEMI JOIN hardware_wanted USING (hardware)")
    return connection
