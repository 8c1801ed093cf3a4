"""Methods of a session, as commands and as tools of the Model Context Protocol."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from dataclasses import dataclass

from .answer import Asked


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a session that is also a command."""

    name: str
    group: str
    """Name of the group that contains the command; empty for a command outside of groups."""
    owner: type
    asked: Asked

    @property
    def help(self) -> str:
        """Docstring of the method."""
        return inspect.getdoc(self.asked.rows) or ""

    @property
    def first_line(self) -> str:
        """First paragraph of the docstring, in one line."""
        return " ".join(self.help.partition("\n\n")[0].split())


def methods_of(owner: type) -> dict[str, Method | dict[str, Method]]:
    """Map the name of each command to its method, and the name of each group to the methods of the group."""
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
