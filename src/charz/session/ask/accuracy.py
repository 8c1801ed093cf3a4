"""Distance of measured servers from predictions, from rows of `prediction_band`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from charz.schema.errors import some

from ..quantities import quantity

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TOLD = {"tpot": "TPOT", "ttft_mean": "mean TTFT", "ttft": "median TTFT"}
"""Names of the quantities of servers under load, in the order of a sentence."""

_COLUMNS = ("backend", "quantity", "low_factor", "high_factor", "median_error_fraction", "row_count", "part_count", "parts")

Record = Mapping[str, Any]


def lines(connection: DuckDBPyConnection, rows: Iterable[Record]) -> list[str]:
    """Tell for the server of each row how far measurements were from predictions. The first row of a server is an example of what that means for its
    time of a later token."""
    faulty = "SELECT row_key FROM rule_fault WHERE kind = 'prediction_band' AND NOT is_possible"
    key = "CONCAT(scope, '.', backend, '.', batch_class, '.', quantity)"
    query = f"SELECT {', '.join(_COLUMNS)} FROM prediction_band WHERE scope = '*' AND batch_class = '*' AND {key} NOT IN ({faulty})"
    bands: dict[str, dict[str, Record]] = {}
    for values in connection.execute(query).fetchall():
        band = dict(zip(_COLUMNS, values, strict=True))
        bands.setdefault(band["backend"], {})[band["quantity"]] = band
    listed = list(rows)
    first = {row["backend"]: row for row in reversed(listed)}
    known = [(backend, row, bands[backend]) for backend, row in sorted(first.items()) if bands.get(backend)]
    return [
        sentence(backend, found, row.get("tpot_s"), row.get("tpot_p99_s") is not None)
        + unmeasured(found, [other["hardware"] for other in listed if other["backend"] == backend])
        for backend, row, found in known
    ]


def unmeasured(bands: Mapping[str, Record], parts: Sequence[str]) -> str:
    """Name the parts on which loads were measured, if a part of the answer is not among them."""
    measured = sorted({part for band in bands.values() for part in (band.get("parts") or "").split(",") if part})
    others = sorted(set(parts) - set(measured))
    return f"; measured on {', '.join(measured)}, not on {some(others, 3)}" if measured and others else ""


def sentence(backend: str, bands: Mapping[str, Record], tpot_s: float | None, has_late: bool = False) -> str:
    """Tell the errors of a server under load, or those of its static batches where no load was measured, and the number of parts of each. `has_late`
    tells that the answer has 99th percentiles, of which no errors are known."""
    late = "; of p99 no errors are known: this band does not apply to it, and a limit on it leaves no margin" if has_late else ""
    known = [(word, bands[name]) for name, word in TOLD.items() if name in bands]
    if not known:
        band = bands["latency"]
        return f"accuracy: four fifths of {band['row_count']} measured batches {_on(band)} under {backend} took {_span(band)} times the predicted time{late}"
    told = [f"{word} of {band['row_count']} loads {_on(band)} {100 * band['median_error_fraction']:.0f} %, {_span(band)}" for word, band in known]
    told[0] = told[0].replace(" %, ", " % off in the median, four fifths ") + " times the predicted"
    line = f"accuracy under {backend}: {'; '.join(told)}"
    if tpot_s is None or "tpot" not in bands:
        return line + late
    low, high = (quantity(tpot_s * bands["tpot"][end], "s") for end in ("low_factor", "high_factor"))
    return f"{line}; so a TPOT of {quantity(tpot_s, 's')} means {low} to {high}{late}"


def _on(band: Record) -> str:
    return f"on {band['part_count']} part{'' if band['part_count'] == 1 else 's'}"


def _span(band: Record) -> str:
    return f"{band['low_factor']:.3g} to {band['high_factor']:.3g}"
