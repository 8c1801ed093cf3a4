"""Models on parts beside each other."""

from __future__ import annotations

from typing import Annotated, Literal

from charz.schema.errors import CharzError
from charz.sql.keys import TARGET as KEYS

from ..answer import Rows, answer, of_query
from ..axes import cache_state, one_of
from ..core import Core, Question
from ..parameters import (
    Backends,
    Batches,
    Cache,
    Caps,
    Context,
    Devices,
    IncludeTransfer,
    KvPrecisions,
    Models,
    Parts,
    Phase,
    Precisions,
    Sequences,
    Text,
    Top,
    Versions,
)
from ..question import TARGET, of_axes, served, transferred

_COMPARED = (
    *TARGET, "power", "latency_s", "throughput_per_s", "energy_per_sample_j", "average_power_w", "edp_js", "bottleneck",
    "utilization_fraction", "correction_factor", "peak_memory_byte", "fits_device", "is_simulated", "energy_basis",
)  # fmt: skip

_COMPARED_MEMORY = (
    *TARGET, "weight_byte", "activation_byte", "peak_memory_byte", "fits_device", "fits_activation_in_cache",
)  # fmt: skip


_PIECES = {"operator": "operator", "class": "operator_class", "module": "module"}
"""What a run is divided by, and the column that names a piece of it."""


def _pieces(by: str, depth: int) -> str:
    """A query of the pieces of every run with their times, energies and energy-delay products."""
    keys, name = ", ".join(KEYS), _PIECES[by]
    if by == "module":
        return (
            f"SELECT {keys}, {name}, operator_count, latency_s, energy_j, edp_js, weight_byte, output_byte"
            f" FROM module_edp WHERE depth = {depth}"
        )
    # A sum is known where all of its operators are.
    known = ", ".join(
        f"CASE WHEN count(*) = count({column}) THEN sum({column}) END AS {column}" for column in ("energy_j", "edp_js")
    )
    sums = f"count(DISTINCT operator_id) AS operator_count, sum(latency_s) AS latency_s, {known}"
    return f"SELECT {keys}, {name}, {sums} FROM operator_edp GROUP BY {keys}, {name}"


class Compare(Core):
    """Models on parts beside each other."""

    @answer("cost", "memory", instead=("by",))
    def compare(
        self,
        models: Models,
        *,
        on: Parts = None,
        by: Annotated[
            Literal["operator", "class", "module"] | None,
            Text("Hold what a run is made of against parts and backends."),
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
        top: Top = 60,
        section: Literal["cost", "memory"] = "cost",
    ) -> Rows:
        """Compare models on parts: time, energy, energy-delay product, memory and what sets the pace; or, with --by, their
        operators, classes of operators or modules, the slowest first, each with its share of the run."""
        held = cache_state(cache)
        asked = of_axes(
            models, on, batch, sequence, precision, backend, cap, {"cache_state": held, **transferred(include_transfer)}
        )
        question = served(asked, phase, context, devices, version, kv_precision)
        if by is not None:
            return self._divided(question, one_of("division", by, _PIECES), depth, top)
        scoped = self.asked(question, "model_report")
        if section == "memory":
            order = "ORDER BY batch, sequence, peak_memory_byte, model, hardware, backend, precision"
            return self.cut(scoped.rows("model_memory", _COMPARED_MEMORY, order), top)
        order = "ORDER BY batch, sequence, latency_s, model, hardware, backend, precision"
        return self.cut(scoped.rows("model_report", _COMPARED, order, beside=("model_energy", "model_latency")), top)

    def _divided(self, question: Question, by: str, depth: int, top: int) -> Rows:
        """The pieces of every run, those that are slowest anywhere first, each on every part and backend."""
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
            raise CharzError("no module lies so deep", f"--depth {depth}", next="take a smaller depth")
        return self.cut(found, top, "pieces")
