"""Maintained tables stay equal to their views whatever a plain DuckDB client writes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from charz.schema import database
from charz.sql import maintain, triggers

FACTS = (
    "backend", "backend_support", "confidence", "cuda_limit", "derivation_basis", "derivation_rule", "efficiency",
    "energy_profile", "energy_rule", "fusion_rule", "hardware", "hardware_cluster", "hardware_family", "hardware_interconnect",
    "hardware_memory", "hardware_overhead", "hardware_peak", "hardware_power", "hardware_provenance", "library_constant",
    "memory_level", "model", "number_rule", "operator_class", "precision", "precision_policy", "prediction_band", "price",
    "scenario", "tiling_strategy",
)  # fmt: skip
"""Tables whose changes reach a maintained table."""


OF_ONE_PART = (
    "energy_profile", "hardware_cluster", "hardware_interconnect", "hardware_memory", "hardware_overhead", "hardware_peak",
    "hardware_power", "hardware_provenance", "price",
)  # fmt: skip
"""Those whose rows name the part they are of: one mechanism, tried together."""


def opened(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection of a client that knows nothing of charz."""
    return duckdb.connect(str(path), config={"threads": 1})


def kept_rows(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """A number for the content of each maintained table."""
    tables = connection.execute("SELECT view FROM view_catalog WHERE kind = 'table'").fetchall()
    return {
        name: connection.execute(f"SELECT COALESCE(SUM(hash(t)::HUGEINT), 0) FROM {name} AS t").fetchall()[0][0]
        for (name,) in tables
    }


def test_every_fact_that_is_read_has_triggers(small: Path) -> None:
    with opened(small) as connection:
        tables = {trigger.table for trigger in triggers.expected(connection)}
        assert tables == {f"main.{fact}" for fact in FACTS} | {triggers.PARTS.table, triggers.RUNS.table}
        assert triggers.missing(connection) == []
        assert maintain.differences(connection) == {}


def row_type(table: str) -> type:
    return next(t for t in database.TABLES if table == t.TABLE)


def changes(table: str) -> list[str]:
    """Statements that change every number and word of some rows, add a row and remove one."""
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
    key = kind.KEY[-1]
    renamed = f"{key} || '_2'" if kind.model_fields[key].annotation is str else f"{key} + 1000"
    fresh = ", efficiency_id + 100000 AS efficiency_id" if table == "efficiency" else ""
    return [
        f"UPDATE {table} SET {', '.join(values)} WHERE rowid % 3 = 0",
        # A model is inserted by ingest, with all its rows.
        f"INSERT INTO {table} SELECT * REPLACE ({renamed} AS {key}{fresh}) FROM {table} LIMIT {3 if table != 'model' else 0}",
        f"DELETE FROM {table} WHERE rowid = (SELECT MAX(rowid) FROM {table})",
    ]


@pytest.mark.parametrize(
    "tables", [OF_ONE_PART, *((fact,) for fact in FACTS if fact not in OF_ONE_PART)], ids=lambda tables: tables[-1]
)
def test_a_change_of_a_fact_reaches_what_is_kept(small: Path, tables: tuple[str, ...]) -> None:
    with opened(small) as connection:
        for statement in (statement for table in tables for statement in changes(table)):
            connection.execute(statement)
        assert maintain.differences(connection) == {}


def test_one_number_of_one_part_changes_its_rows_alone(small: Path) -> None:
    with opened(small) as connection:
        query = "SELECT hardware, SUM(hash(t)::HUGEINT) FROM part_tile AS t GROUP BY hardware"
        before = dict(connection.execute(query).fetchall())
        connection.execute("UPDATE hardware_peak SET peak_ops_per_s = 2 * peak_ops_per_s WHERE hardware = 'tpu_v4'")
        after = dict(connection.execute(query).fetchall())
        assert {hardware for hardware in after if after[hardware] != before[hardware]} == {"tpu_v4"}


def test_a_value_no_part_had_reaches_all_parts(small: Path) -> None:
    """A row of one part with an operator of its own makes a row of that operator for every part."""
    with opened(small) as connection:
        connection.execute(
            "INSERT INTO efficiency SELECT * REPLACE (2000000 AS efficiency_id, 'hardware:tpu_v4' AS scope,"
            " 'norm' AS kernel_class, 'aten.new' AS operator_name) FROM efficiency LIMIT 1"
        )
        query = "SELECT COUNT(DISTINCT hardware) FROM part_efficiency WHERE operator_name = 'aten.new'"
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


def test_a_scenario_is_there_as_soon_as_its_row(small: Path) -> None:
    with opened(small) as connection:
        connection.execute(
            "INSERT INTO scenario SELECT * REPLACE (99 AS scenario_id, 33 AS batch) FROM scenario LIMIT 1"
        )
        query = "SELECT DISTINCT model, batch FROM shape_step WHERE scenario_id = 99 ORDER BY model"
        assert connection.execute(query).fetchall() == [("narrow", 33), ("wide", 33)]
        connection.execute("DELETE FROM scenario WHERE scenario_id = 99")
        assert connection.execute(query).fetchall() == []


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
for i in range(1, 10**6):
    connection.execute(f"UPDATE hardware_memory SET bandwidth_byte_per_s = {i}e9 WHERE level = 'dram'")
    print(i, flush=True)
"""


@pytest.mark.parametrize("updates", [1, 3])
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
