"""Runs that become slower when a number of their part is doubled. `python -m tests.whole.monotone FILE [--limited] [PART ...]`
lists them for a file of models, with power limits lifted unless `--limited`."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from charz.session.question import PREFERRED_PRECISIONS
from charz.sql import evaluate, scopes
from charz.sql.scopes import Copies, Scope, Varied

BATCHES = (1, 32)
ROUNDING = 1e-9
UNLIMITED_W = 1e9
PARTS_AT_ONCE = 16
SAME = "as it is"

NUMBERS = """
    SELECT CONCAT(cluster, '.units') AS doubled, 'hardware_cluster' AS of_table, cluster AS row_key, 'unit_count' AS of_column,
        CAST(unit_count AS DOUBLE) AS value
    FROM hardware_cluster WHERE hardware = $part
    UNION ALL
    SELECT 'clock', 'hardware_cluster', cluster, 'clock_boost_hz', clock_boost_hz
    FROM hardware_cluster WHERE hardware = $part
    UNION ALL
    SELECT 'units', 'hardware_cluster', cluster, 'unit_count', CAST(unit_count AS DOUBLE)
    FROM hardware_cluster WHERE hardware = $part
    UNION ALL
    SELECT CONCAT(m.level, '.bandwidth'), 'hardware_memory', m.level, 'bandwidth_byte_per_s', m.bandwidth_byte_per_s
    FROM part_memory AS m SEMI JOIN hardware_memory AS h USING (hardware, level) WHERE hardware = $part
    UNION ALL
    SELECT CONCAT(m.level, '.capacity'), 'hardware_memory', m.level, 'capacity_byte', m.capacity_byte
    FROM part_memory AS m SEMI JOIN hardware_memory AS h USING (hardware, level) WHERE hardware = $part
    UNION ALL
    SELECT CONCAT(k.precision, '.', k.unit, '.peak'), 'hardware_peak', CONCAT_WS('.', k.precision, k.unit, k.accumulator),
        'peak_ops_per_s', k.peak_ops_per_s
    FROM part_peak AS k SEMI JOIN hardware_peak AS h USING (hardware, precision, unit, accumulator) WHERE hardware = $part
