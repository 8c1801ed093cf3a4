"""Pages show what commands print."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import duckdb
import pytest

import charz
from charz.cli import printed, reference
from charz.schema.errors import CharzError

ROOT = Path(__file__).resolve().parents[2]
PAGE = "before\n<!-- charz: a 'b c' -->\n```text\n116 µs\n```\nbetween\n<!-- charz: d -->\n```text\n```\nafter\n"


def test_a_block_is_written_and_nothing_else() -> None:
    assert printed.commands(PAGE) == ["a 'b c'", "d"]
    changed = printed.written(PAGE, {"a 'b c'": "117 µs\n", "d": "two\nlines\n"})
    assert changed == PAGE.replace("116", "117").replace("```text\n```", "```text\ntwo\nlines\n```")


def test_a_mark_without_its_block_is_refused() -> None:
    with pytest.raises(CharzError, match="without a block"):
        printed.commands(PAGE.replace("between\n<!-- charz: d -->\n", "between\n<!-- charz: d -->\n\n"))


def test_commands_run_in_their_order_in_one_folder() -> None:
    def run(command: str, folder: Path) -> str:
        (folder / command).touch()
        return " ".join(sorted(path.name for path in folder.iterdir()))

    assert printed.answers(["b", "a", "b"], run) == {"b": "b", "a": "a b"}


def test_what_a_command_prints(tmp_path: Path) -> None:
    assert printed.printed("--version", tmp_path) == f"charz {charz.__version__}\n"
    with pytest.raises(CharzError, match="a command of a page fails.*charz reprt.*unknown command"):
        printed.printed("reprt", tmp_path)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of all pages."""
    shutil.copy(ROOT / "README.md", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    return tmp_path


def shown_now(root: Path) -> dict[str, str]:
    """Return the output of commands that the pages show."""
    return {m["command"]: m["text"] for text in reference.shown(root).values() for m in printed._BLOCK.finditer(text)}


def test_a_changed_number_of_readme_is_told(copy: Path) -> None:
    answered = shown_now(copy)
    assert "ingest efficientnet_b0" in answered
    assert reference.faults(answered, copy) == []
    page = copy / "README.md"
    numbers = list(re.finditer(r"\d+ µs ", page.read_text()))
    assert numbers
    for number in numbers:
        text = (ROOT / "README.md").read_text()
        page.write_text(f"{text[: number.start()]}9{text[number.start() :]}")
        (line,) = reference.faults(answered, copy)
        assert line.startswith("README.md shows outdated output")


def test_examples_of_readme_run(resnet18: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text().replace("efficientnet_b0", "resnet18")
    shutil.copy(resnet18, tmp_path / "charz.duckdb")
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^```(sql|python)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert [language for language, _ in examples] == ["python", "sql", "sql"]
    for language, example in examples:
        if language == "python":
            exec(example, {})
            continue
        with duckdb.connect("charz.duckdb", read_only=True) as connection:
            found = connection.execute(example).fetchall()
            assert found or "answer." not in example
