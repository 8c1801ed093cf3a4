"""The command that reports one model on one part: time, energy, memory, bottleneck, and their breakdown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from charz.schema import user_file
from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..axes import names
from ..core import Core
from ..parameters import (
    Backend,
    Batch,
    Cache,
    Cap,
    Context,
    File,
    Force,
    IncludeTransfer,
    Model,
    Names,
    Phase,
    Precision,
    Sequence_,
    Text,
    Top,
)
from ..question import Question, header, served, single
from ..scoped import Scoped
from . import chrome_trace, first_screen

_RUN = (
    "model", "hardware", "backend", "precision", "batch", "sequence", "power", "is_simulated", "latency_s", "p10_s", "p90_s",
    "band_basis", "throughput_per_s", "bottleneck", "clock_fraction", "compute_s", "memory_s", "power_s", "team_s", "overhead_s",
    "energy_j", "energy_per_sample_j", "compute_energy_j", "memory_energy_j", "static_energy_j", "wasted_energy_j",
    "efficiency_fraction", "peak_energy_j", "energy_scope", "average_power_w", "peak_power_w", "tdp_w", "edp_js", "macs",
    "flops", "kernel_count", "utilization_fraction", "naive_s", "correction_factor", "assumed_count",
)  # fmt: skip

_MEMORY = (
    "peak_memory_byte", "weight_byte", "buffer_byte", "kv_cache_byte", "gradient_byte", "activation_byte", "rounding_byte",
    "workspace_byte", "reserve_byte", "reserved_byte", "peak_operator", "peak_module", "context_byte", "device_byte", "fits_device",
    "device_fraction", "cache_byte", "fits_cache",
    "fits_activation_in_cache",
)  # fmt: skip

_SECTIONS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "run": ("model_report", _RUN, ""),
    "memory": ("model_memory", _MEMORY, ""),
    "mapping": (
        "mapping_summary",
        ("dimension", "bucket", "kernel_count", "latency_s", "kernel_fraction", "latency_fraction"),
        "ORDER BY dimension, latency_s DESC, bucket",
    ),
    "kernels": (
        "kernel_latency",
        (
            "kernel_id", "kernel", "operator", "module", "latency_s", "compute_s", "memory_s", "overhead_s", "bottleneck",
            "utilization_fraction",
        ),
        "ORDER BY latency_s DESC, position LIMIT {top}",
    ),
    "energy": (
        "kernel_energy",
        (
            "kernel_id", "kernel", "operator", "module", "energy_j", "compute_energy_j", "memory_energy_j", "static_energy_j", "wasted_energy_j",
            "efficiency_fraction", "power_w",
        ),
        "ORDER BY energy_j DESC NULLS LAST, position LIMIT {top}",
    ),
    "sentences": ("kernel_mapping", ("kernel_id", "operator", "sentence"), "ORDER BY latency_s DESC, position LIMIT {top}"),
    "partition": (
        "partition_report",
        ("aspect", "bucket", "kernel_count", "flops", "flops_fraction", "traffic_byte", "traffic_fraction"),
        "ORDER BY aspect, bucket_order, kernel_count DESC",
    ),
    "concurrency": (
        "model_concurrency",
        (
            "kernel_count", "stage_count", "widest_stage", "widest_stage_kernels", "mean_stage_kernels", "critical_path_kernels",
            "sequential_s", "critical_path_s", "is_exact", "latency_s", "concurrent_s", "speedup_bound", "flops_speedup_bound",
            "critical_path_edp_js",
        ),
        "",
    ),
    "validation": ("concurrency_check", ("line", "value", "bound", "holds"), "ORDER BY line"),
    "stages": (
        "stage_allocation",
        (
            "stage", "kernel_count", "flops", "threads", "units_allocated", "unit_count", "allocated_fraction", "sequential_s", "longest_s",
        ),
        "ORDER BY longest_s DESC, stage LIMIT {top}",
    ),
    "levels": (
        "level_total",
        ("kernel_class", "level", "level_byte", "level_j"),
        "ORDER BY kernel_class <> 'all', kernel_class, depth, level",
    ),
    "fits": (
        "memory_fit",
        ("level", "capacity_byte", "fits_weight", "fits_activation", "fits_all"),
        "ORDER BY depth",
    ),
    "traffic": (
        "kernel_level",
        ("kernel_id", "kernel", "operator", "border", "level", "level_byte", "level_s", "level_j", "is_slowest"),
        "ORDER BY level_s DESC, kernel_id, border LIMIT {top}",
    ),
    "steps": (
        "step_mapping",
        (
            "kernel_id", "operator", "step", "operator_class", "unit", "executed_precision", "macs", "flops", "ideal_s", "tile_count",
            "units_allocated", "utilization_fraction",
        ),
        "ORDER BY ideal_s DESC NULLS LAST, kernel_id, step_id LIMIT {top}",
    ),
    "timeline": (
        "memory_timeline",
        ("kernel_id", "kernel", "module", "storage_count", "live_byte", "total_byte"),
        "ORDER BY live_byte DESC, position LIMIT {top}",
    ),
    "largest_batch": (
        "largest_batch",
        ("context_byte", "fixed_byte", "sample_byte", "largest_batch", "largest_batch_byte", "largest_on_chip_batch", "is_exact"),
        "",
    ),
    "energy_delay_product": (
        "model_edp",
        (
            "edp_js", "local_edp_js", "local_gap_fraction", "compute_edp_js", "memory_edp_js", "static_edp_js",
            "kernels_for_half", "kernels_for_ninety",
        ),
        "",
    ),
    "modules": (
        "run_module",
        ("module", "class_name", "operator_count", "latency_s", "energy_j", "edp_js", "weight_byte", "output_byte"),
        "WHERE depth <= 1 ORDER BY depth, edp_js DESC NULLS LAST, module LIMIT {top}",
    ),
    "operators": (
        "operator_fusion",
        (
            "operator", "step", "operator_class", "module", "is_fused", "base_modifier", "modifier", "share_fraction",
            "model_fraction", "edp_js", "fusion_ratio",
        ),
        "WHERE backend = '{backend}' ORDER BY edp_js DESC NULLS LAST, operator_id, step LIMIT {top}",
    ),
    "fusion": (
        "fusion_benefit",
        (
            "backend", "unfused_backend", "kernel_count", "unfused_kernel_count", "traffic_byte", "unfused_traffic_byte",
            "dram_byte", "unfused_dram_byte", "latency_s", "unfused_latency_s", "energy_j", "unfused_energy_j", "speedup",
            "edp_ratio",
        ),
        "ORDER BY backend",
    ),
    "fusions": (
        "kernel_fusion",
        (
            "kernel_id", "kernel", "unfused_kernel_count", "traffic_byte", "unfused_traffic_byte", "latency_s",
            "unfused_latency_s", "energy_j", "unfused_energy_j", "speedup", "edp_ratio",
        ),
        "ORDER BY unfused_latency_s - latency_s DESC, backend, kernel_id LIMIT {top}",
    ),
    "patterns": (
        "fusion_pattern",
        (
            "kernel", "kernel_count", "unfused_kernel_count", "traffic_byte", "unfused_traffic_byte", "latency_s",
            "unfused_latency_s", "saved_s", "saved_fraction", "saved_j", "only_s", "up_to_s",
        ),
        "ORDER BY pattern_rank LIMIT {top}",
    ),
    "modifiers": (
        "modifier_check",
        (
            "backend", "operator_class", "kernel_count", "flops", "edp_fraction", "base_modifier", "fused_modifier", "predicted_modifier",
            "source_id", "confidence",
        ),
        "ORDER BY edp_fraction DESC, operator_class",
    ),
    "precisions": (
        "precision_comparison",
        (
            "precision", "base_precision", "latency_s", "energy_j", "peak_memory_byte", "speedup", "energy_ratio", "memory_ratio",
            "assumed_count",
        ),
        "ORDER BY latency_s, precision",
    ),
    "cost": (
        "inference_cost",
        ("price_usd_per_hour", "inference_usd", "million_inference_usd", "inference_j"),
        "",
    ),
    "checkpointing": (
        "checkpoint_saving",
        ("group_count", "stored_byte", "checkpointed_byte", "saved_byte", "saved_fraction", "recompute_s"),
        "",
    ),
}  # fmt: skip
"""View, columns and order of each section."""

_BESIDE = {"run": ("model_energy", "model_latency")}
"""Further views whose columns a section lists."""

_SIDES = {**dict.fromkeys(("operators", "modifiers", "fusion", "fusions", "patterns"), "backends"), "precisions": "precisions"}
"""Sections that compare runs which differ in one condition only, each with the condition that differs."""

PAGE_SCOPED = 12
"""Number of connections to keep while a page is made, whose sections ask for the same runs again."""

SHOWN_PARTS = ("i7_13700k", "h100_sxm5_80", "tpu_v4", "kpu_t256")
"""Well-known parts: one CPU, GPU, TPU and KPU."""

_COMPARED_PRECISIONS = "SELECT precision FROM compared_precision WHERE hardware = ? AND backend = ? ORDER BY precision"
"""Query for the precisions to compare: precisions whose weight format the part supports."""

_SAME_RUN = ("latency_s", "energy_j", "peak_memory_byte")
"""Columns that are equal in two precisions if the model runs the same kernels in both."""

_MAPPED = frozenset({"kernel_mapping", "mapping_summary"})
"""Views that read the mapping of each kernel, which is evaluated once."""


def statement(section: str) -> str:
    """Return the query for the rows of a section; long sections are limited to ten rows."""
    view, columns, order = _SECTIONS[section]
    beside = "".join(f" JOIN {other} USING (model, hardware, scenario_id)" for other in _BESIDE.get(section, ()))
    return f"SELECT {', '.join(columns)} FROM {view}{beside} {order.format(top=10, backend='eager')}".rstrip()


class Report(Core):
    """Report of one model on one part."""

    @answer(
        "run", "memory", "mapping", "kernels", "energy", "sentences", "checks",
        more=(
            "partition", "concurrency", "validation", "stages", "levels", "fits", "steps", "traffic", "timeline", "largest_batch",
            "energy_delay_product", "modules", "operators", "modifiers", "fusion", "fusions", "patterns", "precisions", "cost",
            "checkpointing",
        ),
        files=("html", "trace"),
        first=first_screen.FIRST,
        common=("on", "batch", "precision", "backend", "cap", "section", "full", "top", "html", "trace"),
    )  # fmt: skip
    def report(
        self,
        model: Model,
        *,
        on: Annotated[Names, Text("Hardware part, e.g. rtx4090. --html compares several, separated by commas or by repeating the option.")],
        batch: Batch = None,
        sequence: Sequence_ = None,
        precision: Precision = None,
        backend: Backend = None,
        cache: Cache = "warm",
        cap: Cap = None,
        include_transfer: IncludeTransfer = False,
        phase: Phase = None,
        context: Context = None,
        devices: Annotated[int | None, Text("Number of devices over which the model is split.", least=1)] = None,
        version: Annotated[str | None, Text("Version of the serving engine.")] = None,
        kv_precision: Annotated[str | None, Text("Format of the KV cache, e.g. fp8_e4m3.")] = None,
        top: Top = 10,
        html: Annotated[File | None, Text("Write the whole report as one self-contained HTML page.")] = None,
        trace: Annotated[File | None, Text("Write the predicted execution as a Chrome trace, which Perfetto opens.")] = None,
        force: Force = False,
        section: Literal[
            "run", "memory", "mapping", "kernels", "energy", "sentences", "checks", "partition", "concurrency", "validation",
            "stages", "levels", "fits", "steps", "traffic", "timeline", "largest_batch", "energy_delay_product", "modules",
            "operators", "modifiers", "fusion", "fusions", "patterns", "precisions", "cost", "checkpointing", "answer", "shares", "slowest",
        ] = "run",
    ) -> Rows:  # fmt: skip
        """Report time, energy and memory of one model on one part. Omitted options take the defaults of the model and the part."""
        parts = names(on)
        if len(parts) != 1 and html is None:
            raise CharzError(
                "a report takes one part", ", ".join(parts) or "none named", next="`charz compare`, or --html page.html"
            )
        question = served(
            single(model, parts[0], batch, sequence, precision, backend, cache, cap, include_transfer),
            phase, context, devices, version, kv_precision,
        )  # fmt: skip
        written = []
        if html is not None:
            if question.serves:
                raise CharzError("a page shows a forward pass", str(html), next="leave out --html, or the options of serving")
            conditions = {
                "batch": batch,
                "sequence": sequence,
                "precision": precision,
                "backend": backend,
                "cache": cache,
                "cap": cap,
                "include_transfer": include_transfer or None,
            }
            user_file.check(Path(html), force)
            user_file.write(
                Path(html), self._page(model, parts, {k: v for k, v in conditions.items() if v is not None}), force
            )
            written.append((str(html),))
        if trace is not None:
            scoped, _ = self.target(question, *chrome_trace.VIEWS)
            user_file.write(Path(trace), chrome_trace.text(scoped), force)
            written.append((str(trace),))
        if written:
            return Rows(("file",), written)
        if section == "checks":
            scoped, keys = self.target(question, "model_report")
            return replace(_checks(scoped, keys), header=header([keys]))
        if section in ("run", "memory", "fits", "largest_batch"):
            self.say_states_left_out(model)
        if section in first_screen.FIRST:
            return self._first(question, section, top, devices is not None and devices > 1)
        view = _SECTIONS[section][0]
        scoped, keys = self.target(question, *(() if section in _SIDES else (view,)))
        if section in _SIDES:
            scoped = self.asked(self._sides(question, keys, _SIDES[section]), view)
        if view in _MAPPED:
            scoped.keep("kernel_mapping")
        beside = _BESIDE.get(section, ())
        found = self.listed(scoped, _SECTIONS[section], top, f"rows of {section}", beside, backend=keys["backend"])
        if devices is not None and devices > 1 and found.frame().is_empty():
            next = "leave out --devices, or ask for --section run or memory"
            raise CharzError(f"no section {section} for a model split over devices", f"--devices {devices}", next=next)
        if section == "precisions":
            found = self._distinct(found)
        if section == "run":
            for line in first_screen.peak_power(dict(zip(found.columns, found.fetch()[0], strict=True))):
                self.messages.remark(line)
        return found if section == "run" else replace(found, header=header([keys], without=found.columns))

    def _first(self, question: Question, section: str, top: int, is_split: bool) -> Rows:
        """Return a section of the first screen. The last one tells the next commands."""
        view, columns, order = _SECTIONS["run"]
        scoped, keys = self.target(question, view)
        found = self.listed(scoped, (view, (*columns, "run_call_s", "host_issue_s"), order), 1, "runs", _BESIDE["run"])
        run = dict(zip(found.columns, found.fetch()[0], strict=True))
        if section == "answer":
            memory = scoped.records(f"SELECT {', '.join(_MEMORY)} FROM model_memory")[0]
            return replace(first_screen.answer(run, memory), header=header([keys]))
        if section == "shares":
            return first_screen.shares(run)
        if is_split:
            return Rows((), [])
        view, columns, order = _SECTIONS["kernels"]
        kernels = scoped.rows(view, columns, order.removesuffix(" LIMIT {top}"))
        listed = replace(kernels, source=kernels.frame().head(min(top, first_screen.SLOWEST)))
        self.messages.remark(f"next: charz explain {keys['model']} --on {keys['hardware']}, or charz opportunities {keys['model']} --on {keys['hardware']}")
        return first_screen.slowest(run, listed)

    def _page(self, model: str, parts: list[str], conditions: dict[str, Any]) -> bytes:
        """Render the HTML page of a report. It compares the named parts; a single part is compared with a few well-known parts."""
        from .. import page
        from ..page.document import options

        known = [self.part_name(name) for name in parts]
        others = [name for name in SHOWN_PARTS if name in self._names("hardware")] if len(known) == 1 else []
        subject = page.Subject(
            self, self.model_name(model), list(dict.fromkeys([*known, *others])), statement, conditions
        )
        shared = ("batch", "sequence", "precision", "backend")
        asked = {"model": model, "on": known[0], **{name: conditions[name] for name in shared if name in conditions}}
        subtitle = "Predicted time, energy and memory, with explanations."
        before, self.messages = self.messages, self.messages.once()
        kept, self._kept_scoped = self._kept_scoped, PAGE_SCOPED
        try:
            found = list(page.sections(subject))
        finally:
            self.messages, self._kept_scoped = before, kept
        return page.text(f"{model} on {known[0]}", subtitle, found, options(asked.items()))

    def _sides(self, question: Question, keys: dict[str, Any], axis: str) -> Question:
        """Extend a question about one target by the targets to compare it with: the fused and unfused backends, or every precision of the part."""
        backend, precision = keys["backend"], keys["precision"]
        asked = replace(question, batches=[keys["batch"]], backends=[backend], precisions=[precision])
        if axis == "backends":
            query = "SELECT DISTINCT o.backend FROM fusion_side AS s JOIN fusion_side AS o USING (fused_backend)"
            found = self.connection().execute(f"{query} WHERE s.backend = ? ORDER BY ALL", [backend]).fetchall()
            return replace(asked, backends=[name for (name,) in found] or [backend])
        found = self.connection().execute(_COMPARED_PRECISIONS, [keys["hardware"], backend]).fetchall()
        return replace(asked, precisions=list(dict.fromkeys([precision, *(name for (name,) in found)])))

    def _distinct(self, found: Rows) -> Rows:
        """Drop precisions in which the model runs exactly as in another precision, and report the dropped precisions."""
        plain = {name for (name,) in self.connection().execute("SELECT precision FROM precision").fetchall()}
        rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetch()]
        rows = [row for row in rows if row["latency_s"] is not None]
        names = sorted(
            (row["precision"] for row in rows),
            key=lambda name: (name != rows[0]["base_precision"], name not in plain, len(name), name),
        )
        rows.sort(key=lambda row: names.index(row["precision"]))
        first: dict[tuple[Any, ...], str] = {}
        same: dict[str, str] = {}
        for row in rows:
            name = first.setdefault(tuple(row[column] for column in _SAME_RUN), row["precision"])
            if name != row["precision"]:
                same[row["precision"]] = name
        if same:
            told = ", ".join(f"{name} as {other}" for name, other in sorted(same.items()))
            self.messages.remark(f"left out, since the model runs exactly as in another precision: {told}")
        place = found.columns.index("precision")
        return replace(found, source=[row for row in found.fetch() if row[place] not in same])


def _checks(scoped: Scoped, keys: dict[str, Any]) -> Rows:
    """Check the report of one run. `charz doctor` checks the whole file."""
    (run,) = scoped.records("SELECT latency_s, run_call_s FROM model_latency")
    total = scoped.value("SELECT sum(latency_s) FROM kernel_latency")
    ratio = (total + run["run_call_s"]) / run["latency_s"] if run["latency_s"] else float("nan")
    unruled = scoped.value("SELECT count(*) FROM operator WHERE rule IS NULL AND model = ?", [keys["model"]])
    published = scoped.value("SELECT published_macs FROM model WHERE model = ?", [keys["model"]])
    fits = bool(scoped.value("SELECT fits_device FROM model_memory"))
    rows: list[tuple[str, bool, float]] = [
        ("operators without a rule", unruled == 0, float(unruled)),
        ("kernels and call over the run", abs(ratio - 1) <= 1e-9, ratio),
        ("peak memory fits the part", fits, float(fits)),
    ]
    profile = "SELECT operator_class, expected, found FROM model_profile WHERE model = ? ORDER BY operator_class"
    rows += [
        (f"operators of class {name}: {expected} in the architecture's tables", found == expected, float(found))
        for name, expected, found in scoped.sql(profile, [keys["model"]]).fetchall()
    ]
    if published:
        macs = scoped.value("SELECT macs FROM model_report") / keys["batch"] / published
        rows.append(("MACs a sample over the published figure", abs(macs - 1) < 0.01, macs))
    return Rows(("check", "holds", "value"), rows)
