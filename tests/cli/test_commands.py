"""The commands as a user runs them: answers, bad inputs, and what they never import."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from charz.cli import dispatch
from charz.cli.dispatch import line
from charz.session import Session
from charz.session.answer import Rows, answer
from charz.session.methods import methods
from charz.sql import triggers

from .conftest import Charz, assert_one_line_error


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["models"], ["sql", "SELECT 1"], ["schema"], ["report", "resnet18", "--on", "t4"]],
    ids=lambda a: " ".join(a[:2]),
)
def test_no_question_imports_torch(resnet18: Path, arguments: list[str]) -> None:
    script = (
        "import sys; from charz.cli.dispatch import run; code = run(sys.argv[1:]);"
        "print('torch' in sys.modules, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=os.environ | {"CHARZ_DB": str(resnet18)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "False"


def test_help_lists_every_command_with_a_line(charz: Charz) -> None:
    text = charz("--help").stdout
    for name, found in methods().items():
        assert f"\n  {name} " in text
        assert line(found)


@pytest.mark.slow
def test_every_command_explains_itself(charz: Charz) -> None:
    for name in methods():
        done = charz(name, "--help")
        assert done.returncode == 0, done.stderr
        assert "Usage:" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["modles"], ["unknown command", "models"]),
        (["models", "--bogus"], ["No such option", "--help"]),
        (["models"], ["no such database", "charz ingest"]),
        (["--db", "nowhere/x.duckdb", "models"], ["no such folder"]),
        (["--db", "text.duckdb", "models"], ["not a charz database"]),
        (["--db", ".", "models"], ["a folder, not a database"]),
        (["--db", "text.duckdb", "scenario", "add", "--batch", "2"], ["not a charz database"]),
        (["scenario", "add", "--batch", "0"], ["--batch"]),
        (["scenario", "add", "--batch", "9223372036854775807"], ["batch out of range", "1,000,000,000"]),
        (["scenario", "add", "--context", "9223372036854775807"], ["context out of range"]),
        (["compare", "resnet18", "--batch", "1:4096:0"], ["not a size: 1:4096:0", "doubling"]),
        (["compare", "resnet18", "--batch", "8:1"], ["not a size: 8:1"]),
        (["compare", "resnet18", "--batch", ","], ["not a size"]),
        (["compare", "resnet18", "--sequence", "9223372036854775807"], ["size out of range"]),
        (["recommend", "resnet18", "--latency", "20"], ["a number without its unit: --latency 20", "--latency 5ms"]),
        (["compare", "resnet18", "--batch", "1:9999:1"], ["too many sizes"]),
        (["report", "resnet18", "--on", "t4", "--top", "99999999999999999999"], ["--top", "1000000000"]),
        (["compare", "resnet18", "--memory-format", "x"], ["unknown memory format: x", "nhwc"]),
        (["compare", "resnet18", "--price", "--kwh", "inf"], ["not a finite number: --kwh inf"]),
        (["scenario", "add", "--phase", "backward"], ["unknown phase", "prefill"]),
    ],
)
def test_bad_input_gets_one_line(charz: Charz, tmp_path: Path, arguments: list[str], parts: list[str]) -> None:
    (tmp_path / "text.duckdb").write_text("no database")
    assert_one_line_error(charz(*arguments), *parts)
    assert [p.name for p in tmp_path.iterdir()] == ["text.duckdb"]
    assert (tmp_path / "text.duckdb").read_text() == "no database"


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["report", "resnet81", "--on", "t4"], ["unknown model", "resnet18", "charz ingest"]),
        (["report", "resnet18", "--on", "rtx4099"], ["unknown part", "charz hardware list"]),
        (["report", "resnet18", "--on", "zzqq"], ["unknown part: zzqq. No part has a similar name. `charz hardware list` shows all."]),
        (["report", "small"], ["Missing option '--on'. models: ", "; parts: a10, ", "more. `charz report --help-all`"]),
        (["report", "--on", "t4"], ["Missing argument 'model'. models: "]),
        (["export", "x", "--hardware", "t4"], ["No such option: --hardware. charz export calls it --on."]),
        (["--format", "json", "models"], ["--format follows a command: charz COMMAND --format FORMAT."]),
        (["--help-all"], ["No such option: --help-all", "`charz --help` lists every command."]),
        (["models", "--hardware", "t4"], ["No such option: --hardware", "`charz models --help-all` shows its usage."]),
        (["measure", "resnet18", "--gpu", "0"], ["No such option: --gpu", "--help-all"]),
        (["report", "resnet18", "--on", "t4", "--precision", "fp61"], ["unknown precision", "fp16"]),
        (["report", "resnet18", "--on", "t4", "--backend", "inductr"], ["unknown backend", "inductor"]),
        (["report", "resnet18", "--on", "t4", "--backend", "kpu"], ["does not run on this part", "inductor"]),
        (["report", "resnet18", "--on", "t4", "--precision", "bf16"], ["does not compute in this precision", "fp16"]),
        (["recommend", "resnet18", "--on", "t4", "--latency", "1.2.3ms"], ["not an amount: --latency 1.2.3ms"]),
        (["explain", "resnet18", "²", "--on", "t4"], ["unknown operator: ²"]),
        (["sql", "SELECT 1", "--format", "csv", "--out", ""], ["not a file to write"]),
        (["schema", "model_reprt"], ["unknown view or table", "model_report"]),
        (["scenario", "remove", "12345"], ["unknown scenario", "charz scenario list"]),
        (["export", "."], ["not empty"]),
    ],
)
def test_unknown_names_get_the_nearest(resnet18: Path, charz: Charz, arguments: list[str], parts: list[str]) -> None:
    before = resnet18.read_bytes()
    done = charz(*arguments, env={"CHARZ_DB": str(resnet18)}, cwd=resnet18.parent)
    assert_one_line_error(done, *parts)
    assert resnet18.read_bytes() == before


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (RuntimeError("Query interrupted"), 130, "interrupted"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 0, None),
        (ValueError("one\ntwo"), 2, "ValueError: one. CHARZ_TRACEBACK=1 shows where."),
        (
            type("PanicException", (BaseException,), {})(),
            2,
            "PanicException: no message. CHARZ_TRACEBACK=1 shows where.",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_happens_is_told_in_one_line(
    error: BaseException,
    code: int,
    line: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    @answer()
    def fails(self: Session) -> Rows:
        """Fail."""
        raise error

    monkeypatch.setattr(Session, "models", fails)
    monkeypatch.setattr(dispatch, "_drop_output", lambda: None)
    monkeypatch.delenv("CHARZ_TRACEBACK", raising=False)
    assert dispatch.run(["models"]) == code
    assert capsys.readouterr().err == (f"charz: {line}\n" if line else "")


def test_a_traceback_is_there_for_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARZ_TRACEBACK", "1")
    monkeypatch.setattr(Session, "_names", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        dispatch.run(["models"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(("output", "code", "lines"), [("/dev/full", 2, 1), (None, 0, 0)])
def test_an_output_that_takes_nothing(resnet18: Path, output: str | None, code: int, lines: int) -> None:
    """A full disk is an error; a pipe that its reader closed is not."""
    reader, pipe = os.pipe()
    os.close(reader)
    target = os.open(output, os.O_WRONLY) if output else pipe
    command = [sys.executable, "-c", "from charz.cli import main; main()", "models", "--db", str(resnet18)]
    done = subprocess.run(command, stdout=target, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (code, lines), done.stderr


def test_alone_it_says_what_to_do_first(charz: Charz) -> None:
    done = charz()
    assert done.returncode == 0
    assert [text.split()[:2] for text in done.stdout.splitlines()] == [
        ["charz", "ingest"], ["charz", "report"], ["charz", "recommend"], ["charz", "--help"],
    ]  # fmt: skip


def test_a_shell_completes_commands_and_options(charz: Charz) -> None:
    def completed(words: str) -> list[str]:
        count = str(len(words.split()) - 1)
        return charz(env={"_CHARZ_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": count}).stdout.split()

    assert completed("charz rep") == ["report"]
    assert "--latency" in completed("charz recommend --lat")
    assert "complete -o default" in charz(env={"_CHARZ_COMPLETE": "source_bash"}).stdout


def test_a_group_alone_is_its_help(charz: Charz) -> None:
    done = charz("scenario")
    assert (done.returncode, done.stderr) == (0, "") and "remove" in done.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes in any folder")
def test_a_read_only_folder_gets_one_line(charz: Charz, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    assert_one_line_error(charz("--db", str(folder / "x.duckdb"), "scenario", "add"), "cannot write in this folder")


def test_scenarios_are_added_once_and_removed(resnet18: Path, charz: Charz, tmp_path: Path) -> None:
    path = tmp_path / "charz.duckdb"
    path.write_bytes(resnet18.read_bytes())
    arguments = ("scenario", "add", "--batch", "7", "--precision", "fp16", "--backend", "inductor")
    first = charz(*arguments)
    assert "batch 7, phase forward, precision fp16, backend inductor" in first.stdout
    assert "exist already" in charz(*arguments).stderr
    number = first.stdout.split()[2].rstrip(",")
    assert f"\n{number},7," in charz("scenario", "list", "--format", "csv").stdout
    assert charz("scenario", "remove", number).returncode == 0
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM scenario WHERE batch = 7").fetchall() == [(0,)]


@pytest.mark.slow
def test_a_report_answers_for_a_scenario_that_is_not_in_the_file(resnet18: Path, charz: Charz) -> None:
    before = resnet18.read_bytes()
    arguments = ("report", "resnet18", "--on", "h100_sxm5_80", "--batch", "5", "--precision", "fp16", "--full")
    done = charz(*arguments, "--db", str(resnet18))
    assert done.returncode == 0, done.stderr
    assert "precision fp16, batch 5" in " ".join(done.stdout.split())
    assert "9.07 GMAC" in done.stdout  # five times 1.814
    checks = done.stdout.partition("Checks")[2].partition("\n\n")[0]
    assert checks.count(" yes ") >= 3 and " no " not in checks
    assert resnet18.read_bytes() == before


@pytest.mark.slow
def test_invariants_hold(resnet18: Path, charz: Charz) -> None:
    done = charz("doctor", "--invariants", "--db", str(resnet18))
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_check_notices_what_is_kept_wrong_and_refresh_mends_it(resnet18: Path, charz: Charz, tmp_path: Path) -> None:
    path = tmp_path / "charz.duckdb"
    path.write_bytes(resnet18.read_bytes())
    with duckdb.connect(str(path)) as connection:
        wrong = "UPDATE arithmetic_rate SET clock_hz = 1 WHERE hardware = 't4'"  # a write that the triggers allow
        connection.execute(f"INSERT INTO {triggers.WRITING} VALUES (TRUE); {wrong}; DELETE FROM {triggers.WRITING}")
        query = "SELECT trigger_name, table_name FROM maintenance_trigger WHERE table_name = 'hardware_peak'"
        name, table = connection.execute(query).fetchall()[0]
        connection.execute(f"DROP TRIGGER {name} ON {table}")
    done = charz("doctor", "resnet18", "--invariants", "--on", "t4", "--format", "csv")
    assert done.returncode == 1
    wrong = {
        line.split(",")[1]: line.split(",")[2] for line in done.stdout.splitlines()[1:] if line.split(",")[2] != "0"
    }
    assert wrong.pop(f"{name} on {table}") == "1"
    assert "arithmetic_rate" in wrong
    mended = charz("refresh")
    assert mended.returncode == 0 and "arithmetic_rate" in mended.stdout, mended
    assert charz("doctor", "resnet18", "--invariants", "--on", "t4").returncode == 0


def test_schema_shows_units(resnet18: Path, charz: Charz) -> None:
    assert "[s]" in charz("schema", "model_report", "--db", str(resnet18)).stdout
    assert "model_report" in charz("schema", "--db", str(resnet18)).stdout
