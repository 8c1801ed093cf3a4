"""A model on several equal parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Record = dict[str, Any]
Gives = Callable[..., None]


def test_parallel_kernel(gives: Gives) -> None:
    """The device works 3 of 4 s, then 2: the middles of 6 s are 2 and 5."""
    gives(
        "parallel_kernel",
        [
            {"kernel_id": 0, "busy_s": 3.0, "middle_s": 2.0, "kernels_s": 6.0, "weight_byte": 1.0, "expert_read_byte": 0.0,
             "expert_read_s": 0.0},
            {"kernel_id": 1, "busy_s": 2.0, "middle_s": 5.0, "kernels_s": 6.0, "weight_byte": 2.0, "expert_read_byte": 1.0,
             "expert_read_s": 0.5},
        ],
        by=["kernel_id"],
        within=["kernel_id"],
        free={"kernel_time": ["kernel_id"]},
        kernel_time=[
            {"kernel_id": 0, "latency_s": 4.0, "overhead_s": 1.0, "end_s": 4.0, "weight_byte": 1.0, "traffic_byte": 4.0,
             "compute_s": 1.0, "memory_s": 2.0},
            {"kernel_id": 1, "latency_s": 2.0, "overhead_s": 0.0, "end_s": 6.0, "weight_byte": 1.0, "traffic_byte": 4.0,
             "compute_s": 1.0, "memory_s": 2.0},
        ],
        split_kernel=[
            {"kernel_id": 0, "weight_byte": 1.0, "is_expert": False}, {"kernel_id": 1, "weight_byte": 2.0, "is_expert": True},
        ],
    )  # fmt: skip


NOTHING = {
    "all_reduce_byte": 0.0,
    "all_gather_byte": 0.0,
    "all_to_all_byte": 0.0,
    "run_call_s": 1.0,
    "host_issue_s": 0.5,
    "kernels_s": 8.0,
    "expert_read_byte": 0.0,
    "expert_read_s": 0.0,
    "kv_cache_byte": 0.0,
}
KERNELS = [
    NOTHING | {"kernel_id": 0, "position": 0, "latency_s": 4.0, "busy_s": 3.0, "middle_s": 2.0, "is_split": True,
               "all_reduce_byte": 8.0, "weight_byte": 10.0, "crossing_byte": 100.0, "pieces": 8, "fewer_pieces": 2, "fewer_fraction": 0.5,
               "kv_cache_byte": 6.0},
    NOTHING | {"kernel_id": 1, "position": 1, "latency_s": 2.0, "busy_s": 1.0, "middle_s": 5.0, "is_expert": True,
               "all_gather_byte": 6.0, "weight_byte": 20.0, "crossing_byte": 50.0, "expert_read_byte": 10.0, "expert_read_s": 0.5,
               "expert_count": 3},
    NOTHING | {"kernel_id": 2, "position": 2, "latency_s": 2.0, "busy_s": 1.0, "middle_s": 7.0, "is_split": True,
               "all_reduce_byte": 4.0, "all_to_all_byte": 5.0, "weight_byte": 30.0, "crossing_byte": 0.0,
               "kv_cache_byte": 2.0},
]  # fmt: skip
MEMORY = {
    "weight_byte": 60.0, "buffer_byte": 5.0, "kv_cache_byte": 8.0, "activation_byte": 7.0, "rounding_byte": 2.0, "workspace_byte": 1.0,
    "gradient_byte": 40.0,
}  # fmt: skip
SUMS = {
    "kernels_s": 8.0, "single_s": 9.0, "host_issue_s": 2.5, "all_reduce_byte": 12.0, "all_reduce_count": 2,
    "all_gather_byte": 6.0, "all_gather_count": 1, "all_to_all_byte": 5.0, "all_to_all_count": 1,
    "expert_weight_fraction": 1 / 3, "group_s": 4.0, "model_byte": 65.0, "gradient_byte": 60.0, "activation_byte": 10.0,
    "run_call_s": 1.0,
}  # fmt: skip
GROUPED = [
    # Two groups, the first kernel and the others; four places have no kernel in the first.
    {"device_count": 1, "interconnect": "none", "group_count": 1, "group_s": 8.0, "group_weight_fraction": 1.0,
     "group_sent_byte": 0.0, "sent_byte": 0.0, "send_count": 0, "reduce_share": 0.0, "gather_share": 0.0,
     "expert_read_byte": 10.0, "expert_spared_s": 0.0, "expert_share": 1.0, "tensor_spared_s": 0.0, "tensor_weight_fraction": 1.0,
     "tensor_cache_fraction": 1.0, "group_cache_fraction": 1.0},
    {"device_count": 2, "interconnect": "nvlink", "group_count": 2, "group_weight_fraction": 5 / 6, "group_sent_byte": 100.0,
     "sent_byte": 100.0, "send_count": 1, "reduce_share": 1.0, "gather_share": 0.5,
     # One batch uses half of the experts, two use three quarters, four 15/16; a device has two of three, or one.
     "expert_read_byte": 20 * 3 / 4 * 2 / 3, "expert_spared_s": 0.0, "expert_share": 2 / 3,
     # Two heads of keys on two devices: half of all.
     "tensor_spared_s": 2.0, "tensor_weight_fraction": 40 / 60, "tensor_cache_fraction": 0.5, "group_cache_fraction": 0.75},
    {"device_count": 4, "interconnect": "nvlink", "group_count": 3, "group_weight_fraction": 0.5, "group_sent_byte": 100.0,
     "sent_byte": 150.0, "send_count": 2, "reduce_share": 1.5, "gather_share": 0.75,
     "expert_read_byte": 20 * 15 / 16 / 3, "expert_spared_s": 0.5 * (1 - 5 / 8), "expert_share": 1 / 3,
     # On four, a device has one of two key heads: of the first kernel it computes 1/4 and a half of 1/2 - 1/4 more, of
     # the last 1/4.
     "tensor_spared_s": 3 * 5 / 8 + 3 / 4, "tensor_weight_fraction": (10 * 3 / 8 + 20 + 30 / 4) / 60,
     "tensor_cache_fraction": (6 / 2 + 2 / 4) / 8, "group_cache_fraction": 0.75},
]  # fmt: skip


def test_parallel_group(evaluate: Callable[..., list[Record]]) -> None:
    """On two parts 4 s each: the first kernel, and the others; a device reads three quarters of two of three experts' weights."""
    first = {
        "group_s": 4.0, "host_issue_s": 0.5, "tensor_spared_s": 1.5, "all_reduce_byte": 8.0, "all_reduce_count": 1, "all_gather_count": 0,
        "weight_byte": 10.0, "tensor_weight_byte": 5.0, "kv_cache_byte": 6.0, "tensor_cache_byte": 3.0,
        "expert_weight_byte": 0.0, "send_byte": 100.0, "expert_read_byte": 0.0,
    }  # fmt: skip
    others = {
        "group_s": 4.0, "host_issue_s": 1.0, "tensor_spared_s": 0.5, "all_gather_byte": 6.0, "all_gather_count": 1, "all_to_all_byte": 5.0,
        "all_to_all_count": 1, "weight_byte": 50.0, "tensor_weight_byte": 35.0, "kv_cache_byte": 2.0,
        "tensor_cache_byte": 1.0, "expert_weight_byte": 20.0, "send_byte": 0.0,
        "expert_read_byte": 20 * 3 / 4 * 2 / 3, "expert_spared_s": 0.0, "expert_count": 3,
    }  # fmt: skip
    found = evaluate("parallel_group", parallel_kernel=KERNELS)
    for group, wanted in enumerate((first, others)):
        ((row),) = [r for r in found if (r["device_count"], r["pipeline_group"]) == (2, group)]
        assert {name: row[name] for name in wanted} == pytest.approx(wanted)


