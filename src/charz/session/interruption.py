"""Time limits and one-line error messages for queries of this process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from charz.sandbox import NO_CODE, query_failed, too_long
from charz.schema import ddl, unfinished

if TYPE_CHECKING:
    import duckdb


def shut(connection: duckdb.DuckDBPyConnection) -> None:
    """Close the access of a file's views to other files, the network and Python variables. Spilling to temporary files still works."""
    ((is_open,),) = connection.execute("SELECT current_setting('enable_external_access')").fetchall()
    spill = [f"temp_directory = {ddl.literal(str(unfinished.spill()))}"] if is_open else []
    for setting in (*NO_CODE, *spill, "enable_external_access = false"):
        connection.execute(f"SET {setting}")


@contextlib.contextmanager
def guarded(connection: duckdb.DuckDBPyConnection, timeout_s: float) -> Iterator[None]:
    """Stop the query in the block after `timeout_s` (0: never), and report errors of the query in one line."""
    import duckdb

    with _time_limit(connection, timeout_s):
        try:
            yield
        except duckdb.InterruptException:
            raise
        except duckdb.Error as error:
            raise query_failed(error) from error


@contextlib.contextmanager
def undone(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Undo the changes of a query, including temporary tables that would affect later answers."""
    import duckdb

    connection.begin()
    try:
        yield
    finally:
        with contextlib.suppress(duckdb.TransactionException):  # a failed statement may have ended it
            connection.rollback()


@contextlib.contextmanager
def _time_limit(connection: duckdb.DuckDBPyConnection, timeout_s: float) -> Iterator[None]:
    """Interrupt the connection after `timeout_s`; 0 sets no limit."""
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
        raise too_long(timeout_s) from error
    finally:
        timer.cancel()
        timer.join()  # a running thread would keep the connection alive at exit
