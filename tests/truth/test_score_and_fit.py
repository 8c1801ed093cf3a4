"""Scores with results computed by hand, and a fit that must recover the parameters of its data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from charz.hardware_catalog.calibration import catalog_csv, errors, fit, whole_models
from charz.hardware_catalog.calibration.kernels import Kernels
from charz.hardware_catalog.calibration.rows import FittedRows
from charz.schema.catalog.efficiency import Efficiency


def test_score_by_hand() -> None:
    frame = pl.DataFrame({"latency_s": [1.0, 2.0, 4.0, 8.0], "measured_s": [1.0, 2.2, 2.0, 8.0]})
    row = errors.table(frame, []).to_dicts()[0]
    misses = sorted([0.0, math.log(2.2 / 2.0), math.log(2.0), 0.0])
    assert row["rows"] == 4
    assert row["median_error"] == pytest.approx((misses[1] + misses[2]) / 2)
    assert row["mape"] == pytest.approx((0 + 0.2 / 2.2 + 1.0 + 0) / 4)
    assert row["within_30_fraction"] == 0.75
    # Ranks 1 2 3 4 against 1 3 2 4: 1 - 6*2/(4*15).
    assert row["spearman"] == pytest.approx(0.8)


def test_score_counts_what_lies_inside_the_band() -> None:
    frame = pl.DataFrame({"latency_s": [1.0, 1.0], "measured_s": [1.1, 2.0], "p10_s": [0.9, 0.9], "p90_s": [1.2, 1.2]})
    assert errors.table(frame, [])["interval_coverage_fraction"][0] == 0.5


def test_unpredicted_rows_drop_out() -> None:
    frame = pl.DataFrame({"latency_s": [1.0, None, 0.0], "measured_s": [1.0, 1.0, 1.0]})
    assert errors.table(frame, [])["rows"][0] == 1


def _kernels(efficiency: dict[str, float], cases: int = 60, operators: Sequence[str] = ("aten.layer_norm",)) -> Kernels:
    """Make cases of a compute-bound linear and a memory-bound kernel for each further operator, timed with the given efficiencies
    (by class or ATen operator) and 85 % overlap."""
    generator = np.random.default_rng(5)
    each = 1 + len(operators)
    case = np.repeat(np.arange(cases), each)
    group_of = np.tile(np.arange(each), cases)
    matrix = np.where(group_of == 0, generator.uniform(1e-3, 1e-2, each * cases), 0.0)
    dram = np.where(group_of > 0, generator.uniform(1e-3, 1e-2, each * cases), 1e-5)
    zeros = np.zeros(each * cases)
    frame = pl.DataFrame(
        {
            "hardware": ["a"] * cases, "backend": ["eager"] * cases, "memory_format": ["nchw"] * cases,
            "software": ["x"] * cases, "architecture_family": [f"f{i % 6}" for i in range(cases)],
            "model": [f"m{i}" for i in range(cases)], "source_id": ["s"] * cases, "batch": [64] * cases,
        }
    )  # fmt: skip
    kernels = Kernels(
        case=case, count=np.ones(each * cases), group_of=group_of,
        group=pl.DataFrame({
            "hardware": ["a"] * each, "backend": ["eager"] * each, "memory_format": ["nchw"] * each,
            "kernel_class": ["linear", *["norm"] * len(operators)], "operator_name": ["aten.linear", *operators],
            "is_single_algorithm": [True, *[False] * len(operators)], "varies_by_format": [False, *[True] * len(operators)],
            "varies_by_strides": [False] * each,
        }),
        ideal={"matrix": matrix, "vector": zeros, "dram": dram}, slope={"matrix": zeros, "vector": zeros, "dram": zeros},
        naive_s=zeros, cache_s=zeros, reload_s=zeros, feed_s=zeros, reorder_s=zeros, paging_s=zeros, thread_s=zeros, team_s=zeros,
        gap_s=zeros, block_s=zeros,
        host_s=np.zeros(cases), first_s=np.zeros(cases), is_serial=np.zeros(cases, bool), cases=frame,
    )  # fmt: skip
    truth = fit.Fit(
        {
            (name, "*", "matrix" if name == "linear" else "memory", "maximum_fraction"): fraction
            for name, fraction in efficiency.items()
        }
    )
    kernels.cases = frame.with_columns(measured_s=pl.Series(fit.predict(kernels, truth)))
    return kernels


def test_fit_finds_the_efficiencies_the_times_were_made_with() -> None:
    pytest.importorskip("scipy")
    kernels = _kernels({"linear": 0.55, "norm": 0.9})
    found = fit.fit(kernels, strength=0.01)
    assert found.get(["linear"], "nchw", "matrix", "maximum_fraction") == pytest.approx(0.55, rel=0.02)
    assert found.get(["norm"], "nchw", "memory", "maximum_fraction") == pytest.approx(0.9, rel=0.02)


def test_fit_tells_one_thread_from_a_team() -> None:
    """Of 60 cases with a norm, every second runs it on one thread, which takes 1 ms over 0.6; the others wait for a team that
    takes twice the part's 0.25 ms."""
    pytest.importorskip("scipy")
    kernels = _kernels({"linear": 0.55, "norm": 0.9})
    is_norm = kernels.group_of == 1
    is_alone = is_norm & (kernels.case % 2 == 0)
    kernels.thread_s, kernels.team_s = np.where(is_alone, 1e-3, 0.0), np.where(is_norm & ~is_alone, 2.5e-4, 0.0)
    kernels.ideal["dram"] = np.where(is_norm, 1e-4, kernels.ideal["dram"])
    truth = fit.Fit({
        ("linear", "*", "matrix", "maximum_fraction"): 0.55, ("norm", "*", "memory", "maximum_fraction"): 0.9,
        ("*", "*", "thread", "maximum_fraction"): 0.6, ("*", "*", "thread", "half_work"): 2.0,
    })  # fmt: skip
    kernels.cases = kernels.cases.with_columns(measured_s=pl.Series(fit.predict(kernels, truth)))
    found = fit.fit(kernels, strength=0.01)
    assert found.get(["norm", "*"], "nchw", "thread", "maximum_fraction") == pytest.approx(0.6, rel=0.02)
    assert found.get(["norm", "*"], "nchw", "thread", "half_work") == pytest.approx(2.0, rel=0.05)


