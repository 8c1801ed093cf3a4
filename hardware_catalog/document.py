"""Reading of a YAML file as plain data within limits that no part needs: a file beyond them is refused before it is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from .problem import CatalogError, Problem

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

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
        return yaml.load(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or "broken YAML"
        raise _problem(path, where, str(what), "correct the YAML there") from error
    except ValueError as error:  # an impossible date or number, e.g. 2020-13-45
        raise _problem(path, None, str(error), "write it as text, in quotes") from error


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
    for event in yaml.parse(text, Loader=_LOADER):
        what = ""
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
