"""Add, list and remove scenarios: the conditions a model is asked about."""

from __future__ import annotations

from typing import Annotated

import duckdb
import typer

from charz.schema import database
from charz.schema.errors import CharzError
from charz.schema.scenario import MEMORY_FORMATS, Scenario

from . import display
from .workspace import (
    DatabaseOption,
    change_workspace,
    check_run,
    numbered,
    one_of,
    open_workspace,
    scenario_row,
)

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Conditions a model is asked about.")


@app.command("list")
def list_scenarios(db: DatabaseOption = None) -> None:
    """List every scenario."""
    columns = [name for name in Scenario.model_fields if name != "scenario_id"]
    with open_workspace(db) as connection:
        rows = connection.sql(f"SELECT scenario_id, {', '.join(columns)} FROM scenario ORDER BY scenario_id").fetchall()
    display.show(display.table(["id", *columns], rows))


@app.command()
def add(
    batch: Annotated[int, typer.Option("--batch", min=1, help="Samples in one run.")] = 1,
    sequence: Annotated[int | None, typer.Option("--sequence", min=1, help="Tokens a sample.")] = None,
    context: Annotated[int | None, typer.Option("--context", min=1, help="Tokens attended to.")] = None,
    phase: Annotated[str, typer.Option("--phase", help="forward, prefill or decode.")] = "forward",
    precision: Annotated[str, typer.Option("--precision", help="Precision policy, e.g. fp16.")] = "fp32",
    backend: Annotated[str | None, typer.Option("--backend", help="Backend; else each family's own.")] = None,
    memory_format: Annotated[str, typer.Option("--memory-format", help="nchw or nhwc.")] = "nchw",
    host_factor: Annotated[float, typer.Option("--host-factor", min=0.0, help="Host time over the reference.")] = 1.0,
    cache_state: Annotated[str, typer.Option("--cache", help="warm, cold or hot.")] = "warm",
    db: DatabaseOption = None,
) -> None:
    """Add a scenario, or one for each family's default backend."""
    one_of("phase", phase, ("forward", "prefill", "decode"))
    one_of("memory format", memory_format, MEMORY_FORMATS)
    one_of("cache state", cache_state, ("warm", "cold", "hot"))
    fields = {
        "batch": batch,
        "sequence": sequence,
        "context": context,
        "phase": phase,
        "precision": precision,
        "memory_format": memory_format,
        "host_factor": host_factor,
        "cache_state": cache_state,
    }
    with change_workspace(db) as connection:
        check_run(connection, [backend] if backend else [], [precision])
        backends = [backend] if backend else _default_backends(connection)
        held = {i for (i,) in connection.execute("SELECT scenario_id FROM scenario").fetchall()}
        rows = numbered(connection, [scenario_row(backend=b, **fields) for b in backends])
        new = [row for row in rows if row.scenario_id not in held]
        database.insert_rows(connection, new)
    for row in new:
        display.show(f"scenario {row.scenario_id}: batch {row.batch}, {row.precision}, {row.backend}")
    if len(new) < len(rows):
        display.note(f"{len(rows) - len(new)} of {len(rows)} exist already")


@app.command()
def remove(
    scenario_id: Annotated[int, typer.Argument(help="Number in `charz scenario list`.")], db: DatabaseOption = None
) -> None:
    """Remove a scenario."""
    with change_workspace(db, create=False) as connection:
        known = [i for (i,) in connection.execute("SELECT scenario_id FROM scenario ORDER BY 1").fetchall()]
        if scenario_id not in known:
            exists = f"there are {len(known)}, {known[0]} to {known[-1]}" if known else "there are none"
            raise CharzError("unknown scenario", str(scenario_id), exists, "`charz scenario list` shows them")
        connection.execute("DELETE FROM scenario WHERE scenario_id = ?", [scenario_id])
    display.show(f"scenario {scenario_id} removed")


def _default_backends(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Backends that answers assume for one family or another."""
    query = "SELECT DISTINCT backend FROM backend_support WHERE is_default ORDER BY backend"
    return [backend for (backend,) in connection.execute(query).fetchall()]
