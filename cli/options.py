"""Conversion of a session's method to a command: the parameters become arguments and options, and the answer is printed or written."""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from charz.schema import damage, user_file
from charz.schema.errors import CharzError
from charz.session import Session
from charz.session.access import Access, database_path
from charz.session.answer import Asked, Rows
from charz.session.methods import Method
from charz.session.parameters import Amount, File, Names, Sizes, Text

from . import display
from .output import Format, Texts, write, write_sections

COMMON = {
    "--db": ("FILE", "Database file; default $CHARZ_DB if set, else charz.duckdb in this folder."),
    "--format": ("FORMAT", f"Output format: {', '.join(Format)}."),
    "--out": ("FILE", "File to write; default standard output."),
    "--force": ("", "Allow --out to overwrite a file that charz did not write."),
    "--live": ("", "Evaluate every answer on demand; ignore answers at hand (precomputed predictions)."),
    "--engine": ("ADDRESS", "Evaluate the models on this Spark Connect endpoint: sc://HOST:PORT."),
    "--rows": ("ROWS", "Folder of rows for the engine, written by `charz export ROWS --for spark`; default FILE.rows."),
    "--trust": ("", "Allow views, triggers and macros that charz did not create, and code that models in the file name, to run."),
    "--wait": ("SECONDS", "Longest wait for another charz process that changes the file, in s."),
}
"""Options of every command, each with the name of its value and its text; `charz --help` describes them once."""


def _common(flag: str, **more: Any) -> Any:
    """Declare an option of every command, which the help of a command leaves out."""
    return typer.Option(flag, help=COMMON[flag][1], hidden=True, **more)


DATABASE = Annotated[Path | None, _common("--db")]
LIVE = Annotated[bool, _common("--live")]
ENGINE = Annotated[str | None, _common("--engine")]
ROWS = Annotated[str | None, _common("--rows")]
TRUST = Annotated[bool, _common("--trust")]
_FORMAT = Annotated[Format, _common("--format")]
_OUT = Annotated[Path | None, _common("--out")]
_FORCE = Annotated[bool, _common("--force")]
_WAIT = Annotated[float, _common("--wait", min=0.0)]
_FULL = Annotated[bool, typer.Option("--full", help="Print every table.")]


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes that `charz what-if` applies."""

    numbers: Mapping[str, str]
    """Changed numbers of parts, by name."""
    sizes: Mapping[str, str]
    """Changed sizes of the model, by name."""
    modules: Mapping[str, str]
    """Precisions of modules, by pattern of the module's path."""


@dataclass(frozen=True, slots=True)
class Target:
    """Destination of an answer."""

    out: Path | None
    """The file; None for standard output."""
    force: bool
    """True to overwrite a file that charz did not write."""


def function(method: Method, changes: Changes | None = None) -> Callable[..., None]:
    """Make the function of a typer command. With `changes`, the command runs with these hypothetical changes."""
    hints = typing.get_type_hints(method.asked.rows, include_extras=True)
    given = [p for p in inspect.signature(method.asked.rows).parameters.values() if p.name != "self"]
    own = [
        p for p in given if not any(isinstance(t, Text) and t.is_python_only for t in typing.get_args(hints[p.name]))
    ]
    parameters = [_parameter(p, hints[p.name], is_several=bool(method.asked.sections)) for p in own]
    names = {p.name for p in own}
    common: dict[str, tuple[Any, Any]] = {
        "format": (_FORMAT, Format.table),
        "out": (_OUT, None),
        "force": (_FORCE, False),
        "db": (DATABASE, None),
        "live": (LIVE, False),
        "engine": (ENGINE, None),
        "rows": (ROWS, None),
        "trust": (TRUST, False),
    }
    if method.asked.is_writing:
        common["wait"] = (_WAIT, Access.wait_s)
    if method.asked.more:
        common = {"full": (_FULL, False), **common}
    common = {**{name: (_alone(name), False) for name in method.asked.alone}, **common}
    added = {name: pair for name, pair in common.items() if name not in names}
    parameters += [_keyword(name, hint, default) for name, (hint, default) in added.items()]
    parameters.append(_keyword("invoked", typer.Context, inspect.Parameter.empty))

    def command(invoked: typer.Context, **given: Any) -> None:
        _check_finite(given)
        path, format, out, full = (
            given.pop(name) if name in added else None for name in ("db", "format", "out", "full")
        )
        for name in method.asked.alone:
            if given.pop(name):
                given["section"] = name
        trust, wait = (given.pop(name, None) for name in ("trust", "wait"))
        common = before(invoked)
        is_live = bool(given.pop("live")) or common.is_live
        engine, rows = given.pop("engine") or common.engine, given.pop("rows") or common.rows
        force = bool(given.pop("force") if "force" in added else given["force"])
        if out is not None:
            user_file.guard(database_path(path))
            user_file.check(out, force)
        access = Access(bool(trust), Access.wait_s if wait is None else wait, is_live, engine=engine, rows=rows)
        with (
            display.messages() as messages,
            Session(path, messages=messages, is_guarded=True, access=access) as session,
            damage.named(session.path),
        ):
            _answer(session, method, given, bool(full), format or Format.table, Target(out, force), changes)

    command.__doc__ = method.help
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


@dataclass(frozen=True, slots=True)
class Before:
    """Values of options before the command's name."""

    is_live: bool = False
    engine: str = ""
    rows: str = ""


def before(invoked: typer.Context) -> Before:
    """Return the values of the options before the command's name."""
    found = invoked.find_root().obj
    return found if isinstance(found, Before) else Before()


