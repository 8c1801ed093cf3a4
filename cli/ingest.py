"""Turn models into rows: torchvision, timm, Hugging Face, your own, synthetic."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from charz.schema.errors import CharzError

from . import assumed, display
from .workspace import DatabaseOption, change_workspace, open_workspace

if TYPE_CHECKING:
    from pathlib import Path

    from charz.ingest.run import Outcome
    from charz.ingest.sources.spec import Spec

_SETTING = re.compile(r"[A-Za-z_]\w*=")

SHOWN_MODELS = 3
"""Models for which the closing table is printed; more only count."""


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="resnet50, timm:NAME, hf:NAME, config.json, file.py, module:factory, model.pt2, synthetic:KIND",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        str | None, typer.Option("--all", help="Every model of a source: torchvision, timm or hf.", show_default=False)
    ] = None,
    list_source: Annotated[
        str | None, typer.Option("--list", help="Only list the names of a source.", show_default=False)
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Models worked on at once.")] = 1,
    batch: Annotated[
        int | None, typer.Option("--batch", min=1, help="Fix the batch instead of leaving it open.", show_default=False)
    ] = None,
    resolution: Annotated[
        str | None,
        typer.Option("--resolution", help="Image side, e.g. 288, or height x width: 800x1066.", show_default=False),
    ] = None,
    sequence: Annotated[
        int | None, typer.Option("--sequence", min=1, help="Default sequence length.", show_default=False)
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input", help="Shape and type of an input of your own model, e.g. B,3,224,224:fp32.", show_default=False
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="KEY=VALUE of a synthetic model or configuration; KEY=V1,V2 makes a sweep.",
            show_default=False,
        ),
    ] = None,
    train: Annotated[bool, typer.Option("--train", help="Add the backward pass.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Trace again what has not changed.")] = False,
    db: DatabaseOption = None,
) -> None:
    """Trace models without weights and write what they compute and move into the database.

    Sizes stay symbolic in batch and sequence, so one ingest answers every batch. Models that have
    not changed are skipped.
    """
    from charz.ingest.sources.listing import names_of

    if list_source:
        display.show("\n".join(names_of(list_source)))
        return
    given = names or []
    # `--set in=128 hidden=256,512`: what looks like a setting is one, whichever option stood before it
    settings = [*(settings or []), *(n for n in given if _SETTING.match(n))]
    requested = [*(n for n in given if not _SETTING.match(n)), *(names_of(everything) if everything else [])]
    if not requested:
        raise CharzError(
            "no model named", next="try `charz ingest efficientnet_b0`, or `charz ingest --all torchvision`"
        )
    specs = _specs(
        requested,
        settings,
        batch=batch,
        resolution=resolution,
        sequence=sequence,
        inputs=tuple(inputs or ()),
        train=train,
    )
    outcomes = _run(specs, jobs, force, db)
    _summary(outcomes, db)
    if any(o.state == "failed" for o in outcomes):
        raise typer.Exit(1)


def _specs(names: list[str], settings: list[str], **options: object) -> list[Spec]:
    """One request a name and combination of settings."""
    from charz.ingest.sources.spec import parse, sweep

    return [parse(name, settings=chosen, **options) for name in names for chosen in sweep(settings)]


def _run(specs: list[Spec], jobs: int, force: bool, db: Path | None) -> list[Outcome]:
    """Ingest with a progress bar on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from charz.ingest.run import run

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=console, transient=True, disable=len(specs) == 1 or not console.is_terminal
    ) as progress:
        task = progress.add_task("ingest", total=len(specs))

        def report(outcome: Outcome) -> None:
            progress.update(task, advance=1, description=outcome.model[:40])
            if outcome.state == "failed":
                progress.console.print(
                    f"failed: {outcome.model}: {outcome.message}",
                    markup=False,
                    emoji=False,
                    highlight=False,
                    soft_wrap=True,
                )

        return run(specs, lambda: change_workspace(db), jobs, force, report)


def _summary(outcomes: list[Outcome], db: Path | None) -> None:
    counts = {state: sum(o.state == state for o in outcomes) for state in ("written", "unchanged", "failed")}
    display.note("models: " + ", ".join(f"{n} {state}" for state, n in counts.items() if n))
    models = list(dict.fromkeys(o.model for o in outcomes if o.state != "failed"))
    if not models:
        return
    from .ingest_summary import next_command, show_closing_table

    if len(models) <= SHOWN_MODELS:
        show_closing_table(db, models)
    else:
        with open_workspace(db) as connection:
            assumed.note_unsized(connection, models)
    display.note(next_command(models))
