"""The command that prices a sample in USD, energy and CO2."""

from __future__ import annotations

import math
from typing import Annotated

from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..core import Core
from ..parameters import (
    Backends,
    Batches,
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
    Versions,
)
from ..question import TARGET, of_axes, served, transferred

_COST = (
    *TARGET, "latency_s", "throughput_per_s", "price_usd_per_hour", "price_basis", "inference_usd", "million_inference_usd",
    "inference_j", "million_inference_j", "fits_device", "is_simulated",
)  # fmt: skip


_CO2 = ("inference_co2_gram", "million_inference_co2_gram")

_ENERGY_PRICE = ("million_inference_energy_usd",)

_STATED = ("electricity", "co2_gram_per_kwh", "price_usd_per_kwh", "overhead_factor")
"""Columns of `electricity` that options set."""

ELECTRICITY = "stated"
"""Name of the supply of electricity that the options of `cost` describe."""


class Cost(Core):
    """Cost of a sample: USD, energy, CO2."""

    @answer()
    def cost(
        self,
        models: Models,
        *,
        on: Parts = None,
        co2: Annotated[float | None, Text("CO2 per kWh of your supply, in g.", least=0.0)] = None,
        kwh: Annotated[float | None, Text("USD per kWh of your supply.", least=0.0)] = None,
        overhead: Annotated[float, Text("Ratio of the energy drawn to the part's energy.", least=1.0)] = 1.0,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        cap: Caps = None,
        phase: Phase = None,
        context: Context = None,
        devices: Devices = None,
        version: Versions = None,
        kv_precision: KvPrecisions = None,
        include_transfer: IncludeTransfer = False,
    ) -> Rows:
        """Price one sample and a million samples; runs that do not fit come last. CO2 is given only with --co2, since charz knows no default."""
        for option, value in {"--co2": co2, "--kwh": kwh, "--overhead": overhead}.items():
            if value is not None and not math.isfinite(value):
                raise CharzError("not a finite number", f"{option} {value}")
        asked = served(
            of_axes(models, on, batch, sequence, precision, backend, cap, transferred(include_transfer)),
            phase,
            context,
            devices,
            version,
            kv_precision,
        )
        scoped = self.asked(asked, "inference_cost")
        columns = _COST
        if co2 is not None or kwh is not None:
            scoped.execute("CREATE OR REPLACE TEMP TABLE electricity AS SELECT * FROM electricity LIMIT 0")
            stated = [ELECTRICITY, co2 or 0.0, kwh, overhead]
            scoped.execute(f"INSERT INTO temp.electricity ({', '.join(_STATED)}) VALUES (?, ?, ?, ?)", stated)
            columns = (*columns, *(_CO2 if co2 is not None else ()), *(_ENERGY_PRICE if kwh is not None else ()))
        order = "ORDER BY model, coalesce(fits_device, false) DESC, million_inference_usd, hardware, backend, precision, batch"
        return scoped.rows("inference_cost", columns, order)
