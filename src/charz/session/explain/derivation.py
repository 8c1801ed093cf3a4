"""Lines of a derivation: what sets the pace of a run or kernel, with formulas, inputs and catalog numbers."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from charz.schema import ddl
from charz.schema.errors import CharzError, unknown_name
from charz.schema.units import UNITS, ending

from ..quantities import size
from ..scoped import Scoped
from . import sentences

Record = dict[str, Any]

COLUMNS = ("step", "item", "name", "value", "word", "unit", "meaning")
"""Columns of `explain`: `value` is a number in SI units of `unit`, `word` any other value, `meaning` its description with its source."""

KEPT_HEAP = {"MALLOC_TRIM_THRESHOLD_": "4000000000", "MALLOC_MMAP_THRESHOLD_": "4000000000"}
"""Environment in which glibc's `malloc` never returns memory to the system."""

SHOWN_KERNELS = 10
"""Number of kernels that the explanation of a run lists."""

_RUN_CHAIN = (
    (
        "Time",
        "model_latency",
        (
            "latency_s", "compute_s", "memory_s", "power_s", "team_s", "overhead_s", "run_call_s", "device_s",
            "host_issue_s",
        ),
    ),
    ("Power", "model_report", ("power", "clock_fraction")),
    ("Power", "clocked_shape", ("voltage_square", "static_w")),
    ("Power", "model_energy", ("average_power_w", "tdp_w")),
    ("Bounds", "model_latency", ("roofline_s", "naive_s", "correction_factor")),
    ("Work", "model_report", ("macs", "flops", "traffic_byte", "utilization_fraction")),
    (
        "Energy",
        "model_energy",
        ("energy_j", "compute_energy_j", "memory_energy_j", "static_energy_j", "wasted_energy_j", "energy_scope"),
    ),
    ("Energy-delay product", "model_edp", ("edp_js", "local_edp_js", "local_gap_fraction")),
)  # fmt: skip
"""Steps of a whole run: title, view, and columns with the result first."""

_KERNEL_CHAIN = (
    (
        "1. Time it adds to the run",
        "kernel_time",
        ("latency_s", "overhead_s", "host_issue_s", "device_s", "busy_s", "kernel_gap_s", "bottleneck"),
    ),
    (
        "2. How its terms make up the time",
        "kernel_time",
        (
            "busy_s", "unlimited_s", "compute_s", "memory_s", "memory_level", "serial_s", "exposed_s", "clock_fraction",
            "pause_ratio", "power_s", "naive_s", "roofline_s",
        ),
    ),
    (
        "3. Energy",
        "kernel_time",
        ("energy_j", "compute_energy_j", "memory_energy_j", "static_energy_j", "wasted_energy_j"),
    ),
    ("3. Energy", "clocked_shape", ("voltage_square", "static_w")),
    ("4. Energy-delay product", "kernel_edp", ("edp_js", "local_edp_js", "edp_fraction")),
)  # fmt: skip
"""Steps of one kernel, each explaining inputs of the step before."""

_STEP = (
    "unit", "executed_precision", "strategy", "tile_m", "tile_n", "tile_k", "tile_count", "waves", "units_allocated",
    "pipelining_fraction", "utilization_fraction", "reload_byte", "tile_byte", "peak_ops_per_s", "unit_ops_per_s", "ideal_s",
)  # fmt: skip
"""Columns of a step's tile."""

_TILE = (
    "dataflow", "step_k", "stages", "split_k", "fill_k", "longest_fill_s", "exposed_fill", "start_s",
    "wave_quantization_fraction", "sustained_fraction", "filled_fraction",
)  # fmt: skip
"""Columns of the constants of a tile."""

_TILED = (
    "strategy", "split_k", "overflowing_level", "unlimited_s", "compute_s", "slowest_memory_s", "dynamic_energy_j", "reload_byte",
    "stream_byte", "units_allocated",
)  # fmt: skip
"""Columns of a kernel under a candidate tile."""

_CUT = ("tile_m", "tile_n", "tile_k", "tile_count")
"""Sizes of the tile that divides a product."""

