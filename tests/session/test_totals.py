"""Totals by level and by module that agree with the run, and the overlap of bands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import charz
from charz.session import Session
from charz.session.decide.recommend import overlap

RUNS = [("t4", 1, None), ("t4", 16, "eager"), ("kpu_t64", 1, None), ("i7_13700k", 8, None), ("tpu_v4", 1, None)]


@pytest.fixture(scope="module")
def db(file: Path) -> Iterator[Session]:
    with charz.open(file) as session:
        yield session


@pytest.mark.parametrize(("part", "batch", "backend"), RUNS)
def test_modules_and_the_call_sum_to_the_run(db: Session, part: str, batch: int, backend: str | None) -> None:
    asked = {"on": part, "batch": batch, "backend": backend}
    run = db.report("small", **asked).row(0, named=True)
    found = db.report("small", section="modules", **asked)
    whole = found.filter(found["module"].is_in(["", "(run call)"]))
    assert len(whole) == 2 and whole["latency_s"].min() > 0
    for name in ("latency_s", "energy_j", "edp_js"):
        assert whole[name].sum() == pytest.approx(run[name], rel=1e-9), name


@pytest.mark.parametrize(("part", "batch", "backend"), RUNS)
def test_levels_sum_to_the_run_and_classes_to_all(db: Session, part: str, batch: int, backend: str | None) -> None:
    asked = {"on": part, "batch": batch, "backend": backend}
    run = db.report("small", **asked).row(0, named=True)
    found = db.report("small", section="levels", **asked)
    every, classes = found.filter(found["kernel_class"] == "all"), found.filter(found["kernel_class"] != "all")
    assert every["level"][0] == "dram" and every["level"].to_list()[-2:] == ["arithmetic", "static"]
    assert every["level_j"].sum() == pytest.approx(run["energy_j"], rel=1e-9)
    of = dict(zip(every["level"], every["level_j"], strict=True))
    assert of["arithmetic"] == pytest.approx(run["compute_energy_j"], rel=1e-9)
    assert of["static"] == pytest.approx(run["static_energy_j"], rel=1e-9)
    for name in ("level_byte", "level_j"):
        for level, total in zip(every["level"], every[name], strict=True):
            assert classes.filter(classes["level"] == level)[name].sum() == pytest.approx(total or 0, rel=1e-9)
    moved = db.report("small", section="traffic", top=10_000, **asked)
    for level, total in zip(every["level"], every["level_byte"], strict=True):
        assert total is None or moved.filter(moved["level"] == level)["level_byte"].sum() == pytest.approx(total, rel=1e-9)


def test_overlapping_bands_of_the_first_two_choices_are_said() -> None:
    """A slower choice with a band of 2 to 4 s overlaps one of 1 to 3 s, but not one of 1 to 1.9 s."""
    same = {"backend": "eager", "precision": "fp32", "batch": 1}
    first, second = {**same, "hardware": "a", "p10_s": 1.0, "p90_s": 3.0}, {**same, "hardware": "b", "p10_s": 2.0, "p90_s": 4.0}
    told = overlap([first, second])
    assert told is not None and told.endswith("a eager fp32 batch 1 (1.00 s to 3.00 s) and b eager fp32 batch 1 (2.00 s to 4.00 s)")
    assert overlap([{**first, "p90_s": 1.9}, second]) is None
    assert overlap([first]) is None
    assert overlap([{**first, "p90_s": None}, second]) is None


def test_bands_are_columns_of_comparisons(db: Session) -> None:
    (compared,) = db.compare("small", on="t4", batch=1).to_dicts()
    chosen = db.recommend("small", on="t4", batch=1).row(0, named=True)
    for found in (compared, chosen):
        run = db.report("small", on="t4", batch=1, backend=found["backend"], precision=found["precision"]).row(0, named=True)
        assert (found["p10_s"], found["p90_s"]) == pytest.approx((run["p10_s"], run["p90_s"]))


def test_every_listed_price_has_its_month_and_source(db: Session) -> None:
    priced = db.sql("SELECT * FROM mart.prices")
    count = "SELECT COUNT(DISTINCT hardware) FROM (SELECT hardware FROM price UNION ALL SELECT hardware FROM list_price)"
    assert len(priced) == db.sql(count).item() > 0
    for kind, amount in (("rent", "rent_usd_per_hour"), ("purchase", "purchase_usd")):
        stated = priced.filter(priced[amount].is_not_null())
        assert len(stated) and not stated[f"{kind}_dated"].null_count() + stated[f"{kind}_source_id"].null_count()
    assert not priced.filter(priced["rent_usd_per_hour"].is_null() & priced["purchase_usd"].is_null()).height
