"""Command line of the benchmarks that score timings of single kernels in aiconfigurator-core."""

from __future__ import annotations

import argparse
from pathlib import Path

from charz.hardware_catalog.calibration.shipped import timings


def parser(description: str | None, rows: int, rows_help: str) -> argparse.ArgumentParser:
    """Command line of a benchmark that scores so many rows of each group."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("database", type=Path, nargs="?")
    made.add_argument("--package", type=Path, help="unpacked aiconfigurator_core folder; default the installed one")
    made.add_argument("--rows", type=int, default=rows, help=rows_help)
    made.add_argument("--hardware", nargs="*", default=list(timings.PARTS))
    made.add_argument("--worst", type=int, default=15)
    return made
