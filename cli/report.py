"""One model on one part: time, energy, memory, what sets the pace, and where it goes."""

from __future__ import annotations

from collections import Counter, defaultdict
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

Record = dict[str, Any]

MODEL_VIEWS = ("model_report", "model_latency", "model_energy")
"""Views that hold one row a run, with columns of their own beside its keys."""

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
    views = report_whole.VIEWS if full else ()
    with on_target(
        db, model, hardware, views=views, batch=batch, sequence=sequence, precision=precision, backend=backend
    ) as target:
        run = {k: v for view in MODEL_VIEWS for k, v in target.rows(view)[0].items()}
        (held,) = target.rows("model_memory")
        kernels = target.rows("kernel_latency")
        _summary(target, run)
        _memory(held)
        _bottlenecks(run, kernels)
        slowest = sorted(kernels, key=lambda k: (-k["latency_s"], k["position"]))
        _slowest(slowest[:top])
        _hungriest(target.rows("kernel_energy"), top)
        _mapping(target.rows("kernel_mapping"), slowest, top // 2 + 1)
        if full:
            report_whole.show(target, top)
        _checks(target, run, held, kernels)


def _summary(target: Target, row: Record) -> None:
    asked = target.asked
    if row["sequence"] > 1:
        asked += f", {row['sequence']} tokens"
    title = f"{target.model} on {target.hardware} ({asked})"
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


def _memory(row: Record) -> None:
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


def _cache_line(row: Record) -> str:
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


def _bottlenecks(run: Record, kernels: list[Record]) -> None:
    heading("Bottlenecks")
    times: dict[str, list[float]] = defaultdict(list)
    for kernel in kernels:
        times[kernel["bottleneck"]].append(kernel["latency_s"])
    rows: list[tuple[float, str, int | None]] = [(sum(t), name, len(t)) for name, t in times.items()]
    if run["run_call_s"]:
        rows.append((run["run_call_s"], "the call itself", None))
    shown = [
        (name, count, seconds(spent), percent(_share(spent, run["latency_s"])))
        for spent, name, count in sorted(rows, key=lambda row: (-row[0], row[1]))
    ]
    show(display.table(["bottleneck", "kernels", "time", "share"], shown))


def _slowest(kernels: list[Record]) -> None:
    heading("Slowest kernels")
    times = ("latency_s", "compute_s", "memory_s", "overhead_s")
    shown = [
        (
            k["kernel_id"],
            k["kernel"],
            *(seconds(k[t]) for t in times),
            k["bottleneck"],
            percent(k["utilization_fraction"]),
        )
        for k in kernels
    ]
    headers = ["kernel", "operators", "time", "arithmetic", "memory", "waiting", "bottleneck", "utilization"]
    show(display.table(headers, shown))


def _hungriest(kernels: list[Record], top: int) -> None:
    heading("Kernels that take most energy")
    energies = ("energy_j", "compute_energy_j", "memory_energy_j", "static_energy_j")
    kernels = sorted(kernels, key=lambda k: (-(k["energy_j"] or 0.0), k["position"]))[:top]
    shown = [
        (k["kernel_id"], k["kernel_class"], *(joules(k[e]) for e in energies), watts(k["power_w"])) for k in kernels
    ]
    show(display.table(["kernel", "class", "energy", "arithmetic", "traffic", "static", "power"], shown))


def _mapping(kernels: list[Record], slowest: list[Record], top: int) -> None:
    heading("Mapping")
    buckets = Counter(
        k["utilization_bucket"] for k in sorted(kernels, key=lambda k: -(k["utilization_fraction"] or 0.0))
    )
    show(", ".join(f"{count} kernels at {bucket}" for bucket, count in buckets.items()) + " of the units' peak")
    sentences = {k["kernel_id"]: k["sentence"] for k in kernels}
    for kernel in slowest[:top]:
        display.wrapped(f"kernel {kernel['kernel_id']}: {sentences[kernel['kernel_id']]}")


def _checks(target: Target, run: Record, held: Record, kernels: list[Record]) -> None:
    """What in this answer needs a second look; invariants are `charz check`'s."""
    heading("Checks")
    query = """
        SELECT published_macs, (SELECT count(*) FROM operator AS o WHERE o.model = m.model AND o.rule IS NULL)
        FROM model AS m WHERE model = ?
    """
    ((published, unruled),) = target.connection.execute(query, [target.model]).fetchall()
    total = sum(k["latency_s"] for k in kernels) + run["run_call_s"]
    findings = [
        (unruled == 0, f"every operator has a rule ({unruled} without; `charz coverage` names them)"),
        (abs(total - run["latency_s"]) <= 1e-9 * run["latency_s"], f"the {len(kernels)} kernels add up to the run"),
        (bool(held["fits_device"]), "peak memory fits the part"),
    ]
    if published:
        ratio = run["macs"] / target.scenario.batch / published
        findings.append((abs(ratio - 1) < 0.01, f"MACs a sample are {_times(ratio)} the published figure"))
    for holds, text in findings:
        show(f"  {'ok  ' if holds else 'LOOK'}  {text}")


def _definitions(lines: list[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in lines)
    for name, text in lines:
        if text:
            show(f"{name.ljust(width)}  {text}")


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _times(ratio: float | None) -> str:
    return "?" if ratio is None else f"{display.significant(ratio)} times"
