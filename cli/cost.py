"""What an inference costs: rent, energy, and CO2 at a rate you state."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from charz.schema import database, ddl
from charz.schema.cost import Electricity
from charz.schema.errors import CharzError

from .grid import (
    BackendsOption,
    BatchesOption,
    Grid,
    ModelsArgument,
    PartsOption,
    PrecisionsOption,
    SequencesOption,
    asked,
    names,
    numbers,
    show,
)
from .workspace import DatabaseOption

_COLUMNS = [
    "model", "hardware", "backend", "precision", "batch", "latency_s", "throughput_per_s", "price_usd_per_hour",
    "inference_usd", "million_inference_usd", "inference_j", "million_inference_j", "fits_device", "is_simulated",
]  # fmt: skip
_CO2 = ["inference_co2_gram", "million_inference_co2_gram"]
_ENERGY_PRICE = ["million_inference_energy_usd"]


def command(
    models: ModelsArgument,
    on: PartsOption = None,
    co2: Annotated[float | None, typer.Option("--co2", min=0.0, help="Grams of CO2 a kWh of your supply.")] = None,
    kwh: Annotated[float | None, typer.Option("--kwh", min=0.0, help="USD a kWh of your supply.")] = None,
    overhead: Annotated[
        float, typer.Option("--overhead", min=1.0, help="Energy drawn for each joule of the part.")
    ] = 1.0,
    batch: BatchesOption = None,
    sequence: SequencesOption = None,
    precision: PrecisionsOption = None,
    backend: BackendsOption = None,
    db: DatabaseOption = None,
) -> None:
    """Price a sample and a million of them, runs that do not fit last. Without --co2 no CO2 is given: charz knows no rate."""
    for option, value in {"--co2": co2, "--kwh": kwh, "--overhead": overhead}.items():
        if value is not None and not math.isfinite(value):
            raise CharzError("not a finite number", f"{option} {value}")
    grid = Grid(
        names(models), names(on), numbers(batch), numbers(sequence), names([precision or ""]), names([backend or ""])
    )
    with asked(db, grid, {"inference_cost"}) as scope:
        columns = list(_COLUMNS)
        if co2 is not None or kwh is not None:
            scope.connection.execute(ddl.create_table(Electricity).replace("CREATE TABLE", "CREATE TEMP TABLE", 1))
            stated = Electricity(
                electricity="stated", co2_gram_per_kwh=co2 or 0.0, price_usd_per_kwh=kwh, overhead_factor=overhead
            )
            database.insert_rows(scope.connection, [stated])
            columns += (_CO2 if co2 is not None else []) + (_ENERGY_PRICE if kwh is not None else [])
        order = "ORDER BY model, coalesce(fits_device, false) DESC, million_inference_usd, hardware, batch"
        show(scope, "inference_cost", columns, order)
