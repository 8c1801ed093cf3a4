"""Critical path, stages and peak memory of every model of a database compared with reference implementations.

    CHARZ_EVERY_MODEL=zoo.duckdb pytest -m broad tests/whole/test_every_model.py

`charz ingest torchvision --db zoo.duckdb` makes a database of all torchvision models.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import duckdb
import pytest
from oracle.database import scenario

from charz.sql import holder, scopes

from .plain import check_critical_paths, check_peak_memory, check_stages

PLACE = os.environ.get("CHARZ_EVERY_MODEL")
PART = "h100_sxm5_80"
RUNS = (("eager", "fp32"), ("inductor", "amp-fp16"), ("tensorrt", "fp16"))

pytestmark = [
    pytest.mark.broad,
    pytest.mark.skipif(not PLACE, reason="CHARZ_EVERY_MODEL names no database of ingested models"),
]


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(PLACE or "", read_only=True) as made:
        runs = [scenario(i, backend=backend, precision=precision) for i, (backend, precision) in enumerate(RUNS)]
        holder.hold(made, scopes.Scope(scenarios=[dict(run) for run in runs], hardware=[PART]))
        yield made


def _models(connection: duckdb.DuckDBPyConnection) -> int:
    return int(connection.sql("SELECT count(*) FROM model").fetchall()[0][0])


def test_critical_path(connection: duckdb.DuckDBPyConnection) -> None:
    count, exact = check_critical_paths(connection)
    print(f"{exact} of {count} critical paths are exact, the others are bounds")
    assert count == _models(connection) * len(RUNS)


def test_stages(connection: duckdb.DuckDBPyConnection) -> None:
    assert check_stages(connection) >= _models(connection)


def test_peak_memory(connection: duckdb.DuckDBPyConnection) -> None:
    assert check_peak_memory(connection) == _models(connection) * len(RUNS)
