"""Anybody's SQL gets its answer within its limits, and reaches nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import pytest

from charz import confined, sandbox
from charz.sandbox import Limits
from charz.schema.errors import CharzError


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sandbox") / "numbers.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE number AS SELECT i, i * 0.5 AS half, 'n' || i AS name FROM range(100000) AS t(i)"
        )
    return path


def opened(path: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(path), read_only=True)


def rows(path: Path, text: str, most_rows: int | None = None, **limits: float) -> list[tuple[object, ...]]:
    with sandbox.asked(opened, [path], text, Limits(**limits)) as answer:  # type: ignore[arg-type]
        table = answer.table(most_rows)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_rows_come_back(path: Path) -> None:
    assert rows(path, "SELECT i, half, name FROM number ORDER BY i DESC LIMIT 2") == [
        (99999, 49999.5, "n99999"),
        (99998, 49999.0, "n99998"),
    ]
    assert rows(path, "SELECT count(*), sum(i) FROM number") == [(100000, 4999950000)]
    assert rows(path, "SELECT 1 AS i WHERE false") == []


def test_rows_are_streamed(path: Path) -> None:
    with sandbox.asked(opened, [path], "SELECT i FROM number") as answer:
        assert answer.schema.names == ["i"]
        assert sum(batch.num_rows for batch in answer) == 100_000


def test_more_rows_than_asked_for_are_counted(path: Path) -> None:
    with pytest.raises(CharzError, match=r"the result has 100,000 rows: 10 were asked for"):
        rows(path, "SELECT i FROM number", most_rows=10)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT nothing FROM number", 'the query failed: .*"nothing" not found'),
        ("SELECT * FROM numbers", "Did you mean"),
        ("SELECT i::TINYINT FROM number", "the query failed: Conversion Error"),
        ("CREATE TEMP TABLE t (i INT)", "the statement returns no rows"),
        ("INSERT INTO number VALUES (1, 1, 'x') RETURNING i", "the statement returns no rows"),
    ],
)
def test_what_fails_is_told_in_one_line(path: Path, text: str, message: str) -> None:
    with pytest.raises(CharzError, match=message) as caught:
        rows(path, text)
    assert "\n" not in caught.value.line


def test_an_opening_that_fails_is_told(path: Path) -> None:
    with pytest.raises(CharzError, match="IOException: .*does not exist"):
        rows(path.with_name("none.duckdb"), "SELECT 1")


def says(path: Path) -> duckdb.DuckDBPyConnection:
    print("left out: half\nand more", file=sys.stderr)
    return opened(path)


def ends(by: int | str) -> duckdb.DuckDBPyConnection:
    if isinstance(by, str):
        print(f"terminate called after throwing an instance of '{by}'", file=sys.stderr, flush=True)
        os.abort()
    if by > 0:
        os.kill(os.getpid(), by)
    os._exit(-by)


def test_what_the_process_prints_comes_with_the_rows(path: Path) -> None:
    with sandbox.asked(says, [path], "SELECT count(*) FROM number") as answer:
        assert answer.table().num_rows == 1
        assert answer.said == ["left out: half", "and more"]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (signal.SIGKILL, "was killed: SIGKILL. .*memory runs out"),
        (signal.SIGSEGV, "crashed: SIGSEGV"),
        (-3, "crashed: exit code 3"),
        ("std::bad_alloc", "needs more memory"),
        ("std::logic_error", "crashed: SIGABRT. .*logic_error"),
    ],
)
def test_a_process_that_dies_without_a_word_is_told_as_what_it_died_of(by: int | str, message: str) -> None:
    with pytest.raises(CharzError, match=message), sandbox.asked(ends, [by], "SELECT 1") as answer:
        answer.table()


def escapes(path: Path, folder: Path) -> list[str]:
    wal = f"{path}.wal"
    return [
        f"COPY (SELECT 1) TO '{folder}/out.csv'",
        f"COPY (SELECT 1) TO '{wal}' (FORMAT csv)",
        f"COPY number TO '{wal}'",
        f"EXPORT DATABASE '{folder}/export'",
        f"ATTACH '{folder}/other.duckdb'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM glob('/etc/*')",
        "FROM '/etc/passwd'",
        "SELECT * FROM 'http://127.0.0.1:9/x.csv'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET memory_limit = '100GB'",
        "SET temp_directory = '/tmp'",
        "RESET disabled_filesystems",
        "SELECT * FROM sys",
        "PRAGMA database_list; SELECT 1",
        f"CREATE SECRET s (TYPE s3, KEY_ID '{folder}')",
        f"PRAGMA enable_profiling; SET profiling_output = '{folder}/profile'",
        f"SET log_query_path = '{folder}/log'",
    ]


@pytest.mark.parametrize("number", range(21))
def test_nothing_gets_out(path: Path, tmp_path: Path, number: int) -> None:
    before = sorted(path.parent.iterdir())
    with pytest.raises(CharzError):
        rows(path, sandbox.one_statement(escapes(path, tmp_path)[number]))
    assert list(tmp_path.iterdir()) == []
    assert sorted(path.parent.iterdir()) == before


@pytest.mark.parametrize("number", range(21))
def test_nothing_gets_out_where_the_system_confines_nothing(path: Path, tmp_path: Path, number: int) -> None:
    before = sorted(path.parent.iterdir())
    with opened(path) as connection:
        sandbox.lock(connection, 10**9)
        with pytest.raises((CharzError, duckdb.Error)):
            connection.sql(sandbox.one_statement(escapes(path, tmp_path)[number])).fetchall()
    assert list(tmp_path.iterdir()) == []
    assert sorted(path.parent.iterdir()) == before


@pytest.mark.parametrize(
    "text",
    [
        "SELECT length(repeat('x', 4000000000))",
        "SELECT list(i) FROM range(1000000000) AS t(i)",
        "SELECT string_agg(repeat('x', 1000), '') FROM range(10000000) AS t(i)",
        "SELECT lpad('x', 2000000000, 'y')",
        "SELECT range(2000000000)",
    ],
)
def test_memory_is_bounded(path: Path, text: str) -> None:
    began, peak = time.monotonic(), Peak()
    with peak, pytest.raises(CharzError, match="needs more memory|the query failed") as caught:
        rows(path, text, memory_byte=300_000_000)
    assert "\n" not in caught.value.line
    assert time.monotonic() - began < 30
    assert peak.byte < 1.1 * 300_000_000 + 200_000_000, "the limit, and an engine at rest and a moment of it"


class Peak:
    """Return the largest memory of a child of this process, sampled often."""

    def __enter__(self) -> Peak:
        self.byte = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_over.wait(0.01):
            for line in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
                try:
                    resident = int(Path(f"/proc/{line}/statm").read_text().split()[1])
                except (FileNotFoundError, ProcessLookupError):
                    continue
                self.byte = max(self.byte, resident * os.sysconf("SC_PAGE_SIZE"))


def test_a_result_larger_than_the_memory_is_refused(path: Path) -> None:
    with pytest.raises(CharzError, match="needs more memory.*the result has more than"):
        rows(path, "SELECT repeat('x', 1000) AS x FROM range(1000000)", memory_byte=100_000_000)


def test_a_query_may_spill_into_a_folder_that_is_gone(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    text = "SELECT count(*), max(k) FROM (SELECT hash(i) AS k, i FROM range(20000000) AS t(i) ORDER BY k OFFSET 10)"
    found = rows(path, text, memory_byte=300_000_000)
    assert found[0][0] == 20_000_000 - 10
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(CharzError, match="needs more memory|the query failed"):
        rows(path, text, memory_byte=300_000_000, spill_byte=1_000_000)


def test_a_full_disk_is_named_with_the_folder_of_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/some/where")
    text = 'IO Error: Could not write file "/some/where/charz-x/duckdb_temp_1.tmp": No space left on device'
    line = sandbox.query_failed(duckdb.IOException(text)).line
    assert line.startswith("the disk is full: /some/where. ") and "TMPDIR" in line
    monkeypatch.setattr("tempfile.tempdir", "/proc/none")
    with pytest.raises(CharzError, match="no folder for temporary files"), sandbox.asked(opened, [], "SELECT 1"):
        pass


def test_time_is_bounded(path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(CharzError, match="the query ran longer than 1 s"):
        rows(path, "SELECT count(*) FROM range(10000000) AS a(i), range(10000000) AS b(j) WHERE i * j = 7", timeout_s=1)
    assert time.monotonic() - began < 3


def test_nothing_stays_behind(path: Path) -> None:
    endless = "SELECT count(*) FROM range(10000000) AS a(i), range(10000000) AS b(j) WHERE i * j = 7"
    with pytest.raises(ZeroDivisionError), sandbox.asked(opened, [path], "SELECT i FROM number") as answer:
        next(iter(answer))
        raise ZeroDivisionError
    with pytest.raises(CharzError):
        rows(path, endless, timeout_s=0.5)
    assert Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split() == []


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL])
def test_whoever_asks_can_leave(path: Path, signal_number: signal.Signals) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from charz import sandbox
import test_sandbox
text = "SELECT count(*) FROM range(10000000) AS a(i), range(10000000) AS b(j) WHERE i * j = 7"
print("asking", flush=True)
with sandbox.asked(test_sandbox.opened, [Path({str(path)!r})], text) as answer:
    answer.table()
"""
    asker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert asker.stdout
    assert asker.stdout.readline() == "asking\n"
    time.sleep(2)
    children = Path(f"/proc/{asker.pid}/task/{asker.pid}/children").read_text().split()
    assert len(children) == 1
    asker.send_signal(signal_number)
    began = time.monotonic()
    asker.wait()
    while Path(f"/proc/{children[0]}").exists() and "Z" not in Path(f"/proc/{children[0]}/stat").read_text().split():
        assert time.monotonic() - began < 2
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("text", "byte"),
    [("4GB", 4 * 10**9), ("512 MiB", 512 * 2**20), ("1.5gb", 15 * 10**8), ("100000000", 10**8), ("2TiB", 2 * 2**40)],
)
def test_amounts_of_memory(text: str, byte: int) -> None:
    assert sandbox.memory_byte(text) == byte


