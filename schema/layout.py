"""The layout that this charz gives a file, read from the source of the row types: importing them takes ten times as long."""

from __future__ import annotations

import ast
import functools
import hashlib
from pathlib import Path

from . import sources
from .ddl import DUCKDB_TYPES

FOLDER = Path(__file__).parent
_ROW_TYPES = frozenset({"Row", "ModelRow"})


@functools.cache
def fingerprint(folder: Path = FOLDER) -> str:
    """Hash every table of `folder` with its columns, their types and its key; descriptions do not count."""
    if folder != FOLDER:
        return _hashed(folder)
    return sources.derived("layout", sorted(folder.rglob("*.py")), lambda: _hashed(folder))


def _hashed(folder: Path) -> str:
    types = sorted(f"{python.__name__} {name}" for python, name in DUCKDB_TYPES.items())
    text = "\n".join([*types, *tables(folder)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def tables(folder: Path = FOLDER) -> list[str]:
    """Return a line for each row type of `folder`, its bases and annotated names, sorted."""
    return sorted(
        _described(node)
        for path in folder.rglob("*.py")
        for node in ast.parse(path.read_bytes(), filename=str(path)).body
        if isinstance(node, ast.ClassDef) and _bases(node) & _ROW_TYPES
    )


def _bases(node: ast.ClassDef) -> set[str]:
    return {base.id for base in node.bases if isinstance(base, ast.Name)}


def _described(node: ast.ClassDef) -> str:
    names = [ast.unparse(line) for line in node.body if isinstance(line, ast.AnnAssign)]
    return f"{' '.join(sorted(_bases(node)))}: {'; '.join(names)}"
