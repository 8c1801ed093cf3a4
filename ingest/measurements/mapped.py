"""Imports any CSV or parquet file, by a mapping of its columns to the fields of `measurement`.

An item `field=column` takes a column; `field=column*1e-3` scales it; `field:=text` sets a constant. A column with
the name of a field needs no item.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from charz.schema.errors import CharzError, unknown_name
from charz.schema.row import Row
from charz.schema.scenario import Measurement

from . import store, vocabulary

_ITEM = re.compile(r"^(?P<field>\w+)(?P<kind>:?=)(?P<value>.*)$")
_SCALED = re.compile(r"^(?P<column>.+)\*(?P<factor>[^*]+)$")

_DEFAULTS: dict[str, object] = {
    "device_count": 1,
    "backend": "eager",
    "mode": "run",
    "precision": "fp32",
    "memory_format": "nchw",
}
"""Values of the fields that a file may leave out."""


PART = "hardware"
"""Field of the part's name, which may be a name outside the catalog."""

_TEXTS = (pl.String, pl.Binary, pl.Null)
"""Types of columns that may contain numbers as text. Truth values and durations are not numbers."""

_TIMES = ("latency_s", "throughput_per_s", "energy_j", "peak_memory_byte")
"""Fields of which a measured row must have at least one."""


@dataclass(frozen=True)
class Mapped:
    """Rows of a file, its unused columns and the assumed values."""

    frame: pl.DataFrame
    left_out: list[str]
    """Columns of the file that no field takes."""
    assumed: dict[str, object]
    """Assumed value of each field that the file lacks in some row."""


def is_named(columns: Sequence[str]) -> bool:
    """Return True for a file whose columns have the names of the fields that a measured row needs."""
    return {"model", PART} <= set(columns) and not set(_TIMES).isdisjoint(columns)


def read(path: Path, mapping: Sequence[str], source_id: str, row_type: type[Row] = Measurement) -> Mapped:
    """Read the rows of the file. Raise `CharzError` on an unknown field or column or a missing model or part."""
    raw = read_table(path)
    # The store fills in the number of a row and its data set, and looks up the part of the catalog by the name in the file.
    filled = (row_type.KEY[0], "hardware_name", "source_id")
    fields = [name for name in row_type.model_fields if name not in filled]
    selected = {name: pl.col(name) for name in fields if name in raw.columns}
    mapped: set[str] = set()
    for item in mapping:
        field, expression = parse_item(item, raw.columns)
        if field not in fields:
            raise unknown_name("field", field, fields)
        if field in mapped:
            raise CharzError("a field is mapped twice", item, next="leave one of them out")
        mapped.add(field)
        selected[field] = expression
    for field in ("model", PART):
        if field not in selected:
            raise CharzError(
                f"no column is mapped to {field}",
                str(path),
                f"columns: {', '.join(raw.columns)}",
                f"add --map {field}=COLUMN",
            )
    taken = {name for expression in selected.values() for name in expression.meta.root_names()}
    defaults = {field: value for field, value in _DEFAULTS.items() if field in fields}
    frame = _typed(raw, selected | {"source_id": pl.lit(source_id)}, row_type, path).rename({PART: "hardware_name"})
    assumed = {field: v for field, v in defaults.items() if field not in frame.columns or frame[field].null_count()}
    frame = frame.with_columns(
        (pl.col(field).fill_null(value) if field in frame.columns else pl.lit(value)).alias(field)
        for field, value in assumed.items()
    )
    left_out = [name for name in raw.columns if name not in taken]
    return Mapped(normalize(frame, row_type), left_out, assumed)