_RESOURCES = ("matrix", "vector", "memory", "overlap", "residency", "reorder", "paging", "thread")

_KINDS = ("engine", "memory", "bound", "overlap", "exposed", "power", "gap", "host")
"""Kinds of terms, in the order in which they make up a kernel's time."""

_NAMED = ("scope", "kernel_class", "operator_name", "backend", "precision_class", "memory_format")
"""Columns that identify a row of `efficiency`."""

_FIELDS = (
    "memory.%.bandwidth_byte_per_s", "memory.%.unit_bandwidth_byte_per_s", "memory.scratchpad.%", "memory.l_.%",
    "cluster.%.unit_count", "cluster.%.clock_boost_hz", "cluster.%.array%", "power.%.tdp_w", "power.%.clock_fraction",
    "overhead.%", "energy.byte.%", "energy.static.%",
)  # fmt: skip
"""Patterns of the part's fields that any kernel may use."""


class Derivation:
    """Lines of a derivation, collected step by step."""

    def __init__(self, scoped: Scoped, keys: Record) -> None:
        self.scoped = scoped
        self.keys = keys
        self.lines: list[tuple[Any, ...]] = []
        self.hints: list[str] = []
        self._known: dict[str, dict[str, tuple[str | None, str]]] = {}

    def run(self, formulas: bool) -> None:
        """Explain the pace of a whole run and list its slowest kernels; with `formulas`, derive its numbers."""
        kernels = self._kernels
        total = self._run["latency_s"]
        self._sentences(sentences.of_run(self._run, kernels))
        for kernel in kernels[:SHOWN_KERNELS]:
            meaning = f"{_name(kernel)}; {100 * kernel['latency_s'] / total:.1f} % of the run; {kernel['bottleneck']}"
            self._line(
                "Kernels that take the most time", "", str(kernel["kernel_id"]), kernel["latency_s"], "s", meaning
            )
        if formulas:
            for title, view, columns in _RUN_CHAIN:
                self._facts(title, "", view, self._rows(view)[0], columns)
            self._host_numbers()
        else:
            self.hints.append("--formulas shows the derivation of these numbers")
        teams = [k["team_s"] for k in kernels if k["team_s"]]
        self._hint(
            sum(teams),
            total,
            f"pass while threads start and stop, once in each of {len(teams)} kernels; a larger batch"
            " spreads it over more samples, fewer threads start sooner",
        )
        self._hint(
            sum(k["paging_s"] for k in kernels),
            total,
            "go to memory that the system allocates again in every run; with"
            f" {' '.join(f'{name}={value}' for name, value in KEPT_HEAP.items())} it is kept",
        )
        self._hint(
            sum(k["device_s"] for k in kernels if k["layout"] == "aliased"),
            total,
            "go to linear layers whose rows are a multiple of 2 KiB long and evict one another from the first-level cache;"
            " rows stored 64 bytes longer do not",
        )
        self._say_resident()
        self.hints.append(
            f"one kernel: charz explain {self.keys['model']} {kernels[0]['kernel_id']} {self._as_asked()}"
        )

    def _say_resident(self) -> None:
        """Report the share of the weights that stays in a software-managed memory from run to run by default."""
        (part,) = self._rows("part", f"WHERE hardware = {ddl.literal(self.keys['hardware'])}")
        if not part["keeps_weights"] or {row["cache_state"] for row in self._rows("run")} != {"warm"}:
            return
        held = max(kernel["held_weight_fraction"] for kernel in self._kernels)
        if held > 0:
            self.hints.append(
                f"{held:.0%} of the weights stay in {part['cache_level']} ({size(part['cache_byte'])}) from run to run; --cache"
                " weights_streamed answers for a program that reads them again"
            )

    def _as_asked(self) -> str:
        """Return the options that ask for the same part and scenario."""
        keys = self.keys
        sequence = f" --sequence {keys['sequence']}" if keys["sequence"] > 1 else ""
        options = f"--batch {keys['batch']}{sequence} --precision {keys['precision']} --backend {keys['backend']}"
        cap = "" if keys["power"] == "default" else f" --cap {keys['power']}"
        return f"--on {keys['hardware']} {options}{cap}"

    def found(self, piece: str) -> int:
        """Find a kernel by number, by one of its operators, or as the slowest one with a name in the run's table."""
        next = f"`charz explain {self.keys['model']} {self._as_asked()}` lists kernels"
        kernels = self._kernels
        if piece.isascii() and piece.isdigit():
            numbers = [kernel["kernel_id"] for kernel in kernels]
            if int(piece) in numbers:
                return int(piece)
            raise unknown_name("kernel", piece, map(str, sorted(numbers)), next)
        rows = self._rows("operator_edp", "ORDER BY kernel_id, step DESC")
        if mine := [row for row in rows if row["operator"] == piece]:
            self._shares(mine)
            return int(mine[0]["kernel_id"])
        word = piece.lower()
        called = [k for k in kernels if word in (k["kernel"].lower(), (k["module"] or "").lower(), _name(k).lower())]
        called = called or [k for k in kernels if word in _name(k).lower()]
        if not called:
            raise unknown_name("operator", piece, {row["operator"] for row in rows}, next)
        if len(called) > 1:
            others = ", ".join(str(k["kernel_id"]) for k in called[1:SHOWN_KERNELS])
            self.hints.append(f"the slowest of {len(called)} kernels of this name; the next: {others}")
        return int(called[0]["kernel_id"])

    def _shares(self, rows: Iterable[Record]) -> None:
        """List an operator's share of its kernel."""
        columns = (
            "operator_class", "module", "share_fraction", "model_fraction", "is_fused", "base_modifier", "modifier", "latency_s",
            "energy_j", "edp_js",
        )  # fmt: skip
        for row in rows:
            which = row["operator"] if row["step"] == "main" else f"{row['operator']}, {row['step']}"
            title = f"Operator {which}: its share of kernel {row['kernel_id']}"
            self._facts(title, "", "operator_edp", row, columns)

    def kernel(self, kernel_id: int, formulas: bool) -> None:
        """Explain the pace of one kernel; with `formulas`, derive it down to the part's numbers."""
        where = f"WHERE kernel_id = {kernel_id}"
        (kernel,) = (k for k in self._kernels if k["kernel_id"] == kernel_id)
        (mapping,) = self._rows("kernel_mapping", where)
        shares, self.lines = self.lines, []
        self._sentences(sentences.of_kernel(kernel, _name(kernel), mapping["sentence"] or "", self._run, self._kernels))
        self.lines += shares
        if not formulas:
            self.hints.append("--formulas shows the derivation of these numbers")
            return
        for title, view, columns in _KERNEL_CHAIN:
            # The voltage and the static power are those of the run.
            found = kernel if view == "kernel_time" else self._rows(view, "" if view == "clocked_shape" else where)[0]
            self._facts(title, _name(kernel), view, found, columns)
        self._terms(kernel, where)
        self._steps(where, mapping)
        self._layout(kernel)
        self._tensors(where)
        self._efficiencies(kernel)
        self._catalog_numbers(mapping)

    @functools.cached_property
    def _kernels(self) -> list[Record]:
        """Kernels of the run, the slowest first. Raises `CharzError` where the run has no time."""
        found = self._rows("kernel_time", "ORDER BY latency_s DESC, kernel_id")
        if self._run["latency_s"] is None:
            raise CharzError(
                "no time is known", f"{self.keys['model']} on {self.keys['hardware']}", next="`charz doctor --invariants`"
            )
        return found

    @functools.cached_property
    def _run(self) -> Record:
        """The row of the run."""
        rows = self.scoped.rows("model_report", beside=("model_energy", "model_latency"))
        return dict(zip(rows.columns, rows.fetch()[0], strict=True))

    def _sentences(self, told: Iterable[tuple[str, str]]) -> None:
        for name, sentence in told:
            self._line("In short", "", name, sentence, None, "")

    def tiles(self, candidate: int, size: str, kernel: int | None) -> None:
        """Compare kernels under a user's tile with their chosen tiles: one kernel or operator, or the slowest kernels of the run."""
        where = "TRUE" if kernel is None else f"kernel_id = {kernel}"
        tiles = self._rows("kernel_tile", f"WHERE {where} ORDER BY kernel_id, candidate")
        mine = {row["kernel_id"]: row for row in tiles if row["candidate"] == candidate}
        # The offered tile may be the fastest, so it is compared with the best of the others.
        others: dict[int, Record] = {}
        for row in tiles:
            best = others.get(row["kernel_id"])
            is_other = row["candidate"] != candidate and row["unlimited_s"] is not None
            if is_other and (best is None or row["unlimited_s"] < best["unlimited_s"]):
                others[row["kernel_id"]] = row
        slowest = sorted(others.values(), key=lambda row: (-row["unlimited_s"], row["kernel_id"]))
        rivals = {row["kernel_id"]: row for row in slowest[:SHOWN_KERNELS]}
        if not rivals:
            next = f"`charz explain {self.keys['model']} {self._as_asked()}` lists kernels"
            raise CharzError(
                "no product to tile", str(self.keys["model"]) if kernel is None else f"kernel {kernel}", next=next
            )
        for kernel_id, rival in rivals.items():
            title = f"Kernel {kernel_id}: {_name(rival)}"
            self._tiled(title, f"chosen, candidate {rival['candidate']}", rival)
            if kernel_id in mine:
                self._tiled(title, size, mine[kernel_id])
            else:
                self._line(
                    title, size, "overflowing_level", "no product", None, "no product of the kernel takes the tile"
                )

    def _tiled(self, title: str, item: str, tile: Record) -> None:
        """List a kernel's numbers under a tile, and the division of its longest product, which is absent where a level overflows."""
        product = self._rows(
            "tile_step",
            f"""
            JOIN run_kernel USING (run, shape_id)
            WHERE kernel_id = {tile["kernel_id"]} AND candidate = {tile["candidate"]}
            ORDER BY ideal_s DESC, step_id LIMIT 1
            """,
        )
        for row in product:
            self._facts(title, item, "tile_step", row, _CUT)
        self._facts(title, item, "kernel_tile", tile, _TILED)

    def _terms(self, kernel: Record, where: str) -> None:
        """List every mechanism that takes time or energy: its numbers, their descriptions, and the source of its share of the peak."""
        title = "5. Terms, each by the mechanism that adds it"
        explained: set[str] = set()
        order = f"ORDER BY list_position({list(_KINDS)}, kind), term_s DESC, term"
        for term in self._rows("kernel_term", f"{where} {order}"):
            item = f"{term['term']} ({term['kind']}, {term['mechanism']})"
            self._facts(title, item, "kernel_term", term, [c for c in _TERM if term[c] is not None])
            if term["mechanism"] not in explained:
                made = [c for c in self._made_by(term["mechanism"]) if kernel.get(c) is not None]
                self._facts(title, item, term["mechanism"], kernel, made)
                explained.add(term["mechanism"])
            if term["efficiency_id"] is not None:
                source = f"row {term['efficiency_id']} of efficiency, {term['scope']}; {term['source_id']}, {term['confidence']}"
                self._line(title, item, "share of the peak", term["fraction"], "fraction", source)
            if None not in (term["amount"], term["rate_per_s"]):
                reached = term["amount"] / (term["rate_per_s"] * term["term_s"])
                self._line(title, item, "share reached", reached, "fraction", "amount / (rate * time) of this kernel: a small one reaches less")

    def _made_by(self, mechanism: str) -> list[str]:
        """Return the columns that a view adds to those it reads, in order."""
        reads = self.scoped.value("SELECT reads FROM view_catalog WHERE view = ?", [mechanism])
        passed_on = {name for view in reads.split(", ") for name in self._documented(view)}
        return [name for name in self._documented(mechanism) if name not in passed_on]

    def _steps(self, where: str, mapping: Record) -> None:
        """List the tile of every step, and the constants of the tile."""
        title = "6. Steps of its operators"
        steps = self._rows("step_mapping", f"{where} ORDER BY step_id")
        if steps:
            self._line(title, "", "mapping", mapping["sentence"], None, "")
        for step in steps:
            item = f"{step['operator']} ({step['operator_class']}), {step['step']}"
            self._facts(title, item, "step_mapping", step, ["flops", *(c for c in _STEP if step[c] is not None)])
            if step["tile_m"] is not None:
                self._tile(title, item, step)

    def _tile(self, title: str, item: str, step: Record) -> None:
        query = "SELECT precision FROM operator_precision WHERE model = ? AND policy = ? AND operator_id = ?"
        asked = [self.keys["model"], self.keys["precision"], step["operator_id"]]
        precision, candidate = self.scoped.value(query, asked), step["candidate"]
        for tile in self._rows("part_tile", f"WHERE compute_precision = '{precision}' AND candidate = {candidate}"):
            self._facts(title, item, "part_tile", tile, [c for c in _TILE if tile[c] is not None])
            query = "SELECT DISTINCT source_id, confidence FROM tiling_strategy WHERE strategy = ? AND candidate = ?"
            for source, confidence in self.scoped.execute(query, [tile["strategy"], candidate]).fetchall():
                meaning = f"candidate {candidate} of tiling_strategy; {source}, {confidence}"
                self._line(title, item, "tile", tile["strategy"], None, meaning)

    def _layout(self, kernel: Record) -> None:
        """Explain the layout of its tensors."""
        run = self.keys
        query = "SELECT layout FROM operator_layout WHERE model = ? AND memory_format = ? AND operator_id = ?"
        own = self.scoped.value(query, [run["model"], run["memory_format"], kernel["anchor_operator_id"]])
        if kernel["layout"] == run["run_layout"] and run["run_layout"] == run["memory_format"]:
            why = "the requested memory format"
        elif kernel["layout"] == run["run_layout"]:
            why = f"{run['backend']} plans its layouts, and this one for the model's images (model.planned_format)"
        elif own == kernel["layout"] and kernel["follows_strides"]:
            why = "the strides of its operands (operator_layout), which the backend follows"
        elif kernel["layout"] == "aliased":
            why = "rows of both operands evict one another from a first-level cache (linear_call)"
        elif kernel["kernel_class"] == "copy":
            why = "it copies a tensor whose strides the operator after it cannot take (layout_copy)"
        else:
            why = "the library treats its image as not channels-last (convolution_call)"
        self._line("7. Layout", "", "layout", kernel["layout"], None, why)

    def _tensors(self, where: str) -> None:
        for row in self._rows("kernel_border", f"{where} ORDER BY direction, tensor_id"):
            meaning = f"{row['direction']}, {row['role']}, {row['shape']}, by {row['operator']}"
            self._line("8. Tensors that cross its border", "", row["tensor"], row["moved_byte"], "byte", meaning)

    def _efficiencies(self, kernel: Record) -> None:
        """List the row of `efficiency` in force for each resource."""
        same = ("kernel_class", "operator_name", "precision_class", "layout")
        where = " AND ".join(f"{column} = '{kernel[column]}'" for column in same)
        of_target = f"JOIN part_backend USING (efficiency_chain) WHERE hardware = '{kernel['hardware']}' AND backend = '{kernel['backend']}'"
        (chosen,) = self._rows("chain_efficiency", f"{of_target} AND {where}")
        ids = {r: chosen[f"{r}_efficiency_id"] for r in _RESOURCES if chosen[f"{r}_efficiency_id"] is not None}
        query = "SELECT * FROM efficiency WHERE list_contains(?, efficiency_id)"
        rows = {row["efficiency_id"]: row for row in self.scoped.records(query, [list(ids.values())])}
        for resource, number in ids.items():
            row = rows[number]
            half = f"; half of it at {row['half_work']:.3g} a unit" if row["half_work"] else ""
            meaning = f"{', '.join(str(row[c]) for c in _NAMED)}{half}; {row['source_id']}, {row['confidence']}"
            self._line(
                "9. Efficiency rows in force", "", resource, chosen[f"{resource}_fraction"], "fraction", meaning
            )

    def _catalog_numbers(self, mapping: Record) -> None:
        """List the part's numbers that this kernel uses, each with its source."""
        precision, unit = mapping["executed_precision"], mapping["unit"]
        fields = [f"peak.{precision}.{unit}.%.peak_ops_per_s", *_FIELDS, f"energy.op.{precision}.{unit}"]
        test = " OR ".join(f"field LIKE '{field}'" for field in fields)
        title = f"10. Numbers of {self.keys['hardware']} that it uses"
        for row in self._rows(
            "hardware_value", f"WHERE hardware = '{self.keys['hardware']}' AND ({test}) ORDER BY field"
        ):
            edited = ", edited" if row["is_edited"] else ", follows an edit" if row["follows_edit"] else ""
            formula = f"; {row['formula']}" if row["formula"] else ""
            rule = (
                f" by rule {row['derivation_rule']}" if row["stated_value"] is None and row["derivation_rule"] else ""
            )
            trust = row["standing"] if row["stated_value"] is None else row["confidence"] or "?"
            meaning = f"{trust}{rule}{edited}; {row['source_id'] or '?'}{formula}"
            self._line(title, "", row["field"], row["value"], row["unit"], meaning)

    def _host_numbers(self) -> None:
        """List the host's times under the backend and the source of their row. A server has further times, in the row of its version."""
        hardware, backend = ddl.literal(self.keys["hardware"]), ddl.literal(self.keys["backend"])
        (found,) = self._rows("supported_backend", f"WHERE hardware = {hardware} AND backend = {backend}")
        title = f"Host times of {self.keys['backend']} on {self.keys['hardware']}"
        rows = {"backend_support": (found["support_row"], "CONCAT_WS('.', backend, family, vendor)")}
        if found["serves"]:
            rows["engine_version"] = (f"{self.keys['backend']}.{self.keys['engine_version']}", "CONCAT_WS('.', backend, engine_version)")
        for table, (row, key) in rows.items():
            for source, confidence in self.scoped.execute(f"SELECT source_id, confidence FROM {table} WHERE {key} = ?", [row]).fetchall():
                self._line(title, "", table, row, None, f"row with the host's times; {source}, {confidence}")
        self._facts(title, "", "supported_backend", found, ("call_s", "host_kernel_s", "host_view_s", "kernel_gap_fraction"))

    def _facts(self, step: str, item: str, view: str, row: Record, columns: Iterable[str]) -> None:
        """List values with the description of each column in the view."""
        documented = self._documented(view)
        for column in columns:
            unit, meaning = documented[column]
            self._line(step, item, column, row[column], unit or _unit(column), meaning)

    def _line(self, step: str, item: str, name: str, value: object, unit: str | None, meaning: str) -> None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        number = float(value) if is_number else None  # type: ignore[arg-type]
        word = None if is_number or value is None else _word(value)
        self.lines.append((step, item, name, number, word, unit, meaning))

    def _hint(self, spent_s: float, latency_s: float, what: str) -> None:
        """Add a hint on what would help, if more than 5 % of a run's time is spent there."""
        if spent_s > latency_s / 20:
            self.hints.append(f"{100 * spent_s / latency_s:.0f} % of the time {what}")

    def _rows(self, view: str, tail: str = "") -> list[Record]:
        return self.scoped.records(f"SELECT * FROM {view} {tail}")

    def _documented(self, view: str) -> dict[str, tuple[str | None, str]]:
        """Return unit and text of each column of a view, in order."""
        if view not in self._known:
            query = "SELECT column_name, unit, description FROM view_column WHERE view = ? ORDER BY position"
            rows = self.scoped.execute(query, [view]).fetchall()
            self._known[view] = {name: (unit, text) for name, unit, text in rows}
        return self._known[view]


_TERM: Sequence[str] = ("term_s", "term_j", "amount", "rate_per_s", "fraction")
"""Numbers of a term."""


def _name(kernel: Record) -> str:
    """Name a kernel by its fused classes, and by its anchor's name and module."""
    where = f" of {kernel['module']}" if kernel["module"] else ""
    return f"{kernel['kernel']} ({kernel['operator']}{where})"


def _unit(column: str) -> str | None:
    return "fraction" if column.endswith("fraction") else UNITS.get(ending(column))


def _word(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