def test_an_operator_unlike_its_class_gets_a_row_of_its_own() -> None:
    pytest.importorskip("scipy")
    names = ("aten.layer_norm", "aten.group_norm")
    kernels = _kernels({"linear": 0.55, "aten.layer_norm": 0.9, "aten.group_norm": 0.3}, operators=names)
    result = whole_models.calibrate(kernels, "hardware:a", "eager", fit.Fit({}), fold_count=3, strength=0.01)
    rows = {(r.operator_name, r.resource): r.maximum_fraction for r in whole_models.efficiency_rows(result)}
    assert [rows[name, "memory"] for name in names] == pytest.approx([0.9, 0.3], rel=0.02)


def test_left_out_families_are_predicted_by_the_others() -> None:
    pytest.importorskip("scipy")
    kernels = _kernels({"linear": 0.55, "norm": 0.9})
    predicted = fit.left_out(kernels, fit.choose_keys(kernels), "architecture_family", 3, strength=0.01)
    error = np.abs(np.log(predicted / kernels.cases["measured_s"].to_numpy()))
    assert np.median(error) < 0.02


def test_calibration_rows_are_valid_and_carry_their_error() -> None:
    pytest.importorskip("scipy")
    kernels = _kernels({"linear": 0.55, "norm": 0.9})
    result = whole_models.calibrate(kernels, "hardware:a", "eager", fit.Fit({}), fold_count=3)
    rows = whole_models.efficiency_rows(result)
    assert len({(r.kernel_class, r.memory_format, r.resource) for r in rows}) == len(rows)
    assert all(0 < r.maximum_fraction <= 1 for r in rows)
    assert all("left out" in (r.note or "") for r in rows)
    band = next(
        b for b in whole_models.bands(result.cases, "family_out_s", "hardware:a", "eager", "s") if b.batch_class == "*"
    )
    assert band.low_factor <= band.high_factor
    assert band.row_count == 60


