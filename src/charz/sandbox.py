"""Execution of a user's SQL in a separate process that can only read the database.

Before the process opens the database, it gives up writing, network and memory beyond a limit (`confined`). It denies SQL access to other files and to
settings, and returns rows as an Arrow stream. It ends at the time limit, when the reader closes the stream, or when the process that started it ends.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import pickle
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from charz import confined
from charz.schema.errors import CharzError

if TYPE_CHECKING:
    import duckdb
    import pyarrow

_UNITS = {"": 1, "B": 1}
_UNITS |= {f"{prefix}B": 1000**i for i, prefix in enumerate("KMGT", start=1)}
_UNITS |= {f"{prefix}IB": 1024**i for i, prefix in enumerate("KMGT", start=1)}
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([KMGT]?I?B?)", re.IGNORECASE)
LEAST_MEMORY_BYTE = 100 * 10**6
"""Smallest memory limit, since DuckDB uses more memory than it counts."""

MOST_TIMEOUT_S = 1e9
"""Longest time limit, since system clocks overflow at ten times this limit. [s]"""

_ENDING = b"\0"
"""Byte before the final status of the other process. Printed text never contains this byte."""

_BATCH_ROWS = 8192
_ENGINE_SHARE = 0.75
"""Share of the memory limit that DuckDB may count, since DuckDB uses more than it counts, about 100 MB more while it spills (measured)."""

NO_CODE = (
    "python_enable_replacements = false",
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
)
"""Settings that deny SQL access to Python's variables and to extensions."""

NO_FILES = ("enable_external_access = false", "disabled_filesystems = 'LocalFileSystem'")
"""Settings, in this order, that deny SQL access to files and network. The first setting leaves the write-ahead log of the database writable; the
second prevents `COPY ... TO 'FILE.wal'` from writing such a log."""

_NOT_HELD = re.compile(r"\b(INTERVAL|UNION|BIGNUM|UHUGEINT|BIT|TIME WITH TIME ZONE|VARIANT|GEOMETRY)\b")
"""Pattern of types, also inside other types, that readers of Arrow do not know or misread."""

Opening = Callable[..., "duckdb.DuckDBPyConnection"]
"""Function that opens the database in the other process. It is defined in a module, so that it can be pickled."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a query."""

    memory_byte: int = 4 * 10**9
    timeout_s: float = 60.0
    """Time from the start to the last row; 0 for no limit. [s]"""
    spill_byte: int = 10 * 10**9
    """Largest disk space of the query's temporary folder. [byte]"""


def memory_byte(text: str) -> int:
    """Parse an amount such as `4GB` or `512 MiB` into bytes. Raise `CharzError` for an invalid amount."""
    match = _AMOUNT.fullmatch(text.strip())
    unit = match[2].upper() if match else ""
    if match is None or unit not in _UNITS:
        raise CharzError("not an amount of memory", text, next="write e.g. --memory 4GB")
    amount = int(float(match[1]) * _UNITS[unit])
    if not LEAST_MEMORY_BYTE <= amount < 2**60:
        least = f"at least {LEAST_MEMORY_BYTE // 10**6} MB are needed"
        raise CharzError("too little or too much memory", text, least, "write e.g. --memory 4GB")
    return amount


def check_timeout(timeout_s: float) -> None:
    """Raise `CharzError` for an invalid time limit."""
    if not 0 <= timeout_s <= MOST_TIMEOUT_S:
        exists = f"0 (no limit) to {MOST_TIMEOUT_S:g} s"
        raise CharzError(
            "not a time limit", f"{timeout_s:g}", exists, "write e.g. --timeout 60"
        )


def typed(stream: TextIO) -> str:
    """Read the text of a stream in UTF-8. Raise `CharzError` for other bytes, such as UTF-16."""
    data = stream.buffer.read() if hasattr(stream, "buffer") else stream.read().encode()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        kind = "UTF-16, it seems" if b"\0" in data else ""
        raise CharzError("standard input is not text in UTF-8", kind, next="convert it, e.g. with iconv -t UTF-8")
    return text


