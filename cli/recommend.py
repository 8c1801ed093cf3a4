"""Recommend part, precision, batch and backend for a model under limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import display
from .grid import (
    BackendsOption,
    BatchesOption,
    Grid,
    PartsOption,
    PrecisionsOption,
    SequencesOption,
    amount,
    asked,
    names,
    numbers,
    show,
)
from .workspace import MOST, PREFERRED_PRECISIONS, DatabaseOption, Scope, open_workspace

DEFAULT_BATCHES = [1, 8, 64]

_COLUMNS = [
    "hardware", "backend", "precision", "batch", "latency_s", "throughput_per_s", "sample_j", "peak_memory_byte",
    "price_usd_per_hour", "million_inference_usd", "is_simulated",
]  # fmt: skip

_VERDICTS = """
    CREATE TEMP TABLE verdict AS
    SELECT
        *,
        CASE
            WHEN NOT coalesce(fits_device, false) THEN 'does not fit the part''s memory'
            WHEN latency_s > $latency THEN 'too slow'
            WHEN $energy < 1e300 AND sample_j IS NULL THEN 'energy unknown'
            WHEN sample_j > $energy THEN 'too much energy'
            WHEN peak_memory_byte > $memory THEN 'too much memory'
            WHEN $price < 1e300 AND price_usd_per_hour IS NULL THEN 'price unknown'
            WHEN price_usd_per_hour > $price THEN 'too expensive'
            WHEN dominated_by IS NOT NULL THEN 'beaten in every respect'
            ELSE 'on the front'
        END AS verdict
    FROM recommendation
"""


def command(
    model: Annotated[str, typer.Argument(help="Ingested model; `charz models` lists them.")],
    latency: Annotated[str | None, typer.Option("--latency", help="Longest run, e.g. 5ms.")] = None,
    energy: Annotated[str | None, typer.Option("--energy", help="Most energy a sample, e.g. 50mJ.")] = None,
    memory: Annotated[str | None, typer.Option("--memory", help="Most memory, e.g. 8GiB.")] = None,
    price: Annotated[float | None, typer.Option("--price", help="Highest rent of the part in USD an hour.")] = None,
    on: PartsOption = None,
    batch: BatchesOption = None,
    sequence: SequencesOption = None,
    precision: PrecisionsOption = None,
    backend: BackendsOption = None,
    top: Annotated[int, typer.Option("--top", min=1, max=MOST, help="Choices to list.")] = 15,
    db: DatabaseOption = None,
) -> None:
    """List the choices no other beats, within the limits, fastest first, and why the others lost.

    A limit left out does not bind. Simulated parts are marked: no silicon exists to check them.
    """
    grid = Grid(
        [model],
        names(on),
        numbers(batch) or DEFAULT_BATCHES,
        numbers(sequence),
        names([precision or ""]) or PREFERRED_PRECISIONS,
        names([backend]) if backend else _all_backends(db),
    )
    limits = {
        "latency": amount(latency, "s"),
        "energy": amount(energy, "J"),
        "memory": amount(memory, "byte"),
        "price": price,
    }
    with asked(db, grid, {"recommendation"}) as scope:
        connection = scope.connection
        connection.execute(_VERDICTS, {k: 1e300 if v is None else v for k, v in limits.items()})
        count = connection.execute("SELECT count(*) FROM verdict").fetchall()[0][0]
        found = show(scope, "recommendation", _COLUMNS, f"{_ON_FRONT} ORDER BY latency_s LIMIT {top}", source="verdict")
        if not found:
            display.note("no choice meets all limits; the nearest misses are below")
        _losers(scope, count)


_ON_FRONT = "WHERE verdict = 'on the front'"


def _losers(scope: Scope, count: int) -> None:
    """Why the other choices lost, with the fastest of each kind."""
    query = """
        SELECT
            verdict,
            count(*) AS choices,
            arg_min(hardware || ' ' || backend || ' ' || precision || ' batch ' || batch, latency_s) AS fastest,
            min(latency_s) AS latency_s,
            arg_min(dominated_by, latency_s) AS dominated_by
        FROM verdict
        WHERE verdict <> 'on the front'
        GROUP BY verdict
        ORDER BY choices DESC, verdict
    """
    rows = [
        (r["verdict"], r["choices"], r["fastest"], display.seconds(r["latency_s"]), r["dominated_by"] or "")
        for r in scope.records(query)
    ]
    lost = sum(row[1] for row in rows)
    display.heading(f"{count} choices, {count - lost} on the front; why the others lost")
    display.show(display.table(["reason", "choices", "fastest of them", "latency", "beaten by"], rows))


def _all_backends(db: Path | None) -> list[str]:
    with open_workspace(db) as connection:
        return [name for (name,) in connection.execute("SELECT backend FROM backend ORDER BY backend").fetchall()]
