"""Derive one number: each formula, its inputs, the catalog numbers behind them, down to tensor shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from charz.schema.errors import unknown_name
from charz.sql import PACES

from . import display
from .workspace import (
    BackendOption,
    BatchOption,
    DatabaseOption,
    PrecisionOption,
    SequenceOption,
    Target,
    on_target,
)

KEPT_HEAP = {"MALLOC_TRIM_THRESHOLD_": "4000000000", "MALLOC_MMAP_THRESHOLD_": "4000000000"}
"""Environment in which glibc's `malloc` never gives memory back."""

MODEL_VIEWS = ("model_latency", "model_energy", "model_edp", "subgraph_latency", "kernel_cost")
KERNEL_VIEWS = (
    "subgraph_latency",
    "subgraph_energy",
    "subgraph_edp",
    "subgraph_mapping",
    "subgraph_work",
    "subgraph_border",
    "kernel_cost",
    "part_mapping",
)
"""Views read for a run and for a kernel; `efficiency_choice` and `hardware_value` know no scenario."""

Record = dict[str, Any]

MODEL_CHAIN = (
    (
        "Time",
        "model_latency",
        ("latency_s", *PACES.values(), "device_s", "host_issue_s"),
    ),
    (
        "Bounds",
        "model_latency",
        ("roofline_s", "naive_s", "correction_factor", "utilization_fraction", "macs", "flops"),
    ),
    (
        "Energy",
        "model_energy",
        ("energy_j", "compute_energy_j", "memory_energy_j", "static_energy_j", "wasted_energy_j", "energy_scope"),
    ),
    ("Energy-delay product", "model_edp", ("edp_js", "local_edp_js", "local_gap_fraction")),
)
"""Steps of a whole run: title, view, columns, the result first."""

KERNEL_CHAIN = (
    (
        "1. Time it adds to the run",
        "subgraph_latency",
        ("latency_s", "overhead_s", "host_issue_s", "device_s", "busy_s", "bottleneck"),
    ),
    (
        "2. Roofline",
        "subgraph_latency",
        ("busy_s", "compute_s", "memory_s", "memory_level", "serial_s", "power_s", "roofline_s"),
    ),
    (
        "3. Arithmetic",
        "kernel_cost",
        (
            "compute_s",
            "matrix_s",
            "vector_s",
            "flops",
            "unit",
            "executed_precision",
            "peak_ops_per_s",
            "utilization_fraction",
            "compute_efficiency_fraction",
        ),
    ),
    (
        "4. Mapping",
        "kernel_cost",
        (
            "threads",
            "strategy",
            "tile_m",
            "tile_n",
            "tile_k",
            "tile_count",
            "waves",
            "units_allocated",
            "unit_count",
            "pipelining_fraction",
        ),
    ),
    (
        "5. Memory",
        "kernel_cost",
        (
            "dram_s",
            "dram_byte",
            "memory_efficiency_fraction",
            "cache_s",
            "cache_byte",
            "reload_s",
            "reload_byte",
            "latency_bound_s",
            "team_size",
            "thread_s",
            "resident_byte",
            "reorder_s",
            "reorder_byte",
            "paging_s",
            "paged_byte",
            "team_s",
        ),
    ),
    (
        "6. Traffic",
        "subgraph_work",
        ("traffic_byte", "input_byte", "weight_byte", "kv_cache_byte", "output_byte", "arithmetic_intensity"),
    ),
    (
        "7. Energy",
        "subgraph_energy",
        ("energy_j", "compute_energy_j", "memory_energy_j", "static_energy_j", "power_w", "energy_scope"),
    ),
    ("8. Energy-delay product", "subgraph_edp", ("edp_js", "local_edp_js")),
)
"""Steps of one kernel, each explaining inputs of the one before."""