def _typed(raw: pl.DataFrame, selected: dict[str, pl.Expr], row_type: type[Row], path: Path) -> pl.DataFrame:
    """Convert the selected fields to their types. Raise `CharzError` that names the first value of another type."""
    types = store.columns(row_type)
    series = []
    for field, expression in selected.items():
        needed = "text" if types[field] == pl.String else "a number"
        try:
            for column in expression.meta.root_names() if needed == "a number" else ():
                if not raw.schema[column].is_numeric() and raw.schema[column] not in _TEXTS:
                    raise pl.exceptions.InvalidOperationError(f"column {column} contains values of type {raw.schema[column]}")
            values = raw.select(expression.cast(types[field]).alias(field)).to_series()
        except pl.exceptions.PolarsError as error:
            raise CharzError(
                f"{field} is not {needed} everywhere", str(path), str(error).splitlines()[0],
                f"--map {field}=COLUMN takes another column, --map {field}:=VALUE sets one for all rows",
            ) from error  # fmt: skip
        if len(raw) and field in ("model", PART) and (values.is_null() | (values == "")).any():
            raise CharzError(f"{field} is empty in some rows", str(path), next="fill it in or remove these rows")
        series.append(values)
    # A constant has one value, for every row.
    return pl.DataFrame(
        [values.new_from_index(0, len(raw)) if len(values) != len(raw) else values for values in series]
    )


def read_table(path: Path) -> pl.DataFrame:
    """Read the file by its suffix. Raise `CharzError` if it is of another kind; `files.read` reports a missing or
    broken one."""
    if path.suffix == ".parquet":
        return pl.read_parquet(path)
    if path.suffix in (".csv", ".tsv"):
        return pl.read_csv(path, separator="\t" if path.suffix == ".tsv" else ",", infer_schema_length=None)
    raise CharzError("not a CSV or parquet file", str(path), next="convert it, or give a PyTorch trace as .json")


def parse_item(item: str, known: Sequence[str]) -> tuple[str, pl.Expr]:
    """Parse one mapping item into its field and expression."""
    match = _ITEM.match(item)
    if match is None:
        raise CharzError("not a mapping", item, next="write field=column, field=column*1e-3 or field:=text")
    if match["kind"] == ":=":
        return match["field"], pl.lit(match["value"])
    scaled = _SCALED.match(match["value"]) if match["value"] not in known else None
    column = scaled["column"] if scaled else match["value"]
    if column not in known:
        raise unknown_name("column", column, known)
    if not scaled:
        return match["field"], pl.col(column)
    try:
        factor = float(scaled["factor"])
    except ValueError as error:
        raise CharzError("not a factor", item, next="write field=column*1e-3") from error
    return match["field"], pl.col(column).cast(pl.Float64) * factor


def normalize(frame: pl.DataFrame, row_type: type[Row]) -> pl.DataFrame:
    """Use charz's words for backend and precision, split off part counts, and derive latency and
    throughput from each other where the batch is known."""
    types = store.columns(row_type)
    frame = frame.with_columns(pl.col(c).cast(types[c]) for c in frame.columns)
    frame = frame.with_columns(
        backend=pl.col("backend").map_elements(vocabulary.backend, return_dtype=pl.String),
        precision=pl.col("precision").map_elements(vocabulary.precision, return_dtype=pl.String),
    )
    if row_type is not Measurement:
        return frame
    counted = pl.col("hardware_name").str.extract(r"^(\d+)x\s+").cast(pl.Int64)
    frame = frame.with_columns(
        device_count=pl.coalesce(counted, pl.col("device_count")),
        hardware_name=pl.col("hardware_name").str.replace(r"^\d+x\s+", "").str.strip_chars(),
    )
    if "model_source" not in frame.columns:
        frame = frame.with_columns(
            model_source=pl.col("model").replace_strict(vocabulary.model_names(), default=pl.col("model"))
        )
    if {"batch", "latency_s"} <= set(frame.columns) and "throughput_per_s" not in frame.columns:
        frame = frame.with_columns(throughput_per_s=pl.col("batch") / pl.col("latency_s"))
    if {"batch", "throughput_per_s"} <= set(frame.columns) and "latency_s" not in frame.columns:
        frame = frame.with_columns(latency_s=pl.col("batch") / pl.col("throughput_per_s"))
    return frame
