"""Every picture shows the rows of its view."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.dom import minidom

import pytest

import charz
from charz.cli import dispatch
from charz.schema.errors import CharzError
from charz.session import CharzWarning, Messages, Session
from charz.session.ask import charts
from charz.session.ask.plot import PICTURES

PART = "h100_sxm5_80"


@pytest.fixture(scope="module")
def db(file: Path) -> Iterator[Session]:
    with charz.open(file) as session:
        yield session


def values(chart: Any) -> list[list[dict[str, Any]]]:
    """Return the rows of each layer of a chart, in order."""
    drawn = chart.to_dict()
    layers = drawn.get("layer", [drawn])
    return [layer["data"]["values"] for layer in layers if layer.get("data", {}).get("values")]


@pytest.mark.slow
@pytest.mark.parametrize("kind", PICTURES)
def test_picture_is_drawn(kind: str, db: Session, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    out = tmp_path / f"{kind}.svg"
    chart = db.plot(kind, "small", on=PART, out=out)
    drawn = out.read_text()
    assert drawn.startswith("<svg") and "small" in drawn
    assert "small" in chart.to_dict()["title"]["text"]


def test_a_roofline_has_a_mark_for_each_kernel_that_computes(db: Session) -> None:
    chart = db.plot("roofline", "small", on="t4", precision="fp32", backend="eager")
    kernels = db.sql(
        "SELECT latency_s, flops / moved_byte AS arithmetic_intensity FROM kernel_latency WHERE flops > 0 AND moved_byte > 0",
        model="small", on="t4", batch=1, precision="fp32", backend="eager",
    )  # fmt: skip
    (marks,) = [rows for rows in values(chart) if "kernel" in rows[0]]
    assert sorted(mark["latency_s"] for mark in marks) == pytest.approx(sorted(kernels["latency_s"]), rel=1e-9)
    assert sum(mark["arithmetic_intensity"] for mark in marks) == pytest.approx(kernels["arithmetic_intensity"].sum())


def test_a_front_of_several_models_tells_them_apart(db: Session) -> None:
    """The title names both models, each has its color, and each label on the front begins with the model's name."""
    drawn = db.plot("pareto", "small,other", on="t4,l4", precision="fp16", backend="inductor").to_dict()
    assert drawn["title"]["text"].startswith("Latency against energy: other and small")
    assert {layer["encoding"]["color"]["field"] for layer in drawn["layer"] if "color" in layer["encoding"]} == {"model"}
    _, front, named = (list(layer["data"]["values"]) for layer in drawn["layer"])
    assert all(row["label"].startswith(f"{row['model']} ") for row in front)
    assert {row["model"] for row in front} == {row["model"] for row in named} == {"small", "other"}
    alone = db.plot("pareto", "small", on="t4,l4", precision="fp16", backend="inductor").to_dict()
    assert alone["layer"][1]["encoding"]["color"]["field"] == "family"
    assert all(row["label"].startswith(("t4", "l4")) for row in alone["layer"][1]["data"]["values"])


def test_batches_are_swept_where_none_is_named(db: Session) -> None:
    (line, *_) = values(db.plot("batch", "small", on="t4,kpu_t64"))
    assert {row["part"] for row in line} == {"t4", "kpu_t64 (simulated)"}
    assert {row["batch"] for row in line} <= {2**i for i in range(11)} and len(line) > 11
    (line, *_) = values(db.plot("batch", "small,other", on="t4"))
    assert {row["part"] for row in line} == {"t4 other", "t4 small"} and len({(row["part"], row["batch"]) for row in line}) == len(line)


@pytest.mark.default
def test_bars_of_a_backend_add_up_to_its_time(db: Session) -> None:
    bars, _ = values(db.plot("fusion", "small", on="t4"))
    report = db.compare("small", on="t4", backend=sorted({bar["run"] for bar in bars}))
    times = dict(report.select("backend", "latency_s").iter_rows())
    assert len(times) > 1
    for backend, latency_s in times.items():
        assert sum(bar["seconds"] for bar in bars if bar["run"] == backend) == pytest.approx(latency_s, rel=1e-9)


def test_fused_stands_beside_unfused_on_every_family(db: Session) -> None:
    bars, _ = values(db.plot("fusion", "small", on="kpu_t64"))
    assert {bar["run"] for bar in bars} == {"kpu", "kpu_unfused"}


def test_every_part_that_is_asked_has_its_bars(db: Session) -> None:
    bars, _ = values(db.plot("fusion", "small", on="kpu_t64,t4", backend="kpu,kpu_unfused,eager"))
    assert {bar["run"] for bar in bars} == {"kpu_t64 kpu", "kpu_t64 kpu_unfused", "t4 eager"}


