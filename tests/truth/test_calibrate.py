"""Fits through their entry points: their refusals, the rows that they write, and constants recovered from times made with them."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import polars as pl
import pytest
from benchmarks import makers
from benchmarks.makers import __main__ as program
from benchmarks.makers import bands, live

from charz.hardware_catalog import uniform
from charz.hardware_catalog.calibration import calibrate, catalog_csv, store
from charz.hardware_catalog.calibration.rows import FittedRows
from charz.schema.catalog.devices import Collective
from charz.schema.catalog.efficiency import Efficiency, PredictionBand
from charz.schema.catalog.source import Source
from charz.schema.errors import CharzError
from charz.session import workspace

TABLES = Path(__file__).resolve().parents[2] / "hardware_catalog/tables"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Database of only the catalog."""
    path = tmp_path_factory.mktemp("calibrate") / "t.duckdb"
    workspace.read(path, create=True).close()
    return path


@pytest.mark.parametrize(
    ("scope", "line"),
    [
        ("moon", "not a scope: moon"),
        ("origin:charz", "not a scope: origin:charz"),
        ("family:gpu", "no measurements on parts of the scope"),
    ],
)
def test_a_scope_without_measurements_is_one_line(database: Path, scope: str, line: str) -> None:
    with workspace.read(database) as connection, pytest.raises(CharzError, match=line):
        calibrate.fit(connection, scope)


@pytest.mark.parametrize(
    ("name", "package", "line"),
    [
        ("tiles", None, "unknown shipped fit"),
        ("timm", Path("somewhere"), "this fit reads no package"),
        ("timm", None, "no results of timm to fit"),
        ("bands", None, "too few measured rows for a band"),
        ("operators", None, "no measured operators to fit"),
        ("gemm", Path("nowhere"), "no measurements in the package"),
    ],
)
def test_a_shipped_fit_without_its_data_is_one_line(database: Path, name: str, package: Path | None, line: str) -> None:
    with workspace.read(database) as connection, pytest.raises(CharzError, match=line):
        makers.fit(connection, name, package)


def test_shipped_rows_go_to_the_folder_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = Collective(
        interconnect="*", call_fraction=0.5, step_fraction=0.5, bandwidth_fraction=0.5, direct_call_fraction=0.25,
        direct_bandwidth_fraction=0.75, source_id="s", confidence="assumed",
    )
    monkeypatch.setattr(program, "fit", lambda *_: FittedRows(constants=[row]))
    assert program.main(["collectives"]) == 0
    assert not (tmp_path / "collective.csv").exists()
    assert "1 rows fitted" in capsys.readouterr().out
    assert program.main(["collectives", "--csv", str(tmp_path)]) == 0
    assert (tmp_path / "collective.csv").read_text().splitlines()[1] == "*,0.5,0.5,0.5,0.25,0.75,s,assumed"


