"""Serving over devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Gives = Callable[..., None]

SPLIT: dict[str, Any] = {
    "split": "s", "framework": "plain", "optimizer": "adam", "tensor": 2, "pipeline": 2, "interleave": 1, "context": 2, "data": 2,
    "expert": 4, "micro_batches": 1, "zero_stage": 0, "recompute": "none", "is_sequence_parallel": True, "block_count": 8,
    "adapter_rank": None, "frozen_precision": None,
}  # fmt: skip
LAYERED: dict[str, Any] = {
    "forward_reduce_byte": 16.0, "forward_reduce_count": 8, "block_gather_byte": 6.0, "block_gather_count": 2, "end_reduce_byte": 4.0,
    "end_reduce_count": 2, "end_gather_byte": 10.0, "end_gather_count": 1, "forward_exchange_byte": 32.0,
    "forward_exchange_count": 8, "hidden_byte": 8.0, "expert_count": 8,
}  # fmt: skip
WEIGHT: dict[str, Any] = {
    "split": "s", "layers": 8.0, "layer_factor": 2.0, "stage_share": 0.5, "whole_parts": 2, "core_share": 0.5, "layer_byte": 24.0,
    "own_expert_byte": 5.0, "end_byte": 10.5,
}  # fmt: skip
LINKS: dict[str, Any] = {
    "split": "s", "interconnect": "nvlink", "device_count": 16, "collective_call_s": 1.0, "tensor_byte_per_s": 10.0,
    "tensor_step_s": 0.5, "context_byte_per_s": 10.0, "context_step_s": 0.5, "expert_byte_per_s": 4.0, "expert_step_s": 0.5,
    "send_byte_per_s": 4.0, "send_s": 0.125,
}  # fmt: skip
SUMS: dict[str, Any] = {
    "layer_s": 40.0, "core_s": 8.0, "first_s": 2.0, "last_s": 6.0, "compute_s": 10.0, "weight_s": 16.0, "cache_s": 6.0,
    "expert_read_s": 12.0, "expert_slack_s": 8.0, "expert_read_byte": 80.0, "expert_met_fraction": 0.5, "host_s": 4.0,
    "dynamic_energy_j": 90.0, "call_s": 1.0, "static_w": 5.0, "dispatch": "graph", "fault": None,
}  # fmt: skip
MEMORY: dict[str, Any] = {
    "kv_cache_byte": 64.0, "buffer_byte": 3.0, "activation_byte": 5.0, "rounding_byte": 2.0, "workspace_byte": 1.0,
    "reserve_fraction": 0.1,
}  # fmt: skip
RUN: dict[str, Any] = {"device_count": 2, "weight_host_fraction": 0.0, "cache_host_fraction": 0.0}

# A replica's tokens use half of the experts, so four devices read 1 - 1/16 of all, a quarter each.
MET = (1 - 0.5**4) / (0.5 * 4)
SPARED_S = 12 * (1 - MET)

STEP = RUN | {"phase": "decode", "chunk_count": 1.0}
LAYERS_OF_A_STEP = {
    # Twice the layers without the spared share and half of the cores.
    "split": "s", "layers_s": 2 * (40 - SPARED_S - 4), "before_s": 2.0, "behind_s": 6.0,
    # All layers: 32 bytes added up in 16 calls, 12 collected in 4; two devices each.
    "tensor_s": 0.5 * (64 + 12) / 10 + 20 + 0.5 * (32 + 4), "before_tensor_s": 0.5 * 8 / 10 + 2 + 0.5 * 4,
    "behind_tensor_s": 0.5 * 10 / 10 + 1 + 0.5, "expert_s": 3 / 4 * 64 / (2 * 4) + 16 * (1 + 3 * 0.5),
    # Results of 8 layers are added up, 8 bytes of each half.
    "context_s": 0.5 * 2 * 32 / 10 + 8 + 8 * 2 * 0.5, "send_s": 8 / (2 * 4) + 0.125, "compute_s": 20.0,
    "weight_s": 2 * (16 - SPARED_S), "cache_s": 6.0, "expert_read_byte": 2 * 80 * MET, "dynamic_energy_j": 360.0,
}  # fmt: skip
OF_A_STEP = {
    # Half of the layers; the end takes longer with its all-gather.
    "work_s": (40 - SPARED_S - 4) + 6, "tensor_s": 0.5 * 41.8 + 2, "expert_s": 23.0, "context_s": 9.6, "send_s": 1.125,
    "compute_s": 10.0, "weight_s": 16 - SPARED_S, "cache_s": 3.0, "expert_read_byte": 80 * MET, "dynamic_energy_j": 360.0,
    "weight_byte": 39.5, "kv_cache_byte": 64.0, "peak_memory_byte": 39.5 + 3 + 64 + 8,
}  # fmt: skip
PROMPT = RUN | {"phase": "prefill", "chunk_count": 4.0}
LAYERS_OF_A_PROMPT = {
    # Two devices share the tokens.
    "split": "s", "layers_s": 40 - SPARED_S, "before_s": 1.0, "behind_s": 3.0,
    "tensor_s": 0.5 * (32 + 6) / 10 + 20 + 0.5 * (32 + 4), "before_tensor_s": 0.5 * 4 / 10 + 2 + 0.5 * 4, "behind_tensor_s": 2.0,
    "expert_s": 3 / 4 * 64 / (2 * 2 * 4) + 16 * (1 + 3 * 0.5),
    # One turn sends half of 128 bytes in 8 steps while cores compute 8 s.
    "context_s": 64 / 10 + 8 * 0.5 - 8, "send_s": 8 / (2 * 2 * 4) + 4 * 0.125, "compute_s": 10.0, "weight_s": 16 - SPARED_S,
    "cache_s": 6.0, "expert_read_byte": 2 * 80 * MET, "dynamic_energy_j": 360.0,
}  # fmt: skip
OF_A_PROMPT = {
    # The layers' predecessors take longer, with their all-reduces.
    "work_s": (40 - SPARED_S) / 2 + 1, "tensor_s": 0.5 * 39.9 + 4.2, "expert_s": 21.5, "context_s": 1.2, "send_s": 1.0, "compute_s": 5.0,
    "weight_s": (16 - SPARED_S) / 2, "cache_s": 3.0, "expert_read_byte": 80 * MET, "dynamic_energy_j": 360.0, "weight_byte": 39.5,
    "kv_cache_byte": 64.0, "peak_memory_byte": 39.5 + 3 + 64 + 4,
}  # fmt: skip


@pytest.mark.parametrize(("run", "expected"), [(STEP, LAYERS_OF_A_STEP), (PROMPT, LAYERS_OF_A_PROMPT)])
def test_served_layer(gives: Gives, run: dict[str, Any], expected: dict[str, Any]) -> None:
    gives(
        "served_layer", [expected], within=["split"], free={"device_split": ["context"]}, served_sum=[SUMS], run=[run],
        device_split=[SPLIT], split_weight=[WEIGHT], layered_run=[LAYERED], run_memory=[MEMORY], split_link=[LINKS],
    )  # fmt: skip


def test_what_is_not_split(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """A run without an answer, one with weights in the host's memory, and one of another tensor parallelism."""
    given: dict[str, Any] = {
        "served_sum": [SUMS], "run": [STEP], "device_split": [SPLIT], "split_weight": [WEIGHT], "layered_run": [LAYERED],
        "run_memory": [MEMORY], "split_link": [LINKS],
    }  # fmt: skip
    assert len(evaluate("served_layer", **given)) == 1
    assert evaluate("served_layer", **(given | {"served_sum": [SUMS | {"fault": "a number"}]})) == []
    for other in ({"weight_host_fraction": 0.5}, {"cache_host_fraction": 0.5}, {"device_count": 1}):
        assert evaluate("served_layer", **(given | {"run": [STEP | other]})) == []


