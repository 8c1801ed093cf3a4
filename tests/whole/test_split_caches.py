"""Language models with few heads of keys, or none, on several devices: stored, read and sent bytes of each device, computed by
hand."""

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
LAYERS, CONTEXT, BATCH, HIDDEN, BF16 = 2, 4096, 4, 512, 2
DEVICES = (1, 2, 8)
COMMON = {"num_hidden_layers": LAYERS, "hidden_size": HIDDEN, "intermediate_size": 768, "vocab_size": 1000}
SETTINGS = {
    # Widths of the latents are DeepSeek-V3's.
    "hf:deepseek-v3": COMMON | {
        "first_k_dense_replace": 1, "num_attention_heads": 16, "num_key_value_heads": 16, "q_lora_rank": 96, "kv_lora_rank": 512,
        "qk_nope_head_dim": 32, "qk_rope_head_dim": 64, "v_head_dim": 32, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_group": 2,
        "topk_group": 1, "moe_intermediate_size": 64,
    },
    # Heads of keys are Qwen3-30B-A3B's.
    "hf:qwen3-30b-a3b": COMMON | {
        "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "num_experts": 8, "num_experts_per_tok": 2,
        "moe_intermediate_size": 64,
    },
}  # fmt: skip
LATENT, KEYS = "hf:deepseek-v3", "hf:qwen3-30b-a3b"
VIEWS = ("parallel_link", "run_memory", "run_collective", "split_kernel", "shape_share", "shape", "parallel_plan", "model_cost")


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Bench(VIEWS, with_parts=True) as made:
        made.execute("DELETE FROM hardware WHERE hardware <> ?", [PART])
        for source, settings in SETTINGS.items():
            made.add_graph(to_graph(build(parse(source, settings=tuple((k, str(v)) for k, v in settings.items()))))[0], source)
        made.execute("UPDATE model SET has_context = true")
        step = {"batch": BATCH, "sequence": 1, "context": CONTEXT, "phase": "decode", "precision": "bf16", "backend": "vllm"}
        made.replace_rows(Scenario, [scenario(n, device_count=n, **step) for n in DEVICES])
        yield made


@pytest.mark.parametrize(
    ("model", "token_byte"),
    [
        # 2 layers of 512 + 64 on every device; the model of 48 layers stores 24 times as much, 24.0 KiB on 8 devices.
        (LATENT, dict.fromkeys(DEVICES, 2 * 576 * BF16)),
        (KEYS, {n: 2 * 2 * 128 * max(1, 4 // n) * BF16 for n in DEVICES}),
    ],
)
def test_cache_of_a_device(bench: Bench, model: str, token_byte: dict[int, int]) -> None:
    query = "SELECT run.scenario_id, kv_cache_byte FROM run_memory WHERE run.model = ?"
    assert dict(bench.rows(query, [model])) == {n: BATCH * CONTEXT * byte for n, byte in token_byte.items()}
    assert (token_byte[8] == 2304) if model == LATENT else (24 * token_byte[8] == 24 * 1024)


@pytest.mark.parametrize("model", SETTINGS)
def test_a_device_holds_a_fair_share(bench: Bench, model: str) -> None:
    """Under every strategy a device stores at least its share of the bytes of one device, and all devices together at least those
    bytes."""
    rows = dict(bench.rows("SELECT run.scenario_id, peak_memory_byte FROM run_memory WHERE run.model = ?", [model]))
    assert all(rows[n] >= rows[1] / n for n in DEVICES)
    assert [rows[n] for n in DEVICES] == sorted(rows.values(), reverse=True)
    query = "SELECT strategy, device_count, device_memory_byte FROM parallel_plan WHERE model = ? AND scenario_id = 1"
    plans = bench.rows(query, [model])
    assert {strategy for strategy, *_ in plans} == {"data", "tensor", "pipeline", "expert"}
    for _, devices, byte in plans:
        assert byte >= rows[1] / devices * (1 - 1e-12)


def test_the_same_cache_by_either_way(bench: Bench) -> None:
    """`parallel`, whose runs are of one device, and a run on several devices agree on the bytes of tensor parallel in addition to
    weights."""
    query = """
        SELECT m.run.model, m.run.scenario_id, m.kv_cache_byte, o.kv_cache_byte * l.tensor_cache_fraction
        FROM run_memory AS m
        JOIN run_memory AS o ON o.run.model = m.run.model AND o.run.scenario_id = 1
        JOIN (SELECT DISTINCT run.model, device_count, tensor_cache_fraction FROM parallel_link WHERE run.scenario_id = 1) AS l
            ON l.model = m.run.model AND l.device_count = m.run.scenario_id
    """
    found = bench.rows(query)
    assert len(found) >= 2 * 2
    for _, _, run, plan in found:
        assert run == pytest.approx(plan)


def test_a_step_reads_what_a_device_keeps(bench: Bench) -> None:
    """A device stores all of the latents, and one of four heads of keys."""
    query = """
        SELECT s.run.model, s.run.scenario_id, SUM(s.kernel_count * s.kv_cache_byte * (w.moved_share - w.device_share * (1 - s.kv_cache_byte / s.traffic_byte))
            / (s.kv_cache_byte / s.traffic_byte)), MAX(m.kv_cache_byte)
        FROM shape AS s
        JOIN shape_share AS w USING (run, shape_id)
        JOIN run_memory AS m ON m.run = s.run
        WHERE s.kv_cache_byte > 0
        GROUP BY s.run
    """
    found = bench.rows(query)
    assert len(found) == 2 * 2
    for _, _, read, kept in found:
        assert read == pytest.approx(kept)


@pytest.mark.parametrize("model", SETTINGS)
def test_two_exchanges_a_layer(bench: Bench, model: str) -> None:
    """All-reduces follow attention and the MLP or all experts, of batch x hidden; the look-up has one, the logits one all-gather."""
    query = "SELECT all_reduce_count, all_reduce_byte, all_gather_count FROM run_collective WHERE run.model = ? AND device_count = 8"
    ((count, byte, gathers),) = bench.rows(query, [model])
    assert (count, byte, gathers) == (1 + 2 * LAYERS, (1 + 2 * LAYERS) * BATCH * HIDDEN * BF16, 1)
    query = """
        SELECT block, COUNT(*) FROM split_kernel WHERE run.model = ? AND run.scenario_id = 8 AND all_reduce_byte > 0 AND place = 'block'
        GROUP BY block
    """
    assert sorted(bench.rows(query, [model])) == [(f"model.layers.{i}", 2) for i in range(LAYERS)]


def test_more_devices_take_no_longer_to_compute(bench: Bench) -> None:
    """The bytes are at least the cache that each device reads: latents are read whole."""
    query = "SELECT scenario_id, latency_s - exchange_s FROM model_cost WHERE model = ? ORDER BY scenario_id"
    for model in SETTINGS:
        times = [time for _, time in bench.rows(query, [model])]
        assert times == sorted(times, reverse=True)
    ((cache_s,),) = bench.rows("SELECT cache_s FROM model_cost WHERE model = ? AND scenario_id = 8", [LATENT])
    assert cache_s >= BATCH * CONTEXT * LAYERS * 576 * BF16 / 3.35e12
