"""What of each model is sized by a rule, unknown, bounded or fixed."""

from __future__ import annotations

from typing import Annotated

import typer

from . import display
from .workspace import DatabaseOption, model_name, open_workspace


def command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Models; all when none is named.", show_default=False)
    ] = None,
    db: DatabaseOption = None,
) -> None:
    """List each model's operators by how they were sized, then every operator without a rule.

    Exit code 1 when there is one: its work is unknown, and every sum over that model too small.
    """
    with open_workspace(db) as connection:
        chosen = [model_name(connection, name) for name in names or []]
        where = "WHERE len($1) = 0 OR list_contains($1, model)"
        rows = connection.execute(
            "SELECT model, operator_count, view_count, sized_count, unsized_count, bounded_count, is_batch_symbolic,"
            f" is_sequence_symbolic, specialized_reason FROM ingest_coverage {where} ORDER BY model",
            [chosen],
        ).fetchall()
        unknown = connection.execute(
            "SELECT aten_operator, count(*), count(DISTINCT model), min(model)"
            f" FROM operator_without_rule {where} GROUP BY aten_operator ORDER BY 2 DESC, 1",
            [chosen],
        ).fetchall()
    if not rows:
        display.note("no models yet; `charz ingest efficientnet_b0` adds one")
        return
    headers = ["model", "operators", "views", "by rule", "no rule", "bounded", "batch", "sequence", "fixed because"]
    shown = [[*row[:6], "any" if row[6] else "fixed", "any" if row[7] else "-", row[8] or ""] for row in rows]
    display.show(display.table(headers, shown))
    if unknown:
        display.heading("Operators without a rule")
        display.show(display.table(["ATen operator", "calls", "models", "first in"], unknown))
        raise typer.Exit(1)
    display.note(f"every operator of {len(rows)} models has a rule")
