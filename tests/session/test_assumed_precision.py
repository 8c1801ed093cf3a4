"""If a question names no precision, every command asks a part in the precision that `ingest` shows, and names it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

import charz
from charz.cli import output
from charz.session import Session
from charz.session.messages import CharzWarning, Messages

ASSUMED = {"kpu_t64": "int8", "tpu_v4": "bf16", "tpu_v1": "int8", "gaudi3": "bf16", "t4": "torch-fp32", "i7_13700k": "fp32"}
"""TPU v1 and KPUs multiply in int8, Gaudi 3 has no int8, and PyTorch has its own single precision on a GPU."""


@pytest.fixture(scope="module")
def db(file: Path) -> Iterator[Session]:
    with charz.open(file) as session:
        session.messages = Messages(warn=lambda _: None)
        yield session


@pytest.mark.parametrize(("part", "precision"), ASSUMED.items())
def test_commands_ask_a_part_in_one_precision(db: Session, part: str, precision: str) -> None:
    answers = {"report": db.report("small", on=part), "compare": db.compare("small", on=part), "saturation": db.compare("small", on=part, section="saturation")}
    if part in ("kpu_t64", "tpu_v4"):
        backend = answers["report"]["backend"][0]
        answers["recommend"] = db.recommend("small", on=part, batch=1, backend=backend)
        answers["explore"] = db.explore(base=part, vary=["clock=1GHz"], models="small")
    assert {name: answer["precision"].unique().to_list() for name, answer in answers.items()} == {key: [precision] for key in answers}


def test_it_is_the_one_that_ingest_shows_first(db: Session) -> None:
    from charz.ingest.run import Outcome
    from charz.ingest.sources.spec import parse

    shown = db._closing([Outcome(parse("small"), "unchanged", "small", "", 0.0)], no_answers=False).frame()
    first = shown.unique("hardware", keep="first", maintain_order=True)
    assert dict(first.select("hardware", "precision").iter_rows()) == {
        "i7_13700k": "fp32", "h100_sxm5_80": "torch-fp32", "tpu_v4": "bf16", "kpu_t256": "int8",
    }  # fmt: skip
    assert shown["batch"].unique().to_list() == [1]


def test_a_named_precision_is_itself(db: Session) -> None:
    assert db.report("small", on="kpu_t64", precision="fp32")["precision"].to_list() == ["fp32"]
    assert set(db.recommend("small", on="tpu_v4", batch=1, precision="int8,bf16")["precision"]) <= {"int8", "bf16"}


def test_a_family_of_a_user_s_own_says_its_precision(file: Path, tmp_path: Path) -> None:
    """The assumed precision is a row."""
    import shutil

    path = Path(shutil.copy(file, tmp_path / "own.duckdb"))
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE hardware_family SET assumed_precision = 'tf32' WHERE family = 'kpu'")
    with charz.open(path) as session:
        # A KPU of the catalog has no tf32: the second is used.
        assert session.report("small", on="kpu_t64")["precision"].to_list() == ["bf16"]


def said(db: Session, *parts: str, **given: object) -> list[str]:
    """Return the warnings of a comparison."""
    with charz.open(db.path) as session, warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        session.compare("small", on=list(parts), **given)
    return [str(one.message) for one in found if issubclass(one.category, CharzWarning)]


def test_parts_of_one_table_that_differ_are_said(db: Session) -> None:
    expected = "precisions differ: bf16 on tpu_v4; int8 on kpu_t256, kpu_t64; torch-fp32 on t4; --precision sets one for all"
    assert said(db, "kpu_t64", "kpu_t256", "t4", "tpu_v4") == [expected]
    assert said(db, "kpu_t64", "kpu_t256", "tpu_v1") == []
    assert said(db, "kpu_t64", "t4", "tpu_v4", precision="int8") == []
    assert said(db, "kpu_t64") == []


def test_many_parts_are_counted(db: Session) -> None:
    with charz.open(db.path) as session, warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        session.compare("small", batch=1)
    (line,) = [str(one.message) for one in found if "precisions differ" in str(one.message)]
    assert "torch-fp32 on a10, a100_pcie_40, h100_sxm5_80 and 6 more;" in line


HEADED = {
    "explain": {"on": "kpu_t64"},
    "mapping": {"on": "kpu_t64"},
    "elasticity": {"on": "kpu_t64"},
    "diff": {"new": "other", "on": "kpu_t64"},
    "explore": {"models": "small", "base": "kpu_t64", "vary": ["clock=1GHz,2GHz"]},
    "report kernels": {"on": "kpu_t64", "section": "kernels"},
    "report checks": {"on": "kpu_t64", "section": "checks"},
}


@pytest.mark.parametrize("command", HEADED)
def test_conditions_stand_above_every_answer(db: Session, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    method = getattr(db, command.split()[0]).asked.rows
    arguments = () if command == "explore" else ("small",)
    output.write(method(db, *arguments, **HEADED[command]), output.Format.table, None)
    head = capsys.readouterr().out.split("\n---", 1)[0]
    for words in ("backend kpu", "precision int8", "batch 1"):
        assert words in head, head


def test_points_of_a_design_space_hold_their_conditions(db: Session) -> None:
    found = db.explore(base="kpu_t64", vary=["clock=1GHz,2GHz"], models="small", precision="int8,bf16", every_point=True)
    assert found.select("backend", "batch").unique().rows() == [("kpu", 1)]
    assert set(found["precision"]) == {"int8", "bf16"} and isinstance(found, pl.DataFrame)
