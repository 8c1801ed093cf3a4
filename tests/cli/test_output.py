"""Destinations of an answer: charz never overwrites foreign files, also not through links, pipes and devices, and writes all or
nothing."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import duckdb
import polars
import pyarrow
import pytest
import typer

from charz import sandbox
from charz.cli import display, options, output
from charz.cli.dispatch import run
from charz.cli.output import Format, encode, write, write_sections
from charz.schema import user_file
from charz.schema.errors import CharzError
from charz.session.answer import Asked, Rows, of_arrow

QUESTION = ("sql", "SELECT 1 AS a", "--format", "csv")
ANSWER = b"a\n1\n"


def asked(file: Path, out: Path | str, *more: str) -> int:
    """Return the exit code of a question whose answer goes to `out`."""
    return run(["--db", str(file), *QUESTION, "--out", str(out), *more])


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARZ_DB", "")  # the value that a run sets is removed after the test


@pytest.mark.parametrize("more", [[], ["--force"]], ids=["plain", "force"])
def test_no_database_is_written_over(
    file: Path, tmp_path: Path, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    own, other = tmp_path / "own.duckdb", tmp_path / "rows.csv"
    shutil.copy(file, own)
    duckdb.connect(str(other)).close()
    (tmp_path / "link").symlink_to(own)
    for out in (own, other, tmp_path / "link"):
        before = out.read_bytes()
        assert asked(own, out, *more) == 2
        assert capsys.readouterr().err == f"charz: a database is not overwritten: --out {out}. Name another file.\n"
        assert out.read_bytes() == before


@pytest.mark.skipif(not Path("/proc/self/root").exists(), reason="needs /proc")
def test_no_database_is_written_over_under_any_name(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own.duckdb"
    shutil.copy(file, own)
    os.link(own, tmp_path / "hard")
    before = own.read_bytes()
    with own.open("rb+") as opened:
        names = [f"/proc/self/root{own}", f"/proc/{os.getpid()}/root{own}", f"/proc/self/fd/{opened.fileno()}"]
        names += [f"/dev/fd/{opened.fileno()}", f"/proc/thread-self/fd/{opened.fileno()}", str(tmp_path / "hard")]
        for out in names:
            assert asked(own, out, "--force") == 2
            assert capsys.readouterr().err == f"charz: a database is not overwritten: --out {out}. Name another file.\n"
    assert own.read_bytes() == before
    assert asked(own, f"/proc/self/root{tmp_path}/plain.csv") == 0
    assert (tmp_path / "plain.csv").read_bytes() == ANSWER
    assert asked(own, f"/proc/self/root{tmp_path}/plain.csv") == 0  # replaced, not appended to


def test_what_stands_beside_a_database_is_not_written_over(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, log = tmp_path / "own.duckdb", tmp_path / "own.duckdb.wal"
    shutil.copy(file, own)
    log.write_bytes(b"log")
    (tmp_path / "link").symlink_to(log)
    for out in (log, tmp_path / "link"):
        assert asked(own, out, "--force") == 2
        assert "a database is not overwritten" in capsys.readouterr().err
    assert log.read_bytes() == b"log"


def test_a_file_of_others_needs_force_and_charz_its_own_does_not(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "thesis.csv"
    out.write_text("ten years of work\n")
    assert asked(file, out) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "did not write" in said and "--force" in said
    assert out.read_text() == "ten years of work\n"
    assert asked(file, out, "--force") == 0 and out.read_bytes() == ANSWER
    assert asked(file, out) == 0
    with out.open("a") as edited:
        edited.write("2\n")
    assert asked(file, out) == 2
    assert out.read_bytes() == ANSWER + b"2\n"


def test_an_empty_file_is_written_and_keeps_its_mode(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    out.touch(mode=0o600)
    assert asked(file, out) == 0
    assert out.read_bytes() == ANSWER and stat.S_IMODE(out.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["rows.csv"]


def test_what_is_refused_is_refused_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rows.csv"
    out.write_text("mine")
    assert run(["--db", str(tmp_path / "none.duckdb"), "ingest", "no_such_model", "--out", str(out)]) == 2
    assert "--force" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["rows.csv"]


def test_links_stay_and_lead_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    link, target = tmp_path / "link.csv", tmp_path / "far" / "rows.csv"
    link.symlink_to("far/rows.csv")
    for data in (b"first", b"second"):
        user_file.write(link, data)
        assert link.is_symlink() and target.read_bytes() == data


def test_a_file_with_several_names_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    user_file.write(out, b"first")
    os.link(out, tmp_path / "other.csv")
    with pytest.raises(CharzError, match="hard links"):
        user_file.write(out, b"second")
    assert (tmp_path / "other.csv").read_bytes() == b"first"


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    user_file.write(pipe, b"rows")
    reader.join()
    assert got == [b"rows"] and stat.S_ISFIFO(pipe.stat().st_mode)


def test_devices_are_written_to(file: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    user_file.write(Path("/dev/null"), b"rows")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert asked(file, "/dev/stdout") == 0
    assert capfdbinary.readouterr().out == ANSWER


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_without_room_is_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(file, "/dev/full") == 2
    assert capsys.readouterr().err.startswith("charz: cannot write the file: /dev/full. No space left on device")


def test_a_disk_that_is_full_while_rows_are_evaluated_is_not_standard_output() -> None:
    def rows() -> Iterator[bytes]:
        yield b""
        raise OSError(errno.ENOSPC, "No space left on device", "/elsewhere/file")

    with pytest.raises(OSError, match="/elsewhere/file"):
        output._print(rows(), is_text=True)


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    user_file.write(out, b"old")

    def full() -> Iterator[bytes]:
        yield b"n"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(CharzError, match=f"the disk is full: {tmp_path}"):
        user_file.write_pieces(out, full())
    assert out.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["rows.csv"]


def test_odd_names_get_one_line(tmp_path: Path) -> None:
    for name in ("", ".", "..", str(tmp_path), "a\0b", f"{tmp_path}/none/rows.csv", f"{tmp_path}/{'x' * 300}"):
        with pytest.raises(CharzError) as error:
            user_file.write(Path(name), b"rows")
        assert "\n" not in error.value.line


def test_a_picture_is_no_exception(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("altair")
    out = tmp_path / "picture.json"
    out.write_text("{}")
    arguments = ["--db", str(file), "plot", "pareto", "small", "--on", "t4", "--out", str(out)]
    assert run(arguments) == 2
    assert "--force" in capsys.readouterr().err and out.read_text() == "{}"
    assert run([*arguments, "--force"]) == 0
    assert run(arguments) == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("INTERVAL '3 months 2 days'", "3 months 2 days"),
        ("union_value(k := 1)", "1"),
        ("[union_value(k := 1)]", "[1]"),
        ("'1010'::BIT", "1010"),
        ("{'a': 1}::VARIANT", "{'a': 1}"),
        ("TIMETZ '10:00:00+01'", "10:00:00+01"),
        ("340282366920938463463374607431768211455::UHUGEINT", "340282366920938463463374607431768211455"),
        ("DATE '0044-03-15 (BC)'", "0044-03-15 (BC)"),
        ("[DATE '0044-03-15 (BC)']", "['0044-03-15 (BC)']"),
        ("DATE '5874897-12-31'", "5874897-12-31"),
        ("'infinity'::TIMESTAMP", "infinity"),
    ],
)
def test_what_python_cannot_hold_is_the_text_of_the_engine(value: str, text: str) -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        relation = sandbox.held(connection.sql(f"SELECT {value} AS a, 2 AS a, 3 AS a_1"))
        rows = of_arrow(relation.to_arrow_table())
    assert json.loads(encode(rows.columns, rows.fetch(), Format.json)) == [{"a": text, "a_1": 2, "a_1_1": 3}]
    assert list(csv.reader(encode(rows.columns, rows.fetch(), Format.csv).decode().splitlines())) == [
        ["a", "a_1", "a_1_1"],
        [text, "2", "3"],
    ]
    for format in (Format.table, Format.markdown):
        assert text in encode(rows.columns, rows.fetch(), format).decode()
    assert rows.frame().columns == ["a", "a_1", "a_1_1"]
    rows.frame().write_parquet(io.BytesIO())


def test_a_long_answer_is_written_in_pieces_and_in_time(tmp_path: Path) -> None:
    table = pyarrow.table({"i": range(20_000), "name": ["=x"] * 20_000})
    out = tmp_path / "long"
    for format in (Format.csv, Format.json, Format.parquet):
        write(of_arrow(table), format, out)
        read = {Format.csv: polars.read_csv, Format.json: polars.read_json, Format.parquet: polars.read_parquet}[format]
        found = read(out)
        assert found["i"].to_list() == list(range(20_000))
        assert set(found["name"]) == {"'=x" if format is Format.csv else "=x"}
    left = iter(range(2))

    def check() -> None:
        if next(left, None) is None:
            raise CharzError("the time is up")

    before = out.read_bytes()
    with pytest.raises(CharzError, match="the time is up"):
        write(of_arrow(table, check), Format.csv, out)
    assert out.read_bytes() == before and list(tmp_path.iterdir()) == [out]


def test_an_answer_takes_no_more_memory_than_its_rows(file: Path) -> None:
    """Rows of 16 MB would take ten times that as tuples and text."""
    code = "import sys, resource\nfrom charz.cli.dispatch import run\nrun(sys.argv[1:])\n"
    code += "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    peaks = []
    for rows in (1, 1_000_000):
        query = f"SELECT range, range + 1 AS next FROM range({rows})"
        asked = [sys.executable, "-c", code, "--db", str(file), "sql", query, "--format", "csv"]
        done = subprocess.run(asked, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
        peaks.append(int(done.stderr.split()[-1]) * 1024)
    assert peaks[1] - peaks[0] < 60e6


def test_every_section_stands_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sections follow one another in a table, and form an object in JSON; CSV and parquet have a row for each value, with every
    digit."""
    tables = [
        ("run", Rows(("model", "latency_s"), [("net", 1 / 3)])),
        ("memory", Rows(("part", "fits"), [("t4", True), ("l4", None)])),
    ]

    def written(format: Format) -> bytes:
        out = tmp_path / f"all.{format}"
        write_sections([(name, rows, dict) for name, rows in tables], format, out, force=True)
        return out.read_bytes()

    assert json.loads(written(Format.json)) == {
        "run": [{"model": "net", "latency_s": 1 / 3}],
        "memory": [{"part": "t4", "fits": True}, {"part": "l4", "fits": None}],
    }
    long = [("run", 0, "model", None, "net"), ("run", 0, "latency_s", 1 / 3, None), ("memory", 0, "part", None, "t4"),
            ("memory", 0, "fits", None, "true"), ("memory", 1, "part", None, "l4"), ("memory", 1, "fits", None, None)]  # fmt: skip
    assert polars.read_csv(io.BytesIO(written(Format.csv))).rows() == long
    assert polars.read_parquet(io.BytesIO(written(Format.parquet))).rows() == long
    assert written(Format.markdown).decode().splitlines()[:5] == [
        "## Run", "", "| model | latency |", "|---|---|", "| net | 333 ms |",
    ]  # fmt: skip
    assert [line for line in written(Format.table).decode().splitlines() if line in ("Run", "Memory")] == [
        "Run",
        "Memory",
    ]


