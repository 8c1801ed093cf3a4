"""Ingests many models into one database: in this process or in several, with resumption.

Workers trace and compile; only this process writes, a few models at a time, so that an interrupted
run keeps what it finished. A model that fails leaves no row.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import forkserver

import duckdb

from charz.schema import disk, unfinished
from charz.schema.errors import CharzError, is_interrupt

from .compile.rules import Rules, from_connection
from .identity import request_hash
from .rows import Ingested
from .sources.spec import Spec
from .write import AddRuns, known_hashes, write

BATCH_MODELS = 16
BATCH_S = 30.0
"""Number of models, and age of the first of them in seconds, at which a batch is written."""

Change = Callable[[], contextlib.AbstractContextManager[duckdb.DuckDBPyConnection]]
"""Function that opens the database for one transaction."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one requested model."""

    spec: Spec
    state: str
    """One of `written`, `unchanged` and `failed`."""
    model: str
    """Name in the database; that of the request when it failed."""
    message: str
    """Error of a failed model; remark on the chosen and omitted inputs of a written one."""
    ingest_s: float


Report = Callable[[Outcome], None]

Status = Callable[[str], None]
"""Function that is told what is done from now on."""

Trace = Callable[[Sequence[Spec], Rules], Iterator[tuple[Spec, Ingested | str]]]
"""Function that yields each model's rows, or why it failed, as models finish."""


def run(
    specs: Sequence[Spec],
    change: Change,
    add_runs: AddRuns,
    jobs: int = 1,
    force: bool = False,
    report: Report = lambda _: None,
    trace: Trace | None = None,
    read: Change | None = None,
    status: Status = lambda _: None,
) -> list[Outcome]:
    """Ingest all models and report each when it is done. A model that fails leaves nothing; `add_runs` updates the database's
    runs of the written models. `trace` traces elsewhere than in `jobs` processes, `read` gives
    a connection that reads the file at less cost than `change`. `status` is told the step of a model that this process traces."""
    with (read or change)() as connection:
        rules = from_connection(connection)
        done = {} if force else _done(connection, rules)
    outcomes: list[Outcome] = []
    todo: list[Spec] = []
    for spec in dict.fromkeys(specs):
        name = done.get(request_hash(spec) or "")
        if name is None:
            todo.append(spec)
        else:
            outcomes.append(Outcome(spec, "unchanged", name, "", 0.0))
            report(outcomes[-1])
    found = _results(todo, rules, min(jobs, len(todo)), status) if trace is None else trace(todo, rules)
    outcomes += _run(found, change, add_runs, force, report, status)
    return outcomes


def _done(connection: duckdb.DuckDBPyConnection, rules: Rules) -> dict[str, str]:
    """Return the names of the models that are up to date, by the hash of their request."""
    query = "SELECT request_hash, model FROM model WHERE request_hash IS NOT NULL AND rules_fingerprint = ?"
    return dict(connection.execute(query, [rules.fingerprint]).fetchall())


def _run(
    results: Iterator[tuple[Spec, Ingested | str]], change: Change, add_runs: AddRuns, force: bool, report: Report, status: Status
) -> list[Outcome]:
    outcomes: list[Outcome] = []
    waiting: list[tuple[Spec, Ingested]] = []
    since = time.monotonic()

    def flush() -> None:
        nonlocal since
        if not waiting:
            return
        status("writing rows, and the sizes of standard runs")
        with change() as connection:
            refused = _taken(connection, waiting, force)
            kept = [pair for pair in waiting if pair[0] not in refused]
            fresh = kept if force else _changed(connection, kept)
            write(connection, [ingested for _, ingested in fresh], add_runs)
        for spec, line in refused.items():
            outcomes.append(Outcome(spec, "failed", spec.shown, line, 0.0))
            report(outcomes[-1])
        for spec, ingested in kept:
            state = "written" if (spec, ingested) in fresh else "unchanged"
            outcomes.append(Outcome(spec, state, ingested.model["model"], ingested.remark, ingested.model["ingest_s"]))
            report(outcomes[-1])
        waiting.clear()
        since = time.monotonic()

    with unfinished.finishing():
        try:
            for spec, result in results:
                if isinstance(result, Ingested):
                    waiting.append((spec, result))
                else:
                    outcomes.append(Outcome(spec, "failed", spec.shown, result, 0.0))
                    report(outcomes[-1])
                if len(waiting) >= BATCH_MODELS or time.monotonic() - since > BATCH_S:
                    flush()
        finally:
            flush()
    return outcomes


def _taken(connection: duckdb.DuckDBPyConnection, waiting: list[tuple[Spec, Ingested]], force: bool) -> dict[Spec, str]:
    """Find models whose name a model of another source already has, in the file or the batch, and the error for each."""
    query = "SELECT model, source FROM model"
    held = {} if force else dict(connection.execute(query).fetchall())
    refused = {}
    for spec, ingested in waiting:
        name, source = ingested.model["model"], ingested.model["source"]
        other = held.setdefault(name, source)
        if _origin(other) != _origin(source):
            next = "--force replaces that model, --db writes to another file"
            refused[spec] = CharzError("the name is taken", name, f"{other} has it", next).line
    return refused


