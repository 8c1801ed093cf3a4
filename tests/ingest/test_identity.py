"""Causes of a stale model: only changes of the code that decides its rows."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from charz.ingest import identity

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("cli", "hardware_catalog", "ingest", "schema", "sql")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program that may be edited."""
    folder = tmp_path_factory.mktemp("tree")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "parts"))
    return folder


def hash_with(tree: Path, edited: str) -> str:
    """Hash the code with one more line in a file."""
    path = tree / edited
    before = path.read_text()
    path.write_text(before + "\n# another line\n")
    try:
        return identity.code_hash(tree / "ingest")
    finally:
        path.write_text(before)


@pytest.mark.parametrize(
    "edited",
    [
        "hardware_catalog/calibration/fit.py",
        "hardware_catalog/calibration/whole_models.py",
        "hardware_catalog/tables/efficiency.csv",
        "sql/4_cost/cost_dram.sql",
        "sql/maintain.py",
        "cli/options.py",
        "ingest/measurements/store.py",
        "ingest/measure/run.py",
        "ingest/write.py",
        "ingest/reference.py",
    ],
)
def test_code_that_decides_nothing_leaves_models_as_they_are(tree: Path, edited: str) -> None:
    assert hash_with(tree, edited) == identity.code_hash(tree / "ingest")


@pytest.mark.parametrize(
    "edited",
    [
        "ingest/operators/conv.py",
        "ingest/compile/fusion.py",
        "ingest/trace/lower.py",
        "ingest/sources/timm.py",
        "ingest/graph.py",
        "ingest/rows.py",
        "ingest/pipeline.py",
    ],
)
def test_code_that_decides_makes_models_stale(tree: Path, edited: str) -> None:
    assert hash_with(tree, edited) != identity.code_hash(tree / "ingest")


def test_a_rule_under_another_name_makes_models_stale(tree: Path) -> None:
    before = identity.code_hash(tree / "ingest")
    path = tree / "ingest/operators/conv.py"
    path.rename(path.with_name("convolution.py"))
    assert identity.code_hash(tree / "ingest") != before
    path.with_name("convolution.py").rename(path)


def test_all_that_the_pipeline_is_made_of_decides() -> None:
    """Modules of `ingest/` that deciding modules import decide too, except the hash itself."""
    folder = ROOT / "ingest"
    deciding = set(identity.deciding_files(folder))
    used = {module for path in deciding for module in imports(path, folder)}
    assert used - deciding == {folder / "identity.py"}
    assert len(deciding) > 50


def imports(path: Path, folder: Path) -> set[Path]:
    """Return the modules of a folder that one of its modules imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not (node.level or (node.module or "").startswith("charz.ingest")):
            continue
        above = path.parents[node.level - 1] if node.level else folder
        words = (node.module or "").removeprefix("charz.ingest").strip(".").split(".")
        base = above.joinpath(*filter(None, words))
        for target in (base, *(base / alias.name for alias in node.names)):
            found |= {
                p for p in (target.with_suffix(".py"), target / "__init__.py") if p.is_file() and folder in p.parents
            }
    return found - {folder / "__init__.py"}
