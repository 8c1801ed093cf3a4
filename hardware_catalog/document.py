"""Reads a YAML file as plain data, by the rules of YAML 1.2 and within limits that no part needs: what is beyond them is refused
before it is built."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import yaml

from .problem import CatalogError, Problem


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # the engine in C where there is one
    """Reads plain scalars as the core schema of YAML 1.2 does: `1:28`, `yes`, `010` and dates are texts."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}


_SCALARS: dict[str, tuple[str, str, Callable[[str], Any]]] = {
    "null": (r"~|null|Null|NULL|", "~nN", lambda text: None),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF", lambda text: text.lower() == "true"),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789", lambda text: _integer(text)),
    "float": (
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+0123456789.",
        lambda text: float(text.lower().replace(".inf", "inf").replace(".nan", "nan")),
    ),
}
"""Plain scalars of the core schema (YAML 1.2.2, section 10.3.2): pattern, first letters, and what is made of one."""

_TAG = "tag:yaml.org,2002:"

for _name, (_pattern, _letters, _) in _SCALARS.items():
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})\Z"), [*_letters, *([""] if _name == "null" else [])])


def _integer(text: str) -> int:
    bases = {"0o": 8, "0x": 16}
    return int(text[2:], bases[text[:2]]) if text[:2] in bases else int(text)


MOST_BYTE = 2**20
"""Largest size of a file; the largest shipped part has 12 KB. [byte]"""
MOST_DEPTH = 20
MOST_VALUES = 20_000
MOST_LETTERS = 2_000
"""Largest number of letters in one value."""


def read(path: Path) -> Any:
    """Return the document in the file at `path`.

    Raises:
        CatalogError: the file cannot be read, is not YAML or exceeds a limit.
    """
    text = _text(path)
    try:
        _check_limits(text, path)
        node = yaml.compose(text, Loader=_Loader)
        return None if node is None else _value(node, path)
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or "broken YAML"
        raise _problem(path, where, str(what), "correct the YAML there") from error


def _value(node: yaml.Node, path: Path) -> Any:
    """Convert a node to plain data. Raises `CatalogError` for a duplicate key."""
    if isinstance(node, yaml.SequenceNode):
        return [_value(one, path) for one in node.value]
    if not isinstance(node, yaml.MappingNode):
        kind = node.tag.removeprefix(_TAG)
        return _SCALARS[kind][2](node.value) if kind in _SCALARS else node.value
    found: dict[Any, Any] = {}
    lines: dict[str, int] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise _problem(path, key_node.start_mark, "a key that is no text", "name each row and column by a word")
        line, word = key_node.start_mark.line + 1, key_node.value
        if word in lines:  # `1` and `'1'` name the same row
            places = f"{word} is there twice, in lines {lines[word]} and {line}"
            raise _problem(path, key_node.start_mark, places, "keep one of them")
        found[_value(key_node, path)], lines[word] = _value(value_node, path), line
    return found


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise _problem(path, None, "not a file", "name a readable YAML file")
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTE + 1)
    except OSError as error:
        raise _problem(path, None, error.strerror or str(error), "name a readable YAML file") from error
    if len(data) > MOST_BYTE:
        raise _problem(path, None, f"more than {MOST_BYTE:,} bytes", "name the YAML file of one part")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _problem(path, None, "not UTF-8 text", "save the file as UTF-8") from error


def _check_limits(text: str, path: Path) -> None:
    depth = count = 0
    for event in yaml.parse(text, Loader=_Loader):
        what = ""
        if (tag := getattr(event, "tag", None)) is not None:
            raise _problem(path, event.start_mark, f"a tag, {tag[:80]}", "write the value without it")
        if isinstance(event, yaml.AliasEvent):
            what = f"an alias, *{event.anchor}"
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            what = f"nested deeper than {MOST_DEPTH} times" if depth > MOST_DEPTH else ""
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.ScalarEvent):
            count += 1
            if count > MOST_VALUES:
                what = f"more than {MOST_VALUES:,} values"
            elif len(event.value) > MOST_LETTERS:
                what = f"a value of {len(event.value):,} letters"
        if what:
            raise _problem(path, event.start_mark, what, "write every value out, as the shipped parts do")


def _problem(path: Path, mark: Any, what: str, remedy: str) -> CatalogError:
    return CatalogError([Problem(path, f"line {mark.line + 1}" if mark else "-", what, remedy)])
