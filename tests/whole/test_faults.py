"""An impossible number makes a part's answers null, whichever client writes it; it never makes the part faster."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

import charz
from charz.schema import catalog, database, ddl, range_rules
from charz.session import CharzWarning
from charz.sql import layers, views

from . import faults


@pytest.fixture(scope="module")
def connection(
    once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connection to a file of three parts, which a plain client may write."""
    path = tmp_path_factory.mktemp("faults") / "copy.duckdb"
    shutil.copy(once("faults.duckdb", faults.make), path)
    with duckdb.connect(str(path), config={"threads": 1}) as opened:
        yield opened


@pytest.fixture(scope="module")
def before(connection: duckdb.DuckDBPyConnection) -> faults.Answers:
    """Answers of the file without a fault."""
    return faults.answers(connection)


def test_shipped_numbers_are_plausible(file: Path) -> None:
    with duckdb.connect(str(file), read_only=True) as opened:
        assert opened.execute("SELECT * FROM impossible_number").fetchall() == []
        assert opened.execute("SELECT * FROM implausible_number").fetchall() == []


TRAINING = {
    "network": ("network_byte_per_s", "network_s", "node_device_count", "network_fraction"),
    "optimizer": ("gradient_byte", "master_byte", "state_byte", "moved_byte", "bandwidth_fraction"),
    "framework": (
        "kernel_factor", "overlap_fraction", "tensor_fraction", "reduce_byte", "attention_factor", "warpgroup_attention_factor",
    ),
    "device_split": (
        "tensor", "pipeline", "interleave", "context", "data", "expert", "micro_batches", "zero_stage", "block_count",
        "adapter_rank",
    ),
}  # fmt: skip


def test_every_number_of_training_is_judged(connection: duckdb.DuckDBPyConnection) -> None:
    """An impossible number is a fault of its own."""
    split = {"split": "s", "framework": "f", "optimizer": "o", "recompute": "none", "is_sequence_parallel": True}
    connection.execute("BEGIN")
    try:
        for kind, quantities in TRAINING.items():
            if kind == "device_split":
                names = ", ".join((*split, *quantities))
                values = ", ".join((*("'s'", "'f'", "'o'", "'none'", "TRUE"), *("1" for _ in quantities)))
                connection.execute(f"INSERT INTO device_split ({names}) VALUES ({values})")
            for quantity in quantities:
                before = connection.execute("SELECT field FROM report_fault").fetchall()
                connection.execute(f"UPDATE {kind} SET {quantity} = -1")
                query = "SELECT DISTINCT is_possible FROM report_fault WHERE kind = ? AND quantity = ?"
                assert connection.execute(query, [kind, quantity]).fetchall() == [(False,)], (kind, quantity)
                assert len(connection.execute("SELECT field FROM report_fault").fetchall()) > len(before)
    finally:
        connection.execute("ROLLBACK")


def test_every_number_of_a_rule_is_judged(connection: duckdb.DuckDBPyConnection) -> None:
    """Numbers missing in both lists are not numbers of a rule, or are numbers of a part."""
    listed = set()
    for layer, relation in ((layers.HARDWARE, "rule_number"), (layers.WORKLOAD, "condition_fault")):
        text = (views.ROOT / layer / f"{relation}.sql").read_text()
        for select in text.split("UNION ALL"):
            kind = re.search(r"'(\w+)' AS kind", select)
            quantities = re.search(r"UNNEST\(\[(.*?)\]\) AS quantity|'(\w+)' AS quantity", select, re.S)
            if kind and quantities:
                listed |= {(kind[1], name) for name in re.findall(r"\w+", quantities[1] or quantities[2])}
    rules = {
        (kind, what) for kind, what in connection.execute("SELECT DISTINCT kind, quantity FROM number_rule").fetchall()
    }
    of_tables = {
        (range_rules.kind(t), c.name)
        for t in database.FACTS
        for c in ddl.columns(t)
        if t.__module__.startswith(catalog.__name__) and c.python_type in (int, float) and "hardware" not in t.model_fields
    }
    assert listed <= rules
    assert of_tables - listed == {
        # Names of rows, and tables that no answer reads.
        ("efficiency", "efficiency_id"), ("tiling_strategy", "candidate"), ("confidence", "rank"), ("energy_fact", "energy_j"),
        ("number_rule", "least"), ("number_rule", "most"), ("number_rule", "plausible_least"), ("number_rule", "plausible_most"),
        ("prediction_band", "part_count"), ("prediction_band", "median_error_fraction"),
        # Time and energy do not depend on them: `report_fault` judges them.
        ("cost_rule", "value"), ("cost_rule", "cheap_value"), ("cost_rule", "dear_value"),
        # Answers at hand do not depend on rules of training: `report_fault` judges them.
        *((kind, quantity) for kind, quantities in TRAINING.items() for quantity in quantities),
    }  # fmt: skip


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
    """Time and energy of every run on the part become null, and no others."""
    connection.execute("BEGIN")
    connection.execute(statement)
    after = faults.answers(connection)
    named = connection.execute("SELECT 1 FROM impossible_number WHERE hardware = 't4'").fetchall()
    connection.execute("ROLLBACK")
    assert {part for part, _ in after if after[part, _][:2] == (None, None)} == {"t4"}
    assert all(row[:2] == (None, None) for (part, _), row in after.items() if part == "t4")
    assert named


