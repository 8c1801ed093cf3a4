"""Answers of a session's methods on a small database."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import charz
from charz.cli import dispatch
from charz.schema.errors import CharzError
from charz.session import CharzWarning, Session
from charz.session.ask import memory_fits, prices
from charz.session.decide.limits import limits
from charz.session.decide.recommend import FRONT, _verdict
from charz.session.messages import Messages

PART = "h100_sxm5_80"


@pytest.fixture(scope="module")
def db(file: Path) -> Iterator[Session]:
    with charz.open(file) as session:
        yield session


def parts(frame: pl.DataFrame) -> dict[str, str]:
    return dict(frame.select("hardware", "precision").iter_rows())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "models", "options"),
    [
        ("recommend", "small", {"latency": "5ms", "energy": "50J", "memory": "8GiB", "price": 5, "on": f"{PART},t4"}),
        ("compare", ["small", "other"], {"on": [PART, "kpu_t64"], "precision": "int8,fp32"}),
        ("parallel", "small", {"on": PART}),
        ("opportunities", "small", {"on": PART}),
        ("report", "small", {"on": PART}),
    ],
)
def test_every_section_answers(db: Session, method: str, models: str | list[str], options: dict[str, object]) -> None:
    asked = getattr(db, method).asked
    for section in (*asked.sections, *asked.more, *asked.alone) or (None,):
        priced = {"co2": 400.0, "kwh": 0.2} if section == "price" else {}
        frame = getattr(db, method)(models, **options, **priced, **({"section": section} if section else {}))
        assert isinstance(frame, pl.DataFrame) and frame.width > 1
        assert not any(frame[name].is_nan().any() for name in frame.columns if frame[name].dtype.is_float())


@pytest.mark.default
def test_price_ranks_what_does_not_fit_last(db: Session) -> None:
    """A batch of 10 million exceeds the memory of any part, and is the cheapest a sample."""
    frame = db.compare("small", on="t4", batch=[1, 10_000_000], section="price")
    assert frame.select("batch", "fits_device").rows() == [(1, True), (10_000_000, False)]
    one, many = frame["million_inference_usd"]
    assert one > many


@pytest.mark.default
def test_a_stated_rent_prices_a_part_without_one(db: Session) -> None:
    """3.6 USD an hour are 1e-3 USD a second; the L4 keeps the price of the file."""
    asked: dict[str, Any] = {"on": "kpu_t64,t4,l4", "batch": 8, "section": "price"}
    before = {row["hardware"]: row for row in db.compare("small", **asked).to_dicts()}
    after = {row["hardware"]: row for row in db.compare("small", rent="kpu_t64=3.6,t4=7.2", **asked).to_dicts()}
    assert before["kpu_t64"]["inference_usd"] is None and before["t4"]["price_usd_per_hour"] == 0.35
    for part, usd_per_s in (("kpu_t64", 1e-3), ("t4", 2e-3)):
        assert after[part]["latency_s"] == pytest.approx(before[part]["latency_s"], rel=1e-12)
        assert after[part]["inference_usd"] == pytest.approx(usd_per_s * after[part]["latency_s"] / 8, rel=1e-12)
        assert after[part]["price_basis"].startswith("stated by the user, 20")
    assert after["l4"]["inference_usd"] == pytest.approx(before["l4"]["inference_usd"], rel=1e-12)
    assert after["l4"]["price_basis"] == before["l4"]["price_basis"]
    assert db.compare("small", **asked).to_dicts() == list(before.values())
    with pytest.raises(CharzError, match="not a rent: --rent t4=much"):
        db.compare("small", rent="t4=much", **asked)
    with pytest.raises(CharzError, match="an option of prices"):
        db.compare("small", on="t4", rent="t4=1")


@pytest.mark.default
@pytest.mark.parametrize("section", ["run", "price", "saturation"])
def test_each_part_is_asked_in_a_precision_it_has(section: Any, db: Session) -> None:
    """The precision is that assumed for the family (int8 of an NPU, bf16 of a TPU), or the next one: Gaudi 3 states no int8, TPU
    v1 only int8. A message names parts that differ."""
    expected = {"t4": "fp32", "gaudi3": "bf16", "groq_lpu_v1": "int8", "tpu_v1": "int8"}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        frame = db.compare("small", backend="onnxruntime,xla", on=list(expected), section=section)
    assert parts(frame) == expected
    line, mixed = dict.fromkeys(str(warning.message) for warning in said)
    assert mixed == "precisions differ: bf16 on gaudi3; fp32 on t4; int8 on groq_lpu_v1, tpu_v1; --precision sets one for all"
    assert line == (
        "left out: xla on gaudi3, it has onnxruntime, depth_first; xla on groq_lpu_v1, it has onnxruntime, depth_first;"
        " onnxruntime on tpu_v1, it has xla, depth_first"
    )


def test_a_question_without_a_precision_asks_what_the_backend_computes_in_by_default(db: Session) -> None:
    """PyTorch uses TF32 in convolutions, TensorRT in products too, if the part has it; on processors all policies are equal."""
    frame = db.compare("small", on="rtx4090,t4,i7_13700k", backend="eager,tensorrt")
    assert {(row["hardware"], row["backend"]): row["precision"] for row in frame.iter_rows(named=True)} == {
        ("rtx4090", "eager"): "torch-fp32", ("rtx4090", "tensorrt"): "tf32", ("t4", "eager"): "torch-fp32",
        ("t4", "tensorrt"): "fp32", ("i7_13700k", "eager"): "fp32",
    }  # fmt: skip
    asked = {"on": "rtx4090", "backend": "tensorrt", "batch": 1}
    assert db.report("small", **asked).equals(db.report("small", **asked, precision="tf32"))
    assert set(db.report("small", **asked, section="precisions")["base_precision"]) == {"tf32"}


@pytest.mark.parametrize("method", ["report", "parallel", "opportunities"])
def test_a_part_without_fp32_is_answered(method: str, db: Session) -> None:
    assert set(getattr(db, method)("small", on="gaudi3")["precision"]) == {"bf16"}


@pytest.mark.default
def test_what_cannot_run_so_is_named(db: Session) -> None:
    with pytest.warns(CharzWarning) as said:
        frame = db.compare("small", on="t4,tpu_v1,kpu_t64", precision="fp16", backend="inductor,xla")
    assert set(frame["hardware"]) == {"t4"}
    assert "fp16 on tpu_v1, it computes in int8; inductor, xla on kpu_t64, it has kpu" in str(said[0].message)


def test_a_precision_that_one_part_has_not_is_named(db: Session) -> None:
    with pytest.warns(CharzWarning, match="left out: bf16 on t4, it computes in fp16"):
        assert set(db.compare("small", on="t4,a100_pcie_40", precision="fp16,bf16")["precision"]) == {"fp16", "bf16"}


def test_parts_that_are_not_named_are_counted(db: Session) -> None:
    with pytest.warns(CharzWarning, match=r"left out: \d+ of \d+ parts, which do not run kpu"):
        assert set(db.compare("small", backend="kpu")["backend"]) == {"kpu"}


def test_serving_takes_16_bits_where_the_part_has_them(db: Session) -> None:
    """Under llama.cpp processors keep weights in fp16, whatever they compute in: the EPYC 9654 has bf16 and no fp16, the
    i9-10940X neither."""
    with pytest.warns(CharzWarning, match="left out: small, its graph gives no step of one token"):
        frame = db.llm(["decoder", "small"], on=["t4", "epyc_9654", "i9_10940x"])
    assert set(frame["model"]) == {"decoder"}
    assert parts(frame) == {"t4": "fp16", "epyc_9654": "fp16", "i9_10940x": "fp16"}
    assert set(frame.filter(frame["hardware"] != "t4")["backend"]) == {"llama_cpp"}


@pytest.mark.default
def test_an_answer_says_what_it_leaves_out(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "unsized.duckdb"
    path.write_bytes(file.read_bytes())
    with charz.open(path) as db:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            db.compare("small,other", on="t4")
        with db.changing() as connection:
            connection.execute("UPDATE operator SET rule = NULL WHERE model = 'small' AND operator_id < 3")
        with pytest.warns(CharzWarning, match="operators of small have no rule, its work and time are too small"):
            db.compare("small,other", on="t4")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            db.compare("other", on="t4")


@pytest.mark.default
def test_limits_leave_choices_out_by_reason(db: Session) -> None:
    """Choices that are too slow, too expensive or of unknown price are counted separately, each with its fastest."""
    lost = db.recommend("small", latency="1ns", on="t4", section="others")
    assert lost["model"].to_list() == ["small"]
    assert lost["reason"].to_list() == ["too slow"] and lost["fastest"][0].startswith("t4 ")
    priced = db.recommend("small", price=1e-6, on=["t4", "kpu_t64"], section="others")
    assert dict(priced.select("reason", "choice_count").iter_rows()).keys() == {"too expensive", "price unknown"}


def test_a_budget_is_held_against_models_and_parts(db: Session) -> None:
    """Rows are in the requested order, and a price has a basis."""
    for by, column in {"latency": "latency_s", "energy": "sample_j", "cost": "million_inference_usd"}.items():
        found = db.recommend(["small", "other"], on=["t4", "l4", "kpu_t64"], by=by, top=500)
        known = found[column].drop_nulls()
        assert set(found["model"]) == {"small", "other"}
        assert known.to_list() == found[column].to_list()[: len(known)] == sorted(known)
    assert found.filter(pl.col("price_usd_per_hour").is_null() != pl.col("price_basis").is_null()).is_empty()
    assert found["price_basis"].drop_nulls()[0].startswith("assumed, 20")


@pytest.mark.parametrize(("name", "policies"), [("int4", "w4a16"), ("fp8_e4m3", "fp8"), ("q4_k", "q4_k_m")])
def test_a_format_as_a_precision_names_the_policies_that_keep_weights_in_it(name: str, policies: str, db: Session) -> None:
    with pytest.raises(CharzError, match=f"a format and not a precision policy: {name}. Policies that keep weights in it: {policies}.$"):
        db.report("small", on="t4", precision=name)


@pytest.mark.default
def test_costs_of_owning_are_said(db: Session) -> None:
    (line,) = prices.said(db, {"a": "rent", "b": "owned", "c": "owned"})
    assert line.startswith("owned: b, c, which nobody rents out") and line.endswith(" Other prices are rents.")
    assert prices.said(db, {"b": "owned"})[0].endswith("--price` shows the basis.")
    assert prices.said(db, {"a": "rent", "b": None})[0].startswith("no price is known of b;")


def test_a_limit_on_the_power_drawn_keeps_what_only_stronger_choices_beat(db: Session) -> None:
    """The limit does not cap the part, which would make runs slower."""
    every = db.recommend("small", on=["t4", "l4"], top=500)
    most = every["average_power_w"].median()
    kept = db.recommend("small", on=["t4", "l4"], power=most, top=500)
    assert kept["average_power_w"].max() <= most and set(kept["power"]) == {"default"}
    within = every.filter(pl.col("average_power_w") <= most)
    assert set(within["latency_s"]) <= set(kept["latency_s"])


@pytest.mark.default
def test_who_draws_more_than_the_limit_beats_nobody() -> None:
    """A choice of 20 W that one of 40 W dominates is on the front for limits below 40 W, and dominated from there on."""
    choice = {"fits_device": True, "average_power_w": 20.0, "dominated_by": "l4", "dominating_power_w": 40.0}
    for most, verdict in ((10.0, "too much power"), (39.0, FRONT), (40.0, "beaten")):
        assert _verdict(choice, limits(power=most)) == verdict
    assert _verdict(choice, []) == "beaten"
    assert _verdict(choice | {"dominated_by": None}, []) == FRONT


@pytest.mark.default
def test_what_a_list_leaves_out_is_counted(db: Session) -> None:
    with pytest.warns(CharzWarning, match=r"left out: \d+ further choices; --top \d+ lists all"):
        assert len(db.recommend("small", on=["t4", "l4"], top=1)) == 1


@pytest.mark.parametrize("by", ["operator", "class", "module"])
def test_pieces_of_runs_stand_beside_each_other(db: Session, by: str) -> None:
    """The slowest piece comes first, each on both parts; operators and classes sum to the kernels' time."""
    found = db.compare("small", on=["t4", "kpu_t64"], by=by, top=10_000)
    name = found.columns[0]
    assert name == {"operator": "operator", "class": "operator_class", "module": "module"}[by]
    slowest = found.group_by(name, maintain_order=True).agg(pl.col("latency_s").max())["latency_s"].to_list()
    assert slowest == sorted(slowest, reverse=True)
    if by == "module":
        return
    kernels = {
        part: db.report("small", on=part, section="kernels", top=10_000)["latency_s"].sum()
        for part in ("t4", "kpu_t64")
    }
    for part, total in kernels.items():
        mine = found.filter(hardware=part)
        assert mine["latency_s"].sum() == pytest.approx(total, rel=1e-9)
        assert mine["edp_fraction"].sum() == pytest.approx(
            mine["latency_fraction"].sum() / 2 + mine["energy_fraction"].sum() / 2
        )


