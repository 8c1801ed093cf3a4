"""Doubling a number of a part changes the answers that physics predicts, and no others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import duckdb
import pytest

from . import elasticities
from .elasticities import COMPUTE_BOUND, MEMORY_BOUND, Effect

pytestmark = pytest.mark.slow

ROUNDING = 1e-9


@pytest.fixture(scope="module")
def connection(once: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connection to a copy of a file with the model, which a plain client may write."""
    path = tmp_path_factory.mktemp("elasticity") / "copy.duckdb"
    shutil.copy(once("elasticity.duckdb", elasticities.make), path)  # type: ignore[operator]
    with duckdb.connect(str(path), config={"threads": 1}) as opened:
        yield opened


FURTHER = ("gaudi2", "hexagon698", "tpu_v4")
"""Families with every change tested, in addition to the GPU, the processor and the KPU."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(p, marks=pytest.mark.broad) if p in FURTHER else p for p in sorted(elasticities.PARTS)],
)
def effects(request: pytest.FixtureRequest, connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, int], Effect]:
    """Measure the effect of each doubling on a part's two runs."""
    return {(e.doubled, e.batch): e for e in elasticities.effects(connection, request.param)}


POOLED = {("hexagon698", "units")}
"""Part whose units share one scratchpad, which twice as many units fill: they take smaller tiles and load more."""
WITHOUT_CLOCK = {("gaudi2", "clock")}


@pytest.mark.parametrize("doubled", ["units", "clock"])
def test_arithmetic_goes_nearly_twice_as_fast(effects: dict[tuple[str, int], Effect], doubled: str) -> None:
    part = next(iter(effects.values())).part
    if (part, doubled) in WITHOUT_CLOCK:
        assert (doubled, COMPUTE_BOUND) not in effects
    else:
        least = 1.0 if (part, doubled) in POOLED else 1.7
        assert least < effects[doubled, COMPUTE_BOUND].speedup <= 2.0 + ROUNDING


def test_reading_weights_goes_with_main_memory(effects: dict[tuple[str, int], Effect]) -> None:
    """The host's cost of a call, and the exposed time, do not."""
    read, computed = (effects["dram bandwidth", batch].speedup for batch in (MEMORY_BOUND, COMPUTE_BOUND))
    assert 1.05 < read <= 2.0 + ROUNDING
    assert 1.0 - ROUNDING <= computed < read


def test_energies_double_what_is_not_static(effects: dict[tuple[str, int], Effect]) -> None:
    """No limit applies here. Under one the clock falls, and with it the voltage and the energy of an operation, unless the
    voltage is at its floor already."""
    for batch in (COMPUTE_BOUND, MEMORY_BOUND):
        effect = effects["energies", batch]
        if effect.speedup == pytest.approx(1.0):
            assert (effect.dynamic, effect.static) == pytest.approx((2.0, 1.0))
        else:
            assert effect.speedup < 1.0 and 1.0 < effect.dynamic <= 2.0


def test_twice_the_clock_costs_voltage(effects: dict[tuple[str, int], Effect]) -> None:
    """Dynamic power grows by 1.5 to 4 times, without limits."""
    if ("clock", COMPUTE_BOUND) in effects:
        effect = effects["clock", COMPUTE_BOUND]
        assert 1.5 < effect.dynamic * effect.speedup < 4.0


def test_a_higher_limit_never_slows(effects: dict[tuple[str, int], Effect]) -> None:
    assert all(effects["power limit", batch].speedup >= 1.0 - ROUNDING for batch in (COMPUTE_BOUND, MEMORY_BOUND))


def test_a_larger_main_memory_changes_its_standby_alone(effects: dict[tuple[str, int], Effect]) -> None:
    for batch in (COMPUTE_BOUND, MEMORY_BOUND):
        effect = effects["dram size", batch]
        assert (effect.speedup, effect.dynamic) == pytest.approx((1.0, 1.0))
        assert 1.0 - ROUNDING <= effect.static < 1.3


def test_more_of_anything_never_slows(effects: dict[tuple[str, int], Effect]) -> None:
    """Units of processors are excepted: a larger team of threads takes longer to start."""
    part = next(iter(effects.values())).part
    slowed = {e.doubled for e in effects.values() if e.doubled != "energies" and e.speedup < 1.0 - ROUNDING}
    assert slowed <= ({"units"} if part == "i9_10940x" else set())


def test_every_level_is_asked(effects: dict[tuple[str, int], Effect]) -> None:
    """Sizes and bandwidths are doubled separately, of main memory and at least one level on the chip."""
    asked = {e.doubled.split()[0] for e in effects.values() if e.doubled.endswith(("size", "bandwidth"))}
    assert "dram" in asked and len(asked) > 1
