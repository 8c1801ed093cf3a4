"""A small mixture of experts on several devices, by hand."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from oracle.database import add_graph, new_database, scenario

from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.schema import database
from charz.schema.catalog import Hardware, HardwareInterconnect

pytest.importorskip("transformers")

PART = "h100_sxm5_80"
BATCH, SEQUENCE = 2, 128
LAYERS, HIDDEN, INNER, EXPERTS, CHOSEN, VOCABULARY = 2, 512, 1024, 8, 2, 4000
SETTINGS = {
    "num_hidden_layers": LAYERS, "hidden_size": HIDDEN, "intermediate_size": INNER, "num_local_experts": EXPERTS,
    "num_experts_per_tok": CHOSEN, "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": VOCABULARY,
}  # fmt: skip
FP16 = 2
TOKENS = BATCH * SEQUENCE
SORTED = 4 * EXPERTS
"""Where each expert's tokens begin, which its kernel reads too. [byte]"""

Link = tuple[float, float]


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    spec = parse("hf:mixtral-8x7b", settings=tuple((k, str(v)) for k, v in SETTINGS.items()))
    graph, _ = to_graph(build(spec))
    with new_database(("parallel_plan", "parallel_kernel", "run_memory"), with_parts=True) as made:
        rows = [scenario(1, batch=BATCH, sequence=SEQUENCE, phase="prefill", policy="fp16", backend="eager")]
        database.insert_rows(made, rows)
        made.execute(f"DELETE FROM {Hardware.TABLE} WHERE hardware_id <> ?", [PART])
        add_graph(made, graph, "experts")
        yield made


def _plans(connection: duckdb.DuckDBPyConnection, strategy: str) -> list[tuple[int, Link, float, float, float]]:
    query = f"""
        SELECT p.device_count, [i.bandwidth_byte_per_s, i.latency_s], p.sent_byte, p.communication_s,
            p.device_memory_byte
        FROM parallel_plan AS p
        JOIN {HardwareInterconnect.TABLE} AS i USING (hardware_id, interconnect)
        WHERE p.strategy = ? AND p.device_count > 1
    """
    return connection.execute(query, [strategy]).fetchall()


def test_expert_parallel_sends_each_token_to_its_experts_and_back(connection: duckdb.DuckDBPyConnection) -> None:
    there = TOKENS * CHOSEN * HIDDEN * FP16
    plans = _plans(connection, "expert")
    assert plans
    for n, (bandwidth, delay), sent, communication, _ in plans:
        assert sent == pytest.approx(LAYERS * (2 * there + SORTED) * (n - 1) / n)
        assert communication == pytest.approx(sent / bandwidth + 2 * LAYERS * (n - 1) * delay)


def test_expert_parallel_divides_the_weights_of_experts(connection: duckdb.DuckDBPyConnection) -> None:
    experts = LAYERS * EXPERTS * 3 * HIDDEN * INNER * FP16
    single = connection.sql("SELECT peak_memory_byte FROM run_memory").fetchall()[0][0]
    for n, _, _, _, memory in _plans(connection, "expert"):
        assert single - memory == pytest.approx(experts * (1 - 1 / n), rel=0.01)


def test_tensor_parallel_pairs_within_attention_and_within_experts(connection: duckdb.DuckDBPyConnection) -> None:
    reduced = LAYERS * (TOKENS * HIDDEN + TOKENS * CHOSEN * HIDDEN) * FP16
    gathered = (LAYERS * TOKENS * EXPERTS + TOKENS * VOCABULARY) * FP16
    plans = _plans(connection, "tensor")
    assert plans
    for n, (bandwidth, delay), sent, communication, _ in plans:
        assert sent == pytest.approx((2 * reduced + gathered) * (n - 1) / n)
        messages = 2 * (2 * LAYERS) + LAYERS + 1
        assert communication == pytest.approx(sent / bandwidth + messages * (n - 1) * delay)
