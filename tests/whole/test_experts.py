"""A small mixture of experts on several devices, computed by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oracle.database import Bench, scenario

from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.schema.scenario import Scenario

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

RUN = scenario(1, batch=BATCH, sequence=SEQUENCE, phase="prefill", precision="fp16", backend="eager")

Link = tuple[float, float]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    spec = parse("hf:mixtral-8x7b", settings=tuple((k, str(v)) for k, v in SETTINGS.items()))
    graph, _ = to_graph(build(spec))
    with Bench(("parallel_plan", "parallel_link", "parallel_kernel", "run_memory"), with_parts=True) as made:
        made.replace_rows(Scenario, [RUN])
        made.execute("DELETE FROM hardware WHERE hardware <> ?", [PART])
        made.add_graph(graph, "experts")
        yield made


def _plans(bench: Bench, strategy: str) -> list[tuple[int, Link, float, float, float]]:
    query = """
        SELECT p.device_count, [i.bandwidth_byte_per_s, i.latency_s], p.sent_byte, p.communication_s,
            p.device_memory_byte
        FROM parallel_plan AS p
        JOIN hardware_interconnect AS i USING (hardware, interconnect)
        WHERE p.strategy = ? AND p.device_count > 1
    """
    return bench.rows(query, [strategy])


def test_expert_parallel_sends_each_token_to_its_experts_and_back(bench: Bench) -> None:
    there = TOKENS * CHOSEN * HIDDEN * FP16
    plans = _plans(bench, "expert")
    assert plans
    for n, (bandwidth, delay), sent, communication, _ in plans:
        assert sent == pytest.approx(LAYERS * 2 * there * (n - 1) / n)
        assert communication == pytest.approx(sent / (0.6 * bandwidth) + 2 * LAYERS * (0.9 + 0.1 * (n - 1)) * delay)


def test_expert_parallel_divides_the_weights_of_experts(bench: Bench) -> None:
    experts = LAYERS * EXPERTS * 3 * HIDDEN * INNER * FP16
    single = bench.rows("SELECT peak_memory_byte FROM run_memory")[0][0]
    for n, _, _, _, memory in _plans(bench, "expert"):
        assert single - memory == pytest.approx(experts * (1 - 1 / n), rel=0.01)


def test_tensor_parallel_divides_what_products_read(bench: Bench) -> None:
    """Experts read their weights transposed; norms and routers stay whole on every device, and each device has one of four heads
    of keys."""
    query = "SELECT weight_byte FROM run_memory"
    ((whole,),) = bench.rows(query)
    bench.replace_rows(Scenario, [RUN.model_copy(update={"scenario_id": 2, "device_count": 8})])
    try:
        ((of_device,),) = bench.rows(query)
    finally:
        bench.replace_rows(Scenario, [RUN])
    kept = (2 * LAYERS + 1) * HIDDEN * FP16 + LAYERS * EXPERTS * HIDDEN * FP16
    keys = LAYERS * 2 * 4 * (HIDDEN // 8) * HIDDEN * FP16
    assert of_device == pytest.approx((whole - kept - keys) / 8 + keys / 4 + kept)


def test_tensor_parallel_pairs_within_attention_and_within_experts(bench: Bench) -> None:
    # Engines add up a token's experts before the devices' results: no more bytes than after attention.
    reduced = (1 + 2 * LAYERS) * TOKENS * HIDDEN * FP16
    gathered = TOKENS * VOCABULARY * FP16
    plans = _plans(bench, "tensor")
    assert plans
    for n, (bandwidth, delay), sent, communication, _ in plans:
        assert sent == pytest.approx((2 * reduced + gathered) * (n - 1) / n)
        calls = (
            1 + 2 * LAYERS + 1
        )  # all-reduces of the look-up, after attention and experts; the all-gather of the head
        steps = (2 * (1 + 2 * LAYERS) + 1) * (n - 1)
        assert communication == pytest.approx(sent / (0.6 * bandwidth) + (0.9 * calls + 0.1 * steps) * delay)


def test_a_device_reads_the_experts_it_holds(bench: Bench) -> None:
    """In a step of four tokens each meets two of eight experts: together a share r = 1 - (3/4)^4 of them. Each of n devices has an
    n-th of the experts for the tokens of all n, and reads a share 1 - (1 - r)^n of these."""
    bench.replace_rows(Scenario, [RUN.model_copy(update={"scenario_id": 2, "batch": 4, "sequence": 1})])
    try:
        found = dict(bench.rows("SELECT device_count, MIN(expert_read_byte) FROM parallel_link GROUP BY device_count"))
        times = dict(
            bench.rows(
                "SELECT device_count, MIN(compute_s) FROM parallel_plan WHERE strategy = 'expert' GROUP BY device_count"
            )
        )
    finally:
        bench.replace_rows(Scenario, [RUN])
    held = LAYERS * EXPERTS * 3 * HIDDEN * INNER * FP16
    met = 1 - (1 - CHOSEN / EXPERTS) ** 4
    for n in (1, 2, 4, 8):
        assert found[n] == pytest.approx(held / n * (1 - (1 - met) ** n), rel=1e-3)
    assert times[8] <= times[1]


def test_small_messages_take_what_nccl_takes(bench: Bench) -> None:
    """A step of one token all-reduces 1 and 2 kB a layer; NCCL 2.29 takes 10 us for that on four H100 and 16 us on
    eight, 7.6 and 10.8 us for an all-gather (aiconfigurator-core 0.12); constants for all NVLink parts are within 1.6."""
    measured = {4: (10e-6, 7.6e-6), 8: (16e-6, 10.8e-6)}
    bench.replace_rows(Scenario, [RUN.model_copy(update={"scenario_id": 2, "batch": 1, "sequence": 1})])
    query = """
        SELECT device_count, communication_s FROM parallel_plan
        WHERE strategy = 'tensor' AND interconnect = 'nvlink' AND device_count IN (4, 8)
    """
    try:
        found = dict(bench.rows(query))
    finally:
        bench.replace_rows(Scenario, [RUN])
    assert set(found) == set(measured)
    for n, (reduce_s, gather_s) in measured.items():
        timed = (1 + 2 * LAYERS) * reduce_s + gather_s
        assert timed / 1.6 < found[n] < 1.6 * timed