def test_batches_of_a_shmoo_are_swept_where_none_is_named(db: Session) -> None:
    points, *_ = values(db.plot("shmoo", "small", on="t4"))
    assert [point["batch"] for point in points] == [1, 4, 16, 64, 256]


def test_a_pattern_names_models(file: Path) -> None:
    said: list[str] = []
    with Session(file, messages=Messages(remark=said.append)) as db:
        db.plot("edp", "*e*", on="t4")
    assert any(line.startswith("2 targets fit; drawing decoder, t4") for line in said)  # decoder and other


@pytest.mark.parametrize(
    ("kind", "models", "options", "says"),
    [
        ("rofline", "small", {}, "unknown picture.*roofline"),
        ("edp", "smal", {}, "unknown model"),
        ("edp", "x*", {}, "unknown model"),
        ("edp", "small", {"on": "t4", "out": Path("a.bmp")}, "unknown picture format.*svg"),
        ("edp", "small", {"on": "tpu_v1", "precision": "fp16"}, "does not compute in this precision"),
    ],
)
def test_errors_say_what_to_do(db: Session, kind: str, models: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(CharzError, match=says):
        db.plot(kind, models, **options)


def test_the_command_names_the_file(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "edp.json"
    assert dispatch.run(["plot", "edp", "small", "--on", "t4", "--out", str(out), "--db", str(file)]) == 0
    assert out.read_text().startswith("{") and str(out) in capsys.readouterr().out
    assert dispatch.run(["plot", "edp", "small", "--on", "t4", "--db", str(file)]) == 2
    assert "no file to draw into" in capsys.readouterr().err


def test_control_characters_of_names_are_written_out_in_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    name = "\x1b[2J\x00\u202e<b>&"
    point = {"footprint_byte": 1.0, "attained_ops_per_s": 2.0, "series": name, "model": name, "batch": 1, "tile": name}
    charts.save(charts.shmoo([{**point, "served": name, "weights": name}], [], name), tmp_path / "odd.svg")
    drawn = (tmp_path / "odd.svg").read_text()
    assert minidom.parseString(drawn) and "\u202e" not in drawn
    assert drawn.count("\\x1b[2J\\x00\\u202e&lt;b&gt;&amp;") >= 2, "the title and the name of the line"


@pytest.mark.default
def test_a_shmoo_has_as_many_colors_as_tiles() -> None:
    """Twelve tiles are more than the colors of a default palette; a level is drawn at its capacity, with its name away from the
    legend."""
    points = [
        {"footprint_byte": 2.0**i, "attained_ops_per_s": 1.0, "series": "a", "model": "m", "batch": 1, "tile": f"{i}",
         "served": "dram", "weights": "dram"}
        for i in range(12)
    ]  # fmt: skip
    chart = charts.shmoo(points, [{"label": "l2", "capacity_byte": 64.0}], "title").to_dict()
    (scale,) = [layer["encoding"]["color"]["scale"] for layer in chart["layer"] if "color" in layer.get("encoding", {})]
    assert scale["domain"] == [f"{i}" for i in range(12)]
    assert len(set(scale["range"])) == 12
    assert [{"label": "l2", "capacity_byte": 64.0}] in values(
        charts.shmoo(points, [{"label": "l2", "capacity_byte": 64.0}], "title")
    )


def test_a_single_point_is_drawn(db: Session, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    db.plot("shmoo", "small", on="t4", out=tmp_path / "one.svg")
    db.explore(base="t4", vary="units=40", models="small", picture=tmp_path / "front.svg")
    assert all((tmp_path / name).read_text().startswith("<svg") for name in ("one.svg", "front.svg"))


def test_a_page_holds_its_scripts(tmp_path: Path) -> None:
    """A browser shows it without a network."""
    pytest.importorskip("vl_convert")
    point = {"footprint_byte": 1.0, "attained_ops_per_s": 2.0, "series": "a", "model": "m", "batch": 1, "tile": "t"}
    charts.save(charts.shmoo([{**point, "served": "l2", "weights": "l2"}], [], "title"), tmp_path / "page.html")
    assert not re.findall(r"<script[^>]*\ssrc=", (tmp_path / "page.html").read_text())


def test_a_picture_of_nothing_is_an_error_and_a_part_without_a_point_is_said(db: Session) -> None:
    with pytest.raises(CharzError, match="nothing to draw: small.*No batch fits the memory there. Name other values"):
        db.plot("batch", "small", on="t4", batch=10**7)
    (row,) = db.report("small", on="t4", precision="fp32", section="largest_batch").to_dicts()
    with pytest.warns(CharzWarning, match="left out: kpu_t64, no batch fits the memory there"):
        db.plot("batch", "small", on=["t4", "kpu_t64"], batch=[row["largest_batch"]], precision="fp32")
