"""Dispatch of commands to a session's methods, and one-line reports of errors."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from charz import __version__
from charz.schema import disk
from charz.schema.errors import CharzError, is_interrupt, some, unknown_name
from charz.session import GROUP_LINES, Session
from charz.session.methods import Method, methods

from . import display, helped, process
from .options import COMMON, Before, function


class LazyGroup(TyperGroup):
    """Group of commands. A command is imported only when called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of every command."""
        return list(methods())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import and return a command. Raise `CharzError` with similar names for an unknown one."""
        found = methods().get(cmd_name)
        if found is None:
            raise unknown_name("command", cmd_name, methods(), "`charz --help` lists them")
        return _group(cmd_name, found) if isinstance(found, dict) else _command(found)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the first steps, and one line for each command by topic."""
        formatter.write(
            "Usage: charz [--db FILE] [--live] [--engine ADDRESS] COMMAND [ARGUMENTS]\n\n"
            "Predict time, energy and memory of neural networks on hardware, explain them, and find\n"
            "improvements: SQL over one DuckDB file.\n\n"
        )
        with formatter.section("First"):
            formatter.write_dl(_FIRST)
        for folder, title in _FOLDERS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name, line(found)) for name, found in methods().items() if _folder(found) == folder]
                )
        with formatter.section("Options"):
            formatter.write_dl(
                [
                    *((f"{flag} {value}".rstrip(), text) for flag, (value, text) in COMMON.items()),
                    ("--version", "Print the version"),
                    ("--help", "Print this page; `charz COMMAND --help` describes a command"),
                    (
                        f'eval "$({_COMPLETE}=source_bash charz)"',
                        "Enable completion in this shell (bash); source_zsh in zsh, source_fish in fish",
                    ),
                ]
            )


_FIRST = [
    ("charz ingest efficientnet_b0", "Ingest a model into charz.duckdb"),
    ("charz report efficientnet_b0 --on rtx4090", "Predict time, energy and memory on a part"),
    ("charz recommend efficientnet_b0 --latency 5ms", "Choose a part"),
]

_EVERYTHING = ("charz --help", "List every command by topic")

_COMPLETE = "_CHARZ_COMPLETE"
"""Environment variable by which a shell asks for completions."""

_FOLDERS = {"ask": "Ask", "explain": "Explain", "decide": "Decide", "catalog": "Catalog", "file": "File"}
"""Folders of `charz.session`, one for each topic, and their headings."""


def _folder(found: Method | dict[str, Method]) -> str:
    """Return the folder of a command's method."""
    method = found if isinstance(found, Method) else next(iter(found.values()))
    return method.asked.rows.__module__.split(".")[-2]


application = typer.Typer(cls=LazyGroup, add_completion=False, rich_markup_mode=None)


@application.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    db: str = typer.Option("", "--db", help="Database file.", show_default=False),
    live: bool = typer.Option(False, "--live", help=COMMON["--live"][1]),
    engine: str = typer.Option("", "--engine", help=COMMON["--engine"][1], show_default=False),
    rows: str = typer.Option("", "--rows", help=COMMON["--rows"][1], show_default=False),
    version: bool = typer.Option(False, "--version", help="Print the version."),
) -> None:
    """Predict time, energy and memory of neural networks on hardware."""
    if version:
        typer.echo(f"charz {__version__}")
        raise typer.Exit
    if db:
        os.environ["CHARZ_DB"] = db
    context.obj = Before(live, engine, rows)
    if context.invoked_subcommand is None:
        width = max(len(command) for command, _ in _FIRST)
        typer.echo("\n".join(f"{command.ljust(width)}  {what}" for command, what in (*_FIRST, _EVERYTHING)))


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        if _COMPLETE in os.environ:
            from typer._completion_classes import completion_init

            completion_init()
        _check_text(arguments)
        outcome = typer.main.get_command(application).main(args=arguments, prog_name="charz", standalone_mode=False)
        sys.stdout.flush()  # a closed or full output must fail here, not at the interpreter's exit
    except CharzError as error:
        _flush()
        return _fail(error.line)
    except BaseException as error:  # noqa: BLE001  polars' panics derive from BaseException
        return _failed(error, arguments)
    return process.interrupted() if outcome == 130 else outcome if isinstance(outcome, int) else 0


def _check_text(arguments: list[str]) -> None:
    for argument in arguments:
        if not argument.isprintable() and any(0xD800 <= ord(character) < 0xE000 for character in argument):
            raise CharzError("an argument is not text in UTF-8", argument, next="write it in UTF-8")


