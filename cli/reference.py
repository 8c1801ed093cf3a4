"""Writes the reference pages from the code: `python -m charz.cli.reference`, or `--check` that the
files under docs/reference are what it would write."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import typer

from charz.hardware_catalog import reference as hardware
from charz.ingest import reference as operators
from charz.schema import database, ddl
from charz.sql import views
from charz.sql.keys import KEYS

from . import display
from .dispatch import LazyGroup, command_files

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
_GENERATED = "<!-- Written by `python -m charz.cli.reference`; edit the code, not this page. -->\n"


def pages() -> dict[str, str]:
    """Every page by file name."""
    parts = {"tables.md": _tables(), "views.md": _views(), "cli.md": _commands(), "hardware.md": hardware.lines()}
    parts["operators.md"] = operators.lines()
    return {name: _GENERATED + "\n".join(lines).rstrip() + "\n" for name, lines in parts.items()}


def stale(folder: Path = FOLDER) -> list[str]:
    """Pages that differ from what the code says."""
    return [name for name, text in pages().items() if _read(folder / name) != text]


def write(folder: Path = FOLDER) -> None:
    """Write every page."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)


def _tables() -> Iterator[str]:
    yield "# Tables\n"
    yield "What a charz database stores. SI units; a column without a unit is a count, a fraction or a name.\n"
    module = ""
    for row_type in database.TABLES:
        if row_type.__module__ != module:
            module = row_type.__module__
            yield f"\n## {module.rpartition('.')[2]}\n"
        yield f"\n### {row_type.TABLE}\n\n{ddl.table_description(row_type)}\n"
        yield f"Key: {', '.join(row_type.KEY)}.\n"
        rows = [
            (c.name, c.duckdb_type + (" or null" if c.is_nullable else ""), c.unit or "", c.description)
            for c in ddl.columns(row_type)
        ]
        yield display.markdown(["column", "type", "unit", "what it holds"], rows)


def _views() -> Iterator[str]:
    yield "# Views\n"
    yield "The cost model. A view reads its own layer or an earlier one; every name below can be queried. The rows of a"
    yield "maintained table are kept, by triggers in the file, as `rebuild.NAME` gives them: read it, do not write to it.\n"
    yield "A column passed on holds what it holds where it is made; these are found all over:\n"
    yield display.markdown(["key", "what it holds"], list(KEYS.items()))
    installed = _installed()
    for layer in views.LAYERS:
        members = sorted((one for one in installed if one.view.layer == layer), key=lambda one: one.view.name)
        if members:
            yield f"\n## {layer}\n"
        for one in members:
            view = one.view
            yield f"\n### {view.name}\n\n{view.description}\n"
            kept = "Maintained table. " if view.is_table else ""
            yield f"{kept}One row for each {', '.join(view.grain)}. Reads {', '.join(sorted(view.relations))}.\n"
            passed_on = [c.name for c in one.columns if c.is_inherited or c.description == KEYS.get(c.name)]
            rows = [(c.name, c.type, c.unit or "", c.description) for c in one.columns if c.name not in passed_on]
            if rows:
                yield display.markdown(["column", "type", "unit", "what it holds"], rows)
            if passed_on:
                yield f"\nPassed on: {', '.join(passed_on)}."


def _installed() -> list[views.Installed]:
    with duckdb.connect() as connection:
        for row_type in database.TABLES:
            connection.execute(ddl.create_table(row_type))
        return views.create(connection, views.load())


def _commands() -> Iterator[str]:
    yield "# Commands\n"
    yield "Every command takes `--db FILE` (else `$CHARZ_DB`, else `charz.duckdb` in the working directory) and"
    yield "`--help`. A wrong input gives one line on standard error and exit code 2.\n"
    group = LazyGroup(name="charz")
    context = typer.Context(group, info_name="charz")
    for name in command_files():
        yield from _command(group.get_command(context, name), f"charz {name}", context)


def _command(command: Any, path: str, parent: Any) -> Iterator[str]:
    context = typer.Context(command, info_name=path.rpartition(" ")[2], parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"\n## {path}\n\n`{path} {usage}`\n\n{' '.join((command.help or '').split())}\n"
    for name, child in sorted(getattr(command, "commands", {}).items()):
        yield from _command(child, f"{path} {name}", context)
    records = [p.get_help_record(context) for p in command.params if p.name != "help"]
    rows = [(f"`{record[0]}`", " ".join(record[1].split())) for record in records if record]
    if rows:
        yield display.markdown(["option or argument", "meaning"], rows)


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` name the ones that are stale."""
    if "--check" not in arguments:
        write()
        return 0
    names = stale()
    for name in names:
        print(f"docs/reference/{name} is stale; run `python -m charz.cli.reference`", file=sys.stderr)
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
