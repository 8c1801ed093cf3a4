"""`--help` fits a screen, and `--help-all` lists every option."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer

from charz.cli import helped
from charz.cli.dispatch import LazyGroup
from charz.cli.options import COMMON
from charz.session.methods import Method, methods

from .conftest import Charz

SCREEN = 42
"""Largest number of lines of the short help at 80 columns."""

MANY = 15
"""Largest number of options that a short help may list without a choice of common ones."""

EVERY: dict[str, Method] = {
    f"{name} {method.name}" if isinstance(found, dict) else name: method
    for name, found in methods().items()
    for method in (found.values() if isinstance(found, dict) else [found])
}


def _command(name: str) -> tuple[Any, Any]:
    group: Any = LazyGroup(name="charz")
    context = typer.Context(group, info_name="charz")
    for word in name.split():
        group = group.get_command(context, word)
        context = typer.Context(group, info_name=word, parent=context)
    return group, context


@pytest.mark.parametrize("name", EVERY)
def test_the_short_help_fits_a_screen_and_the_whole_help_has_every_option(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    command, context = _command(name)
    own = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    common, asked = EVERY[name].asked.common, {p.name for p in own}
    assert set(common) <= asked
    assert common or len(own) <= MANY
    short = command.get_help(context)
    assert len(short.splitlines()) <= SCREEN
    words = {line.split()[0].strip(",") for line in short.split("Options:\n")[1].splitlines() if line.startswith("  -")}
    for option in own:
        is_shown = not common or option.name in common
        assert any(flag in words for flag in option.opts) == is_shown
    left = len(own) - len(common) if common else 0
    assert (f"shows {left} further option" in " ".join(short.split())) == (left > 0)
    command.is_whole = True
    lines = command.get_help(context).split("Options:\n")[1].splitlines()
    listed = [line.split()[0].rstrip(",") for line in lines if line.startswith("  -")]
    assert all(sum(listed.count(flag) for flag in option.opts) == 1 for option in own)
    assert name == "what-if" or {flag for flag in COMMON if flag != "--wait"} <= set(listed)
    assert not any("`--help-all` shows" in line for line in lines)


def test_the_short_help_has_the_first_paragraph_and_the_order_of_its_options(charz: Charz) -> None:
    short, whole = charz("compare", "--help").stdout, charz("compare", "--help-all").stdout
    assert "marks the batch at which each part saturates" not in short
    assert "marks the batch at which each part saturates" in whole
    places = [short.index(f"  --{name} ") for name in EVERY["compare"].asked.common]
    assert places == sorted(places)
    assert whole.index("--saturation") < whole.index("Further options:") < whole.index("--resolution") < whole.index("Options of every command:")
    assert charz("nothing", "--help-all").returncode == 2


def test_help_all_needs_no_argument(charz: Charz) -> None:
    done = charz("report", "--help-all")
    assert done.returncode == 0
    assert "--kv-precision" in done.stdout


def test_every_command_has_both_helps() -> None:
    assert all(isinstance(_command(name)[0], helped.Command) for name in EVERY)


def test_every_option_that_a_help_names_exists() -> None:
    """Options in backticks or in sentences, of any command, are spelled as a command spells them."""
    commands = [_command(name)[0] for name in EVERY]
    options = {flag for command in commands for p in command.params for flag in p.opts} | {"--help", "--help-all", *COMMON}
    texts = [EVERY[name].help for name in EVERY] + [str(getattr(p, "help", "")) for command in commands for p in command.params]
    named = {flag for text in texts for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*", text)}
    assert len(named) > 20 and named <= options, named - options
