"""Maintained tables stay equal to their views whatever a plain DuckDB client writes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from charz.schema import database
from charz.sql import maintain, triggers

FACTS = (
    "architectural_modifier", "backend", "backend_support", "collective", "confidence", "cuda_limit", "derivation_basis", "derivation_rule", "device_context",
    "efficiency", "energy_profile", "engine_version", "silicon_rule", "fusion_rule", "hardware", "hardware_cluster", "hardware_family", "hardware_interconnect",
    "hardware_memory", "hardware_mesh", "hardware_overhead", "hardware_peak", "hardware_power", "hardware_provenance", "library_constant",
    "list_price", "memory_level", "model", "number_rule", "operator_class", "power_range", "precision", "precision_policy", "prediction_band", "price",
    "expert_skew", "scenario", "shipped_part", "tiling_strategy", "usual_host",
)  # fmt: skip
"""Tables whose changes affect a maintained table."""


def opened(path: Path) -> duckdb.DuckDBPyConnection:
    """Open a connection without charz."""
    return duckdb.connect(str(path), config={"threads": 1})


def kept_rows(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Hash the content of each maintained table."""
    tables = connection.execute("SELECT view FROM view_catalog WHERE kind = 'table'").fetchall()
    return {
        name: connection.execute(f"SELECT COALESCE(SUM(hash(t)::HUGEINT), 0) FROM {name} AS t").fetchall()[0][0]
        for (name,) in tables
    }


@pytest.mark.default
def test_every_fact_that_is_read_has_triggers(small: Path) -> None:
    with opened(small) as connection:
        tables = {trigger.table for trigger in triggers.expected(connection)}
        kept = {f"main.{name}" for name in kept_rows(connection)}
        assert tables == {f"main.{fact}" for fact in FACTS} | kept | {triggers.PARTS.table, triggers.RUNS.table}
        assert triggers.missing(connection) == []
        assert maintain.differences(connection) == {}


def row_type(table: str) -> type:
    return next(t for t in database.TABLES if table == t.TABLE)


def changes(table: str) -> list[str]:
    """Write statements that change every number and word of some rows, add a row and remove one."""
    kind = row_type(table)
    values = []
    for column, info in kind.model_fields.items():
        hint = str(info.annotation)
        if column in kind.KEY or column in ("origin", "note", "source_id"):
            continue
        if "bool" in hint:
            values.append(f"{column} = NOT {column}")
        elif "str" in hint:
            values.append(f"{column} = (SELECT MAX({column}) FROM {table})")
        elif "datetime" not in hint:
            values.append(f"{column} = {column} * 2")
    key = next(name for name in reversed(kind.KEY) if kind.model_fields[name].annotation is not bool)
    renamed = f"{key} || '_2'" if kind.model_fields[key].annotation is str else f"{key} + 1000"
    fresh = {"efficiency": ", efficiency_id + 100000 AS efficiency_id", "scenario": ", batch + 1000 AS batch"}.get(table, "")
    if table == "scenario":  # two rows of the same conditions are refused
        values[values.index("batch = batch * 2")] = "batch = batch * 2 + 1000 * scenario_id"
    return [
        f"UPDATE {table} SET {', '.join(values)} WHERE rowid % 3 = 0",
        # Ingest inserts a model with all its rows.
        f"INSERT INTO {table} SELECT * REPLACE ({renamed} AS {key}{fresh}) FROM {table} LIMIT {3 if table != 'model' else 0}",
        f"DELETE FROM {table} WHERE rowid = (SELECT MAX(rowid) FROM {table})",
    ]


AT_ONCE = (("hardware_memory",), ("efficiency",), ("library_constant", "scenario"), ("model",))
"""A fact for each scope of changes: a part, parts that borrow from it, all runs, runs of a model."""
OTHERS = [fact for fact in FACTS if not any(fact in facts for facts in AT_ONCE)]


@pytest.mark.costly("three triggers, each of which evaluates the tables of parts")
@pytest.mark.parametrize(
    "tables",
    [pytest.param(t, marks=pytest.mark.default) if t[0] in ("hardware_memory", "model") else t for t in AT_ONCE],
    ids=lambda tables: tables[-1],
)
def test_a_change_of_a_fact_reaches_what_is_kept(small: Path, tables: tuple[str, ...]) -> None:
    with opened(small) as connection:
        for statement in (statement for table in tables for statement in changes(table)):
            connection.execute(statement)
        assert maintain.differences(connection) == {}


