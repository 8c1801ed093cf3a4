"""Energies and static power of every shipped part, as they follow from the silicon."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from charz.hardware_catalog import loader
from charz.session import workspace


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """The catalog in a database."""
    made = workspace.empty()
    yield made
    made.close()


def energy(connection: duckdb.DuckDBPyConnection, part: str, what: str, key: str) -> float:
    """One coefficient."""
    query = "SELECT value FROM part_energy WHERE hardware = ? AND what = ? AND key = ?"
    return float(connection.execute(query, [part, what, key]).fetchall()[0][0])


def test_every_part_can_be_costed(connection: duckdb.DuckDBPyConnection) -> None:
    """No coefficient is missing, all of a part have one scope, and each says how it came about."""
    assert connection.sql("SELECT * FROM missing_energy_coefficient").fetchall() == []
    query = "SELECT hardware FROM part_energy GROUP BY hardware HAVING COUNT(DISTINCT scope) > 1 OR COUNT(*) > COUNT(formula)"
    assert connection.sql(query).fetchall() == []
    assert len(connection.sql("SELECT DISTINCT hardware FROM part_energy").fetchall()) == len(loader.load().parts())


@pytest.mark.parametrize(
    ("part", "what", "key", "value"),
    [
        # 0.26 of fp32, 2.14 times the circuit, 1.8 pJ at 7 nm and 0.88 V.
        ("a100_sxm4_80", "op", "bf16.matrix", 0.26 * 2.14 * 1.8e-12),
        # 1.4 on a vector lane; 1.9 pJ at 8 nm and 1.05 V.
        ("rtx3090", "op", "fp32.vector", 2.14 * 1.4 * 1.9e-12 * (1.05 / 0.88) ** 2),
        ("rtx3090", "byte", "l2", 10.784e-12),  # as measured (e047)
        ("rtx3090", "byte", "dram", 169.44e-12),  # as measured (e048)
        ("b200_sxm", "op", "fp16.matrix", 0.28 * 1.24 * 1.5e-12),
        ("h100_sxm5_80", "byte", "dram", 67e-12),
        ("h100_sxm5_80", "static", "chip", 1.33 * 132),
        ("a2", "static", "chip", 0.25 * 60),
        ("tpu_v3", "static", "chip", 0.47 * 262),
        ("tpu_v4", "op", "bf16.matrix", 0.26 * 1.8e-12),
        # 20 an operation, at 14 nm.
        ("i9_10940x", "op", "fp32.vector", 20 * 2.6e-12),
        ("kpu_t64", "op", "int8.matrix", 0.05e-12),
    ],
)
def test_values(connection: duckdb.DuckDBPyConnection, part: str, what: str, key: str, value: float) -> None:
    assert energy(connection, part, what, key) == pytest.approx(value, rel=1e-3)


def test_parts_of_one_die_share_their_energies(connection: duckdb.DuckDBPyConnection) -> None:
    """A board of 300 W and one of 600 W, and three of 250 to 400 W."""
    for parts in (("rtx_pro_6000_se", "rtx_pro_6000_maxq"), ("a100_pcie_40", "a100_pcie_80", "a100_sxm4_80")):
        for what, key in (("op", "fp16.matrix"), ("op", "fp32.vector"), ("static", "chip")):
            assert len({energy(connection, part, what, key) for part in parts}) == 1


def test_energy_of_an_operation_falls_from_one_tpu_to_the_next(connection: duckdb.DuckDBPyConnection) -> None:
    """In bf16."""
    joule = [energy(connection, f"tpu_{name}", "op", "bf16.matrix") for name in ("v3", "v4", "v5e", "v6e")]
    assert joule == sorted(joule, reverse=True)