def command(
    model: Annotated[str, typer.Argument(help="Ingested model; `charz models` lists them.")],
    piece: Annotated[
        str, typer.Argument(help="Operator by name, or kernel by number; none explains the whole run.")
    ] = "",
    hardware: Annotated[str, typer.Option("--on", help="Part, e.g. rtx4090; `charz hardware list` shows all.")] = ...,  # type: ignore[assignment]
    batch: BatchOption = None,
    sequence: SequenceOption = None,
    precision: PrecisionOption = None,
    backend: BackendOption = None,
    db: DatabaseOption = None,
) -> None:
    """Show how the time and energy of a model, kernel or operator come about on one part."""
    is_number = piece.isascii() and piece.isdigit()
    views = MODEL_VIEWS if not piece else KERNEL_VIEWS if is_number else (*KERNEL_VIEWS, "operator_edp")
    with on_target(
        db, model, hardware, needed=views, batch=batch, sequence=sequence, precision=precision, backend=backend
    ) as target:
        scenario = target.scenario
        asked = f"batch {scenario.batch}, {scenario.policy}, {scenario.backend}"
        if not piece:
            _title(f"{target.model} on {target.hardware_id} ({asked})")
            _explain_model(target)
            return
        subgraph_id = int(piece) if is_number else _explain_operator(target, piece, asked)
        _explain_kernel(target, subgraph_id, asked)


def _explain_model(target: Target) -> None:
    for title, view, columns in MODEL_CHAIN:
        _step(target, title, view, columns)
    display.heading("Kernels that take the most time")
    listed = ("subgraph_id", "subgraph", "latency_s", "bottleneck")
    rows = target.rows("subgraph_latency", listed, "ORDER BY latency_s DESC, subgraph_id LIMIT 10")
    total = target.rows("model_latency", ("latency_s",))[0][0]
    shown = [(i, name, display.seconds(t), display.percent(t / total), why) for i, name, t, why in rows]
    display.show(display.table(("kernel", "operators", "time", "share", "bottleneck"), shown))
    kernels = _rows(target, "kernel_cost", ("layout", "device_s", "paging_s", "team_s"))
    teams = [k["team_s"] for k in kernels if k["team_s"]]
    _note_share(
        sum(teams),
        total,
        f"pass while threads begin and end, once in each of {len(teams)} kernels; a larger batch"
        " spreads it over more samples, fewer threads begin sooner",
    )
    _note_share(
        sum(k["paging_s"] for k in kernels),
        total,
        "go to memory that the system hands out anew in every run; with"
        f" {' '.join(f'{name}={value}' for name, value in KEPT_HEAP.items())} it is kept",
    )
    _note_share(
        sum(k["device_s"] for k in kernels if k["layout"] == "aliased"),
        total,
        "go to linear layers whose rows are a"
        " multiple of 2 KiB long and evict one another from the first-level cache; rows stored 64 bytes longer do not",
    )
    display.note(f"\none kernel: charz explain {target.model} {rows[0][0]} {_as_asked(target)}")


def _as_asked(target: Target) -> str:
    """Options with which a command answers for the same part and scenario."""
    scenario = target.scenario
    sequence = f" --sequence {scenario.sequence}" if scenario.sequence else ""
    return (
        f"--on {target.hardware_id} --batch {scenario.batch}{sequence} --precision {scenario.policy}"
        f" --backend {scenario.backend}"
    )


def _note_share(spent_s: float, latency_s: float, what: str) -> None:
    """Say where more than a twentieth of a run's time goes and what would help."""
    if spent_s > latency_s / 20:
        display.note(f"\n{display.seconds(spent_s)} ({display.percent(spent_s / latency_s)}) {what}")


def _explain_operator(target: Target, name: str, asked: str) -> int:
    """Print an operator's share of its kernel; returns the kernel."""
    columns = (
        "operator",
        "subgraph_id",
        "operator_class",
        "module",
        "share_fraction",
        "modifier",
        "latency_s",
        "energy_j",
        "edp_js",
    )
    rows = [dict(zip(columns, r, strict=True)) for r in target.rows("operator_edp", columns, "ORDER BY subgraph_id")]
    mine = [r for r in rows if r["operator"] == name]
    if not mine:
        known = {r["operator"] for r in rows}
        raise unknown_name("operator", name, known, f"`charz explain {target.model} {_as_asked(target)}` lists kernels")
    row = mine[0]
    _title(f"{target.model}: {name} in {row['module'] or 'the model'} on {target.hardware_id} ({asked})")
    display.heading(f"Operator: its share of kernel {row['subgraph_id']}")
    _show_facts(target, "operator_edp", row, columns[2:])
    return int(row["subgraph_id"])


