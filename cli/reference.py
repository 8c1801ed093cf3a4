"""Generator of the reference pages: `python -m charz.cli.reference` writes them, `--check` tests that they are current.

It covers docs/reference and the blocks of other pages with output of commands (`printed`).
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import typer

import charz
from charz.hardware_catalog import reference as hardware
from charz.ingest import reference as operators
from charz.schema import database, ddl
from charz.session import Session
from charz.session.methods import Method, methods
from charz.sql import layers, triggers, views
from charz.sql.keys import KEYS

from . import display, printed
from .dispatch import LazyGroup

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
_GENERATED = "<!-- Written by `python -m charz.cli.reference`; edit the code, not this page. -->\n"


def pages() -> dict[str, str]:
    """Return every page by file name."""
    parts = {"tables.md": _tables(), "views.md": _views(), "cli.md": _commands(), "python.md": _methods()}
    parts["hardware.md"] = hardware.lines()
    parts["operators.md"] = operators.lines()
    return {name: _GENERATED + "\n".join(lines).rstrip() + "\n" for name, lines in parts.items()}


def stale(folder: Path = FOLDER) -> list[str]:
    """Return the pages that differ from the code."""
    return [name for name, text in pages().items() if _read(folder / name) != text]


def write(folder: Path = FOLDER) -> None:
    """Write every page."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)


def shown(root: Path = ROOT) -> dict[Path, str]:
    """Return the texts of pages with output of commands, README.md first."""
    files = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    texts = {path: path.read_text() for path in files if path.exists() and path.parent != root / "docs" / "reference"}
    return {path: text for path, text in texts.items() if printed.commands(text, str(path))}


def answers(texts: Iterable[str]) -> dict[str, str]:
    """Return the output of the commands on some pages."""
    return printed.answers(command for text in texts for command in printed.commands(text))


def faults(answered: Mapping[str, str], root: Path = ROOT) -> list[str]:
    """Return a line for each page with outdated output."""
    changed = [path for path, text in shown(root).items() if printed.written(text, answered) != text]
    return [f"{path.relative_to(root)} shows outdated output: {_NEXT}" for path in changed]


def _tables() -> Iterator[str]:
    yield "# Tables\n"
    yield "Tables of a charz database. Units are SI; a column without a unit is a count, a fraction or a name.\n"
    yield from _diagram()
    clears = _clears()
    module = ""
    for row_type in database.TABLES:
        if row_type.__module__ != module:
            module = row_type.__module__
            yield f"\n## {module.rpartition('.')[2]}\n"
        yield f"\n### {row_type.TABLE}\n\n{ddl.table_description(row_type)}\n"
        cleared = _CLEARED.get(clears.get(row_type.TABLE, "none"))
        more = " and of other parts of its architecture" if row_type.TABLE in triggers.SIBLINGS else ""
        text = f" A changed row deletes the answers at hand of {cleared}{more}." if cleared else ""
        yield f"Key: {', '.join(row_type.KEY)}.{text}\n"
        rows = [
            (c.name, c.duckdb_type + (" or null" if c.is_nullable else ""), c.unit or "", c.description)
            for c in ddl.columns(row_type)
        ]
        yield display.markdown(["column", "type", "unit", "meaning"], rows)


_CLEARED = {
    "": "all parts and models",
    "model": "the model",
    "scenario_id": "the scenario",
    "hardware": "the part that the row names",
    "scope": "the parts in the row's scope",
    "compute_capability": "the parts of that compute capability",
    "family": "the parts of that family",
}
"""Description of the answers that a changed row deletes, by the column that determines the models and parts."""