def one_statement(text: str) -> str:
    """Return the text if it is exactly one valid statement. Raise `CharzError` otherwise."""
    import duckdb

    try:
        statements = duckdb.extract_statements(text)
    except duckdb.Error as error:
        raise query_failed(error) from error
    if len(statements) != 1:
        raise CharzError(
            "not exactly one statement", f"this text has {len(statements)}", next="run them one by one"
        )
    return text


def check_gives_rows(text: str) -> None:
    """Raise `CharzError` for a statement that would return no rows, without running the statement."""
    import duckdb

    if duckdb.extract_statements(text)[0].expected_result_type != [duckdb.ExpectedResultType.QUERY_RESULT]:
        next = "charz only reads in SQL; change rows with a DuckDB client"
        raise CharzError("the statement returns no rows", text[:200], next=next)


def check_is_select(text: str) -> None:
    """Raise `CharzError` for a statement other than a query, without running the statement."""
    import duckdb

    if duckdb.extract_statements(text)[0].type != duckdb.StatementType.SELECT:
        raise CharzError("not a query", text[:200], next="write one SELECT, or the name of a view or table")


def lock(connection: duckdb.DuckDBPyConnection, memory: int, spill: Path | None = None, spill_byte: int = 0) -> None:
    """Close SQL access to files, network, Python variables and settings for the rest of the connection.

    With a folder to spill to, the process must have given up writing elsewhere (`confined.limit_writing`).
    """
    from charz.schema import ddl

    settings = [
        f"memory_limit = '{memory:d}B'",
        "enable_progress_bar = false",
        *NO_CODE,
        f"temp_directory = {ddl.literal(str(spill or ''))}",
    ]
    if spill is not None:
        settings += [f"max_temp_directory_size = '{spill_byte:d}B'", "enable_external_access = false"]
    else:
        settings += NO_FILES
    for setting in (*settings, "lock_configuration = true"):
        connection.execute(f"SET {setting}")