def _failed(error: BaseException, arguments: Sequence[str] = ()) -> int:
    """Report an unexpected end of a run in one line, and return its exit code."""
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
        # The reader has closed the pipe (`charz sql ... | head`), so nothing is printed. Typer turns this error into an exit.
        _drop_output()
        return 0
    if isinstance(error, SystemExit):
        raise error
    if isinstance(error, typer.Abort) or is_interrupt(error):
        return process.interrupted()
    # Usage errors are recognized by their method, since typer bundles its own copy of click.
    if message := getattr(error, "format_message", None):
        text = message()
        if type(error).__name__ == "NoArgsIsHelpError":
            return _help(text)
        text = f"{text.rstrip('.')}. {there}" if (there := _there(error, arguments)) else text
        return _fail(_usage_line(error, text)) if text.strip() else 0  # help, which was already shown, has no message
    if os.environ.get("CHARZ_TRACEBACK"):
        raise error
    _flush()
    if disk.is_full(error):
        return _fail(disk.full(Path(), error).line)
    if isinstance(error, OSError) and error.strerror:
        return _fail(disk.refused(error).line)
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message").rstrip(".")
    return _fail(f"{type(error).__name__}: {first}. CHARZ_TRACEBACK=1 shows where.")


def _help(text: str) -> int:
    """Print the help of a group called without a command."""
    try:
        print(text, flush=True)
    except OSError:
        _drop_output()
    return 0


def _flush() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()


def _drop_output() -> None:
    """Send the rest of the buffer to /dev/null: flushing it would fail again at the interpreter's exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)


_LISTED = 8
"""Largest number of names in a message."""


def _there(error: BaseException, arguments: Sequence[str]) -> str:
    """Name the models of the file if a command lacks its model, and the parts too if it lacks a part."""
    missing = getattr(getattr(error, "param", None), "name", None)
    if type(error).__name__ != "MissingParameter" or missing not in ("model", "models", "on", "base"):
        return ""
    named = [given.partition("=")[2] or after for given, after in pairwise([*arguments, ""]) if given.split("=")[0] == "--db"]
    with contextlib.suppress(CharzError), Session(named[-1] if named else None) as db:
        found = {"models": _names(db, "SELECT model FROM model ORDER BY 1")}
        if missing in ("on", "base"):
            found["parts"] = _names(db, "SELECT hardware FROM hardware ORDER BY origin = 'charz', hardware")
        return "; ".join(f"{what}: {some(names, _LISTED)}" if names else f"no {what}" for what, names in found.items())
    return ""


def _names(db: Session, query: str) -> list[str]:
    return [name for (name,) in db.catalog().execute(query).fetchall()]


_CALLED = {
    "--on": ("--hardware", "--part", "--parts", "--gpu", "--device"),
    "--models": ("--model",),
    "--devices": ("--gpus", "--num-devices"),
    "--batch": ("--batch-size", "--bs"),
    "--sequence": ("--seq", "--seq-len", "--sequence-length"),
    "--precision": ("--dtype",),
    "--html": ("--page",),
}
"""Options, each with names that other tools give to it."""


def _usage_line(error: BaseException, message: str) -> str:
    """Return the message of a usage error with the option that was meant, or with the command's help as the next step."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "charz"
    given = getattr(error, "option_name", None)
    own = {flag for p in context.command.params for flag in p.opts} if context and given else set()
    meant = [flag for flag, others in _CALLED.items() if given in others and flag in own]
    if meant:
        return f"No such option: {given}. {path} calls it {meant[0]}."
    if given in COMMON:
        return f"{given} follows a command: charz COMMAND {f'{given} {COMMON[given][0]}'.rstrip()}."
    shows = "`charz --help` lists every command" if path == "charz" else f"`{path} --help-all` shows its usage"
    return f"{' '.join(message.split()).rstrip('.')}. {shows}."


def _fail(line: str) -> int:
    print(f"charz: {display.one_line(line)}", file=sys.stderr)
    return 2


def line(found: Method | dict[str, Method]) -> str:
    """Return the line that describes a command in the help."""
    return found.first_line if isinstance(found, Method) else GROUP_LINES[next(iter(found.values())).group]


def _command(method: Method) -> Any:
    if method.name == "what-if":
        from . import what_if

        single = what_if.command(method)
    else:
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(method.name, cls=helped.command(method, tuple(COMMON)))(function(method))
    command = typer.main.get_command(single)
    command.name = method.name
    return command


def _group(name: str, members: dict[str, Method]) -> Any:
    group = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, help=GROUP_LINES[name])
    for member in members.values():
        group.command(member.name, cls=helped.command(member, tuple(COMMON)))(function(member))
    found = typer.main.get_group(group)
    found.name = name
    return found