def test_parallel_link(gives: Gives) -> None:
    """Middles at 2, 5 and 7 of 8 s: two parts of 4 s each; on four, three groups. A link that joins four devices joins no more."""
    gives(
        "parallel_link",
        [SUMS | {"gradient_byte": 40.0, "activation_byte": 40.0 + 10.0} | row for row in GROUPED],
        by=["device_count"],
        parallel_kernel=KERNELS,
        part_link=[
            {"interconnect": "none", "link_device_count": 1},
            {"interconnect": "nvlink", "link_device_count": 4},
        ],
        model=[{}],
        run_memory=[MEMORY],
    )


def test_the_largest_cut_of_the_last_group(gives: Gives) -> None:
    """The crossing before a kernel without one is sent; up to 64 parts; a middle at the end counts in the last group."""
    one = NOTHING | {
        "kernel_id": 0,
        "position": 0,
        "latency_s": 8.0,
        "busy_s": 8.0,
        "middle_s": 8.0,
        "weight_byte": 0.0,
        "crossing_byte": 3.0,
    }
    last = one | {"kernel_id": 1, "position": 1, "latency_s": 0.0, "crossing_byte": None}
    gives(
        "parallel_link",
        [
            {"device_count": n, "group_count": 1, "group_sent_byte": 3.0, "tensor_weight_fraction": 1.0,
             "expert_weight_fraction": 0.0, "group_weight_fraction": 1.0}
            for n in (1, 2, 4, 8, 16, 32, 64)
        ],
        by=["device_count"],
        parallel_kernel=[one, last],
        part_link=[{"interconnect": name, "link_device_count": n} for name, n in (("none", 1), ("ring", 64))],
        model=[{}],
        run_memory=[MEMORY],
    )  # fmt: skip


