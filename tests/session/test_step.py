"""Steps of a server as a frame of mixes, against the live views."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import charz
from charz.schema.errors import CharzError
from charz.session import Session
from charz.session.core import Question


@pytest.fixture
def db(file: Path) -> Iterator[Session]:
    with charz.open(file) as opened:
        yield opened


def test_mixes_are_what_the_views_say(db: Session) -> None:
    drawn = random.Random(7)
    mixes = [
        {"requests": drawn.randint(1, 64), "tokens": drawn.choice([1, 1, 1, 16]), "context": drawn.randint(16, 4096)}
        for _ in range(30)
    ]
    frame = db.step("decoder", [*mixes, mixes[0]], on="t4")
    assert frame.rows()[0] == frame.rows()[-1]
    assert frame.select("requests", "tokens", "context").to_dicts() == [*mixes, mixes[0]]
    for mix, found in list(zip(mixes, frame.to_dicts(), strict=False))[:3]:
        is_step = mix["tokens"] == 1
        run = {
            "batch": mix["requests"], "phase": "decode" if is_step else "prefill", "sequence": None if is_step else mix["tokens"],
            "context": mix["context"],
        }  # fmt: skip
        asked = db.asked(Question(["decoder"], ["t4"], precisions=["fp16"], backends=["vllm"], runs=[run]))
        ((time_s, energy_j),) = asked.execute("SELECT latency_s, energy_j FROM target_cost").fetchall()
        assert found["latency_s"] == pytest.approx(time_s, rel=1e-9)
        assert found["energy_j"] == pytest.approx(energy_j, rel=1e-9)


@pytest.mark.parametrize(
    ("mixes", "says"),
    [
        (pl.DataFrame({"requests": [1], "tokens": [1]}), "a column is missing: context"),
        ([{"requests": 0, "tokens": 1, "context": 1}], "requests out of range: 0"),
        ([{"requests": 1, "tokens": 8, "context": 4}], "a context shorter than its tokens"),
        (pl.DataFrame({"requests": [], "tokens": [], "context": []}), "no mixes"),
    ],
)
def test_what_is_no_mix(db: Session, mixes: pl.DataFrame, says: str) -> None:
    with pytest.raises(CharzError) as refused:
        db.step("decoder", mixes, on="t4")
    assert refused.value.line.startswith(says)
