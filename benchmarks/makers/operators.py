"""Fits efficiency rows of parts whose single operators were timed separately in fp32.

The database contains the operator file of the collection (`charz measurements import operators.parquet`). Nodes of whole
networks, which `python -m benchmarks.study nodes` scores, are not among its rows.
"""

from __future__ import annotations

import duckdb

from benchmarks.makers import operator_times
from charz.hardware_catalog.calibration.rows import FittedRows, shared_rows
from charz.schema.catalog.source import Source
from charz.schema.errors import CharzError

from . import live

SINGLE = "source_id LIKE '%:operators' AND (operator NOT IN ('conv', 'linear', 'bmm') OR hash(shape) % 20 = 0)"
"""Condition that selects single operators, and every twentieth product and convolution, which suffices. Convolutions in fp32 give no
efficiency, since algorithms with fewer operations run them."""

SOURCE = Source(
    source_id="neusight_operators",
    kind="measurement",
    locator="github:sitar-lab/NeuSight operator timings",
    licence="MIT",
    what="Single operators in fp32, timed one by one on P4, P100, V100, T4, A100 and MI100",
)


def fit(connection: duckdb.DuckDBPyConnection) -> FittedRows:
    """Fit the rows of the measured parts. Raise `CharzError` if no operators were imported."""
    shipped = live.tables()
    efficiency = shared_rows(shipped["efficiency"])
    rows = operator_times.efficiencies(connection, SINGLE, efficiency, SOURCE.source_id, shipped)
    if not rows:
        raise CharzError(
            "no measured operators to fit", SOURCE.source_id, next="`charz measurements import operators.parquet`"
        )
    return FittedRows(efficiency=rows, sources=[SOURCE])
