"""Models traced by the workers of an engine that speaks Spark Connect: each needs charz installed, and gives the rows back."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from .compile.rules import Rules
from .rows import Ingested
from .sources.spec import Spec

RESULT = "number bigint, result binary"
"""Columns that come back."""


def results(spark: Any, specs: Sequence[Spec], rules: Rules, tasks: int) -> Iterator[tuple[Spec, Ingested | str]]:
    """Each model's rows, or why there are none, in the order they are done; the requests go out as so many tasks."""
    import pyarrow

    if not specs:
        return
    requests = [pickle.dumps((spec, rules)) for spec in specs]
    table = pyarrow.table({"number": list(range(len(specs))), "request": pyarrow.array(requests, pyarrow.binary())})
    frame = spark.createDataFrame(table).repartition(min(tasks, len(specs)), "number").mapInArrow(traced, RESULT)
    for row in frame.toLocalIterator():
        yield specs[row.number], pickle.loads(bytes(row.result))


def traced(batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the rows of each request."""
    import pyarrow

    for batch in batches:
        requests = [pickle.loads(request) for request in batch.column(1).to_pylist()]
        numbers = dict(zip((spec for spec, _ in requests), batch.column(0).to_pylist(), strict=True))
        for spec, result in _attempted(list(numbers), requests[0][1]):
            packed = pyarrow.array([pickle.dumps(result)], pyarrow.binary())
            yield pyarrow.record_batch({"number": [numbers[spec]], "result": packed})


def _attempted(specs: Sequence[Spec], rules: Rules) -> Iterator[tuple[Spec, Ingested | str]]:
    """Each model's rows, or why there are none. Torch traces one model at a time in a process: where the engine's workers are
    threads of one, as in Sail, each has a process beside it."""
    from charz.ingest.run import attempt, in_processes

    if threading.current_thread() is threading.main_thread():
        return ((spec, attempt(spec, rules)) for spec in specs)
    return in_processes(specs, rules, 1)
