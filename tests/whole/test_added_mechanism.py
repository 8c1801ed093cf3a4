"""A mechanism is added by its file and a summand, its number by the column that declares it and a part's row. Nothing else is
edited: `kernel_term` lists it, the reports include it, and the number is loaded, traced and checked like any other."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from charz.sql import lint, views

ROOT = Path(__file__).parents[2]

SUMS = (views.ROOT / "4_cost" / "cost_untiled.sql").read_text()
LAST, TERM = (re.findall(pattern, SUMS)[0] for pattern in (r"FROM (cost_\w+)", r"\+ (\w+_s) AS exposed_s"))
"""Mechanism before the sum of exposed times, and its time."""

PROBE = f"""-- A fixed time beside every kernel, for this test.
-- Term: probe, exposed, , , , probe_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_probe AS
SELECT
    *,
    -- A microsecond. [s]
    1e-6 AS probe_s
FROM {LAST}
"""

WAKE = f"""-- Units of a part that sleep between kernels wake for each, for this test.
-- Term: wake, exposed, , , , wake_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_wake AS
WITH slowest_clusters AS (
    SELECT hardware, MAX(wake_s) AS wake_s FROM hardware_cluster GROUP BY hardware
)

SELECT
    p.*,
    -- Time until the units of the part are awake; 0 where it states none. [s]
    COALESCE(c.wake_s, 0e0) AS wake_s
FROM {LAST} AS p
LEFT JOIN slowest_clusters AS c ON c.hardware = p.hardware
"""

ASKED = """
import json, pathlib, sys
import charz
from charz.ingest import write
from charz.session import Session
from charz.sql import lint, maintain
from oracle.database import ingested
from whole.generated import graph

run = sys.argv[2]
with Session(pathlib.Path(sys.argv[1])) as session, session.changing() as connection:
    write.write(connection, [ingested(graph(1), "small")], maintain.add_runs)
    costs = connection.execute(f"SELECT kernel_count, latency_s FROM model_cost WHERE {run}").fetchall()
    terms = connection.execute(f"SELECT DISTINCT term_s FROM kernel_term WHERE term = 'wake' AND {run}").fetchall()
    number = connection.execute("SELECT unit, value FROM hardware_value WHERE field = 'cluster.core.wake_s'").fetchall()
with charz.open(sys.argv[1]) as db:
    problems = [row["name"] for row in db.doctor("small", on="i9_10940x", section="invariants").to_dicts() if row["rows"]]
print(json.dumps({"at": charz.__file__, "costs": costs, "terms": terms, "number": number, "lint": lint.check(), "check": problems}))
"""

RUN = "model = 'small' AND hardware = 'i9_10940x' AND backend = 'openvino' AND precision = 'fp32' AND batch = 1"


def _added(root: Path, name: str, text: str) -> None:
    """Add a mechanism's file after the last one, and its time to the exposed time."""
    (root / "4_cost" / f"cost_{name}.sql").write_text(text)
    sums = root / "4_cost" / "cost_untiled.sql"
    summed = sums.read_text().replace(f"FROM {LAST}", f"FROM cost_{name}")
    sums.write_text(summed.replace(f"+ {TERM} AS exposed_s", f"+ {TERM} + {name}_s AS exposed_s"))


@pytest.mark.slow
def test_a_mechanism_is_one_file_and_a_summand(file: Path, tmp_path: Path) -> None:
    root, path = tmp_path / "sql", tmp_path / "probed.duckdb"
    shutil.copytree(views.ROOT, root, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "4_cost" / "cost_probe.sql").write_text(PROBE)
    assert "4_cost/cost_untiled.sql: exposed_s lacks probe_s, which a term of exposed names" in lint.check(root)
    _added(root, "probe", PROBE)
    assert lint.check(root) == []
    shutil.copy(file, path)
    with duckdb.connect(str(path)) as connection:
        query = f"SELECT kernel_count, latency_s, power_s FROM model_cost WHERE {RUN}"
        count, before_s, power_s = connection.execute(query).fetchall()[0]
        assert count > 0 and power_s == 0.0
        connection.begin()
        views.install(connection, root)
        connection.commit()
        after_s = connection.execute(query).fetchall()[0][1]
        # Under openvino host and device time add up: each kernel takes a microsecond more.
        assert after_s == pytest.approx(before_s + count * 1e-6, rel=1e-12)
        terms = connection.execute(f"SELECT term_s FROM kernel_term WHERE term = 'probe' AND {RUN}").fetchall()
        assert terms == [(1e-6,)] * count