def test_a_depth_without_modules_is_an_error(db: Session) -> None:
    with pytest.raises(CharzError, match="no module at this depth"):
        db.compare("small", on="t4", by="module", depth=90)


@pytest.mark.default
@pytest.mark.parametrize(
    ("method", "given", "options", "says"),
    [
        ("recommend", "small", {"latency": "5parsec"}, "not an amount: --latency 5parsec"),
        ("recommend", "small", {"latency": "20"}, "a number without its unit: --latency 20. Units: s, ms"),
        ("recommend", "small", {"memory": "8"}, "write e.g. --memory 8GiB"),
        ("compare", "small", {"batch": "many"}, "not a size"),
        ("compare", "small", {"batch": [0]}, "size out of range: 0"),
        ("llm", "small", {"on": "t4"}, "nothing to serve: small. Its graph gives no step of one token"),
        ("llm", "decoder", {"on": "tpu_v1", "precision": "fp16"}, "precision: fp16 on tpu_v1. It computes in int8"),
        ("report", "small", {"on": "tpu_v1", "precision": "fp16"}, "precision: fp16 on tpu_v1. It computes in int8"),
        ("compare", "small", {"on": "tpu_v1", "backend": "kpu"}, "part: kpu on tpu_v1. It has xla"),
        ("compare", "small", {"on": "t4", "kwh": float("inf"), "section": "price"}, "not a finite number: --kwh inf"),
        ("compare", "small", {"on": "t4", "co2": 400.0}, "an option of prices: --co2 400.0. Add --price"),
        ("compare", "small", {"precision": "fp8", "backend": "openvino"}, "no part runs this combination: small"),
        ("opportunities", "small", {"on": "tpu_v1", "precision": "fp16"}, "does not compute in this precision"),
        ("compare", "small", {"resolution": 288}, "not ingested at this resolution"),
        ("compare", "smal", {}, "unknown model: smal. Nearest: small"),
    ],
)
def test_errors_say_what_to_do(db: Session, method: str, given: str, options: dict[str, object], says: str) -> None:
    with pytest.raises(CharzError) as raised:
        getattr(db, method)(given, **options)
    assert says.lower() in raised.value.line.lower()


