"""A session's method as a command and a tool."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from dataclasses import dataclass

from .answer import Asked


@dataclass(frozen=True, slots=True)
class Method:
    """A session's method that is a command."""

    name: str
    group: str
    """Name of the group of commands that contains it; empty for a command outside of groups."""
    owner: type
    asked: Asked

    @property
    def help(self) -> str:
        """Its docstring."""
        return inspect.getdoc(self.asked.rows) or ""

    @property
    def first_line(self) -> str:
        """The first sentence of its docstring."""
        return " ".join(self.help.partition("\n\n")[0].split())


def methods_of(owner: type) -> dict[str, Method | dict[str, Method]]:
    """Return every command's method by its name, and those of a group by the group's name."""
    found: dict[str, Method | dict[str, Method]] = {m.name: m for m in _methods(owner, "")}
    for group, property_ in vars(owner).items():
        if isinstance(property_, property):
            members = typing.get_type_hints(property_.fget)["return"]
            found[group] = {m.name: m for m in _methods(members, group)}
    return dict(sorted(found.items()))


def _methods(owner: type, group: str) -> Iterator[Method]:
    for name in dir(owner):
        asked = getattr(getattr(owner, name), "asked", None)
        if isinstance(asked, Asked) and not name.startswith("_"):
            yield Method(name.rstrip("_").replace("_", "-"), group, owner, asked)
