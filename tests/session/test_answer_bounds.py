"""An answer is bounded in bytes and rows, and its texts contain no control characters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import charz
from charz.cli import dispatch, display, output
from charz.schema import user_file
from charz.schema.errors import CharzError
from charz.session.file import mcp


@pytest.mark.parametrize(
    ("query", "most_rows"),
    [
        ("SELECT repeat('A', 50000000) AS a", 1),
        ("SELECT repeat('A', 100000) AS a FROM range(100)", 100),
        ("SELECT repeat('A', 30000)::BLOB AS a", 1),
        ("SELECT range(500000) AS a", 1),
        ("SELECT {'a': repeat('A', 1000000)} AS a", 1),
        ("SELECT repeat('A', 15000) AS a FROM range(100)", 70),
    ],
)
def test_a_tools_answer_has_a_million_letters_at_most(query: str, most_rows: int, few_parts: Path) -> None:
    with charz.open(few_parts) as db:
        text, is_error = mcp.Toolbox(db, False, 100).call("sql", {"query": query})
    assert not is_error and len(text) < 1.05 * mcp.MOST_ANSWER_LETTERS
    answered = json.loads(text)
    assert 0 < len(answered["rows"]) <= most_rows
    assert any("cut" in note or "rows" in note for note in answered["notes"])


def test_a_text_in_a_table_is_cut_and_its_length_is_said() -> None:
    cell = display.cell("A" * 5_000_000)
    assert len(cell) < 5_000 and "5,000,000 letters" in cell
    assert display.cell("A" * 4_000) == "A" * 4_000


@pytest.mark.parametrize("format", [output.Format.csv, output.Format.markdown, output.Format.table, output.Format.json])
def test_control_characters_are_written_out(format: output.Format) -> None:
    text = output.encode(["a\x1b"], [["\x1b[2J\0\u202ex"]], format).decode()
    assert not {"\x1b", "\0"} & set(text)


def test_cells_of_csv_are_data() -> None:
    assert user_file.no_formula("\x1b[2J\0") == "\\x1b[2J\\x00"
    assert user_file.no_formula("=1+1") == "'=1+1"
    assert user_file.no_formula("two\nlines") == "two\nlines"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_is_named_and_no_disk(few_parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CharzError, match=r"/dev/full\. No space left") as caught:
        user_file.write(Path("/dev/full"), bytes(2**20))
    assert "MiB" not in caught.value.line


@pytest.mark.parametrize("width", [20, 40])
@pytest.mark.parametrize("line", ["hardware show t4", "hardware list", "schema model_report", "scenario list"])
def test_no_line_is_longer_than_a_narrow_terminal(
    line: str, width: int, few_parts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("CHARZ_DB", str(few_parts))
    assert dispatch.run(line.split()) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= width
