"""One model on one part: time, energy, memory, what sets the pace, and where it goes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from charz.sql import PACES

from . import display, report_whole
from .display import heading, joules, percent, seconds, show, size, watts
from .workspace import (
    MOST,
    BackendOption,
    BatchOption,
    DatabaseOption,
    PrecisionOption,
    SequenceOption,
    Target,
    on_target,
)

VIEWS = ("model_report", "model_memory", "subgraph_latency", "subgraph_energy", "subgraph_mapping")
"""Views it reads."""

HardwareOption = Annotated[str, typer.Option("--on", help="Part, e.g. rtx4090; `charz hardware list` shows all.")]


def command(
    model: Annotated[str, typer.Argument(help="Ingested model; `charz models` lists them.")],
    hardware: HardwareOption,
    top: Annotated[int, typer.Option("--top", min=1, max=MOST, help="Kernels to list.")] = 10,
    full: Annotated[
        bool, typer.Option("--full", help="Every section: partition, concurrency, memory, EDP, cost.")
    ] = False,
    batch: BatchOption = None,
    sequence: SequenceOption = None,
    precision: PrecisionOption = None,
    backend: BackendOption = None,
    db: DatabaseOption = None,
) -> None:
    """Report one model on one part. Options left out take the model's and the part's defaults."""
    with on_target(
        db,
        model,
        hardware,
        needed=VIEWS + (report_whole.VIEWS if full else ()),
        batch=batch,
        sequence=sequence,
        precision=precision,
        backend=backend,
    ) as target:
        _summary(target)
        _memory(target)
        _bottlenecks(target)
        _slowest(target, top)
        _hungriest(target, top)
        _mapping(target, top)
        if full:
            report_whole.show(target, top)
        _checks(target)


def _summary(target: Target) -> None:
    row = _record(target, "model_report")
    scenario = target.scenario
    asked = f"batch {scenario.batch}, {scenario.policy}, {scenario.backend}"
    if row["sequence"] > 1:
        asked += f", {row['sequence']} tokens"
    title = f"{target.model} on {target.hardware_id} ({asked})"
    show(f"{title}\n{'=' * len(title)}")
    if row["is_simulated"]:
        show("simulated part: no silicon exists to check this against")
    power = f"{watts(row['average_power_w'])} on average, {watts(row['peak_power_w'])} at most"
    split = ", ".join(
        f"{name} {percent(_share(row[column], row['latency_s']))}" for name, column in PACES.items() if row[column]
    )
    energy_split = ", ".join(
        f"{name} {percent(_share(row[column], row['energy_j']))}" for name, column in _ENERGY.items()
    )
    lines = [
        (
            "latency",
            f"{seconds(row['latency_s'])} a run, {display.significant(row['throughput_per_s'])} samples a second",
        ),
        ("  pace set by", split),
        (
            "energy",
            f"{joules(row['energy_j'])} a run, {joules(row['energy_per_sample_j'])} a sample ({row['energy_scope']})",
        ),
        ("  spent on", energy_split),
        ("  wasted", f"{joules(row['wasted_energy_j'])} by idle units"),
        ("power", power),
        ("EDP", display.quantity(row["edp_js"], "J s")),
        (
            "work",
            f"{display.quantity(row['macs'], 'mac')}, {display.quantity(row['flops'], 'flop')}, {row['kernel_count']} kernels",
        ),
        ("utilization", f"{percent(row['utilization_fraction'])} of the units while they compute"),
        ("naive peak", f"{seconds(row['naive_s'])}; the run takes {_times(row['correction_factor'])} that"),
    ]
    _definitions(lines)
    if row["assumed_count"]:
        guesses = f", {row['guess_count']} of them energy coefficients" if row["guess_count"] else ""
        show(f"rests on {row['assumed_count']} assumed inputs{guesses}")


_ENERGY = {"arithmetic": "compute_energy_j", "traffic": "memory_energy_j", "static": "static_energy_j"}


def _memory(target: Target) -> None:
    row = _record(target, "model_memory")
    heading("Memory")
    parts = {
        "weights": row["weight_byte"],
        "buffers": row["buffer_byte"],
        "KV-cache": row["kv_cache_byte"],
        "activations": row["activation_byte"],
        "workspace": row["workspace_byte"],
    }
    split = ", ".join(f"{name} {size(value)}" for name, value in parts.items() if value)
    fits = "fits" if row["fits_device"] else "does NOT fit"
    _definitions(
        [
            (
                "peak",
                f"{size(row['peak_memory_byte'])}, at {row['peak_operator']} of {row['peak_module'] or 'the model'}",
            ),
            ("  of which", split),
            ("device", f"{size(row['device_byte'])}: {fits}, {percent(row['device_fraction'])} used"),
            ("cache", _cache_line(row)),
        ]
    )


def _cache_line(row: dict[str, Any]) -> str:
    if not row["cache_byte"]:
        return "none"
    fits = (
        "everything fits"
        if row["fits_cache"]
        else "activations fit"
        if row["fits_activation_in_cache"]
        else "too small"
    )
    return f"{size(row['cache_byte'])} last level: {fits}"


def _bottlenecks(target: Target) -> None:
    heading("Bottlenecks")
    columns = ["bottleneck", "count(*)", "sum(latency_s)"]
    rows = target.rows("subgraph_latency", columns, "GROUP BY bottleneck ORDER BY sum(latency_s) DESC, bottleneck")
    total = sum(latency for _, _, latency in rows)
    show(
        display.table(
            ["bottleneck", "kernels", "time", "share"],
            [(name, count, seconds(latency), percent(_share(latency, total))) for name, count, latency in rows],
        )
    )


def _slowest(target: Target, top: int) -> None:
    heading("Slowest kernels")
    columns = [
        "subgraph_id",
        "subgraph",
        "latency_s",
        "compute_s",
        "memory_s",
        "overhead_s",
        "bottleneck",
        "utilization_fraction",
    ]
    rows = target.rows("subgraph_latency", columns, f"ORDER BY latency_s DESC, position LIMIT {top}")
    show(
        display.table(
            ["kernel", "operators", "time", "arithmetic", "memory", "waiting", "bottleneck", "utilization"],
            [
                (kernel, name, *map(seconds, times), bottleneck, percent(utilization))
                for kernel, name, *times, bottleneck, utilization in rows
            ],
        )
    )


def _hungriest(target: Target, top: int) -> None:
    heading("Kernels that take most energy")
    columns = [
        "subgraph_id",
        "kernel_class",
        "energy_j",
        "compute_energy_j",
        "memory_energy_j",
        "static_energy_j",
        "power_w",
    ]
    rows = target.rows("subgraph_energy", columns, f"ORDER BY energy_j DESC NULLS LAST, position LIMIT {top}")
    show(
        display.table(
            ["kernel", "class", "energy", "arithmetic", "traffic", "static", "power"],
            [(kernel, name, *map(joules, energies), watts(power)) for kernel, name, *energies, power in rows],
        )
    )


def _mapping(target: Target, top: int) -> None:
    heading("Mapping")
    columns = ["utilization_bucket", "count(*)"]
    rows = target.rows(
        "subgraph_mapping", columns, "GROUP BY utilization_bucket ORDER BY max(utilization_fraction) DESC"
    )
    show(", ".join(f"{count} kernels at {bucket}" for bucket, count in rows) + " of the units' peak")
    query = """
        SELECT m.subgraph_id, m.sentence
        FROM subgraph_mapping AS m
        JOIN subgraph_latency AS l USING (model, hardware, scenario_id, subgraph_id)
        WHERE m.model = ? AND m.hardware = ? AND m.scenario_id = ?
        ORDER BY l.latency_s DESC, m.position
    """
    for kernel, sentence in target.connection.execute(f"{query} LIMIT {top // 2 + 1}", list(target.key)).fetchall():
        show(f"  kernel {kernel}: {sentence}")


def _checks(target: Target) -> None:
    """What in this answer needs a second look; invariants are `charz check`'s."""
    heading("Checks")
    row = _record(target, "model_report")
    unruled = target.connection.execute(
        "SELECT count(*) FROM operator WHERE model_id = ? AND rule IS NULL", [target.model_id]
    ).fetchall()[0][0]
    kernels, total = target.rows("subgraph_latency", ["count(*)", "sum(latency_s)"])[0]
    published = target.connection.execute(
        "SELECT published_macs FROM model WHERE model_id = ?", [target.model_id]
    ).fetchall()[0][0]
    findings = [
        (unruled == 0, f"every operator has a rule ({unruled} without; `charz coverage` names them)"),
        (abs(total - row["latency_s"]) <= 1e-9 * row["latency_s"], f"the {kernels} kernels add up to the run"),
        (bool(_record(target, "model_memory")["fits_device"]), "peak memory fits the part"),
    ]
    if published:
        ratio = row["macs"] / target.scenario.batch / published
        findings.append((abs(ratio - 1) < 0.01, f"MACs a sample are {_times(ratio)} the published figure"))
    for holds, text in findings:
        show(f"  {'ok  ' if holds else 'LOOK'}  {text}")


def _record(target: Target, view: str) -> dict[str, Any]:
    """The one row a model-level view has for the target."""
    connection = target.connection
    cursor = connection.execute(
        f"SELECT * FROM {view} WHERE model = ? AND hardware = ? AND scenario_id = ?", list(target.key)
    )
    names = [column[0] for column in cursor.description or ()]
    return dict(zip(names, cursor.fetchall()[0], strict=True))


def _definitions(lines: list[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in lines)
    for name, text in lines:
        if text:
            show(f"{name.ljust(width)}  {text}")


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _times(ratio: float | None) -> str:
    return "?" if ratio is None else f"{display.significant(ratio)} times"
