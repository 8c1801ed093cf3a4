"""Fitted rows into the catalog's CSV tables, so that a calibration ships."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path

from charz.schema import user_file
from charz.schema.catalog import Efficiency, PredictionBand, Source
from charz.schema.row import Row

from .fit import RESOURCES
from .rows import FittedRows
from .store import numbered


def replace_rows(folder: Path, rows: FittedRows) -> None:
    """Put the rows in `efficiency.csv`, `prediction_band.csv`, `source.csv` and the tables of the constants of a
    folder, in place of those with the same scope and backend, the same source, or the same key; of efficiencies only
    of the resources that are fitted, for the others are set by hand; of bands only those of the same source or the
    same batches, for other sizes come from other measurements. An efficiency row keeps the number that its key had."""
    fitted = {(row.scope, row.backend) for row in rows.efficiency} | rows.withdrawn
    _replace(
        folder / "efficiency.csv", Efficiency, _with_own_numbers(folder / "efficiency.csv", rows.efficiency),
        lambda r: (r["scope"], r["backend"]) in fitted and r["resource"] in RESOURCES,
    )  # fmt: skip
    banded = {(band.scope, band.backend, place) for band in rows.bands for place in (band.source_id, band.batch_class)}
    _replace(
        folder / "prediction_band.csv", PredictionBand, rows.bands,
        lambda r: any((r["scope"], r["backend"], place) in banded for place in (r["source_id"], r["batch_class"])),
    )  # fmt: skip
    names = {source.source_id for source in rows.sources}
    _replace(folder / "source.csv", Source, rows.sources, lambda r: r["source_id"] in names)
    for row_type in {type(row) for row in rows.constants}:
        _replace_by_key(folder, row_type, [row for row in rows.constants if type(row) is row_type])


def _with_own_numbers(path: Path, rows: Sequence[Efficiency]) -> list[Efficiency]:
    """The rows with the numbers that their keys have in the file; new ones with numbers above all of them."""
    known = {tuple(row[c] for c in Efficiency.KEY): int(row["efficiency_id"]) for row in _read(path)}
    keys = [tuple(str(getattr(row, c)) for c in Efficiency.KEY) for row in rows]
    new = iter(numbered((row for row, key in zip(rows, keys, strict=True) if key not in known), known.values()))
    return [
        row.model_copy(update={"efficiency_id": known[key]}) if key in known else next(new)
        for row, key in zip(rows, keys, strict=True)
    ]


def _replace(path: Path, row_type: type[Row], rows: Sequence[Row], is_old: Callable[[dict[str, str]], bool]) -> None:
    """Leave out the old rows and write the new ones after those that stay; a table without new or old rows stays."""
    held = _read(path)
    kept = [row for row in held if not is_old(row)]
    if rows or len(kept) < len(held):
        _write(path, row_type, [*kept, *map(_texts, rows)])


def _replace_by_key(folder: Path, row_type: type[Row], rows: Sequence[Row]) -> None:
    """Write each row where the one with its key stood, or at the end."""
    path = folder / f"{row_type.TABLE}.csv"
    held = {tuple(row[name] for name in row_type.KEY): row for row in _read(path)}
    for row in map(_texts, rows):
        held[tuple(row[name] for name in row_type.KEY)] = row
    _write(path, row_type, list(held.values()))


def _texts(row: Row) -> dict[str, str]:
    return {name: "" if value is None else str(value) for name, value in row.model_dump().items()}


def _read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _write(path: Path, row_type: type[Row], rows: Sequence[dict[str, str]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(row_type.model_fields), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    user_file.write(path, text.getvalue().encode(), force=True)
