"""A connection on which anybody's SQL may run: it reads the database and nothing else."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator

import duckdb

from charz.schema.errors import CharzError

# The order matters: with external access still on, disabling the file system is what keeps
# `COPY ... TO 'FILE.wal'` from planting a log that the next open would replay.
_SHUT = (
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_external_access = false",
    "SET disabled_filesystems = 'LocalFileSystem'",
)

_MEMORY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i?B)\s*", re.IGNORECASE)
_FACTORS = {"K": 1, "M": 2, "G": 3, "T": 4}


def shut(connection: duckdb.DuckDBPyConnection) -> None:
    """Close every way from a file's own views to other files, the network and Python's variables, for good."""
    for statement in _SHUT:
        connection.execute(statement)


def lock(connection: duckdb.DuckDBPyConnection, memory: str) -> None:
    """Keep SQL of anybody's on a shut connection from its settings too, and within some memory, e.g. `4GB`."""
    size = memory_byte(memory)
    ((is_locked,),) = connection.execute("SELECT current_setting('lock_configuration')").fetchall()
    if not is_locked:
        connection.execute(f"SET memory_limit = '{size}B'")
        connection.execute("SET lock_configuration = true")


def memory_byte(text: str) -> int:
    """Bytes of an amount of memory. Raises `CharzError` for what is none."""
    match = _MEMORY.fullmatch(text)
    if not match:
        raise CharzError(
            "not an amount of memory", text, "units: KB, MB, GB, TB, KiB, MiB, GiB, TiB", "write e.g. --memory 4GB"
        )
    base = 1024 if "i" in match[2].lower() else 1000
    return int(float(match[1]) * base ** _FACTORS[match[2][0].upper()])


def one_statement(text: str) -> str:
    """The text, if it is exactly one statement that parses."""
    try:
        statements = duckdb.extract_statements(text)
    except duckdb.Error as error:
        raise query_failed(error) from error
    if len(statements) != 1:
        raise CharzError(
            "`charz sql` runs one statement", f"this text has {len(statements)}", next="run them one by one"
        )
    return text


@contextlib.contextmanager
def time_limit(connection: duckdb.DuckDBPyConnection, timeout_s: float) -> Iterator[None]:
    """Interrupt whatever still runs on the connection after `timeout_s`; 0 sets no limit."""
    if timeout_s <= 0:
        yield
        return
    expired = threading.Event()

    def interrupt() -> None:
        expired.set()
        connection.interrupt()

    timer = threading.Timer(min(timeout_s, threading.TIMEOUT_MAX), interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except duckdb.InterruptException as error:
        if not expired.is_set():
            raise KeyboardInterrupt from error
        raise CharzError(
            f"the query ran longer than {timeout_s:g} s",
            next="name what it is about with --model and --on, or raise --timeout",
        ) from error
    finally:
        timer.cancel()
        timer.join()  # a thread that outlives the run would hold the connection at the interpreter's end


@contextlib.contextmanager
def guarded(connection: duckdb.DuckDBPyConnection, timeout_s: float) -> Iterator[None]:
    """Run a query of anybody's: stopped in time, and its errors in one line."""
    with time_limit(connection, timeout_s):
        try:
            yield
        except duckdb.InterruptException:
            raise
        except duckdb.Error as error:
            raise query_failed(error) from error


def query_failed(error: duckdb.Error) -> CharzError:
    """An engine's message as one line: its text and suggestions without the drawing of the query."""
    lines = [line.strip() for line in str(error).splitlines()]
    text = " ".join(line for line in lines if line and not line.startswith(("LINE ", "^")))
    is_about_names = isinstance(error, duckdb.CatalogException | duckdb.BinderException)
    next = "`charz schema` lists views, `charz schema VIEW` its columns" if is_about_names else ""
    return CharzError("the query failed", text, next=next)