@pytest.mark.slow("evaluates all tables after each of three statements on each fact")
@pytest.mark.parametrize("tables", [tuple(OTHERS[i : i + 8]) for i in range(0, len(OTHERS), 8)], ids=lambda t: t[-1])
def test_a_change_of_any_other_fact_does_too(small: Path, tables: tuple[str, ...]) -> None:
    test_a_change_of_a_fact_reaches_what_is_kept(small, tables)


EDITS = (
    "UPDATE hardware_cluster SET clock_boost_hz = 2 * clock_boost_hz, unit_count = 3 * unit_count WHERE hardware = ?",
    "UPDATE hardware_peak SET peak_ops_per_s = 2 * peak_ops_per_s WHERE hardware = ?",
    "UPDATE hardware_memory SET bandwidth_byte_per_s = 5 * bandwidth_byte_per_s WHERE hardware = ?",
    "UPDATE hardware_power SET tdp_w = tdp_w / 2 WHERE hardware = ?",
    "UPDATE hardware_overhead SET overhead_s = 2 * overhead_s WHERE hardware = ?",
    "UPDATE hardware SET architecture = 'another die', process_nm = 7 WHERE hardware = ?",
    "UPDATE hardware_provenance SET confidence = 'assumed' WHERE hardware = ?",
    "DELETE FROM hardware_peak WHERE hardware = ?",
    "DELETE FROM hardware_memory WHERE hardware = ?",
    "DELETE FROM hardware WHERE hardware = ?",
)


@pytest.mark.parametrize("part", [pytest.param("l40s", marks=pytest.mark.slow("the other of two siblings")), "rtx4090"])
def test_an_edit_of_one_part_leaves_the_rows_of_all_others_in_place(small: Path, part: str) -> None:
    """Two siblings lend each other efficiencies, and keep doing so when either is edited."""
    with opened(small) as connection:
        # A checkpoint in between would move rows to the places of deleted ones.
        connection.execute("SET checkpoint_threshold = '1TB'")
        lend_each_other(connection)
        connection.execute(f"DELETE FROM {triggers.PARTS.table}")
        before = rows_in_place(connection, part)
        assert [name for name, rows in before.items() if not rows] == ["part_fault"]
        for edit in EDITS:
            connection.execute(edit, [part])
            assert rows_in_place(connection, part) == before, edit
        assert connection.execute(f"SELECT DISTINCT hardware FROM {triggers.PARTS.table}").fetchall() == [(part,)]
        assert connection.execute("SELECT COUNT(*) FROM part WHERE hardware = ?", [part]).fetchall() == [(0,)]
        assert maintain.differences(connection) == {}