@pytest.mark.slow
def test_a_number_of_a_part_is_declared_once(file: Path, tmp_path: Path) -> None:
    """In a copy of charz add the column, a part's row, the mechanism's file and its summand."""
    for name in ("src", "cli", "ingest", "schema", "sql", "hardware_catalog"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    _added(tmp_path / "sql", "wake", WAKE)
    for name, old, new in (
        ("schema/catalog/part.py", "    lanes: Annotated[\n", '    wake_s: float | None = None\n    """Time to wake. [s]"""\n'),
        (
            "hardware_catalog/parts/cpu/i9_10940x.yaml", "    kind: core\n",
            "    wake_s: {value: 3.0e-6, unit: s, source: assumed_base, confidence: assumed}\n",
        ),
    ):  # fmt: skip
        text = (tmp_path / name).read_text()
        assert text.count(old) >= 1
        (tmp_path / name).write_text(text.replace(old, new + old, 1))
    path = os.pathsep.join([str(tmp_path / "src"), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", ASKED, str(tmp_path / "new.duckdb"), RUN],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["at"].startswith(str(tmp_path))
    with duckdb.connect(str(file), read_only=True) as connection:
        ((count, before_s),) = connection.execute(
            f"SELECT kernel_count, latency_s FROM model_cost WHERE {RUN}"
        ).fetchall()
    # Three microseconds for each kernel.
    assert found["costs"] == [[count, pytest.approx(before_s + count * 3e-6, rel=1e-12)]]
    assert found["terms"] == [[3e-6]]
    assert found["number"] == [["s", 3e-6]]
    assert found["lint"] == [] and found["check"] == []


@pytest.mark.slow
def test_a_backend_is_rows_alone(file: Path, tmp_path: Path) -> None:
    from oracle.database import ingested

    from charz.ingest import write
    from charz.ingest.compile.rules import from_connection
    from charz.session import workspace
    from charz.sql import maintain
    from whole.generated import graph

    path = tmp_path / "twin.duckdb"
    shutil.copy(file, path)
    with workspace.change(path) as connection:
        for table in ("backend", "backend_support", "fusion_rule"):
            twin = f"SELECT * REPLACE ('twin' AS backend) FROM {table} WHERE backend = 'tensorrt'"
            connection.execute(f"INSERT INTO {table} BY NAME {twin}")
        connection.execute(
            "INSERT INTO scenario BY NAME SELECT * REPLACE ('twin' AS backend, scenario_id + 1000 AS scenario_id)"
            " FROM scenario WHERE backend = 'tensorrt'"
        )
        models = [ingested(graph(1), "small", from_connection(connection))]
        write.write(connection, models, maintain.add_runs)
    with duckdb.connect(str(path), read_only=True) as connection:
        query = """
            SELECT hardware, precision, batch, latency_s FROM model_cost
            WHERE model = 'small' AND hardware = 't4' AND backend = ? ORDER BY ALL
        """
        twins, originals = (connection.execute(query, [name]).fetchall() for name in ("twin", "tensorrt"))
    assert len(twins) >= 4
    # TensorRT's own kernels have efficiency rows of its name; the counterpart uses those of every backend.
    assert [row[:3] for row in twins] == [row[:3] for row in originals]
    assert all(latency_s > 0.0 for *_, latency_s in twins)
