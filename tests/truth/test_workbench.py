"""The workbench against the database's own views, and bare products against a one-layer network."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from charz.cli.workspace import change_workspace, open_workspace
from charz.ingest.measurements import bare, files, store, validation
from charz.ingest.measurements.workbench import Workbench, measured_cases
from charz.ingest.run import run
from charz.ingest.sources.spec import parse
from charz.schema.catalog import Source
from charz.schema.scenario import Measurement

PART = "h100_sxm5_80"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with one small network and two measurements of it, one of them of no known part."""
    path = tmp_path_factory.mktemp("truth") / "t.duckdb"
    spec = parse("synthetic:mlp", settings=(("in", "256"), ("hidden", "512"), ("out", "256"), ("layers", "2")))
    (outcome,) = run([spec], lambda: change_workspace(path))
    assert outcome.state == "written", outcome.message
    rows = pl.DataFrame(
        {
            "model": [outcome.model] * 2, "model_source": [outcome.model] * 2, "hardware_name": [PART, "no such part"],
            "device_count": [1, 1], "backend": ["eager"] * 2, "mode": ["run"] * 2, "precision": ["fp16"] * 2,
            "memory_format": ["nchw"] * 2, "batch": [1, 1], "latency_s": [1e-4, 1e-4], "source_id": ["t"] * 2,
        }
    )  # fmt: skip
    source = Source(source_id="t", kind="measurement", locator="t", licence=None, what="t")
    with change_workspace(path) as connection:
        assert store.store(connection, rows, Measurement, [source]) == 2
        connection.execute(
            "INSERT INTO scenario SELECT 990, 1, NULL, NULL, 'forward', 'fp16', 'eager', 'nchw', 1.0, cache_state, 'user'"
            " FROM scenario LIMIT 1"
        )
    return path


def test_only_measurements_on_known_parts_are_cases(database: Path) -> None:
    cases = measured_cases(database)
    assert cases["hardware"].to_list() == [PART]


def test_overview_counts_a_model_named_by_its_name(database: Path) -> None:
    with open_workspace(database) as connection:
        assert files.overview(connection).rows() == [("t", "model", 2, 1, 1)]


def test_workbench_says_what_the_views_say(database: Path) -> None:
    with Workbench(database, measured_cases(database)) as bench:
        (predicted,) = bench.predict()["latency_s"]
    with open_workspace(database) as connection:
        rows = connection.sql(
            f"SELECT latency_s, p10_s, p90_s FROM model_latency WHERE hardware = '{PART}' AND scenario_id = 990"
        ).fetchall()
        errors = connection.sql("SELECT predicted_s, measured_s, log_ratio FROM prediction_error").fetchall()
    assert rows[0][0] == pytest.approx(predicted, rel=1e-12)
    assert rows[0][1] < predicted < rows[0][2]
    assert errors[0][0] == pytest.approx(predicted, rel=1e-12)


def test_importing_again_replaces(database: Path) -> None:
    with open_workspace(database) as connection:
        assert connection.sql("SELECT count(*) FROM measurement").fetchall() == [(2,)]


def test_host_factor_is_chosen_from_batch_one_rows(database: Path) -> None:
    frame = validation.predicted(database)
    assert frame["host_factor"][0] > 0
    assert {"p10_s", "p90_s", "latency_s"} <= set(frame.columns)
    assert "predicted too" in validation.explain({**frame.to_dicts()[0], "log_ratio": 0.1})


def test_bare_product_is_bounded_by_the_roofline(database: Path) -> None:
    products = pl.DataFrame({"m": [4096.0, 16.0], "n": [4096.0, 4096.0], "k": [4096.0, 4096.0]})
    with open_workspace(database) as connection:
        peak = connection.sql(
            f"SELECT MAX(peak_ops_per_s) FROM hardware_peak WHERE hardware = '{PART}' AND precision = 'bf16'"
        ).fetchall()[0][0]
    found = bare.times(database, products, [PART], "bf16")
    for row in found.iter_rows(named=True):
        assert row["device_s"] > 2 * row["m"] * row["n"] * row["k"] / peak
