"""A page of score tables, written by the benchmark that made them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from charz.cli import display

HEADERS = {
    "hardware_id": "part", "operator_class": "class", "median_error": "median", "p90_error": "p90",
    "within_30_fraction": "within 30 %", "spearman": "Spearman",
}  # fmt: skip
"""Shown name of a column; others are shown as they are called."""


def write(path: Path, title: str, text: Sequence[str], tables: Sequence[tuple[str, pl.DataFrame]]) -> None:
    """The page with its paragraphs and, under a heading each, its tables."""
    lines = [f"# {title}", ""]
    for paragraph in text:
        lines += [paragraph, ""]
    for heading, frame in tables:
        headers = [HEADERS.get(name, name) for name in frame.columns]
        rows = [[_shown(value) for value in row] for row in frame.rows()]
        lines += [f"## {heading}", "", display.markdown(headers, rows), ""]
    path.write_text("\n".join(lines))


def _shown(value: object) -> str:
    if value is None or value != value:  # NaN is no figure
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
