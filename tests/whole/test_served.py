"""Served language models, computed by hand: memory, versions, the cache's format, several devices, step limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from oracle.database import Bench, scenario

from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.schema.scenario import Scenario

pytest.importorskip("transformers")

PART = "h100_sxm5_80"
LAYERS, HIDDEN, INNER, VOCABULARY, HEADS, KEY_HEADS = 2, 1024, 4096, 8000, 8, 4
WIDTH = HIDDEN // HEADS
BLOCK = 2 * HIDDEN * HIDDEN + 2 * HIDDEN * KEY_HEADS * WIDTH + 3 * HIDDEN * INNER
EMBEDDED = VOCABULARY * HIDDEN
NORMS = (2 * LAYERS + 1) * HIDDEN
FP16 = 2
SETTINGS = {
    "num_hidden_layers": LAYERS, "hidden_size": HIDDEN, "intermediate_size": INNER, "num_attention_heads": HEADS,
    "num_key_value_heads": KEY_HEADS, "vocab_size": VOCABULARY,
}  # fmt: skip
OF: dict[str, Any] = {"precision": "fp16", "backend": "vllm"}
CONTEXT = 2048


@pytest.fixture(scope="module")
def made() -> Iterator[Bench]:
    spec = parse("hf:llama-3.1-8b", settings=tuple((k, str(v)) for k, v in SETTINGS.items()))
    graph, _ = to_graph(build(spec))
    with Bench(
        ("llm_serving", "model_memory", "largest_batch", "operator_work", "model_cost"), with_parts=True
    ) as bench:
        bench.execute("DELETE FROM hardware WHERE hardware <> ?", [PART])
        bench.add_graph(graph, "served")
        bench.execute("UPDATE model SET has_context = true")
        yield bench


def one(bench: Bench, query: str, rows: list[Scenario]) -> Any:
    """Return the only row of a query under these scenarios, or the values of its only column."""
    bench.replace_rows(Scenario, rows)
    found = bench.rows(query)
    return found[0] if len(found) == 1 else [row[0] for row in found]


@pytest.mark.parametrize(
    ("precision", "weight_byte"),
    [
        ("fp16", FP16 * (LAYERS * BLOCK + 2 * EMBEDDED + NORMS)),
        # The embedding and the output layer stay in 16 bits, as do norms.
        ("fp8", LAYERS * BLOCK + FP16 * (2 * EMBEDDED + NORMS)),
        ("w4a16", 4.15625 / 8 * LAYERS * BLOCK + FP16 * (2 * EMBEDDED + NORMS)),
        # Half of the weights are stored in 16 bits, each with an index of two.
        ("sparse-fp16", 0.5 * (FP16 + 0.25) * LAYERS * BLOCK + FP16 * (2 * EMBEDDED + NORMS)),
        ("q8_0", 8.5 / 8 * (LAYERS * BLOCK + 2 * EMBEDDED) + FP16 * NORMS),
    ],
)
def test_weights(made: Bench, precision: str, weight_byte: float) -> None:
    backend = "llama_cpp" if precision.startswith("q") else "vllm"
    run = scenario(1, batch=1, context=CONTEXT, phase="decode", precision=precision, backend=backend)
    ((found,),) = [one(made, "SELECT weight_byte FROM run_memory", [run])]
    assert found == pytest.approx(weight_byte, rel=1e-12)


def test_weights_of_q4_k_m(made: Bench) -> None:
    """Half of the value and down projections in q6_k: 5.53125 bits on average; the output layer in q6_k, all else in q4_k."""
    lifted = HIDDEN * KEY_HEADS * WIDTH + HIDDEN * INNER
    bits = LAYERS * (4.5 * (BLOCK - lifted) + 5.53125 * lifted) + (4.5 + 6.5625) * EMBEDDED + 16 * NORMS
    run = scenario(1, batch=1, context=CONTEXT, phase="decode", precision="q4_k_m", backend="llama_cpp")
    ((found,),) = [one(made, "SELECT weight_byte FROM run_memory", [run])]
    assert found == pytest.approx(bits / 8, rel=1e-12)


@pytest.mark.parametrize(("kept", "byte"), [(None, 2), ("fp8_e4m3", 1)])
def test_the_cache_has_a_format_of_its_own(made: Bench, kept: str | None, byte: int) -> None:
    run = scenario(1, batch=4, context=CONTEXT, phase="decode", kv_precision=kept, **OF)
    ((found,),) = [one(made, "SELECT kv_cache_byte FROM run_memory", [run])]
    assert found == 4 * CONTEXT * LAYERS * 2 * KEY_HEADS * WIDTH * byte


def test_logits_are_those_of_the_last_token(made: Bench) -> None:
    """A server's prompt computes one row of logits a sample, eager's one a token; everything else is equal."""
    rows = [
        scenario(1, batch=2, sequence=512, phase="prefill", **OF),
        scenario(2, batch=2, sequence=512, phase="prefill", precision="fp16", backend="eager"),
    ]
    made.replace_rows(Scenario, rows)
    served, eager = (
        macs for (macs,) in made.rows("SELECT SUM(macs) FROM operator_work GROUP BY scenario_id ORDER BY scenario_id")
    )
    assert eager - served == 2 * 511 * EMBEDDED
    assert eager == pytest.approx(2 * 512 * (LAYERS * BLOCK + EMBEDDED) + 2 * 2 * LAYERS * 512 * 512 * HIDDEN)


def test_a_prompt_of_which_a_prefix_is_cached(made: Bench) -> None:
    """Of 1,024 tokens 768 are cached: the 256 others attend to all, and nothing else of the prefix is computed."""
    made.replace_rows(Scenario, [scenario(1, batch=1, sequence=256, context=1024, phase="prefill", **OF)])
    ((macs,),) = made.rows("SELECT SUM(macs) FROM operator_work")
    assert macs == pytest.approx(256 * LAYERS * BLOCK + EMBEDDED + 2 * LAYERS * 256 * 1024 * HIDDEN)


def test_activations_are_those_of_a_chunk(made: Bench) -> None:
    """A chunk has 8192 tokens, whatever the prompt. A step of decoding counts as much."""
    rows = [
        scenario(1, batch=1, sequence=512, phase="prefill", **OF),
        scenario(2, batch=8, sequence=4096, phase="prefill", **OF),
        scenario(3, batch=64, context=4096, phase="decode", **OF),
    ]
    made.replace_rows(Scenario, rows)
    found = [byte for (byte,) in made.rows("SELECT activation_byte FROM run_memory ORDER BY run.scenario_id")]
    assert found == pytest.approx([found[0]] * 3, rel=0.01)
    # Gate and product of a layer are stored at the same time as the residual stream.
    assert found[0] > 8192 * FP16 * (2 * INNER + HIDDEN)


def test_memory_is_one_figure(made: Bench) -> None:
    """`llm`, `memory` and `largest_batch` agree on weights, cache, a chunk, logits and the memory that the server leaves free."""
    rows = [scenario(1, batch=8, context=CONTEXT, phase="decode", **OF)]
    made.replace_rows(Scenario, rows)
    ((served,),) = made.rows("SELECT peak_memory_byte FROM llm_serving")
    query = """
        SELECT weight_byte + buffer_byte + kv_cache_byte + activation_byte + rounding_byte + workspace_byte + reserve_byte,
            peak_memory_byte, reserve_byte, device_byte
        FROM model_memory
    """
    ((total, peak, reserve, device),) = made.rows(query)
    assert served == peak == pytest.approx(total)
    assert reserve == pytest.approx(0.1 * device)
    ((largest, byte, sample),) = made.rows("SELECT largest_batch, largest_batch_byte, sample_byte FROM largest_batch")
    assert byte <= device < byte + sample
    made.replace_rows(Scenario, [scenario(1, batch=largest, context=CONTEXT, phase="decode", **OF)])
    ((at_largest,),) = made.rows("SELECT peak_memory_byte FROM llm_serving")
    assert at_largest == pytest.approx(byte, rel=1e-12)
    made.replace_rows(Scenario, [scenario(1, batch=largest + 1, context=CONTEXT, phase="decode", **OF)])
    ((fits, time_s, usd, limit),) = made.rows(
        "SELECT fits_device, tpot_s, million_decode_tokens_usd, step_limit FROM llm_serving"
    )
    assert (fits, time_s, usd, limit) == (False, None, None, None)


def test_a_version_is_a_condition(made: Bench) -> None:
    """Versions differ by the host time of a step and of a sample."""
    rows = [
        scenario(i, batch=32, context=CONTEXT, phase="decode", engine_version=version, **OF)
        for i, version in enumerate(("v0.13", "v0.18", None), start=1)
    ]
    made.replace_rows(Scenario, rows)
    known = dict(made.rows("SELECT engine_version, step_s + 32 * sample_s FROM engine_version WHERE backend = 'vllm'"))
    times = dict(made.rows("SELECT scenario_id, latency_s FROM model_cost"))
    assert times[1] - times[2] == pytest.approx(known["v0.13"] - known["v0.18"])
    assert times[3] == times[2]
    made.replace_rows(Scenario, [scenario(1, batch=1, context=64, phase="decode", engine_version="1900", **OF)])
    assert made.rows("SELECT * FROM run") == []


def test_a_version_whose_numbers_cannot_be(made: Bench) -> None:
    """A negative host time does not make a server faster: the run has no answer, and names the number."""
    made.replace_rows(Scenario, [scenario(1, batch=1, context=CONTEXT, phase="decode", engine_version="v0.6", **OF)])
    made.execute("UPDATE engine_version SET step_s = -1 WHERE backend = 'vllm' AND engine_version = 'v0.6'")
    try:
        ((fault,),) = made.rows("SELECT fault FROM run")
        ((time_s,),) = made.rows("SELECT latency_s FROM model_cost")
    finally:
        made.execute("UPDATE engine_version SET step_s = 1.2e-3 WHERE backend = 'vllm' AND engine_version = 'v0.6'")
    assert (fault, time_s) == ("engine_version.vllm.v0.6.step_s", None)


def test_kernels_launched_one_by_one(made: Bench) -> None:
    """The host takes a microsecond for a kernel of a step, a tenth of it for a sample, ten for a kernel of a prompt: a step of 32
    samples, and 4 prompts of 4,096 tokens in two steps of 8,192."""
    rows = [
        scenario(1, batch=32, context=CONTEXT, phase="decode", engine_version="v0.6", **OF),
        scenario(2, batch=4, sequence=4096, phase="prefill", engine_version="v0.6", **OF),
    ]
    made.replace_rows(Scenario, rows)
    query = "SELECT scenario_id, kernel_count, latency_s, device_s, overhead_s FROM model_cost ORDER BY scenario_id"
    before = made.rows(query)
    set_to = "UPDATE engine_version SET kernel_s = ?, kernel_sample_s = ?, prompt_kernel_s = ? WHERE backend = 'vllm' AND engine_version = 'v0.6'"
    made.execute(set_to, [1e-6, 1e-7, 1e-5])
    try:
        after = made.rows(query)
    finally:
        made.execute(set_to, [0, 0, 0])
    more = {1: 1e-6 + 32 * 1e-7, 2: 2 * 1e-6 + 4 * 1e-7 + 1e-5}
    for (i, kernels, *old), (_, _, *new) in zip(before, after, strict=True):
        assert [b - a for a, b in zip(old, new, strict=True)] == pytest.approx([kernels * more[i]] * 3, rel=1e-6)


def test_linear_layers_of_few_rows(made: Bench) -> None:
    """vLLM of 2024 on AMD parts multiplies up to 256 rows at the rate of vector units, except in attentions; others never do."""
    of = OF | {"phase": "decode", "context": CONTEXT}
    rows = [
        scenario(1, batch=256, engine_version="v0.6-rocm", **of), scenario(2, batch=257, engine_version="v0.6-rocm", **of),
        scenario(3, batch=1, engine_version="v0.6", **of),
    ]  # fmt: skip
    made.replace_rows(Scenario, rows)
    query = """
        SELECT run.scenario_id, LIST(DISTINCT operator_class) FROM executed_step
        WHERE step_class = 'gemm' AND is_vector_only GROUP BY run.scenario_id
    """
    assert made.rows(query) == [(1, ["linear"])]


def test_packed_weights_on_a_processor(made: Bench) -> None:
    """llama.cpp multiplies them in 8 bits on a processor, with the efficiency of each block's format; their results and all else
    stay in 16 bits."""
    runs = [
        scenario(i, batch=1, sequence=512, phase="prefill", precision=p, backend="llama_cpp")
        for i, p in enumerate(("fp16", "q8_0", "q4_k_m"), start=1)
    ]
    made.replace_rows(Scenario, runs)
    kept = "SELECT DISTINCT precision FROM tensor_precision WHERE policy IN ('q8_0', 'q4_k_m') AND precision LIKE 'fp16%'"
    assert made.rows(kept) == [("fp16",)]
    query = "SELECT DISTINCT run.scenario_id, compute_precision FROM shape WHERE kernel_class = ? ORDER BY 1"
    assert made.rows(query, ["linear"]) == [(1, "fp16"), (2, "fp16_q8"), (3, "fp16_qk")]
    assert made.rows(query, ["attention"]) == [(1, "fp16"), (2, "fp16"), (3, "fp16")]


DIRECT = "direct_call_s, direct_byte_per_s"


def test_several_devices_share_each_kernel(made: Bench) -> None:
    """Two all-reduces a layer and one of the look-up, of batch x hidden; each device reads an n-th of each weight; links have
    their latency; each of eight devices has one of four heads of keys."""
    batch = 16
    rows = [
        scenario(i, batch=batch, context=CONTEXT, phase="decode", device_count=n, engine_version="v0.6", **OF)
        for i, n in enumerate((None, 1, 2, 8), start=1)
    ] + [scenario(5, batch=batch, context=CONTEXT, phase="decode", device_count=8, engine_version="v0.18", **OF)]
    made.replace_rows(Scenario, rows)
    found = {i: values for i, *values in made.rows("SELECT scenario_id, latency_s, exchange_s, macs FROM model_cost")}
    assert found[1] == pytest.approx(found[2], rel=1e-12)
    assert found[1][1] == 0.0
    link = "SELECT collective_byte_per_s, collective_call_s, collective_step_s FROM part_link WHERE interconnect = 'nvlink' AND hardware = ?"
    ((byte_per_s, call_s, step_s),) = made.rows(link, [PART])
    for i, n in ((3, 2), (4, 8)):
        byte = batch * HIDDEN * FP16
        reduces = (2 * LAYERS + 1) * (2 * (n - 1) / n * byte / byte_per_s + call_s + 2 * (n - 1) * step_s)
        gather = (n - 1) / n * batch * VOCABULARY * FP16 / byte_per_s + call_s + (n - 1) * step_s
        assert found[i][1] == pytest.approx(reduces + gather)
    # Engines of 2026 read the seven other devices in one kernel.
    ((once_s, direct_byte_per_s),) = made.rows(link.replace("collective_byte_per_s, collective_call_s, collective_step_s", DIRECT), [PART])
    assert found[5][1] == pytest.approx((2 * LAYERS + 1) * (once_s + 7 * byte / direct_byte_per_s) + gather)
    memory = dict(made.rows("SELECT run.scenario_id, weight_byte FROM run_memory"))
    split = FP16 * (LAYERS * BLOCK + 2 * EMBEDDED)
    keys = FP16 * LAYERS * 2 * HIDDEN * KEY_HEADS * WIDTH
    assert memory[4] == pytest.approx((split - keys) / 8 + keys / KEY_HEADS + FP16 * NORMS)
    kept = dict(made.rows("SELECT run.scenario_id, kv_cache_byte FROM run_memory"))
    assert kept[4] == kept[1] / KEY_HEADS


def test_what_limits_a_step(made: Bench) -> None:
    rows = [
        scenario(1, batch=256, context=16, phase="decode", **OF),
        scenario(2, batch=256, context=8192, phase="decode", **OF),
        scenario(3, batch=1, sequence=32768, phase="prefill", **OF),
        scenario(4, batch=1, context=16, phase="decode", **OF),
        scenario(5, batch=64, sequence=128, phase="prefill", device_count=8, **OF),
    ]
    made.replace_rows(Scenario, rows)
    found = dict(made.rows("SELECT scenario_id, step_limit FROM model_cost"))
    assert found[2] == "cache"
    assert found[3] == "compute"
    assert found[4] == "host"
    query = "SELECT scenario_id, mfu_fraction, flops / latency_s / 989.4e12, mbu_fraction, dram_byte / latency_s / 3.35e12 FROM model_cost"
    for _, mfu, by_hand, mbu, moved in made.rows(query):
        assert mfu == pytest.approx(by_hand, rel=1e-2)
        assert mbu == pytest.approx(moved, rel=1e-2)


def fills(
    bench: Bench,
    weight_byte: dict[str, float] | None,
    precision: str,
    context: int,
    devices: int,
    sample_byte: float,
    kept: str | None = None,
) -> None:
    """The largest batch fits by hand, and one more sample does not: weights and caches of a device, the activations of a full
    chunk, and the tenth of the part that the server leaves free."""
    shared = {"context": context, "phase": "decode", "precision": precision, "backend": "vllm", "kv_precision": kept}
    shared |= {"device_count": devices if devices > 1 else None}
    bench.replace_rows(Scenario, [scenario(1, batch=1, **shared)])
    ((largest,),) = bench.rows("SELECT largest_batch FROM largest_batch")
    rows = [scenario(i, batch=batch, **shared) for i, batch in enumerate((1, largest, largest + 1), start=1)]
    bench.replace_rows(Scenario, rows)
    query = """
        SELECT run.scenario_id, weight_byte, kv_cache_byte, buffer_byte + activation_byte + rounding_byte + workspace_byte
        FROM run_memory ORDER BY run.scenario_id
    """
    ((device_byte,),) = bench.rows("SELECT DISTINCT device_byte FROM target_cost")
    fits = dict(bench.rows("SELECT scenario_id, fits_device FROM target_cost"))
    for i, held, cache, rest in bench.rows(query):
        batch = (1, largest, largest + 1)[i - 1]
        by_hand = batch * sample_byte / devices
        assert cache == pytest.approx(by_hand, rel=1e-12)
        if weight_byte is not None:
            whole = FP16 * NORMS
            assert held == pytest.approx((weight_byte[precision] - whole) / devices + whole, rel=1e-3)
        assert fits[i] == (held + by_hand + rest <= 0.9 * device_byte) == (batch <= largest)


@pytest.mark.parametrize(
    ("precision", "context", "devices", "kept", "element_byte"),
    [
        ("fp16", 1024, 1, None, 2.0),
        ("fp16", 32768, 1, None, 2.0),
        ("fp16", 8192, 4, None, 2.0),
        ("fp8", 4096, 2, "fp8_e4m3", 1.0),
        ("w4a16", 2048, 1, None, 2.0),
        ("w4a16", 131072, 4, "fp8_e4m3", 1.0),
    ],
)
def test_the_largest_batch_by_hand(
    made: Bench, precision: str, context: int, devices: int, kept: str | None, element_byte: float
) -> None:
    weight_byte = {
        "fp16": FP16 * (LAYERS * BLOCK + 2 * EMBEDDED + NORMS),
        "fp8": LAYERS * BLOCK + FP16 * (2 * EMBEDDED + NORMS),
        "w4a16": 4.15625 / 8 * LAYERS * BLOCK + FP16 * (2 * EMBEDDED + NORMS),
    }
    sample_byte = context * LAYERS * 2 * KEY_HEADS * WIDTH * element_byte
    fills(made, weight_byte, precision, context, devices, sample_byte, kept)


LATENT, ROTATED, PLAIN, VALUE = 128, 64, 64, 64


@pytest.fixture(scope="module")
def latent() -> Iterator[Bench]:
    """A small layer of DeepSeek-V2 on an H100."""
    settings = {
        "num_hidden_layers": 1, "hidden_size": HIDDEN, "intermediate_size": INNER, "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS, "vocab_size": VOCABULARY, "kv_lora_rank": LATENT, "qk_nope_head_dim": PLAIN,
        "v_head_dim": VALUE, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 256,
    }  # fmt: skip
    spec = parse("hf:deepseek-v2-lite", settings=tuple((k, str(v)) for k, v in settings.items()))
    graph, _ = to_graph(build(spec))
    with Bench(("run_memory", "operator_work", "largest_batch", "target_cost"), with_parts=True) as bench:
        bench.execute("DELETE FROM hardware WHERE hardware <> ?", [PART])
        bench.add_graph(graph, "latent")
        bench.execute("UPDATE model SET has_context = true")
        yield bench


def test_latents_are_kept_and_read_as_they_are(latent: Bench) -> None:
    """A token stores a latent and the rotated key, shared by all heads; a step reads them and multiplies at that width."""
    latent.replace_rows(Scenario, [scenario(1, batch=4, context=CONTEXT, phase="decode", **OF)])
    ((kept,),) = latent.rows("SELECT kv_cache_byte FROM run_memory")
    assert kept == 4 * CONTEXT * (LATENT + ROTATED) * FP16
    query = "SELECT macs, kv_cache_byte FROM operator_work WHERE operator_class = 'attention'"
    ((macs, read),) = latent.rows(query)
    assert macs == 4 * HEADS * CONTEXT * (LATENT + ROTATED + LATENT)
    assert read == kept


@pytest.mark.parametrize("context", [4096, 65536])
def test_the_largest_batch_of_latents_by_hand(latent: Bench, context: int) -> None:
    """No head has keys of its own: a token stores one latent and one rotated key."""
    fills(latent, None, "fp16", context, 1, context * (LATENT + ROTATED) * FP16)


def test_a_prompt_multiplies_as_wide_as_keys_are(latent: Bench) -> None:
    """Only one query differs; expanding latents takes as much work either way."""
    latent.replace_rows(Scenario, [scenario(1, batch=1, sequence=CONTEXT, phase="prefill", **OF)])
    ((macs,),) = latent.rows("SELECT macs FROM operator_work WHERE operator_class = 'attention'")
    usual = HEADS * CONTEXT * CONTEXT * (PLAIN + ROTATED + VALUE)
    assert macs == usual + HEADS * CONTEXT * (2 * LATENT - PLAIN - VALUE)
    ((expanded,),) = latent.rows("SELECT SUM(macs) FROM operator_work WHERE operator LIKE 'bmm%'")
    assert expanded == CONTEXT * LATENT * HEADS * (PLAIN + VALUE)


def test_a_window_is_as_much_of_the_context_as_counts() -> None:
    """One of two layers slides over 512 tokens: of a longer context it stores, reads and multiplies only those."""
    settings = {
        "num_hidden_layers": 2, "hidden_size": HIDDEN, "intermediate_size": INNER, "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_HEADS, "head_dim": WIDTH, "vocab_size": VOCABULARY, "sliding_window": 512,
        "layer_types": '["sliding_attention", "full_attention"]', "use_sliding_window": "true", "max_window_layers": 0,
    }  # fmt: skip
    graph, _ = to_graph(build(parse("hf:qwen3-8b", settings=tuple((k, str(v)) for k, v in settings.items()))))
    with Bench(("run_memory", "operator_work", "largest_batch", "target_cost"), with_parts=True) as bench:
        bench.execute("DELETE FROM hardware WHERE hardware <> ?", [PART])
        bench.add_graph(graph, "sliding")
        bench.execute("UPDATE model SET has_context = true")
        contexts = (256, 512, 4096)
        rows = [scenario(i, batch=1, context=c, phase="decode", **OF) for i, c in enumerate(contexts, start=1)]
        bench.replace_rows(Scenario, rows)
        token = 2 * KEY_HEADS * WIDTH * FP16
        kept = [byte for (byte,) in bench.rows("SELECT kv_cache_byte FROM run_memory ORDER BY run.scenario_id")]
        assert kept == [token * (min(c, 512) + c) for c in contexts]
        query = "SELECT SUM(macs), SUM(kv_cache_byte) FROM operator_work WHERE operator_class = 'attention' GROUP BY scenario_id"
        found = bench.rows(f"{query} ORDER BY scenario_id")
        assert found == [(2 * HEADS * WIDTH * (min(c, 512) + c), byte) for c, byte in zip(contexts, kept, strict=True)]
        weight_byte = {"fp16": FP16 * (2 * BLOCK + 2 * EMBEDDED + NORMS + 2 * 2 * WIDTH)}
        for context, devices in ((400, 1), (8192, 2)):
            fills(bench, weight_byte, "fp16", context, devices, token * (min(context, 512) + context))


@pytest.mark.parametrize(
    ("said", "policy"),
    [
        (None, None),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8_block"),
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, "nf4"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4_single"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "w8a16"),
        ({"quant_method": "awq", "bits": 4}, "w4a16"),
        ({"quant_method": "gptq", "bits": 8}, "w8a16"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"a": {"weights": {"num_bits": 8, "type": "float"}}},
            },
            "fp8",
        ),
        (
            {"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": {"num_bits": 4, "type": "int"}}}},
            "w4a16",
        ),
        ({"quant_method": "aqlm"}, None),
    ],
)
def test_how_a_checkpoint_is_stored(said: dict[str, Any] | None, policy: str | None) -> None:
    from charz.ingest.sources.huggingface import stored_policy

    assert stored_policy(said) == policy


@pytest.mark.parametrize(("weights", "cache"), [(0.25, None), (None, 0.5), (0.25, 0.5)])
def test_what_lies_in_the_memory_of_the_host(made: Bench, weights: float | None, cache: float | None) -> None:
    """Offloaded bytes take none of the part's memory, and cross PCIe in every step: bytes over the bandwidth of the link."""
    usual = {"batch": 4, "context": CONTEXT, "phase": "decode", **OF}
    rows = [scenario(1, **usual), scenario(2, weight_host_fraction=weights, cache_host_fraction=cache, **usual)]
    made.replace_rows(Scenario, rows)
    held = {
        i: row
        for i, *row in made.rows("SELECT run.scenario_id, weight_byte, kv_cache_byte, peak_memory_byte FROM run_memory")
    }
    moved = (weights or 0) * FP16 * (LAYERS * BLOCK + 2 * EMBEDDED + NORMS)
    kept = (cache or 0) * 4 * CONTEXT * LAYERS * 2 * KEY_HEADS * WIDTH * FP16
    assert held[1][0] - held[2][0] == pytest.approx(moved)
    assert held[1][1] - held[2][1] == pytest.approx(kept)
    assert held[1][2] - held[2][2] == pytest.approx(moved + kept)
    link = "SELECT link_byte_per_s FROM part_link WHERE interconnect = 'pcie' AND hardware = ?"
    ((byte_per_s,),) = made.rows(link, [PART])
    times = dict(made.rows("SELECT scenario_id, latency_s FROM model_cost"))
    assert times[2] - times[1] == pytest.approx((moved + kept) / byte_per_s)
    links = dict(made.rows("SELECT scenario_id, exchange_s FROM model_cost"))
    assert links == {1: 0.0, 2: pytest.approx((moved + kept) / byte_per_s)}


