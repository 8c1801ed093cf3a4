"""Signals, closed streams, locales and control characters: one line each, and the documented exit code."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from charz.cli import display, reference
from charz.cli.output import Format, encode
from charz.ingest.compile.rules import Rules
from charz.ingest.run import attempt
from charz.ingest.sources.spec import parse
from charz.schema.errors import CharzError, printable

from .conftest import Charz, assert_one_line_error

COMMAND = (sys.executable, "-c", "from charz.cli import main; main()")
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"


def shell(text: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell in which `$charz` is the command."""
    command = f'charz() {{ "{COMMAND[0]}" -c "{COMMAND[2]}" "$@"; }}; {text}'
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_control_characters_are_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert printable("\x1b[2J\x9b\u202e\u2028µ\n\t") == "\\x1b[2J\\x9b\\u202e\\u2028µ\n\t"
    assert CharzError("unknown model", HOSTILE).line.isprintable()
    assert display.cell(HOSTILE + "\n\t").isprintable()
    for format in (Format.table, Format.markdown):
        text = encode((f"name{HOSTILE}", "b"), [(f"{HOSTILE}\nforged row", [HOSTILE])], format).decode()
        assert text.replace("\n", "").isprintable() and len(text.splitlines()) == 3


def test_no_format_lets_a_terminal_obey_a_value(file: Path) -> None:
    """A terminal shows escaped the characters that a program receives unchanged."""
    for format in ("table", "csv", "json", "markdown"):
        ours, theirs = pty.openpty()
        query = "SELECT chr(27) || '[2J' || chr(155) || chr(7) AS a"
        done = subprocess.run(
            [*COMMAND, "--db", str(file), "sql", query, "--format", format],
            stdout=theirs, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
        os.close(theirs)
        shown = os.read(ours, 2**16)
        os.close(ours)
        assert done.returncode == 0, done.stderr
        assert b"\x1b" not in shown and b"\x07" not in shown and "\x9b".encode() not in shown


def test_messages_do_not_reach_the_terminal_with_control_characters(charz: Charz, file: Path) -> None:
    for arguments in (["report", HOSTILE, "--on", "t4"], [HOSTILE], ["models", f"--{HOSTILE}"], ["plot", HOSTILE, "*"]):
        done = charz("--db", str(file), *arguments)
        assert_one_line_error(done)
        assert done.stderr.rstrip("\n").isprintable()


@pytest.mark.parametrize(
    ("text", "code", "stderr"),
    [
        ("charz --db {file} models <&- >/dev/null", 0, ""),
        ("charz --db {file} models >&-", 2, "cannot write to standard output"),
        ("charz --db {file} models 2>&- >/dev/null", 0, ""),
        ("charz --db {file} report nothing --on t4 2>&-", 2, ""),
        ("charz --db {file} models >/dev/full", 2, "cannot write to standard output"),
        ("charz --db {file} sql - <&-", 2, "statement"),
        ("charz --db {file} sql $'\\xff'", 2, "not text in UTF-8"),
        ("charz --db {file} models | head -c1", 0, ""),
    ],
)
def test_closed_and_full_streams(file: Path, tmp_path: Path, text: str, code: int, stderr: str) -> None:
    before = file.read_bytes()
    done = shell(text.format(file=file), tmp_path)
    assert done.returncode == code, done
    assert stderr in done.stderr and len(done.stderr.splitlines()) == bool(stderr), done.stderr
    assert file.read_bytes() == before


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}])
def test_locales_without_our_letters(file: Path, tmp_path: Path, locale: dict[str, str]) -> None:
    done = shell(f"charz --db {file} report small --on t4; charz --db {file} report é --on t4", tmp_path, **locale)
    assert "Traceback" not in done.stderr and "Error:" not in done.stderr
    assert "small" in done.stdout and "charz: unknown model" in done.stderr