@pytest.mark.parametrize(
    ("part", "backend", "counterpart"),
    [
        ("kpu_t64", "kpu", "kpu_unfused"),
        ("tpu_v4", "xla", "xla_unfused"),
        ("i7_13700k", "openvino", "openvino_unfused"),
        (PART, "tensorrt", "tensorrt_unfused"),
        (PART, "inductor", "eager"),
    ],
)
def test_fused_stands_beside_unfused(db: Session, part: str, backend: str, counterpart: str) -> None:
    """The result does not depend on which of the two is named. Fewer kernels move no more bytes, and kernels sum to the run
    except for the call."""
    asked = {
        "on": part,
        "batch": 3,
        "precision": "int8" if backend == "kpu" else "fp32" if backend != "tensorrt" else "fp16",
    }
    run = db.report("small", **asked, backend=backend, section="fusion")
    assert run.select("backend", "unfused_backend").rows() == [(backend, counterpart)]
    other = db.report("small", **asked, backend=counterpart, section="fusion")
    assert other.filter(backend=backend).equals(run)
    row = run.row(0, named=True)
    assert row["kernel_count"] < row["unfused_kernel_count"]
    assert row["traffic_byte"] < row["unfused_traffic_byte"] and row["dram_byte"] <= row["unfused_dram_byte"]
    kernels = db.report("small", **asked, backend=backend, section="fusions", top=1000)
    assert kernels["unfused_kernel_count"].sum() == row["unfused_kernel_count"]
    for name in ("traffic_byte", "unfused_traffic_byte"):
        assert kernels[name].sum() == pytest.approx(row[name], rel=1e-12)
    if backend != "inductor":  # under graph dispatch the cost paid once a run is equal on both sides
        call = row["latency_s"] - kernels["latency_s"].sum()
        assert row["unfused_latency_s"] - kernels["unfused_latency_s"].sum() == pytest.approx(call, rel=1e-9)


