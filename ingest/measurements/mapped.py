"""Any CSV or parquet file, by a mapping of its columns to the fields of `measurement`.

An item `field=column` takes a column; `field=column*1e-3` scales it; `field:=text` sets a constant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from charz.schema.errors import CharzError, unknown_name
from charz.schema.row import Row
from charz.schema.scenario import Measurement

from . import store, vocabulary

_ITEM = re.compile(r"^(?P<field>\w+)(?P<kind>:?=)(?P<value>.*)$")
_SCALED = re.compile(r"^(?P<column>.+?)\*(?P<factor>[0-9.eE+-]+)$")

_DEFAULTS: dict[str, object] = {
    "device_count": 1,
    "backend": "eager",
    "mode": "run",
    "precision": "fp32",
    "memory_format": "nchw",
}
"""Values of the fields that a file may leave out."""


def read(path: Path, mapping: Sequence[str], source_id: str, row_type: type[Row] = Measurement) -> pl.DataFrame:
    """Rows of the file. Raises `CharzError` on an unknown field or column or a missing model or part."""
    raw = read_table(path)
    fields = [name for name in row_type.model_fields if name != row_type.KEY[0]]
    selected = {}
    for item in mapping:
        field, expression = parse_item(item, raw.columns)
        if field not in fields:
            raise unknown_name("field", field, fields)
        selected[field] = expression
    selected["source_id"] = pl.lit(source_id)
    for field in ("model", "hardware"):
        if field not in selected:
            raise CharzError(
                f"no column is mapped to {field}",
                str(path),
                f"columns: {', '.join(raw.columns)}",
                f"add --map {field}=COLUMN",
            )
    for field, value in _DEFAULTS.items():
        if field in fields:
            selected.setdefault(field, pl.lit(value))
    return normalize(raw.select(**selected), row_type)


def read_table(path: Path) -> pl.DataFrame:
    """The file as a frame, by its suffix. Raises `CharzError` if it is missing or of another kind."""
    if not path.exists():
        raise CharzError("no such file", str(path))
    if path.suffix == ".parquet":
        return pl.read_parquet(path)
    if path.suffix in (".csv", ".tsv"):
        return pl.read_csv(path, separator="\t" if path.suffix == ".tsv" else ",", infer_schema_length=None)
    raise CharzError("not a CSV or parquet file", str(path), next="convert it, or give a PyTorch trace as .json")


def parse_item(item: str, known: Sequence[str]) -> tuple[str, pl.Expr]:
    """Field and expression of one mapping item."""
    match = _ITEM.match(item)
    if match is None:
        raise CharzError("not a mapping", item, next="write field=column, field=column*1e-3 or field:=text")
    if match["kind"] == ":=":
        return match["field"], pl.lit(match["value"])
    scaled = _SCALED.match(match["value"]) if match["value"] not in known else None
    column = scaled["column"] if scaled else match["value"]
    if column not in known:
        raise unknown_name("column", column, known)
    expression = pl.col(column)
    return match["field"], expression.cast(pl.Float64) * float(scaled["factor"]) if scaled else expression


def normalize(frame: pl.DataFrame, row_type: type[Row]) -> pl.DataFrame:
    """The frame with charz's words for backend and policy, part counts split off, latency and
    throughput completed from each other where the batch is known."""
    types = store.columns(row_type)
    frame = frame.with_columns(pl.col(c).cast(types[c]) for c in frame.columns)
    frame = frame.with_columns(
        backend=pl.col("backend").map_elements(vocabulary.backend, return_dtype=pl.String),
        precision=pl.col("precision").map_elements(vocabulary.policy, return_dtype=pl.String),
    )
    if row_type is not Measurement:
        return frame
    counted = pl.col("hardware").str.extract(r"^(\d+)x\s+").cast(pl.Int64)
    frame = frame.with_columns(
        device_count=pl.coalesce(counted, pl.col("device_count")),
        hardware=pl.col("hardware").str.replace(r"^\d+x\s+", "").str.strip_chars(),
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
