"""The answer of a what-if equals the file's answer after the number is written."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import charz
from charz.cli import dispatch
from charz.schema.errors import CharzError
from charz.session import Session

CHANGES = {
    "one number": (
        {"t4.sm.unit_count": 80},
        "unit_count=80",
        "UPDATE hardware_cluster SET unit_count = 80 WHERE hardware = 't4'",
    ),
    "numbers of two parts": (
        {
            "t4.memory.dram.bandwidth_byte_per_s": "2TB/s",
            "t4.clock_boost_hz": "1.2GHz",
            "t4.energy.byte.dram": "1nJ/byte",
            "kpu_t64.default.clock_fraction": 0.5,
        },
        "bandwidth_byte_per_s=2TB/s, clock_boost_hz=1.2GHz, dram=1nJ/byte, clock_fraction=0.5",
        "UPDATE hardware_memory SET bandwidth_byte_per_s = 2e12 WHERE hardware = 't4' AND level = 'dram';"
        "UPDATE hardware_cluster SET clock_boost_hz = 1.2e9 WHERE hardware = 't4';"
        "INSERT INTO energy_profile SELECT * EXCLUDE (is_stated) REPLACE (1e-9 AS value) FROM part_energy"
        " WHERE hardware = 't4' AND what = 'byte' AND key = 'dram';"
        "UPDATE hardware_power SET clock_fraction = 0.5 WHERE hardware = 'kpu_t64'",
    ),
    "what stays in the arrays of two parts": (
        {"kpu_t64.dataflow": "is", "tpu_v4.hardware.dataflow": "output_stationary"},
        "kpu_t64.dataflow=is, tpu_v4.hardware.dataflow=output_stationary",
        "UPDATE hardware SET dataflow = 'input_stationary' WHERE hardware = 'kpu_t64';"
        "UPDATE hardware SET dataflow = 'output_stationary' WHERE hardware = 'tpu_v4'",
    ),
}
"""Numbers with their values, the name of the variant, and a plain client's statements with the same effect."""


@pytest.fixture(scope="module")
def db(file: Path) -> Iterator[Session]:
    with charz.open(file) as session:
        yield session


def changed(file: Path, path: Path, statement: str) -> Path:
    """Copy a file and change numbers as a plain client."""
    path.write_bytes(file.read_bytes())
    with duckdb.connect(str(path)) as connection:
        connection.execute(statement)
    return path


@pytest.mark.parametrize("name", CHANGES)
def test_a_what_if_is_what_the_changed_file_answers(name: str, file: Path, tmp_path: Path) -> None:
    changes, label, statement = CHANGES[name]
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    asked = {"on": ["t4", "kpu_t64"], "batch": "1,8"}
    with charz.open(file) as db, charz.open(changed(file, tmp_path / "changed.duckdb", statement)) as other:
        found = db.what_if(changes, "compare", ["small", "other"], **asked)
        as_is, expected = db.compare(["small", "other"], **asked), other.compare(["small", "other"], **asked)
    assert list(dict.fromkeys(found["variant"])) == ["as is", label] and found.columns == ["variant", *expected.columns]
    assert_frame_equal(found.filter(variant="as is").drop("variant"), as_is, rel_tol=0, check_dtypes=False)
    assert_frame_equal(found.filter(variant=label).drop("variant"), expected, rel_tol=1e-12, check_dtypes=False)
    assert not expected.equals(as_is)
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before


def test_every_table_of_parts_is_as_in_the_changed_file(file: Path, tmp_path: Path) -> None:
    """An L4's siblings of the same die are evaluated too, because unit counts decide who lends efficiencies."""
    statement = "UPDATE hardware_cluster SET unit_count = 232 WHERE hardware = 'l4'"
    with charz.open(file) as db, charz.open(changed(file, tmp_path / "changed.duckdb", statement)) as other:
        (session,) = [s for label, s in db.variants({"l4.sm.unit_count": 232}).items() if label != "as is"]
        query = "SELECT view FROM view_catalog WHERE kind = 'table' AND layer = '1_hardware'"
        for (table,) in other.connection().execute(query).fetchall():
            frames = [s.connection().sql(f"SELECT * FROM {table} ORDER BY ALL").pl() for s in (session, other)]
            assert_frame_equal(*frames, rel_tol=1e-12)