def test_folds_keep_a_family_whole() -> None:
    dealt = fit.folds(["a"] * 5 + ["b"] * 3 + ["c"], 2)
    assert sorted(name for fold in dealt for name in fold) == ["a", "b", "c"]
    assert ["a"] in dealt


def test_band_of_other_families_covers_about_what_it_says() -> None:
    generator = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "latency_s": np.ones(2000), "measured_s": np.exp(generator.normal(0, 0.1, 2000)),
            "architecture_family": [f"f{i % 20}" for i in range(2000)],
        }
    )  # fmt: skip
    assert whole_models.band_coverage(frame, "latency_s") == pytest.approx(0.8, abs=0.03)


def test_a_prior_is_made_without_what_is_left_out() -> None:
    """Six families of one network each form three folds. The prior is computed once a fold, and for all families at the end; the
    rows that a fold predicts follow the prior of that fold."""
    pytest.importorskip("scipy")
    kernels = _kernels({"linear": 0.55, "norm": 0.9}, cases=12)
    asked: list[list[str]] = []

    def without(families: Sequence[str]) -> fit.Fit:
        asked.append(sorted(families))
        return fit.Fit({("linear", "*", "matrix", "maximum_fraction"): 0.5 if "f0" in families else 0.001})

    keys = [("norm", "*", "memory", "maximum_fraction")]
    found = fit.left_out(kernels, keys, "architecture_family", 3, without)
    assert sorted(f for families in asked for f in families) == [f"f{i}" for i in range(6)]
    # Products take 1 to 10 ms at the peak: seconds at a thousandth of it, less than one at half.
    with_f0 = next(families for families in asked if "f0" in families)
    slow = ~kernels.cases["architecture_family"].is_in(with_f0).to_numpy()
    assert (found[slow] > 1.0).all()
    assert (found[~slow] < 1.0).all()


def test_a_fit_replaces_its_rows_and_leaves_those_set_by_hand(tmp_path: Path) -> None:
    """A new fit of a scope and backend removes its overlap; its residency, which no fit gives, stays, as does eager's."""

    def row(backend: str, resource: str, fraction: float) -> Efficiency:
        return Efficiency(
            efficiency_id=1, scope="family:gpu", backend=backend, kernel_class="*", operator_name="*", precision_class="*", memory_format="*",
            resource=resource, maximum_fraction=fraction, half_work=0.0, source_id="s", confidence="derived", note=None,
        )  # fmt: skip

    before = [row("inductor", "overlap", 0.5), row("inductor", "residency", 1.0), row("eager", "overlap", 0.25)]
    catalog_csv.replace_rows(tmp_path, FittedRows(before))
    catalog_csv.replace_rows(tmp_path, FittedRows([row("inductor", "memory", 0.75)]))
    kept = (
        pl.read_csv(tmp_path / "efficiency.csv")
        .select("efficiency_id", "backend", "resource", "maximum_fraction")
        .rows()
    )
    assert kept == [(2, "inductor", "residency", 1.0), (3, "eager", "overlap", 0.25), (4, "inductor", "memory", 0.75)]
    catalog_csv.replace_rows(tmp_path, FittedRows(withdrawn={("family:gpu", "inductor")}))
    left = pl.read_csv(tmp_path / "efficiency.csv").select("backend", "resource").rows()
    assert left == [("inductor", "residency"), ("eager", "overlap")]
