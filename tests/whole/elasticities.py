"""Effect of doubling one number of a part on its answers. `python -m tests.whole.elasticities FILE` prints the table of a file
made by `make`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

import charz

MODEL = "synthetic:mlp,in=4096,hidden=4096,out=4096,layers=2"
COMPUTE_BOUND, MEMORY_BOUND = 8192, 1
"""Batches at which two layers of 4,096 x 4,096 are bound by arithmetic, and by the weights that they read."""

PARTS = {
    "rtx4090": ("eager", "fp16"),
    "i9_10940x": ("eager", "fp32"),
    "tpu_v4": ("xla", "bf16"),
    "kpu_t64": ("kpu", "bf16"),
    "hexagon698": ("onnxruntime", "int8"),
    "gaudi2": ("onnxruntime", "bf16"),
}
"""A part of each family, with its backend and precision."""

_OF = "WHERE hardware = '{part}'"
UNLIMITED = (
    "UPDATE hardware_power SET idle_w = (SELECT value FROM part_energy WHERE hardware = '{part}' AND what = 'static'),"
    f" tdp_w = 1e6 {_OF}"
)
"""Statement that lifts power limits and keeps the static power."""

DOUBLED = {
    "units": (f"UPDATE hardware_cluster SET unit_count = 2 * unit_count {_OF}",),
    "clock": (f"UPDATE hardware_cluster SET clock_boost_hz = 2 * clock_boost_hz {_OF}",),
    "energies": (
        f"UPDATE energy_profile SET value = 2 * value {_OF} AND what <> 'static'",
        "INSERT INTO energy_profile BY NAME SELECT * EXCLUDE (is_stated) REPLACE (2 * value AS value) FROM part_energy"
        f" {_OF} AND what <> 'static' AND NOT is_stated",
    ),
    "power limit": (f"UPDATE hardware_power SET tdp_w = 2 * tdp_w {_OF}",),
}
"""Statements that double one kind of number of a part."""

_LEVEL = "UPDATE hardware_memory SET {column} = 2 * (SELECT {column} FROM part_memory AS m WHERE m.hardware = '{part}'"
_LEVEL += " AND m.level = '{level}') WHERE hardware = '{part}' AND level = '{level}'"
LEVEL_COLUMNS = {"bandwidth": "bandwidth_byte_per_s", "size": "capacity_byte"}
"""Numbers of a memory level."""

LIMITED = ("energies", "power limit")
"""Numbers that are doubled under the part's power limit; others are doubled without one."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of doubling a number of a part on a run."""

    part: str
    doubled: str
    batch: int
    speedup: float
    """Time before over time after."""
    energy: float
    """Energy after over energy before."""
    static: float
    """Static energy after over before."""
    dynamic: float
    """Energy that is not static, after over before."""


def make(path: Path) -> None:
    """Write a file with the model and the scenarios of `PARTS`."""
    with charz.open(path) as session:
        session.ingest("synthetic:mlp", settings=["in=4096", "hidden=4096", "out=4096"])
        for backend, precision in PARTS.values():
            for batch in (COMPUTE_BOUND, MEMORY_BOUND):
                session.scenario.add(batch=batch, precision=precision, backend=backend)


def effects(connection: duckdb.DuckDBPyConnection, part: str) -> Iterator[Effect]:
    """Yield the effect of every doubling of a part, and restore the file."""
    doublings = list(_doublings(connection, part))
    yield from _effects(connection, part, [d for d in doublings if d[0] in LIMITED])
    connection.execute(f"CREATE OR REPLACE TEMP TABLE modes AS SELECT * FROM hardware_power {_OF}".format(part=part))
    connection.execute(UNLIMITED.format(part=part))
    try:
        yield from _effects(connection, part, [d for d in doublings if d[0] not in LIMITED])
    finally:
        connection.execute(f"DELETE FROM hardware_power {_OF}".format(part=part))
        connection.execute("INSERT INTO hardware_power BY NAME SELECT * FROM modes")


def _effects(
    connection: duckdb.DuckDBPyConnection, part: str, doublings: list[tuple[str, tuple[str, ...]]]
) -> Iterator[Effect]:
    """Yield the effect of each doubling on the part in the file."""
    before = _answers(connection, part, ())
    for doubled, statements in doublings:
        for batch, (time, energy, static) in _answers(connection, part, statements).items():
            old_time, old_energy, old_static = before[batch]
            dynamic = (energy - static) / (old_energy - old_static)
            yield Effect(part, doubled, batch, old_time / time, energy / old_energy, static / old_static, dynamic)


def _doublings(connection: duckdb.DuckDBPyConnection, part: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the doublings of a part with their statements: `DOUBLED`, without an unstated clock, and each memory level."""
    (has_clock,) = _row(connection, f"SELECT BOOL_OR(clock_boost_hz IS NOT NULL) FROM hardware_cluster {_OF}", part)
    yield from ((doubled, made) for doubled, made in DOUBLED.items() if has_clock or doubled != "clock")
    query = f"SELECT level, {', '.join(LEVEL_COLUMNS.values())} FROM part_memory {_OF}"
    for level, *numbers in connection.execute(f"{query} ORDER BY depth".format(part=part)).fetchall():
        for (what, column), number in zip(LEVEL_COLUMNS.items(), numbers, strict=True):
            if number is not None:
                yield f"{level} {what}", (_LEVEL.format(column=column, part=part, level=level),)


def _row(connection: duckdb.DuckDBPyConnection, query: str, part: str) -> tuple[object, ...]:
    """Return the only row of a query about a part."""
    (row,) = connection.execute(query.format(part=part)).fetchall()
    return row


def _answers(
    connection: duckdb.DuckDBPyConnection, part: str, statements: tuple[str, ...]
) -> dict[int, tuple[float, float, float]]:
    """Return time, energy and static energy by batch, with the statements in force."""
    backend, precision = PARTS[part]
    query = """
        SELECT batch, latency_s, energy_j, static_energy_j FROM model_cost
        WHERE model = ? AND hardware = ? AND backend = ? AND precision = ? AND batch IN (?, ?)
    """
    connection.begin()
    for statement in statements:
        connection.execute(statement.format(part=part))
    values = [MODEL, part, backend, precision, COMPUTE_BOUND, MEMORY_BOUND]
    rows = connection.execute(query, values).fetchall()
    connection.rollback()
    return {batch: (time, energy, static) for batch, time, energy, static in rows}


def main() -> None:
    """Print the table in Markdown."""
    path = Path(sys.argv[1])
    if not path.exists():
        make(path)
    print(f"| part | doubled | time, {COMPUTE_BOUND:,} | energy | static | time, {MEMORY_BOUND} | energy | static |")
    print("|---|---|---|---|---|---|---|---|")
    with duckdb.connect(str(path), config={"threads": 1}) as connection:
        for part in PARTS:
            found = {(e.doubled, e.batch): e for e in effects(connection, part)}
            for doubled in dict.fromkeys(name for name, _ in found):
                both = (found[doubled, batch] for batch in (COMPUTE_BOUND, MEMORY_BOUND))
                numbers = " | ".join(f"{number:.3f}" for e in both for number in (e.speedup, e.energy, e.static))
                print(f"| `{part}` | {doubled} | {numbers} |")


if __name__ == "__main__":
    main()
