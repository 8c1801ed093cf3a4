"""Derive one number: each mechanism with its formula, its inputs, the catalog numbers behind them, down to tensor shapes."""

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

Record = dict[str, Any]

KEPT_HEAP = {"MALLOC_TRIM_THRESHOLD_": "4000000000", "MALLOC_MMAP_THRESHOLD_": "4000000000"}
"""Environment in which glibc's `malloc` never gives memory back."""

RUN_CHAIN = (
    ("Time", "model_latency", ("latency_s", *PACES.values(), "run_call_s", "device_s", "host_issue_s")),
    ("Bounds", "model_latency", ("roofline_s", "naive_s", "correction_factor")),
    ("Work", "model_report", ("macs", "flops", "traffic_byte", "utilization_fraction")),
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
        "kernel_time",
        ("latency_s", "overhead_s", "host_issue_s", "device_s", "busy_s", "kernel_gap_s", "bottleneck"),
    ),
    (
        "2. How its terms make up the time",
        "kernel_time",
        (
            "busy_s",
            "compute_s",
            "memory_s",
            "memory_level",
            "serial_s",
            "exposed_s",
            "power_s",
            "naive_s",
            "roofline_s",
        ),
    ),
    (
        "3. Energy",
        "kernel_time",
        ("energy_j", "compute_energy_j", "memory_energy_j", "static_energy_j", "wasted_energy_j"),
    ),
    ("4. Energy-delay product", "kernel_edp", ("edp_js", "local_edp_js", "edp_fraction")),
)
"""Steps of one kernel, each explaining inputs of the one before."""

_STEP = (
    "unit", "executed_precision", "strategy", "tile_m", "tile_n", "tile_k", "tile_count", "waves", "units_allocated",
    "pipelining_fraction", "utilization_fraction", "reload_byte", "tile_byte", "peak_ops_per_s", "unit_ops_per_s", "ideal_s",
)  # fmt: skip
"""What a step's tile comes out as."""

_TILE = (
    "dataflow", "step_k", "stages", "split_k", "fill_k", "longest_fill_s", "exposed_fill", "start_s",
    "wave_quantization_fraction", "sustained_fraction", "filled_fraction",
)  # fmt: skip
"""Constants of the tile itself."""

_RESOURCES = ("matrix", "vector", "memory", "overlap", "residency", "reorder", "paging", "thread")


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
    with on_target(db, model, hardware, batch=batch, sequence=sequence, precision=precision, backend=backend) as target:
        if not piece:
            _title(f"{target.model} on {target.hardware} ({target.asked})")
            _explain_run(target)
        else:
            _explain_kernel(target, int(piece) if is_number else _explain_operator(target, piece))


def _explain_run(target: Target) -> None:
    for title, view, columns in RUN_CHAIN:
        _section(target, title, view, columns)
    display.heading("Kernels that take the most time")
    kernels = target.rows("kernel_time", tail="ORDER BY latency_s DESC, kernel_id")
    total = sum(k["latency_s"] for k in kernels) + kernels[0]["run_call_s"]
    shown = [
        (k["kernel_id"], k["kernel"], display.seconds(k["latency_s"]), display.percent(k["latency_s"] / total), k["bottleneck"])
        for k in kernels[:10]
    ]  # fmt: skip
    display.show(display.table(("kernel", "operators", "time", "share", "bottleneck"), shown))
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
    display.note(f"\none kernel: charz explain {target.model} {kernels[0]['kernel_id']} {_as_asked(target)}")


def _as_asked(target: Target) -> str:
    """Options with which a command answers for the same part and scenario."""
    scenario = target.scenario
    sequence = f" --sequence {scenario.sequence}" if scenario.sequence else ""
    return (
        f"--on {target.hardware} --batch {scenario.batch}{sequence} --precision {scenario.precision}"
        f" --backend {scenario.backend}"
    )


def _note_share(spent_s: float, latency_s: float, what: str) -> None:
    """Say where more than a twentieth of a run's time goes and what would help."""
    if spent_s > latency_s / 20:
        display.note(f"\n{display.seconds(spent_s)} ({display.percent(spent_s / latency_s)}) {what}")


def _explain_operator(target: Target, name: str) -> int:
    """Print an operator's share of its kernel; returns the kernel."""
    rows = target.rows("operator_edp", tail="ORDER BY kernel_id")
    mine = [r for r in rows if r["operator"] == name]
    if not mine:
        known = {r["operator"] for r in rows}
        raise unknown_name("operator", name, known, f"`charz explain {target.model} {_as_asked(target)}` lists kernels")
    row = mine[0]
    _title(f"{target.model}: {name} in {row['module'] or 'the model'} on {target.hardware} ({target.asked})")
    display.heading(f"Operator: its share of kernel {row['kernel_id']}")
    columns = ("operator_class", "module", "share_fraction", "modifier", "latency_s", "energy_j", "edp_js")
    _show_facts(target, "operator_edp", row, columns)
    return int(row["kernel_id"])


