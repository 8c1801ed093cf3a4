"""Models traced by the workers of an engine that speaks Spark Connect: each needs charz installed, and gives the rows back."""

from __future__ import annotations

import pickle
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

    from charz.ingest.run import attempt

    for batch in batches:
        for number, request in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            result = pickle.dumps(attempt(*pickle.loads(request)))
            yield pyarrow.record_batch({"number": [number], "result": pyarrow.array([result], pyarrow.binary())})
