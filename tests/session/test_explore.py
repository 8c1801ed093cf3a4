"""A design space: each part is what a what-if says of it, and the front is what no other point beats."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import charz
from charz.schema.errors import CharzError
from charz.session import Session
from charz.session.decide.design_space import design_space

KPU = {"cluster.int8_tile.unit_count": 44, "cluster.bf16_tile.unit_count": 13, "cluster.matrix_tile.unit_count": 7}
"""64 of the 179 + 51 + 26 tiles: each kind has one, of the other 61 its share, 42.7 and 12.2 and 6.2, rounded down; the first
was rounded furthest."""

SPACES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "units, bandwidth, clock, a stated peak and an energy that a rule gives": (
        "t4",
        {
            "units": 80,
            "dram": "2TB/s",
            "clock": "1.2GHz",
            "peak.fp16.matrix.fp32.peak_ops_per_s": "10Tops/s",
            "energy.byte.dram": "1nJ/byte",
        },
        {
            "sm.unit_count": 80,
            "memory.dram.bandwidth_byte_per_s": "2TB/s",
            "sm.clock_boost_hz": "1.2GHz",
            "peak.fp16.matrix.fp32.peak_ops_per_s": "10Tops/s",
            "energy.byte.dram": "1nJ/byte",
        },
    ),
    "a part that others are lent from": ("rtx4090", {"units": 120}, {"sm.unit_count": 120}),
    "a part that borrows": ("l4", {"units": 232, "l2": "96MiB"}, {"sm.unit_count": 232, "l2.capacity_byte": "96MiB"}),
    "tiles of three kinds, each with its share of a level": (
        "kpu_t256",
        {"tiles": 64, "l2": "4MiB"},
        {**KPU, "memory.l2.capacity_byte": "64KiB"},
    ),
}
"""Part, what is explored and the same as changes of single numbers."""


@pytest.fixture(scope="module")
def db(file: Path) -> Iterator[Session]:
    with charz.open(file) as session:
        yield session


@pytest.mark.parametrize("name", SPACES)
def test_a_point_is_what_the_what_if_answers(name: str, db: Session, file: Path) -> None:
    part, vary, changes = SPACES[name]
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    (point,) = db.explore(base=part, vary=vary, models="small", batch=8).to_dicts()
    asked = {f"{part}.{field}": value for field, value in changes.items()}
    as_is, expected = db.what_if(asked, "compare", "small", on=part, batch=8).to_dicts()
    for column in ("latency_s", "edp_js", "average_power_w"):
        assert point[column] == pytest.approx(expected[column], rel=1e-12), column
    assert point["energy_j"] == pytest.approx(8 * expected["energy_per_sample_j"], rel=1e-12)
    assert point["energy_j"] != pytest.approx(8 * as_is["energy_per_sample_j"], rel=1e-6)
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before


@pytest.fixture(scope="module")
def points(file: Path, tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """Every point of a space of 60 parts in two precisions, as the file of points has them."""
    out = tmp_path_factory.mktemp("explored") / "points.parquet"
    vary = ["tiles=16:256", "l3=1MiB:8MiB", "dram=32GB/s,64GB/s,128GB/s"]
    with charz.open(file) as db:
        db.explore(base="kpu_t64", vary=vary, models=["small", "other"], precision="int8,bf16", out=out)
    return pl.read_parquet(out)


def test_the_front_is_what_no_point_beats(points: pl.DataFrame) -> None:
    assert len(points) == 5 * 4 * 3 * 2 and 0 < points["is_front"].sum() < len(points)
    known = points.filter(pl.col("energy_j").is_not_null())
    beyond = points.filter(pl.col("energy_j").is_null())
    # 256 tiles rest above the limit of 64.
    assert set(beyond["tiles"]) <= {256.0} and not beyond["is_front"].any()
    rows = known.select("latency_s", "energy_j", "is_front").rows()
    for latency, energy, is_front in rows:
        beaten = any(t <= latency and e <= energy and (t < latency or e < energy) for t, e, _ in rows)
        clearly = any(
            t <= latency * (1 + 1e-9)
            and e <= energy * (1 + 1e-9)
            and (t < latency * (1 - 1e-9) or e < energy * (1 - 1e-9))
            for t, e, _ in rows
        )
        assert clearly or not beaten or is_front
        assert is_front is not clearly


def test_several_models_run_one_after_another(db: Session) -> None:
    both, small, other = (
        db.explore(base="t4", vary="units=20", models=models).row(0, named=True)
        for models in (["small", "other"], "small", "other")
    )
    assert both["latency_s"] == pytest.approx(small["latency_s"] + other["latency_s"], rel=1e-12)
    assert both["energy_j"] == pytest.approx(small["energy_j"] + other["energy_j"], rel=1e-12)
    assert both["edp_js"] == pytest.approx(both["energy_j"] * both["latency_s"], rel=1e-12)


def test_what_limits_a_run_adds_up_to_its_time(file: Path) -> None:
    """On a processor threads begin and end, a KPU has none."""
    query = """
        SELECT p.hardware, scenario_id, m.latency_s - m.overhead_s, SUM(p.pace_s), LIST(p.pace)
        FROM busy_pace AS p JOIN model_cost AS m USING (model, hardware, backend, precision, batch, sequence, scenario_id)
        WHERE p.hardware IN ('kpu_t64', 'i7_13700k') AND model = 'small'
        GROUP BY ALL
    """
    with duckdb.connect(str(file), read_only=True) as connection:
        rows = connection.execute(query).fetchall()
    found: dict[str, set[str]] = {}
    for part, _, busy, total, paces in rows:
        assert total == pytest.approx(busy, rel=1e-9)
        found.setdefault(part, set()).update(paces)
    assert "threads" in found["i7_13700k"] and "threads" not in found["kpu_t64"]


def test_a_host_that_is_behind_limits_a_run(db: Session) -> None:
    (point,) = db.explore(base="t4", vary="units=40", models="small", backend="eager").to_dicts()
    (run,) = db.sql(
        "SELECT overhead_s, latency_s FROM model_cost", model="small", on="t4", batch=1, backend="eager"
    ).to_dicts()
    assert point["limited_by"] == "overhead"
    assert point["limited_fraction"] == pytest.approx(run["overhead_s"] / run["latency_s"], rel=1e-9)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ("tiles=64:1024", [64, 128, 256, 512, 1024]),
        ("l2=4MiB:16MiB", [2.0**22, 2.0**23, 2.0**24]),
        ("dram=128GB/s:1TB/s", [128e9, 128e9 * 7.8125 ** (1 / 3), 128e9 * 7.8125 ** (2 / 3), 1e12]),
        ("tiles=10:1000:3", [10, 100, 1000]),
        ("power.default.tdp_w=10:30:3", [10, 20, 30]),
        ("clock=1GHz,500MHz", [5e8, 1e9]),
    ],
)
def test_ranges_and_lists(given: str, values: list[float], db: Session) -> None:
    (axis,) = design_space(db.connection(), "kpu_t256", given).axes
    assert axis.values == pytest.approx(values, rel=1e-12)


def test_parts_without_an_answer_are_on_no_front(db: Session) -> None:
    """A level that cannot hold one step of the array (2 * 1 byte * 64 rows and columns) costs nothing: it has no answer."""
    asked = {
        "base": "kpu_t256",
        "vary": "memory.l1.capacity_byte=127B,128B",
        "models": "small",
        "precision": "int8",
    }
    rows = db.explore(**asked, every_point=True).to_dicts()
    assert {row["memory_l1_capacity_byte"]: row["latency_s"] is None for row in rows} == {128.0: False, 127.0: True}
    assert [row["is_front"] for row in rows] == [True, False]


def test_limits_bind(points: pl.DataFrame, db: Session) -> None:
    vary = ["tiles=16:256", "l3=1MiB:8MiB", "dram=32GB/s,64GB/s,128GB/s"]
    asked = {"base": "kpu_t64", "vary": vary, "models": ["small", "other"], "precision": "int8,bf16"}
    middle = points["latency_s"].median()
    found = db.explore(**asked, limit=f"latency={middle}s", objective="energy")
    assert found["latency_s"].max() <= middle  # type: ignore[operator]
    assert found["energy_j"].to_list() == sorted(found["energy_j"])
    least = points.filter(pl.col("latency_s") <= middle)["energy_j"].min()
    assert found["energy_j"].min() == pytest.approx(least, rel=1e-9), (
        "of equal points the one with the smallest numbers"
    )


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_other_files_hold_the_same_points(suffix: str, db: Session, tmp_path: Path) -> None:
    out = tmp_path / f"points.{suffix}"
    listed = db.explore(base="t4", vary="units=20:80", models="small", every_point=True, out=out)
    rows = json.loads(out.read_text()) if suffix == "json" else pl.read_csv(out).to_dicts()
    assert {row["units"]: row["latency_s"] for row in rows} == dict(listed.select("units", "latency_s").rows())


def test_a_picture(db: Session, tmp_path: Path) -> None:
    picture = tmp_path / "front.json"
    front = db.explore(base="t4", vary="units=20:80", models="small", picture=picture)
    drawn = json.loads(picture.read_text())
    assert len(drawn["layer"][0]["data"]["values"]) == 3 and len(drawn["layer"][2]["data"]["values"]) == len(front)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"vary": []}, "nothing is varied"),
        ({"vary": "units"}, "not a number with its values: units"),
        ({"vary": "units=80:20"}, "not a range: units=80:20. The low end comes first"),
        ({"vary": "units=20:80:1"}, "not a count of values: units=20:80:1. A range has two"),
        ({"vary": "units=20.5"}, "not a count"),
        ({"vary": "l2=-4MiB"}, "not an amount"),
        ({"vary": "l2=4W"}, "not an amount: l2=4W. Units: B"),
        ({"vary": "l9=4MiB"}, "unknown number of t4: l9. .*clock, dram, l1, l2"),
        ({"vary": "unit=20"}, "unknown number of t4: unit. Nearest: units"),
        ({"vary": "bandwidth_byte_per_s=1GB/s"}, "several numbers have this name"),
        ({"vary": ["units=20", "tiles=40"]}, "two names mean the same number: units, tiles"),
        ({"vary": "dram=1GB/s:2GB/s:10001"}, "too many parts: 10001"),
        ({"limit": "area=100"}, "unknown limit: area. There are energy, latency, memory, power"),
        ({"limit": "power"}, "not a limit: power"),
        ({"limit": "latency=1ns"}, "no part meets the limits: latency=1ns. latency_s is at least"),
        ({"objective": "price"}, "unknown objective: price"),
        ({"out": Path("points.xls")}, "unknown format of a file: points.xls"),
        ({"base": "nopart"}, "unknown part"),
        ({"models": "nomodel"}, "unknown model"),
        ({"precision": "fp8"}, "does not compute in this precision"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(given: dict[str, Any], line: str, db: Session) -> None:
    asked = {"base": "t4", "vary": "units=20", "models": "small", **given}
    with pytest.raises(CharzError, match=line):
        db.explore(**asked)