ONE_A_TABLE = [
    # Table, column, value and condition of the row; parts and runs whose answers become null.
    ("backend_support", "run_s", "-1", "backend = 'inductor' AND family = 'gpu'", {("t4", 9), ("t4", 13)}),
    ("backend_support", "host_kernel_s", "'nan'::DOUBLE", "backend = 'eager' AND family = 'cpu'", {("i7_13700k", 1)}),
    ("efficiency", "maximum_fraction", "5", "scope = 'family:kpu'", {("kpu_t64", 37)}),
    ("tiling_strategy", "step_k", "0", "family = 'gpu' AND candidate = 0", {("t4", 1), ("t4", 9), ("t4", 13), ("t4", 17)}),
    ("cuda_limit", "registers_per_sm", "-1", "compute_capability = '7.5'", {("t4", 1), ("t4", 9), ("t4", 13), ("t4", 17)}),
    ("silicon_rule", "value", "'nan'::DOUBLE", "silicon_rule = 'kpu_mac_factor'", {("kpu_t64", 37)}),
    ("memory_level", "depth", "-1", "level = 'scratchpad'", {("t4", 1), ("t4", 9), ("t4", 13), ("t4", 17)}),
    ("scenario", "host_factor", "-1", "scenario_id = 9", {("t4", 9), ("i7_13700k", 9)}),
    ("precision", "bits", "0", "precision = 'int8'", {("kpu_t64", 37)}),
    ("library_constant", "value", "-1", "library_constant = 'mapped_block_byte'",
        {("t4", 1), ("t4", 9), ("t4", 13), ("i7_13700k", 1), ("i7_13700k", 9)}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("table", "column", "value", "where", "null"),
    ONE_A_TABLE,
    ids=[f"{table}.{column}" for table, column, *_ in ONE_A_TABLE],
)
def test_a_fault_of_a_rule_leaves_what_rests_on_it_without_an_answer(
    table: str, column: str, value: str, where: str, null: set[tuple[str, int]],
    connection: duckdb.DuckDBPyConnection, before: faults.Answers,
) -> None:  # fmt: skip
    """No other answer changes."""
    connection.execute("BEGIN")
    connection.execute(f"UPDATE {table} SET {column} = {value} WHERE {where}")
    after = faults.answers(connection)
    fields = [field for (field,) in connection.execute("SELECT field FROM impossible_number").fetchall()]
    connection.execute("ROLLBACK")
    assert {key for key in before if after[key][:2] == (None, None)} == null
    assert all(after[key][:3] == pytest.approx(before[key][:3]) for key in before if key not in null)
    assert any(field.startswith(f"{table}.") and field.endswith(f".{column}") for field in fields)


UNITS = [
    ("hardware_cluster", "clock_boost_hz = clock_boost_hz / 1e6", "cluster.sm.clock_boost_hz"),
    ("hardware_power", "tdp_w = tdp_w * 1000", "power.default.tdp_w"),
    ("hardware_memory", "bandwidth_byte_per_s = bandwidth_byte_per_s / 1e9", "memory.dram.bandwidth_byte_per_s"),
]


@pytest.mark.parametrize(("table", "changed", "field"), UNITS, ids=["megahertz", "milliwatt", "gigabyte"])
def test_a_number_off_by_a_unit_is_answered_and_named(
    table: str, changed: str, field: str, connection: duckdb.DuckDBPyConnection
) -> None:
    connection.execute("BEGIN")
    connection.execute(f"UPDATE {table} SET {changed} WHERE hardware = 't4' AND ({table} IS NOT NULL)")
    after = faults.answers(connection)
    listed = connection.execute("SELECT field FROM implausible_number WHERE hardware = 't4'").fetchall()
    connection.execute("ROLLBACK")
    assert (field,) in listed
    assert all(row[0] is not None and field in str(row[3]) for (part, _), row in after.items() if part == "t4")
    assert all(row[3] is None for (part, _), row in after.items() if part != "t4")


def test_no_rule_of_cost_is_wrong_in_silence(connection: duckdb.DuckDBPyConnection) -> None:
    """For one row of each quantity and every value the dollars are null, or the answer names the number."""
    before = faults.costs(connection)
    found = [faults.outcome(connection, fault, before) for fault in faults.faults(connection, "cost_rule")]
    assert len(found) > 200
    assert [str(one.fault) for one in found if one.is_silent] == []
    assert {"null", "faster", "slower"} <= {one.kind for one in found}


def test_a_launch_that_costs_nothing_is_possible_and_named(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("BEGIN")
    connection.execute("UPDATE backend_support SET host_kernel_s = 0 WHERE backend = 'eager' AND family = 'gpu'")
    after = faults.answers(connection)
    connection.execute("ROLLBACK")
    assert after["t4", 1][0] is not None
    assert after["t4", 1][3] == "backend_support.eager.gpu.*.host_kernel_s"
    assert {key for key, row in after.items() if row[3] is not None} == {("t4", 1)}


def test_a_new_part_without_main_memory_is_named(connection: duckdb.DuckDBPyConnection) -> None:
    """The part is inserted without any number of the catalog."""
    connection.execute("BEGIN")
    connection.execute("INSERT INTO hardware SELECT * REPLACE ('own' AS hardware) FROM hardware WHERE hardware = 't4'")
    query = "SELECT field, value, rule FROM impossible_number WHERE hardware = 'own' ORDER BY field"
    found = connection.execute(query).fetchall()
    connection.execute("ROLLBACK")
    assert found == [
        ("cluster.*.unit_count", None, "every part needs one"),
        ("memory.dram.bandwidth_byte_per_s", None, "every part needs one"),
    ]


def test_commands_say_why_there_is_no_answer(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.duckdb"
    shutil.copy(file, path)
    with duckdb.connect(str(path)) as opened:
        opened.execute("UPDATE hardware_memory SET bandwidth_byte_per_s = -1 WHERE hardware = 't4' AND level = 'l2'")
    line = "t4 has no answer: memory.l2.bandwidth_byte_per_s = -1 \\(a number from 1e-30 to 1e\\+30\\)"
    with charz.open(path) as db, pytest.warns(CharzWarning, match=line):
        report = db.report("small", on="t4")
    assert report["latency_s"][0] is None and report["energy_j"][0] is None and report["bottleneck"][0] is None


def test_commands_name_an_implausible_number(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.duckdb"
    shutil.copy(file, path)
    with duckdb.connect(str(path)) as opened:
        opened.execute("UPDATE hardware_power SET tdp_w = 1000 * tdp_w WHERE hardware = 't4'")
    line = "t4 uses an implausible value: power.default.tdp_w = 70000 \\(expected 1.0 to 2000.0\\)"
    with charz.open(path) as db, pytest.warns(CharzWarning, match=line):
        report = db.report("small", on="t4")
    assert report["latency_s"][0] > 0


@pytest.mark.slow
@pytest.mark.broad
def test_no_fault_is_answered_in_silence(connection: duckdb.DuckDBPyConnection, before: faults.Answers) -> None:
    """Every value is tried in every numeric column of every table."""
    told = before | faults.costs(connection)
    silent = [str(f) for f in faults.faults(connection) if faults.outcome(connection, f, told).is_silent]
    assert silent == []


@pytest.mark.parametrize(
    ("statement", "query"),
    [
        ("UPDATE price SET price_usd_per_hour = -1 WHERE hardware = 't4'", "SELECT sample_usd FROM target_cost"),
        (
            "UPDATE hardware_interconnect SET bandwidth_byte_per_s = 'inf'::DOUBLE WHERE hardware = 't4'",
            "SELECT latency_s FROM parallel_plan",
        ),
        ("UPDATE collective SET bandwidth_fraction = 2", "SELECT latency_s FROM parallel_plan"),
        ("UPDATE architectural_modifier SET modifier = 'nan'::DOUBLE", "SELECT edp_js FROM operator_edp"),
        ("UPDATE prediction_band SET low_factor = -1", "SELECT p10_s FROM model_latency"),
    ],
    ids=["price", "link", "collective", "modifier", "band"],
)
def test_a_number_that_cannot_be_leaves_what_rests_on_it_null(
    statement: str, query: str, connection: duckdb.DuckDBPyConnection, before: faults.Answers
) -> None:
    """Time and energy of one part stay. Without the bandwidth of a link its area and its leakage are unknown."""
    several = " AND device_count = 2 AND strategy = 'tensor'" if "parallel" in query else ""
    rows = f"{query} WHERE model = 'small' AND hardware = 't4' AND batch = 1{several}"
    stated = connection.execute(rows).fetchall()
    connection.execute("BEGIN")
    connection.execute(statement)
    after, still = connection.execute(rows).fetchall(), faults.answers(connection)
    connection.execute("ROLLBACK")
    assert any(value is not None for (value,) in stated)
    assert len(after) == len(stated) and all(value is None for (value,) in after)
    assert still.keys() == before.keys()
    for key, (latency_s, energy_j, *others) in before.items():
        # Without its bandwidth the area of a link is unknown, and so is its leakage.
        nearness = 0.05 if "interconnect" in statement and key[0] == "t4" else None
        assert still[key][0] == pytest.approx(latency_s)  # sums may be in another order
        assert still[key][1] == (energy_j if energy_j is None else pytest.approx(energy_j, rel=nearness))
        memory_byte, implausible = others
        assert still[key][2] == pytest.approx(memory_byte)
        assert still[key][3] == ("interconnect.pcie.bandwidth_byte_per_s" if nearness else implausible)
