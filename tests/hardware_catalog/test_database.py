"""The catalog in a database: traced numbers, edits, names, sync."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import duckdb
import pytest

import charz
from charz.hardware_catalog import names, sync
from charz.hardware_catalog.loader import Catalog
from charz.schema.catalog.part import HardwarePower
from charz.schema.catalog.price import Price
from charz.schema.errors import CharzError


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A new database, with the shipped catalog and all views."""
    path = tmp_path_factory.mktemp("filled") / "shipped.duckdb"
    with charz.open(path) as session:
        session.connection(create=True)
    with duckdb.connect(str(path)) as connection:
        yield connection


@pytest.fixture
def connection(filled: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same database, with every change undone afterwards."""
    filled.begin()
    yield filled
    filled.rollback()


def test_every_live_number_is_traced(connection: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT count(*), count(source_id), count(locator), count_if(is_edited) FROM hardware_value"
    total, sourced, located, edited = connection.sql(query).fetchall()[0]
    assert total > 5000
    assert (sourced, located, edited) == (total, total, 0)
    untraced = "SELECT field FROM hardware_provenance AS p ANTI JOIN hardware_value AS v USING (hardware, field)"
    assert connection.sql(untraced).fetchall() == []


def test_an_edit_shows_at_once_and_nowhere_else(connection: duckdb.DuckDBPyConnection) -> None:
    before = connection.sql("SELECT * FROM hardware_rate ORDER BY ALL").fetchall()
    connection.execute(
        "UPDATE hardware_peak SET peak_ops_per_s = 2 * peak_ops_per_s"
        " WHERE hardware = 't4' AND precision = 'int4' AND unit = 'matrix'"
    )
    after = connection.sql("SELECT * FROM hardware_rate ORDER BY ALL").fetchall()
    changed = {(row[0], row[1]) for row in set(before) ^ set(after)}
    assert changed == {("t4", "int4"), ("t4", "uint4")}  # unsigned falls back to signed
    edited = connection.sql(
        "SELECT hardware, field, value / catalog_value FROM hardware_value WHERE is_edited"
    ).fetchall()
    assert edited == [("t4", "peak.int4.matrix.int32.peak_ops_per_s", 2.0)]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("rtx4090", "rtx4090"),
        ("RTX 4090", "rtx4090"),
        ("4090", "rtx4090"),
        ("i7-13700K", "i7_13700k"),
        ("NVIDIA T4", "t4"),
        ("Tesla V100-PCIE-32GB", "v100_pcie_32"),
        ("tpu v4", "tpu_v4"),
    ],
)
def test_names_resolve_kindly(connection: duckdb.DuckDBPyConnection, name: str, part: str) -> None:
    assert names.resolve(connection, name) == part


def test_an_ambiguous_name_lists_its_candidates(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(CharzError, match="h100_nvl_94, h100_pcie_80, h100_sxm5_80"):
        names.resolve(connection, "h100")


def test_the_end_of_a_name_means_no_other_kind_of_part(connection: duckdb.DuckDBPyConnection) -> None:
    """`cortex_a78ae_orin` ends like the name of a Jetson, whose processor it is."""
    with pytest.raises(CharzError, match="several parts have this name: orin.*jetson_agx_orin_64"):
        names.resolve(connection, "orin")


def test_an_unknown_name_lists_the_nearest(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(CharzError, match="rtx4090"):
        names.resolve(connection, "rtx4095")


def test_sync_brings_changes_and_keeps_edits(connection: duckdb.DuckDBPyConnection, catalog: Catalog) -> None:
    assert sync.plan(connection, catalog) == []
    connection.execute("UPDATE hardware_power SET tdp_w = 60 WHERE hardware = 't4'")
    connection.execute("DELETE FROM price WHERE hardware = 'l4'")
    connection.execute("INSERT INTO price VALUES ('my_part', 1.0, '2026-01', 'assumption', 'assumed')")
    newer = copy.copy(catalog)
    newer.rows = dict(catalog.rows)
    newer.version = "newer"
    newer.rows[Price] = [
        row.model_copy(update={"price_usd_per_hour": 9.0}) if row.hardware == "t4" else row  # type: ignore[attr-defined]
        for row in catalog.rows[Price]
        if row.hardware != "a10"  # type: ignore[attr-defined]
    ]
    newer.rows[HardwarePower] = [
        row.model_copy(update={"tdp_w": 75.0}) if row.hardware == "t4" else row  # type: ignore[attr-defined]
        for row in catalog.rows[HardwarePower]
    ]

    changes = {(change.action, change.table, change.key) for change in sync.apply(connection, newer)}

    assert changes == {
        ("update", "price", '["t4"]'),
        ("remove", "price", '["a10"]'),
        ("keep", "hardware_power", '["t4", "default"]'),
    }
    prices = dict(connection.sql("SELECT hardware, price_usd_per_hour FROM price").fetchall())
    assert prices["t4"] == 9.0
    assert prices["my_part"] == 1.0
    assert "a10" not in prices
    assert "l4" not in prices
    assert connection.sql("SELECT tdp_w FROM hardware_power WHERE hardware = 't4'").fetchall() == [(60.0,)]
    # only the kept edit is offered again
    assert {change.action for change in sync.plan(connection, newer)} == {"keep"}


def test_a_number_given_a_source_is_assumed_no_more(connection: duckdb.DuckDBPyConnection) -> None:
    """Energy coefficients and `efficiency` rows of one part under one backend are counted separately."""
    query = (
        "SELECT part_count, energy_count, efficiency_count, assumed_count FROM assumed_input"
        " WHERE hardware = 'h100_sxm5_80' AND backend = 'inductor' AND precision = 'fp32'"
    )
    part, energy, efficiency, total = connection.sql(query).fetchall()[0]
    assert min(part, energy, efficiency) > 0
    connection.execute(
        "INSERT INTO energy_profile VALUES ('h100_sxm5_80', 'static', 'chip', 175, 'board', 'mine', 'measured', 'meter')"
    )
    connection.execute(
        "INSERT INTO hardware_provenance SELECT 'h100_sxm5_80', 'energy.static.chip', 175, 'W', 'mine', 'measured', NULL, NULL"
    )
    connection.execute("UPDATE efficiency SET confidence = 'derived' WHERE resource = 'residency'")
    after = connection.sql(query).fetchall()[0]
    assert after == (part, energy - 1, efficiency - 1, total - 2)
