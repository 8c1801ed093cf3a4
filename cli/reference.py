"""Writes what pages say of the code: `python -m charz.cli.reference`, or `--check` that all is as it would write it.

That is docs/reference, and the blocks of other pages that show what a command prints (`printed`).
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
    """Every page by file name."""
    parts = {"tables.md": _tables(), "views.md": _views(), "cli.md": _commands(), "python.md": _methods()}
    parts["hardware.md"] = hardware.lines()
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


def shown(root: Path = ROOT) -> dict[Path, str]:
    """Texts of the pages that show what commands print, README.md first."""
    files = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    texts = {path: path.read_text() for path in files if path.exists() and path.parent != root / "docs" / "reference"}
    return {path: text for path, text in texts.items() if printed.commands(text, str(path))}


def answers(texts: Iterable[str]) -> dict[str, str]:
    """What the commands of some pages print."""
    return printed.answers(command for text in texts for command in printed.commands(text))


def faults(answered: Mapping[str, str], root: Path = ROOT) -> list[str]:
    """Name each page that shows another answer than these."""
    changed = [path for path, text in shown(root).items() if printed.written(text, answered) != text]
    return [f"{path.relative_to(root)} shows what commands do not print: {_NEXT}" for path in changed]


def _tables() -> Iterator[str]:
    yield "# Tables\n"
    yield "What a charz database stores. SI units; a column without a unit is a count, a fraction or a name.\n"
    yield from _diagram()
    clears = _clears()
    module = ""
    for row_type in database.TABLES:
        if row_type.__module__ != module:
            module = row_type.__module__
            yield f"\n## {module.rpartition('.')[2]}\n"
        yield f"\n### {row_type.TABLE}\n\n{ddl.table_description(row_type)}\n"
        cleared = _CLEARED.get(clears.get(row_type.TABLE, "none"))
        more = " and of those of its architecture" if row_type.TABLE in triggers.SIBLINGS else ""
        text = f" A changed row deletes the answers at hand of {cleared}{more}." if cleared else ""
        yield f"Key: {', '.join(row_type.KEY)}.{text}\n"
        rows = [
            (c.name, c.duckdb_type + (" or null" if c.is_nullable else ""), c.unit or "", c.description)
            for c in ddl.columns(row_type)
        ]
        yield display.markdown(["column", "type", "unit", "what it holds"], rows)


_CLEARED = {
    "": "all parts and models",
    "model": "the model",
    "scenario_id": "the scenario",
    "hardware": "the part that it names",
    "scope": "the parts in its scope",
    "compute_capability": "the parts of that compute capability",
    "family": "the parts of that family",
}
"""What a changed row concerns, by the column that says so."""


def _views() -> Iterator[str]:
    installed = _installed()
    yield "# Views\n"
    yield "The cost model. A view reads its own layer or an earlier one; every name below can be queried. The rows of a"
    yield "maintained table are kept, by triggers in the file, as `rebuild.NAME` gives them: read it, do not write to it.\n"
    yield "Of views *at hand* the file keeps the rows of every stored run on every part, in `answer.stored`: `answer.NAME` has the"
    yield "columns of `NAME` and reads them from there, while `NAME` evaluates them. `view_catalog.at_hand` says which these are:\n"
    yield from _at_hand(installed)
    yield "\nA column passed on holds what it holds where it is made; these are found all over:\n"
    yield display.markdown(["key", "what it holds"], list(KEYS.items()))
    yield from _formulas()
    for layer in layers.LAYERS:
        members = sorted((one for one in installed if one.view.layer == layer), key=lambda one: one.view.name)
        if members:
            yield f"\n## {layer}\n"
        for one in members:
            view = one.view
            yield f"\n### {view.name}\n\n{view.description}\n"
            kept = "Maintained table. " if view.is_table else ""
            kept += f"At hand: `answer.{view.name}`. " if one.at_hand else ""
            yield f"{kept}One row for each {', '.join(view.grain)}. Reads {', '.join(sorted(view.relations))}.\n"
            passed_on = [c.name for c in one.columns if c.is_inherited or c.description == KEYS.get(c.name)]
            rows = [(c.name, c.type, c.unit or "", c.description) for c in one.columns if c.name not in passed_on]
            if rows:
                yield display.markdown(["column", "type", "unit", "what it holds"], rows)
            if passed_on:
                yield f"\nPassed on: {', '.join(passed_on)}."


def _at_hand(installed: Iterable[views.Installed]) -> Iterator[str]:
    kinds: dict[str, list[str]] = {}
    for one in sorted(installed, key=lambda one: one.view.name):
        kinds.setdefault(one.at_hand, []).append(one.view.name)
    rows = [(kind, _KINDS[kind.partition(" ")[0]], ", ".join(names)) for kind, names in sorted(kinds.items()) if kind]
    yield display.markdown(["at_hand", "what it means", "views"], rows)


_KINDS = {
    "stored": "its rows are kept",
    "as": "gives the rows of the other, which are kept, by another way",
    "derived": "reads nothing of the cost model but what is kept",
}
"""What `view_catalog.at_hand` says, by its first word."""


def _formulas() -> Iterator[str]:
    """The macros; `{` and `|` would end a cell of a table."""
    yield "\n## macros\n"
    yield "Formulas that several views need (`sql/macro`). They stand in the files alone: in a database each is written out where"
    yield "a view calls it.\n"
    rows = [
        (f"`{one.name}({', '.join(one.parameters)})`", one.unit or "", one.description, f"`{one.expression}`")
        for one in views.formulas()
    ]
    yield display.markdown(["macro", "unit", "what it gives", "expression"], rows)


def _installed() -> list[views.Installed]:
    with _empty() as connection:
        return views.create(connection, views.load())


def _clears() -> dict[str, str]:
    with _empty() as connection:
        views.install(connection)
        return triggers.clears(connection)


@contextlib.contextmanager
def _empty() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with every table of facts and no row."""
    with duckdb.connect() as connection:
        for row_type in database.TABLES:
            connection.execute(ddl.create_table(row_type))
        yield connection