def _views() -> Iterator[str]:
    installed = _installed()
    yield "# Views\n"
    yield "The cost model. A view reads its own layer or an earlier one; every name below can be queried. Triggers in the"
    yield "file keep the rows of a maintained table equal to the view `rebuild.NAME`: read the table, do not write to it.\n"
    yield "For some views, called *at hand*, the file stores precomputed rows for every stored run on every part. `answer.NAME` returns the"
    yield "stored rows, while `NAME` evaluates the same rows again. `view_catalog.at_hand` marks these views:\n"
    yield from _at_hand(installed)
    yield "\nA column that a view passes on keeps its meaning. Many views have these columns:\n"
    yield display.markdown(["key", "meaning"], list(KEYS.items()))
    yield from _formulas()
    for layer in layers.LAYERS:
        members = sorted((one for one in installed if one.view.layer == layer), key=lambda one: one.view.name)
        if members:
            yield f"\n## {layer}\n"
        for one in members:
            view = one.view
            schema = f"{layers.MARTS}." if layer == layers.MART else ""
            yield f"\n### {schema}{view.name}\n\n{view.description}\n"
            kept = "Maintained table. " if view.is_table else ""
            kept += f"At hand: `answer.{view.name}`. " if one.at_hand else ""
            yield f"{kept}One row for each {', '.join(view.grain)}. Reads {', '.join(sorted(view.relations))}.\n"
            passed_on = [c.name for c in one.columns if c.is_inherited or c.description == KEYS.get(c.name)]
            rows = [(c.name, c.type, c.unit or "", c.description) for c in one.columns if c.name not in passed_on]
            if rows:
                yield display.markdown(["column", "type", "unit", "meaning"], rows)
            if passed_on:
                yield f"\nPassed on: {', '.join(passed_on)}."


def _at_hand(installed: Iterable[views.Installed]) -> Iterator[str]:
    kinds: dict[str, list[str]] = {}
    for one in sorted(installed, key=lambda one: one.view.name):
        kinds.setdefault(one.at_hand, []).append(one.view.name)
    rows = [(kind, _KINDS[kind.partition(" ")[0]], ", ".join(names)) for kind, names in sorted(kinds.items()) if kind]
    yield display.markdown(["at_hand", "meaning", "views"], rows)


_KINDS = {
    "stored": "the rows of the view are stored",
    "as": "computed from the stored rows of the other view",
    "derived": "reads only stored rows of the cost model",
}
"""Meaning of `view_catalog.at_hand` by its first word."""


def _formulas() -> Iterator[str]:
    """Yield the macros; `{` and `|` would end a cell of a table."""
    yield "\n## macros\n"
    yield "Formulas that several views need (`sql/macro`). They exist only in the files: in a database each is expanded where"
    yield "a view calls it.\n"
    rows = [
        (f"`{one.name}({', '.join(one.parameters)})`", one.unit or "", one.description, f"`{one.expression}`")
        for one in views.formulas()
    ]
    yield display.markdown(["macro", "unit", "meaning", "expression"], rows)


def _installed() -> list[views.Installed]:
    with _empty() as connection:
        return views.create(connection, views.load())


def _clears() -> dict[str, str]:
    with _empty() as connection:
        views.install(connection)
        return triggers.clears(connection)


