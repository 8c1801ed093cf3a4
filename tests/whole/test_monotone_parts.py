"""More of any number of a part never makes it slower, and more samples never increase the time of a sample."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

import charz

from . import monotone

MODELS = ("resnet18", "vit_b_16")
BROAD_MODELS = ("efficientnet_b0", "resnet50", "vit_b_16")
DRAWN = 12
NAMED = ("rtx4090", "h100_sxm5_80", "tpu_v4", "kpu_t256", "apple_m4_max")
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def ingested(path: Path, models: tuple[str, ...]) -> None:
    """File of some models without answers at hand."""
    with charz.open(path) as db:
        db.ingest(list(models), no_answers=True)


@pytest.fixture(scope="module")
def connection(once: Callable[..., Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    path = once("monotone.duckdb", lambda path: ingested(path, MODELS))
    with duckdb.connect(str(path), read_only=True, config={"threads": 1}) as made:
        yield made


@pytest.fixture(scope="module")
def broad_connection(once: Callable[..., Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    path = once("broad.duckdb", lambda path: ingested(path, BROAD_MODELS))
    with duckdb.connect(str(path), read_only=True, config={"threads": 1}) as made:
        yield made


def drawn(parts: list[str], count: int) -> list[str]:
    """Return the parts chosen by the current commit: different for every change, and equal in every run of it."""
    root = Path(__file__).parents[2]
    said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    return sorted(parts, key=lambda part: hashlib.sha256(f"{said.stdout.strip()} {part}".encode()).digest())[:count]


def every_part(connection: duckdb.DuckDBPyConnection, condition: str = "TRUE") -> list[str]:
    """Return the parts of the catalog that answer a question."""
    query = f"SELECT hardware FROM part WHERE {condition} ORDER BY hardware"
    return [part for (part,) in connection.execute(query).fetchall()]


def check(
    connection: duckdb.DuckDBPyConnection, parts: list[str], models: tuple[str, ...], batches: tuple[int, ...]
) -> None:
    """No part is left out, every number of each is doubled, every run is answered, and none becomes slower."""
    found = dict(monotone.monotone(connection, parts, models, batches))
    assert list(found) == parts
    assert all({"units", "dram.bandwidth", "dram.capacity"} <= set(of.doubled) for of in found.values())
    unanswered = {part: of.times for part, of in found.items() if of.times < len(models) * len(batches)}
    assert not unanswered
    assert not [slower for of in found.values() for slower in of.slower]


@pytest.mark.slow
def test_parts_drawn_by_the_commit(connection: duckdb.DuckDBPyConnection) -> None:
    parts = drawn(every_part(connection), DRAWN)
    assert len(parts) == DRAWN
    check(connection, parts, MODELS, monotone.BATCHES)


@pytest.mark.broad
def test_every_part(broad_connection: duckdb.DuckDBPyConnection) -> None:
    parts = every_part(broad_connection)
    assert len(parts) > 120
    check(broad_connection, parts, BROAD_MODELS, monotone.BATCHES)


@pytest.mark.broad
def test_what_a_limit_makes_slower_rests_at_more_power(broad_connection: duckdb.DuckDBPyConnection) -> None:
    """Under its limits a part with a doubled number is slower if that number adds power at rest. The clock is interpolated
    between a few steps, with an error below a hundredth."""
    limited = monotone.monotone(broad_connection, every_part(broad_connection), BROAD_MODELS[1:], is_limited=True)
    slower = [run for _, found in limited for run in found.slower if run.ratio > 1.01]
    assert slower
    assert not [run for run in slower if run.rest_ratio <= 1]


@pytest.mark.broad
def test_named_parts_at_larger_batches(broad_connection: duckdb.DuckDBPyConnection) -> None:
    check(broad_connection, list(NAMED), BROAD_MODELS, (1, 32, 128))


@pytest.mark.broad
def test_more_samples_never_slow_one(broad_connection: duckdb.DuckDBPyConnection) -> None:
    """The parts are those whose software manages the memory on the chip."""
    parts = every_part(broad_connection, "takes_groups")
    assert len(parts) > 20
    rising = [
        (model, part, batch)
        for (model, part), times in monotone.sample_times(broad_connection, parts, BROAD_MODELS, BATCHES).items()
        for batch, before, after in zip(BATCHES[1:], times, times[1:], strict=False)
        if after > before * (1 + monotone.ROUNDING)
    ]
    assert not rising