def _check_finite(given: Mapping[str, Any]) -> None:
    """Raise `CharzError` for infinity and NaN, which typer accepts as numbers."""
    for name, value in given.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise CharzError("not a finite number", f"--{name.replace('_', '-')} {value:g}", next="write a number, e.g. 60")


def _answer(
    session: Session,
    method: Method,
    given: dict[str, Any],
    is_full: bool,
    format: Format,
    target: Target,
    changes: Changes | None,
) -> None:
    """Call the method, and print or write the answer: all sections in tables and with `--full`, otherwise one section."""
    sections = (*method.asked.sections, *(method.asked.more if is_full else ()))
    if any(given.get(name) is not None for name in (*method.asked.files, *method.asked.instead)):
        sections = ()
    chosen = given.pop("section", None) if method.asked.sections else None
    found = []

    def asked(section: str | None) -> tuple[str, Rows, Texts]:
        rows = rows_of(session, method, changes, **given, **({"section": section} if section else {}))
        found.append(rows)
        return section or "", rows, lambda: session.texts(rows.views) | dict(rows.texts)

    is_page = format in (Format.table, Format.markdown) and target.out is None
    first = method.asked.first if sections and is_page and changes is None and not is_full else ()
    if first and chosen is None:
        found_first = (_fetched(*asked(section)) for section in first)
        write_sections((one for one in found_first if one[1].columns), format, target.out, target.force)
        session.messages.remark(f"--section NAME prints more, --full all: {', '.join(sections)}, {', '.join(method.asked.more)}")
    elif len(sections) > 1 and chosen is None and (is_full or is_page):
        every = (_fetched(*asked(section)) for section in sections)
        shown = (one for one in every if one[1].source or one[0] == sections[0] or not is_page)
        write_sections(shown, format, target.out, target.force)
    else:
        _, rows, texts = asked(chosen or (sections or (None,))[0])
        write(rows, format, target.out, texts, target.force)
        others = sections[1:] or method.asked.more
        if sections and chosen is None and others and "launch" not in rows.columns:
            session.messages.remark(f"this is --section {sections[0]}; other sections: {', '.join(others)}")
    session.remind()
    if any(rows.is_failure for rows in found):
        raise typer.Exit(1)


def _fetched(section: str, rows: Rows, texts: Texts) -> tuple[str, Rows, Texts]:
    return section, dataclasses.replace(rows, source=rows.fetch()), texts


def _parameter(parameter: inspect.Parameter, hint: Any, is_several: bool) -> inspect.Parameter:
    """Declare a parameter for typer. Positional parameters become arguments, other parameters options."""
    given, text = typing.get_args(hint)[0], typing.get_args(hint)[1] if typing.get_origin(hint) is Annotated else None
    if typing.get_origin(hint) is not Annotated:
        given = hint
    if parameter.name == "section" and is_several:
        told = f"Print this table only: {', '.join(typing.get_args(given))}."
        option = typer.Option("--section", help=told, show_default=False, metavar="NAME")
        return _keyword("section", Annotated[given | None, option], None)
    if not isinstance(text, Text):
        raise TypeError(f"{parameter.name} has no `Text`")
    is_required = parameter.default is inspect.Parameter.empty
    is_nothing = parameter.default is None or parameter.default == ()
    declared: Any
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
        flag = f"--{text.flag or parameter.name.rstrip('_').replace('_', '-')}"
        flags = [flag, *([text.short] if text.short else [])]
        if given is bool:
            flags = [f"{flag}/--no-{flag[2:]}"] if parameter.default else flags
        declared = typer.Option(
            *flags, help=text.help, show_default=not (is_required or is_nothing), min=text.least, max=text.most
        )
    else:
        declared = typer.Argument(help=text.help, show_default=False, min=text.least, max=text.most)
    taken = text.taken or _typed(given)
    default = inspect.Parameter.empty if is_required else None if is_nothing else parameter.default
    if taken == list[str] and isinstance(default, str):
        default = [default]
    return _keyword(parameter.name, Annotated[taken, declared], default)


def _alone(section: str) -> Any:
    return Annotated[bool, typer.Option(f"--{section.replace('_', '-')}", help=f"Same as --section {section}.")]


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _typed(hint: Any) -> Any:
    """Return the type that the command line accepts for a parameter's type."""
    is_optional = type(None) in typing.get_args(hint)
    members = {member for member in typing.get_args(hint) or (hint,) if member is not type(None)}
    for several, single in ((Names, list[str]), (Sizes, str), (Amount, str), (File, Path)):
        if set(typing.get_args(several)) <= members:
            return single | None if is_optional else single
    kept = [m for m in members if m in (bool, int, float, str, Path) or typing.get_origin(m) is Literal]
    if typing.get_origin(hint) is Literal or isinstance(hint, type):
        return hint
    if isinstance(hint, types.UnionType | typing._UnionGenericAlias) and len(kept) == 1:  # type: ignore[attr-defined]
        return kept[0] | None if is_optional else kept[0]
    raise TypeError(f"no command line for {hint}")


def rows_of(session: Session, method: Method, changes: Changes | None, **given: Any) -> Rows:
    """Call the method and return the rows of its answer."""
    if changes is not None:
        asked: Asked = Session.what_if.asked  # type: ignore[attr-defined]
        name = method.asked.rows.__name__
        called = f"{method.group}.{name}" if method.group else name
        return asked.rows(session, changes.numbers, called, sizes=changes.sizes, modules=changes.modules, **given)
    owner = getattr(session, method.group) if method.group else session
    return method.asked.rows(owner, **given)