@contextlib.contextmanager
def _empty() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database with every table of facts and no rows."""
    with duckdb.connect() as connection:
        for row_type in database.TABLES:
            connection.execute(ddl.create_table(row_type))
        yield connection


def _commands() -> Iterator[str]:
    yield "# Commands\n"
    yield "Every command takes `--db FILE` (else `$CHARZ_DB`, else `charz.duckdb` in the working directory), `--live`,"
    yield "`--format` (`table`, `json`, `csv`, `markdown` or `parquet`), `--out FILE` and `--help`. Each prints what the"
    yield "[method](python.md) of its name returns. A wrong input prints one line on standard error.\n"
    yield "A file that charz did not write, or that was changed since, is overwritten only with `--force`; a database never.\n"
    yield display.markdown(["exit code", "meaning"], EXIT_CODES)
    group = LazyGroup(name="charz")
    context = typer.Context(group, info_name="charz")
    for name in methods():
        yield from _command(group.get_command(context, name), f"charz {name}", context)


EXIT_CODES = (
    ("0", "Done; also if the reader of the output closed."),
    ("1", "Done, but a check failed or nothing was found within the limits: see the command's text."),
    ("2", "Not done: a wrong input, a limit reached, a disk full. One line on standard error tells what to do."),
    ("130", "Interrupted by Ctrl-C; the database is as before."),
    ("143", "Terminated by SIGTERM; the database is as before."),
)

_EVERYWHERE = frozenset({"help", "db", "live", "format", "out"})
"""Options that every command has."""


def _command(command: Any, path: str, parent: Any) -> Iterator[str]:
    context = typer.Context(command, info_name=path.rpartition(" ")[2], parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"\n## {path}\n\n`{path} {usage}`\n\n{' '.join((command.help or '').split())}\n"
    for name, child in sorted(getattr(command, "commands", {}).items()):
        yield from _command(child, f"{path} {name}", context)
    records = [p.get_help_record(context) for p in command.params if p.name not in _EVERYWHERE]
    rows = [(f"`{record[0]}`", " ".join(record[1].split())) for record in records if record]
    if rows:
        yield display.markdown(["option or argument", "meaning"], rows)


def _methods() -> Iterator[str]:
    yield "# Python\n"
    yield f"{_prose(charz.open)}\n\n```python\nimport charz\n"
    yield 'with charz.open("charz.duckdb") as db:\n    db.ingest("resnet50")\n    db.report("resnet50", on="rtx4090", batch=8)\n```\n'
    yield "A method returns a polars frame in SI units, the unit in each column's name; `db.describe` tells what a column"
    yield "means. What an answer leaves out is a `charz.session.CharzWarning`; a wrong input is a"
    yield "`charz.schema.errors.CharzError`, whose text is one line. A method with sections answers with one of several tables."
    for name, found in methods().items():
        for method in found.values() if isinstance(found, dict) else [found]:
            yield from _method(method, f"{name}." if isinstance(found, dict) else "")
    for name in ("scope", "lazy", "close"):
        function = getattr(Session, name)
        yield f"\n## db.{name}\n\n`db.{name}{_signature(function)}`\n\n{_prose(function)}\n"


def _method(method: Method, group: str) -> Iterator[str]:
    function = method.asked.rows
    yield f"\n## db.{group}{function.__name__}\n\n`db.{group}{function.__name__}{_signature(function)}`\n\n{_prose(function)}\n"
    sections = (*method.asked.sections, *method.asked.more)
    if sections:
        yield f"Sections: {', '.join(f'`{section}`' for section in sections)}.\n"
    hints = typing.get_type_hints(function, include_extras=True)
    texts = [
        (f"`{name}`", hint.__metadata__[0].help)
        for name, hint in hints.items()
        if typing.get_origin(hint) is typing.Annotated
    ]
    if texts:
        yield display.markdown(["parameter", "meaning"], texts)


def _signature(function: Any) -> str:
    """Return parameters with their defaults, without types."""
    found = [p.replace(annotation=inspect.Parameter.empty) for p in inspect.signature(function).parameters.values()]
    return str(inspect.Signature([p for p in found if p.name != "self"]))


def _prose(function: Any) -> str:
    """Return a docstring with each paragraph in one line."""
    return "\n\n".join(" ".join(part.split()) for part in (inspect.getdoc(function) or "").split("\n\n"))


_EVERY_ROW = frozenset({"source", "confidence"})
"""Tables to which every row of the catalog refers. Arrows to these tables would hide the other arrows."""


def _diagram() -> Iterator[str]:
    """Yield a diagram of the tables. A table points to each table whose whole key it contains, or to the most detailed of several such tables."""
    yield "Rows point to the tables whose keys they contain; every row of the catalog also to `source` and `confidence`.\n"
    yield "```mermaid\nerDiagram"
    named = [t for t in database.TABLES if _is_named(t) and t.TABLE not in _EVERY_ROW]
    for child in database.TABLES:
        parents = [t for t in named if t is not child and set(t.KEY) <= set(child.model_fields)]
        for parent in parents:
            if not any(set(parent.KEY) < set(other.KEY) for other in parents):
                yield f'    {parent.TABLE} ||--o{{ {child.TABLE} : "{", ".join(parent.KEY)}"'
    yield "```\n"


def _is_named(table: Any) -> bool:
    """Return True for a table whose key column has the table's name, so that a column of that name refers to the table."""
    return tuple(table.KEY) in ((table.TABLE,), ("model", f"{table.TABLE}_id"))


_NEXT = "run `python -m charz.cli.reference`"


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` list the stale ones."""
    texts = shown()
    answered = answers(texts.values())
    if "--check" not in arguments:
        write()
        for path, text in texts.items():
            path.write_text(printed.written(text, answered))
    found = [f"docs/reference/{name} is stale: {_NEXT}" for name in stale()] + faults(answered)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
