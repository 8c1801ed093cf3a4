"""Messages of a session with an answer reach the caller."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from pathlib import Path
from typing import Any

import pytest

import charz
from charz.session import CharzWarning, Session
from charz.session.messages import Messages


def test_a_warning_points_at_the_line_that_asked(file: Path) -> None:
    with charz.open(file) as db, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = inspect.currentframe()
        assert frame is not None
        line = frame.f_lineno + 1
        db.compare(["small"], on="t4", backend=["eager", "openvino"])
    (warning,) = [w for w in caught if issubclass(w.category, CharzWarning)]
    assert "openvino on t4" in str(warning.message)
    assert (warning.filename, warning.lineno) == (__file__, line)


def test_an_interrupted_ingest_says_what_is_kept_and_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from charz.ingest import pipeline

    original = pipeline.ingest

    def interrupted(spec: Any, rules: Any, *_: Any) -> Any:
        if spec.name == "mlp":
            return original(spec, rules)
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "ingest", interrupted)
    with (
        charz.open(tmp_path / "some.duckdb") as db,
        pytest.warns(
            CharzWarning, match="interrupted: 1 of 2 models are kept; the same command continues"
        ),
        pytest.raises(KeyboardInterrupt),
    ):
        db.ingest(["synthetic:mlp,in=8,hidden=8,out=8", "synthetic:pooling"], no_answers=True)


def test_many_answers_are_left_to_refresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ingest keeps the model, tells its steps, and that its answers are missing where they take long."""
    from charz.session.file import ingest
    from charz.sql import answers

    monkeypatch.setattr(ingest, "INGESTED_U", 0.5)
    said: list[str] = []
    steps: list[str] = []
    told = Messages(remark=said.append, status=lambda: contextlib.nullcontext(steps.append))
    with Session(tmp_path / "some.duckdb", messages=told) as db:
        db.ingest("synthetic:mlp,in=8,hidden=8,out=8")
        assert [text.split()[0] for text in steps] == ["preparing", "building", "tracing", "compiling", "writing", "evaluating"]
        left = answers.missing(db.connection()).count
        assert left > 0 and any(text.startswith(f"{left:,} predictions of standard runs are left out") for text in said)
        assert db.sql("SELECT COUNT(*) FROM answer.stored").item() == 0


@pytest.mark.parametrize(("serves", "is_left"), [(True, True), (False, False)], ids=["a language model", "another"])
def test_standard_runs_of_served_models_are_left_to_refresh(serves: bool, is_left: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A language model is asked by other commands than those that read single passes."""
    from charz.session.file import ingest

    monkeypatch.setattr(ingest, "SERVED_U", 0.5)
    monkeypatch.setattr(ingest.Ingest, "_serves", lambda *_: serves)
    monkeypatch.setattr(ingest.first_look, "shown", lambda *_: None)
    with Session(tmp_path / "some.duckdb") as db:
        db.ingest("synthetic:mlp,in=8,hidden=8,out=8")
        assert (db.sql("SELECT COUNT(*) FROM answer.stored").item() == 0) is is_left


@pytest.mark.slow("fills the answers of a model twice")
def test_an_interrupt_while_answers_are_filled_keeps_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from charz.sql import answers

    def interrupted(*_: Any, **__: Any) -> int:
        raise KeyboardInterrupt

    with charz.open(tmp_path / "some.duckdb") as db:
        with (
            monkeypatch.context() as patched,
            pytest.warns(CharzWarning, match="interrupted: the models are kept; `charz refresh` fills their answers"),
            pytest.raises(KeyboardInterrupt),
        ):
            patched.setattr(answers, "fill", interrupted)
            db.ingest("synthetic:mlp,in=8,hidden=8,out=8")
        left = answers.missing(db.connection()).count
        assert left > 0
        assert db.refresh().to_dicts() == [{"table": "answer.stored", "rows": left}]
        assert answers.missing(db.connection()).count == 0


@pytest.mark.parametrize(("models", "looked", "is_told"), [
    (["decoder", "other"], ["decoder", "other"], False), (["small", "decoder"], [], True), (["decoder", "other", "small"] * 2, [], True),
    (["small"], [], False),
])  # fmt: skip
def test_each_of_a_few_language_models_is_shown(
    models: list[str], looked: list[str], is_told: bool, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among other models, a line names the command that answers for language models."""
    from charz.ingest.run import Outcome
    from charz.ingest.sources.spec import Spec
    from charz.session.answer import Rows
    from charz.session.file import ingest

    said: list[str] = []
    with Session(file, messages=Messages(remark=said.append)) as db:
        monkeypatch.setattr(ingest.first_look, "shown", lambda _, model: Rows(("model",), [(model,)]))
        monkeypatch.setattr(ingest.Ingest, "_serves", lambda _, model: model != "small")
        monkeypatch.setattr(ingest.Ingest, "_fill_answers", lambda *_: None)
        found = db._closing([Outcome(Spec(name, "live"), "written", name, "", 0.0) for name in models], False)
        named = " ".join(dict.fromkeys(name for name in models if name != "small"))
    assert [row[0] for row in found.fetch()] == looked if looked else len(found.columns) > 1
    assert (f"language models as a server runs them: `charz llm {named} --smallest`" in said) == is_told
