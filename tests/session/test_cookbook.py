"""Every block of the cookbook and of the pages on architecture and serving answers, on a small store."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import charz
from charz.cli import dispatch
from charz.session import Session

DOCS = Path(__file__).parents[2] / "docs"
PAGE, ARCHITECT, SERVING = DOCS / "cookbook.md", DOCS / "architect.md", DOCS / "serving.md"

MODELS = {"resnet18": "small", "resnet50": "other", "hf:gpt2": "decoder"}
"""Models of the pages, and the models of the test file that replace them."""

QUESTIONS = 25


def blocks(*pages: Path) -> list[tuple[str, str]]:
    """Return language and text of every block of some pages, in order."""
    text = "\n".join(page.read_text() for page in pages or (PAGE, ARCHITECT, SERVING))
    found = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for name, other in MODELS.items():
        found = [(language, text.replace(name, other)) for language, text in found]
    return found


@pytest.fixture(scope="module")
def db(file: Path) -> Iterator[Session]:
    with charz.open(file) as session:
        yield session


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the files that the pages tell people to write."""
    path = tmp_path_factory.mktemp("cookbook")
    for language, text in blocks():
        if language == "yaml":
            (path / text.partition("\n")[0].removeprefix("# ")).write_text(text)
    return path


def test_there_are_as_many_questions_as_promised() -> None:
    for page, questions in ((PAGE, QUESTIONS), (ARCHITECT, 12), (SERVING, 3)):
        asked = len([language for language, _ in blocks(page) if language != "yaml"])
        assert asked >= questions
        assert page.read_text().count("?") >= asked


@pytest.mark.parametrize(("language", "text"), [(language, text) for language, text in blocks() if language != "yaml"])
def test_a_block_answers(
    language: str,
    text: str,
    file: Path,
    db: Session,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A block returns rows, or a message about the findings."""
    monkeypatch.chdir(folder)
    if language == "python":
        assert len(eval(text, {"db": db})) > 0
    elif language == "sql":
        assert db.sql(text).width > 1
    else:
        monkeypatch.setattr(Session, "__enter__", lambda _: db)
        program, *arguments = shlex.split(text)
        assert program == "charz"
        split = arguments.index("--") if "--" in arguments else len(arguments)
        code = dispatch.run([*arguments[:split], "--db", str(file), *arguments[split:]])
        said = capsys.readouterr()
        assert code == 0, said.err
        assert said.out.strip()


RELATION = re.compile(r"^\| `(\w+)` \| [\w, ]+ \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
"""Row of a page's table of relations: name, kind, grain and content."""


def test_tables_of_relations_name_columns_that_exist(db: Session) -> None:
    """The grain of a relation is columns that identify its rows, and names in its content are columns or relations."""
    rows = [row for page in DOCS.rglob("decisions/*.md") for row in RELATION.findall(page.read_text())]
    assert len(rows) >= 15
    relations = {name for (name,) in db.catalog().execute("SELECT table_name FROM information_schema.tables").fetchall()}
    for relation, grain, content in rows:
        found = db.catalog().sql(f'SELECT * FROM "{relation}" LIMIT 0').columns
        key, named = (re.findall(r"`(\w+)`", text) for text in (grain, content))
        assert key and set(key) <= set(found), relation
        assert set(named) <= {*found, *relations}, relation
        twice = f'SELECT COUNT(*) FROM (SELECT {", ".join(key)} FROM "{relation}" GROUP BY ALL HAVING COUNT(*) > 1)'
        assert db.catalog().execute(twice).fetchall() == [(0,)], relation


def test_every_block_of_sql_is_run_by_a_test() -> None:
    """Blocks of other pages are run by the test of their page; a page with blocks that no test runs would go unnoticed."""
    pages = {page.name for page in DOCS.rglob("*.md") if "```sql" in page.read_text() and page.parent.name != "reference"}
    assert pages == {PAGE.name, ARCHITECT.name, "tools.md"}