def test_counterparts_are_asked_for_by_name_alone(db: Session) -> None:
    assert not any(name.endswith("_unfused") for name in db.opportunities("small", on=PART)["backend"])


def test_opportunities_start_from_what_was_asked_and_show_every_kind_first(db: Session) -> None:
    frame = db.opportunities("small", on=PART, batch=8, backend="eager", precision="fp32")
    assert set(frame["batch"]) == {8} and set(frame["backend"]) == {"eager"} and set(frame["precision"]) == {"fp32"}
    kinds = frame["kind"].to_list()
    assert len(set(kinds[: len(set(kinds))])) == len(set(kinds)) > 1
    before = {"batch": "batch 8", "backend": "eager", "precision": "fp32"}
    settings = frame.filter(pl.col("kind") != "network").to_dicts()
    assert all(row["instead_of"] == before[row["kind"]] != row["change"] for row in settings)
    shares = [row["saved_time_fraction"] for row in frame.to_dicts()]
    assert shares == sorted(shares, reverse=True) and min(shares) >= 0
    (waiting,) = (row for row in frame.to_dicts() if row["change"].startswith("merge kernels"))
    kernels = db.report("small", on=PART, batch=8, backend="eager", precision="fp32", section="kernels", top=1000)
    waits = kernels.filter(bottleneck="overhead")
    assert waiting["instead_of"] == f"{len(waits)} small kernels"
    assert waiting["saved_s"] == pytest.approx(waits["overhead_s"].sum() / 8, rel=1e-9)
    (own,) = db.report("small", on=PART, batch=8, backend="eager", precision="fp32").to_dicts()
    best = frame.filter(kind="backend").to_dicts()[0]
    (other,) = db.report("small", on=PART, batch=8, backend=best["change"], precision="fp32").to_dicts()
    assert best["saved_s"] == pytest.approx((own["latency_s"] - other["latency_s"]) / 8, rel=1e-9)


