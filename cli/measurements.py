"""Measured results: import files of them, list what a database holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from charz.schema.errors import CharzError

from .workspace import DatabaseOption, change_workspace, open_workspace

app = typer.Typer(no_args_is_help=True, help=__doc__)


@app.command("import")
def import_file(
    file: Annotated[
        Path, typer.Argument(help="timm CSV, any CSV or parquet, PyTorch trace (.json, .json.gz), or a folder of them.")
    ],
    map: Annotated[
        list[str] | None,
        typer.Option("--map", help="field=column, field=column*1e-3 or field:=text; repeat.", show_default=False),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(help="Name of the data set; default the file's name without its suffix.", show_default=False),
    ] = None,
    hardware: Annotated[str | None, typer.Option(help="Part a PyTorch trace ran on.", show_default=False)] = None,
    model: Annotated[str | None, typer.Option(help="Model a PyTorch trace ran.", show_default=False)] = None,
    backend: Annotated[str, typer.Option(help="Backend a PyTorch trace ran under.")] = "eager",
    db: DatabaseOption = None,
) -> None:
    """Add a file of measured results, replacing what was imported under the same name."""
    from charz.ingest.measurements import files

    paths = files.in_folder(file) if file.is_dir() else [file]
    trace = files.TraceContext(hardware, model, backend)
    batches = [files.read(path, map or [], source, trace) for path in paths]
    with change_workspace(db) as connection:
        files.store_batches(connection, batches)
        unknown = files.unmatched(connection)
    for path, batch in zip(paths, batches, strict=True):
        untimed = f"; {batch.untimed_count} without a time left out" if batch.untimed_count else ""
        typer.echo(f"{path.name}: {len(batch.frame)} {batch.row_type.TABLE} rows{untimed}")
    if unknown:
        typer.echo(
            f"not in the catalog: {', '.join(unknown[:6])}{', ...' if len(unknown) > 6 else ''}"
            " (their rows stay, unscored; `charz hardware add` adds a part)",
            err=True,
        )


@app.command("list")
def list_sources(db: DatabaseOption = None) -> None:
    """Data sets in the database, with how many of their rows can be scored."""
    from charz.ingest.measurements import files

    from . import display

    with open_workspace(db) as connection:
        table = files.overview(connection)
    if not len(table):
        raise CharzError("no measurements in the database", next="charz measurements import FILE")
    headers = ["data set", "of", "rows", "on a known part", "of an ingested model"]
    display.show(display.table(headers, [list(row) for row in table.rows()]))