def test_heads_that_share_keys_read_them_for_themselves(made: Bench) -> None:
    """vLLM of 2024 on AMD parts reads the cache for each of two heads a key above 512 heads of a step, each 2.5 times as long.
    llama.cpp multiplies each head by itself, at every batch and at the rate of other reads."""
    rocm = {"context": CONTEXT, "phase": "decode", "engine_version": "v0.6-rocm", **OF}
    own = rocm | {"backend": "llama_cpp", "precision": "fp16", "engine_version": "b4384"}
    rows = [scenario(1, batch=64, **rocm), scenario(2, batch=65, **rocm), scenario(3, batch=1, **own)]
    made.replace_rows(Scenario, rows)
    query = "SELECT run.scenario_id, SUM(kernel_count * reread_cache_byte), SUM(kernel_count * kv_cache_byte) FROM shape GROUP BY run"
    found = {i: (more, once) for i, more, once in made.rows(query)}
    assert found[1][0] == 0.0
    assert found[2][0] == pytest.approx(found[2][1] * (HEADS / KEY_HEADS * 2.5 - 1.0))
    assert found[3][1] == pytest.approx(CONTEXT * LAYERS * 2 * KEY_HEADS * WIDTH * FP16)
    assert found[3][0] == pytest.approx(found[3][1] * (HEADS / KEY_HEADS - 1.0))