def _explain_kernel(target: Target, subgraph_id: int, asked: str) -> None:
    where = f"AND subgraph_id = {subgraph_id}"
    names = target.rows("subgraph_latency", ("subgraph", "kernel_class"), where)
    if not names:
        known = [str(i) for (i,) in target.rows("subgraph_latency", ("subgraph_id",), "ORDER BY 1")]
        raise unknown_name(
            "kernel", str(subgraph_id), known, f"`charz explain {target.model} {_as_asked(target)}` lists kernels"
        )
    _title(f"{target.model}: kernel {subgraph_id} ({names[0][0]}) on {target.hardware_id} ({asked})")
    for title, view, columns in KERNEL_CHAIN:
        _step(target, title, view, columns, where)
        if view == "kernel_cost" and title.startswith("4"):
            display.show("  " + target.rows("subgraph_mapping", ("sentence",), where)[0][0])
    of_kernel = (
        "kernel_class",
        "precision",
        "layout",
        "unit",
        "executed_precision",
        "memory_level",
        "operator_name",
    )
    kernel = _record(target, "kernel_cost", of_kernel, where)
    _parts(target, where)
    _tensors(target, where)
    _efficiencies(target, kernel)
    _catalog_numbers(target, kernel)


def _parts(target: Target, where: str) -> None:
    columns = (
        "operator_id",
        "part",
        "operator_class",
        "unit",
        "executed_precision",
        "flops",
        "tile_m",
        "tile_n",
        "tile_k",
        "utilization_fraction",
        "ideal_compute_s",
    )
    rows = _rows(target, "part_mapping", columns, where + " ORDER BY operator_id, part")
    if not rows:
        return
    display.heading("Steps of its operators")
    shown = [
        (
            r["operator_id"],
            r["operator_class"],
            r["part"],
            f"{r['executed_precision']} {r['unit']}",
            display.quantity(r["flops"], "op"),
            _tile(r),
            display.percent(r["utilization_fraction"]),
            display.seconds(r["ideal_compute_s"]),
        )
        for r in rows
    ]
    display.show(
        display.table(("operator", "class", "step", "unit", "work", "tile", "utilization", "ideal time"), shown)
    )


def _tile(row: Record) -> str:
    return "" if row["tile_m"] is None else f"{row['tile_m']:.0f}x{row['tile_n']:.0f}x{row['tile_k']:.0f}"


def _tensors(target: Target, where: str) -> None:
    columns = ("direction", "role", "tensor", "shape", "operator", "moved_byte")
    query = f"""
        SELECT {", ".join(columns)} FROM subgraph_border WHERE model = ? AND scenario_id = ? {where}
        ORDER BY direction, tensor_id
    """
    rows = target.connection.execute(query, [target.model, target.scenario.scenario_id]).fetchall()
    if rows:
        display.heading("Tensors that cross its border")
        display.show(
            display.table(
                ("moved", "role", "tensor", "shape", "by", "size"), [(*r[:-1], display.size(r[-1])) for r in rows]
            )
        )


def _efficiencies(target: Target, kernel: Record) -> None:
    resources = ("matrix", "vector", "memory", "overlap", "residency", "reorder", "paging")
    columns = ", ".join(f"{r}_fraction, {r}_basis" for r in resources)
    query = f"""
        SELECT {columns} FROM efficiency_choice AS c JOIN efficiency_precision AS p USING (precision_class)
        WHERE hardware_id = ? AND backend = ? AND kernel_class = ? AND p.precision = ? AND memory_format = ?
            AND operator_name = ?
    """
    asked = [
        target.hardware_id,
        target.scenario.backend,
        kernel["kernel_class"],
        kernel["precision"],
        kernel["layout"],
        kernel["operator_name"],
    ]
    row = target.connection.execute(query, asked).fetchall()[0]
    display.heading("Efficiency rows that hold (scope, class, backend, precision, format; source, confidence)")
    known = [(r, row[2 * i], row[2 * i + 1]) for i, r in enumerate(resources) if row[2 * i] is not None]
    shown = [(r, display.percent(fraction), basis) for r, fraction, basis in known]
    display.show(display.table(("resource", "fraction", "row"), shown))