def test_a_fit_without_its_data_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["tiles"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def efficiency(number: int, scope: str, fraction: float) -> Efficiency:
    return Efficiency(
        efficiency_id=number, scope=scope, backend="eager", kernel_class="linear", operator_name="*", precision_class="*",
        memory_format="*", resource="matrix", maximum_fraction=fraction, half_work=0.0, source_id="mine",
        confidence="measured", note=None,
    )  # fmt: skip


def test_a_fit_takes_the_place_of_its_earlier_rows_in_a_database(tmp_path: Path) -> None:
    """Of two scopes the second is fitted again, then withdrawn: the first and the shipped rows stay."""
    path = tmp_path / "t.duckdb"
    source = Source(source_id="mine", kind="measurement", locator="here", licence=None, what="runs")
    band = PredictionBand(
        scope="hardware:a", backend="eager", batch_class="*", quantity="latency", low_factor=0.9, high_factor=1.1,
        median_error_fraction=0.05, row_count=20, part_count=1, source_id="mine", confidence="measured",
    )  # fmt: skip
    query = "SELECT efficiency_id, scope, maximum_fraction FROM efficiency WHERE source_id = 'mine' ORDER BY ALL"

    def held(rows: FittedRows) -> list[tuple[object, ...]]:
        with workspace.change(path) as connection:
            store.replace(connection, rows)
        with workspace.read(path) as connection:
            return connection.execute(query).fetchall()

    with workspace.read(path, create=True) as connection:
        ((count,),) = connection.execute("SELECT count(*) FROM efficiency").fetchall()
    first = store.FIRST_OWN_ID
    assert held(FittedRows([efficiency(1, "hardware:a", 0.5)], [band], [source])) == [(first, "hardware:a", 0.5)]
    assert held(FittedRows([efficiency(1, "hardware:b", 0.25)])) == [
        (first, "hardware:a", 0.5), (first + 1, "hardware:b", 0.25)
    ]  # fmt: skip
    assert held(FittedRows([efficiency(1, "hardware:b", 0.75)])) == [
        (first, "hardware:a", 0.5), (first + 1, "hardware:b", 0.75)
    ]  # fmt: skip
    assert held(FittedRows(withdrawn={("hardware:b", "eager")})) == [(first, "hardware:a", 0.5)]
    with workspace.read(path) as connection:
        assert connection.execute("SELECT count(*) FROM efficiency").fetchall() == [(count + 1,)]
        assert connection.execute("SELECT row_count FROM prediction_band WHERE scope = 'hardware:a'").fetchall() == [
            (20,)
        ]


def test_constants_take_the_place_of_their_keys_in_the_tables(tmp_path: Path) -> None:
    """One row of two is fitted: it changes in its place, and the other row and the other tables do not change."""
    for name in ("collective", "efficiency", "source"):
        shutil.copy(TABLES / f"{name}.csv", tmp_path)
    row = Collective(
        interconnect="nvlink", call_fraction=0.8, step_fraction=0.2, bandwidth_fraction=0.5, direct_call_fraction=0.25,
        direct_bandwidth_fraction=0.75, source_id="charz_nccl_fit",
        confidence="measured",
    )  # fmt: skip
    catalog_csv.replace_rows(tmp_path, FittedRows(constants=[row]))
    before, after = (list(csv.reader((folder / "collective.csv").open())) for folder in (TABLES, tmp_path))
    assert [line[0] for line in after] == [line[0] for line in before]
    assert [line for line in after if line not in before] == [
        ["nvlink", "0.8", "0.2", "0.5", "0.25", "0.75", "charz_nccl_fit", "measured"]
    ]
    assert row in uniform.read(tmp_path / "collective.csv")
    for name in ("efficiency", "source"):
        assert (tmp_path / f"{name}.csv").read_bytes() == (TABLES / f"{name}.csv").read_bytes()


def test_collectives_are_fitted_to_the_constants_their_times_were_made_with(database: Path, tmp_path: Path) -> None:
    """Rings of 2 to 8 H100 over NVLink, timed by the formula of `collective` with 0.7, 0.2 and 0.5."""
    link = live.tables()["hardware_interconnect"].row(
        by_predicate=(pl.col("hardware") == "h100_sxm5_80") & (pl.col("interconnect") == "nvlink"), named=True
    )
    rows = []
    for count in (2, 4, 8):
        for power in range(12, 30, 3):
            elements = 2**power
            for name, passes in (("all_reduce", 2), ("all_gather", 1)):
                share = passes * (count - 1) / count
                transfer_s = share * 2 * elements / (0.5 * link["bandwidth_byte_per_s"])
                call_s = link["latency_s"] * (0.7 + 0.2 * passes * (count - 1))
                rows.append((name, count, elements, "half", 1e3 * (call_s + transfer_s)))
    folder = tmp_path / "systems/data/h100_sxm/nccl/nccl/2.0"
    folder.mkdir(parents=True)
    columns = ["op_name", "num_gpus", "message_size", "nccl_dtype", "latency"]
    timings = pl.DataFrame(rows, schema=columns, orient="row")
    timings.with_columns(framework=pl.lit("nccl"), version=pl.lit("2.0")).write_parquet(folder / "nccl_perf.parquet")
    with workspace.read(database) as connection:
        found = makers.fit(connection, "collectives", tmp_path)
    (row,) = found.constants
    assert isinstance(row, Collective) and row.interconnect == "nvlink"
    assert (row.call_fraction, row.step_fraction, row.bandwidth_fraction) == pytest.approx((0.7, 0.2, 0.5), rel=0.01)
    assert found.report["mean_error"][0] < 0.001 < found.report["mean_error_before"][0]


def test_a_band_covers_four_fifths_of_the_parts_left_out() -> None:
    """Residuals of ten parts have equal spread: the tenth and ninetieth percentile of -0.5 ... 0.5, hardly widened."""
    rows = pl.DataFrame(
        {
            "family": ["gpu"] * 1010, "backend": ["eager"] * 1010, "hardware": [f"part {i % 10}" for i in range(1010)],
            "residual": [(i // 10) / 100 - 0.5 for i in range(1010)], "weight": [1.0] * 1010,
        }
    )  # fmt: skip
    band = bands.fitted(rows)
    assert band is not None
    low, high = pl.Series([band["low_factor"], band["high_factor"]]).log()
    assert (low, high) == pytest.approx((-0.4, 0.4), abs=0.025)
    assert band["coverage"] == pytest.approx(0.8, abs=0.02)
    assert bands.fitted(rows.filter(hardware="part 0")) is None


def test_a_part_of_many_runs_weighs_as_one_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of three parts has as many runs as nine: in the band of unmeasured parts each weighs a third."""
    few = pl.DataFrame(
        {
            "family": ["gpu"] * 300, "backend": ["eager"] * 300, "batch_class": [">64"] * 300, "cell": ["gpu.eager"] * 300,
            "hardware": [f"part {i % 3}" for i in range(300)], "model": [f"model {i // 3}" for i in range(300)],
            "has_own_rows": [False] * 300, "residual": [((i // 3) / 50 - 0.99) * (0.1, 0.2, 0.4)[i % 3] for i in range(300)], "weight": [1.0] * 300,
        }
    )  # fmt: skip
    many = pl.concat([few, *[few.filter(hardware="part 0")] * 8])

    def band(rows: pl.DataFrame) -> tuple[float, float]:
        monkeypatch.setattr(bands, "residuals", lambda *_: rows)
        monkeypatch.setattr(bands, "unknown", lambda *_: rows)
        (found,) = (b for b in bands.fit(None).bands if (b.scope, b.batch_class) == ("family:gpu", "*"))  # type: ignore[arg-type]  # reads no file
        return found.low_factor, found.high_factor

    assert band(many) == pytest.approx(band(few), rel=0.01)
