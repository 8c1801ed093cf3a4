"""Lengths and arrivals of requests, from a CSV or parquet file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from charz.schema.errors import CharzError

if TYPE_CHECKING:
    import polars as pl

LENGTHS = ("prompt", "output")
ARRIVAL = "arrival"
SUFFIXES = (".csv", ".parquet")


@dataclass(frozen=True, slots=True)
class Trace:
    """Requests in the order of arrival."""

    prompts: list[int]
    """Tokens of each prompt."""
    outputs: list[int]
    """Tokens generated for each request."""
    arrivals_s: list[float]
    """Time of each arrival after the first; empty for a file of lengths alone. [s]"""

    @property
    def mean_prompt(self) -> float:
        """Return the mean tokens of a prompt."""
        return sum(self.prompts) / len(self.prompts)

    @property
    def mean_output(self) -> float:
        """Return the mean tokens of an answer."""
        return sum(self.outputs) / len(self.outputs)

    @property
    def mean_context(self) -> float:
        """Return the mean tokens of a running request: long answers run longer, so they weigh more."""
        weighed = sum(o * (p + o / 2) for p, o in zip(self.prompts, self.outputs, strict=True))
        return weighed / sum(self.outputs)


def read(path: Path, *, arrives: bool) -> Trace:
    """Read a file with the columns `prompt` and `output`, and with `arrives` also `arrival`. Raise `CharzError` that names the first wrong row."""
    frame = _frame(path)
    columns = (ARRIVAL, *LENGTHS) if arrives else LENGTHS
    if missing := [name for name in columns if name not in frame.columns]:
        has = ", ".join(frame.columns)
        raise CharzError("a column is missing", f"{', '.join(missing)} in {path}", f"it has {has}", f"name columns {', '.join(columns)}")
    if not len(frame):
        raise CharzError("no requests", str(path), "the file has no rows")
    prompts, outputs = (_whole(frame, name, path) for name in LENGTHS)
    if not arrives:
        return Trace(prompts, outputs, [])
    arrivals = _seconds(frame, path)
    order = sorted(range(len(arrivals)), key=arrivals.__getitem__)
    return Trace([prompts[i] for i in order], [outputs[i] for i in order], [arrivals[i] - arrivals[order[0]] for i in order])


def _frame(path: Path) -> pl.DataFrame:
    import polars as pl

    if path.suffix not in SUFFIXES:
        raise CharzError("not a file of requests", str(path), next=f"write {' or '.join(SUFFIXES)}")
    try:
        return pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    except pl.exceptions.NoDataError:
        raise CharzError("no requests", str(path), "the file is empty") from None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise CharzError("not readable", str(path), str(error).splitlines()[0]) from None


def _whole(frame: pl.DataFrame, name: str, path: Path) -> list[int]:
    """Return a column of whole numbers of at least 1."""
    found = frame[name].to_list()
    for row, value in enumerate(found, start=1):
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1 or not 1 <= value < 1e9:
            raise CharzError("not a number of tokens", f"{path}, row {row}: {name} {value}", next="write a whole number of at least 1")
    return [int(value) for value in found]


def _seconds(frame: pl.DataFrame, path: Path) -> list[float]:
    """Return the arrivals, which are numbers of seconds or points in time. [s]"""
    column = frame[ARRIVAL]
    if column.dtype.is_temporal():
        column = column.dt.timestamp("us") / 1e6
    found = column.to_list()
    for row, value in enumerate(found, start=1):
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
            raise CharzError("not a time", f"{path}, row {row}: {ARRIVAL} {value}", next="write seconds, e.g. 12.5")
    return [float(value) for value in found]
