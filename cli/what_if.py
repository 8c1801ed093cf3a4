"""The command that runs another command with hypothetical changes of parts and models."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Annotated

import typer

from charz.schema.errors import CharzError, unknown_name
from charz.session.decide.what_if import METHODS, WhatIf
from charz.session.methods import Method, methods
from charz.session.parameters import Text

from . import helped
from .options import COMMON, DATABASE, ENGINE, LIVE, TRUST, Changes, before, function

_SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False}
"""Settings of the parser. Options after the first word belong to the other command."""


_TEXTS: dict[str, Text] = {
    name: typing.get_args(hint)[1]
    for name, hint in typing.get_type_hints(WhatIf.what_if, include_extras=True).items()
    if typing.get_origin(hint) is Annotated
}
_CHANGES = Annotated[list[str] | None, typer.Option("--set", help=_TEXTS["changes"].help, show_default=False)]
_SIZES = Annotated[list[str] | None, typer.Option("--model", help=_TEXTS["sizes"].help, show_default=False)]
_MODULES = Annotated[list[str] | None, typer.Option("--precision", help=_TEXTS["modules"].help, show_default=False)]
_WORDS = Annotated[list[str], typer.Argument(metavar="COMMAND...", help=_TEXTS["method"].help, show_default=False)]


def command(method: Method) -> typer.Typer:
    """Make the command of `what_if`: `charz what-if --set PART.FIELD=VALUE -- COMMAND ...`."""
    single = typer.Typer(add_completion=False, rich_markup_mode=None)

    @single.command(method.name, cls=helped.command(method, tuple(COMMON)), help=method.help, context_settings=_SETTINGS)
    def what_if(
        context: typer.Context,
        words: _WORDS,
        changes: _CHANGES = None,
        sizes: _SIZES = None,
        modules: _MODULES = None,
        db: DATABASE = None,
        live: LIVE = False,
        engine: ENGINE = None,
        trust: TRUST = False,
    ) -> None:
        asked, arguments = _asked(words)
        if db is not None:
            arguments = ["--db", str(db), *arguments]
        if live or before(context).is_live:
            arguments = ["--live", *arguments]
        if asked_of := engine or before(context).engine:
            arguments = ["--engine", asked_of, *arguments]
        if trust:
            arguments = ["--trust", *arguments]
        options = ((changes, "--set"), (sizes, "--model"), (modules, "--precision"))
        given = Changes(*(_changes(texts, option) for texts, option in options))
        other = typer.Typer(add_completion=False)
        other.command(asked.name)(function(asked, given))
        outcome = typer.main.get_command(other).main(arguments, prog_name=f"charz {method.name}", standalone_mode=False)
        if outcome:
            raise typer.Exit(outcome)

    return single


def _asked(words: Sequence[str]) -> tuple[Method, list[str]]:
    """Return the command that the first words name, and the remaining words."""
    known = [name.replace(".", " ") for name in METHODS]
    for count in (1, 2):
        if " ".join(words[:count]) in known:
            found = methods()[words[0]]
            return found[words[1]] if isinstance(found, dict) else found, list(words[count:])
    raise unknown_name("command of a what-if", words[0], known)


def _changes(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """Map the name of each changed number to its values."""
    found: dict[str, str] = {}
    for text in given or ():
        name, sign, value = text.partition("=")
        if not sign:
            raise CharzError("no value", f"{option} {text}", next=f"write e.g. {option} {text}=256")
        found[name.strip()] = ",".join(filter(None, (found.get(name.strip()), value.strip())))
    return found
