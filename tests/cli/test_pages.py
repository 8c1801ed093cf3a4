"""What pages show is what commands print, and each says with which version of the shipped tables it was made."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

import charz
from charz.cli import pages, printed, reference
from charz.hardware_catalog import loader
from charz.schema.catalog import EnergyFact, HardwareMemory, Source
from charz.schema.errors import CharzError
from charz.sql import views

ROOT = Path(__file__).resolve().parents[2]
PAGE = "before\n<!-- charz: a 'b c' -->\n```text\n116 µs\n```\nbetween\n<!-- charz: d -->\n```text\n```\nafter\n"
LIST = f"{pages._HEAD}\n|---|---|---|---|\n"


def test_a_block_is_written_and_nothing_else() -> None:
    assert printed.commands(PAGE) == ["a 'b c'", "d"]
    changed = printed.written(PAGE, {"a 'b c'": "117 µs\n", "d": "two\nlines\n"})
    assert changed == PAGE.replace("116", "117").replace("```text\n```", "```text\ntwo\nlines\n```")


def test_a_mark_without_its_block_is_refused() -> None:
    with pytest.raises(CharzError, match="without its block"):
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
    """What the pages say that their commands print."""
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


def test_every_page_says_its_version_or_why_it_is_of_another() -> None:
    assert pages.faults() == []


@pytest.mark.parametrize(
    ("row", "page", "found"),
    [
        ("| [a.md](a.md) | x | `make a` | |", "Shipped tables: version 1.", ""),
        ("| [a.md](a.md) | x | `make a` | |", "Shipped tables: version 2.", "version 2, the present one is 1: run `make a`"),
        ("| [a.md](a.md) | x | `make a` | long |", "Shipped tables: version 2.", ""),
        ("| [a.md](a.md) | x | `make a` | long |", "Shipped tables: version 1.", "remove the reason from"),
        ("| [a.md](a.md) | x | `make a` | long |", "", "has 0 versions"),
        ("| [a.md](a.md) | x | | |", "Shipped tables: version 1.", "names no command"),
        ("| [a.md](a.md) | x | | |", "No figures.", ""),
        ("", "Shipped tables: version 1.", "a.md is not in docs/README.md"),
        ("| [a.md](a.md) | x | | |\n| [b.md](b.md) | x | | |", "", "lists b.md, which does not exist"),
    ],
)  # fmt: skip
def test_a_page_of_another_version_is_told(tmp_path: Path, row: str, page: str, found: str) -> None:
    (tmp_path / "README.md").write_text(f"# Pages\n\n{LIST}{row}\n")
    (tmp_path / "a.md").write_text(f"# A\n\n{page}\n")
    faults = pages.faults(tmp_path, "1")
    assert len(faults) == bool(found)
    assert found in "".join(faults)


def test_a_version_follows_the_numbers_and_queries_and_no_text() -> None:
    rows, known = loader.load().rows, views.load()
    version = pages.version_of(rows, known)
    assert version == pages.version() == pages.version_of({k: v[::-1] for k, v in rows.items()}, known[::-1])

    first, *others = rows[HardwareMemory]
    faster = first.model_copy(update={"bandwidth_byte_per_s": 2 * (first.bandwidth_byte_per_s or 1.0)})  # type: ignore[attr-defined]
    assert pages.version_of(rows | {HardwareMemory: [faster, *others]}, known) != version
    assert pages.version_of(rows | {HardwareMemory: others}, known) != version
    for unread in (Source, EnergyFact):
        assert pages.version_of(rows | {unread: []}, known) == version

    for layer, is_read in (("4_cost", True), ("1_hardware", True), ("invariant", False)):
        i = next(i for i, view in enumerate(known) if view.layer == layer)
        other = [*known[:i], replace(known[i], body=f"{known[i].body} LIMIT 0"), *known[i + 1 :]]
        spaced = [*known[:i], replace(known[i], body=known[i].body.replace("\n", "\n  ")), *known[i + 1 :]]
        assert (pages.version_of(rows, other) != version) is is_read, known[i].name
        assert pages.version_of(rows, spaced) == version


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
