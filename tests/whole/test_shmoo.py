"""An MLP that outgrows the chip: the source of its weights, and its rate in between."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import charz
from charz.session import Session
from charz.session.question import Question
from charz.sql import evaluate

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Sweep:
    """Widths of an MLP of two layers on a part, whose weights stay on chip from run to run as far as they fit."""

    part: str
    precision: str
    byte: int
    batch: int
    widths: range
    level: str
    """Last level before main memory."""
    least: int
    """Width from which the rate may vary by at most a tenth: a GPU's products of few operations a unit reach less of its peak, as
    measured (`efficiency.half_work`), whatever memory serves them."""
    is_placed: bool = False
    """True if software manages the level: it keeps the weights there and passes the samples one by one."""
    power: str = ""
    """Power limit of the part, if its own would be the bottleneck instead of a memory."""

    def points(self, db: Session) -> list[dict[str, Any]]:
        models = [f"synthetic:mlp,in={n},hidden={n},out={n},layers=2" for n in self.widths]
        question = Question(
            models,
            [self.part],
            [self.batch],
            precisions=[self.precision],
            caps=[self.power] if self.power else [],
            fields={"cache_state": "weights_resident"},
        )
        return self.asked(db, question)

    def asked(self, db: Session, question: Question) -> list[dict[str, Any]]:
        rows = db.asked(question, "shmoo_point").records("SELECT * FROM shmoo_point ORDER BY footprint_byte")
        return [{**row, "width": width} for row, width in zip(rows, self.widths, strict=True)]

    def limit(self, db: Session) -> float:
        """The weights leave at the width at which input and weights fill the level twice, 2 b (2 n^2 + B n) = capacity; in a
        managed level only the weights of both layers do, 2 b n^2."""
        query = "SELECT DISTINCT cache_byte FROM part WHERE hardware = ?"
        ((capacity,),) = db.connection().execute(query, [self.part]).fetchall()
        if self.is_placed:
            return math.sqrt(capacity / (2 * self.byte))
        half = self.batch / 4
        return math.sqrt(capacity / (4 * self.byte) + half**2) - half


SWEEPS = [
    Sweep("kpu_t256", "int8", 1, 1024, range(512, 8193, 512), "l3", 512, True, "2000w"),
    Sweep("rtx4090", "fp16", 2, 1024, range(512, 8193, 512), "l2", 4096),
    Sweep("i7_13700k", "fp32", 4, 192, range(384, 3073, 192), "l3", 384),
]


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Ingest the networks in less memory than charz takes, so that its limit keeps a margin."""
    path = tmp_path_factory.mktemp("shmoo") / "charz.duckdb"
    widths = sorted({width for sweep in SWEEPS for width in sweep.widths})
    with pytest.MonkeyPatch.context() as patch, charz.open(Path(path)) as session:
        patch.setattr(evaluate, "MEMORY_GB", 0.7 * evaluate.MEMORY_GB)
        session.ingest([f"synthetic:mlp,in={n},hidden={n},out={n}" for n in widths])
        yield session


@pytest.mark.parametrize("sweep", SWEEPS, ids=[sweep.part for sweep in SWEEPS])
def test_weights_leave_the_chip_once_and_where_they_stop_fitting(sweep: Sweep, db: Session) -> None:
    points = sweep.points(db)
    levels = [point["weight_level"] for point in points]
    count = levels.count(sweep.level)
    assert levels == [sweep.level] * count + ["dram"] * (len(levels) - count) and 0 < count < len(levels)
    changed = (points[count - 1]["width"] + points[count]["width"]) / 2
    limit = sweep.limit(db)
    print(f"{sweep.part}: {sweep.level} to dram at width {changed:.0f}, twice the operands fill it at {limit:.0f}")
    assert changed == pytest.approx(limit, rel=0.25)


@pytest.mark.parametrize("sweep", SWEEPS, ids=[sweep.part for sweep in SWEEPS])
def test_between_two_changes_the_rate_stays(sweep: Sweep, db: Session) -> None:
    """The sizes are those whose tiles fill whole waves of the units."""
    points = sweep.points(db)
    whole = [p for p in points if p["tile_count"] % p["unit_count"] == 0 and p["width"] >= sweep.least]
    held = 0
    for level in (sweep.level, "dram"):
        rates = [point["attained_ops_per_s"] for point in whole if point["weight_level"] == level]
        if len(rates) >= 2:
            spread = 1 - min(rates) / max(rates)
            print(f"{sweep.part}, weights from {level}: {len(rates)} sizes, rates differ by {spread:.1%}")
            assert spread < 0.1
            held += len(rates)
    assert held >= 5


def test_a_run_that_keeps_nothing_takes_weights_from_main_memory(db: Session) -> None:
    sweep = SWEEPS[0]
    models = [f"synthetic:mlp,in={n},hidden={n},out={n},layers=2" for n in sweep.widths]
    for state in ("weights_streamed", "cold"):
        asked = Question(
            models, [sweep.part], [sweep.batch], precisions=[sweep.precision], fields={"cache_state": state}
        )
        assert {row["weight_level"] for row in sweep.asked(db, asked)} == {"dram"}
