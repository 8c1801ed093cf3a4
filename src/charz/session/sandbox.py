"""A connection on which anybody's SQL may run: it reads the database and nothing else."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import duckdb

from charz.schema.errors import CharzError

# The order matters: with external access still on, disabling the file system is what keeps
# `COPY ... TO 'FILE.wal'` from planting a log that the next open would replay; locking comes last.
_LOCKS = (
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET memory_limit = '{memory}'",
    "SET enable_external_access = false",
    "SET disabled_filesystems = 'LocalFileSystem'",
    "SET lock_configuration = true",
)


def lock(connection: duckdb.DuckDBPyConnection, memory: str = "4GB") -> None:
    """Close every way from SQL to files, network, Python variables and settings, for good."""
    for statement in _LOCKS:
        connection.execute(statement.format(memory=memory))


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
