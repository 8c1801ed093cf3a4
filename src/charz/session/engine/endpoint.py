"""Client of a Spark Connect endpoint (Sail or Spark 4) that evaluates the models over exported rows."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from charz.schema.errors import CharzError, is_interrupt

from . import rows
from .store import Store

if TYPE_CHECKING:
    import pyarrow

    from .rows import Manifest

T = TypeVar("T")

MAJOR = "4"
"""Major version of Spark for which the models are written."""

FIRST_S = 5.0
"""Time limit for an address to answer. [s]"""

ANSWER_S = 60.0
"""Time limit for an engine to report its version. It is generous, because the first session also starts the engine's workers. [s]"""

RETRIES = 2
"""Number of retries after a lost connection."""

NAMED_FILES = 4
"""Largest number of files of a relation that a statement names. For more files a view is created, which takes two calls."""

GONE = ("UNAVAILABLE", "RETRIES_EXCEEDED", "Connection refused", "Connection reset", "Socket closed", "SESSION_CLOSED")
"""Texts in error messages that show a lost connection to the engine."""

UNSEEN = ("No such file", "not found", "PATH_NOT_FOUND", "does not exist", "No files found", "Object at location")
"""Texts in an engine's error messages about missing files."""


class Refusal(Exception):
    """Error of an engine that does not run a statement."""


class Endpoint:
    """A session on an engine. `close` removes the files that the session sent."""

    def __init__(self, address: str, store: Store) -> None:
        self.address, self.store = address, store
        self._spark: Any = None
        self._registered: dict[tuple[str, ...], str] = {}
        self._folder = f"{rows.ASKED}/{uuid.uuid4().hex}"
        self._files = 0
        self.texts: dict[str, str] = {}
        """Cached text of each model view in Spark's dialect."""

    def connect(self, manifest: Manifest) -> None:
        """Connect to the engine. Raise `CharzError` if the engine does not read the rows of this manifest."""
        if self._spark is None:
            self._spark = reached(self.address)
        try:
            found = self.run(f"SELECT id FROM {self.view([rows.PROBE])}").column(0).to_pylist()
        except Refusal as error:
            raise self._unseen(error) from error
        if found != [manifest.id]:
            exists = "the engine finds other rows under this name"
            raise CharzError("the engine reads other rows", self.store.place, exists, "name a folder that both machines share")

    def _unseen(self, error: Exception) -> CharzError:
        next = "name a folder that this machine and all workers see, with --rows"
        return CharzError("the engine does not see the rows", self.store.address(""), _said(error), next)

    def view(self, names: Sequence[str]) -> str:
        """Return SQL text that reads some files of rows: a subquery that names the files, or the name of a view over many files."""
        key = tuple(names)
        if len(key) <= NAMED_FILES:
            read = [f"SELECT * FROM parquet.`{self.store.address(name).replace('`', '``')}`" for name in key]
            return f"({' UNION ALL '.join(read)})"
        if key not in self._registered:
            name = f"charz_rows_{len(self._registered)}"
            with self._named():
                self._spark.read.parquet(*map(self.store.address, names)).createOrReplaceTempView(name)
            self._registered[key] = name
        return self._registered[key]

    def bring(self, table: pyarrow.Table) -> str:
        """Write rows to a file that the engine can read, and return the file's name."""
        self._files += 1
        name = f"{self._folder}/{self._files}.parquet"
        self.store.put(name, rows.parquet(table))
        return name

    def run(self, statement: str, timeout_s: float = 0.0) -> pyarrow.Table:
        """Run a statement and return its rows. Raise `Refusal` if the engine does not run the statement, and `CharzError` if the engine is gone
        or too slow."""
        is_late = threading.Event()

        def stop() -> None:
            is_late.set()
            with contextlib.suppress(Exception):
                self._spark.interruptAll()

        timer = threading.Timer(timeout_s, stop)
        if timeout_s:
            timer.start()
        try:
            with self._named(is_late):
                return self._spark.sql(statement).toArrow()
        finally:
            timer.cancel()

    def refuses(self, statement: str) -> str:
        """Return the engine's error about a statement, or an empty text if the engine accepts the statement."""
        try:
            with self._named():
                self._spark.sql(statement).schema  # noqa: B018
        except Refusal as error:
            return _said(error)
        return ""

    @contextlib.contextmanager
    def _named(self, is_late: threading.Event | None = None) -> Iterator[None]:
        import grpc
        from pyspark.errors import PySparkException

        try:
            yield
        except (PySparkException, grpc.RpcError) as error:
            text = str(error)
            if is_late is not None and is_late.is_set():
                raise CharzError(
                    "stopped at the time limit", self.address, next="raise it with --timeout"
                ) from error
            if any(word in text for word in GONE):
                next = "start the engine again: finished work is kept"
                raise CharzError("the engine is gone", self.address, _said(error), next) from error
            if any(word in text for word in UNSEEN) and (rows.ASKED in text or "parquet" in text):
                raise self._unseen(error) from error
            raise Refusal(text) from error

    def close(self) -> None:
        """Remove the files of this session, and close the connection to the engine."""
        if self._files:
            with contextlib.suppress(CharzError):
                self.store.prune(self._folder)
        if self._spark is not None:
            spark, self._spark = self._spark, None
            with contextlib.suppress(Exception):  # it may be gone
                _within(FIRST_S, spark.stop)
        self._registered.clear()


