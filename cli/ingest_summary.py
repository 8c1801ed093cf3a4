"""The few lines `charz ingest` ends with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import display

if TYPE_CHECKING:
    import duckdb

PARTS = ("i7_13700k", "h100_sxm5_80", "tpu_v4", "kpu_t256")
"""One CPU, GPU, TPU and KPU that everybody has heard of, or should."""


def closing_table(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> str:
    """Latency, energy, EDP and peak memory of each model on each part, batch 1, default backend."""
    query = """
        SELECT
            r.model, r.hardware, r.backend, r.precision, r.latency_s, r.energy_j, r.edp_js, m.peak_memory_byte,
            r.is_simulated
        FROM model_report AS r
        JOIN backend AS b ON b.backend = r.backend
        JOIN hardware AS h ON h.hardware_id = r.hardware
        LEFT JOIN model_memory AS m
            ON m.model_id = r.model_id AND m.scenario_id = r.scenario_id AND m.hardware = r.hardware
        WHERE list_contains(?, r.model) AND list_contains(?, r.hardware) AND r.batch = 1
            AND list_contains(string_split(b.is_default_for, ','), h.family)
        QUALIFY row_number() OVER (PARTITION BY r.model, r.hardware ORDER BY r.scenario_id) = 1
        ORDER BY list_position(?, r.model), list_position(?, r.hardware)
    """
    rows = connection.execute(query, [list(models), list(PARTS), list(models), list(PARTS)]).fetchall()
    headers = ["model", "part", "backend", "precision", "latency", "energy", "EDP", "peak memory"]
    shown = [
        [
            model, f"{part} (simulated)" if simulated else part, backend, precision, display.seconds(latency),
            display.joules(energy), display.quantity(edp, "J s"), display.size(memory),
        ]
        for model, part, backend, precision, latency, energy, edp, memory, simulated in rows
    ]  # fmt: skip
    return display.table(headers, shown)


def next_command(models: Sequence[str]) -> str:
    """What to try now."""
    if len(models) == 1:
        return f"next: charz report {models[0]} --on {PARTS[1]}"
    return f"next: charz compare {' '.join(models[:3])} --on {PARTS[1]}"
