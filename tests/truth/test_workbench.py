"""The workbench compared with the database's own views, and single products with a one-layer network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from benchmarks.makers import bands, bare

from charz.hardware_catalog.calibration import fit, kernels, validation
from charz.hardware_catalog.calibration.questions import SCORED
from charz.hardware_catalog.calibration.workbench import Workbench, measured_cases
from charz.ingest.measurements import files, store
from charz.ingest.run import run
from charz.ingest.sources.spec import parse
from charz.schema.catalog.source import Source
from charz.schema.errors import CharzError
from charz.schema.scenario import Measurement
from charz.session import Messages, Session, workspace
from charz.session.catalog import condition
from charz.sql import maintain

PART = "h100_sxm5_80"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Database with one small network and two measurements of it, one of them on an unknown part."""
    path = tmp_path_factory.mktemp("truth") / "t.duckdb"
    spec = parse("synthetic:mlp", settings=(("in", "256"), ("hidden", "512"), ("out", "256"), ("layers", "2")))
    (outcome,) = run([spec], lambda: workspace.change(path), maintain.add_runs)
    assert outcome.state == "written", outcome.message
    rows = pl.DataFrame(
        {
            "model": [outcome.model] * 2, "model_source": [outcome.model] * 2, "hardware_name": [PART, "no such part"],
            "device_count": [1, 1], "backend": ["eager"] * 2, "mode": ["run"] * 2, "precision": ["fp16"] * 2,
            "memory_format": ["nchw"] * 2, "batch": [1, 1], "latency_s": [1e-4, 1e-4], "source_id": ["t"] * 2,
        }
    )  # fmt: skip
    source = Source(source_id="t", kind="measurement", locator="t", licence=None, what="t")
    with workspace.change(path) as connection:
        assert store.store(connection, rows, Measurement, [source]) == 2
        connection.execute(
            "INSERT INTO scenario BY NAME SELECT 990 AS scenario_id, 1 AS batch, 'forward' AS phase, 'fp16' AS precision,"
            " 'eager' AS backend, 'nchw' AS memory_format, 1.0 AS host_factor, 'warm' AS cache_state, 'user' AS origin"
        )
    return path


def test_only_measurements_on_known_parts_are_cases(database: Path) -> None:
    with workspace.read(database) as connection:
        cases = measured_cases(connection)
    assert cases["hardware"].to_list() == [PART]