def _explain_kernel(target: Target, kernel_id: int) -> None:
    where = f"WHERE kernel_id = {kernel_id}"
    kernels = target.rows("kernel_time", tail=where)
    if not kernels:
        known = [str(row["kernel_id"]) for row in target.rows("run_kernel", ("kernel_id",), "ORDER BY kernel_id")]
        raise unknown_name(
            "kernel", str(kernel_id), known, f"`charz explain {target.model} {_as_asked(target)}` lists kernels"
        )
    kernel = kernels[0]
    _title(f"{target.model}: kernel {kernel_id} ({kernel['kernel']}) on {target.hardware} ({target.asked})")
    for title, view, columns in KERNEL_CHAIN:
        row = kernel if view == "kernel_time" else target.rows(view, tail=where)[0]
        display.heading(title)
        _show_facts(target, view, row, columns)
    _terms(target, kernel, where)
    _steps(target, kernel, where)
    _layout(target, kernel)
    _tensors(target, where)
    _efficiencies(target, kernel)
    _catalog_numbers(target, target.rows("kernel_mapping", tail=where)[0])


def _terms(target: Target, kernel: Record, where: str) -> None:
    """Every mechanism that takes time or energy: its numbers, what its columns say they hold, and where its share of
    the peak comes from."""
    display.heading("5. Terms, each by the mechanism that adds it")
    explained: set[str] = set()
    order = f"ORDER BY list_position({list(_KINDS)}, kind), term_s DESC, term"
    for term in target.rows("kernel_term", tail=f"{where} {order}"):
        energy = f", {display.joules(term['term_j'])}" if term["term_j"] else ""
        name = f"{term['term']} ({term['kind']}, {term['mechanism']})"
        display.show(f"\n{name}: {display.seconds(term['term_s'])}{energy}")
        if term["amount"] is not None and term["rate_per_s"] is not None:
            share = f" x {display.percent(term['fraction'])}" if term["fraction"] is not None else ""
            rate = display.quantity(term["rate_per_s"], "byte/s")
            display.show(f"  {display.size(term['amount'])} / ({rate}{share})")
        if term["mechanism"] not in explained:
            columns = [c for c in _made_by(target, term["mechanism"]) if kernel.get(c) is not None]
            _show_facts(target, term["mechanism"], kernel, columns)
            explained.add(term["mechanism"])
        if term["efficiency_id"] is not None:
            row = (
                f"row {term['efficiency_id']} of efficiency, {term['scope']}; {term['source_id']}, {term['confidence']}"
            )
            display.facts([("share of the peak", display.percent(term["fraction"]), row)])


_KINDS = ("engine", "memory", "overlap", "exposed", "power", "gap", "host")
"""Kinds of terms, in the order in which they make up a kernel's time."""


def _made_by(target: Target, mechanism: str) -> list[str]:
    """Columns that a view adds to those it reads."""
    query = """
        SELECT column_name FROM view_column WHERE view = $1
        EXCEPT
        SELECT c.column_name FROM view_column AS c JOIN view_catalog AS v ON v.view = $1
        WHERE list_contains(string_split(v.reads, ', '), c.view)
    """
    made = {name for (name,) in target.connection.execute(query, [mechanism]).fetchall()}
    return [name for name in target.units(mechanism) if name in made]


def _steps(target: Target, kernel: Record, where: str) -> None:
    """The tile of every step, and the constants of the tile itself."""
    steps = target.rows("step_mapping", tail=f"{where} ORDER BY step_id")
    if not steps:
        return
    display.heading("6. Steps of its operators")
    display.wrapped(target.rows("kernel_mapping", ("sentence",), where)[0]["sentence"])
    for step in steps:
        work = display.quantity(step["flops"], "op")
        display.show(f"\n{step['operator']} ({step['operator_class']}), {step['step']}: {work}")
        _show_facts(target, "step_mapping", step, [c for c in _STEP if step[c] is not None])
        if step["tile_m"] is not None:
            _tile(target, step["candidate"], _compute_precision(target, step))


def _compute_precision(target: Target, step: Record) -> str:
    query = "SELECT precision FROM operator_precision WHERE model = ? AND policy = ? AND operator_id = ?"
    asked = [target.model, target.scenario.precision, step["operator_id"]]
    return str(target.connection.execute(query, asked).fetchall()[0][0])


def _tile(target: Target, candidate: int, compute_precision: str) -> None:
    where = f"WHERE compute_precision = '{compute_precision}' AND candidate = {candidate}"
    for tile in target.rows("part_tile", tail=where):
        _show_facts(target, "part_tile", tile, [c for c in _TILE if tile[c] is not None])
        query = "SELECT DISTINCT source_id, confidence FROM tiling_strategy WHERE strategy = ? AND candidate = ?"
        for source, confidence in target.connection.execute(query, [tile["strategy"], candidate]).fetchall():
            text = f"candidate {candidate} of tiling_strategy; {source}, {confidence}"
            display.facts([("tile", tile["strategy"], text)])