def test_a_report_in_markdown_has_its_sections(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["report", "small", "--on", "t4", "--db", str(file)]
    assert run([*line, "--format", "markdown"]) == 0
    titles = [text[3:] for text in capsys.readouterr().out.splitlines() if text.startswith("## ")]
    assert titles == ["Answer", "Shares", "Slowest"]
    assert run([*line, "--format", "markdown", "--full"]) == 0
    titles = [text[3:] for text in capsys.readouterr().out.splitlines() if text.startswith("## ")]
    assert titles[:7] == ["Run", "Memory", "Mapping", "Kernels", "Energy", "Sentences", "Checks"]
    assert run([*line, "--format", "json", "--full"]) == 0
    assert {"run", "precisions", "timeline", "fusion"} <= json.loads(capsys.readouterr().out).keys()


def test_one_section_is_printed_without_heading_and_names_the_others(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A training has one table; `--section time` and `--section memory` are named. A full answer prints all, each below its heading."""
    said: list[str] = []
    session: Any = Mock()
    session.messages.remark, session.texts = said.append, lambda _: {}
    method: Any = Mock()
    method.asked = Asked(Mock(), ("steps",), ("time", "memory"))
    monkeypatch.setattr(options, "rows_of", lambda *_, section, **__: Rows(("split", "step_s"), [(section, 2.0)]))

    def answered(is_full: bool) -> str:
        options._answer(session, method, {"section": None}, is_full, output.Format.table, options.Target(None, False), None)
        return capfd.readouterr().out

    assert answered(False).splitlines() == ["split    step", "-----  ------", "steps  2.00 s"]
    assert said == ["this is --section steps; other sections: time, memory"]
    whole = answered(True)
    assert [word in whole for word in ("Steps\n=====", "Time\n====", "Memory\n======")] == [True] * 3 and len(said) == 1
    monkeypatch.setattr(options, "rows_of", lambda *_, section, **__: Rows(("split", "launch"), [(section, "trl sft")]))
    assert "trl sft" in answered(False) and len(said) == 1  # sections have no commands


def test_remarks_of_a_negative_answer_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """An error is one line without them."""
    with pytest.raises(typer.Exit), display.messages() as said:
        said.remark("why none meets the limits")
        raise typer.Exit(1)
    assert capsys.readouterr().err == "why none meets the limits\n"
    with pytest.raises(CharzError), display.messages() as said:
        said.remark("why none meets the limits")
        raise CharzError("no such part", "x")
    assert capsys.readouterr().err == ""
