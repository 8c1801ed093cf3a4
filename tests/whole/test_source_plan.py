"""Every item of docs/source_plan.md names a command that answers, and a view that exists."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import charz
from charz.cli import dispatch
from charz.session import Session
from charz.session.ask.plot import PICTURES
from charz.sql import views

TABLE = Path(__file__).parents[2] / "docs" / "source_plan.md"
_LINE = re.compile(r"^\| (?P<number>\d+) \| (?P<item>[^|]+?) \| `charz (?P<command>[^`]+)` \| `(?P<view>\w+)` \|$")

MODELS = {"resnet18": "small", "efficientnet_b0": "small", "hf:detr-resnet-50": "small", "resnet50": "other", "hf:gpt2": "decoder"}
"""Models of the page, and the models of the test file that replace them."""

ELSEWHERE = {"measure": "needs a compiler; tests/session/test_measure.py", "validate": "needs measurements; tests/truth"}
"""Commands that other tests run, each with the reason."""


def _lines() -> list[re.Match[str]]:
    rows = [line for line in TABLE.read_text().splitlines() if line.startswith("|")][2:]
    matches = [_LINE.match(row) for row in rows]
    unread = [row for row, match in zip(rows, matches, strict=True) if match is None]
    assert not unread, f"lines that name no command and view: {unread}"
    return [match for match in matches if match is not None]


LINES = _lines()


@pytest.fixture(scope="module")
def db(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with charz.open(Path(shutil.copy(file, tmp_path_factory.mktemp("plan")))) as session:
        yield session


@pytest.mark.parametrize("line", LINES, ids=lambda m: m["number"])
def test_a_command_answers(
    line: re.Match[str], db: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command prints rows, and a picture is written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Session, "__enter__", lambda _: db)
    words = shlex.split(line["command"])
    if words[0] in ELSEWHERE:
        assert dispatch.run([words[0], "--help"]) == 0
        return
    for name, other in MODELS.items():
        words = [re.sub(rf"\b{name}\b", other, word) for word in words]
    code = dispatch.run([*words, "--db", str(db.path)])
    said = capsys.readouterr()
    assert code == 0, said.err
    assert len(said.out.splitlines()) > 2 or words[0] in ("doctor", "models")
    if "--out" in words:
        assert Path(words[words.index("--out") + 1]).stat().st_size > 1000


def test_every_view_exists() -> None:
    assert {line["view"] for line in LINES} <= {view.name for view in views.load()}


def test_every_item_once() -> None:
    items = [line["item"] for line in LINES]
    assert [int(line["number"]) for line in LINES] == list(range(1, 70))
    assert len(items) == len(set(items))


def test_every_picture_is_in_the_table() -> None:
    drawn = {line["command"].split()[1] for line in LINES if line["command"].startswith("plot ")}
    assert drawn == set(PICTURES)
