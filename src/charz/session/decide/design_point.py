"""Evaluation of models on hypothetical parts: time, energy, limiting resource, area, idle power and dollars."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..scoped import Scoped

if TYPE_CHECKING:
    import duckdb

    from charz.sql.scopes import Copies, Scope

VIEWS = ("target_cost", "busy_pace", "part_cost")
"""Views that contain the results of a point. Relations that several of these views read are evaluated once."""

KEYS = ("hardware", "backend", "precision", "batch")
FOUND = (
    "latency_s", "energy_j", "edp_js", "average_power_w", "limited_by", "limited_fraction", "peak_memory_byte", "fits_device",
)  # fmt: skip
MADE = ("area_mm2", "rest_w", "part_usd")
BAND = ("low_usd", "high_usd")


def evaluated_points(
    scoped: Scoped,
    cursor: duckdb.DuckDBPyConnection,
    copies: Sequence[Copies],
    weights: Mapping[str, float] | None = None,
    engine: Callable[[Scope], Scoped] | None = None,
) -> list[dict[str, Any]]:
    """Evaluate copies of parts under every backend and precision of a question, on a cursor of the file or on an engine."""
    from charz.sql import evaluate, scopes

    targets = scoped.execute("SELECT hardware, backend, precision FROM part_support").fetchall()
    parts = [name for made in copies for name in made.names]
    scope = scopes.Scope(
        models=[model for (model,) in scoped.execute("SELECT model FROM model").fetchall()],
        hardware=parts,
        targets=[(name, *rest) for made in copies for name in made.names for of, *rest in targets if of == made.base],
        scenarios=scoped.records("SELECT * FROM scenario"),
        stored={number for (number,) in cursor.execute("SELECT scenario_id FROM scenario").fetchall()},
        copies=copies,
    )
    if engine is not None:
        there = engine(scope)
        known = _made(there, parts)
        return [{**point, **known[point["hardware"]]} for point in _summed(there, weights)]
    made: dict[str, dict[str, Any]] = {}
    found: list[dict[str, Any]] = []
    for _ in evaluate.evaluated(cursor, scope, VIEWS):
        made = made or _made(Scoped(cursor), parts)
        found += _summed(Scoped(cursor), weights)
    return [{**point, **made[point["hardware"]]} for point in found]


def _made(scoped: Scoped, parts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return area, idle power and dollars of each named part."""
    rows = scoped.records(f"SELECT hardware, {', '.join((*MADE, *BAND))} FROM part_cost")
    found = {row.pop("hardware"): row for row in rows}
    return {part: found.get(part) or dict.fromkeys((*MADE, *BAND)) for part in parts}


def _summed(scoped: Scoped, weights: Mapping[str, float] | None) -> list[dict[str, Any]]:
    """Sum time and energy over all models, or take weighted geometric means, for every part, backend and precision. The limiting resource is the
    resource that limits the largest share of the time."""
    paces: dict[tuple[Any, ...], dict[str, dict[str, float]]] = {}
    order = f"ORDER BY {', '.join(KEYS)}, model"
    for row in scoped.records(f"SELECT * FROM busy_pace {order}, pace"):
        times = paces.setdefault(tuple(row[name] for name in KEYS), {}).setdefault(row["model"], {})
        times[row["pace"]] = times.get(row["pace"], 0.0) + row["pace_s"]
    runs: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in scoped.records(f"SELECT * FROM target_cost {order}"):
        runs.setdefault(tuple(row[name] for name in KEYS), []).append(row)
    return [
        {**dict(zip(KEYS, key, strict=True)), **_point(members, paces.get(key, {}), weights)}
        for key, members in runs.items()
    ]


def _point(
    runs: Sequence[Mapping[str, Any]], paces: Mapping[str, Mapping[str, float]], weights: Mapping[str, float] | None
) -> dict[str, Any]:
    held = {
        "peak_memory_byte": max(run["peak_memory_byte"] for run in runs),
        "fits_device": all(run["fits_device"] for run in runs),
    }
    if any(run["latency_s"] is None or run["energy_j"] is None for run in runs):
        return {**dict.fromkeys(FOUND), **held}
    shares = [run["latency_s"] if weights is None else weights[run["model"]] for run in runs]
    latency, energy = (
        sum(run[name] for run in runs)
        if weights is None
        else math.exp(sum(s * math.log(run[name]) for s, run in zip(shares, runs, strict=True)) / sum(shares))
        for name in ("latency_s", "energy_j")
    )
    limits: dict[str, float] = {}
    for share, run in zip(shares, runs, strict=True):
        for pace, pace_s in {**paces.get(run["model"], {}), "overhead": run["overhead_s"]}.items():
            limits[pace] = limits.get(pace, 0.0) + share * pace_s / run["latency_s"]
    limit, longest = max(limits.items(), key=lambda pair: pair[1])
    return {
        "latency_s": latency,
        "energy_j": energy,
        "edp_js": energy * latency,
        "average_power_w": energy / latency,
        "limited_by": limit,
        "limited_fraction": longest / sum(shares),
        **held,
    }
