"""A question too large to be held at once is answered in portions, with the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import charz
from charz.sql import evaluate


@pytest.mark.parametrize("section", ["bounds", "stages", "validation"])
def test_portions_give_what_one_statement_gives(
    section: Literal["bounds", "stages", "validation"], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked() -> pl.DataFrame:
        with charz.open(file) as db:
            found = db.concurrency("small", on=["t4", "l4", "kpu_t64"], batch="1:8", section=section, top=10_000)
            return found.sort(*(name for name in found.columns if found[name].dtype != pl.Float64))

    before = asked()
    counts: list[int] = []
    count = evaluate.portion_count
    for most in ("KERNELS_AT_ONCE", "SUMMED_AT_ONCE"):
        monkeypatch.setattr(evaluate, most, 1)
    monkeypatch.setattr(evaluate, "portion_count", lambda *given: counts.append(count(*given)) or counts[-1])
    assert_frame_equal(before, asked(), rel_tol=1e-12)
    assert max(counts) > 1