def test_every_precision_of_a_part_is_compared(db: Session) -> None:
    """The file contains runs of `kpu` only in int8."""
    held = db.sql("SELECT DISTINCT run.precision FROM run WHERE run.backend = 'kpu'")["precision"].to_list()
    assert held == ["int8"]
    rows = db.report("small", on="kpu_t64", section="precisions", batch=3)
    native = db.sql("SELECT precision FROM part_support WHERE hardware = 'kpu_t64' AND backend = 'kpu'")["precision"]
    # The model has no experts, so mxfp4 runs like bf16, and is left out as other policies under which it runs alike.
    assert set(native) - set(rows["precision"]) >= {"mxfp4"} and rows.height > 3
    assert set(rows["precision"]) < set(native) and rows.select("latency_s", "energy_j", "peak_memory_byte").is_unique().all()
    assert set(rows["base_precision"]) == {"fp32"}
    same = db.report("small", on="kpu_t64", batch=3, precision="bf16")
    assert rows.filter(precision="bf16")["latency_s"][0] == pytest.approx(same["latency_s"][0], rel=1e-12)


def test_a_family_is_planned_by_the_name_of_a_member_or_its_own(file: Path) -> None:
    """Each generated model is the only one of its source; a level that does not fit it twice shows no model."""
    with charz.open(file) as db:
        by_model = db.compare("small", on="t4", section="fits")
        by_source = db.compare("test:small", on="t4", section="fits")
        levels = db.sql("SELECT level, fits_double_buffered FROM memory_fit", model="small", on="t4", batch=1)
        assert by_model.equals(by_source)
        expected = {level: "small" if fits else None for level, fits in levels.rows() if level != "register"}
        assert dict(by_model.select("level", "largest_model").rows()) == expected
        with pytest.raises(CharzError, match="unknown model or family: test:smal. Nearest: test:small"):
            db.compare("test:smal", on="t4", section="fits")