"""
"""Query of the numbers of a part that should never slow it down; numbers that are doubled together have one name."""

KEYS = {
    "hardware_cluster": ("cluster",),
    "hardware_memory": ("level",),
    "hardware_power": ("mode",),
    "hardware_peak": ("precision", "unit", "accumulator"),
}
"""Columns that name a row of a part."""


@dataclass(frozen=True, slots=True)
class Run:
    """The time and power of a run."""

    latency_s: float | None
    static_w: float
    """Static power. [W]"""


@dataclass(frozen=True, slots=True)
class Slower:
    """A run that becomes slower when a number of its part is doubled."""

    hardware: str
    doubled: str
    model: str
    batch: int
    ratio: float
    """Time after over time before; infinite if the answer is missing afterwards."""
    rest_ratio: float
    """Static power after over static power before."""


@dataclass(frozen=True, slots=True)
class Found:
    """The result for a part."""

    doubled: Collection[str]
    times: int
    """Runs with an answer before any change."""
    slower: Sequence[Slower]


def asked(connection: duckdb.DuckDBPyConnection, part: str) -> tuple[str, str]:
    """Return the default backend of a part and its first preferred precision."""
    query = """
        SELECT s.backend, s.precision FROM part_support AS s JOIN supported_backend AS b USING (hardware, backend)
        WHERE s.hardware = $part AND list_contains($preferred, s.precision)
        ORDER BY b.serves, b.is_default DESC, s.backend, list_position($preferred, s.precision) LIMIT 1
    """
    ((backend, precision),) = connection.execute(
        query, {"part": part, "preferred": list(PREFERRED_PRECISIONS)}
    ).fetchall()
    return backend, precision


def _varied(table: str, part: str, row: str, column: str, values: Sequence[float]) -> Varied:
    names = KEYS[table]
    return Varied(table, (("hardware", part), *zip(names, row.split("."), strict=True)), column, values)


def _copies(connection: duckdb.DuckDBPyConnection, part: str, is_limited: bool) -> list[Copies]:
    """Make copies of the part, unchanged and with each number doubled, without power limits unless `is_limited`. Numbers stated apart
    from units and clock are doubled in separate copies, so that the first copies derive them from units and clock."""
    rows = [row for row in connection.execute(NUMBERS, {"part": part}).fetchall() if row[-1] is not None]
    units = {row[0] for row in rows if row[0].endswith(".units")}
    if len(units) == 1:
        rows = [row for row in rows if row[0] not in units]
    modes = [] if is_limited else _modes(connection, part)
    of_clusters = [row for row in rows if row[1] == "hardware_cluster"]
    stated = [row for row in rows if row[1] != "hardware_cluster"]
    return [_doubled(part, found, same, modes) for found, same in ((of_clusters, [SAME]), (stated, []))]


def _modes(connection: duckdb.DuckDBPyConnection, part: str) -> list[str]:
    found = connection.execute("SELECT mode FROM hardware_power WHERE hardware = ?", [part]).fetchall()
    return [mode for (mode,) in found]


def _doubled(part: str, rows: Sequence[tuple[Any, ...]], same: Sequence[str], modes: Sequence[str]) -> Copies:
    doubled = [*same, *dict.fromkeys(row[0] for row in rows)]
    varied: dict[tuple[str, str, str], list[float]] = {}
    for name, table, row, column, value in rows:
        numbers = varied.setdefault((table, row, column), [value] * len(doubled))
        numbers[doubled.index(name)] = 2 * value
    found = [_varied(table, part, row, column, values) for (table, row, column), values in varied.items()]
    found += [_varied("hardware_power", part, mode, "tdp_w", [UNLIMITED_W] * len(doubled)) for mode in modes]
    return Copies(part, [f"{part} {name}" for name in doubled], found)


def monotone(
    connection: duckdb.DuckDBPyConnection,
    parts: Sequence[str],
    models: Sequence[str],
    batches: Sequence[int] = BATCHES,
    *,
    is_limited: bool = False,
) -> Iterator[tuple[str, Found]]:
    """Yield each part with its slower runs; evaluate a few parts at a time."""
    for start in range(0, len(parts), PARTS_AT_ONCE):
        yield from _some(connection, parts[start : start + PARTS_AT_ONCE], models, batches, is_limited)


def _some(
    connection: duckdb.DuckDBPyConnection,
    parts: Sequence[str],
    models: Sequence[str],
    batches: Sequence[int],
    is_limited: bool,
) -> Iterator[tuple[str, Found]]:
    copies = [found for part in parts for found in _copies(connection, part, is_limited)]
    runs = {
        (model, *name.split(" ", 1), batch): run
        for (model, name, batch), run in _runs(connection, copies, models, batches).items()
    }
    for part in parts:
        doubled = [n.split(" ", 1)[1] for c in copies for n in c.names if c.base == part and not n.endswith(SAME)]
        before = {(m, b): run for (m, of, name, b), run in runs.items() if (of, name) == (part, SAME) and run.latency_s}
        slower = [
            Slower(part, name, model, batch, ratio, after.static_w / run.static_w)
            for name in doubled
            for (model, batch), run in before.items()
            if (ratio := ((after := runs[model, part, name, batch]).latency_s or math.inf) / run.latency_s)
            > 1 + ROUNDING
        ]
        yield part, Found(doubled, len(before), slower)


def sample_times(
    connection: duckdb.DuckDBPyConnection, parts: Sequence[str], models: Sequence[str], batches: Sequence[int]
) -> dict[tuple[str, str], list[float]]:
    """Return the time of a sample at each batch on every part without power limits."""
    copies = [_doubled(part, [], [SAME], _modes(connection, part)) for part in parts]
    runs = _runs(connection, copies, models, batches)
    return {
        (model, part): [(runs[model, f"{part} {SAME}", batch].latency_s or math.inf) / batch for batch in batches]
        for part in parts
        for model in models
    }


def _runs(
    connection: duckdb.DuckDBPyConnection, copies: Sequence[Copies], models: Sequence[str], batches: Sequence[int]
) -> dict[tuple[str, str, int], Run]:
    """Evaluate each run by model, copy and batch."""
    targets = {part: asked(connection, part) for part in dict.fromkeys(c.base for c in copies)}
    (usual,) = scopes.scenario_rows(connection, [_usual(connection)])
    conditions = sorted({(*pair, batch) for pair in targets.values() for batch in batches})
    scope = Scope(
        models=models,
        hardware=[name for c in copies for name in c.names],
        targets=[(name, *targets[c.base]) for c in copies for name in c.names],
        scenarios=[
            {**usual, "scenario_id": -1 - i, "backend": backend, "precision": precision, "batch": batch}
            for i, (backend, precision, batch) in enumerate(conditions)
        ],
        copies=copies,
    )
    query = "SELECT model, hardware, batch, latency_s, static_w FROM model_cost"
    return {
        (model, name, batch): Run(latency_s, static_w)
        for _ in evaluate.evaluated(connection, scope, ["model_cost"])
        for model, name, batch, latency_s, static_w in connection.execute(query).fetchall()
    }


def _usual(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the number of a stored scenario with usual conditions."""
    query = "SELECT MIN(scenario_id) FROM scenario WHERE phase = 'forward' AND power IS NULL AND cache_state = 'warm'"
    ((number,),) = connection.execute(query).fetchall()
    return number


def main() -> None:
    """Print every run that became slower."""
    path, *rest = sys.argv[1:]
    named = [part for part in rest if part != "--limited"]
    with duckdb.connect(path, read_only=True, config={"threads": 1}) as connection:
        every = [part for (part,) in connection.execute("SELECT hardware FROM hardware ORDER BY hardware").fetchall()]
        models = [m for (m,) in connection.execute("SELECT model FROM model ORDER BY model").fetchall()]
        for part, found in monotone(connection, named or every, models, is_limited="--limited" in rest):
            print(f"{part}: {len(found.doubled)} numbers, {found.times} runs, {len(found.slower)} slower", flush=True)
            for s in found.slower:
                print(f"    {s.doubled}: {s.model} at batch {s.batch}: {s.ratio:.4f}, at rest {s.rest_ratio:.4f}")


if __name__ == "__main__":
    main()