def held(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Rename duplicate columns of a relation, and cast types that frames and files cannot store to text."""
    from charz.schema import ddl

    names = list(relation.columns)
    for number, name in enumerate(names):
        count = itertools.count(1)
        while names[number] in names[:number]:
            names[number] = f"{name}_{next(count)}"
    casts = ["::VARCHAR" if _NOT_HELD.search(str(kind)) else "" for kind in relation.types]
    if names == relation.columns and not any(casts):
        return relation
    columns = enumerate(zip(casts, names, strict=True), start=1)
    return relation.project(", ".join(f"#{number}{cast} AS {ddl.quote(name)}" for number, (cast, name) in columns))


def query_failed(error: Exception, path: str = "") -> CharzError:
    """Convert DuckDB's error about a query into one line, without the excerpt of the query. `path` is the database."""
    import duckdb

    from charz.schema import damage, disk

    if damage.is_found(error):
        return damage.error(path, error)
    if disk.is_full(error):
        exists = "the query writes temporary data there that exceeds its memory"
        next = "make room there, set TMPDIR to a folder elsewhere, or raise --memory"
        return CharzError("the disk is full", tempfile.gettempdir(), exists, next)
    lines = [line.strip() for line in str(error).splitlines()]
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return _out_of_memory(lines[0] if lines else "")
    text = " ".join(line for line in lines if line and not line.startswith(("LINE ", "^")))
    if "disabled by configuration" in text:
        next = "use a DuckDB client for other files"
        return CharzError("a query may only read the database", text, next=next)
    is_about_names = isinstance(error, duckdb.CatalogException | duckdb.BinderException)
    next = "`charz schema` lists views, `charz schema VIEW` its columns" if is_about_names else ""
    return CharzError("the query failed", text, next=next)


def too_long(timeout_s: float) -> CharzError:
    """Return the error of a query that exceeded its time limit."""
    next = "narrow it with --model and --on, query `answer.VIEW` for answers at hand, or raise --timeout"
    return CharzError(f"the query ran longer than {timeout_s:g} s", next=next)


class Answer:
    """Rows of a statement, which are read while they arrive."""

    def __init__(self, process: _Process, limits: Limits) -> None:
        import pyarrow

        self._process = process
        self._limits = limits
        try:
            self._stream = pyarrow.ipc.open_stream(pyarrow.PythonFile(process, mode="r"))
        except (pyarrow.ArrowInvalid, OSError) as error:
            process.finish()
            raise CharzError("the query ended without an answer", str(error)) from error

    @property
    def schema(self) -> pyarrow.Schema:
        """Names and types of the columns."""
        return self._stream.schema

    def check_time(self) -> None:
        """Raise `CharzError` once the time limit is exceeded, even after the last row."""
        self._process.left_s()

    @property
    def said(self) -> list[str]:
        """Warnings about data that the rows leave out, complete after the last row."""
        return self._process.said

    def __iter__(self) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows in batches. Raise `CharzError` if the statement fails or reaches a limit."""
        import pyarrow

        with contextlib.suppress(pyarrow.ArrowInvalid, OSError):  # cut off: `finish` tells why
            yield from self._stream
        self._process.finish()

    def table(self, most_rows: int | None = None) -> pyarrow.Table:
        """Return all rows. Raise `CharzError` that states the number of rows if they exceed `most_rows` or the memory limit."""
        import pyarrow

        kept: list[pyarrow.RecordBatch] = []
        rows = byte = 0
        for batch in self:
            rows += batch.num_rows
            byte += batch.nbytes
            if byte > self._limits.memory_byte:
                raise _out_of_memory(f"the result has more than {rows:,} rows")
            if most_rows is None or rows <= most_rows:
                kept.append(batch)
            else:
                byte -= batch.nbytes
        if most_rows is not None and rows > most_rows:
            raise CharzError(
                f"the result has {rows:,} rows",
                f"{most_rows:,} were asked for",
                next="add LIMIT, or write it to a file",
            )
        return pyarrow.Table.from_batches(kept, self.schema)


@contextlib.contextmanager
def asked(opening: Opening, arguments: Sequence[Any], text: str, limits: Limits | None = None) -> Iterator[Answer]:
    """Yield the rows of one statement, run in a process that ends with the block. `opening(*arguments)` opens the database in that process.

    Raise `CharzError` if the statement fails, returns no rows, or reaches a limit.
    """
    limits = limits or Limits()
    try:
        folder = Path(tempfile.mkdtemp(prefix="charz-"))
    except OSError as error:
        next = "make room in the folder of temporary files, or set TMPDIR to another"
        raise CharzError("no folder for temporary files", error.strerror or str(error), next=next) from error
    try:
        with _Process(limits) as process:
            process.send(pickle.dumps((opening, tuple(arguments), text, limits, folder)))
            yield Answer(process, limits)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Process:
    """The process that runs the statement, in the form of a file from which rows are read until the time limit.

    The standard error of the process is a pipe of messages, followed by the final status.
    """

    closed = False

    def __init__(self, limits: Limits) -> None:
        self.said: list[str] = []
        self._limits = limits
        self._deadline = time.monotonic() + limits.timeout_s if limits.timeout_s > 0 else None
        self._rows, rows = os.pipe()
        self._status, status = os.pipe()
        code = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from charz import sandbox; sandbox.answer()"
        command = [sys.executable, "-P", "-c", code, json.dumps(sys.path), str(rows)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=status,
                pass_fds=(rows,),
                env={**os.environ, "MALLOC_ARENA_MAX": "2"},  # else each thread keeps memory of its own, which counts
            )
        finally:
            os.close(rows)
            os.close(status)

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()
        os.close(self._rows)
        os.close(self._status)

    def send(self, request: bytes) -> None:
        """Send the request. The pipe stays open, since the process ends when the pipe closes."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # ended already: `finish` tells why
            self._process.stdin.write(len(request).to_bytes(8, "big") + request)
            self._process.stdin.flush()

    def read(self, count: int = -1) -> bytes:
        """Read `count` bytes of the rows, or fewer at the end of the rows."""
        found = bytearray()
        while count < 0 or len(found) < count:
            chunk = self._chunk(self._rows, 2**20 if count < 0 else min(2**20, count - len(found)))
            if not chunk:
                break
            found += chunk
        return bytes(found)

    def readable(self) -> bool:
        """Return True, as readable files do."""
        return True

    def close(self) -> None:
        """Do nothing, since the block that started the process ends it."""

    def finish(self) -> None:
        """Raise `CharzError` unless the process has answered in full."""
        status = b""
        while chunk := self._chunk(self._status, 2**16):
            status += chunk
        printed, has_ended, ending = status.partition(_ENDING)
        self.said = printed.decode(errors="replace").splitlines()
        if not has_ended:
            raise _died(self._process.wait(), self.said)
        parts = json.loads(ending)
        if parts:
            raise CharzError(*parts)

    def left_s(self) -> float | None:
        """Return the time until the time limit, or None without a limit. Raise `CharzError` once the limit is exceeded. [s]"""
        left = None if self._deadline is None else self._deadline - time.monotonic()
        if left is not None and left <= 0:
            raise too_long(self._limits.timeout_s)
        return left

    def _chunk(self, descriptor: int, most: int) -> bytes:
        if not select.select([descriptor], [], [], self.left_s())[0]:
            raise too_long(self._limits.timeout_s)
        return os.read(descriptor, most)


def answer() -> None:
    """Run in the other process: read the request, give up all rights except reading, and write the rows."""
    rows = int(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the asking process ends this one

    def exceeded(now: int) -> None:
        _say(_out_of_memory(f"it had taken {now / 10**6:,.0f} MB"))

    said: CharzError | None = None
    try:
        size = int.from_bytes(sys.stdin.buffer.read(8), "big")
        opening, arguments, text, limits, folder = pickle.loads(sys.stdin.buffer.read(size))
        threading.Thread(target=_end_with_asker, daemon=True).start()
        tempfile.tempdir = str(folder.parent)  # else tempfile would test folders by writing
        most_byte = limits.memory_byte + limits.memory_byte // 10
        confined.limit_memory(most_byte)
        spill = folder if confined.limit_writing(folder, limits.spill_byte) else None
        with opening(*arguments) as connection:
            lock(connection, int(limits.memory_byte * _ENGINE_SHARE), spill, limits.spill_byte)
            confined.watch_memory(most_byte, exceeded)
            _write_rows(connection, text, rows)
    except CharzError as error:
        said = error
    except BrokenPipeError:
        pass
    except MemoryError:
        said = _out_of_memory("")
    except Exception as error:  # noqa: BLE001  the asking process sees nothing else of this one
        said = CharzError(type(error).__name__, " ".join(str(error).split())[:500])
    os.close(rows)
    _say(said)


def _say(error: CharzError | None) -> None:
    """Send the final status and exit immediately, since a running query would delay a normal exit."""
    parts = (error.what, error.where, error.exists, error.next) if error else ()
    os.write(sys.stderr.fileno(), _ENDING + json.dumps(parts).encode())
    os._exit(0)


def _write_rows(connection: duckdb.DuckDBPyConnection, text: str, rows: int) -> None:
    import duckdb
    import pyarrow

    query = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"
    ((path,),) = connection.execute(query).fetchall()
    with os.fdopen(rows, "wb", closefd=False) as pipe:
        try:
            check_gives_rows(text)
            relation = held(connection.sql(text))
            reader = relation.to_arrow_reader(_BATCH_ROWS)
            with pyarrow.ipc.new_stream(pipe, reader.schema) as stream:
                for batch in reader:
                    stream.write_batch(batch)
        except (duckdb.Error, MemoryError, pyarrow.ArrowMemoryError) as error:
            raise query_failed(error, path) from error
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            raise CharzError("the query failed", " ".join(str(error).split())) from error


def _end_with_asker() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


def _out_of_memory(needed: str) -> CharzError:
    return CharzError(
        "the query needs more memory than its limit",
        needed.removeprefix("Out of Memory Error: "),
        next="narrow it with --model and --on, ask for fewer rows or columns, or raise --memory",
    )


def _died(code: int, said: Sequence[str]) -> CharzError:
    """Return the error of a process that ended without a status, from its exit code and its output."""
    last = said[-1] if said else ""
    if any(word in line for line in said for word in ("bad_alloc", "MemoryError")):
        return _out_of_memory(last)
    if code == -signal.SIGKILL:
        exists = "the system does that when memory runs out"
        return CharzError("the query's process was killed", "SIGKILL", exists, "lower --memory to what is free")
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return CharzError("the query's process crashed", how, last, "write the query another way")