@pytest.mark.parametrize(
    "text", ["", "GB", "-1GB", "1GB'; COPY (SELECT 1) TO 'x", "1e9", "1 XB", "0", "1KB", "nan", "1GB 1GB"]
)
def test_what_is_no_amount_of_memory(text: str) -> None:
    with pytest.raises(CharzError, match="memory"):
        sandbox.memory_byte(text)


def test_one_statement() -> None:
    assert sandbox.one_statement("SELECT ';'") == "SELECT ';'"
    for text in ("", "SELECT 1; SELECT 2", "SELEC 1"):
        with pytest.raises(CharzError):
            sandbox.one_statement(text)


def test_a_confined_process_writes_only_in_its_folder(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from charz import confined
folder = Path({str(tmp_path)!r})
print(confined.limit_writing(folder / "own", 1000))
for path, text in ((folder / "own" / "a", "x"), (folder / "b", "x"), (folder / "own" / "c", "x" * 2000), (folder / "there", "y")):
    try:
        path.write_text(text)
        print("written")
    except OSError as error:
        print(error.strerror)
"""
    (tmp_path / "own").mkdir()
    (tmp_path / "there").write_text("here")
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    if shown[0] == "False":
        pytest.skip("this system has no landlock")
    assert shown[1:] == ["written", "Permission denied", "File too large", "Permission denied"]
    assert (tmp_path / "there").read_text() == "here"
    assert callable(confined.limit_memory)