def lend_each_other(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the two siblings equal as shipped, so that one lends rows of eager, the other rows of all backends."""
    connection.execute("UPDATE shipped_part SET unit_ops_per_s = 1e12 WHERE hardware IN ('rtx4090', 'l40s')")
    lent = connection.execute("SELECT hardware, backend, lender FROM lending_part ORDER BY hardware").fetchall()
    assert lent == [("l40s", "eager", "rtx4090"), ("rtx4090", "*", "l40s")]


def rows_in_place(connection: duckdb.DuckDBPyConnection, changed: str) -> dict[str, list[tuple[int, int]]]:
    """Return the rows of every maintained table of parts, except one part's, by place and content."""
    query = (
        "SELECT DISTINCT v.view FROM view_catalog AS v INNER JOIN duckdb_columns() AS c ON c.table_name = v.view"
        " WHERE v.kind = 'table' AND c.schema_name = 'main' AND c.column_name = 'hardware'"
    )
    return {
        name: connection.execute(f"SELECT rowid, hash(t) FROM {name} AS t WHERE hardware <> ?", [changed]).fetchall()
        for (name,) in connection.execute(query).fetchall()
    }


def test_a_row_learned_of_one_part_reaches_those_that_borrow_from_it(small: Path) -> None:
    with opened(small) as connection:
        lend_each_other(connection)
        query = "SELECT hardware, SUM(hash(t)::HUGEINT) FROM chain_efficiency AS t JOIN part_backend USING (efficiency_chain) GROUP BY hardware"
        before = dict(connection.execute(query).fetchall())
        connection.execute(
            "UPDATE efficiency SET maximum_fraction = maximum_fraction / 2 WHERE scope = 'hardware:rtx4090'"
        )
        after = dict(connection.execute(query).fetchall())
        assert {part for part in after if after[part] != before[part]} == {"rtx4090", "l40s"}
        assert maintain.differences(connection) == {}


def test_a_value_no_part_had_reaches_all_parts(small: Path) -> None:
    """A row of one part for a new operator adds a row of that operator for every part."""
    with opened(small) as connection:
        connection.execute(
            "INSERT INTO efficiency SELECT * REPLACE (2000000 AS efficiency_id, 'hardware:tpu_v4' AS scope,"
            " 'norm' AS kernel_class, 'aten.new' AS operator_name) FROM efficiency LIMIT 1"
        )
        query = "SELECT COUNT(DISTINCT hardware) FROM chain_efficiency JOIN part_backend USING (efficiency_chain) WHERE operator_name = 'aten.new'"
        assert connection.execute(query).fetchall() == [(5,)]
        assert maintain.differences(connection) == {}


def test_rows_copied_from_a_file_count(small: Path, tmp_path: Path) -> None:
    with opened(small) as connection:
        connection.execute(
            "COPY (SELECT * REPLACE ('l3' AS level, 1e9 AS capacity_byte, 'chip' AS scope) FROM hardware_memory"
            f" WHERE hardware = 'rtx4090' AND level = 'dram') TO '{tmp_path}/memory.csv'"
        )
        connection.execute(f"COPY hardware_memory FROM '{tmp_path}/memory.csv'")
        assert connection.execute("SELECT cache_byte FROM part WHERE hardware = 'rtx4090'").fetchall() == [(1e9,)]
        assert maintain.differences(connection) == {}


@pytest.mark.default
def test_a_scenario_is_there_as_soon_as_its_row(small: Path) -> None:
    with opened(small) as connection:
        connection.execute(
            "INSERT INTO scenario SELECT * REPLACE (99 AS scenario_id, 33 AS batch) FROM scenario LIMIT 1"
        )
        query = "SELECT DISTINCT run.model, run.batch FROM shape_step WHERE run.scenario_id = 99 ORDER BY run.model"
        assert connection.execute(query).fetchall() == [("narrow", 33), ("wide", 33)]
        connection.execute("DELETE FROM scenario WHERE scenario_id = 99")
        assert connection.execute(query).fetchall() == []


def test_an_efficiency_needs_no_number(small: Path) -> None:
    """An INSERT states scope, resource and share. A sequence gives the number, and the next answer takes the share."""
    with opened(small) as connection:
        insert = "INSERT INTO efficiency (scope, resource, maximum_fraction) VALUES ('hardware:t4', ?, ?) RETURNING efficiency_id"
        numbers = [connection.execute(insert, [resource, 0.5]).fetchall()[0][0] for resource in ("overlap", "residency")]
        assert numbers[0] >= 2_000_000 and numbers[1] == numbers[0] + 1
        row = "SELECT backend, kernel_class, half_work, source_id, confidence FROM efficiency WHERE efficiency_id = ?"
        assert connection.execute(row, [numbers[0]]).fetchall() == [("*", "*", 0.0, "assumption", "assumed")]
        assert maintain.differences(connection) == {}


@pytest.mark.default
def test_a_scenario_that_no_run_can_have_is_refused(small: Path) -> None:
    """Each fault is named, also of a row after a valid one, and nothing is written; an eager scenario of batch 33 is inserted once."""
    insert = "INSERT INTO scenario (batch, precision, backend) VALUES "
    told = {
        "(0, 'fp32', 'eager')": "scenario: batch 0 is not possible: write 1 or more",
        "(5, 'fp32', 'eager'), (-3, 'fp32', 'eager')": "scenario: batch -3 is not possible",
        "(5, 'fp17', 'eager')": "scenario: unknown precision fp17: SELECT policy FROM precision_policy lists them",
        "(5, 'fp32', 'nosuch')": "scenario: unknown backend nosuch",
        "(6, 'fp32', 'eager'), (6, 'fp32', 'eager')": "scenario: the scenario exists already, as scenario_id 100000",
    }
    with opened(small) as connection:
        before = connection.execute("SELECT COUNT(*) FROM scenario").fetchall()
        for rows, message in told.items():
            with pytest.raises(duckdb.Error, match=message):
                connection.execute(insert + rows)
        with pytest.raises(duckdb.Error, match="scenario: unknown phase backward: write one of forward, prefill, decode"):
            connection.execute("INSERT INTO scenario (batch, precision, backend, phase) VALUES (5, 'fp32', 'eager', 'backward')")
        assert connection.execute("SELECT COUNT(*) FROM scenario").fetchall() == before
        connection.execute(insert + "(33, 'fp32', 'eager')")
        with pytest.raises(duckdb.Error, match="the scenario exists already"):
            connection.execute(insert + "(33, 'fp32', 'eager')")
        connection.execute("INSERT INTO scenario (batch, precision, backend, memory_format) VALUES (33, 'fp32', 'eager', 'nhwc')")
        assert connection.execute("SELECT COUNT(*) FROM scenario WHERE batch = 33").fetchall() == [(2,)]
        changes = {
            "batch = 0": "batch 0 is not possible", "backend = 'nosuch'": "unknown backend nosuch", "memory_format = 'nchw'": "the scenario exists already",
        }  # fmt: skip
        for change, message in changes.items():
            with pytest.raises(duckdb.Error, match=f"scenario: {message}"):
                connection.execute(f"UPDATE scenario SET {change} WHERE batch = 33 AND memory_format = 'nhwc'")
        assert connection.execute("SELECT COUNT(*) FROM scenario WHERE batch = 33").fetchall() == [(2,)]
        with pytest.raises(duckdb.Error, match="the scenario exists already"):  # two rows that become equal
            connection.execute("UPDATE scenario SET batch = 35, memory_format = 'nchw' WHERE batch = 33")
        connection.execute("UPDATE scenario SET batch = 34 WHERE batch = 33 AND memory_format = 'nhwc'")
        query = "SELECT DISTINCT run.batch FROM shape WHERE run.batch IN (33, 34) ORDER BY ALL"
        assert connection.execute(query).fetchall() == [(33,), (34,)]
        assert maintain.differences(connection) == {}


NAMED = {
    "part": "hardware_cluster", "part_area": "hardware_cluster", "arithmetic_rate": "hardware_peak", "part_energy": "energy_profile",
    "part_support": "hardware_power",
    "traced_number": "hardware_provenance", "assumed_input": "price", "part_fault": "hardware_memory", "arithmetic_tile": "hardware_peak",
    "chain_efficiency": "efficiency", "part_backend": "backend_support", "part_band": "prediction_band", "efficiency_operator": "efficiency",
    "efficiency_precision": "efficiency", "run": "scenario", "run_kernel": "scenario", "shape": "scenario",
    "shape_step": "scenario", "run_memory": "scenario",
}  # fmt: skip
"""A fact to change instead of each maintained table."""


@pytest.mark.default
def test_a_write_that_would_have_no_effect_is_refused(small: Path, tmp_path: Path) -> None:
    with opened(small) as connection:
        before = kept_rows(connection)
        assert NAMED.keys() <= before.keys()
        for table in before:
            column = connection.execute(f"SELECT * FROM {table} LIMIT 1").description[0][0]
            connection.execute(f"COPY (SELECT * FROM {table} LIMIT 1) TO '{tmp_path}/row.parquet'")
            for statement in (
                f"UPDATE {table} SET {column} = {column}",
                f"INSERT INTO {table} SELECT * FROM {table} LIMIT 1",
                f"DELETE FROM {table}",
                f"COPY {table} FROM '{tmp_path}/row.parquet'",
            ):
                with pytest.raises(duckdb.InvalidInputException, match=f"{table} is computed.*no effect") as refused:
                    connection.execute(statement)
                assert NAMED.get(table, "") in str(refused.value)
        assert kept_rows(connection) == before
        connection.execute("UPDATE hardware_power SET tdp_w = 1 WHERE hardware = 'tpu_v4'")
        assert kept_rows(connection) != before and maintain.differences(connection) == {}


def test_a_refusal_ends_with_its_transaction_and_lets_facts_be(small: Path) -> None:
    with opened(small) as connection:
        before = kept_rows(connection)
        connection.begin()
        connection.execute("UPDATE hardware_power SET tdp_w = 1 WHERE hardware = 'tpu_v4'")
        with pytest.raises(duckdb.InvalidInputException, match="hardware, hardware_cluster"):
            connection.execute("UPDATE part SET tdp_w = 1 WHERE hardware = 'rtx4090'")
        connection.rollback()
        assert kept_rows(connection) == before
        connection.execute("DELETE FROM model WHERE model = 'wide'; DELETE FROM scenario WHERE scenario_id = 1")
        assert connection.execute("SELECT DISTINCT run.model, run.scenario_id > 1 FROM shape").fetchall() == [("narrow", True)]
        with pytest.raises(duckdb.InvalidInputException, match="change model, scenario"):
            connection.execute("DELETE FROM run")


def test_what_charz_writes_itself_is_taken_and_leaves_the_tables_shut(
    small: Path, add_model: Callable[[duckdb.DuckDBPyConnection, str, int], None]
) -> None:
    with opened(small) as connection:
        connection.begin()
        add_model(connection, "third", 64)
        maintain.add_runs(connection, models=["narrow"])
        maintain.refresh(connection)
        maintain.add_runs(connection, scenarios=[2])
        connection.commit()
        assert connection.execute(f"SELECT COUNT(*) FROM {triggers.WRITING}").fetchall() == [(0,)]
        with pytest.raises(duckdb.InvalidInputException, match="no effect"):
            connection.execute("DELETE FROM run")
        assert maintain.differences(connection) == {}


def test_what_is_rolled_back_leaves_everything(small: Path) -> None:
    with opened(small) as connection:
        before = kept_rows(connection)
        connection.begin()
        connection.execute(
            "UPDATE hardware_memory SET bandwidth_byte_per_s = 1; DELETE FROM scenario; DELETE FROM model"
        )
        assert kept_rows(connection) != before
        connection.rollback()
        assert kept_rows(connection) == before


_WRITER = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1])
connection.execute("SET enable_progress_bar = false")  # drawn on standard output where a statement takes two seconds
for i in range(1, 10**6):
    connection.execute(f"UPDATE hardware_memory SET bandwidth_byte_per_s = {i}e9 WHERE level = 'dram'")
    print(i, flush=True)
