"""Area, energies and leakage of every shipped part, derived from its process."""

from __future__ import annotations

import math
from collections.abc import Iterator

import duckdb
import pytest

import charz
from charz.hardware_catalog import loader


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The catalog in a database of its own, whose numbers tests change and restore."""
    path = tmp_path_factory.mktemp("catalog") / "catalog.duckdb"
    with charz.open(path) as db, db.changing():
        pass
    with duckdb.connect(str(path), config={"threads": 1}) as made:
        yield made


def energy(connection: duckdb.DuckDBPyConnection, part: str, what: str, key: str) -> float:
    """Return one coefficient."""
    query = "SELECT value FROM part_energy WHERE hardware = ? AND what = ? AND key = ?"
    return float(connection.execute(query, [part, what, key]).fetchall()[0][0])


def rest(connection: duckdb.DuckDBPyConnection, part: str, column: str) -> float:
    """Return one number of the part's leakage."""
    return float(connection.execute(f"SELECT {column} FROM part_leakage WHERE hardware = ?", [part]).fetchall()[0][0])


def test_every_part_can_be_costed(connection: duckdb.DuckDBPyConnection) -> None:
    """No coefficient is missing, all of a part have one scope, and each has its derivation."""
    assert connection.sql("SELECT * FROM missing_energy_coefficient").fetchall() == []
    query = "SELECT hardware FROM part_energy GROUP BY hardware HAVING COUNT(DISTINCT scope) > 1 OR COUNT(*) > COUNT(formula)"
    assert connection.sql(query).fetchall() == []
    assert connection.sql("SELECT DISTINCT scope FROM part_energy").fetchall() == [("board",)]
    assert len(connection.sql("SELECT DISTINCT hardware FROM part_energy").fetchall()) == len(loader.load().parts())


@pytest.mark.parametrize(
    ("part", "what", "key", "value"),
    [
        # 0.26 of fp32, 2.14 times the circuit, 1.8 pJ at 7 nm.
        ("a100_sxm4_80", "op", "bf16.matrix", 0.26 * 2.14 * 1.8e-12),
        # 1.4 on a vector lane; 1.9 pJ at 8 nm.
        ("rtx3090", "op", "fp32.vector", 2.14 * 1.4 * 1.9e-12),
        ("b200_sxm", "op", "fp16.matrix", 0.28 * 1.24 * 1.5e-12),
        ("tpu_v4", "op", "bf16.matrix", 0.26 * 1.8e-12),
        # 20 an operation, at 14 nm.
        ("i9_10940x", "op", "fp32.vector", 20 * 2.6e-12),
        # Half of fp32: an instruction costs the same, and twice as many int8 operations a clock finish.
        ("i3_8100", "op", "int8.vector", 32 / 64 * 20 * 2.6e-12),
        # A tile of domain flow as an array of any family: 0.13 of 2.7 pJ at 16 nm.
        ("kpu_t64", "op", "int8.matrix", 0.13 * 2.7e-12),
        ("kpu_t64", "byte", "dram", 72e-12),
        # 32 KiB of 0.07 um2 a bit at 16 nm, with 0.133 + 4 * 0.04 of the area in cells: 0.5 and 0.85 a millimetre of its side.
        ("kpu_t64", "byte", "l2", 2.7e-12 * (0.5 + 0.85 * math.sqrt(32768 * 8 * 0.07e-6 / 0.293))),
    ],
)
def test_values(connection: duckdb.DuckDBPyConnection, part: str, what: str, key: str, value: float) -> None:
    assert energy(connection, part, what, key) == pytest.approx(value, rel=1e-3)


def test_parts_of_one_die_share_their_energies(connection: duckdb.DuckDBPyConnection) -> None:
    """Two boards of 300 W and 600 W, and three of 250 to 400 W, also share their leakage except that of links and memory."""
    for parts in (("rtx_pro_6000_se", "rtx_pro_6000_maxq"), ("a100_pcie_40", "a100_pcie_80", "a100_sxm4_80")):
        for what, key in (("op", "fp16.matrix"), ("op", "fp32.vector")):
            assert len({energy(connection, part, what, key) for part in parts}) == 1
        watts = [rest(connection, part, "leakage_w") for part in parts]
        assert max(watts) / min(watts) < 1.03


def test_energy_of_an_operation_falls_from_one_tpu_to_the_next(connection: duckdb.DuckDBPyConnection) -> None:
    """The energies are those of bf16."""
    joule = [energy(connection, f"tpu_{name}", "op", "bf16.matrix") for name in ("v3", "v4", "v5e", "v6e")]
    assert joule == sorted(joule, reverse=True)


def test_dice_in_print(connection: duckdb.DuckDBPyConnection) -> None:
    """The median error of area is within 25 % over at least 30 dice, the ninetieth percentile within a factor of 1.6."""
    query = "SELECT COUNT(*), MEDIAN(ABS(LN(area_ratio))), QUANTILE_CONT(ABS(LN(area_ratio)), 0.9) FROM die_check WHERE stands_for_die"
    ((count, median, most),) = connection.sql(query).fetchall()
    assert count >= 30
    assert math.exp(median) < 1.25 and math.exp(most) < 1.6


def test_rest_is_below_a_fifth_of_the_limit(connection: duckdb.DuckDBPyConnection) -> None:
    """The test covers every part with a known limit and without stated leakage."""
    query = "SELECT hardware FROM part_leakage JOIN part USING (hardware) WHERE NOT is_stated AND rest_w > 0.2 * tdp_w"
    assert connection.sql(query).fetchall() == []


def test_main_memory_alone_never_exceeds_a_board(connection: duckdb.DuckDBPyConnection) -> None:
    """The test covers every silicon part whose main memory is not on the chip."""
    query = "SELECT p.hardware FROM part AS p JOIN hardware_memory AS m ON m.hardware = p.hardware AND m.level = 'dram'"
    query += " WHERE dram_byte_per_s * dram_j_per_byte > tdp_w AND NOT is_simulated AND m.technology <> 'SRAM'"
    assert connection.sql(query).fetchall() == []


EVERY_FAMILY = (
    "i9_10940x",
    "h100_sxm5_80",
    "mi300x_192",
    "tpu_v4",
    "kpu_t64",
    "gaudi2",
    "hexagon698",
    "jetson_agx_orin_64",
)


@pytest.mark.parametrize("part", EVERY_FAMILY)
def test_twice_the_units_are_twice_the_logic(connection: duckdb.DuckDBPyConnection, part: str) -> None:
    """Area, leakage and clocking power double; half the limit changes none of them."""
    query = f"SELECT SUM(area_mm2), SUM(leakage_w), SUM(clocking_w) FROM part_area WHERE hardware = '{part}' AND kind = 'logic'"
    connection.execute("BEGIN")
    try:
        (before,) = connection.sql(query).fetchall()
        static = energy(connection, part, "static", "chip")
        connection.execute(f"UPDATE hardware_power SET tdp_w = tdp_w / 2 WHERE hardware = '{part}'")
        assert energy(connection, part, "static", "chip") == static
        connection.execute(f"UPDATE hardware_cluster SET unit_count = 2 * unit_count WHERE hardware = '{part}'")
        (after,) = connection.sql(query).fetchall()
    finally:
        connection.execute("ROLLBACK")
    assert after == pytest.approx(tuple(2 * number for number in before))
