"""An endpoint that speaks Spark Connect, and the rows that it reads: Sail, or Spark 4."""

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
"""Version of Spark whose words the models are put in."""

FIRST_S = 5.0
"""How long an address may take to answer. [s]"""

ANSWER_S = 60.0
"""How long an engine may take to say its version: its first session starts its workers. [s]"""

RETRIES = 2
"""How often the client asks again where the line breaks."""

NAMED_FILES = 4
"""Files of a relation up to which a statement names each; a view of them costs two calls."""

GONE = ("UNAVAILABLE", "RETRIES_EXCEEDED", "Connection refused", "Connection reset", "Socket closed", "SESSION_CLOSED")
"""What is said of an engine that is no more."""

UNSEEN = ("No such file", "not found", "PATH_NOT_FOUND", "does not exist", "No files found", "Object at location")
"""What an engine says of files that are not where it looks."""


class Refusal(Exception):
    """What an engine says of a statement that it does not run."""


class Endpoint:
    """A session on an engine. `close` it: it takes away what its questions brought along."""

    def __init__(self, address: str, store: Store) -> None:
        self.address, self.store = address, store
        self._spark: Any = None
        self._registered: dict[tuple[str, ...], str] = {}
        self._folder = f"{rows.ASKED}/{uuid.uuid4().hex}"
        self._files = 0
        self.texts: dict[str, str] = {}
        """Models in Spark's words."""

    def connect(self, manifest: Manifest) -> None:
        """Reach the engine, and see that it reads these rows. Raises `CharzError` for what is in the way."""
        if self._spark is None:
            self._spark = reached(self.address)
        try:
            found = self.run(f"SELECT id FROM {self.view([rows.PROBE])}").column(0).to_pylist()
        except Refusal as error:
            raise self._unseen(error) from error
        if found != [manifest.id]:
            exists = "under this name it finds others"
            raise CharzError("the engine reads other rows", self.store.place, exists, "name a folder that both see")

    def _unseen(self, error: Exception) -> CharzError:
        next = "name a folder that this machine and all workers see, with --rows"
        return CharzError("the engine does not see the rows", self.store.address(""), _said(error), next)

    def view(self, names: Sequence[str]) -> str:
        """How statements read some files of the rows: by their names, or, of many, by a view of them."""
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
        """Put rows of a question where the engine reads them; gives the name of the file."""
        self._files += 1
        name = f"{self._folder}/{self._files}.parquet"
        self.store.put(name, rows.parquet(table))
        return name

    def run(self, statement: str, timeout_s: float = 0.0) -> pyarrow.Table:
        """The rows of a statement. Raises `Refusal` where the engine does not run it, `CharzError` where it is gone or the time is
        over."""
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
        """What the engine says against a statement, which it does not run; empty where it takes it."""
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
                    "stopped, since the time was over", self.address, next="--timeout gives more"
                ) from error
            if any(word in text for word in GONE):
                next = "start it again: what was finished is kept"
                raise CharzError("the engine is gone", self.address, _said(error), next) from error
            if any(word in text for word in UNSEEN) and (rows.ASKED in text or "parquet" in text):
                raise self._unseen(error) from error
            raise Refusal(text) from error

    def close(self) -> None:
        """Let go of the engine."""
        if self._files:
            with contextlib.suppress(CharzError):
                self.store.prune(self._folder)
        if self._spark is not None:
            spark, self._spark = self._spark, None
            with contextlib.suppress(Exception):  # it may be gone
                _within(FIRST_S, spark.stop)
        self._registered.clear()


def reached(address: str) -> Any:
    """A client's session on an engine. Raises `CharzError` for what is in the way."""
    host, port = _place(address)
    try:
        socket.create_connection((host, port), FIRST_S).close()
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        next = "`charz engine start` starts one here"
        raise CharzError("no engine answers", address, reason, next) from error
    # pyspark takes a main module without a file, as that of a worker process, for its own doctests, and exits.
    if not hasattr(sys.modules["__main__"], "__file__"):
        sys.modules["__main__"].__file__ = __file__
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries about one another
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
        raise CharzError("what answers is no engine", address, f"not a word in {ANSWER_S:g} s") from error
    except Exception as error:
        if is_interrupt(error):
            raise
        exists = f"it does not speak Spark Connect: {_said(error)}"
        raise CharzError("what answers is no engine", address, exists) from error
    if version.partition(".")[0] != MAJOR:
        exists = f"it is Spark {version}, and the models are written for Spark {MAJOR}"
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
    """What an action gives; raises `TimeoutError` where it takes longer."""
    found: list[T] = []
    failed: list[BaseException] = []

    def act() -> None:
        try:
            found.append(action())
        except BaseException as error:  # noqa: BLE001  handed on to who waits
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
    """The first line of what was said."""
    text = str(error)
    if "details = " in text:
        text = text.partition("details = ")[2]
    return next((line.strip().strip('"') for line in text.splitlines() if line.strip()), type(error).__name__)[:300]
