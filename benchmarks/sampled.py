"""Timings of single kernels in aiconfigurator-core, as the benchmarks that score them take them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import duckdb
import polars as pl

from charz.ingest.measurements import aiconfigurator

PARTS = ["a100_sxm4_80", "h100_sxm5_80", "h200_sxm_141", "b200_sxm", "l40s"]


def parser(description: str | None, rows: int, rows_help: str) -> argparse.ArgumentParser:
    """Command line of a benchmark that scores so many rows of each group."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("database", type=Path, nargs="?")
    made.add_argument("--package", type=Path, help="unpacked aiconfigurator_core folder; default the installed one")
    made.add_argument("--rows", type=int, default=rows, help=rows_help)
    made.add_argument("--hardware", nargs="*", default=PARTS)
    made.add_argument("--worst", type=int, default=15)
    return made


def timings(package: Path | None, kind: str, hardware: Sequence[str]) -> duckdb.DuckDBPyConnection:
    """A connection whose `timing` is the package's timings of a kind on the parts."""
    connection = duckdb.connect()
    relation = aiconfigurator.relation(connection, aiconfigurator.data_root(package), kind)
    connection.register("hardware_wanted", pl.DataFrame({"hardware": hardware}).to_arrow())
    relation.create_view("every_timing")
    connection.execute("CREATE VIEW timing AS FROM every_timing SEMI JOIN hardware_wanted USING (hardware)")
    return connection
