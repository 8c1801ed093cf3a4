"""Loop nests of the products of a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from charz.schema.errors import CharzError
from charz.session import Messages, Session
from charz.session.question import single


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def db(file: Path, said: list[str]) -> Iterator[Session]:
    with Session(file, messages=Messages(remark=said.append)) as session:
        yield session


def rows(db: Session, on: str = "tpu_v1", **asked: Any) -> list[dict[str, Any]]:
    return db.mapping("small", on=on, precision="int8", **asked).to_dicts()  # type: ignore[no-any-return]


@pytest.mark.default
def test_every_product_has_a_best_nest_and_the_chosen_beside(db: Session, said: list[str]) -> None:
    found = rows(db)
    best = {row["product"]: row for row in found if row["stands"] == "best"}
    chosen = {row["product"]: row for row in found if row["stands"] == "chosen"}
    with db.cursor() as cursor:
        ((products,),) = cursor.execute(
            "SELECT COUNT(*) FROM run_product WHERE model = 'small' AND scenario_id ="
            " (SELECT MIN(scenario_id) FROM scenario WHERE backend = 'xla' AND precision = 'int8' AND batch = 1)"
        ).fetchall()
    assert len(best) == products > 0 and chosen.keys() <= best.keys() and chosen
    assert all(best[name]["edp_js"] <= row["edp_js"] * (1 + 1e-9) for name, row in chosen.items())
    assert {row["dataflow"] for row in chosen.values()} == {"weight_stationary"}
    assert said[-1].startswith(f"the best nests by edp of {len(chosen)} products take ")
    assert said[-1].endswith("; full clock, reference voltage, no efficiencies, dispatch or power limit")


@pytest.mark.parametrize(("by", "column"), [("time", "latency_s"), ("energy", "energy_j")])
def test_the_goal_is_what_is_least(db: Session, by: str, column: str) -> None:
    least = {row["product"]: row[column] for row in rows(db, by=by) if row["stands"] == "best"}
    for row in rows(db, by=by, top=20):
        assert row[column] >= least[row["product"]] * (1 - 1e-9)


def test_the_best_of_each_dataflow(db: Session) -> None:
    found = [row for row in rows(db, "kpu_t64", each=True) if row["stands"] == "best"]
    flows = {row["dataflow"] for row in found if row["product"] == found[0]["product"]}
    assert flows == {"weight_stationary", "output_stationary", "input_stationary", "wavefront", "row_stationary"}
    assert {row["dataflow"] for row in rows(db, dataflow="os,is") if row["stands"] == "best"} <= {
        "output_stationary", "input_stationary",
    }  # fmt: skip


def test_a_tile_by_hand_is_kept(db: Session) -> None:
    for row in rows(db, "kpu_t64", tile="inner=16x16x16,outer=32x32x32"):
        if row["stands"] == "best":
            for level, size in (("inner", 16), ("outer", 32)):
                assert row[f"{level}_tile"] == "x".join(str(min(row[d], size)) for d in "mnk")


def test_loops_run_through_the_whole_product(db: Session) -> None:
    """Trips times the innermost tile cover each dimension."""
    sizes = {row["product"]: row for row in rows(db, "kpu_t64", tile="inner=8x8x8") if row["stands"] == "best"}
    for product, row in sizes.items():
        loops = [r for r in rows(db, "kpu_t64", tile="inner=8x8x8", loops=True) if r["stands"] == "best"]
        mine = [r for r in loops if r["product"] == product]
        assert mine[-1]["level"] == "array"
        tile = dict(zip("mnk", map(int, mine[-1]["tile"].split("x")), strict=True))
        for loop in mine[:-1]:
            tile[loop["loop"]] *= loop["trips"]
        assert all(tile[d] >= row[d] for d in "mnk")


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ({"on": "rtx4090"}, "no array of known shape computes"),
        ({"dataflow": "xs"}, "unknown dataflow: xs"),
        ({"tile": "inner=0x1x1"}, "not a tile of a level"),
        ({"tile": "l9=8x8x8"}, "not a tile of a level"),
        ({"by": "price"}, "unknown goal: price"),
        ({"product": "nothing"}, "unknown product: nothing"),
    ],
)
def test_what_cannot_be_asked(db: Session, asked: dict[str, Any], line: str) -> None:
    with pytest.raises(CharzError, match=line):
        rows(db, **asked)


def test_nothing_is_left_in_the_session(db: Session) -> None:
    rows(db)
    with db.cursor() as cursor:
        assert cursor.execute("SELECT COUNT(*) FROM loop_nest").fetchall() == [(0,)]


@pytest.mark.parametrize(("part", "precision", "batch"), [("tpu_v4", "int8", 64), ("tpu_v1", "int8", 1)])
def test_the_chosen_nest_is_the_one_that_answers_count(db: Session, part: str, precision: str, batch: int) -> None:
    """Utilization and bytes of main memory equal those of the kernel, which counts no bytes for operands on the chip. Bytes are
    compared only for kernels of one product."""
    asked = db.mapping("small", on=part, precision=precision, batch=batch, dataflow="ws", tile="inner=128x128x128").to_dicts()
    found = [row for row in asked if row["stands"] == "chosen"]
    scoped, _ = db.target(single("small", part, batch, None, precision, None), "product_source")
    sources = scoped.records("SELECT * FROM product_source ORDER BY kernel_id, step_id")
    of_kernel: dict[int, int] = {}
    first: dict[tuple[float, ...], dict[str, Any]] = {}
    for source in sources:
        of_kernel[source["kernel_id"]] = of_kernel.get(source["kernel_id"], 0) + 1
        first.setdefault((source["m"], source["n"], source["k"]), source)
    assert found
    for row in found:
        source = first[row["m"], row["n"], row["k"]]
        assert row["utilization_fraction"] == pytest.approx(source["utilization_fraction"]), row
        if of_kernel[source["kernel_id"]] == 1:
            assert row["dram_byte"] == pytest.approx(source["dram_byte"]), row
