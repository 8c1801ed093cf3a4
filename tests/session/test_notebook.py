"""The notebook of the docs: every cell is executed in order, and its outputs are rendered as by a notebook."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebooks" / "first.ipynb"


def executed(source: str, names: dict[str, Any]) -> Any:
    """Return the value of the last expression of a cell, or None."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


@pytest.mark.slow
def test_every_cell_answers_and_shows_units(few_parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(few_parts, tmp_path / "charz.duckdb")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown: list[str] = []
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        found = executed("".join(cell["source"]), names)
        if isinstance(found, pl.DataFrame):
            assert not found.is_empty()
            shown.append(found._repr_html_())
        elif found is not None:
            shown.append(json.dumps(found._repr_mimebundle_()))
    assert len(shown) >= 8
    assert any("µs" in text for text in shown) and any("vega" in text for text in shown)