"""


@pytest.mark.parametrize("updates", [1, pytest.param(3, marks=pytest.mark.slow("the same after two more writes"))])
def test_a_killed_writer_leaves_old_or_new(small: Path, updates: int) -> None:
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(small)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    for _ in range(updates):
        writer.stdout.readline()
    os.kill(writer.pid, signal.SIGKILL)
    done = updates + len(writer.stdout.read().splitlines())
    writer.wait()
    with opened(small) as connection:
        ((speed,),) = connection.execute(
            "SELECT DISTINCT bandwidth_byte_per_s FROM hardware_memory WHERE level = 'dram'"
        ).fetchall()
        assert speed / 1e9 in (done, done + 1)
        assert maintain.differences(connection) == {}


def test_missing_triggers_are_noticed_and_put_back(small: Path, tmp_path: Path) -> None:
    with opened(small) as connection:
        connection.execute("DROP TRIGGER charz_update_hardware ON hardware_power")
        assert triggers.missing(connection) == ["charz_update_hardware on hardware_power"]
        connection.execute("UPDATE hardware_power SET tdp_w = 1 WHERE hardware = 'tpu_v4' AND is_default")
        assert "part" in maintain.differences(connection)
        connection.begin()
        maintain.refresh(connection)
        connection.commit()
        assert triggers.missing(connection) == []
        assert maintain.differences(connection) == {}


def test_a_copy_without_triggers_is_noticed(small: Path, tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            f"ATTACH '{small}' AS small; ATTACH '{tmp_path}/copy.duckdb' AS copy (STORAGE_VERSION 'v2.0.0')"
        )
        connection.execute("COPY FROM DATABASE small TO copy; USE copy")
        assert len(triggers.missing(connection)) == len(triggers.expected(connection))
        connection.execute("UPDATE hardware_power SET tdp_w = 1 WHERE hardware = 'tpu_v4' AND is_default")
        maintain.refresh(connection)
        assert triggers.missing(connection) == []
        assert maintain.differences(connection) == {}


@pytest.mark.default
@pytest.mark.parametrize("table", ["hardware_power", "hardware_memory", "scenario", "efficiency"])
def test_a_write_through_an_alias_is_refused_in_words_that_help(small: Path, table: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{small}' AS x")
        with pytest.raises(duckdb.Error, match="USE_this_database_before_you_write_to_it"):
            connection.execute(f"DELETE FROM x.{table}")


def test_a_file_renamed_and_attached_keeps_its_tables_once_it_is_used(small: Path, tmp_path: Path) -> None:
    renamed = tmp_path / "another name.duckdb"
    small.rename(renamed)
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{renamed}' AS x; USE x; UPDATE hardware_power SET tdp_w = 2 * tdp_w")
        assert maintain.differences(connection) == {}


def test_many_writes_at_once_are_evaluated_once(small: Path) -> None:
    with opened(small) as connection:
        connection.begin()
        with maintain.bulk(connection):
            for i in range(50):
                connection.execute("UPDATE hardware_peak SET peak_ops_per_s = ? WHERE hardware = 'rtx4090'", [1e12 + i])
        connection.commit()
        assert maintain.differences(connection) == {}
        assert triggers.missing(connection) == []
