"""The runner of studies: the scores that it computes and stores, and the page of validation written from them."""

from __future__ import annotations

import importlib
import math
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from benchmarks import study

from charz.hardware_catalog import loader
from charz.schema.catalog.energy import EnergyFact
from charz.schema.catalog.part import HardwareMemory
from charz.schema.catalog.source import Source
from charz.schema.errors import CharzError
from charz.sql import views

ONE = study.Study("one", "module:function", "time of a run", "family of the model", 1.0, "", "made up")


def test_the_page_is_what_the_results_say() -> None:
    assert study.PAGE.read_text() == study.page(), "run `python -m benchmarks.study --page`"


def test_every_result_has_its_study_date_commit_and_version() -> None:
    rows = study.results()
    assert set(rows["study"]) <= study.studies().keys()
    assert rows.select("date", "commit", "version", "rows", "median_error").null_count().sum_horizontal()[0] == 0


@pytest.mark.parametrize("name", [name for name, row in study.studies().items() if row.loader])
def test_every_study_has_its_loader(name: str) -> None:
    module, _, function = study.studies()[name].loader.partition(":")
    assert callable(getattr(importlib.import_module(f"benchmarks.studies.{module}"), function))


def test_a_study_without_a_loader_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CharzError, match="no program repeats this study"):
        replace(ONE, loader="").load(study.Given(tmp_path / "f.duckdb"))


def test_rows_are_scored_together_by_part_and_by_family() -> None:
    """Errors of ln 1, ln 2 and ln 4 on two parts of two families."""
    frame = pl.DataFrame(
        {
            "hardware": ["a", "a", "b"], "backend": ["eager"] * 3, "family": ["x", "y", "y"], "measured": [1.0, 1.0, 1.0],
            "predicted": [1.0, 2.0, 4.0], "p10_s": [0.5, 1.5, 0.5], "p90_s": [2.0, 3.0, 9.0],
        }
    )  # fmt: skip
    found = study.scores(ONE, frame)
    by = {(row["hardware"], row["family"]): row for row in found.iter_rows(named=True)}
    assert by.keys() == {("*", "*"), ("a", "*"), ("b", "*"), ("*", "x"), ("*", "y")}
    whole = by["*", "*"]
    assert (whole["rows"], whole["standing"], whole["quantity"]) == (3, "as shipped", "time of a run")
    assert whole["median_error"] == pytest.approx(math.log(2), abs=1e-4)
    assert whole["p90_error"] == pytest.approx(1.8 * math.log(2), abs=1e-4)
    assert whole["within_30_fraction"] == pytest.approx(1 / 3, abs=1e-4)
    assert whole["interval_coverage_fraction"] == pytest.approx(2 / 3, abs=1e-4)
    assert by["*", "y"]["bias"] == pytest.approx(1.5 * math.log(2), abs=1e-4)
    assert list(found.columns) == list(study.SCORE)


def test_a_run_takes_the_place_of_carried_scores(tmp_path: Path) -> None:
    carried = study.results().head(1)
    carried.write_csv(tmp_path / "carried.csv")
    assert study.results(tmp_path)["date"].to_list() == carried["date"].to_list()
    frame = pl.DataFrame({"hardware": "a", "backend": "b", "family": "c", "measured": [2.0], "predicted": [1.0]})
    name = carried["study"][0]
    study.scores(replace(ONE, name=name), frame).write_parquet(tmp_path / f"{name}.parquet")
    rows = study.results(tmp_path)
    assert set(rows["study"]) == {name} and set(rows["version"]) == {study.version()}


def test_results_of_no_study_are_refused(tmp_path: Path) -> None:
    for name in ("carried.csv", "figures.csv"):
        shutil.copy(study.RESULTS / name, tmp_path)
    study.results().head(1).with_columns(study=pl.lit("nobody")).write_parquet(tmp_path / "nobody.parquet")
    with pytest.raises(CharzError, match="results of no study: nobody"):
        study.page(tmp_path)


def test_a_version_follows_the_numbers_and_queries_and_no_text() -> None:
    rows, known = loader.load().rows, views.load()
    version = study.version_of(rows, known)
    assert version == study.version() == study.version_of({k: v[::-1] for k, v in rows.items()}, known[::-1])

    first, *others = rows[HardwareMemory]
    faster = first.model_copy(update={"bandwidth_byte_per_s": 2 * (first.bandwidth_byte_per_s or 1.0)})  # type: ignore[attr-defined]
    assert study.version_of(rows | {HardwareMemory: [faster, *others]}, known) != version
    assert study.version_of(rows | {HardwareMemory: others}, known) != version
    for unread in (Source, EnergyFact):
        assert study.version_of(rows | {unread: []}, known) == version

    for layer, is_read in (("4_cost", True), ("1_hardware", True), ("invariant", False)):
        i = next(i for i, view in enumerate(known) if view.layer == layer)
        other = [*known[:i], replace(known[i], body=f"{known[i].body} LIMIT 0"), *known[i + 1 :]]
        spaced = [*known[:i], replace(known[i], body=known[i].body.replace("\n", "\n  ")), *known[i + 1 :]]
        assert (study.version_of(rows, other) != version) is is_read, known[i].name
        assert study.version_of(rows, spaced) == version