def _origin(source: str) -> str:
    """Normalize a source: `hf:openai-community/gpt2` is `hf:gpt2`."""
    is_shipped = source.startswith("hf:") and not source.endswith(".json")
    return f"hf:{source[3:].rsplit('/', 1)[-1].lower()}" if is_shipped else source


def _changed(
    connection: duckdb.DuckDBPyConnection, waiting: list[tuple[Spec, Ingested]]
) -> list[tuple[Spec, Ingested]]:
    """Find the models whose rows differ from the file's, or were compiled with other rules."""
    known = known_hashes(connection)
    fresh = []
    for spec, ingested in waiting:
        held = known.get(ingested.model["model"])
        hashes = (ingested.model["content_hash"], ingested.model["request_hash"], ingested.model["rules_fingerprint"])
        if held is None or held != hashes:
            fresh.append((spec, ingested))
    return fresh


def _results(specs: Sequence[Spec], rules: Rules, jobs: int, status: Status = lambda _: None) -> Iterator[tuple[Spec, Ingested | str]]:
    """Yield each model's rows, or why it failed, as models finish."""
    if jobs <= 1:
        for spec in specs:
            yield spec, attempt(spec, rules, status)
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([f"{__package__}.worker"])
    before = os.environ.get(_SAFE_PATH)
    with _without_interrupts():  # the fork server ignores Ctrl-C too, until `worker` restores it
        os.environ[_SAFE_PATH] = "1"
        try:
            forkserver.ensure_running()
        finally:
            _restore(before)
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(before,)) as pool:
        try:
            yield from _in_pool(pool, specs, rules, 2 * jobs)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():  # a signal to this process alone has not reached them
                worker.terminate()
            raise


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C here and in processes started meanwhile; threads other than the main one never receive it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


_SAFE_PATH = "PYTHONSAFEPATH"
"""Variable without which files of the working folder, whoever wrote them, take the place of modules in a new interpreter."""


def _restore(safe_path: str | None) -> None:
    """Set `PYTHONSAFEPATH` to the user's value; None removes it."""
    os.environ.pop(_SAFE_PATH, None)
    if safe_path is not None:
        os.environ[_SAFE_PATH] = safe_path


def _begin(safe_path: str | None) -> None:
    """Prepare a worker process, with the user's value of `PYTHONSAFEPATH`."""
    _restore(safe_path)
    gc.freeze()  # keep pages shared with the fork server: the collector would touch and so copy them
    threading.Thread(target=_end_with_asker, daemon=True).start()


def _end_with_asker() -> None:
    """End this worker when its parent process is gone, because it would wait forever for the next model."""
    asker = multiprocessing.parent_process()
    assert asker is not None
    asker.join()
    os._exit(1)


def _in_pool(
    pool: ProcessPoolExecutor, specs: Sequence[Spec], rules: Rules, most: int
) -> Iterator[tuple[Spec, Ingested | str]]:
    """Yield results of the workers, with at most `most` models submitted at a time."""
    pending: dict[Future[Ingested | str], Spec] = {}
    for spec in specs:
        pending[pool.submit(attempt, spec, rules)] = spec
        if len(pending) >= most:
            yield from _finished(pending)
    while pending:
        yield from _finished(pending)


def _finished(pending: dict[Future[Ingested | str], Spec]) -> Iterator[tuple[Spec, Ingested | str]]:
    done, _ = wait(pending, return_when=FIRST_COMPLETED)
    for future in done:
        spec = pending.pop(future)
        try:
            yield spec, future.result()
        except BrokenProcessPool:
            raise died(spec) from None


def died(spec: Spec) -> CharzError:
    """Return the error for a model whose worker process is gone."""
    exists = "out of memory, or killed from outside"
    return CharzError(
        "a worker process died", spec.shown, exists, "run again with fewer --jobs; finished models are kept"
    )


def attempt(spec: Spec, rules: Rules, status: Status = lambda _: None) -> Ingested | str:
    """Return the model's rows, or one line on why it failed."""
    from .pipeline import ingest
    from .trace.refusal import unforeseen

    try:
        return ingest(spec, rules, status)
    except CharzError as error:
        return error.line
    except SystemExit as error:
        return CharzError("the model's code ended the run", f"{spec.shown}, exit code {error.code}").line
    except Exception as error:  # the model's own code or torch: one bad model must not stop the others
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        if os.environ.get("CHARZ_TRACEBACK"):
            raise
        if isinstance(error, OSError) and error.strerror:
            return disk.refused(error).line
        return unforeseen(error, spec.shown).line
