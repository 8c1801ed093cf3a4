"""In a design space each part has the answer of a what-if, and no point dominates a point of the front."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import charz
from charz.schema.errors import CharzError
from charz.session import Messages, Session, quantities
from charz.session.decide import front_moves
from charz.session.decide.design_space import design_space

KPU = {"cluster.int8_tile.unit_count": 44, "cluster.bf16_tile.unit_count": 13, "cluster.matrix_tile.unit_count": 7}
"""64 of 179 + 51 + 26 tiles: each kind gets one, and its share of the other 61, 42.7, 12.2 and 6.2, rounded down; the first was
rounded furthest, so it gets the last."""

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
    "what stays in the array": ("kpu_t256", {"dataflow": "ws"}, {"dataflow": "weight_stationary"}),
}
"""Part, explored values, and the same values as changes of single numbers."""


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
    """The file of points contains every point of a space of 60 parts in two precisions."""
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
    """On a processor threads begin and end; a KPU has none."""
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


@pytest.mark.default
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
    """A level too small for one step of the array (2 * 1 byte * 64 rows and columns) gives no answer instead of zero cost."""
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


MADE = ("area_mm2", "rest_w", "part_usd", "low_usd", "high_usd")


@pytest.mark.default
def test_a_part_as_it_is_costs_what_the_view_says(db: Session) -> None:
    (point,) = db.explore(base="t4", vary="units=40", models="small", every_point=True).to_dicts()
    (row,) = db.sql(f"SELECT {', '.join(MADE)} FROM part_cost WHERE hardware = 't4'").to_dicts()
    assert [point[name] for name in MADE] == pytest.approx([row[name] for name in MADE], rel=1e-12)
    assert 0 < point["low_usd"] < point["part_usd"] < point["high_usd"]


def test_what_is_added_costs_area_watts_and_dollars(db: Session) -> None:
    rows = db.explore(base="kpu_t256", vary="tiles=64:1024", models="small", every_point=True).to_dicts()
    rows.sort(key=lambda row: row["tiles"])
    for smaller, larger in itertools.pairwise(rows):
        assert all(smaller[name] < larger[name] for name in MADE if name != "rest_w")
        assert smaller["rest_w"] <= larger["rest_w"], "idle power that is stated stays"


def test_dice_of_several_decide_nothing_but_cost(db: Session) -> None:
    rows = db.explore(base="kpu_t256", vary="die_count=1,4", models="small", every_point=True).to_dicts()
    one, four = sorted(rows, key=lambda row: row["point"])
    for name in ("latency_s", "energy_j", "area_mm2", "rest_w"):
        assert one[name] == pytest.approx(four[name], rel=1e-12), name
    assert one["part_usd"] != pytest.approx(four["part_usd"], rel=1e-3)


def test_a_front_of_three(db: Session) -> None:
    """No point dominates a point of the front in time, energy and dollars, and every other point is dominated by one."""
    vary = ["tiles=8:64", "l3=1MiB,64MiB", "dram=16GB/s,256GB/s"]
    asked = {"base": "kpu_t64", "vary": vary, "models": "small", "precision": "int8,bf16", "every_point": True}
    rows = db.explore(**asked, by="latency,energy,usd").to_dicts()
    columns = ("latency_s", "energy_j", "part_usd")

    def beats(one: dict[str, Any], other: dict[str, Any]) -> bool:
        return all(one[n] <= other[n] * (1 + 1e-9) for n in columns) and any(
            one[n] < other[n] * (1 - 1e-9) for n in columns
        )

    known = [row for row in rows if row["energy_j"] is not None]
    assert len(known) == 32
    for row in known:
        assert row["is_front"] is not any(beats(other, row) for other in known)
    two = [row for row in db.explore(**asked).to_dicts() if row["is_front"]]
    assert len(two) < sum(row["is_front"] for row in rows) < len(rows)
    cheapest = min(known, key=lambda row: row["part_usd"])
    found = db.explore(**{**asked, "every_point": False}, by="usd", objective="usd").to_dicts()
    assert [row["part_usd"] for row in found] == pytest.approx([cheapest["part_usd"]])


def test_a_limit_of_power_lowers_the_clock(db: Session) -> None:
    """The limit acts as a cap on the part; without one the same point draws more."""
    asked = {"base": "kpu_t64", "vary": "tiles=32,64", "models": "other", "batch": 64, "every_point": True}
    free, limited, capped = (
        db.explore(**asked, **more).to_dicts() for more in ({}, {"limit": "power=2.5W"}, {"cap": "2.5w"})
    )
    assert max(row["average_power_w"] for row in free) > 2.5
    assert all(row["average_power_w"] <= 2.5 * (1 + 1e-9) for row in limited)
    for name in ("latency_s", "energy_j"):
        assert [row[name] for row in limited] == pytest.approx([row[name] for row in capped], rel=1e-12)
    assert max(row["latency_s"] for row in limited) > max(row["latency_s"] for row in free)


@pytest.mark.parametrize("name", ["area", "usd", "rest"])
def test_a_limit_of_silicon_binds(name: str, db: Session) -> None:
    asked = {"base": "kpu_t256", "vary": "tiles=64:1024", "models": "small"}
    column, unit = {"area": ("area_mm2", "mm2"), "usd": ("part_usd", "USD"), "rest": ("rest_w", "W")}[name]
    values = sorted(row[column] for row in db.explore(**asked, every_point=True).to_dicts())
    found = db.explore(**asked, limit=f"{name}={values[2]:.9g}{unit}", by=f"latency,{name}").to_dicts()
    assert max(row[column] for row in found) == pytest.approx(values[2], rel=1e-6)


def test_weights_make_geometric_means(db: Session) -> None:
    """The mean is the cube root of the square of one times the other."""
    both, small, other = (
        db.explore(base="t4", vary="units=20", models=models, **weight).row(0, named=True)
        for models, weight in ((["small", "other"], {"weight": "small=2"}), ("small", {}), ("other", {}))
    )
    for name in ("latency_s", "energy_j"):
        assert both[name] == pytest.approx((small[name] ** 2 * other[name]) ** (1 / 3), rel=1e-12)
    if small["limited_by"] == other["limited_by"]:
        mean = (2 * small["limited_fraction"] + other["limited_fraction"]) / 3
        assert (both["limited_by"], both["limited_fraction"]) == (small["limited_by"], pytest.approx(mean))
    (again,) = db.explore(base="t4", vary="units=20", models=["small", "other"], weight={"small": 2.0}).to_dicts()
    for name, value in both.items():
        assert again[name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value), name


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
    for layer in (0, 2):
        shown = {entry["field"] for entry in drawn["layer"][layer]["encoding"]["tooltip"]}
        assert {"point", "units", "limited_by", "latency_s", "energy_j", "area_mm2", "rest_w", "part_usd"} <= shown


def test_a_picture_of_three(db: Session, tmp_path: Path) -> None:
    """The third axis is the size of a mark; no line connects them."""
    picture = tmp_path / "front.json"
    front = db.explore(base="t4", vary="units=20:80", models="small", picture=picture, by="usd,latency,energy")
    _, line, marks, _ = json.loads(picture.read_text())["layer"]
    assert [marks["encoding"][axis]["field"] for axis in ("x", "y", "size")] == ["part_usd", "latency_s", "energy_j"]
    assert not line["data"]["values"] and len(marks["data"]["values"]) == len(front)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"vary": []}, "nothing is varied"),
        ({"vary": "units"}, "not a name with values: units"),
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
        ({"vary": "dataflow=ws"}, "no array of known shape: t4"),
        ({"base": "tpu_v4", "vary": "array=32x64x8"}, "not the size of an array: array=32x64x8. Write e.g. array=32,64 or"),
        ({"base": "tpu_v4", "vary": "dataflow=sideways"}, "unknown dataflow: sideways. There are input_stationary, output_stat"),
        ({"limit": "volume=100"}, "unknown limit: volume. There are area, energy, latency, memory, power, rest, usd"),
        ({"limit": "usd=5W"}, "not an amount: usd=5W. Units: USD"),
        ({"limit": "usd=1"}, "no part meets the limits: usd=1. part_usd is at least"),
        ({"limit": "power=60W", "cap": "60w"}, "a cap and a limit of power: --cap 60w"),
        ({"by": "latency,price"}, "unknown objective: price"),
        ({"by": "latency,energy,usd,area"}, "too many or too few objectives: 4. One to 3"),
        ({"weight": "other=2"}, "unknown model with a weight: other"),
        ({"weight": "small=0"}, "not a weight: small=0"),
        ({"weight": "small=x"}, "not an amount: small=x"),
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


SENSITIVE: dict[str, Any] = {
    "base": "t4",
    "vary": ["units=20,40", "dram=160GB/s,320GB/s"],
    "models": "small",
    "batch": 8,
}


def test_what_moves_the_front_is_what_spaces_with_twice_the_number_say(db: Session) -> None:
    """Twice the units or the bandwidth of a point of the front equals a point of a space with these numbers; means are geometric."""
    front = db.explore(**SENSITIVE).to_dicts()
    moves = {row["number"]: row for row in db.explore(**SENSITIVE, sensitivity=True).to_dicts()}
    wide = db.explore(
        **SENSITIVE | {"vary": ["units=20,40,80", "dram=160GB/s,320GB/s,640GB/s"]}, every_point=True
    ).to_dicts()
    at = {(p["units"], p["dram_byte_per_s"]): p for p in wide}
    for number, (units, dram) in {"units": (2, 1), "memory.dram.bandwidth_byte_per_s": (1, 2)}.items():
        assert moves[number]["points"] == len(front) > 1
        for ratio, column in {"time_ratio": "latency_s", "energy_ratio": "energy_j", "usd_ratio": "part_usd"}.items():
            logs = [math.log(at[p["units"] * units, p["dram_byte_per_s"] * dram][column] / p[column]) for p in front]
            assert moves[number][ratio] == pytest.approx(math.exp(sum(logs) / len(logs)), rel=1e-9), (number, ratio)


def test_numbers_that_move_most_come_first(db: Session) -> None:
    rows = db.explore(**SENSITIVE, sensitivity=True).to_dicts()
    sizes = [max(abs(math.log(row[name])) for name in ("time_ratio", "energy_ratio")) for row in rows]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > 0.05
    assert not {row["number"].split(".")[0] for row in rows} & {"peak", "power"}
    assert all(1 <= row["kept_points"] <= row["points"] for row in rows)
    with pytest.raises(CharzError, match="two lists at once"):
        db.explore(**SENSITIVE, sensitivity=True, every_point=True)


def test_a_long_front_is_asked_at_points_all_along_it() -> None:
    front = [{"point": i} for i in range(100)]
    some = front_moves.spread(front)
    assert len(some) == front_moves.MOST_POINTS and (some[0], some[-1]) == (front[0], front[-1])
    assert front_moves.spread(front[:5]) == front[:5]


def test_memory_is_a_kind_and_its_channels(db: Session) -> None:
    """Ten devices of GDDR6 are 640 GB/s and 20 GB; the same bytes of another kind have its energy, area and price."""
    asked: dict[str, Any] = {"base": "t4", "models": "small", "batch": 8, "every_point": True}
    found = {p["memory"]: p for p in db.explore(vary="memory=gddr6x10,HBM2x2", **asked).to_dicts()}
    assert set(found) == {"GDDR6x10", "HBM2x2"}
    same = db.explore(vary=["dram=640GB/s", "memory.dram.capacity_byte=20GB"], **asked).to_dicts()
    for name in ("latency_s", "energy_j", "area_mm2", "part_usd"):
        assert found["GDDR6x10"][name] == pytest.approx(same[0][name], rel=1e-12)
    other = db.explore(vary=["dram=512GB/s", "memory.dram.capacity_byte=16GB"], **asked).to_dicts()[0]
    # Stacks have fewer pins on the die and an interposer under them, and draw more while waiting.
    assert found["HBM2x2"]["area_mm2"] < other["area_mm2"] and found["HBM2x2"]["part_usd"] > other["part_usd"]
    assert found["HBM2x2"]["rest_w"] > other["rest_w"] and found["HBM2x2"]["energy_j"] > other["energy_j"]


def test_a_kind_of_memory_shows_its_rate_and_size(db: Session) -> None:
    """Ten devices of GDDR6, 64 GB/s and 2 GB each."""
    (point,) = db.explore(base="t4", vary="memory=GDDR6x10", models="small").to_dicts()
    assert (point["memory"], point["memory_byte_per_s"], point["memory_byte"]) == ("GDDR6x10", 640e9, 20e9)


@pytest.mark.parametrize("part", ["kpu_t64", "t4", "tpu_v4", "i7_13700k"])
def test_powers_of_one_name_are_equal_in_every_command(part: str, file: Path) -> None:
    """Idle power with gated clocks, static power at the reference clock, and static power at the clock of a run are three quantities."""
    said: list[str] = []
    with Session(file, messages=Messages(remark=said.append)) as db:
        field = f"cluster.{db.hardware.show(part).filter(pl.col('field').str.ends_with('unit_count'))['field'][0].split('.')[1]}.unit_count"
        known = dict(db.hardware.show(part).select("field", "value").rows())
        point = db.explore(base=part, vary=f"{field}={known[field]:g}", models="small", every_point=True).row(0, named=True)
        run = db.report("small", on=part).row(0, named=True)
        shares = dict(db.report("small", on=part, section="shares").select("part", "energy_j").rows())
        answer = db.report("small", on=part, section="answer")
        query = f"SELECT rest_w, static_w FROM part_cost JOIN part USING (hardware) WHERE hardware = '{part}'"
        ((rest, static),) = db.sql(query).rows()
        which = f"model = 'small' AND hardware = '{part}' AND backend = '{run['backend']}' AND precision = '{run['precision']}' AND batch = {run['batch']}"
        ((of_run,),) = db.sql(f"SELECT MAX(static_w) FROM kernel_time WHERE {which}", on=part).rows()
    assert point["rest_w"] == pytest.approx(rest)
    assert known.get("power.default.idle_w", rest) == pytest.approx(rest)
    assert known["energy.static.chip"] == pytest.approx(static)
    assert any(f"{static:.3g} W of static power at the reference clock and its voltage (energy.static.chip)" in line for line in said)
    assert shares["static power"] == run["static_energy_j"]
    assert run["static_energy_j"] / run["latency_s"] == pytest.approx(of_run)
    assert f"{quantities.quantity(of_run, 'W')} of it static at the clock of the run" in dict(answer.rows())["energy"]


def test_a_part_is_explored_in_the_precision_that_recommend_asks(db: Session) -> None:
    for base in ("kpu_t64", "t4"):
        (point,) = db.explore(base=base, vary="clock=1GHz", models="small", batch=1, every_point=True).to_dicts()
        choices = db.recommend("small", on=base, batch=1).to_dicts()
        assert choices and {choice["precision"] for choice in choices} == {point["precision"]}, base


def test_an_array_takes_its_peak_with_it(db: Session) -> None:
    """A TPU v1 with 128 rows and columns does a quarter of the operations a clock."""
    asked: dict[str, Any] = {"base": "tpu_v1", "models": "small", "batch": 8, "precision": "int8", "every_point": True}
    found = {p["array"]: p for p in db.explore(vary="array=128,256", **asked).to_dicts()}
    quarter = {
        "cluster.mxu.array_rows": 128, "cluster.mxu.array_columns": 128, "peak.int8.matrix.int32.ops_per_clock_per_unit": 32768,
    }  # fmt: skip
    same = db.explore(vary={name: [value] for name, value in quarter.items()}, **asked).to_dicts()[0]
    as_it_is = db.explore(vary="tiles=1", **asked).to_dicts()[0]
    for name in ("latency_s", "energy_j", "area_mm2"):
        assert found[128][name] == pytest.approx(same[name], rel=1e-12)
        assert found[256][name] == pytest.approx(as_it_is[name], rel=1e-12)
    assert found[128]["area_mm2"] < found[256]["area_mm2"]


def test_a_side_of_an_array_takes_the_peak_with_it(db: Session) -> None:
    """Half the rows of a TPU v1 are half its operations per clock, 256 * 256 * 2 / 2 = 65536; both sides together are the axis `array`."""
    asked: dict[str, Any] = {"base": "tpu_v1", "models": "small", "batch": 8, "precision": "int8", "every_point": True}
    found = {p["array_rows"]: p for p in db.explore(vary="array_rows=128,256", **asked).to_dicts()}
    peak = "peak.int8.matrix.int32.ops_per_clock_per_unit"
    same, kept = db.explore(vary={"cluster.mxu.array_rows": [128], peak: [65536, 131072]}, **asked).to_dicts()
    (sides,) = db.explore(vary=["array_rows=128", "array_columns=64"], **asked).to_dicts()
    both = {p["array"]: p for p in db.explore(vary="array=256,128x64", **asked).to_dicts()}
    for name in ("latency_s", "energy_j", "area_mm2"):
        assert found[128][name] == pytest.approx(same[name], rel=1e-12)
        assert both["128x64"][name] == pytest.approx(sides[name], rel=1e-12)
        assert both["256"][name] == pytest.approx(found[256][name], rel=1e-12)
    assert found[128]["area_mm2"] < found[256]["area_mm2"] and kept["latency_s"] != same["latency_s"]


def test_lanes_that_are_the_elements_of_an_array_follow_it(db: Session) -> None:
    """Each tile of a KPU has 32 * 32 lanes, which its matrix and vector peaks count; a tile of 16 rows has half of them."""
    asked: dict[str, Any] = {"base": "kpu_t256", "models": "small", "batch": 8, "precision": "int8", "every_point": True}
    half, whole = db.explore(vary="array=16x32,32x32", **asked).to_dicts()
    (as_it_is,) = db.explore(vary="tiles=256", **asked).to_dicts()
    assert whole["latency_s"] == pytest.approx(as_it_is["latency_s"], rel=1e-12)
    assert half["area_mm2"] < whole["area_mm2"]
    query = "SELECT field, value FROM hardware_value WHERE hardware = 'kpu_t256' AND field LIKE 'peak.%.peak_ops_per_s'"
    changes = {f"kpu_t256.{tile}.array_rows": 16 for tile in ("int8_tile", "bf16_tile", "matrix_tile")}
    rows = db.what_if(changes, "sql", query).partition_by("variant", as_dict=True)
    before, after = (dict(frame["field", "value"].rows()) for frame in rows.values())
    assert after == pytest.approx({field: value / 2 for field, value in before.items()}, rel=1e-12) and len(before) > 5


def test_a_changed_side_in_a_what_if_takes_the_peak_with_it(db: Session) -> None:
    """32 of 256 rows are an eighth of the 92 Tops/s; a peak that is changed too has its own value."""
    query = "SELECT value FROM hardware_value WHERE hardware = 'tpu_v1' AND field = 'peak.int8.matrix.int32.peak_ops_per_s'"
    changes: dict[str, Any] = {"tpu_v1.array_rows": 32}
    assert db.what_if(changes, "sql", query)["value"].to_list() == pytest.approx([92e12, 92e12 / 8], rel=1e-12)
    stated = changes | {"tpu_v1.peak.int8.matrix.int32.peak_ops_per_s": "50Tops/s"}
    assert db.what_if(stated, "sql", query)["value"].to_list() == pytest.approx([92e12, 50e12], rel=1e-12)


def test_every_dataflow_stands_beside_the_others(db: Session) -> None:
    """A KPU with weight-, output- and input-stationary arrays, and unchanged; each has its full name once."""
    asked: dict[str, Any] = {"base": "kpu_t256", "models": "small", "batch": 8, "precision": "int8", "every_point": True}
    found = db.explore(vary="dataflow=ws,os,is,df,weight_stationary", **asked)
    points = {p["dataflow"]: p for p in found.to_dicts()}
    assert set(points) == {"weight_stationary", "output_stationary", "input_stationary", "wavefront"}
    (as_it_is,) = db.explore(vary="tiles=256", **asked).to_dicts()
    assert points["wavefront"]["latency_s"] == pytest.approx(as_it_is["latency_s"], rel=1e-12)
    assert points["wavefront"]["energy_j"] == pytest.approx(as_it_is["energy_j"], rel=1e-12)
    assert len({p["energy_j"] for p in points.values()}) > 2
    # Domain flow adds to stationary results a reduction split over several tiles.
    assert points["output_stationary"]["latency_s"] >= points["wavefront"]["latency_s"]


@pytest.mark.parametrize("memory", ["LPDDR5", "LPDDR9x4", "LPDDR5x0", "4"])
def test_memory_that_there_is_not(memory: str, db: Session) -> None:
    with pytest.raises(CharzError, match="not a kind of memory with a number of channels"):
        db.explore(base="t4", vary=f"memory={memory}", models="small")
