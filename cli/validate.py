"""Print the error of predictions against the measurements in a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import display, workspace
from .workspace import DatabaseOption

if TYPE_CHECKING:
    import polars as pl


def command(
    by: Annotated[
        list[str] | None, typer.Option(help="part, source, precision, batch or family; repeat.", show_default=False)
    ] = None,
    where: Annotated[
        str, typer.Option(help="SQL condition on measurement rows, alias x.")
    ] = "x.mode IN ('run', 'single_stream')",
    least_rows: Annotated[int, typer.Option(help="Leave out groups with fewer rows.")] = 5,
    worst: Annotated[int, typer.Option(help="How many of the worst rows to explain.")] = 10,
    family_only: Annotated[bool, typer.Option(help="Ignore efficiency rows fitted to single parts.")] = False,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the tables to this page too.", show_default=False)
    ] = None,
    db: DatabaseOption = None,
) -> None:
    """Print the error of predictions by part, backend, precision, batch class and model family, and the worst rows."""
    from charz.hardware_catalog.calibration import validation

    wanted = by or list(validation.CELLS)
    for word in wanted:
        workspace.one_of("breakdown", word, list(validation.CELLS))
    with workspace.open_workspace(db) as connection:
        frame = validation.validate(connection, where, family_only)
    sections = [
        (f"By {word}", *_table(validation.score(frame, word, least_rows), len(validation.CELLS[word])))
        for word in wanted
    ]
    sections.append((f"The {worst} worst rows", *_worst(frame, worst)))
    for title, headers, rows in sections:
        display.heading(title)
        display.show(display.table(headers, rows))
    if markdown is not None:
        markdown.write_text(_page(frame, sections))


def _table(table: pl.DataFrame, names: int) -> tuple[list[str], list[list[object]]]:
    """Headers and rows of one breakdown, whose cells have so many names."""
    figures = ["rows", "median", "p90", "bias", "MAPE", "within 30 %", "Spearman", "coverage"]
    return [*table.columns[:names], *figures], [_shown(row, names) for row in table.rows()]


def _shown(row: tuple[object, ...], names: int) -> list[object]:
    figures = ["-" if value is None else f"{value:.3f}" for value in row[names + 1 :]]
    return [*("-" if name is None else name for name in row[:names]), row[names], *figures]


def _worst(frame: pl.DataFrame, count: int) -> tuple[list[str], list[list[object]]]:
    """Headers and rows of the worst predictions."""
    from charz.hardware_catalog.calibration import validation

    rows: list[list[object]] = [
        [
            row["model"], row["hardware"], row["backend"], row["batch"],
            display.seconds(row["measured_s"]), display.seconds(row["latency_s"]), f"{row['log_ratio']:+.2f}",
            row["why"],
        ]
        for row in validation.worst(frame, count).iter_rows(named=True)
    ]  # fmt: skip
    return ["model", "part", "backend", "batch", "measured", "predicted", "log ratio", "why"], rows


def _page(frame: pl.DataFrame, sections: list[tuple[str, list[str], list[list[object]]]]) -> str:
    """The tables as a page."""
    text = [
        "# Validation",
        "",
        "Written by `charz validate --markdown docs/validation.md`; do not edit.",
        "",
        f"{len(frame)} measured runs of {frame['model'].n_unique()} models on {frame['hardware'].n_unique()} parts. The error of"
        " a row is the natural logarithm of predicted over measured time: `median` and `p90` are of its absolute value, `bias` is"
        " its median (above 0 predicts too slow), `MAPE` the mean of |predicted / measured - 1|, `within 30 %` the share between"
        " 1/1.3 and 1.3, `coverage` the share inside the p10–p90 band (80 % nominal). The rows of each data set share"
        " one factor on the host's dispatch time, fitted on those that wait for the host. These are errors of the shipped catalog, whose fits saw"
        " part of these rows. On what fits did not see: [families and parts left out](validation-left-out.md);"
        " besides: [single operators](validation-operators.md), [products, attention and experts](validation-kernels.md),"
        " [energy](validation-energy.md), [energy at the wall](validation-wall-energy.md), [fresh pages on"
        " processors](validation-page-faults.md) and [one machine after `charz measure`](validation-this-machine.md).",
        "",
    ]
    for title, headers, rows in sections:
        text += [f"## {title}", "", display.markdown(headers, rows), ""]
    return "\n".join(text)
