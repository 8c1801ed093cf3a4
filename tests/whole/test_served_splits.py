"""A small mixture of experts served over devices: bytes and times of every way to split, computed by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from oracle.database import Bench, scenario

from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.schema.catalog.devices import DeviceSplit
from charz.schema.scenario import Scenario

pytest.importorskip("transformers")

PART = "h100_sxm5_80"
LAYERS, HIDDEN, INNER, EXPERTS, CHOSEN, VOCABULARY = 2, 512, 1024, 8, 2, 4000
SETTINGS = {
    "num_hidden_layers": LAYERS, "hidden_size": HIDDEN, "intermediate_size": INNER, "num_local_experts": EXPERTS,
    "num_experts_per_tok": CHOSEN, "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": VOCABULARY,
}  # fmt: skip
BF16 = 2
BATCH, PROMPTS, CONTEXT = 256, 2, 512
OF_EXPERTS = LAYERS * EXPERTS * 3 * HIDDEN * INNER * BF16
STEP, PROMPT, STEP_OF_TWO, PROMPT_OF_TWO, ALONE = range(1, 6)
NVLINK, FRACTION = 4.5e11, 0.6
PORT = 0.8 * 5e10


def split(name: str, **degrees: Any) -> DeviceSplit:
    values: dict[str, Any] = {
        "framework": "plain", "optimizer": "adam", "tensor": 1, "pipeline": 1, "interleave": 1, "context": 1, "data": 1, "expert": 1,
        "micro_batches": 1, "zero_stage": 0, "recompute": "none", "is_sequence_parallel": True, "block_count": None,
        "adapter_rank": None, "frozen_precision": None,
    }  # fmt: skip
    return DeviceSplit(split=name, **(values | degrees))


SPLITS = [
    split("one"),
    split("tensor", tensor=2),
    split("experts", data=8, expert=8),
    split("experts over nodes", data=16, expert=16),
    split("pipeline", pipeline=2),
    split("context", context=4),
    split("64", pipeline=2, context=4, data=8, expert=8),
]

Records = dict[tuple[str, int], dict[str, Any]]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    graph, _ = to_graph(build(parse("hf:mixtral-8x7b", settings=tuple((k, str(v)) for k, v in SETTINGS.items()))))
    of: dict[str, Any] = {"precision": "bf16", "backend": "vllm"}
    step: dict[str, Any] = {"batch": BATCH, "sequence": 1, "context": CONTEXT, "phase": "decode", **of}
    prompt: dict[str, Any] = {"batch": PROMPTS, "sequence": CONTEXT, "phase": "prefill", **of}
    with Bench(("serving_split", "model_cost"), with_parts=True) as made:
        made.execute("DELETE FROM hardware WHERE hardware <> ?", [PART])
        made.add_graph(graph, "experts")
        made.execute("UPDATE model SET has_context = true")
        made.replace_rows(
            Scenario,
            [
                scenario(STEP, **step),
                scenario(PROMPT, **prompt),
                scenario(STEP_OF_TWO, device_count=2, **step),
                scenario(PROMPT_OF_TWO, device_count=2, **prompt),
                scenario(ALONE, **(step | {"batch": 1})),
            ],
        )
        made.replace_rows(DeviceSplit, SPLITS)
        yield made


@pytest.fixture(scope="module")
def found(bench: Bench) -> Records:
    """Return rows of `serving_split` with those of `served_split`, by split and scenario."""
    served = "(SELECT run.scenario_id, * FROM served_split)"
    rows = records(bench, f"{served} JOIN serving_split USING (split, scenario_id)")
    return {(row["split"], row["scenario_id"]): row for row in rows}


@pytest.fixture(scope="module")
def sums(bench: Bench) -> dict[int, dict[str, Any]]:
    return {row["scenario_id"]: row for row in records(bench, "(SELECT run.scenario_id, * FROM served_sum)")}


@pytest.fixture(scope="module")
def links(bench: Bench) -> tuple[float, float]:
    """Compute the time of a call and of a step of a collective over NVLink."""
    ((call_s, step_s),) = bench.rows(
        "SELECT collective_call_s, collective_step_s FROM part_link WHERE hardware = ? AND link_byte_per_s = ?", [PART, NVLINK]
    )
    return call_s, step_s


def records(bench: Bench, relation: str) -> list[dict[str, Any]]:
    bench.evaluate()
    rows = bench.connection.execute(f"SELECT * FROM {relation}")
    names = [column[0] for column in rows.description or ()]
    return [dict(zip(names, row, strict=True)) for row in rows.fetchall()]


def test_one_device_and_tensor_parallel_take_the_time_of_the_run(bench: Bench, found: Records) -> None:
    latency = dict(bench.rows("SELECT scenario_id, latency_s FROM model_cost"))
    for name, runs in (("one", (STEP, PROMPT, ALONE)), ("tensor", (STEP_OF_TWO, PROMPT_OF_TWO))):
        for run in runs:
            assert found[name, run]["latency_s"] == pytest.approx(latency[run], rel=1e-12)
            assert found[name, run]["pass_s"] == found[name, run]["latency_s"]
    assert ("one", STEP_OF_TWO) not in found and ("tensor", STEP) not in found


def test_a_device_reads_the_experts_that_it_holds(found: Records, sums: dict[int, dict[str, Any]]) -> None:
    """256 tokens meet all experts: each device reads an eighth. One token of each of eight replicas meets two of eight: 1 -
    (3/4)^8, an eighth each."""
    one, eighth = found["one", STEP], found["experts", STEP]
    assert one["expert_read_byte"] == pytest.approx(OF_EXPERTS)
    assert eighth["expert_read_byte"] == pytest.approx(OF_EXPERTS / 8)
    assert one["weight_byte"] - eighth["weight_byte"] == pytest.approx(OF_EXPERTS * 7 / 8)
    spared = min(sums[STEP]["expert_slack_s"], sums[STEP]["expert_read_s"] * 7 / 8)
    assert one["work_s"] - eighth["work_s"] == pytest.approx(spared)
    assert found["one", ALONE]["expert_read_byte"] == pytest.approx(OF_EXPERTS * CHOSEN / EXPERTS)
    assert found["experts", ALONE]["expert_read_byte"] == pytest.approx(OF_EXPERTS * (1 - (1 - CHOSEN / EXPERTS) ** 8) / 8)


def test_tokens_go_to_their_experts_and_back(found: Records, links: tuple[float, float]) -> None:
    """Tokens go to experts of other devices, within a node of eight over NVLink; of sixteen devices, 8 of 15 parts leave over a
    device's port."""
    call_s, step_s = links
    there = BATCH * CHOSEN * HIDDEN * BF16
    expected = 7 / 8 * LAYERS * 2 * there / (FRACTION * NVLINK) + 2 * LAYERS * (call_s + 7 * step_s)
    assert found["experts", STEP]["expert_s"] == pytest.approx(expected)
    rate = min(FRACTION * NVLINK, PORT * 15 / 8)
    expected = 15 / 16 * LAYERS * 2 * there / rate + 2 * LAYERS * (call_s + 15 * 0.1 * 5e-6)
    assert found["experts over nodes", STEP]["expert_s"] == pytest.approx(expected)