def _layout(target: Target, kernel: Record) -> None:
    """Why its tensors lie as they do."""
    display.heading("7. Layout")
    scenario = target.scenario
    (run,) = target.rows("run")
    query = "SELECT layout FROM operator_layout WHERE model = ? AND memory_format = ? AND operator_id = ?"
    own = target.connection.execute(
        query, [target.model, scenario.memory_format, kernel["anchor_operator_id"]]
    ).fetchall()
    if kernel["layout"] == run["run_layout"] and run["run_layout"] == scenario.memory_format:
        why = "the memory format that is asked for"
    elif kernel["layout"] == run["run_layout"]:
        why = f"{scenario.backend} plans its layouts, and this one for the model's images (model.planned_format)"
    elif own and own[0][0] == kernel["layout"] and kernel["follows_strides"]:
        why = "the strides of its operands say so (operator_layout), which the backend follows"
    elif kernel["layout"] == "aliased":
        why = "rows of both operands evict one another from a first-level cache (linear_call)"
    elif kernel["kernel_class"] == "copy":
        why = "it copies a tensor whose strides the operator after it cannot take (layout_copy)"
    else:
        why = "the library takes its image for one that is not channels-last (convolution_call)"
    display.wrapped(f"{kernel['layout']}: {why}")


def _tensors(target: Target, where: str) -> None:
    columns = ("direction", "role", "tensor", "shape", "operator", "moved_byte")
    rows = target.rows("kernel_border", columns, f"{where} ORDER BY direction, tensor_id")
    if rows:
        display.heading("8. Tensors that cross its border")
        headers = ("moved", "role", "tensor", "shape", "by", "size")
        shown = [(*list(row.values())[:-1], display.size(row["moved_byte"])) for row in rows]
        display.show(display.table(headers, shown))


def _efficiencies(target: Target, kernel: Record) -> None:
    """The row of `efficiency` in force for each resource."""
    same = ("kernel_class", "operator_name", "precision_class", "layout")
    where = " AND ".join(f"{column} = '{kernel[column]}'" for column in same)
    (chosen,) = target.rows("part_efficiency", tail=f"WHERE {where}")
    ids = {r: chosen[f"{r}_efficiency_id"] for r in _RESOURCES if chosen[f"{r}_efficiency_id"] is not None}
    query = "SELECT * FROM efficiency WHERE list_contains(?, efficiency_id)"
    rows = {row["efficiency_id"]: row for row in target.records(query, [list(ids.values())])}
    display.heading("9. Efficiency rows that hold")
    display.facts(
        (
            resource,
            display.percent(chosen[f"{resource}_fraction"]),
            ", ".join(str(row[c]) for c in _NAMED)
            + (f"; half of it at {display.significant(row['half_work'])} a unit" if row["half_work"] else "")
            + f"; {row['source_id']}, {row['confidence']}",
        )
        for resource, row in ((resource, rows[number]) for resource, number in ids.items())
    )


_NAMED = ("scope", "kernel_class", "operator_name", "backend", "precision_class", "memory_format")
"""What tells rows of `efficiency` apart."""


def _catalog_numbers(target: Target, mapping: Record) -> None:
    """The part's numbers this kernel rests on, each with its source."""
    precision, unit = mapping["executed_precision"], mapping["unit"]
    patterns = [
        f"peak.{precision}.{unit}.%.peak_ops_per_s",
        "memory.%.bandwidth_byte_per_s",
        "memory.scratchpad.%",
        "memory.l_.%",
        "cluster.%.unit_count",
        "cluster.%.clock_boost_hz",
        "cluster.%.array%",
        "power.%.tdp_w",
        "power.%.clock_fraction",
        "overhead.%",
        f"energy.op.{precision}.{unit}",
        "energy.byte.%",
        "energy.static.%",
    ]
    test = " OR ".join(f"field LIKE '{p}'" for p in patterns)
    rows = target.rows("hardware_value", tail=f"WHERE {test} ORDER BY field")
    display.heading(f"10. Numbers of {target.hardware} it rests on")
    display.facts(
        (
            row["field"],
            display.quantity(row["value"], row["unit"] or ""),
            f"{row['confidence'] or '?'}{', edited' if row['is_edited'] else ''}; {row['source_id'] or '?'}"
            + (f"; {row['formula']}" if row["formula"] else ""),
        )
        for row in rows
    )


def _section(target: Target, title: str, view: str, columns: Sequence[str]) -> None:
    display.heading(title)
    _show_facts(target, view, target.rows(view)[0], columns)


def _show_facts(target: Target, view: str, row: Record, columns: Sequence[str]) -> None:
    """Values with the words in which the view itself documents each column."""
    query = "SELECT column_name, unit, description FROM view_column WHERE view = ?"
    documented = {name: (unit, text) for name, unit, text in target.connection.execute(query, [view]).fetchall()}
    display.facts((c, _value(c, row[c], documented[c][0]), documented[c][1]) for c in columns)


def _value(name: str, value: object, unit: str | None) -> str:
    if unit == "ops/byte" and isinstance(value, float):
        return f"{display.significant(value)} {unit}"
    if isinstance(value, float) or (isinstance(value, int) and unit):
        return display.quantity(value, unit or ("fraction" if name.endswith("_fraction") else ""))
    return display.cell(value) or "-"


def _title(text: str) -> None:
    display.show(f"{text}\n{'=' * len(text)}")
