"""`measure`: its refusals before a run, and the results that it keeps after a failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import charz
from charz.ingest.measure import characterize, run
from charz.schema.errors import CharzError
from charz.session import Session, workspace
from charz.session.access import Access
from charz.session.answer import Rows

MLP = {"models": "synthetic:mlp", "settings": "in=8 hidden=8 out=8"}


@pytest.mark.parametrize(
    ("field", "value"),
    [("backend", "tensorrt"), ("device", "tpu"), ("precision", "fp3"), ("memory_format", "nhwcc")],
)
def test_unknown_conditions_are_refused(field: str, value: str) -> None:
    with pytest.raises(CharzError, match=f"{value}. There are "):
        run.Settings(**{field: value})


def test_tf32_is_not_for_cpus() -> None:
    with pytest.raises(CharzError, match="tf32"):
        run.Settings(precision="tf32")


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"backend": "tensorrt"}, "eager, inductor"),
        ({"batch": 0}, "size out of range"),
        ({"sequence": 5}, "--sequence"),
        ({"models": "nosuch", "settings": None}, "nosuch"),
        ({"models": None}, "no model named"),
    ],
)
def test_nothing_runs_where_something_is_wrong(tmp_path: Path, options: dict[str, Any], part: str) -> None:
    with pytest.raises(CharzError, match=part), charz.open(tmp_path / "c.duckdb") as db:
        db.measure(**{**MLP, **options})
    assert not list(tmp_path.iterdir())


def test_what_was_measured_before_a_failure_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = run.measure

    def fails_at_two(request: object, settings: run.Settings) -> object:
        if settings.batch == 2:
            raise RuntimeError("out of memory\nand more")
        return real(request, settings)  # type: ignore[arg-type]

    monkeypatch.setattr(run, "measure", fails_at_two)
    db = tmp_path / "c.duckdb"
    with pytest.raises(CharzError, match="batch 2 on cpu. Out of memory.$"), charz.open(db) as session:
        session.measure(**MLP, batch=[1, 2], seconds=0.01, rounds=2, hardware="here")
    with workspace.read(db) as connection:
        assert connection.sql("SELECT batch, hardware_name FROM measurement").fetchall() == [(1, "here")]


def test_an_ingested_model_is_measured_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of a model from a file of the user runs that file, which needs trust in the database that names it."""
    monkeypatch.setattr(run, "measure", lambda *_: (run.Result((1.0,), 0.5, None, None), lambda: None))
    (tmp_path / "net.py").write_text("from torch import nn\n\ndef net():\n    return nn.Linear(8, 8)\n")
    path = tmp_path / "c.duckdb"
    with charz.open(path) as session:
        session.ingest(f"{tmp_path / 'net.py'}:net", inputs="B,8", name="mine", no_answers=True)
        with pytest.raises(CharzError, match="runs only if you trust it: .*net.py:net"):
            session.measure("mine")
    with Session(path, access=Access(trust=True)) as session:
        session.measure("mine", hardware="here", operators=False)
        assert session.sql("SELECT model, latency_s FROM measurement").rows() == [("mine", 1.0)]


def test_a_run_without_library_calls_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that a compiler generates make no ATen calls, so the profiler of such a run has no operators."""
    monkeypatch.setattr(run, "measure", lambda *_: (run.Result((1.0,), 0.5, None, None), lambda: None))
    with charz.open(tmp_path / "c.duckdb") as session:
        session.measure(**MLP, backend="inductor", hardware="here")
        assert session.sql("SELECT backend, latency_s FROM measurement").rows() == [("inductor", 1.0)]
        assert session.sql("SELECT * FROM operator_measurement").rows() == []


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("h100_sxm5_80", "not characterized"),
        ("H100_SXM5_80", "not an id"),
        ("a/b", "not an id"),
        ("", "not an id"),
    ],
)
def test_characterize_refuses_other_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(characterize, "probe", lambda: pytest.fail("probed"))
    with pytest.raises(CharzError, match=message), charz.open(tmp_path / "c.duckdb") as db:
        db.measure(characterize=part)
    assert not list(tmp_path.glob("*.yaml"))


def test_characterize_refuses_what_its_suite_has_no_use_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(characterize, "probe", lambda: pytest.fail("probed"))
    with Session(tmp_path / "new.duckdb") as db, pytest.raises(CharzError, match="a fixed suite of models: models, --batch. Leave"):
        db.measure("resnet18", batch=8, characterize="mine")


@pytest.mark.slow
def test_characterize_keeps_a_file_and_can_be_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    machine = characterize.Machine("CPU: a #1", "amd", 2, 2.5e9, 256, {"l1": 32768.0}, 8e9, 1e11, 1e10, 6e9, 1e-6)
    monkeypatch.setattr(characterize, "probe", lambda: machine)
    monkeypatch.setattr(characterize, "SUITE", ())
    monkeypatch.setattr(Session, "_measure", lambda *_: Rows((), []))
    monkeypatch.setattr(Session, "_calibrated", lambda *_, **__: None)
    path = tmp_path / "mine.yaml"
    path.write_text("precious")
    db = charz.open(tmp_path / "c.duckdb")
    with pytest.raises(CharzError, match="ove or remove it"):
        db.measure(characterize="mine")
    assert path.read_text() == "precious"
    for cores in (2, 4):
        path.unlink()
        object.__setattr__(machine, "core_count", cores)
        db.measure(characterize="mine")
    db.close()
    with workspace.read(tmp_path / "c.duckdb") as connection:
        found = connection.sql(
            "SELECT name, unit_count FROM hardware JOIN hardware_cluster USING (hardware) WHERE hardware = 'mine'"
        )
        assert found.fetchall() == [("CPU: a #1", 4)]