@pytest.mark.default
def test_lists_of_values_make_every_combination(file: Path) -> None:
    changes = {"t4.sm.unit_count": [20, "80"], "t4.l2.capacity_byte": "2MiB,8MiB"}
    with charz.open(file) as db:
        found = db.what_if(
            changes, "sql", "SELECT field, value FROM hardware_value WHERE hardware = 't4' AND is_edited"
        )
    values = {label: set(rows["value"]) for (label,), rows in found.partition_by("variant", as_dict=True).items()}
    assert {label: v for label, v in values.items() if "=" in str(label)} == {
        "unit_count=20, capacity_byte=2MiB": {20.0, 2.0**21},
        "unit_count=20, capacity_byte=8MiB": {20.0, 2.0**23},
        "unit_count=80, capacity_byte=2MiB": {80.0, 2.0**21},
        "unit_count=80, capacity_byte=8MiB": {80.0, 2.0**23},
    }


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({}, "nothing is changed"),
        ({"t4": 1}, "not a number of a part: t4"),
        ({"t4.bandwidth_byte_per_s": 1}, "several numbers have this name.*memory.dram.bandwidth_byte_per_s"),
        ({"t4.unit_counts": 1}, "unknown number of t4: unit_counts. Nearest: cluster.sm.unit_count"),
        ({"t4.sm.unit_count": "2GB"}, "not an amount: t4.sm.unit_count=2GB. It has no unit"),
        ({"t4.clock_boost_hz": "2W"}, "not an amount: .*Units: Hz, kHz, MHz, GHz"),
        ({"t4.sm.unit_count": 1.5}, "not a count"),
        ({"t4.sm.unit_count": []}, "a number without a value"),
        ({"t4.clock_boost_hz": float("nan")}, "no part has such a number"),
        ({"t4.clock_boost_hz": -1.0}, "no part has such a number"),
        ({"nopart.sm.unit_count": 1}, "unknown part"),
        ({"t4.dataflow": "ws"}, "unknown number of t4: dataflow"),
        ({"tpu_v4.dataflow": "1"}, "unknown tpu_v4.dataflow: 1. There are input_stationary"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(change: dict[str, object], line: str, db: Session) -> None:
    with pytest.raises(CharzError, match=line):
        db.what_if(change, "report", "small", on="t4")  # type: ignore[arg-type]


def test_a_method_that_writes_is_refused(file: Path) -> None:
    with charz.open(file) as db, pytest.raises(CharzError, match="unknown method of a what-if: ingest"):
        db.what_if({"t4.sm.unit_count": 80}, "ingest", "resnet18")


@pytest.mark.parametrize("command", [["report", "small", "--on", "t4"], ["hardware", "show", "t4"]])
def test_the_command_prints_what_the_method_returns(
    command: list[str], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["what-if", "--set", "t4.sm.unit_count=20,80", "--", *command, "--db", str(file), "--format", "json"]
    assert dispatch.run(line) == 0
    printed = json.loads(capsys.readouterr().out)
    with charz.open(file) as db:
        method, options = ("hardware.show", {}) if "show" in command else ("report", {"on": "t4"})
        argument = command[-1] if "show" in command else "small"
        frame = db.what_if({"t4.sm.unit_count": [20, 80]}, method, argument, **options)
    assert list(printed[0]) == frame.columns
    assert [row["variant"] for row in printed] == frame["variant"].to_list()
    column = "value" if "show" in command else "latency_s"
    assert [row[column] for row in printed] == pytest.approx(frame[column].to_list(), rel=1e-9)


@pytest.mark.default
def test_sql_of_the_command_line_knows_the_change(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT unit_count FROM part WHERE hardware = 't4'"
    line = ["what-if", "--set", "t4.sm.unit_count=80", "--", "sql", query, "--db", str(file), "--format", "json"]
    assert dispatch.run(line) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == [{"variant": "as is", "unit_count": 40.0}, {"variant": "unit_count=80", "unit_count": 80.0}]


def test_what_is_left_out_is_said_once(file: Path) -> None:
    with charz.open(file) as db, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        db.what_if({"t4.sm.unit_count": [20, 80]}, "compare", "small", on="t4", precision="fp32,fp8")
    assert [str(w.message) for w in said] == ["left out: fp8 on t4, it computes in fp16, fp32, fp64, int4, int8"]


@pytest.mark.xfail(
    reason="tiles are chosen at full clock: under a limit, others than at a slower clock may take 1.5 % longer"
)
@pytest.mark.parametrize("model", ["resnet18", pytest.param("vit_b_16", marks=pytest.mark.slow)])
def test_a_faster_clock_is_never_slower(model: str, tmp_path: Path) -> None:
    """At 4 GHz the units of an RTX 4090 are as fast as those of an L40S, which has the same die and rows of its own: it borrows
    none.

    The clock under a limit is interpolated between two steps, which changes the time by at most 0.3 %.
    """
    query = (
        "SELECT backend, precision, latency_s FROM model_report WHERE hardware = 'rtx4090' AND batch = 64"
        " ORDER BY backend, precision"
    )
    with charz.open(tmp_path / "clocks.duckdb") as db:
        db.ingest(model)
        lent = db.sql("SELECT backend FROM lending_part WHERE 'rtx4090' IN (hardware, lender) AND hardware <> 'l40'")
        found = db.what_if({"rtx4090.clock_boost_hz": "3.2GHz,4GHz,5.04GHz"}, "sql", query)
        assert lent.is_empty()
    by_clock = [times["latency_s"].to_list() for _, times in found.group_by("variant", maintain_order=True)]
    assert len(by_clock) == 4 and len(by_clock[0]) > 5
    for slower, faster in itertools.pairwise(by_clock):
        assert all(f <= 1.003 * s for s, f in zip(slower, faster, strict=True))
    assert sum(by_clock[-1]) < 0.99 * sum(by_clock[0])


def test_the_database_may_be_named_before_the_command(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHARZ_DB", "")
    asked = ["--", "report", "small", "--on", "t4", "--section", "run", "--format", "csv"]
    changes = ["what-if", "--set", "t4.sm.unit_count=80"]
    outputs = []
    for arguments in (["--db", str(file), *changes, *asked], [*changes, "--db", str(file), *asked]):
        assert dispatch.run(arguments) == 0
        outputs.append(capsys.readouterr().out)
        monkeypatch.setenv("CHARZ_DB", "")
    assert outputs[0] == outputs[1] and "unit_count=80" in outputs[0]


def test_models_of_other_sizes_answer_as_if_they_were_ingested(tmp_path: Path, few_parts: Path) -> None:
    """A perceptron twice as wide and with another depth has the answer of the ingested one; the file does not change."""
    path = tmp_path / "sizes.duckdb"
    shutil.copy(few_parts, path)
    base, other = (
        f"synthetic:mlp,in=64,hidden={hidden},out=16,layers={layers}" for hidden, layers in ((64, 2), (128, 3))
    )
    with charz.open(path) as db:
        db.ingest(base, no_answers=True)
        before = path.read_bytes()
        found = db.what_if({}, "compare", base, on="t4", sizes={"width": 128, "depth": "2,3"})
        assert path.read_bytes() == before
        again = db.what_if(
            {"t4.dram.bandwidth_byte_per_s": "640GB/s"}, "compare", base, on="t4", sizes={"hidden": 128, "layers": 3}
        )
        db.ingest(other, no_answers=True)
        (expected,) = db.compare(other, on="t4").to_dicts()
    assert found["variant"].to_list() == ["as is", "width=128, depth=2", "width=128, depth=3"]
    assert found["model"].to_list()[::2] == [base, other]
    assert found["latency_s"][2] == pytest.approx(expected["latency_s"], rel=1e-9)
    assert found["energy_per_sample_j"][2] == pytest.approx(expected["energy_per_sample_j"], rel=1e-9)
    assert len(again) == 4 and again["variant"][2] == "hidden=128, layers=3; as is"


@pytest.mark.parametrize(
    ("method", "arguments", "sizes", "said"),
    [
        ("report", ["small"], {"width": 8}, "not a size of this model"),
        ("sql", ["SELECT 1"], {"width": 8}, "no model to change"),
        ("compare", [["small", "other"]], {"width": 8}, "the changes apply to several models"),
        ("report", ["synthetic:mlp"], {"width": list(range(1, 70))}, "too many models"),
        ("report", ["torchvision:resnet18"], {"depth": 3}, "not a size of this model"),
    ],
)
def test_sizes_that_cannot_be_are_told(
    file: Path, method: str, arguments: list[Any], sizes: dict[str, Any], said: str
) -> None:
    with charz.open(file) as db, pytest.raises(CharzError, match=said):
        db.what_if({}, method, *arguments, on="t4", sizes=sizes)


def test_modules_in_another_precision_take_what_they_take_in_it(tmp_path: Path, few_parts: Path) -> None:
    """The second layer of a perceptron in int8 computes as under int8, the first as under fp32, and the weights of each are
    stored so; the file does not change."""
    path = tmp_path / "mixed.duckdb"
    shutil.copy(few_parts, path)
    model = "synthetic:mlp,in=256,hidden=512,out=256,layers=2"
    asked = {"on": "t4", "backend": "tensorrt"}
    with charz.open(path) as db:
        db.ingest(model, no_answers=True)
        before = path.read_bytes()
        kernels = db.what_if({}, "report", model, **asked, precision=None, section="kernels", modules={"2": "int8"})
        memory = db.what_if({}, "report", model, **asked, section="memory", modules={"2": "int8"})
        assert path.read_bytes() == before
        alone = {name: db.report(model, **asked, precision=name, section="kernels") for name in ("fp32", "int8")}
        with pytest.raises(CharzError, match="unknown module: layer9"):
            db.what_if({}, "report", model, **asked, modules={"layer9.*": "int8"})
        with pytest.raises(CharzError, match="not a module or precision"):
            db.what_if({}, "report", model, **asked, modules={"a'b": "int8"})

    def compute_s(frame: pl.DataFrame, module: str) -> float:
        return frame.filter(pl.col("module") == module)["compute_s"].sum()

    mixed = kernels.filter(pl.col("variant") == "2=int8")
    assert compute_s(mixed, "0") == pytest.approx(compute_s(alone["fp32"], "0"), rel=1e-6)
    assert compute_s(mixed, "2") == pytest.approx(compute_s(alone["int8"], "2"), rel=1e-6)
    assert compute_s(mixed, "2") < compute_s(alone["fp32"], "2")
    weights = dict(memory.select("variant", "weight_byte").iter_rows())
    assert weights["as is"] - weights["2=int8"] == pytest.approx(512 * 256 * 3)


def test_arrays_of_two_sizes_are_points_of_a_design_space(db: Session) -> None:
    """A what-if and a design space mean the same by `array`; a part without an array refuses it."""
    asked: dict[str, Any] = {"batch": 8, "precision": "int8"}
    found = db.what_if({"tpu_v1.array": "32x64,128"}, "compare", "small", on="tpu_v1", **asked)
    points = db.explore(base="tpu_v1", vary="array=32x64,128x128", models="small", every_point=True, **asked)
    times = dict(zip(found["variant"], found["latency_s"], strict=True))
    assert list(times) == ["as is", "array=32x64", "array=128"]
    assert [times["array=32x64"], times["array=128"]] == pytest.approx(points["latency_s"].to_list(), rel=1e-12)
    with pytest.raises(CharzError, match="no array of known shape: t4. TPUs, KPUs and parts with array_rows have an array"):
        db.what_if({"t4.array": 32}, "report", "small", on="t4")