def test_a_condition_is_one_expression(charz: Charz, file: Path) -> None:
    for text in ("'", "", "1) UNION SELECT (1", "TRUE; DROP TABLE source", "x.no_such = 1"):
        for command in (["validate"], ["calibrate", "hardware:t4", "--no-write"]):
            done = charz("--db", str(file), *command, "--where", text)
            assert_one_line_error(done)
            assert "CHARZ_TRACEBACK" not in done.stderr


def test_names_that_the_system_refuses_get_one_line(charz: Charz, file: Path) -> None:
    name = "a" * 5000
    for command in (
        ["hardware", "check", name], ["hardware", "add", name], ["measurements", "import", name], ["export", name],
        ["ingest", f"{name}.pt2"], ["ingest", f"{name}.py:make"], ["models", "--out", name], ["models", "--db", name],
    ):  # fmt: skip
        done = charz("--db", str(file), *command)
        assert done.returncode in (1, 2) and "CHARZ_TRACEBACK" not in done.stderr, (command[0], done.stderr[:300])
        assert len(done.stderr.splitlines()) == 1


def test_a_factory_that_exits_is_a_failed_model(tmp_path: Path) -> None:
    model = tmp_path / "leaves.py"
    model.write_text("def make():\n    raise SystemExit(0)\n")
    assert "ended the run" in str(attempt(parse(f"{model}:make"), Rules))  # type: ignore[arg-type]  # not reached


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_the_old_file_and_nothing_beside_it(
    file: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    path = tmp_path / "charz.duckdb"
    shutil.copy(file, path)
    before = path.read_bytes()
    process = subprocess.Popen(
        [*COMMAND, "--db", str(path), "refresh"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / ".writing-charz.duckdb").exists() and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, len(said.splitlines())) == (code, 1), said
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["charz.duckdb"]


def test_an_interrupt_while_the_program_is_read_is_one_line() -> None:
    code = """
import sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "charz.cli.dispatch":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupts())
from charz.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "charz: interrupted\n")


def test_exit_codes_are_documented() -> None:
    assert [row[0] for row in reference.EXIT_CODES] == ["0", "1", "2", "130", "143"]
    page = (reference.FOLDER / "cli.md").read_text()
    assert all(text in page for _, text in reference.EXIT_CODES)


@pytest.mark.parametrize("arguments", [["--version"], ["report", "--help"], ["no-such-command"]])
def test_python_m_charz_is_the_command(arguments: list[str], charz: Charz, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "charz", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    wanted = charz(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (wanted.returncode, wanted.stdout, wanted.stderr)
    assert done.stdout or done.stderr


NATIVE = """
import hashlib
from pathlib import Path
from charz.cli import process
from charz.schema import unfinished
process.prepare()
try:
    with {block}:
        print("ready", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"", b"", {rounds})
except KeyboardInterrupt:
    print("heard")
"""


def interrupted(code: str) -> tuple[int, str, str]:
    """Interrupt a script once it is ready. Return its exit code and its output."""
    running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None and running.stdout.readline() == "ready\n"
    began = _cpu_ticks(running.pid)
    while _cpu_ticks(running.pid) < began + 20:  # the native call is running
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    out, said = running.communicate(timeout=60)
    return running.returncode, out, said


def _cpu_ticks(pid: int) -> int:
    """Return the CPU time of a process in hundredths of a second."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_a_native_call_that_hears_no_signal_is_ended(tmp_path: Path) -> None:
    """The file that the call was writing is deleted."""
    block = f"unfinished.folder(Path({str(tmp_path / 'target')!r}))"
    assert interrupted(NATIVE.format(block=block, rounds=2**31 - 1)) == (130, "", "charz: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_at_an_interrupt_is_waited_for() -> None:
    """The native call takes about two seconds, which is longer than others may take."""
    assert interrupted(NATIVE.format(block="unfinished.finishing()", rounds=8 * 10**6)) == (0, "heard\n", "")
