"""Makes the databases of the oracle tests importable here, since test folders are packages of their own, and a file as
`charz` makes it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))


@pytest.fixture(scope="session")
def file(once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """A database with three generated models, of which one is said to decode."""
    return once("small.duckdb", _make)


def _make(path: Path) -> None:
    from oracle.database import ingested

    from charz.cli.workspace import change_workspace
    from charz.ingest import write
    from charz.sql import maintain
    from whole.generated import graph

    with change_workspace(path) as connection:
        models = [ingested(graph(seed), name) for seed, name in enumerate(("small", "other", "decoder"), start=1)]
        models[-1].model["has_context"] = True
        write.write(connection, models, maintain.add_runs)
