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
        assert communication == pytest.approx(sent / (0.6 * bandwidth) + 2 * LAYERS * (0.9 + 0.1 * (n - 1)) * delay)


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
        calls = 2 * LAYERS + LAYERS + 1  # all-reduces behind attention and experts; all-gathers of routers and the head
        steps = (2 * (2 * LAYERS) + LAYERS + 1) * (n - 1)
        assert communication == pytest.approx(sent / (0.6 * bandwidth) + (0.9 * calls + 0.1 * steps) * delay)


def test_small_messages_take_what_nccl_takes(connection: duckdb.DuckDBPyConnection) -> None:
    """A step of one token all-reduces 1 and 2 kB a layer; NCCL 2.29 takes 10 us for that on four H100 and 16 us on
    eight, 7.6 and 10.8 us for an all-gather (aiconfigurator-core 0.12); constants for all NVLink parts are within 1.6."""
    measured = {4: (10e-6, 7.6e-6), 8: (16e-6, 10.8e-6)}
    connection.execute(
        "INSERT INTO scenario BY NAME SELECT * REPLACE (2 AS scenario_id, 1 AS batch, 1 AS sequence) FROM scenario"
    )
    query = """
        SELECT device_count, communication_s FROM parallel_plan
        WHERE scenario_id = 2 AND strategy = 'tensor' AND interconnect = 'nvlink' AND device_count IN (4, 8)
    """
    try:
        found = dict(connection.execute(query).fetchall())
    finally:
        connection.execute("DELETE FROM scenario WHERE scenario_id = 2")
    assert set(found) == set(measured)
    for n, (reduce_s, gather_s) in measured.items():
        timed = 2 * LAYERS * reduce_s + (LAYERS + 1) * gather_s
        assert timed / 1.6 < found[n] < 1.6 * timed
