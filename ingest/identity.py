"""Identifies requests whose rows the database already contains, without tracing or importing torch."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

from .sources.spec import Spec

LIBRARIES = ("torch", "torchvision", "timm", "transformers", "onnx")

DECIDING = ("sources", "trace", "operators", "compile", "graph.py", "rows.py", "pipeline.py")
"""Folders and modules of this package that decide the rows of a model; the others measure, import, write or show."""


def request_hash(spec: Spec) -> str | None:
    """Hash (SHA-256) the request and everything on which its answer depends; None for a user's own code."""
    if spec.module == "factory":
        return None
    digest = hashlib.sha256(f"{spec!r}\n{environment()}".encode())
    path = Path(spec.name)
    if path.suffix in (".json", ".pt2", ".onnx") and path.is_file():
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def environment() -> str:
    """Return the versions of the libraries and a hash of the deciding code."""
    versions = []
    for name in LIBRARIES:
        try:
            versions.append(f"{name}={metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return f"{' '.join(versions)} charz={code_hash(Path(__file__).parent)}"


def code_hash(folder: Path) -> str:
    """Hash (SHA-256) the code under `ingest/` that decides the rows of a model."""
    digest = hashlib.sha256()
    for path in deciding_files(folder):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def deciding_files(folder: Path) -> list[Path]:
    """List the files of `DECIDING`, in a fixed order."""
    found = (
        path
        for name in DECIDING
        for path in ([folder / name] if name.endswith(".py") else (folder / name).rglob("*.py"))
    )
    return sorted(found)
