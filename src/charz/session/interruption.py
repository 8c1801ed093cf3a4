"""Stops a query of one's own process in time, and tells its errors in one line."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from charz.sandbox import query_failed
from charz.schema.errors import CharzError

if TYPE_CHECKING:
    import duckdb

_SHUT = (
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_external_access = false",
    "SET disabled_filesystems = 'LocalFileSystem'",
)
"""In this order: with external access still on, disabling the file system is what keeps `COPY ... TO 'FILE.wal'` from planting
a log that the next open would replay."""


def shut(connection: duckdb.DuckDBPyConnection) -> None:
    """Close every way from a file's own views to other files, the network and Python's variables, for good."""
    for statement in _SHUT:
        connection.execute(statement)


@contextlib.contextmanager
def guarded(connection: duckdb.DuckDBPyConnection, timeout_s: float) -> Iterator[None]:
    """Run a query: stopped after `timeout_s` (0 for no end), and its errors in one line."""
    import duckdb

    with _time_limit(connection, timeout_s):
        try:
            yield
        except duckdb.InterruptException:
            raise
        except duckdb.Error as error:
            raise query_failed(error) from error


@contextlib.contextmanager
def _time_limit(connection: duckdb.DuckDBPyConnection, timeout_s: float) -> Iterator[None]:
    """Interrupt whatever still runs on the connection after `timeout_s`; 0 sets no limit."""
    import duckdb

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
