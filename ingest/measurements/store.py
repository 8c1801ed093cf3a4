"""Writes measured rows into a database: ids, hardware names, one data set replaced at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence

import duckdb
import polars as pl

from charz.schema import database
from charz.schema.catalog.part import HardwareAlias
from charz.schema.catalog.source import Source
from charz.schema.row import Row
from charz.schema.scenario import Measurement, OperatorMeasurement

_POLARS_TYPE: dict[str, pl.DataType | type[pl.DataType]] = {
    "int": pl.Int64,
    "float": pl.Float64,
    "str": pl.String,
    "bool": pl.Boolean,
    "datetime": pl.Datetime("us"),
    "datetime.datetime": pl.Datetime("us"),
}

_COUNTED_HARDWARE = re.compile(r"^(\d+)x\s+(.+)$")


def columns(row_type: type[Row]) -> dict[str, pl.DataType | type[pl.DataType]]:
    """Return the polars type of every field of a row type."""
    return {
        name: _POLARS_TYPE[str(getattr(field.annotation, "__name__", field.annotation)).split(" ")[0]]
        for name, field in row_type.model_fields.items()
    }


def conform(frame: pl.DataFrame, row_type: type[Row]) -> pl.DataFrame:
    """Give the frame exactly the row type's columns; a missing one becomes null."""
    if not frame.columns:
        return pl.DataFrame(schema=columns(row_type))
    return frame.select(
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in columns(row_type).items()
    )


def split_count(hardware: str) -> tuple[int, str]:
    """Split `8x NVIDIA A30` into (8, `NVIDIA A30`); a name without a number counts one."""
    match = _COUNTED_HARDWARE.match(hardware.strip())
    return (int(match[1]), match[2]) if match else (1, hardware.strip())


def store(
    connection: duckdb.DuckDBPyConnection, frame: pl.DataFrame, row_type: type[Row], sources: Sequence[Source]
) -> int:
    """Replace the rows of the given data sets by the frame's, and return the number of written rows.

    `frame` has the row type's columns except the key and `hardware`, which are added here: ids
    continue after those in use, and `hardware_name` is looked up among the names of the catalog's parts.
    """
    key = row_type.KEY[0]
    names = [source.source_id for source in sources]
    for table in (row_type.TABLE, Source.TABLE):  # all at once: each statement on `source` fires its triggers
        connection.execute(f"DELETE FROM {table} WHERE list_contains(?, source_id)", [names])
    database.insert_rows(connection, sources)
    first = connection.sql(f"SELECT COALESCE(MAX({key}), 0) + 1 FROM {row_type.TABLE}").fetchall()[0][0]
    numbered = (
        frame.drop([c for c in (key, "hardware") if c in frame.columns])
        .join(hardware_names(connection), on="hardware_name", how="left")
        .with_row_index(key, offset=first)
    )
    rows = conform(numbered, row_type)
    connection.register("measured_rows", rows.to_arrow())
    listed = ", ".join(rows.columns)
    connection.execute(f"INSERT INTO {row_type.TABLE} ({listed}) SELECT {listed} FROM measured_rows")
    connection.unregister("measured_rows")
    return len(rows)


def hardware_names(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Return every name of a part, as `hardware_name`, and the part: its own, an alias, or its trade name if only one
    part has it."""
    return connection.sql(
        f"""
        SELECT hardware_name, ANY_VALUE(hardware) AS hardware FROM (
            SELECT alias AS hardware_name, hardware FROM {HardwareAlias.TABLE}
            UNION SELECT hardware, hardware FROM hardware
            UNION SELECT name, hardware FROM hardware
        ) GROUP BY hardware_name HAVING COUNT(DISTINCT hardware) = 1
        """
    ).pl()


def unmatched_hardware(connection: duckdb.DuckDBPyConnection, sources: Sequence[str]) -> pl.DataFrame:
    """Return the part names in measurements of the sources that the catalog does not know, with their row counts."""
    return connection.sql(
        f"""
        SELECT hardware_name, COUNT(*) AS rows FROM (
            SELECT hardware_name, hardware, source_id FROM {Measurement.TABLE}
            UNION ALL SELECT hardware_name, hardware, source_id FROM {OperatorMeasurement.TABLE}
        ) WHERE hardware IS NULL AND list_contains(?, source_id) GROUP BY hardware_name ORDER BY rows DESC, hardware_name
        """,
        params=[list(sources)],
    ).pl()