def reached(address: str) -> Any:
    """Open a client's session on an engine. Raise `CharzError` where that fails."""
    host, port = _place(address)
    try:
        socket.create_connection((host, port), FIRST_S).close()
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        next = "`charz engine start` starts one here"
        raise CharzError("no engine answers", address, reason, next) from error
    # pyspark mistakes a main module without a file, such as a worker's, for its own doctests, and exits.
    if not hasattr(sys.modules["__main__"], "__file__"):
        sys.modules["__main__"].__file__ = __file__
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of libraries about each other
            from pyspark.sql.connect.client.retries import DefaultPolicy
            from pyspark.sql.connect.session import SparkSession
    except ImportError as error:
        raise CharzError("no client of Spark Connect", str(error), next="pip install 'charz-dnn[spark]'") from error
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")  # the error itself follows
    spark = SparkSession(connection=address)
    spark.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES, initial_backoff=200, max_backoff=1000)])
    try:
        version = _within(ANSWER_S, lambda: str(spark.version))
    except TimeoutError as error:
        raise CharzError("the address does not speak Spark Connect", address, f"no answer in {ANSWER_S:g} s") from error
    except Exception as error:
        if is_interrupt(error):
            raise
        exists = _said(error)
        raise CharzError("the address does not speak Spark Connect", address, exists) from error
    if version.partition(".")[0] != MAJOR:
        exists = f"it is Spark {version}; the models are written for Spark {MAJOR}"
        raise CharzError("an engine of another version", address, exists)
    return spark


def _place(address: str) -> tuple[str, int]:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme != "sc" or not parts.hostname:
        raise CharzError("not an address of an engine", address, next="write sc://HOST:PORT, e.g. sc://localhost:50051")
    return parts.hostname, port or 15002


def _within(seconds: float, action: Callable[[], T]) -> T:
    """Run an action. Raise `TimeoutError` if the action takes longer than `seconds`."""
    found: list[T] = []
    failed: list[BaseException] = []

    def act() -> None:
        try:
            found.append(action())
        except BaseException as error:  # noqa: BLE001  raised again in the waiting thread
            failed.append(error)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not found and thread.is_alive():
        raise TimeoutError
    return found[0]


def _said(error: Exception) -> str:
    """Return the first line of an error's message."""
    text = str(error)
    if "details = " in text:
        text = text.partition("details = ")[2]
    return next((line.strip().strip('"') for line in text.splitlines() if line.strip()), type(error).__name__)[:300]
