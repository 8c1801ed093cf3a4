"""The command that checks limits and reports PASS or FAIL for each limit."""

from __future__ import annotations

from typing import Annotated

from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..core import Core
from ..parameters import Amount, Backend, Batch, Cache, Cap, Drawn, Model, Part, Precision, Sequence_, Text
from ..question import TARGET, single
from .limits import limits

_COLUMNS = (*TARGET, "limit", "verdict", "value", "most_value", "unit")

_RUN = (*TARGET, "latency_s", "energy_per_sample_j AS sample_j", "peak_memory_byte", "average_power_w", "fits_device")


class Assert(Core):
    """Check of limits."""

    @answer()
    def assert_(
        self,
        model: Model,
        *,
        on: Part,
        latency: Annotated[Amount | None, Text("Largest time of a run, e.g. 20ms.")] = None,
        energy: Annotated[Amount | None, Text("Largest energy per sample, e.g. 1J.")] = None,
        memory: Annotated[Amount | None, Text("Largest peak memory, e.g. 8GiB.")] = None,
        power: Drawn = None,
        batch: Batch = None,
        sequence: Sequence_ = None,
        precision: Precision = None,
        backend: Backend = None,
        cache: Cache = "warm",
        cap: Cap = None,
    ) -> Rows:
        """Report PASS or FAIL for each limit of a model on one part under one backend; no faster backend is substituted.

        A run that does not fit the part's memory fails, and so does a limit on an unknown value. The exit code is 1 if a check fails, so that a
        build stops.
        """
        wanted = limits(latency, energy, memory, power)
        if not wanted:
            raise CharzError("no limit to check", model, next="give one, e.g. --latency 20ms")
        if memory is not None:
            self.say_states_left_out(model)
        scoped, _ = self.target(single(model, on, batch, sequence, precision, backend, cache, cap), "model_report")
        (run,) = scoped.rows("model_report", _RUN, beside=("model_energy",)).frame().to_dicts()
        keys = [run[name] for name in TARGET]
        found = [
            (*keys, limit.name, _VERDICTS[limit.is_met(run)], run[limit.column], limit.most, limit.unit)
            for limit in wanted
        ]
        if not run["fits_device"]:
            found.insert(0, (*keys, "fits the part's memory", "FAIL", None, None, None))
        return Rows(_COLUMNS, found, ("model_report",), is_failure=any(row[len(keys) + 1] != "PASS" for row in found))


_VERDICTS = {True: "PASS", False: "FAIL", None: "FAIL, not known"}