def _catalog_numbers(target: Target, kernel: Record) -> None:
    """The part's numbers this kernel rests on, each with its source."""
    precision, unit = kernel["executed_precision"], kernel["unit"]
    patterns = [
        f"peak.{precision}.{unit}.%.peak_ops_per_s",
        "memory.dram.bandwidth_byte_per_s",
        "cluster.%.unit_count",
        "cluster.%.clock_boost_hz",
        "cluster.%.array%",
        "power.%.tdp_w",
        "power.%.clock_fraction",
        "overhead.kernel_gap.overhead_s",
        "overhead.memory_latency.overhead_s",
        "memory.scratchpad.%",
        "memory.l_.%",
        f"energy.op.{precision}.{unit}",
        "energy.byte.%",
        "energy.static.%",
    ]
    test = " OR ".join(f"field LIKE '{p}'" for p in patterns)
    query = f"""
        SELECT field, value, unit, confidence, source_id, is_edited, formula FROM hardware_value
        WHERE hardware_id = ? AND ({test}) ORDER BY field
    """
    rows = target.connection.execute(query, [target.hardware_id]).fetchall()
    display.heading(f"Numbers of {target.hardware_id} it rests on")
    shown = [
        (
            field,
            display.quantity(value, unit or ""),
            f"{confidence or '?'}{', edited' if edited else ''}",
            source or "?",
            formula or "",
        )
        for field, value, unit, confidence, source, edited, formula in rows
    ]
    display.show(display.table(("number", "value", "confidence", "source", "formula"), shown))


def _step(target: Target, title: str, view: str, columns: Sequence[str], where: str = "") -> None:
    display.heading(title)
    _show_facts(target, view, _record(target, view, columns, where), columns)


def _show_facts(target: Target, view: str, row: Record, columns: Sequence[str]) -> None:
    """Values with the words in which the view itself documents each column."""
    query = "SELECT column_name, unit, description FROM file.view_column WHERE view = ?"
    documented = {name: (unit, text) for name, unit, text in target.connection.execute(query, [view]).fetchall()}
    shown = [(c, _value(c, row[c], documented[c][0]), documented[c][1]) for c in columns]
    wide = max(len(name) for name, _, _ in shown), max(len(value) for _, value, _ in shown)
    for name, value, text in shown:
        display.show(f"  {name.ljust(wide[0])}  {value.rjust(wide[1])}  {text}")


def _value(name: str, value: object, unit: str | None) -> str:
    if unit == "ops/byte" and isinstance(value, float):
        return f"{display.significant(value)} {unit}"
    if isinstance(value, float) or (isinstance(value, int) and unit):
        return display.quantity(value, unit or ("fraction" if name.endswith("_fraction") else ""))
    return display.cell(value) or "-"


def _record(target: Target, view: str, columns: Sequence[str], where: str = "") -> Record:
    return _rows(target, view, columns, where)[0]


def _rows(target: Target, view: str, columns: Sequence[str], where: str = "") -> list[Record]:
    """Rows of a report view by natural keys, or of a view further down by ids."""
    query = "SELECT count(*) FROM file.view_column WHERE view = ? AND column_name = 'hardware'"
    if target.connection.execute(query, [view]).fetchall()[0][0]:
        rows = target.rows(view, columns, where)
    elif view == "subgraph_work":
        query = f"SELECT {', '.join(columns)} FROM {view} WHERE model = ? AND scenario_id = ? {where}"
        rows = target.connection.execute(query, [target.model, target.scenario.scenario_id]).fetchall()
    else:
        condition = "model_id = ? AND scenario_id = ? AND hardware_id = ?"
        query = f"SELECT {', '.join(columns)} FROM {view} WHERE {condition} {where}"
        rows = target.connection.execute(
            query, [target.model_id, target.scenario.scenario_id, target.hardware_id]
        ).fetchall()
    return [dict(zip(columns, r, strict=True)) for r in rows]


def _title(text: str) -> None:
    display.show(f"{text}\n{'=' * len(text)}")
