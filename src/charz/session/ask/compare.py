"""The command that compares models on parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal

from charz.schema.conditions import MEMORY_FORMATS
from charz.schema.errors import CharzError, unknown_name
from charz.sql.keys import TARGET as KEYS

from ..answer import Rows, answer, of_query
from ..axes import cache_state, names, one_of, sizes
from ..core import Core
from ..paging import paged
from ..parameters import (
    Backends,
    Batches,
    Cache,
    Caps,
    Context,
    Devices,
    Force,
    IncludeTransfer,
    KvPrecisions,
    Models,
    Page,
    Parts,
    Phase,
    Precisions,
    Rents,
    Sequences,
    Sizes,
    Text,
    Top,
    Versions,
)
from ..question import TARGET, Question, of_axes, served, transferred
from . import memory_fits, rents

_COMPARED = (
    *TARGET, "power", "latency_s", "p10_s", "p90_s", "throughput_per_s", "energy_per_sample_j", "average_power_w", "edp_js", "bottleneck",
    "utilization_fraction", "correction_factor", "peak_memory_byte", "fits_device", "is_simulated", "energy_basis",
)  # fmt: skip

_COMPARED_MEMORY = (
    *TARGET, "weight_byte", "activation_byte", "peak_memory_byte", "fits_device", "fits_activation_in_cache",
)  # fmt: skip


_SATURATION = (
    *TARGET, "power", "latency_s", "throughput_per_s", "sample_j", "peak_memory_byte", "fits_device", "throughput_fraction",
    "saturating_batch", "is_simulated",
)  # fmt: skip

_PRICE = (
    *TARGET, "latency_s", "throughput_per_s", "price_usd_per_hour", "price_basis", "inference_usd", "million_inference_usd",
    "inference_j", "million_inference_j", "fits_device", "is_simulated",
)  # fmt: skip

_CO2 = ("inference_co2_gram", "million_inference_co2_gram")

_ENERGY_PRICE = ("million_inference_energy_usd",)

_STATED = ("electricity", "co2_gram_per_kwh", "price_usd_per_kwh", "overhead_factor")
"""Columns of `electricity` that options state."""

ELECTRICITY = "stated"
"""Name of the supply of electricity that options state."""

_BY_TARGET = "ORDER BY model, hardware, backend, precision, sequence, batch"

_PIECES = {"operator": "operator", "class": "operator_class", "module": "module"}
"""Granularities of `--by`, each with the column that names an operator, class or module."""


def _pieces(by: str, depth: int) -> str:
    """Build a query for the operators, classes or modules of every run, with time, energy and energy-delay product of each."""
    keys, name = ", ".join(KEYS), _PIECES[by]
    if by == "module":
        return (
            f"SELECT {keys}, {name}, operator_count, latency_s, energy_j, edp_js, weight_byte, output_byte"
            f" FROM module_edp WHERE depth = {depth}"
        )
    # A sum is known only if all of its terms are.
    known = ", ".join(
        f"CASE WHEN count(*) = count({column}) THEN sum({column}) END AS {column}" for column in ("energy_j", "edp_js")
    )
    sums = f"count(DISTINCT operator_id) AS operator_count, sum(latency_s) AS latency_s, {known}"
    return f"SELECT {keys}, {name}, {sums} FROM operator_edp GROUP BY {keys}, {name}"


class Compare(Core):
    """Comparison of models on parts."""

    @answer(
        "run", "memory", instead=("by",), alone=("saturation", "price", "fits"), files=("html",),
        common=("on", "batch", "precision", "backend", "by", "section", "saturation", "price", "top", "html"),
    )
    @paged
    def compare(
        self,
        models: Models,
        *,
        on: Parts = None,
        by: Annotated[
            Literal["operator", "class", "module"] | None,
            Text("Compare single operators, operator classes or modules across parts and backends."),
        ] = None,
        depth: Annotated[int, Text("Depth of the modules of --by module.", least=1, most=100)] = 1,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        cache: Cache = "warm",
        cap: Caps = None,
        phase: Phase = None,
        context: Context = None,
        devices: Devices = None,
        version: Versions = None,
        kv_precision: KvPrecisions = None,
        include_transfer: IncludeTransfer = False,
        resolution: Annotated[Sizes | None, Text("Image sides, e.g. 192,224,288.")] = None,
        memory_format: Annotated[str | None, Text("nchw or nhwc.")] = None,
        co2: Annotated[float | None, Text("CO2 emissions of your electricity, in grams per kWh.", least=0.0)] = None,
        kwh: Annotated[float | None, Text("Price of your electricity, in USD per kWh.", least=0.0)] = None,
        rent: Rents = None,
        overhead: Annotated[float, Text("Energy drawn from the grid per joule that the part uses (power usage effectiveness).", least=1.0)] = 1.0,
        top: Top = 60,
        html: Page = None,
        force: Force = False,
        section: Literal["run", "memory", "saturation", "price", "fits"] = "run",
    ) -> Rows:
        """Compare time, energy, energy-delay product, memory and bottleneck of models on parts, for every combination of the given options.
        With --by, compare operators, operator classes or modules of the models, the slowest first.

        `--saturation` marks the batch at which each part saturates. `--price` lists the price of one sample and of a million samples,
        and their CO2 emissions if --co2 is given. `--fits` takes a family such as `synthetic:mlp`, or one model of the family. For each
        memory level, it lists the largest ingested model of the family whose double-buffered weights and activations fit the level. A
        model at another resolution or synthetic size is a separate model: `charz ingest` it first.
        """
        priced = {"--co2": co2, "--kwh": kwh, "--overhead": overhead if overhead != 1.0 else None, "--rent": rent}
        given = [f"{option} {value}" for option, value in priced.items() if value is not None]
        if given and (section != "price" or by is not None):
            raise CharzError("an option of prices", ", ".join(given), next="add --price")
        if memory_format is not None:
            one_of("memory format", memory_format, MEMORY_FORMATS)
        wanted = [m for name in names(models) for m in (self._family(name) if section == "fits" else [name])]
        conditions = {
            "cache_state": cache_state(cache), **transferred(include_transfer),
            **({"memory_format": memory_format} if memory_format else {}),
        }  # fmt: skip
        wanted = self._at_resolutions(wanted, sizes(resolution))
        asked = of_axes(wanted, on, batch, sequence, precision, backend, cap, conditions)
        question = served(asked, phase, context, devices, version, kv_precision)
        if by is not None:
            return self._divided(question, one_of("division", by, _PIECES), depth, top)
        if section == "saturation":
            return self.asked(question, "batch_sweep").rows("batch_sweep", _SATURATION, _BY_TARGET)
        if section == "price":
            return self._priced(question, co2, kwh, overhead, rents.parsed(rent, self.part_name))
        if section == "fits":
            ordered = "SELECT * FROM memory_fit ORDER BY hardware, backend, precision, batch, sequence, depth"
            found = memory_fits.fits(self.asked(question, "memory_fit").records(ordered))
            return Rows(memory_fits.COLUMNS, found, ("memory_fit",))
        scoped = self.asked(question, "model_report")
        if section == "memory":
            order = "ORDER BY batch, sequence, peak_memory_byte, model, hardware, backend, precision"
            return self.cut(scoped.rows("model_memory", _COMPARED_MEMORY, order), top)
        order = "ORDER BY batch, sequence, latency_s, model, hardware, backend, precision"
        return self.cut(scoped.rows("model_report", _COMPARED, order, beside=("model_energy", "model_latency")), top)

    def _divided(self, question: Question, by: str, depth: int, top: int) -> Rows:
        """Return the operators, classes or modules of every run, in order of their longest time on any part and backend."""
        view, name = "module_edp" if by == "module" else "operator_edp", _PIECES[by]
        scoped = self.asked(question, view)
        shares = ", ".join(
            f"p.{column}, p.{column} / NULLIF(r.{column}, 0) AS {column.rpartition('_')[0]}_fraction"
            for column in ("latency_s", "energy_j", "edp_js")
        )
        conditions = "".join(f"c.{condition}, " for condition in scoped.varied)
        bytes_ = ", p.weight_byte, p.output_byte" if by == "module" else ""
        query = f"""
            SELECT p.{name}, {", ".join(f"p.{key}" for key in TARGET)}, {conditions}p.operator_count, {shares}{bytes_}
            FROM ({_pieces(by, depth)}) AS p JOIN model_report AS r USING ({", ".join(KEYS)})
                JOIN run AS c ON c.run.model = p.model AND c.run.scenario_id = p.scenario_id
            ORDER BY
                p.model, p.batch, p.sequence,
                max(p.latency_s) OVER (PARTITION BY p.model, p.batch, p.sequence, p.{name}) DESC, p.{name}, p.latency_s,
                p.hardware, p.backend, p.precision
        """
        found = of_query(scoped.sql(query), view)
        if not found.fetch():
            raise CharzError("no module at this depth", f"--depth {depth}", next="take a smaller depth")
        return self.cut(found, top, "pieces")

    def _priced(
        self, question: Question, co2: float | None, kwh: float | None, overhead: float, stated_rents: Mapping[str, float]
    ) -> Rows:
        """Compute prices of runs with the electricity and rents that options state. Runs that do not fit the memory come last."""
        for option, value in {"--co2": co2, "--kwh": kwh, "--overhead": overhead}.items():
            if value is not None and not math.isfinite(value):
                raise CharzError("not a finite number", f"{option} {value}")
        asked = self
        if stated_rents:  # answers at hand contain the file's prices
            asked = self.child(self._scope)
            asked.access = replace(asked.access, is_live=True)
        scoped = asked.asked(question, "inference_cost")
        if stated_rents:
            rents.state(scoped, stated_rents)
        columns = _PRICE
        if co2 is not None or kwh is not None:
            scoped.execute("CREATE OR REPLACE TEMP TABLE electricity AS SELECT * FROM electricity LIMIT 0")
            stated = [ELECTRICITY, co2 or 0.0, kwh, overhead]
            scoped.execute(f"INSERT INTO temp.electricity ({', '.join(_STATED)}) VALUES (?, ?, ?, ?)", stated)
            columns = (*columns, *(_CO2 if co2 is not None else ()), *(_ENERGY_PRICE if kwh is not None else ()))
        order = "ORDER BY model, coalesce(fits_device, false) DESC, million_inference_usd, hardware, backend, precision, batch"
        return scoped.rows("inference_cost", columns, order)

    def _at_resolutions(self, models: list[str], sides: list[int]) -> list[str]:
        """Return the names of the models at each image side. The name of a model at its default side has no suffix."""
        if not sides:
            return models
        own = dict(self.connection().execute("SELECT model, resolution FROM model").fetchall())
        wanted = [m if own.get(m) == side else f"{m}@{side}" for m in models for side in sides]
        missing = [name for name in wanted if name not in own]
        if missing:
            next = f"`charz ingest {' '.join(missing)}`"
            raise CharzError("not ingested at this resolution", ", ".join(missing), next=next)
        return wanted

    def _family(self, name: str) -> list[str]:
        """Return all ingested models of a source; `name` is the source or one of these models. Raise `CharzError` for an unknown name."""
        rows = self.connection().execute("SELECT model, source FROM model ORDER BY model").fetchall()
        sources = dict(rows)
        found = [model for model, source in rows if source == sources.get(name, name)]
        if not found:
            next = f"`charz ingest {name} --set ...` adds sizes of a synthetic family"
            raise unknown_name("model or family", name, {*sources, *sources.values()}, next)
        return found
