"""What becomes of a part's answers when one of its numbers is doubled; `python -m tests.whole.elasticities FILE` prints the
table of a file made by `make`."""

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
    "hailo8": ("onnxruntime", "int8"),
}
"""One of each family, with the backend and precision that it is asked about."""

_OF = "WHERE hardware = '{part}'"
UNLIMITED = (
    "UPDATE hardware_power SET idle_w = (SELECT value FROM part_energy WHERE hardware = '{part}' AND what = 'static'),"
    f" tdp_w = 1e6 {_OF}"
)
"""No power limit, the static power as it was."""

DOUBLED = {
    "units": (f"UPDATE hardware_cluster SET unit_count = 2 * unit_count {_OF}",),
    "clock": (f"UPDATE hardware_cluster SET clock_boost_hz = 2 * clock_boost_hz {_OF}",),
    "main memory bandwidth": (
        f"UPDATE hardware_memory SET bandwidth_byte_per_s = 2 * bandwidth_byte_per_s {_OF} AND level = 'dram'",
    ),
    "main memory size": (f"UPDATE hardware_memory SET capacity_byte = 2 * capacity_byte {_OF} AND level = 'dram'",),
    "on-chip sizes": (f"UPDATE hardware_memory SET capacity_byte = 2 * capacity_byte {_OF} AND level <> 'dram'",),
    "on-chip bandwidths": (
        "UPDATE hardware_memory SET bandwidth_byte_per_s = 2 * (SELECT bandwidth_byte_per_s FROM part_memory AS m"
        f" WHERE m.hardware = hardware_memory.hardware AND m.level = hardware_memory.level) {_OF} AND level <> 'dram'",
    ),
    "energies": (
        f"UPDATE energy_profile SET value = 2 * value {_OF} AND what <> 'static'",
        "INSERT INTO energy_profile BY NAME SELECT * EXCLUDE (is_stated) REPLACE (2 * value AS value) FROM part_energy"
        f" {_OF} AND what <> 'static' AND NOT is_stated",
    ),
    "power limit": (f"UPDATE hardware_power SET tdp_w = 2 * tdp_w {_OF}",),
}
"""Statements that double one kind of number of a part."""

LIMITED = ("energies", "power limit")
"""What is doubled with the part's power limit in force; the others without one."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What doubling a number of a part did to a run."""

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
    """A file with the model and the scenarios that are asked about."""
    with charz.open(path) as session:
        session.ingest("synthetic:mlp", settings=["in=4096", "hidden=4096", "out=4096"])
        for backend, precision in PARTS.values():
            for batch in (COMPUTE_BOUND, MEMORY_BOUND):
                session.scenario.add(batch=batch, precision=precision, backend=backend)


def effects(connection: duckdb.DuckDBPyConnection, part: str) -> Iterator[Effect]:
    """Every doubling of a part; the file is as before afterwards."""
    for doubled, statements in DOUBLED.items():
        without = () if doubled in LIMITED else (UNLIMITED,)
        before, after = _answers(connection, part, without), _answers(connection, part, (*without, *statements))
        for batch, (time, energy, static) in after.items():
            old_time, old_energy, old_static = before[batch]
            dynamic = (energy - static) / (old_energy - old_static)
            yield Effect(part, doubled, batch, old_time / time, energy / old_energy, static / old_static, dynamic)


def _answers(
    connection: duckdb.DuckDBPyConnection, part: str, statements: tuple[str, ...]
) -> dict[int, tuple[float, float, float]]:
    """Time, energy and static energy by batch, with the statements in force."""
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
    print("| part | doubled | batch | time before / after | energy after / before | static | dynamic |")
    print("|---|---|---|---|---|---|---|")
    with duckdb.connect(str(path), config={"threads": 1}) as connection:
        for part in PARTS:
            for e in effects(connection, part):
                numbers = " | ".join(f"{number:.3f}" for number in (e.speedup, e.energy, e.static, e.dynamic))
                print(f"| `{e.part}` | {e.doubled} | {e.batch} | {numbers} |")


if __name__ == "__main__":
    main()
