"""Imports between folders: every module follows the table of CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parent.parent

Rules = dict[str, frozenset[str]]
"""Folders that the modules of a folder may import, other than itself."""


def rules(page: str) -> Rules:
    """Read the table whose last column is `may import`."""
    lines = page.splitlines()
    start = lines.index("| folder | content | may import |") + 2
    found: Rules = {}
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        folder, _, imported = (cell.strip() for cell in line.strip("|").split("|"))
        found[folder.strip("`/").removeprefix("src/charz/")] = frozenset(re.findall(r"`([\w/]+)`", imported))
    return found


def imported(text: str, module: str) -> Iterator[str]:
    """Yield the modules of charz that a module imports anywhere, as paths below the package. A name imported from a package
    counts as a module of it."""
    package = module.split("/")[:-1]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = ["charz", *package][: len(package) + 2 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.removeprefix("charz.").replace(".", "/") for name in names if name.startswith("charz."))


def folder_of(path: str, folders: Rules) -> str | None:
    """Return the innermost folder of the table that contains a path, or None for a module of the package itself."""
    return max((folder for folder in folders if lies_in(path, folder)), key=len, default=None)


def lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def broken(module: str, text: str, allowed: Rules) -> list[str]:
    """Return a line for each import of a module that the table does not allow."""
    own = folder_of(module, allowed)
    assert own is not None, f"{module} is in no folder of the table"
    parts = allowed[own] - allowed.keys()
    found = []
    for name in imported(text, module):
        other = folder_of(name, allowed)
        if other in (None, own, *allowed[own]) or any(lies_in(name, part) for part in parts):
            continue
        found.append(f"{module} imports {name}: {own} may import {', '.join(sorted(allowed[own])) or 'nothing'}")
    return found


def sources() -> dict[str, str]:
    """Return the text of every module, by its path below the package."""
    package = ROOT / "src/charz"
    folders = [folder for folder in rules((ROOT / "CONTRIBUTING.md").read_text()) if "/" not in folder]
    found = [path for folder in folders for path in sorted((package / folder).resolve().rglob("*.py"))]
    modules = {path.relative_to(package if package in path.parents else ROOT).as_posix(): path for path in found}
    return {module: path.read_text() for module, path in modules.items()}


def circles(texts: dict[str, str]) -> list[list[str]]:
    """Return groups of modules that import each other, anywhere in their texts."""
    named = {module.removesuffix(".py").removesuffix("/__init__"): module for module in texts}
    graph: nx.DiGraph[str] = nx.DiGraph()
    for module, text in texts.items():
        for name in imported(text, module):
            # a name without a module is defined in a module
            other = named.get(name) or named.get(name.rpartition("/")[0])
            if other not in (None, module):
                graph.add_edge(module, other)
    return sorted(sorted(circle) for circle in nx.strongly_connected_components(graph) if len(circle) > 1)


def test_every_module_keeps_to_the_table() -> None:
    allowed = rules((ROOT / "CONTRIBUTING.md").read_text())
    assert len(sources()) > 150
    assert [line for module, text in sources().items() for line in broken(module, text, allowed)] == []


def test_no_modules_import_each_other() -> None:
    assert circles(sources()) == []


def test_a_circle_is_told() -> None:
    texts = {
        "sql/views.py": "def install():\n    from . import maintain",
        "sql/maintain.py": "from .triggers import suspended",
        "sql/triggers.py": "from charz.sql.views import HARDWARE",
        "sql/lint.py": "from . import views",
    }
    assert circles(texts) == [["sql/maintain.py", "sql/triggers.py", "sql/views.py"]]


def test_the_table_names_every_package() -> None:
    packages = {path.name for path in (ROOT / "src/charz").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert {folder for folder in rules((ROOT / "CONTRIBUTING.md").read_text()) if "/" not in folder} == packages


ALLOWED: Rules = {
    "schema": frozenset(),
    "sql": frozenset({"schema"}),
    "ingest": frozenset({"schema"}),
    "hardware_catalog": frozenset({"schema"}),
    "hardware_catalog/calibration": frozenset({"schema", "sql", "hardware_catalog", "ingest/measurements"}),
}


@pytest.mark.parametrize(
    ("module", "text", "names"),
    [
        ("ingest/write.py", "def f():\n    from charz.sql import maintain", ["sql/maintain"]),
        ("ingest/trace/export.py", "from ...sql.maintain import add_runs", ["sql/maintain/add_runs"]),
        ("ingest/write.py", "import charz.sql.views as v", ["sql/views"]),
        ("ingest/__init__.py", "from ..sql import views", ["sql/views"]),
        ("ingest/write.py", "from charz import sql", ["sql"]),
        ("schema/row.py", "from . import ddl\nfrom charz.ingest import rows", ["ingest/rows"]),
        ("hardware_catalog/loader.py", "from .calibration import fit", ["hardware_catalog/calibration/fit"]),
        ("hardware_catalog/calibration/fit.py", "from charz.ingest import run", ["ingest/run"]),
        (
            "hardware_catalog/calibration/fit.py",
            "from charz.ingest.measurements import store\nfrom .. import loader",
            [],
        ),
        ("ingest/pipeline.py", "import charz\nfrom charz import __version__\nfrom .rows import workload", []),
    ],
)
def test_an_import_that_is_not_allowed_is_told(module: str, text: str, names: list[str]) -> None:
    lines = broken(module, text, ALLOWED)
    assert [line.split(": ")[0] for line in lines] == [f"{module} imports {name}" for name in names]
