"""Every line of docs/source_plan.md names a command and a view that exist."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
import typer

from charz.cli.options import function
from charz.session.ask.plot import PICTURES
from charz.session.methods import Method, methods
from charz.sql import views

TABLE = Path(__file__).parents[2] / "docs" / "source_plan.md"
_LINE = re.compile(r"^\| (?P<item>[^|]+?) \| `charz (?P<command>[^`]+)` \| `(?P<view>\w+)` \|$")


def _lines() -> list[re.Match[str]]:
    rows = [line for line in TABLE.read_text().splitlines() if line.startswith("|")][2:]
    matches = [_LINE.match(row) for row in rows]
    unread = [row for row, match in zip(rows, matches, strict=True) if match is None]
    assert not unread, f"lines that name no command and view: {unread}"
    return [match for match in matches if match is not None]


LINES = _lines()


@pytest.mark.parametrize("line", LINES, ids=lambda m: m["item"])
def test_command_and_view_exist(line: re.Match[str]) -> None:
    command, *words = line["command"].split()
    found = methods()[command]
    method = found if isinstance(found, Method) else found[words.pop(0)]
    assert line["view"] in {view.name for view in views.load()}
    if command == "plot":
        assert words[0] in PICTURES
    assert {word for word in words if word.startswith("--")} <= set(_options(method))


def _options(method: Method) -> Iterator[str]:
    for parameter in inspect.signature(function(method)).parameters.values():
        if parameter.annotation is typer.Context:
            continue
        declared = get_args(parameter.annotation)[1]
        yield from (name for name in (declared.default, *(declared.param_decls or ())) if isinstance(name, str))


def test_every_item_once() -> None:
    items = [line["item"] for line in LINES]
    assert len(items) == len(set(items))
    assert len(items) >= 50


def test_every_picture_is_in_the_table() -> None:
    drawn = {line["command"].split()[1] for line in LINES if line["command"].startswith("plot ")}
    assert drawn == set(PICTURES)
