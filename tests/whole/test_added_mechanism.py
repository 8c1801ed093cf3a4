"""A mechanism is added by one file: the chain takes it up, `kernel_term` lists it, and nothing else is edited."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from charz.sql import views

PROBE = """-- A fixed time beside every kernel, for this test.
-- Term: probe, exposed, , , , probe_s,
-- Link: 85
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_probe AS
SELECT
    * EXCLUDE (exposed_s),
    -- A microsecond. [s]
    1e-6 AS probe_s,
    exposed_s + probe_s AS exposed_s
FROM previous
"""

RUN = "model = 'small' AND hardware = 'i9_10940x' AND backend = 'openvino' AND precision = 'fp32' AND batch = 1"


@pytest.mark.slow
def test_a_mechanism_is_one_file(file: Path, tmp_path: Path) -> None:
    root, path = tmp_path / "sql", tmp_path / "probed.duckdb"
    shutil.copytree(views.ROOT, root, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "4_cost" / "cost_probe.sql").write_text(PROBE)
    shutil.copy(file, path)
    with duckdb.connect(str(path)) as connection:
        query = f"SELECT kernel_count, latency_s, power_s FROM model_cost WHERE {RUN}"
        count, before_s, power_s = connection.execute(query).fetchall()[0]
        assert count > 0 and power_s == 0.0
        connection.begin()
        views.install(connection, root)
        connection.commit()
        after_s = connection.execute(query).fetchall()[0][1]
        # Host and device add under openvino: each kernel takes a microsecond more.
        assert after_s == pytest.approx(before_s + count * 1e-6, rel=1e-12)
        terms = connection.execute(f"SELECT term_s FROM kernel_term WHERE term = 'probe' AND {RUN}").fetchall()
        assert terms == [(1e-6,)] * count


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
    # TensorRT's own kernels have efficiency rows of its name; the twin has those of every backend.
    assert [row[:3] for row in twins] == [row[:3] for row in originals]
    assert all(latency_s > 0.0 for *_, latency_s in twins)
