"""The few lines `charz ingest` ends with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from charz.schema.scenario import Scenario

from . import assumed, display
from .grid import records
from .workspace import answer_once, default_backend, open_workspace, with_scenarios

PARTS = ("i7_13700k", "h100_sxm5_80", "tpu_v4", "kpu_t256")
"""One CPU, GPU, TPU and KPU that everybody has heard of, or should."""

_ROWS = """
    SELECT
        m.model, c.hardware_id, c.is_simulated, c.backend, c.policy, c.latency_s, c.energy_j, c.edp_js,
        c.peak_memory_byte
    FROM target_cost AS c
    JOIN model AS m USING (model_id)
    WHERE list_contains(?, concat(c.hardware_id, ' ', c.backend))
    ORDER BY list_position(?, m.model), list_position(?, c.hardware_id), c.scenario_id
"""


def show_closing_table(db: Path | None, models: Sequence[str]) -> None:
    """Latency, energy, EDP and peak memory of each model on each part: batch 1, default backend, every
    precision that the database has such a scenario of."""
    with open_workspace(db) as connection:
        known = {part for (part,) in connection.execute("SELECT hardware_id FROM hardware").fetchall()}
        parts = [part for part in PARTS if part in known]
        backends = {part: default_backend(connection, part) for part in parts}
        query = "SELECT * FROM scenario WHERE batch = 1 AND phase = 'forward' AND list_contains(?, backend)"
        scenarios = [Scenario(**row) for row in records(connection, query, [list(backends.values())])]
    with with_scenarios(db, scenarios, {"target_cost", *assumed.VIEWS}, models, parts) as connection:
        answer_once(connection)
        pairs = [f"{part} {backend}" for part, backend in backends.items()]
        found = connection.execute(_ROWS, [pairs, list(models), parts]).fetchall()
        headers = ["model", "part", "backend", "precision", "latency", "energy", "EDP", "peak memory"]
        display.show(display.table(headers, [_shown(*row) for row in found]))
        assumed.note(connection, "target_cost")


def _shown(
    model: str,
    part: str,
    is_simulated: bool,
    backend: str,
    policy: str,
    latency_s: float,
    energy_j: float,
    edp_js: float,
    peak_memory_byte: float,
) -> list[str]:
    """One line of the table."""
    return [
        model,
        f"{part} (simulated)" if is_simulated else part,
        backend,
        policy,
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