LINK = SUMS | GROUPED[2] | {
    "kv_cache_byte": 8.0, "link_byte_per_s": 50.0, "link_s": 0.25, "collective_byte_per_s": 10.0, "collective_call_s": 0.5,
    "collective_step_s": 0.1, "is_training": True,
}  # fmt: skip


def test_four_strategies(gives: Gives) -> None:
    """Four parts. Data: 1.5 * 60 / 10 + 0.5 + 6 * 0.1 s for gradients. Tensor: 9 - 2.625 s and, of three messages,
    (1.5 * 12 + 0.75 * 6) / 10 + 3 * 0.5 + 3 * 0.1 * 5. Pipeline: 16 batches of 8 + 3 s on four parts, each sent in 100 / 50 + 0.25;
    19 times the slowest group takes 1 + 4 + 2.25. Expert: 0.75 * 5 / 10 + 0.5 + 3 * 0.1."""
    gives(
        "parallel_expert",
        [
            {
                "data_compute_s": 9.0, "data_communication_s": 10.1, "data_sent_byte": 90.0, "data_memory_byte": 83.0,
                "tensor_compute_s": 6.375, "tensor_communication_s": 5.25, "tensor_sent_byte": 22.5,
                "tensor_memory_byte": 65 * 31.25 / 60 + 3.5 + 10,
                "pipeline_batches": 16.0, "pipeline_compute_s": 44.0, "pipeline_communication_s": 36.0,
                "pipeline_bubble_s": 57.75,  # 19 * 7.25 - 44 - 36
                "pipeline_latency_s": 14.5,  # 8 + 3 + 150 / 50 + 2 * 0.25
                "pipeline_sent_byte": 1600.0, "pipeline_memory_byte": 65 / 2 + 3 * 6 + 10,
                "expert_compute_s": 9.0 - 0.5 * (1 - 5 / 8), "expert_communication_s": 1.175, "expert_sent_byte": 3.75,
                "expert_memory_byte": 65 * (1 - 1 / 3 * 2 / 3) + 8 + 10,
            }
        ],
        parallel_link=[LINK],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("relation", "changed", "expected"),
    [
        ("parallel_data", {"is_training": False}, {"data_communication_s": 0.0, "data_sent_byte": 0.0}),
        ("parallel_tensor", {"host_issue_s": 7.0}, {"tensor_compute_s": 7.0}),
        ("parallel_pipeline", {"group_sent_byte": 0.0}, {"pipeline_communication_s": 0.0, "pipeline_bubble_s": 51.0}),
        (
            "parallel_expert",
            {"device_count": 1, "gather_share": 0.0, "expert_share": 1.0},
            {"expert_memory_byte": 83.0, "expert_sent_byte": 0.0},
        ),
        (
            "parallel_pipeline",
            {"run_call_s": 2.0},
            # 16 * (8 + 3 * 2) / 4; 19 * (2 + 4 + 2.25) - 56 - 36; 8 + 6 + 3.5
            {"pipeline_compute_s": 56.0, "pipeline_bubble_s": 64.75, "pipeline_latency_s": 17.5},
        ),
        ("parallel_pipeline", {"group_sent_byte": 0.5}, {"pipeline_communication_s": 4.16}),  # 16 * (0.01 + 0.25)
    ],
)
def test_a_strategy_otherwise(gives: Gives, relation: str, changed: Record, expected: Record) -> None:
    """No gradients without training; not faster than the host issues; without traffic no link time: 19 * 5 - 44."""
    gives(relation, [expected], parallel_link=[LINK | changed])


