"""Examples in docstrings of the modules of `sql/`, run as doctests."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import charz.sql

MODULES = sorted(module.name for module in pkgutil.iter_modules(charz.sql.__path__))
WITH_EXAMPLES = {
    "answers", "compose", "documents", "foreign", "graph", "holder", "installed", "macros", "maintain", "portable", "reading", "restate", "scopes",
    "spark", "terms", "triggers",
}  # fmt: skip
"""Modules that read or write SQL texts, each with an example."""


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_show(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"charz.sql.{name}"))
    assert result.failed == 0
    assert (result.attempted > 0) == (name in WITH_EXAMPLES)