def test_fits_is_an_option_of_compare(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.run(["compare", "small", "--on", "t4", "--fits", "--db", str(file), "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    with charz.open(file) as db:
        assert [row["level"] for row in printed] == db.compare("small", on="t4", section="fits")["level"].to_list()


@pytest.mark.default
def test_sizes_of_a_family_that_stay_in_a_level() -> None:
    """As `test_a_run_stays_where_it_fits_twice`: 480 bytes for n = 8, 1,472 for 16 and 4,992 for 32."""
    twice = {8: 480.0, 16: 1472.0, 32: 4992.0}
    target = {"hardware": "t4", "backend": "eager", "precision": "int8", "batch": 4, "sequence": 0}
    rows = [
        {**target, "level": level, "capacity_byte": size, "model": f"n={n}", "double_buffered_byte": needed,
         "fits_double_buffered": needed <= size}
        for level, size in (("register", 1e9), ("l1", 480.0), ("l2", 4991.0), ("dram", 4992.0))
        for n, needed in twice.items()
    ]  # fmt: skip
    assert [dict(zip(memory_fits.COLUMNS[5:], row[5:], strict=True)) for row in memory_fits.fits(rows)] == [
        {"level": level, "capacity_byte": size, "largest_byte": largest, "next_byte": following, "largest_model": stays,
         "next_model": leaves}
        for level, size, largest, following, stays, leaves in (
            ("l1", 480.0, 480.0, 1472.0, "n=8", "n=16"),
            ("l2", 4991.0, 1472.0, 4992.0, "n=16", "n=32"),
            ("dram", 4992.0, 4992.0, None, "n=32", None),
        )
    ]  # fmt: skip


def test_modules_are_ranked_by_what_they_would_save(db: Session) -> None:
    """In another precision each module saves the difference of its own times; the sum is the saving of whole modules."""
    asked = {"on": "t4", "batch": 64, "backend": "tensorrt", "precision": "fp32"}
    found = db.opportunities("small", modules="fp16", **asked, top=1000)
    saved = found["saved_time_fraction"].to_list()
    assert saved == sorted(saved, reverse=True) and set(found["change"]) == {"fp16"}
    both = db.compare("small", by="module", on="t4", batch=64, backend="tensorrt", precision=["fp32", "fp16"], top=1000)
    times = {(row["module"], row["precision"]): row["latency_s"] for row in both.to_dicts()}
    for row in found.to_dicts():
        assert row["saved_s"] == pytest.approx(times[row["module"], "fp32"] - times[row["module"], "fp16"], rel=1e-9)
    with pytest.raises(CharzError, match="the model is in this precision already"):
        db.opportunities("small", modules="fp32", **asked)


def test_what_a_list_leaves_out_is_said(file: Path) -> None:
    """A list of three kernels gives the number of further ones; the whole list has no message."""
    said: list[str] = []
    with Session(file, messages=Messages(warn=said.append)) as db:
        whole = db.report("small", on="t4", section="kernels", top=1000)
        assert not said
        few = db.report("small", on="t4", section="kernels", top=3)
        assert few.equals(whole.head(3))
        assert said == [f"left out: {whole.height - 3} further rows of kernels; --top {whole.height} lists all"]
        said.clear()
        stages = db.report("small", on="t4", section="stages", top=1)
        timeline = db.report("small", on="t4", section="timeline", top=1)
    assert stages.height == timeline.height == 1
    assert [line.split(" further ")[1].split(";")[0] for line in said] == ["rows of stages", "rows of timeline"]


def test_the_mode_that_every_part_has_is_asked_for_by_name(db: Session) -> None:
    both = db.compare("small", on="t4", cap="default,60w").to_dicts()
    (alone,) = db.compare("small", on="t4").to_dicts()
    assert [row["power"] for row in both] in (["default", "60w"], ["60w", "default"])
    assert next(row for row in both if row["power"] == "default")["latency_s"] == pytest.approx(
        alone["latency_s"], rel=1e-12
    )


@pytest.mark.usefixtures("whole_catalog")
def test_the_backend_of_a_precision_is_what_people_run_there(db: Session, tmp_path: Path) -> None:
    """TensorRT is the default for 8 bits on boards of NVIDIA, and for everything on Jetsons."""
    found = db.compare("small", on="t4,i7_13700k", precision="fp32,int8")
    chosen = {(row["hardware"], row["precision"]): row["backend"] for row in found.iter_rows(named=True)}
    assert chosen == {
        ("t4", "fp32"): "inductor", ("t4", "int8"): "tensorrt",
        ("i7_13700k", "fp32"): "openvino", ("i7_13700k", "int8"): "openvino",
    }  # fmt: skip
    assert set(db.compare("small", on="t4", precision="int8", backend="inductor")["backend"]) == {"inductor"}
    with charz.open(tmp_path / "none.duckdb") as session:
        query = "SELECT DISTINCT backend FROM assumed_backend WHERE hardware LIKE 'jetson_orin%' AND precision IN ('fp16', 'int8')"
        assert session.catalog().execute(query).fetchall() == [("tensorrt",)]


def test_served_tokens_in_the_order_of_their_cost(db: Session) -> None:
    """The order may also be by time or energy; without one parts are ordered by name, and devices by number."""
    asked = {"on": "t4,l4", "precision": "fp16,int8", "devices": "1,2", "batch": 4, "context": 64}
    for by, column in (("cost", "million_mixed_tokens_usd"), ("latency", "tpot_s"), ("energy", "token_j")):
        found = db.llm("decoder", by=by, **asked)[column].to_list()
        assert found == sorted(found) and len(set(found)) > 2
    found = db.llm("decoder", **asked).select("hardware", "precision", "device_count").rows()
    assert found == sorted(found) and len(found) == 8


def test_a_statement_about_everything_says_what_to_ask(file: Path, tmp_path: Path) -> None:
    """If answers are missing, a statement without a condition reports it at once, one with a condition after the answer; so does
    a relation at hand that lacks some."""
    copy = tmp_path / "lacking.duckdb"
    copy.write_bytes(file.read_bytes())
    with duckdb.connect(str(copy)) as connection:
        connection.execute("DELETE FROM answer.stored")
    with charz.open(copy) as session:
        said: list[tuple[str, str]] = []
        session.messages = Messages(
            warn=lambda text: said.append(("warn", text)), remark=lambda text: said.append(("remark", text))
        )
        session.sql(
            "SELECT latency_s FROM model_report WHERE model = 'small' AND hardware = 't4' AND batch = 1 AND precision = 'fp32'"
        )
        ((kind, text),) = said
        assert (
            kind == "remark"
            and "answers are not at hand, so model_report is evaluated: `charz refresh` fills them" in text
        )
        assert text.endswith("answer.model_report has the others")
        said.clear()
        session.sql("SELECT count(*) FROM answer.model_report")
        ((kind, text),) = said
        assert kind == "warn" and "answers are not at hand, their numbers are null" in text
        said.clear()
        session.sql("SELECT count(*) FROM operator")
        session.sql("SELECT latency_s FROM model_report", model="small", on="t4", batch=1)
        assert said == []
        session.sql("SELECT count(*) FROM model_memory")
        assert [kind for kind, _ in said] == ["warn"]


def test_the_steps_of_an_attention_are_rows(few_parts: Path, tmp_path: Path) -> None:
    """Each of ViT-B/16's 12 attentions multiplies 12 heads of 197 x 64 by 64 x 197, takes a softmax of the 12 x 197 x 197 scores, and multiplies
    these by 197 x 64."""
    import model_facts

    from charz.ingest import write
    from charz.sql import maintain

    path = Path(shutil.copy(few_parts, tmp_path / "vit.duckdb"))
    with Session(path) as session:
        with session.changing(fills=False) as connection:
            write.write(connection, [model_facts.kept("vit_b_16")], maintain.add_runs)
        rows = session.report("vit_b_16", on="t4", backend="tensorrt", precision="fp16", section="steps", top=1000)
    attention = rows.filter(pl.col("operator_class") == "attention")
    assert attention.group_by("step").len().sort("step").rows() == [("av", 12), ("qk", 12), ("softmax", 12)]
    scores = 12 * 197 * 197
    assert set(attention.filter(pl.col("step") != "softmax")["macs"]) == {scores * 64}
    assert attention.filter(step="softmax")["flops"].unique().to_list() == [scores * 6] and set(attention.filter(step="softmax")["macs"]) == {0.0}
    assert attention["ideal_s"].min() > 0
