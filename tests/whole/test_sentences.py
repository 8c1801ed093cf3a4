"""The loss that a sentence of `kernel_mapping` names is the largest, computed again from its row and the row of its tile."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from .test_monotone_parts import MODELS, every_part, ingested

PARTS = ("rtx4090", "t4", "i9_10940x", "apple_m4_max", "tpu_v4", "kpu_t256", "hexagon698", "gaudi2")
"""Parts of which each family has at least one."""
SAID = {
    "too few": "units",
    "last wave": "waves",
    "more rows": "rows",
    "more columns": "columns",
    "more depth": "depth",
    "block of threads": "lanes",
    "fill and drain": "filling",
    "not fed": "feed",
    "starting": "other",
}
QUERY = """
    SELECT m.*, s.dataflow, s.tile_m AS listed_m, s.split_k, s.step_k, s.tile_k AS listed_k, s.divisor,
        s.wave_quantization_fraction AS quantized, p.array_rows, p.array_columns, t.matrix_array_rows, t.matrix_array_columns,
        t.step_k AS padded_to, q.query_count, q.query_heads,
        (SELECT value FROM library_constant WHERE library_constant = 'vector_block_threads') AS block
    FROM kernel_mapping AS m
    JOIN part AS p USING (hardware)
    JOIN run_kernel AS k ON k.run.model = m.model AND k.run.scenario_id = m.scenario_id AND k.kernel_id = m.kernel_id
    JOIN shape_step AS q ON q.run = k.run AND q.shape_id = k.shape_id AND q.step_id = m.step_id
    LEFT JOIN part_strategy AS s ON s.hardware = m.hardware AND s.candidate = m.candidate
    LEFT JOIN part_tile AS t ON t.hardware = m.hardware AND t.backend = m.backend
        AND t.compute_precision = q.compute_precision AND t.candidate = m.candidate
    WHERE m.hardware = ? AND m.sentence LIKE '%: %' AND m.batch IN (1, 8)
"""


@pytest.fixture(scope="module")
def connection(once: Callable[..., Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    path = once("monotone.duckdb", lambda path: ingested(path, MODELS))
    with duckdb.connect(str(path), read_only=True, config={"threads": 1}) as made:
        yield made


def filled(size: float, tile: float) -> float:
    """Compute the filled share of the tiles of a size."""
    return size / (math.ceil(size / tile) * tile)


def in_arrays(size: float, tile: float, side: float) -> float:
    """Compute the filled share of the arrays of a size that is cut into blocks, with a partial last block."""
    whole, rest = divmod(size, tile)
    return size / (side * (whole * math.ceil(tile / side) + math.ceil(rest / side)))


def losses(row: dict[str, Any]) -> dict[str, float]:
    """Compute the share that each loss leaves, except losses that only the whole time shows."""
    m, n, k, units = row["m"], row["n"], row["k"], row["tile_unit_count"]
    rows = columns = depth = lanes = 1.0
    rounds = math.ceil(row["tile_count"] / units)
    dataflow = row["dataflow"]
    if row["tile_m"] is None:
        if row["threads"] > row["block"] and row["unit"] == "vector":
            lanes = filled(row["threads"], row["block"])
    elif dataflow == "wavefront":
        rows = in_arrays(m, row["tile_m"], row["matrix_array_rows"])
        columns = in_arrays(n, row["tile_n"], row["matrix_array_columns"])
        depth = filled(k, row["split_k"]) if row["split_k"] > 1 else 1.0
        rounds = row["waves"]
    elif dataflow == "weight_stationary":
        streamed = math.ceil(m / row["divisor"])
        rows = m / (math.ceil(m / streamed) * max(streamed, row["matrix_array_rows"]))
        columns, depth = filled(n, row["matrix_array_columns"]), filled(k, row["matrix_array_rows"])
    elif dataflow == "input_stationary":
        streamed = math.ceil(n / row["divisor"])
        columns = n / (math.ceil(n / streamed) * max(streamed, row["matrix_array_rows"]))
        rows, depth = filled(m, row["matrix_array_columns"]), filled(k, row["matrix_array_rows"])
    elif dataflow == "query_block":
        columns = filled(n, row["tile_n"])
    else:
        rows, columns = filled(m, row["tile_m"]), filled(n, row["tile_n"])
        depth = filled(k, row["padded_to"] * row["split_k"]) if row["listed_m"] else 1.0
    quantized = 1.0 if row["quantized"] is None else row["quantized"]
    rounds = quantized * rounds + (1 - quantized) * max(1.0, row["tile_count"] / units)
    busy = row["tile_count"] / (units * rounds)
    if dataflow == "query_block":
        blocks = math.ceil(row["query_count"] / row["listed_m"])
        whole, rest = divmod(math.ceil(row["query_heads"] * blocks / units), blocks)
        busiest = whole * row["query_count"] + min(rest * row["listed_m"], row["query_count"])
        busy = row["query_heads"] * row["query_count"] / (units * busiest)
    if row["tile_m"] is None and row["unit"] == "matrix":
        busy = 1.0  # a depthwise convolution in a column of an array
    return {"rows": rows, "columns": columns, "depth": depth, "lanes": lanes, "busy": busy}


def false_sentences(connection: duckdb.DuckDBPyConnection, part: str) -> tuple[int, list[object]]:
    """Count the sentences that name a loss, and list those that name a wrong one."""
    found = connection.execute(QUERY, [part])
    names = [column[0] for column in found.description or ()]
    rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    wrong: list[object] = []
    for row in rows:
        reason = row["sentence"].split(": ", 1)[1]
        (said,) = [loss for words, loss in SAID.items() if words in reason]
        left = losses(row)
        told = left | {"filling": row["pipelining_fraction"], "feed": row["fed_fraction"]}
        told["other"] = min(1.0, row["utilization_fraction"] / math.prod(told.values()))
        key = "busy" if said in ("units", "waves") else said
        is_kind = (row["tile_count"] < row["tile_unit_count"]) == (said == "units") or key != "busy"
        if told[key] > min(told.values()) * (1 + 1e-9) or told[key] >= 1 or not is_kind:
            wrong.append((row["model"], row["precision"], row["kernel"], row["sentence"], told))
    return len(rows), wrong


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_no_sentence_is_false(connection: duckdb.DuckDBPyConnection, part: str) -> None:
    count, wrong = false_sentences(connection, part)
    assert count > 20
    assert not wrong


@pytest.mark.broad
def test_no_sentence_of_any_part_is_false(connection: duckdb.DuckDBPyConnection) -> None:
    wrong = {part: found for part in every_part(connection) if (found := false_sentences(connection, part)[1])}
    assert not wrong
