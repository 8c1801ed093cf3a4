"""Writing of fitted rows into the catalog's CSV tables, so that a calibration ships."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path

from charz.schema import user_file
from charz.schema.catalog.efficiency import Efficiency, PredictionBand
from charz.schema.catalog.source import Source
from charz.schema.row import Row

from .fit import RESOURCES
from .rows import FittedRows
from .store import numbered


def replace_rows(folder: Path, rows: FittedRows) -> None:
    """Replace rows in `efficiency.csv`, `prediction_band.csv`, `source.csv` and the tables of constants in a folder.

    New rows replace those with the same scope and backend, the same source, or the same key. Efficiencies are replaced only for fitted
    resources, as the others are set by hand; bands only for the same source or batches, as other sizes come from other measurements. An
    efficiency row keeps the number of its key.
    """
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
    """Number the rows: a key's number from the file, for new keys numbers above all known ones."""
    known = {tuple(row[c] for c in Efficiency.KEY): int(row["efficiency_id"]) for row in _read(path)}
    keys = [tuple(str(getattr(row, c)) for c in Efficiency.KEY) for row in rows]
    new = iter(numbered((row for row, key in zip(rows, keys, strict=True) if key not in known), known.values()))
    return [
        row.model_copy(update={"efficiency_id": known[key]}) if key in known else next(new)
        for row, key in zip(rows, keys, strict=True)
    ]


def _replace(path: Path, row_type: type[Row], rows: Sequence[Row], is_old: Callable[[dict[str, str]], bool]) -> None:
    """Drop the old rows and append the new ones; a table without new or old rows is not written."""
    held = _read(path)
    kept = [row for row in held if not is_old(row)]
    if rows or len(kept) < len(held):
        _write(path, row_type, [*kept, *map(_texts, rows)])


def _replace_by_key(folder: Path, row_type: type[Row], rows: Sequence[Row]) -> None:
    """Replace each row that has the key of a new one, or append the new row."""
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
