"""Traces models on the workers of a Spark Connect engine. Each worker needs charz installed, and returns the rows."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from .compile.rules import Rules
from .rows import Ingested, decoded, encoded
from .sources.spec import Spec

RESULT = "number bigint, result string"
"""Columns that come back."""


def results(spark: Any, specs: Sequence[Spec], rules: Rules, tasks: int) -> Iterator[tuple[Spec, Ingested | str]]:
    """Yield each model's rows, or why it failed, as models finish; `tasks` limits the number of Spark tasks."""
    import pyarrow

    if not specs:
        return
    requests = [pickle.dumps((spec, rules)) for spec in specs]
    table = pyarrow.table({"number": list(range(len(specs))), "request": pyarrow.array(requests, pyarrow.binary())})
    frame = spark.createDataFrame(table).repartition(min(tasks, len(specs)), "number").mapInArrow(traced, RESULT)
    for row in frame.toLocalIterator():
        yield specs[row.number], decoded(row.result)


def traced(batches: Iterator[Any]) -> Iterator[Any]:
    """Trace each request on a worker, and yield its rows."""
    import pyarrow

    for batch in batches:
        requests = [pickle.loads(request) for request in batch.column(1).to_pylist()]
        numbers = dict(zip((spec for spec, _ in requests), batch.column(0).to_pylist(), strict=True))
        for spec, result in _attempted(list(numbers), requests[0][1]):
            packed = pyarrow.array([encoded(result)], pyarrow.string())
            yield pyarrow.record_batch({"number": [numbers[spec]], "result": packed})


def _attempted(specs: Sequence[Spec], rules: Rules) -> Iterator[tuple[Spec, Ingested | str]]:
    """Yield each model's rows, or why it failed. Torch traces one model at a time in a process: where the engine's workers are
    threads of one process, as in Sail, each starts a process of its own."""
    from charz.ingest.run import attempt

    if threading.current_thread() is threading.main_thread():
        return ((spec, attempt(spec, rules)) for spec in specs)
    return _beside(specs, rules)


def _beside(specs: Sequence[Spec], rules: Rules) -> Iterator[tuple[Spec, Ingested | str]]:
    """Yield the same from a separate process. Raise `CharzError` where it dies."""
    from charz.ingest.run import died

    command = [sys.executable, "-P", "-c", f"from {__name__} import answer; answer()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin as requests:
            pickle.dump((list(specs), rules), requests)
        for spec in specs:
            line = process.stdout.readline()
            if not line.endswith(b"\n"):
                raise died(spec)
            yield spec, decoded(line)


def answer() -> None:
    """Read models from standard input, and write their rows to standard output; prints of models go to standard error."""
    from charz.ingest.run import attempt

    specs, rules = pickle.load(sys.stdin.buffer)
    with os.fdopen(os.dup(1), "wb") as results:
        os.dup2(2, 1)
        for spec in specs:
            results.write(f"{encoded(attempt(spec, rules))}\n".encode())
            results.flush()
