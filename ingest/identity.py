"""Whether a request would give what the database already holds, known without tracing or importing torch."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

from .sources.spec import Spec

LIBRARIES = ("torch", "torchvision", "timm", "transformers")


def request_hash(spec: Spec) -> str | None:
    """SHA-256 of the request and of everything its answer depends on; None for a user's own code."""
    if spec.module == "factory":
        return None
    digest = hashlib.sha256(f"{spec!r}\n{_environment()}".encode())
    path = Path(spec.name)
    if path.suffix in (".json", ".pt2") and path.is_file():
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _environment() -> str:
    """Versions of the libraries and a hash of this package's code."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    versions = []
    for name in LIBRARIES:
        try:
            versions.append(f"{name}={metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return f"{' '.join(versions)} charz={digest.hexdigest()}"