def test_a_pipeline_has_as_many_steps_under_way_as_stages(found: Records, sums: dict[int, dict[str, Any]]) -> None:
    one, halves, of = found["one", STEP], found["pipeline", STEP], sums[STEP]
    assert halves["work_s"] == pytest.approx(of["layer_s"] / 2 + max(of["first_s"], of["last_s"]))
    assert halves["send_s"] == pytest.approx(BATCH * HIDDEN * BF16 / NVLINK + 1e-5)
    assert halves["latency_s"] == pytest.approx(2 * halves["pass_s"])
    assert halves["tokens_per_s"] == pytest.approx(BATCH / halves["pass_s"])
    assert (halves["samples"], halves["kv_cache_byte"]) == (2 * BATCH, one["kv_cache_byte"])
    table = VOCABULARY * HIDDEN * BF16
    assert halves["weight_byte"] == pytest.approx((one["weight_byte"] - 2 * table) / 2 + table, rel=1e-3)


def test_context_is_shared(found: Records, sums: dict[int, dict[str, Any]], links: tuple[float, float]) -> None:
    """A step splits only the cache, whose partial results are added up; a prompt splits all."""
    call_s, step_s = links
    one, quarter, of = found["one", STEP], found["context", STEP], sums[STEP]
    assert quarter["work_s"] == pytest.approx(one["work_s"] - 3 / 4 * of["core_s"])
    assert quarter["kv_cache_byte"] == pytest.approx(one["kv_cache_byte"] / 4)
    reduced = LAYERS * BATCH * HIDDEN * BF16
    expected = 3 / 4 * 2 * reduced / (FRACTION * NVLINK) + LAYERS * (call_s + 3 * 2 * step_s)
    assert quarter["context_s"] == pytest.approx(expected)
    assert found["context", PROMPT]["work_s"] == pytest.approx(found["one", PROMPT]["work_s"] / 4)


def test_64_devices_do_what_one_does_and_what_links_carry(
    found: Records, sums: dict[int, dict[str, Any]], links: tuple[float, float]
) -> None:
    """A pipeline takes eight prompts in the time of one device's, except for experts that are not read and the ends, of which the
    longer counts."""
    call_s, step_s = links
    many, of = found["64", PROMPT], sums[PROMPT]
    spared = min(of["expert_slack_s"], of["expert_read_s"] * 7 / 8)
    assert many["device_count"] == 64
    assert 64 * many["work_s"] == pytest.approx(8 * (of["layer_s"] - spared + 2 * max(of["first_s"], of["last_s"])))
    tokens = PROMPTS * CONTEXT
    there = tokens * CHOSEN * HIDDEN * BF16
    half = LAYERS / 2
    # Eight devices for experts are two groups of four of context parallel, which fit a node of eight.
    expected = 7 / 8 * half * 2 * there / 4 / (FRACTION * NVLINK) + 2 * half * (call_s + 7 * step_s)
    assert many["expert_s"] == pytest.approx(expected)
    turn = 3 / 4 * many["kv_cache_byte"] * 4 / (FRACTION * NVLINK) + 3 * LAYERS * step_s
    assert many["context_s"] == pytest.approx(half / LAYERS * max(0.0, turn - of["core_s"] / 4))
    assert many["send_s"] == pytest.approx(tokens * HIDDEN * BF16 / 4 / PORT + 5e-6)
    links_s = many["expert_s"] + many["context_s"] + many["send_s"]
    assert many["pass_s"] == pytest.approx(many["work_s"] + links_s + many["host_s"])
    assert many["tokens_per_s"] == pytest.approx(8 * tokens / many["pass_s"])