ROUND = {
    "device_count": 4, "batch": 2, "single_s": 9.0, "pipeline_batches": 16.0, "pipeline_bubble_s": 20.0, "pipeline_latency_s": 14.5,
    "expert_weight_fraction": 0.25, "collective_assumed_count": 100, "interconnect": "nvlink",
} | {
    f"{name}_{what}": value
    for name, values in {
        "data": (9.0, 1.0, 90.0, 83.0), "tensor": (6.0, 2.0, 22.0, 44.0), "pipeline": (44.0, 36.0, 1600.0, 45.0),
        "expert": (9.0, 3.0, 3.75, 66.0),
    }.items()
    for what, value in zip(("compute_s", "communication_s", "sent_byte", "memory_byte"), values, strict=True)
}  # fmt: skip
STRATEGIES = {
    # Samples; seconds of a round, of computing, sending and waiting, to a result; bytes sent and kept; dollars per
    # million.
    "data": (8, 10.0, 9.0, 1.0, 0.0, 10.0, 90.0, 83.0, 5000.0),
    "tensor": (2, 8.0, 6.0, 2.0, 0.0, 8.0, 22.0, 44.0, 16000.0),
    "pipeline": (32, 100.0, 44.0, 36.0, 20.0, 14.5, 1600.0, 45.0, 12500.0),
    "expert": (8, 12.0, 9.0, 3.0, 0.0, 12.0, 3.75, 66.0, 6000.0),
}


@pytest.mark.parametrize("fraction", [0.25, 0.0])
def test_parallel_plan(gives: Gives, fraction: float) -> None:
    """Four parts at 0.001 dollars per second each, and 9 s for the two samples of a batch on one; without experts their strategy is
    absent. A server leaves a tenth of 90 bytes free and its process takes 15: 66 bytes fit; 83 do not and have no time or price."""
    names = (
        "round_samples", "round_s", "compute_s", "communication_s", "bubble_s", "latency_s", "sent_byte", "device_memory_byte",
        "million_inference_usd",
    )  # fmt: skip
    expected = [
        {"strategy": name, "throughput_per_s": row[0] / row[1], "speedup": row[0] / row[1] * 4.5,
         "scaling_efficiency_fraction": row[0] / row[1] * 1.125, "fits_device": name != "data", "assumed_count": 111,
         **dict(zip(names, row, strict=True))}
        for name, row in STRATEGIES.items() if fraction or name != "expert"
    ]  # fmt: skip
    lost = ("round_s", "latency_s", "throughput_per_s", "speedup", "scaling_efficiency_fraction", "million_inference_usd")
    expected = [row if row["fits_device"] else row | dict.fromkeys(lost) for row in expected]
    gives(
        "parallel_plan",
        expected,
        by=["strategy"],
        parallel_expert=[ROUND | {"expert_weight_fraction": fraction}],
        run=[{"batch": 2}],
        run_memory=[{"batch": 2, "peak_memory_byte": 66.0, "reserve_fraction": 0.1}],
        part=[{"dram_byte": 90.0}],
        part_context=[{"context_byte": 15.0}],
        part_price=[{"price_usd_per_hour": 3.6}],
        assumed_input=[{"assumed_count": 1, "link_count": 10}],
    )


def test_parts_without_a_price(gives: Gives) -> None:
    """Their rent is unknown."""
    gives(
        "parallel_plan",
        [{"strategy": name, "million_inference_usd": None} for name in STRATEGIES],
        by=["strategy"],
        parallel_expert=[ROUND],
        run=[{"batch": 2}],
        run_memory=[{"batch": 2, "peak_memory_byte": 1.0}],
        part=[{"dram_byte": 66.0}],
        assumed_input=[{}],
    )


def test_no_speed_up_over_what_does_not_fit(gives: Gives) -> None:
    """One part lacks a byte for the model: plans that fit on four have a time and a price, but no speed-up over an impossible run."""
    gives(
        "parallel_plan",
        [
            {"strategy": name, "fits_device": name != "data", "round_s": None if name == "data" else row[1],
             "million_inference_usd": None if name == "data" else row[-1], "speedup": None, "scaling_efficiency_fraction": None}
            for name, row in STRATEGIES.items()
        ],
        by=["strategy"],
        parallel_expert=[ROUND],
        run=[{"batch": 2}],
        run_memory=[{"batch": 2, "peak_memory_byte": 67.0}],
        part=[{"dram_byte": 66.0}],
        part_price=[{"price_usd_per_hour": 3.6}],
        assumed_input=[{}],
    )  # fmt: skip