def test_a_case_follows_the_policy_of_its_version_and_of_its_backend(database: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(database.read_bytes())
    with workspace.change(copy) as connection:
        followed = {}
        for precision, software, backend in (
            ("amp-fp16", "pt240", "eager"), ("amp-fp16", "pt291", "eager"), ("fp32", None, "eager"),
            ("fp32", None, "tensorrt"), ("fp32", None, "onnxruntime"), ("fp16", "pt240", "eager"),
        ):  # fmt: skip
            connection.execute(
                "UPDATE measurement SET precision = ?, software = ?, backend = ?", [precision, software, backend]
            )
            (followed[precision, software, backend],) = measured_cases(connection)["precision"]
    assert list(followed.values()) == ["amp-fp16@2.4", "amp-fp16", "torch-fp32", "tf32", "fp32", "fp16"]


def test_the_mart_predicts_each_measurement_as_validate_does(database: Path, tmp_path: Path) -> None:
    """Each label of each backend on parts with and without TF32, labelled by its version or not. The scenarios have batch 1 alone, so
    `validate` predicts rows of batch 2 that the mart lacks."""
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(database.read_bytes())
    labels = ["fp32", "tf32", "fp16", "amp-fp16", "ieee-fp32"]
    backends = ["eager", "inductor", "tensorrt", "onnxruntime"]
    policies = [*labels[:4], "torch-fp32", "amp-fp16@2.4"]
    with workspace.change(copy) as connection:
        connection.execute(
            "INSERT INTO measurement SELECT m.* REPLACE (100 + ROW_NUMBER() OVER () AS measurement_id, p AS hardware, b AS backend, l AS precision,"
            " s AS software, n AS batch) FROM (SELECT * FROM measurement WHERE hardware IS NOT NULL) AS m, UNNEST(?) AS parts(p),"
            " UNNEST(?) AS backends(b), UNNEST(?) AS labels(l), UNNEST(['pt240', 'pt211', NULL]) AS versions(s), UNNEST([1, 2]) AS sizes(n)",
            [["a100_sxm4_80", "t4", "i7_13700k"], backends, labels],
        )
        connection.execute("DELETE FROM scenario")
        connection.execute(
            "INSERT INTO scenario (batch, precision, backend) SELECT 1, p, b FROM UNNEST(?) AS policies(p), UNNEST(?) AS backends(b)",
            [policies, backends],
        )
    with Session(copy) as db:
        db.refresh()
        stored = {row["measurement_id"]: row for row in db.sql("SELECT * FROM mart.predictions").to_dicts()}
        reasons = dict(db.sql("SELECT measurement_id, reason FROM unscored_measurement").rows())
        asked = dict(db.sql("SELECT measurement_id, precision FROM measurement").rows())
        validated = validation.validate(db.connection(), SCORED).drop_nulls("latency_s")
    scored = {row["measurement_id"]: row for row in validated.to_dicts()}
    assert {one: row["predicted_s"] for one, row in stored.items()} == pytest.approx({one: scored[one]["unfitted_s"] for one in stored})
    assert {one: row["precision"] for one, row in stored.items()} == {one: scored[one]["precision"] for one in stored}
    missing = {reasons.pop(one) for one in scored.keys() - stored.keys()}
    assert missing == {"no such scenario"}
    assert all(reason == "part not in the catalog" or reason.startswith("part does not run") for reason in reasons.values())
    # TensorRT allows TF32 by default, which a T4 and a CPU lack.
    followed = {(row["hardware"], row["backend"], asked[one], row["precision"]) for one, row in stored.items()}
    single = {(part, backend, policy) for part, backend, label, policy in followed if label == "fp32" and part != "i7_13700k"}
    assert single == {
        ("a100_sxm4_80", "eager", "torch-fp32"), ("a100_sxm4_80", "inductor", "torch-fp32"), ("a100_sxm4_80", "tensorrt", "tf32"),
        ("a100_sxm4_80", "onnxruntime", "fp32"), ("t4", "eager", "torch-fp32"), ("t4", "inductor", "torch-fp32"), ("t4", "tensorrt", "fp32"),
        ("t4", "onnxruntime", "fp32"),
    }  # fmt: skip
    assert ("t4", "eager", "amp-fp16", "amp-fp16@2.4") in followed and ("t4", "eager", "amp-fp16", "amp-fp16") in followed


def test_of_many_runs_of_a_part_as_many_are_drawn_for_a_band(database: Path, tmp_path: Path) -> None:
    """120 of 131 under one backend are drawn, the same each time, and the one under the other."""
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(database.read_bytes())
    with workspace.change(copy) as connection:
        others = "measurement_id + n AS measurement_id, CASE WHEN n = 1000 THEN 'inductor' ELSE backend END AS backend"
        connection.execute(
            f"INSERT INTO measurement SELECT m.* REPLACE ({others}) FROM measurement AS m CROSS JOIN range(1000, 1131) AS r(n)"
            f" WHERE hardware = '{PART}'"
        )
        drawn, again = (measured_cases(connection, bands.DRAWN) for _ in range(2))
    assert dict(drawn["backend"].value_counts().rows()) == {"eager": bands.DRAWN_ROWS, "inductor": 1}
    assert drawn["measurement_id"].to_list() == again["measurement_id"].to_list()


def test_overview_counts_a_model_named_by_its_name(database: Path) -> None:
    with workspace.read(database) as connection:
        assert files.overview(connection).rows() == [("t", "model", 2, 1, 1)]


def test_workbench_says_what_the_views_say(database: Path) -> None:
    with workspace.read(database) as connection:
        with Workbench(connection, measured_cases(connection)) as bench:
            (predicted,) = bench.predict()["latency_s"]
        rows = connection.sql(
            f"SELECT latency_s, p10_s, p90_s FROM model_latency WHERE hardware = '{PART}' AND scenario_id = 990"
        ).fetchall()
        errors = connection.sql("SELECT predicted_s, measured_s, log_ratio FROM prediction_error").fetchall()
    assert rows[0][0] == pytest.approx(predicted, rel=1e-12)
    assert rows[0][1] < predicted < rows[0][2]
    assert errors[0][0] == pytest.approx(predicted, rel=1e-12)


def test_importing_again_replaces(database: Path) -> None:
    with workspace.read(database) as connection:
        assert connection.sql("SELECT count(*) FROM measurement").fetchall() == [(2,)]


def test_host_factor_is_chosen_from_batch_one_rows(database: Path) -> None:
    with workspace.read(database) as connection:
        frame = validation.validate(connection)
    assert frame["host_factor"][0] > 0
    assert {"p10_s", "p90_s", "latency_s"} <= set(frame.columns)
    assert "predicted too" in validation.worst(frame, 1)["why"][0]


def test_a_fitted_factor_stands_beside_the_score_with_the_score_without_it(database: Path) -> None:
    """The one measured run waits for the host: 0.1 ms, nearly all of which the fitted factor explains."""
    said: list[str] = []
    with Session(database, messages=Messages(remark=said.append)) as db:
        (cell,) = db.validate(least_rows=1).to_dicts()
        (row,) = db.validate(section="worst").to_dicts()
        db.scenario.add(batch=1, precision="fp16", backend="eager")
        (reported,) = db.report(row["model"], on=PART, batch=1, precision="fp16", backend="eager")["latency_s"]
    factor = row["host_factor"]
    assert factor != 1.0 and said.count(f"factors on the host's time, fitted to the scored rows: t {factor:.2g}") == 1
    assert cell["least_host_factor"] == cell["largest_host_factor"] == pytest.approx(factor, abs=1e-3)
    assert row["unfitted_s"] == pytest.approx(reported, rel=1e-12) and row["unfitted_s"] != row["latency_s"]
    expected = float(np.log(reported / 1e-4))
    assert cell["unfitted_bias"] == pytest.approx(expected, abs=1e-3)
    assert cell["unfitted_median_error"] == pytest.approx(abs(expected), abs=1e-3)
    assert abs(row["log_ratio"]) < abs(expected)
    # Columns that are fitted on the rows themselves come after the others.
    for found, first, second in ((cell, "unfitted_median_error", "median_error"), (row, "unfitted_s", "latency_s")):
        assert list(found).index(first) < list(found).index(second)
    assert list(cell).index("unfitted_median_error") == list(cell).index("rows") + 1


def test_a_condition_of_somebody_is_the_rows_that_it_holds_for(database: Path) -> None:
    with Session(database) as db:
        assert condition.of_session(db, SCORED) == SCORED
        ((known,),) = (
            db.connection().execute("SELECT measurement_id FROM measurement WHERE hardware IS NOT NULL").fetchall()
        )
        text = "x.batch = 1 AND m.model LIKE '%mlp%' AND x.hardware IS NOT NULL"
        assert condition.of_session(db, text) == f"x.measurement_id IN ({known})"
        assert condition.of_session(db, "x.batch > 1") == "x.measurement_id IN (NULL)"
        assert db.validate(where=text, least_rows=1).equals(db.validate(least_rows=1))


def test_a_model_is_scored_alone(database: Path) -> None:
    with Session(database) as db:
        (row,) = db.validate(section="worst").to_dicts()
        assert db.validate(row["model"], least_rows=1).equals(db.validate(least_rows=1))
        with pytest.raises(CharzError, match="unknown model: nothing"):
            db.validate("nothing")
        others = [name for name in db.models()["model"] if name != row["model"]]
        for other in others:
            with pytest.raises(CharzError, match="no measured run can be scored"):
                db.validate(other)


def test_a_score_is_of_the_cells_asked_for(database: Path) -> None:
    with workspace.read(database) as connection:
        frame = validation.validate(connection)
    (cell,) = validation.score(frame, "precision").to_dicts()
    assert (cell["hardware"], cell["backend"], cell["precision"], cell["rows"]) == (PART, "eager", "fp16", 1)
    assert cell["median_error"] == pytest.approx(abs(np.log(frame["latency_s"][0] / frame["measured_s"][0])))
    assert validation.score(frame, "precision", least_rows=2).is_empty()
    with pytest.raises(CharzError, match="unknown breakdown"):
        validation.score(frame, "moon")


def test_nothing_to_validate_is_one_line(database: Path) -> None:
    with workspace.read(database) as connection, pytest.raises(CharzError, match="no measured run can be scored"):
        validation.validate(connection, "x.batch = 7")


def test_the_fit_composes_a_kernels_time_as_the_views_do(tmp_path: Path) -> None:
    """Efficiencies that are equal for all kernels, given to the views as rows and to the fit as parameters, give one device time
    at full clock, wherever both choose the same tiles."""
    path = tmp_path / "t.duckdb"
    specs = [parse("synthetic:resnet_block"), parse("synthetic:transformer_block"), parse("synthetic:mlp")]
    outcomes = run(specs, lambda: workspace.change(path), maintain.add_runs)
    assert {o.state for o in outcomes} == {"written"}, outcomes
    settings = [
        ("i9_10940x", "inductor", "fp32"), ("i9_10940x", "eager", "fp32"), ("xeon_8480p", "openvino", "int8"),
        ("rtx4090", "eager", "amp-fp16"), ("rtx4090", "inductor", "fp32"), ("t4", "eager", "fp16"),
    ]  # fmt: skip
    cases = pl.DataFrame(
        [
            {
                "model": o.model, "hardware": part, "backend": backend, "precision": precision, "memory_format": "nchw",
                "batch": batch, "sequence": None, "host_factor": 1.0,
            }
            for o in outcomes for part, backend, precision in settings for batch in (1, 32)
        ],
        schema_overrides={"sequence": pl.Int64},
    ).with_columns(power=pl.lit("1000000w"))  # fmt: skip
    shares = {
        "matrix": 0.62,
        "vector": 0.41,
        "memory": 0.73,
        "overlap": 0.85,
        "thread": 0.9,
        "reorder": 0.3,
        "paging": 0.08,
    }
    works = {"matrix": 3e4, "vector": 2e3, "memory": 5e3, "thread": 4e4}
    keys = ["model", "scenario_id", "hardware"]
    with workspace.read(path) as connection:
        held = connection.sql("SELECT * FROM efficiency WHERE resource = 'residency'").pl()
    rows = kernels.neutral(0.0, held).with_columns(
        pl.col("resource").replace_strict(shares, default=pl.col("maximum_fraction")).alias("maximum_fraction"),
        pl.col("resource").replace_strict(works, default=0.0).alias("half_work"),
    )
    tiles = (
        "SELECT run.model, run.scenario_id, hardware, LIST(candidate ORDER BY kernel_id) AS tiles FROM kernel_cost GROUP BY ALL"
    )
    with workspace.read(path) as connection:
        with Workbench(connection, cases, kernels.neutral(0.0, held)) as bench:
            before = bench.sql(tiles)
        with Workbench(connection, cases, rows) as bench:
            said = bench.predict(("device_s", "host_issue_s")).join(bench.sql(tiles), on=keys)
        extracted = kernels.extract(connection, cases.with_columns(measured_s=pl.lit(1.0)), held)
    said = said.join(before, on=keys, suffix="_before")
    for term in ("naive_s", "cache_s", "reload_s", "reorder_s", "paging_s", "thread_s", "team_s", "gap_s"):
        assert getattr(extracted, term).any(), term
    values = {("*", "*", r, "maximum_fraction"): f for r, f in shares.items()}
    values |= {("*", "*", r, "half_work"): w for r, w in works.items()}
    parameter = fit._by_group(extracted, fit.Fit(values))
    device_s = np.bincount(extracted.case, fit._kernel_time(extracted, parameter), len(extracted.cases))
    found = extracted.cases.select(*keys).with_columns(fitted_s=pl.Series(device_s), host_s=pl.Series(extracted.host_s))
    both = said.join(found, on=keys)
    same = both.filter(pl.col("tiles") == pl.col("tiles_before"))
    places = ["hardware", "backend"]
    assert len(both) == len(cases) and set(same.select(places).rows()) == set(cases.select(places).rows())
    assert same["fitted_s"].to_numpy() == pytest.approx(same["device_s"].to_numpy(), rel=1e-9)


def test_bare_product_is_bounded_by_the_roofline(database: Path) -> None:
    products = pl.DataFrame({"m": [4096.0, 16.0], "n": [4096.0, 4096.0], "k": [4096.0, 4096.0]})
    with workspace.read(database) as connection:
        peak = connection.sql(
            f"SELECT MAX(peak_ops_per_s) FROM hardware_peak WHERE hardware = '{PART}' AND precision = 'bf16'"
        ).fetchall()[0][0]
        found = bare.times(connection, products, [PART], "bf16")
    for row in found.iter_rows(named=True):
        assert row["device_s"] > 2 * row["m"] * row["n"] * row["k"] / peak
