"""Questions about models on parts: how fast, how many joules, how much memory, at what cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from charz.schema.conditions import MEMORY_FORMATS
from charz.schema.errors import CharzError, unknown_name

from . import family
from .answer import Rows, answer
from .axes import amount, cache_state, names, one_of, sizes
from .core import PREFERRED_PRECISIONS, Core, Question
from .parameters import (
    Amount,
    Backends,
    Batches,
    Cache,
    Model,
    Models,
    Part,
    Parts,
    Powers,
    Precisions,
    Sequences,
    Sizes,
    Text,
    Top,
)

DEFAULT_BATCHES = (1, 8, 64)
"""Batches asked about where the question is which to take."""

SERVED_PRECISIONS = ("fp16", "bf16", "fp32", "int8")
"""As `PREFERRED_PRECISIONS`, but in the 16 bits that language models are served in where the part has them."""

TARGET = ("model", "hardware", "backend", "precision", "batch", "sequence")
"""What names a target to people."""

_COMPARED = (
    *TARGET, "power", "latency_s", "throughput_per_s", "energy_per_sample_j", "average_power_w", "edp_js", "bottleneck",
    "utilization_fraction", "correction_factor", "peak_memory_byte", "fits_device", "is_simulated",
)  # fmt: skip
_COMPARED_MEMORY = (
    *TARGET, "weight_byte", "activation_byte", "peak_memory_byte", "fits_device", "fits_activation_in_cache",
)  # fmt: skip
_SWEPT = (
    *TARGET, "power", "latency_s", "throughput_per_s", "sample_j", "peak_memory_byte", "fits_device", "throughput_fraction",
    "saturating_batch", "is_simulated",
)  # fmt: skip
_CHOSEN = (
    *TARGET, "power", "latency_s", "throughput_per_s", "sample_j", "peak_memory_byte", "price_usd_per_hour",
    "million_inference_usd", "is_simulated", "fits_device", "dominated_by",
)  # fmt: skip
_HELPED = (
    "model", "hardware", "backend", "precision", "batch", "kind", "change", "sample_s", "saved_s", "saved_time_fraction",
    "saved_j", "saved_energy_fraction", "saved_memory_byte", "saved_million_usd", "trade",
)  # fmt: skip
_COST = (
    *TARGET, "latency_s", "throughput_per_s", "price_usd_per_hour", "inference_usd", "million_inference_usd",
    "inference_j", "million_inference_j", "fits_device", "is_simulated",
)  # fmt: skip
_CO2 = ("inference_co2_gram", "million_inference_co2_gram")
_ENERGY_PRICE = ("million_inference_energy_usd",)
_SERVED = (
    "model", "hardware", "backend", "precision", "batch", "context", "ttft_s", "tpot_s", "tokens_per_s",
    "prompt_tokens_per_s", "token_j", "tokens_per_j", "million_tokens_usd", "weight_byte", "kv_cache_byte",
    "kv_cache_token_byte", "peak_memory_byte", "fits_device", "is_simulated",
)  # fmt: skip
_SPREAD = (
    *TARGET, "interconnect", "strategy", "device_count", "latency_s", "round_s", "compute_s", "communication_s",
    "bubble_s", "throughput_per_s", "speedup", "scaling_efficiency_fraction", "device_memory_byte", "fits_device",
    "million_inference_usd", "is_simulated",
)  # fmt: skip
_MEMORY = {
    "split": (
        "model_memory",
        (
            *TARGET, "weight_byte", "buffer_byte", "kv_cache_byte", "activation_byte", "rounding_byte", "workspace_byte",
            "peak_memory_byte", "reserved_byte", "device_fraction", "fits_device", "peak_operator", "peak_module",
        ),
        "ORDER BY backend, precision, batch, sequence",
    ),
    "levels": (
        "memory_fit",
        (*TARGET, "level", "capacity_byte", "fits_weight", "fits_activation", "fits_all"),
        "ORDER BY backend, precision, batch, sequence, depth",
    ),
    "largest_batch": (
        "largest_batch",
        (
            *TARGET, "fixed_byte", "sample_byte", "largest_batch", "peak_memory_byte", "largest_on_chip_batch", "is_exact",
        ),
        "ORDER BY backend, precision, batch, sequence",
    ),
    "checkpointing": (
        "checkpoint_saving",
        (
            *TARGET, "group_count", "stored_byte", "checkpointed_byte", "saved_byte", "saved_fraction", "recompute_s",
        ),
        "ORDER BY backend, precision, batch, sequence",
    ),
    "timeline": (
        "memory_timeline",
        ("model", "backend", "precision", "batch", "kernel_id", "kernel", "module", "storage_count", "live_byte", "total_byte"),
        "ORDER BY live_byte DESC, kernel_id, backend, precision, batch LIMIT {top}",
    ),
}  # fmt: skip
"""View, columns and order of each section of `memory`."""
_CONCURRENT = {
    "bounds": (
        "model_concurrency",
        (
            *TARGET, "kernel_count", "stage_count", "widest_stage", "widest_stage_kernels", "mean_stage_kernels",
            "critical_path_kernels", "sequential_s", "critical_path_s", "is_exact", "latency_s", "concurrent_s",
            "speedup_bound", "flops_speedup_bound", "critical_path_edp_js",
        ),
        "ORDER BY hardware, backend, precision, batch, sequence",
    ),
    "stages": (
        "stage_allocation",
        (
            *TARGET, "stage", "kernel_count", "flops", "threads", "units_allocated", "unit_count", "allocated_fraction",
            "sequential_s", "longest_s",
        ),
        "ORDER BY longest_s DESC, stage, hardware, backend, precision, batch LIMIT {top}",
    ),
    "validation": (
        "concurrency_check",
        (*TARGET, "line", "value", "bound", "holds"),
        "ORDER BY hardware, backend, precision, batch, line",
    ),
}  # fmt: skip
"""View, columns and order of each section of `concurrency`."""

ELECTRICITY = "stated"
"""Name of the supply of electricity that the options of `cost` state."""


class Answers(Core):
    """Reports of runs: time, energy, memory, cost, and what would help."""

    @answer("cost", "memory")
    def compare(
        self,
        models: Models,
        *,
        on: Parts = None,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        cache: Cache = "warm",
        power: Powers = None,
        top: Top = 60,
        section: Literal["cost", "memory"] = "cost",
    ) -> Rows:
        """Compare models on parts: time, energy, energy-delay product, memory and what sets the pace."""
        held = cache_state(cache)
        question = _question(models, on, batch, sequence, precision, backend, power, {"cache_state": held})
        narrowed = self.asked(question, "model_report")
        if section == "memory":
            order = f"ORDER BY batch, sequence, peak_memory_byte, model, hardware, backend, precision LIMIT {top}"
            return narrowed.rows("model_memory", _COMPARED_MEMORY, order)
        order = f"ORDER BY batch, sequence, latency_s, model, hardware, backend, precision LIMIT {top}"
        return narrowed.rows("model_report", _COMPARED, order, beside=("model_energy", "model_latency"))

    @answer()
    def sweep(
        self,
        models: Models,
        *,
        on: Parts = None,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        power: Powers = None,
        resolution: Annotated[Sizes | None, Text("Image sides, e.g. 192,224,288.")] = None,
        memory_format: Annotated[str, Text("nchw or nhwc.")] = "nchw",
        cache: Cache = "warm",
    ) -> Rows:
        """Sweep models over every combination of the axes given, and mark where each part saturates.

        Resolutions and synthetic sizes are models of their own: `charz ingest` them first.
        """
        one_of("memory format", memory_format, MEMORY_FORMATS)
        wanted = self._at_resolutions(names(models), sizes(resolution))
        held = cache_state(cache)
        conditions = {"memory_format": memory_format, "cache_state": held}
        question = _question(wanted, on, batch, sequence, precision, backend, power, conditions)
        order = "ORDER BY model, hardware, backend, precision, sequence, batch"
        return self.asked(question, "batch_sweep").rows("batch_sweep", _SWEPT, order)

    def _at_resolutions(self, models: list[str], sides: list[int]) -> list[str]:
        """Names of the models at each image side; the side a model has by itself goes without a suffix."""
        if not sides:
            return models
        own = dict(self.connection().execute("SELECT model, resolution FROM model").fetchall())
        wanted = [m if own.get(m) == side else f"{m}@{side}" for m in models for side in sides]
        missing = [name for name in wanted if name not in own]
        if missing:
            next = f"`charz ingest {' '.join(missing)}`"
            raise CharzError("not ingested at this resolution", ", ".join(missing), next=next)
        return wanted

    @answer("front", "others")
    def recommend(
        self,
        model: Model,
        *,
        latency: Annotated[Amount | None, Text("Longest run, e.g. 5ms.")] = None,
        energy: Annotated[Amount | None, Text("Most energy a sample, e.g. 50mJ.")] = None,
        memory: Annotated[Amount | None, Text("Most memory, e.g. 8GiB.")] = None,
        price: Annotated[float | None, Text("Highest rent of the part in USD an hour.", least=0.0)] = None,
        on: Parts = None,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        power: Powers = None,
        top: Top = 15,
        section: Literal["front", "others"] = "front",
    ) -> Rows:
        """List the choices no other beats, within the limits, fastest first, and why the others lost.

        A limit left out does not bind. Simulated parts are marked: no silicon exists to check them. Exit code 1 when no
        choice meets the limits.
        """
        limits = Limits(
            amount(latency, "s", "--latency"),
            amount(energy, "J", "--energy"),
            amount(memory, "byte", "--memory"),
            price,
        )
        question = Question(
            [model],
            names(on),
            sizes(batch) or DEFAULT_BATCHES,
            sizes(sequence),
            names(precision),
            names(backend),
            names(power),
            every_backend=True,
            is_first=False,
        )
        narrowed = self.asked(question, "recommendation")
        narrowed.keep("recommendation")
        found = narrowed.rows("recommendation", _CHOSEN, "ORDER BY latency_s, hardware, backend, precision, batch")
        choices = [dict(zip(found.columns, row, strict=True)) for row in found.fetch()]
        verdicts = [limits.verdict(choice) for choice in choices]
        if section == "others":
            return _lost(choices, verdicts)
        kept = [list(c.values())[:-2] for c, verdict in zip(choices, verdicts, strict=True) if verdict == FRONT]
        if not kept:
            self.voice.warn("no choice meets all limits; --section others says which limit each choice misses")
        return Rows(_CHOSEN[:-2], kept[:top], ("recommendation",), is_failure=not kept)

    @answer()
    def opportunities(
        self,
        model: Model,
        *,
        on: Part,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        power: Powers = None,
        parts: Annotated[bool, Text("Other parts as well.")] = False,
        top: Top = 15,
    ) -> Rows:
        """List changes with what each saves and its trade, from the smallest batch and the first precision named that the
        part computes in."""
        part = self.part_name(on)
        batches, precisions = sizes(batch) or DEFAULT_BATCHES, names(precision) or PREFERRED_PRECISIONS
        question = Question(
            [model],
            [] if parts else [part],
            batches,
            sizes(sequence),
            names(precision),
            names(backend),
            names(power),
            every_backend=True,
            is_first=False,
        )
        narrowed = self.asked(question, "opportunity")
        query = "SELECT min_by(precision, list_position(?, precision)) FROM part_support WHERE hardware = ?"
        asked_precision = narrowed.value(query, [list(precisions), part])
        if asked_precision is None:
            where, next = f"{model} on {part}", "name another --precision or --backend"
            raise CharzError("this part does not run this model so", where, next=next)
        start = "WHERE hardware = ? AND batch = ? AND precision = ?"
        order = f"{start} ORDER BY saved_time_fraction DESC NULLS LAST, kind, change, backend LIMIT {top}"
        found = narrowed.rows("opportunity", _HELPED, order, [part, batches[0], asked_precision])
        if not found.fetch():
            self.voice.warn(
                f"nothing known would help {model} on {part}; widen --batch, --precision, --backend or add --parts"
            )
        return found

    @answer("split", "levels", "largest_batch", "checkpointing", "timeline", alone=("fits",))
    def memory(
        self,
        model: Model,
        *,
        on: Part,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        power: Powers = None,
        top: Top = 8,
        section: Literal["split", "levels", "largest_batch", "checkpointing", "timeline", "fits"] = "split",
    ) -> Rows:
        """Show where memory goes and what would fit. `charz plot memory` draws the timeline.

        `charz memory synthetic:mlp --fits` says of a family, or of the one a model belongs to, the largest of its ingested
        sizes that stays in each level, weights and activations held twice.
        """
        if section == "fits":
            asked = _question(self._family(model), [on], batch, sequence, precision, backend, power)
            ordered = "SELECT * FROM memory_fit ORDER BY hardware, backend, precision, batch, sequence, depth"
            return Rows(family.COLUMNS, family.fits(self.asked(asked, "memory_fit").records(ordered)), ("memory_fit",))
        view, columns, order = _MEMORY[section]
        narrowed = self.asked(_question([model], [on], batch, sequence, precision, backend, power), view)
        return narrowed.rows(view, columns, order.format(top=top))

    def _family(self, name: str) -> list[str]:
        """Ingested models of a source, or of the one a model has. Raises `CharzError` where there are none."""
        rows = self.connection().execute("SELECT model, source FROM model ORDER BY model").fetchall()
        sources = dict(rows)
        found = [model for model, source in rows if source == sources.get(name, name)]
        if not found:
            next = f"`charz ingest {name} --set ...` adds sizes of a synthetic family"
            raise unknown_name("model or family", name, {*sources, *sources.values()}, next)
        return found

    @answer("bounds", "stages", "validation")
    def concurrency(
        self,
        model: Model,
        *,
        on: Parts = None,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        power: Powers = None,
        top: Top = 10,
        section: Literal["bounds", "stages", "validation"] = "bounds",
    ) -> Rows:
        """Show stages, critical path and the bounds they set, with the lines that validate them."""
        view, columns, order = _CONCURRENT[section]
        narrowed = self.asked(_question([model], on, batch, sequence, precision, backend, power), view)
        return narrowed.rows(view, columns, order.format(top=top))

    @answer()
    def cost(
        self,
        models: Models,
        *,
        on: Parts = None,
        co2: Annotated[float | None, Text("Grams of CO2 a kWh of your supply.", least=0.0)] = None,
        kwh: Annotated[float | None, Text("USD a kWh of your supply.", least=0.0)] = None,
        overhead: Annotated[float, Text("Energy drawn for each joule of the part.", least=1.0)] = 1.0,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        power: Powers = None,
    ) -> Rows:
        """Price a sample and a million of them, runs that do not fit last. Without --co2 no CO2 is given: charz knows no rate."""
        for option, value in {"--co2": co2, "--kwh": kwh, "--overhead": overhead}.items():
            if value is not None and not math.isfinite(value):
                raise CharzError("not a finite number", f"{option} {value}")
        narrowed = self.asked(_question(models, on, batch, sequence, precision, backend, power), "inference_cost")
        columns = _COST
        if co2 is not None or kwh is not None:
            connection = narrowed.connection
            connection.execute("CREATE OR REPLACE TEMP TABLE electricity AS SELECT * FROM electricity LIMIT 0")
            stated = [ELECTRICITY, co2 or 0.0, kwh, overhead]
            connection.execute(f"INSERT INTO temp.electricity ({', '.join(_STATED)}) VALUES (?, ?, ?, ?)", stated)
            columns = (*columns, *(_CO2 if co2 is not None else ()), *(_ENERGY_PRICE if kwh is not None else ()))
        order = "ORDER BY model, coalesce(fits_device, false) DESC, million_inference_usd, hardware, backend, precision, batch"
        return narrowed.rows("inference_cost", columns, order)

    @answer()
    def llm(
        self,
        models: Models,
        *,
        on: Parts = None,
        batch: Batches = None,
        context: Annotated[Sizes | None, Text("Tokens attended to: 1024 or 512:8192.")] = None,
        precision: Precisions = None,
        backend: Backends = None,
        power: Powers = None,
    ) -> Rows:
        """Serve language models: time to first token, time, energy and cost of each token after it, by batch and context."""
        lengths = sizes(context) or [1024]
        runs = [
            {"batch": b, "phase": phase, "sequence": sequence, "context": length}
            for b in sizes(batch) or [1]
            for length in lengths
            for phase, sequence in (("prefill", length), ("decode", None))
        ]
        question = Question(
            self._decoders(names(models)),
            names(on),
            precisions=names(precision),
            backends=names(backend),
            powers=names(power),
            runs=runs,
            preferred=SERVED_PRECISIONS,
        )
        order = "ORDER BY model, hardware, backend, precision, batch, context"
        self.voice.remark("a decode step makes one token for each sample of the batch")
        return self.asked(question, "llm_serving").rows("llm_serving", _SERVED, order)

    def _decoders(self, models: list[str]) -> list[str]:
        """Those of the models that decode; a line names the others, and with no other left they are an error."""
        query = "SELECT model FROM model WHERE has_context"
        known = {model for (model,) in self.connection().execute(query).fetchall()}
        others = [name for name in models if self.model_name(name) not in known]
        if len(others) == len(models):
            next = "ingest a causal language model, one with recurrent states as `charz ingest NAME --sequence 1`"
            raise CharzError("nothing to serve", ", ".join(others), _NO_CACHE, next)
        if others:
            self.voice.warn(f"left out: {', '.join(others)}, {_NO_CACHE}")
        return [name for name in models if name in known]

    @answer()
    def parallel(
        self,
        model: Model,
        *,
        on: Part,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        power: Powers = None,
    ) -> Rows:
        """Split a model's time on 1, 2, 4 ... parts into computing, communicating and waiting: data, tensor, pipeline and
        expert parallel."""
        narrowed = self.asked(_question([model], [on], batch, sequence, precision, backend, power), "parallel_plan")
        query = "SELECT count(*) FROM parallel_plan WHERE interconnect <> 'none'"
        if not narrowed.value(query):
            self.voice.warn(f"{on} states no interconnect, so there is nothing to spread over")
        order = "ORDER BY batch, sequence, precision, interconnect, strategy, device_count"
        return narrowed.rows("parallel_plan", _SPREAD, order)


_NO_CACHE = "no step of one token follows from its graph"
_STATED = ("electricity", "co2_gram_per_kwh", "price_usd_per_kwh", "overhead_factor")
"""Columns of `electricity` that options state."""

FRONT = "on the front"


class Limits:
    """What a choice may take: seconds a run, joules a sample, bytes, USD an hour; None does not bind."""

    def __init__(
        self, latency_s: float | None, sample_j: float | None, memory_byte: float | None, usd_per_hour: float | None
    ) -> None:
        self._most = (
            ("latency_s", latency_s, "too slow", "time unknown"),
            ("sample_j", sample_j, "too much energy", "energy unknown"),
            ("peak_memory_byte", memory_byte, "too much memory", "memory unknown"),
            ("price_usd_per_hour", usd_per_hour, "too expensive", "price unknown"),
        )

    def verdict(self, choice: dict[str, object]) -> str:
        """Why a choice lost: the first limit it misses, or that others beat it; else `FRONT`."""
        if not choice["fits_device"]:
            return "does not fit the part's memory"
        for column, most, reason, unknown in self._most:
            value = choice[column]
            if most is None:
                continue
            if not isinstance(value, int | float):
                return unknown
            if value > most:
                return reason
        return FRONT if choice["dominated_by"] is None else "beaten in every respect"


def _lost(choices: Sequence[dict[str, object]], verdicts: Sequence[str]) -> Rows:
    """Why choices lost, with the fastest of each kind; choices come fastest first."""
    fastest: dict[str, list[object]] = {}
    for choice, verdict in zip(choices, verdicts, strict=True):
        if verdict != FRONT and verdict not in fastest:
            name = f"{choice['hardware']} {choice['backend']} {choice['precision']} batch {choice['batch']}"
            fastest[verdict] = [name, choice["latency_s"], choice["dominated_by"]]
    rows = [[verdict, verdicts.count(verdict), *found] for verdict, found in fastest.items()]
    rows.sort(key=lambda row: (-int(str(row[1])), str(row[0])))
    return Rows(("reason", "choice_count", "fastest", "latency_s", "beaten_by"), rows)


def _question(
    models: Models,
    on: Parts,
    batch: Batches,
    sequence: Sequences,
    precision: Precisions,
    backend: Backends,
    power: Powers,
    fields: dict[str, str] | None = None,
) -> Question:
    return Question(
        names(models),
        names(on),
        sizes(batch),
        sizes(sequence),
        names(precision),
        names(backend),
        names(power),
        fields=fields or {},
    )
