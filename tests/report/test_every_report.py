"""Every report and rollup has a test with numbers computed by hand."""

from __future__ import annotations

import ast
from pathlib import Path

from charz.sql import layers, views


def test_each_is_asked_for_numbers() -> None:
    files = Path(__file__).parent.glob("test_*.py")
    nodes = (node for path in files for node in ast.walk(ast.parse(path.read_text())))
    asked = {node.value for node in nodes if isinstance(node, ast.Constant)}
    assert {view.name for view in views.load() if view.layer in (layers.ROLLUP, layers.REPORT)} - asked == set()
