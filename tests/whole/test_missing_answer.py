"""Every part has either an answer for every model or a reason for its absence."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import charz
from charz.schema import database
from charz.session import opened as base
from charz.sql import maintain

UNREACHED = (
    "aic100", "cerebras_wse3", "coral_edge_tpu", "gaudi2", "gaudi3", "groq_lpu_v1", "hailo8", "hexagon698", "tpu_v1",
    "trainium2",
)  # fmt: skip
"""Parts for which no shipped scenario has a backend and a precision."""
OWN = "my_npu"
PART = "aic100"
"""Accelerator that answers for all three models."""


@pytest.fixture(scope="module")
def own_npu(every_part: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File of the three generated models, and a part from the unchanged template."""
    folder = tmp_path_factory.mktemp("npu")
    path = folder / "npu.duckdb"
    shutil.copy(every_part, path)
    with charz.open(path) as db, pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "FILLED_U", 0.0)  # answers at hand are not needed here
        db.hardware.template("npu", id=OWN, out=folder / "npu.yaml")
        db.hardware.add(folder / "npu.yaml")
    return path


@pytest.fixture(scope="module")
def few(own_npu: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same file with only the parts that more than one test uses."""
    path = Path(shutil.copy(own_npu, tmp_path_factory.mktemp("few") / "few.duckdb"))
    with duckdb.connect(str(path), config={"threads": 1}) as opened:
        opened.begin()
        with maintain.bulk(opened):
            for row_type in database.TABLES:
                if "hardware" in row_type.model_fields:
                    opened.execute(f"DELETE FROM {row_type.TABLE} WHERE hardware NOT IN {(*UNREACHED, OWN, 't4', 'tpu_v4')}")
        opened.commit()
    return path


@pytest.fixture(scope="module")
def opened(few: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A plain client."""
    with duckdb.connect(str(few), config={"threads": 1}) as made:
        yield made


@pytest.fixture
def connection(opened: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connection whose changes are rolled back after the test."""
    opened.begin()
    yield opened
    opened.rollback()


def asked(connection: duckdb.DuckDBPyConnection, *hardware: str) -> list[tuple[str, str, bool, bool]]:
    """Return model, part, a flag for a time under any stored scenario, and a flag for a reason."""
    query = """
        WITH times AS (
            SELECT model, hardware, COUNT(latency_s) > 0 AS is_answered FROM model_report WHERE hardware IN (SELECT UNNEST($1))
            GROUP BY model, hardware
        ),
        reasons AS (SELECT * FROM missing_answer WHERE hardware IN (SELECT UNNEST($1)))
        SELECT
            m.model, h.hardware, COALESCE(t.is_answered, FALSE),
            EXISTS (SELECT 1 FROM reasons AS r WHERE r.hardware = h.hardware AND r.model IN ('*', m.model))
        FROM model AS m CROSS JOIN hardware AS h
        LEFT JOIN times AS t ON t.model = m.model AND t.hardware = h.hardware
        WHERE h.hardware IN (SELECT UNNEST($1)) ORDER BY ALL
    """
    return connection.execute(query, [list(hardware)]).fetchall()


def test_every_target_has_a_time_or_a_reason(own_npu: Path) -> None:
    """Return the answers by part, backend and precision, for all parts."""
    with duckdb.connect(str(own_npu), read_only=True) as connection:
        every_target_has_one(connection)


def every_target_has_one(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "CREATE TEMP TABLE target AS SELECT model, hardware, backend, precision, COUNT(latency_s) AS times, COUNT(*) AS runs"
        " FROM model_report GROUP BY ALL"
    )
    explained = (
        "SELECT t.* FROM target AS t SEMI JOIN missing_answer AS r ON r.hardware = t.hardware AND r.model IN ('*', t.model)"
        " AND r.backend IN ('*', t.backend) AND r.precision IN ('*', t.precision)"
    )
    silent = connection.execute("SELECT * FROM target WHERE times = 0 ORDER BY ALL").fetchall()
    assert connection.execute(f"{explained} ORDER BY ALL").fetchall() == silent
    assert len(silent) < 60
    assert connection.execute("SELECT COUNT(*) FROM target WHERE times NOT IN (0, runs)").fetchall() == [(0,)]
    every = connection.execute("SELECT COUNT(*) FROM hardware").fetchall()
    assert connection.execute("SELECT COUNT(DISTINCT hardware) FROM target").fetchall() == every
    assert connection.execute("SELECT * FROM part_lack").fetchall() == []


def test_parts_that_no_scenario_named_answer_or_say_why(connection: duckdb.DuckDBPyConnection) -> None:
    found = asked(connection, *UNREACHED, OWN)
    assert [row[:2] for row in found] == [(m, p) for m in ("decoder", "other", "small") for p in sorted((*UNREACHED, OWN))]
    assert all(is_answered != is_explained for *_, is_answered, is_explained in found)


LACKS = {
    "scenario": (
        "DELETE FROM scenario WHERE backend = 'onnxruntime'",
        "no stored scenario names a backend and a precision that it computes in",
        "`charz scenario add --backend onnxruntime --precision fp16`",
    ),
    "backend": (
        "DELETE FROM backend_support WHERE family = 'npu'",
        "no backend runs the family npu of the maker qualcomm",
        "add a row to backend_support",
    ),
    "rate": (
        "DELETE FROM hardware_peak WHERE hardware = 'aic100'",
        "it has no peak in a precision that a policy computes in",
        "state a peak in fp32, fp16, bf16 or int8 (hardware_peak)",
    ),
    "tile": (
        "DELETE FROM tiling_strategy WHERE family = 'npu'",
        "its family npu cuts no tiles that its units compute",
        "add a row to tiling_strategy",
    ),
    "family": (
        "DELETE FROM hardware_family WHERE family = 'npu'",
        "its family npu is unknown",
        "add the family to hardware_family",
    ),
    "number": (
        "UPDATE hardware_memory SET bandwidth_byte_per_s = -1 WHERE hardware = 'aic100'",
        "an impossible number: memory.dram.bandwidth_byte_per_s: a number from ",
        "correct it: SELECT * FROM part_fault WHERE hardware = 'aic100'",
    ),
    "efficiency": (
        "DELETE FROM efficiency WHERE resource = 'memory' AND scope IN ('*', 'family:npu')",
        "no efficiency of memory applies under onnxruntime",
        "add a row to efficiency",
    ),
}
"""Statements that delete something of the part, with the reason and the remedy."""


@pytest.fixture(scope="module")
def as_shipped(opened: duckdb.DuckDBPyConnection) -> list[tuple[str, str, bool, bool]]:
    """Answers of the part before a deletion."""
    return asked(opened, PART)


@pytest.mark.parametrize("lack", LACKS)
def test_what_a_part_lacks_is_said_and_is_why(
    as_shipped: list[tuple[str, str, bool, bool]], connection: duckdb.DuckDBPyConnection, lack: str
) -> None:
    statement, reason, remedy = LACKS[lack]
    assert all((is_answered, is_explained) == (True, False) for *_, is_answered, is_explained in as_shipped)
    connection.execute(statement)
    said = "SELECT reason, next FROM part_lack WHERE hardware = ? AND lack = ? AND backend IN ('*', 'onnxruntime')"
    ((found, following),) = connection.execute(said, [PART, lack]).fetchall()
    assert (found[: len(reason)], following) == (reason, remedy)
    assert all(
        (is_answered, is_explained) == (False, True) for *_, is_answered, is_explained in asked(connection, PART)
    )


def test_the_remedy_of_a_missing_scenario_helps(few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "FILLED_U", 0.0)
    path = Path(shutil.copy(few, tmp_path / "npu.duckdb"))
    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM scenario WHERE backend = 'onnxruntime'")
    with charz.open(path) as db:
        db.scenario.add(backend="onnxruntime", precision="fp16")
    with duckdb.connect(str(path)) as connection:
        assert all(is_answered for *_, is_answered, _ in asked(connection, PART))


def test_missing_energies_are_said_and_leave_the_time(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("DELETE FROM silicon_rule WHERE quantity = 'dram_pj_per_byte'")
    query = "SELECT reason FROM part_lack WHERE hardware = 'aic100' AND lack = 'energy'"
    assert connection.execute(query).fetchall() == [("neither the part nor a rule gives energy.byte.dram",)]
    report = "SELECT COUNT(latency_s) > 0, COUNT(energy_j) FROM model_report WHERE hardware = 'aic100'"
    assert connection.execute(report).fetchall() == [(True, 0)]


def test_a_model_that_no_scenario_fits_is_said(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("UPDATE model SET is_batch_symbolic = FALSE, default_batch = 3 WHERE model = 'small'")
    query = "SELECT reason, next FROM missing_answer WHERE model = 'small' AND hardware = 't4'"
    ((reason, remedy),) = connection.execute(query).fetchall()
    assert reason.startswith("no stored scenario of the part is valid for the model")
    assert remedy.startswith("add one with `charz scenario add --batch 3`")
    assert asked(connection, "t4")[-1] == ("small", "t4", False, True)


def test_a_power_mode_that_a_part_has_not_is_said(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("UPDATE scenario SET power = 'maxn' WHERE backend LIKE 'xla%'")
    query = "SELECT reason FROM missing_answer WHERE model = 'small' AND hardware = 'tpu_v4'"
    assert set(connection.execute(query).fetchall()) == {("the part has no power mode maxn",)}
    assert {row[2:] for row in asked(connection, "tpu_v4")} == {(False, True)}


def test_a_step_without_a_rate_takes_no_time_for_nothing(connection: duckdb.DuckDBPyConnection) -> None:
    """A normalization in fp16 runs on a part with only int8 and without integer approximations, in its own kernel or that of a
    product."""
    connection.execute("UPDATE precision SET integer_stand_in = NULL")
    query = """
        SELECT DISTINCT t.is_product, c.latency_s FROM shape_step AS t
        INNER JOIN model_report AS c ON c.model = t.run.model AND c.scenario_id = t.run.scenario_id AND c.hardware = 'my_npu'
        LEFT JOIN part_rate AS r
            ON r.hardware = c.hardware AND r.backend = t.run.backend AND r.compute_precision = t.compute_precision
        WHERE r.hardware IS NULL ORDER BY ALL
    """
    assert connection.execute(query).fetchall() == [(False, None)]
