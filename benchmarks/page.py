"""Score tables, printed or written to a page by the benchmark that made them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from charz.cli import display, pages

HEADERS = {
    "hardware": "part", "operator_class": "class", "median_error": "median", "p90_error": "p90",
    "within_30_fraction": "within 30 %", "spearman": "Spearman",
}  # fmt: skip
"""Shown name of a column; others are shown as they are called."""


def scoring(text: str | None, fitted: str) -> argparse.Namespace:
    """What a score of published rows is given on its command line; prints frames whole."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path, help="file with the models")
    parser.add_argument(
        "--measurements", type=Path, default=Path("../shared/measurements"), help="folder of serving.parquet"
    )
    parser.add_argument("--fit", action="store_true", help=f"print the best {fitted}")
    parser.add_argument("--markdown", type=Path, help="write the page there")
    parser.add_argument("--rows", type=Path, help="write every scored row there, as parquet")
    print_wide(4)
    return parser.parse_args()


def print_wide(digits: int = 4) -> None:
    """Print frames whole, with so many digits after the point."""
    pl.Config.set_tbl_rows(200).set_tbl_cols(30).set_tbl_width_chars(220).set_tbl_hide_dataframe_shape(True)
    pl.Config.set_tbl_hide_column_data_types(True).set_float_precision(digits).set_fmt_str_lengths(60)


def write(path: Path, title: str, text: Sequence[str], tables: Sequence[tuple[str, pl.DataFrame]]) -> None:
    """The page with the version of the shipped tables, its paragraphs and, under a heading each, its tables."""
    lines = [f"# {title}", "", pages.line(), ""]
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
