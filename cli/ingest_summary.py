"""The few lines `charz ingest` ends with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from . import assumed, display
from .workspace import Scope, ask, open_workspace, targets_of

PARTS = ("i7_13700k", "h100_sxm5_80", "tpu_v4", "kpu_t256")
"""One CPU, GPU, TPU and KPU that everybody has heard of, or should."""

_ORDER = "ORDER BY list_position(?, model), list_position(?, hardware), scenario_id"


def show_closing_table(db: Path | None, models: Sequence[str]) -> None:
    """Latency, energy, EDP and peak memory of each model on each part: batch 1, default backend, every
    precision that the database has such a scenario of."""
    with open_workspace(db) as connection:
        known = {part for (part,) in connection.execute("SELECT hardware FROM hardware").fetchall()}
        parts = [part for part in PARTS if part in known]
        query = "SELECT DISTINCT backend, precision FROM scenario WHERE batch = 1 AND phase = 'forward'"
        listed = connection.execute(query).fetchall()
        targets = targets_of(connection, parts, [], [precision for _, precision in listed])
        ask(connection, [{"batch": 1}], models, [target for target in targets if target[1:] in listed])
        scope = Scope(connection)
        columns = (
            "model", "hardware", "is_simulated", "backend", "precision", "latency_s", "energy_j", "edp_js", "peak_memory_byte"
        )  # fmt: skip
        rows = scope.records(f"SELECT {', '.join(columns)} FROM target_cost {_ORDER}", [list(models), parts])
        headers = ["model", "part", "backend", "precision", "latency", "energy", "EDP", "peak memory"]
        display.show(display.table(headers, [_shown(**row) for row in rows]))
        assumed.note(scope, "target_cost")


def _shown(
    model: str,
    hardware: str,
    is_simulated: bool,
    backend: str,
    precision: str,
    latency_s: float,
    energy_j: float,
    edp_js: float,
    peak_memory_byte: float,
) -> list[str]:
    """One line of the table."""
    return [
        model,
        f"{hardware} (simulated)" if is_simulated else hardware,
        backend,
        precision,
        display.seconds(latency_s),
        display.joules(energy_j),
        display.quantity(edp_js, "J s"),
        display.size(peak_memory_byte),
    ]


def next_command(models: Sequence[str]) -> str:
    """What to try now."""
    if len(models) == 1:
        return f"next: charz report {models[0]} --on {PARTS[1]}"
    return f"next: charz compare {' '.join(models[:3])} --on {PARTS[1]}"