def test_more_devices_than_experts_tokens_and_heads(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """A device of four has one of three experts; a replica's tokens use half of them, so it reads 15/16 of a third of all. Of three tokens
    attended to, or of a prompt, one of two devices has two; of a three-head group on two devices one has two."""
    given: dict[str, Any] = {
        "served_sum": [SUMS], "device_split": [SPLIT], "split_weight": [WEIGHT | {"core_share": 2 / 3}],
        "layered_run": [LAYERED | {"expert_count": 3}], "run_memory": [MEMORY], "split_link": [LINKS],
    }  # fmt: skip
    factor = (1 - 0.5**4) / 0.5 / 3
    spared_s = 12 * (1 - factor)
    (step,) = evaluate("served_layer", run=[STEP | {"context": 3}], **given)
    assert step["expert_read_byte"] == pytest.approx(2 * 80 * factor)
    assert step["layers_s"] == pytest.approx(2 * (40 - spared_s - 8 / 3))
    assert step["cache_s"] == pytest.approx(2 * 6 * 2 / 3)
    assert step["context_s"] == pytest.approx(0.5 * 2 * (8 * 8 * 2 / 3) / 10 + 8 + 8 * 2 * 0.5)
    three: dict[str, Any] = {name: [row | {"sequence": 3} for row in rows if name != "device_split"] for name, rows in given.items()}
    (prompt,) = evaluate(
        "served_layer", run=[PROMPT | {"context": 3, "sequence": 3}], **(three | {"device_split": [SPLIT], "split_link": [LINKS]})
    )
    assert prompt["layers_s"] == pytest.approx(2 * (40 - spared_s) * 2 / 3)
    (held,) = evaluate(
        "served_split", served_layer=[LAYERS_OF_A_STEP | HOST], run=[STEP | {"context": 3}], device_split=[SPLIT],
        split_weight=[WEIGHT], run_memory=[MEMORY], split_link=[LINKS],
    )  # fmt: skip
    assert held["kv_cache_byte"] == pytest.approx(0.5 * 2 * 2 * 64 * 2 / 3)


HOST = {name: SUMS[name] for name in ("call_s", "host_s", "static_w", "dispatch")}


@pytest.mark.parametrize(
    ("run", "layers", "expected", "stages", "host"),
    [
        (STEP, LAYERS_OF_A_STEP, OF_A_STEP, 2, {}),
        (PROMPT, LAYERS_OF_A_PROMPT, OF_A_PROMPT, 1 + 1 / 4, {}),
        (STEP, LAYERS_OF_A_STEP, OF_A_STEP, 2, {"dispatch": "serial"}),
        (STEP, LAYERS_OF_A_STEP, OF_A_STEP, 2, {"dispatch": "async_queue"}),
        (STEP, LAYERS_OF_A_STEP, OF_A_STEP, 2, {"dispatch": "async_queue", "host_s": 100.0}),
    ],
)
def test_served_split(
    gives: Gives, run: dict[str, Any], layers: dict[str, Any], expected: dict[str, Any], stages: float, host: dict[str, Any]
) -> None:
    """Two stages; a prompt in four chunks takes one and a quarter passes. A host that does not run ahead adds its time; one slower than
    the device makes it wait."""
    of = HOST | host
    waits = 0.5 * of["host_s"] if of["dispatch"] == "serial" else max(0.0, 0.5 * of["host_s"] - expected["work_s"])
    pass_s = 1.0 + waits + sum(expected[f"{name}_s"] for name in ("work", "tensor", "expert", "context", "send"))
    gives(
        "served_split", [expected | {"split": "s", "host_s": 1.0 + waits, "pass_s": pass_s, "latency_s": pass_s * stages}],
        within=["split"], free={"device_split": ["context"]}, served_layer=[layers | of], run=[run], device_split=[SPLIT],
        split_weight=[WEIGHT], run_memory=[MEMORY], split_link=[LINKS],
    )  # fmt: skip


def test_one_stage_has_both_ends(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    (row,) = evaluate(
        "served_split", served_layer=[LAYERS_OF_A_STEP | HOST], run=[STEP], device_split=[SPLIT | {"pipeline": 1}],
        split_weight=[WEIGHT | {"stage_share": 1.0}], run_memory=[MEMORY], split_link=[LINKS],
    )  # fmt: skip
    assert row["work_s"] == pytest.approx(2 * (40 - SPARED_S - 4) + 2 + 6)
    assert row["tensor_s"] == pytest.approx(41.8 + 4.4 + 2)
    assert row["latency_s"] == row["pass_s"]


def test_served_sum(gives: Gives) -> None:
    """A half of each of four equal kernels, one an attention's core, two experts' and one before the layers; and two whole kernels, one
    after the layers and one in them, of experts without their own weights."""
    halves = [("block", False, True), ("block", True, False), ("first", False, False)]
    wholes = ["block", "last"]
    gives(
        "served_sum",
        [
            {
                "layer_s": 3 * (2 * 3 + 2 * 0.5) / 4 + 8, "core_s": 1.75, "first_s": 1.75, "last_s": 8.0, "compute_s": 7.5,
                "weight_s": 3 * 0.6, "cache_s": 3 * 0.2, "expert_read_s": 2 * 0.6, "expert_slack_s": 2 * 1.0 - 1.0,
                "expert_read_byte": 60.0, "expert_met_fraction": 0.6, "host_s": 6 * 0.5 * 2 + 5 * 3 * 0.25 * 2,
                "dynamic_energy_j": 2 * 10.0 + 2 * 14.0, "call_s": 2.0, "static_w": 5.0, "dispatch": "async_queue", "fault": None,
            }
        ],
        run=[{"phase": "decode"}],
        placed_kernel=[
            {"shape_id": 0, "place": place, "is_backward": False, "split": "column", "is_split": True, "is_expert": expert,
             "is_core": core, "is_weighted": True, "kernel_count": 2 if expert else 1, "view_count": 3,
             "held_byte": 200.0 if expert else 0.0}
            for place, expert, core in halves
        ] + [
            {"shape_id": 1, "place": place, "is_backward": False, "split": "whole", "is_split": False, "is_expert": place == "block",
             "is_core": False, "is_weighted": False, "kernel_count": 1, "view_count": 3, "held_byte": 7.0}
            for place in wholes
        ],
        clocked_shape=[
            {"shape_id": 0, "launch_count": 4, "kernel_count": 2.0, "device_s": 3.0, "kernel_gap_s": 0.5, "busy_s": 2.5, "team_s": 0.5,
             "is_power_bound": False, "compute_s": 1.0, "memory_s": 2.0, "weight_byte": 60.0, "kv_cache_byte": 20.0,
             "traffic_byte": 100.0, "dynamic_energy_j": 5.0, "device_count": 2, "run_call_s": 3.0, "exchange_s": 1.0,
             "host_kernel_s": 0.5, "host_view_s": 0.25, "host_factor": 2.0, "static_w": 5.0, "dispatch": "async_queue", "fault": None},
            {"shape_id": 1, "launch_count": 2, "kernel_count": 2.0, "device_s": 8.0, "kernel_gap_s": 0.5, "busy_s": 7.5, "team_s": 0.0,
             "is_power_bound": False, "compute_s": 7.0, "memory_s": 3.0, "weight_byte": 60.0, "kv_cache_byte": 20.0,
             "traffic_byte": 100.0, "dynamic_energy_j": 7.0, "device_count": 2, "run_call_s": 3.0, "exchange_s": 1.0,
             "host_kernel_s": 0.5, "host_view_s": 0.25, "host_factor": 2.0, "static_w": 5.0, "dispatch": "async_queue", "fault": None},
        ],
    )  # fmt: skip


SPLIT_ROW: dict[str, Any] = {
    "split": "s", "batch": 2, "sequence": 1, "interconnect": "nvlink", "device_count": 16, "static_w": 5.0, "work_s": 6.0, "tensor_s": 1.0,
    "expert_s": 1.0, "context_s": 0.5, "send_s": 0.5, "host_s": 1.0, "pass_s": 10.0, "latency_s": 20.0, "compute_s": 2.0,
    "weight_s": 2.5, "cache_s": 1.0, "expert_read_byte": 3.0, "dynamic_energy_j": 360.0, "weight_byte": 40.0, "kv_cache_byte": 9.0,
    "peak_memory_byte": 80.0, "reserve_fraction": 0.1,
}  # fmt: skip
GIVEN: dict[str, Any] = {
    "run": [{"batch": 2, "sequence": 1, "phase": "decode", "engine_version": "v0.13", "kv_precision": "none"}], "device_split": [SPLIT],
    "part": [{"dram_byte": 100.0, "is_simulated": False}], "part_price": [{"price_usd_per_hour": 3600.0}],
}  # fmt: skip


def test_serving_split(gives: Gives) -> None:
    """Two replicas make two tokens each every 10 s; eight tokens are in flight on 16 devices at a dollar per second."""
    gives(
        "serving_split",
        [
            {
                "split": "s", "samples": 8, "tokens_per_s": 0.4, "latency_s": 20.0, "pass_s": 10.0, "token_j": 90 + 16 * 5 / 0.4,
                "million_tokens_usd": 16 * 1e6 / 0.4, "peak_memory_byte": 90.0, "device_byte": 100.0, "free_byte": 10.0,
                "fits_device": True, "static_w": 5.0, "price_usd_per_hour": 3600.0, "step_limit": "weights", "context_parallel": 2, "implausible": None,
            }
        ],
        within=["split"],
        free={"device_split": ["context"]},
        served_split=[SPLIT_ROW],
        **GIVEN,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("times", "limit"),
    [
        ({"host_s": 7.0}, "host"), ({"tensor_s": 9.0}, "links"), ({"compute_s": 3.0}, "compute"), ({"cache_s": 3.0}, "cache"),
        ({"weight_s": 0.0}, "activations"), ({"peak_memory_byte": 91.0}, None),
    ],
)  # fmt: skip
def test_what_limits_a_split(evaluate: Callable[..., list[dict[str, Any]]], times: dict[str, float], limit: str | None) -> None:
    (row,) = evaluate("serving_split", served_split=[SPLIT_ROW | times], **GIVEN)
    assert row["step_limit"] == limit
    assert (row["latency_s"] is None) == (row["tokens_per_s"] is None) == (row["token_j"] is None) == (limit is None)


def test_a_split_that_rests_on_a_rule_that_cannot_be(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    fault = {"kind": "device_split", "row_key": "s", "field": "a number", "is_possible": False}
    framework = [{"split": "s", "framework": "plain"}]
    (row,) = evaluate("serving_split", served_split=[SPLIT_ROW], report_fault=[fault], split_framework=framework, **GIVEN)
    assert (row["latency_s"], row["fits_device"], row["implausible"]) == (None, None, "a number")