def _commands() -> Iterator[str]:
    yield "# Commands\n"
    yield "Every command takes `--db FILE` (else `$CHARZ_DB`, else `charz.duckdb` in the working directory), `--live`,"
    yield "`--format` (`table`, `json`, `csv`, `markdown` or `parquet`), `--out FILE` and `--help`. Each prints what the"
    yield "[method](python.md) of its name returns. A wrong input gives one line on standard error.\n"
    yield "A file that charz did not write, or that was changed since, is written over only with `--force`; a database never.\n"
    yield display.markdown(["exit code", "meaning"], EXIT_CODES)
    group = LazyGroup(name="charz")
    context = typer.Context(group, info_name="charz")
    for name in methods():
        yield from _command(group.get_command(context, name), f"charz {name}", context)


EXIT_CODES = (
    ("0", "Done; also when the reader of the output went away."),
    ("1", "Done, and what was found is wrong or nothing was found within the limits: the command's text says when."),
    ("2", "Not done: a wrong input, a limit reached, a disk full. One line on standard error says what to do."),
    ("130", "Interrupted by Ctrl-C; the database is as before."),
    ("143", "Ended by SIGTERM, as by Ctrl-C."),
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
    yield "A method returns a polars frame in SI units, the unit in each column's name; `db.describe` says what a column"
    yield "holds. What an answer leaves out is a `charz.session.CharzWarning`; a wrong input is a"
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
    """Parameters with their defaults, without types."""
    found = [p.replace(annotation=inspect.Parameter.empty) for p in inspect.signature(function).parameters.values()]
    return str(inspect.Signature([p for p in found if p.name != "self"]))


def _prose(function: Any) -> str:
    """A docstring, its paragraphs in a line each."""
    return "\n\n".join(" ".join(part.split()) for part in (inspect.getdoc(function) or "").split("\n\n"))


_EVERY_ROW = frozenset({"source", "confidence"})
"""Tables that every row of the catalog points to: drawn, they would hide the others."""


def _diagram() -> Iterator[str]:
    """How tables hang together: each that holds the whole key of another points to it, to the finest where it points to
    several of one key."""
    yield "Rows point to the tables whose keys they hold; every row of the catalog to `source` and `confidence` too.\n"
    yield "```mermaid\nerDiagram"
    named = [t for t in database.TABLES if _is_named(t) and t.TABLE not in _EVERY_ROW]
    for child in database.TABLES:
        parents = [t for t in named if t is not child and set(t.KEY) <= set(child.model_fields)]
        for parent in parents:
            if not any(set(parent.KEY) < set(other.KEY) for other in parents):
                yield f'    {parent.TABLE} ||--o{{ {child.TABLE} : "{", ".join(parent.KEY)}"'
    yield "```\n"


def _is_named(table: Any) -> bool:
    """True for a table whose key is named after it, so that a column of that name means it."""
    return tuple(table.KEY) in ((table.TABLE,), ("model", f"{table.TABLE}_id"))


_NEXT = "run `python -m charz.cli.reference`"


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` name the ones that are stale."""
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
