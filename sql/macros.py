"""Formulas that several relations need: each a file of `sql/macro`, expanded where a relation calls it.

    -- What it gives. [unit]
    CREATE MACRO name(parameter, ...) AS expression;

Installed views contain the expression, not the call, so a file needs nothing but its views, and other engines can read them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from charz.schema import ddl
from charz.schema.errors import CharzError

FOLDER = "macro"
_HEAD = re.compile(r"^CREATE\s+MACRO\s+(\w+)\s*\(([^()]*)\)\s+AS\b", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Macro:
    """Parsed file of one macro."""

    name: str
    path: Path
    parameters: tuple[str, ...]
    description: str
    unit: str | None
    expression: str
    """Expression of the macro on one line."""

    @property
    def place(self) -> str:
        """Name of the file for messages, as `macro/file.sql`."""
        return f"{FOLDER}/{self.path.name}"


def parse(path: Path, text: str) -> Macro:
    """Parse the text of a file. Raises `CharzError` naming the file."""
    head = _HEAD.search(text)
    if head is None:
        raise CharzError("no `CREATE MACRO name(parameter, ...) AS` in the file", str(path), next="see sql/macros.py")
    above = (line.strip().removeprefix("--").strip() for line in text[: head.start()].splitlines())
    expression = " ".join(re.sub("--.*", "", text[head.end() :]).split()).removesuffix(";").rstrip()
    parameters = tuple(name.strip() for name in head.group(2).split(",") if name.strip())
    return Macro(head.group(1), path, parameters, *ddl.split_unit(" ".join(above)), expression)


def written_out(found: Iterable[Macro]) -> dict[str, Macro]:
    """Expand calls of macros within macros, and return the macros by name. Raises `CharzError` for a repeated name and for a cycle of
    calls."""
    from . import graph

    macros: dict[str, Macro] = {}
    for macro in found:
        if macro.name in macros:
            raise CharzError("two macros have the same name", f"{macros[macro.name].path} and {macro.path}")
        macros[macro.name] = macro
    calls = {name: tuple(_called(macro.expression, macros)) for name, macro in macros.items()}
    done: dict[str, Macro] = {}
    for name in graph.order(calls, "macros call each other in a circle"):
        macro = macros[name]
        done[name] = replace(macro, expression=expanded(macro.expression, done, macro.path))
    return done


def expanded(text: str, macros: Mapping[str, Macro], path: Path) -> str:
    """Replace each call of a macro in a statement by the macro's expression; line numbers stay.

    >>> share = parse(Path("share.sql"), "CREATE MACRO share(part, whole) AS part / NULLIF(whole, 0e0);")
    >>> expanded("SELECT share(a + 1, b) AS s FROM t", {"share": share}, Path("v.sql"))
    'SELECT ((a + 1) / NULLIF(b, 0e0)) AS s FROM t'
    """
    while (call := next(_calls(text, macros), None)) is not None:
        name, begin, arguments, end = call
        macro = macros[name]
        if len(arguments) != len(macro.parameters):
            found = f"{len(arguments)} of {', '.join(macro.parameters)}"
            raise CharzError(f"{name} is called with a wrong number of arguments", str(path), f"found {found}")
        lines = "\n" * text.count("\n", begin, end)
        text = f"{text[:begin]}({_filled(macro, arguments)}){lines}{text[end:]}"
    return text


def _called(text: str, macros: Mapping[str, Macro]) -> list[str]:
    tokens = _tokens(text)
    return [a.text for a, b in itertools.pairwise(tokens) if a.text in macros and b.text == "("]


def _calls(text: str, macros: Mapping[str, Macro]) -> Iterator[tuple[str, int, list[str], int]]:
    """Yield name, start, arguments and end of each call without calls in its arguments, the last first."""
    tokens = _tokens(text) if any(name in text for name in macros) else []
    for i in reversed(range(len(tokens) - 1)):
        if tokens[i].text in macros and tokens[i + 1].text == "(":
            yield tokens[i].text, tokens[i].start, *_arguments(text, tokens[i + 1 :])


def _arguments(text: str, tokens: list[Any]) -> tuple[list[str], int]:
    """Return the texts between the commas of a parenthesis that the first token opens, and the position after it."""
    arguments: list[str] = []
    depth, begin = 0, tokens[0].end + 1
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 or (depth == 1 and token.text == ","):
            arguments.append(" ".join(text[begin : token.start].split()))
            begin = token.end + 1
        if depth == 0:
            return arguments, begin
    raise CharzError("a call of a macro does not end", text[tokens[0].start :][:60], next="close its parenthesis")


def _filled(macro: Macro, arguments: list[str]) -> str:
    """Replace each parameter in the expression by its argument."""
    given = dict(zip(macro.parameters, arguments, strict=True))
    parts: list[str] = []
    place = 0
    for token in _tokens(macro.expression):
        if token.text in given:
            argument = given[token.text]
            parts += [macro.expression[place : token.start], argument if _is_plain(argument) else f"({argument})"]
            place = token.end + 1
    return "".join([*parts, macro.expression[place:]])


def _is_plain(argument: str) -> bool:
    return re.fullmatch(r"[\w.]+", argument) is not None


def _tokens(text: str) -> list[Any]:
    import sqlglot

    return list(sqlglot.tokenize(text, read="duckdb"))
