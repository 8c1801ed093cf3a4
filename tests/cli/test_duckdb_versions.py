"""A file of charz opens in the oldest DuckDB it promises, and says the same there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from .conftest import same

OLDEST = "1.5.5"

_ROWS = """
import json, sys
import duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
connection.execute("SET enable_progress_bar = false")
tables = [n for (n,) in connection.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()]
views = [n for (n,) in connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()]
columns = "(SELECT 'table', table_name, comment FROM duckdb_tables() WHERE NOT internal UNION ALL"
columns += " SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal) ORDER BY ALL"
answer = {
    "version": duckdb.__version__,
    "comments": connection.execute(columns).fetchall(),
    "views": {n: connection.execute(f'DESCRIBE "{n}"').fetchall() for n in sorted(views)},
    "rows": {
        n: connection.execute(f'SELECT * FROM "{n}" ORDER BY ALL').fetchall() for n in sorted(tables) + sys.argv[2:]
    },
}
print(json.dumps(answer, default=str))
"""


_READ = ("hardware_unit", "hardware_value", "efficiency_choice", "model_report")
"""Views whose rows are compared; of the others, that they bind and what they give."""


def answers(path: Path, library: Path | None) -> dict[str, Any]:
    environment = os.environ | ({"PYTHONPATH": str(library)} if library else {})
    done = subprocess.run(
        [sys.executable, "-c", _ROWS, str(path), *_READ], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("oldest")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target), f"duckdb=={OLDEST}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pip cannot fetch duckdb {OLDEST}: {done.stderr.strip().splitlines()[-1]}")
    return target


@pytest.mark.slow
def test_a_file_reads_the_same_in_the_oldest_duckdb(workspace: Path, oldest: Path) -> None:
    here, there = answers(workspace, None), answers(workspace, oldest)
    assert (here.pop("version"), there.pop("version")) == (duckdb.__version__, OLDEST)
    assert here["comments"] == there["comments"]
    assert here["views"] == there["views"]
    for name, rows in here["rows"].items():
        assert len(rows) == len(there["rows"][name]) > (name in _READ) - 1
        for left, right in zip(rows, there["rows"][name], strict=True):
            assert all(map(same, left, right)), (name, left, right)
