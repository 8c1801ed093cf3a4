"""A number that cannot be makes a part's answers null, by whichever client it comes; it never makes the part faster."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import charz
from charz.session import CharzWarning

from . import faults

IRRELEVANT = ("hardware_interconnect", "price")
"""Tables that one part's time and energy do not rest on."""

UNREAD = ("derived_ops_per_s", "hardware_overhead", "energy_profile")
"""The product that a stated peak was stated beside, and tables of which the part may have no row."""

RULED = {("hardware_peak", "NULL"), ("energy_profile", "row deleted")}
"""Numbers that a rule gives where none is stated: null, or the row's deletion, hands them to the rule."""

ZEROS = ("idle_w", "overhead_s", "latency_s")
"""Numbers that may be zero."""


@pytest.fixture(scope="module")
def connection(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A copy of the file that a plain client may write."""
    path = tmp_path_factory.mktemp("faults") / "copy.duckdb"
    shutil.copy(file, path)
    with duckdb.connect(str(path)) as opened:
        yield opened


def test_shipped_parts_have_no_fault(connection: duckdb.DuckDBPyConnection) -> None:
    assert connection.execute("SELECT * FROM impossible_number").fetchall() == []


SAMPLE = {
    "UPDATE hardware_memory SET bandwidth_byte_per_s = NULL WHERE hardware = 't4' AND level = 'dram'",
    "UPDATE hardware_memory SET bandwidth_byte_per_s = 0 WHERE hardware = 't4' AND level = 'l2'",
    "UPDATE hardware_memory SET bandwidth_byte_per_s = 'nan'::DOUBLE WHERE hardware = 't4' AND level = 'dram'",
    "UPDATE hardware_memory SET capacity_byte = -1 WHERE hardware = 't4' AND level = 'l2'",
    "UPDATE hardware_peak SET ops_per_clock_per_unit = 'nan'::DOUBLE WHERE hardware = 't4'",
    "UPDATE derivation_rule SET value = 'nan'::DOUBLE WHERE derivation_rule = 'gpu_l2'",
    "UPDATE hardware_peak SET peak_ops_per_s = 'inf'::DOUBLE WHERE hardware = 't4'",
    "UPDATE hardware_cluster SET clock_boost_hz = 1e308 WHERE hardware = 't4'",
    "UPDATE hardware_cluster SET unit_count = 0 WHERE hardware = 't4'",
    "INSERT INTO energy_profile SELECT * EXCLUDE (is_stated) REPLACE (0 AS value) FROM part_energy"
    " WHERE hardware = 't4' AND what = 'static'",
    "DELETE FROM hardware_power WHERE hardware = 't4'",
    "DELETE FROM derivation_rule WHERE derivation_rule = 'gpu_kernel_gap'",
    "DELETE FROM hardware_memory WHERE hardware = 't4'",
}


@pytest.mark.parametrize("statement", sorted(SAMPLE))
def test_a_fault_makes_answers_null_and_is_named(statement: str, connection: duckdb.DuckDBPyConnection) -> None:
    found = faults.outcome(connection, faults.Fault("t4", "", "", statement), faults.answers(connection, "t4"))
    assert (found.kind, found.is_named) == ("null", True)


def test_a_new_part_without_main_memory_is_named(connection: duckdb.DuckDBPyConnection) -> None:
    """A part by `INSERT`, of which the catalog states nothing."""
    connection.execute("BEGIN")
    connection.execute("INSERT INTO hardware SELECT * REPLACE ('own' AS hardware) FROM hardware WHERE hardware = 't4'")
    query = "SELECT field, value, rule FROM impossible_number WHERE hardware = 'own' ORDER BY field"
    found = connection.execute(query).fetchall()
    connection.execute("ROLLBACK")
    assert found == [
        ("cluster.*.unit_count", None, "a part is not without it"),
        ("memory.dram.bandwidth_byte_per_s", None, "a part is not without it"),
    ]


def test_commands_say_why_there_is_no_answer(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.duckdb"
    shutil.copy(file, path)
    with duckdb.connect(str(path)) as opened:
        opened.execute("UPDATE hardware_memory SET bandwidth_byte_per_s = -1 WHERE hardware = 't4' AND level = 'l2'")
    line = "t4 has no answer: memory.l2.bandwidth_byte_per_s is -1, a number from 1e-30 to 1e\\+30"
    with charz.open(path) as db, pytest.warns(CharzWarning, match=line):
        report = db.report("small", on="t4")
    assert report["latency_s"][0] is None and report["energy_j"][0] is None and report["bottleneck"][0] is None


@pytest.mark.broad
@pytest.mark.parametrize("part", ["t4", "kpu_t64", "i7_13700k"])
def test_no_fault_makes_a_part_faster(part: str, connection: duckdb.DuckDBPyConnection) -> None:
    before = faults.answers(connection, part)
    wrong = []
    for fault in faults.faults(connection, part):
        found = faults.outcome(connection, fault, before)
        is_unread = fault.what.startswith(IRRELEVANT) or fault.what.endswith(UNREAD)
        is_harmless = is_unread and math.isclose(found.least_ratio, 1.0, rel_tol=1e-12)
        is_ruled = (fault.what.split(".")[0], fault.value) in RULED and found.least_ratio > 0.999
        is_possible = is_ruled or (fault.value == "0" and fault.what.endswith(ZEROS))
        is_caught = found.kind in ("null", "gone", "refused") and found.is_named
        if not (is_caught or is_harmless or is_possible):
            wrong.append((fault.what, fault.value, found.kind, found.least_ratio))
    assert wrong == []


@pytest.mark.parametrize(
    ("statement", "query"),
    [
        ("UPDATE price SET price_usd_per_hour = -1 WHERE hardware = 't4'", "SELECT sample_usd FROM target_cost"),
        (
            "UPDATE hardware_interconnect SET bandwidth_byte_per_s = 'inf'::DOUBLE WHERE hardware = 't4'",
            "SELECT latency_s FROM parallel_plan",
        ),
    ],
    ids=["price", "link"],
)
def test_a_price_or_link_that_cannot_be_leaves_what_rests_on_it_null(
    statement: str, query: str, connection: duckdb.DuckDBPyConnection
) -> None:
    """Time and energy of one part do not."""
    several = " AND device_count = 2 AND strategy = 'tensor'" if "parallel" in query else ""
    rows = f"{query} WHERE model = 'small' AND hardware = 't4' AND batch = 1{several}"
    before = connection.execute(rows).fetchall()
    times = faults.answers(connection, "t4")
    connection.execute("BEGIN")
    connection.execute(statement)
    after, still = connection.execute(rows).fetchall(), faults.answers(connection, "t4")
    connection.execute("ROLLBACK")
    assert any(value is not None for (value,) in before)
    assert len(after) == len(before) and all(value is None for (value,) in after)
    assert still.keys() == times.keys()
    assert all(still[key] == pytest.approx(times[key]) for key in times)  # sums may come in another order
