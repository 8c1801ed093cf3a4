"""Fitted rows into the catalog's CSV tables, so that a calibration ships."""

from __future__ import annotations

import csv
from collections.abc import Collection, Sequence
from pathlib import Path

from charz.schema.catalog import Efficiency, PredictionBand, Source
from charz.schema.row import Row

from .fit import RESOURCES
from .store import numbered


def replace_rows(
    folder: Path,
    efficiency: Sequence[Efficiency],
    bands: Sequence[PredictionBand],
    sources: Sequence[Source],
    withdrawn: Collection[tuple[str, str]] = (),
) -> None:
    """Put the rows in `efficiency.csv`, `prediction_band.csv` and `source.csv` of a folder, in place of
    those with the same scope and backend, or the same source; of efficiencies only of the resources that are fitted, for
    the others are set by hand, and of the scopes and backends `withdrawn` even if none come; of bands only those of the
    same source or the same batches, for other sizes come from other measurements. An efficiency row keeps the number that
    its key had."""
    fitted = {(row.scope, row.backend) for row in efficiency} | set(withdrawn)
    _replace(
        folder / "efficiency.csv", Efficiency, _with_own_numbers(folder / "efficiency.csv", efficiency),
        lambda r: (r["scope"], r["backend"]) in fitted and r["resource"] in RESOURCES,
    )  # fmt: skip
    banded = {(band.scope, band.backend, place) for band in bands for place in (band.source_id, band.batch_class)}
    _replace(
        folder / "prediction_band.csv", PredictionBand, bands,
        lambda r: any((r["scope"], r["backend"], place) in banded for place in (r["source_id"], r["batch_class"])),
    )  # fmt: skip
    names = {source.source_id for source in sources}
    _replace(folder / "source.csv", Source, sources, lambda r: r["source_id"] in names)


def _with_own_numbers(path: Path, rows: Sequence[Efficiency]) -> list[Efficiency]:
    """The rows with the numbers that their keys have in the file; new ones with numbers above all of them."""
    known: dict[tuple[str, ...], int] = {}
    if path.exists():
        with path.open(newline="") as file:
            known = {tuple(row[c] for c in Efficiency.KEY): int(row["efficiency_id"]) for row in csv.DictReader(file)}
    keys = [tuple(str(getattr(row, c)) for c in Efficiency.KEY) for row in rows]
    new = iter(numbered((row for row, key in zip(rows, keys, strict=True) if key not in known), known.values()))
    return [
        row.model_copy(update={"efficiency_id": known[key]}) if key in known else next(new)
        for row, key in zip(rows, keys, strict=True)
    ]


def _replace(path: Path, row_type: type[Row], rows: Sequence[Row], is_old) -> None:  # type: ignore[no-untyped-def]  # a predicate on a CSV row
    kept: list[dict[str, str]] = []
    if path.exists():
        with path.open(newline="") as file:
            kept = [row for row in csv.DictReader(file) if not is_old(row)]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(row_type.model_fields), lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)
        writer.writerows({k: "" if v is None else v for k, v in row.model_dump().items()} for row in rows)
