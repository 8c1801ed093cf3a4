"""What becomes of a part's answers when a plain client writes a number that cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import duckdb

from charz.schema import ddl
from charz.schema.catalog import (
    EnergyProfile,
    HardwareCluster,
    HardwareInterconnect,
    HardwareMemory,
    HardwareOverhead,
    HardwarePeak,
    HardwarePower,
    Price,
)

TABLES = (
    HardwareCluster, HardwareMemory, HardwarePeak, HardwarePower, HardwareOverhead, HardwareInterconnect, EnergyProfile, Price,
)  # fmt: skip
ORDINALS = ("cluster_rank", "is_default")
VALUES = ("NULL", "0", "-1", "'nan'::DOUBLE", "'inf'::DOUBLE", "1e308")


@dataclass(frozen=True, slots=True)
class Fault:
    """One statement of a plain client."""

    part: str
    what: str
    """Field as `hardware_value` names it, or the row."""
    value: str
    statement: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the file makes of a fault."""

    fault: Fault
    kind: str
    """`refused` by the engine, `null`, `gone`, or `answered`."""
    least_ratio: float
    """Smallest latency over what it was before."""
    is_named: bool


def faults(connection: duckdb.DuckDBPyConnection, part: str) -> Iterator[Fault]:
    """Every number of a part's rows with each value that cannot be, and every row deleted."""
    for row_type in TABLES:
        names = ", ".join(row_type.KEY)
        for key in connection.execute(f"SELECT {names} FROM {row_type.TABLE} WHERE hardware = ?", [part]).fetchall():
            where = " AND ".join(f"{n} = {ddl.literal(v)}" for n, v in zip(row_type.KEY, key, strict=True))
            row = ".".join((row_type.TABLE, *key[1:]))
            yield Fault(part, row, "row deleted", f"DELETE FROM {row_type.TABLE} WHERE {where}")
            for column in ddl.columns(row_type):
                if column.python_type not in (int, float) or column.name in ORDINALS:
                    continue
                query = f"SELECT {column.name} FROM {row_type.TABLE} WHERE {where}"
                if connection.execute(query).fetchall() == [(None,)]:
                    continue  # an unknown number is no fault
                for value in VALUES:
                    statement = f"UPDATE {row_type.TABLE} SET {column.name} = {value} WHERE {where}"
                    yield Fault(part, f"{row}.{column.name}", value, statement)
    for row_type in TABLES:
        yield Fault(part, row_type.TABLE, "all rows deleted", f"DELETE FROM {row_type.TABLE} WHERE hardware = '{part}'")


def answers(connection: duckdb.DuckDBPyConnection, part: str) -> dict[tuple[object, ...], tuple[float | None, ...]]:
    """Latency and energy of one model on a part, by run."""
    query = """
        SELECT backend, precision, batch, latency_s, energy_j FROM model_cost
        WHERE model = 'small' AND hardware = ? AND batch IN (1, 64)
    """
    return {row[:3]: row[3:] for row in connection.execute(query, [part]).fetchall()}


def outcome(
    connection: duckdb.DuckDBPyConnection, fault: Fault, before: dict[tuple[object, ...], tuple[float | None, ...]]
) -> Outcome:
    """What the file answers after the fault; the file is as before afterwards."""
    connection.execute("BEGIN")
    try:
        connection.execute(fault.statement)
        after = answers(connection, fault.part)
        found = connection.execute("SELECT 1 FROM impossible_number WHERE hardware = ?", [fault.part]).fetchall()
    except (duckdb.ConversionException, duckdb.ConstraintException):
        return Outcome(fault, "refused", 1.0, True)
    finally:
        connection.execute("ROLLBACK")
    times = [after[key][0] for key in before if key in after]
    if not times:
        return Outcome(fault, "gone", 1.0, bool(found))
    if all(time is None for time in times):
        is_null = all(energy is None for _, energy in after.values())
        return Outcome(fault, "null" if is_null else "energy", 1.0, bool(found))
    ratios = [after[k][0] / before[k][0] for k in before if k in after and after[k][0] is not None]  # type: ignore[operator]
    return Outcome(fault, "answered", min(ratios, key=lambda r: r if r == r else -1.0), bool(found))
