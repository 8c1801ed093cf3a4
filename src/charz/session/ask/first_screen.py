"""First screen of a report: the answer in words, the parts of its time and energy, and the slowest kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..answer import Rows
from ..explain import sentences
from ..quantities import percent, quantity, significant, size

FIRST = ("answer", "shares", "slowest")
"""Sections of the first screen."""

SLOWEST = 10
"""Largest number of kernels on the first screen."""

Record = Mapping[str, Any]

_SHARES = (
    ("arithmetic", "compute_s", "compute_energy_j"), ("memory", "memory_s", "memory_energy_j"), ("power limit", "power_s", ""),
    ("thread teams", "team_s", ""), ("overhead", "overhead_s", ""), ("static power", "", "static_energy_j"),
)  # fmt: skip
"""Parts of a run, each with its column of time and its column of energy."""

_TEXTS = {
    "latency_s": "Time in which this part sets the pace.",
    "latency_fraction": "Share of the time of the run.",
    "energy_j": "Energy of this part.",
    "energy_fraction": "Share of the energy of the run.",
}


def time(run: Record) -> str:
    """Write the time of a run, and its interval."""
    told = f"{quantity(run['latency_s'], 's')} a run, {significant(run['throughput_per_s'])} samples a second"
    return told if run["p10_s"] is None else f"{told}; {interval(run)}"


def interval(run: Record) -> str:
    """Write the interval of a run's time, with its origin."""
    between = f"{quantity(run['p10_s'], 's')} and {quantity(run['p90_s'], 's')}"
    whose = "such runs may be" if run["band_basis"].endswith("assumed") else "four of five such runs are"
    return f"{whose} between {between} ({run['band_basis']})"


def fits(memory: Record) -> str:
    """Write the peak memory of a run, and the capacity."""
    verb = "takes" if memory["fits_device"] else "does not fit:"
    return f"{verb} {size(memory['peak_memory_byte'])} of {size(memory['device_byte'])}"


def peak_power(run: Record) -> list[str]:
    """Write a sentence about a kernel that draws more than the part's power limit, if there is one."""
    if run["peak_power_w"] is None or run["tdp_w"] is None or run["peak_power_w"] <= run["tdp_w"]:
        return []
    limit, average = (quantity(run[name], "W") for name in ("tdp_w", "average_power_w"))
    return [f"the peak power of {quantity(run['peak_power_w'], 'W')} is that of one kernel; the limit of {limit} applies to the run's average, {average}"]


def answer(run: Record, memory: Record) -> Rows:
    """Return the answer about a run in a few sentences."""
    columns = ("about", "answer")
    if run["latency_s"] is None:
        return Rows(columns, [("time", f"{run['model']} has no time on {run['hardware']}")])
    energy = "not known: the part has no coefficients"
    if run["energy_j"] is not None:
        static = quantity(run["static_energy_j"] / run["latency_s"], "W")
        energy = (
            f"{quantity(run['energy_per_sample_j'], 'J')} a sample, {quantity(run['average_power_w'], 'W')} on average,"
            f" {static} of it static at the clock of the run ({run['energy_scope']})"
        )
    rows = [
        ("time", time(run)),
        ("bottleneck", sentences.pace(run)),
        ("change", "; ".join(sentences.remedies(run))),
        ("energy", energy),
        ("memory", fits(memory)),
        (
            "work",
            f"{quantity(run['macs'], 'mac')} in {run['kernel_count']} kernels; shapes and waves allow {percent(run['utilization_fraction'])} of"
            f" {sentences.peak(run)}, before efficiency",
        ),
    ]
    if run["is_simulated"]:
        rows.append(("silicon", "none: this part is simulated or announced"))
    return Rows(columns, rows)


def shares(run: Record) -> Rows:
    """Return the parts of the time and the energy of a run, without parts that take neither."""
    rows = []
    for name, time_column, energy_column in _SHARES:
        seconds, joules = (run[column] if column else None for column in (time_column, energy_column))
        if seconds or joules:
            rows.append((name, seconds, _share(seconds, run["latency_s"]), joules, _share(joules, run["energy_j"])))
    return Rows(("part", *_TEXTS), rows, texts=_TEXTS)


def slowest(run: Record, kernels: Rows) -> Rows:
    """Return the slowest kernels, each with its share of the run."""
    columns = ("kernel_id", "kernel", "module", "latency_s", "run_fraction", "bottleneck")
    rows = [dict(zip(kernels.columns, row, strict=True)) for row in kernels.fetch()]
    found = [tuple({**row, "run_fraction": _share(row["latency_s"], run["latency_s"])}[name] for name in columns) for row in rows]
    return Rows(columns, found, kernels.views, texts={"run_fraction": "Share of the time of the run."})


def _share(value: float | None, whole: float | None) -> float | None:
    return None if value is None or not whole else value / whole
