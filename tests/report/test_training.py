"""Training over devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Gives = Callable[..., None]

SPLIT: dict[str, Any] = {
    "split": "s", "framework": "plain", "optimizer": "adam", "tensor": 2, "pipeline": 2, "interleave": 2, "context": 2, "data": 2,
    "expert": 2, "micro_batches": 4, "zero_stage": 1, "recompute": "full", "is_sequence_parallel": True, "block_count": 8,
    "adapter_rank": None, "frozen_precision": None,
}  # fmt: skip
FRAMEWORK = {
    "framework": "plain",
    "kernel_factor": 2.0,
    "overlap_fraction": 0.5,
    "tensor_fraction": 0.5,
    "reduce_byte": 4.0,
}
FREE = {"framework": ["backend"]}
"""In `framework`, the backend is not a key."""
OPTIMIZER = {
    "optimizer": "adam", "gradient_byte": 4.0, "master_byte": 4.0, "state_byte": 8.0, "moved_byte": 30.0, "bandwidth_fraction": 0.5,
}  # fmt: skip
RUN: dict[str, Any] = {
    "parameter_byte": 2.0, "split_saved_byte": 96.0, "whole_saved_byte": 32.0, "core_saved_byte": 16.0,
    "end_split_saved_byte": 8.0, "end_whole_saved_byte": 4.0, "kv_byte": 64.0, "block_macs": 100.0, "end_macs": 10.0, "core_macs": 20.0,
    "adapter_width": 6.0, "is_frozen": False, "split_moment_byte": 16.0, "whole_moment_byte": 8.0, "buffer_byte": 1.0,
    "scratch_factor": 0.25, "block_backward_macs": 150.0, "end_backward_macs": 5.0, "block_repeated_macs": 0.0, "end_repeated_macs": 0.0,
}  # fmt: skip
LAYERED: dict[str, Any] = {
    "block_count": 4, "first_weight_byte": 10.0, "last_weight_byte": 14.0, "block_weight_byte": 80.0,
    "tied_weight_byte": 8.0, "end_split_weight_byte": 12.0, "block_split_weight_byte": 72.0, "expert_weight_byte": 40.0,
    "forward_reduce_byte": 16.0, "backward_reduce_byte": 24.0, "forward_reduce_count": 8, "backward_reduce_count": 8,
    "end_reduce_byte": 4.0, "end_reduce_count": 2, "block_gather_byte": 6.0, "block_gather_count": 2, "end_gather_byte": 10.0,
    "end_gather_count": 1, "forward_exchange_byte": 32.0, "backward_exchange_byte": 32.0, "forward_exchange_count": 8,
    "hidden_byte": 8.0,
}  # fmt: skip
LAYERED |= {name.replace("weight", "trained"): byte for name, byte in LAYERED.items() if "weight" in name}
FROZEN = LAYERED | {
    "first_trained_byte": 5.0, "last_trained_byte": 7.0, "block_trained_byte": 8.0, "tied_trained_byte": 4.0,
    "end_split_trained_byte": 6.0, "block_split_trained_byte": 6.0, "expert_trained_byte": 2.0,
}  # fmt: skip
WEIGHT = {
    "split": "s", "layers": 8.0, "layer_factor": 2.0, "stage_share": 0.5, "whole_parts": 2,
    "work_share": 0.5, "core_share": 0.5, "cache_share": 0.5,
    # Layers: (72 - 40) / 2 + 8 = 24 and of experts 40 / 4 = 10, twice a half of them; the ends 14 minus half of their
    # split half.
    "layer_byte": 24.0, "own_expert_byte": 10.0, "end_byte": 10.5,
    "trained_layer_byte": 24.0, "trained_expert_byte": 10.0, "trained_end_byte": 10.5,
}  # fmt: skip

MEMORY = {
    "split": "s", "layers": 8.0, "layer_factor": 2.0, "stage_share": 0.5, "whole_parts": 2, "replicas": 4, "expert_replicas": 2.0,
    "dense_byte": 24.0 + 10.5, "expert_byte": 10.0, "dense_count": 17.25, "expert_count": 5.0, "parameter_byte": 2.0, "unpacked_byte": 0.0,
    "weight_byte": 44.5, "gradient_byte": 4 * 22.25, "optimizer_byte": 12 * (17.25 / 4 + 5 / 2),
    # Inputs of 8 layers, 8 bytes each over 4 devices; 2 of 4 micro batches in half of the layers, 1 + 1/4 times; one
    # layer's results of 8, a share of 2 (48 + 16) / 2; ends (4 + 2) / 2; the rest of the peak (16 / 2 + 8 / 2) / 2.
    "activation_byte": 1.25 * 16.0 + 64.0 / 8 + 3.0 + 6.0, "scratch_byte": 1.0 + 0.25 * 37.0,
}  # fmt: skip
LINKS: dict[str, Any] = {
    "split": "s", "interconnect": "nvlink", "device_count": 16, "collective_call_s": 1.0, "tensor_byte_per_s": 10.0,
    "tensor_step_s": 0.5, "context_byte_per_s": 10.0, "context_step_s": 0.5, "expert_byte_per_s": 4.0, "expert_step_s": 0.5,
    "replica_byte_per_s": 2.0, "replica_step_s": 0.25, "send_byte_per_s": 4.0, "send_s": 0.125,
}  # fmt: skip


def test_split_link(gives: Gives) -> None:
    """Nodes of 4 over a port of 5 byte/s at 0.8: two tensor-parallel devices are in one node, two of four replicas in each, which share
    two ports; both expert-parallel devices are in one node."""
    gives(
        "split_link",
        [LINKS | {"collective_call_s": 0.9, "tensor_byte_per_s": 6.0, "context_byte_per_s": 6.0, "expert_byte_per_s": 6.0,
                  "tensor_step_s": 0.1, "context_step_s": 0.1, "expert_step_s": 0.1, "replica_byte_per_s": 6.0, "replica_step_s": 0.2,
                  "send_byte_per_s": 4.0, "send_s": 2.0}],
        within=["split"],
        device_split=[SPLIT],
        part=[{}],
        network=[
            {"of_part": "*", "network_byte_per_s": 5.0, "network_s": 2.0, "node_device_count": 4, "network_fraction": 0.8},
        ],
        part_link=[
            {"interconnect": "none", "least_device_count": 1, "link_device_count": 1},
            {"interconnect": "nvlink", "least_device_count": 2, "link_device_count": 8, "link_byte_per_s": 10.0, "link_s": 1.0,
             "collective_byte_per_s": 6.0, "collective_call_s": 0.9, "collective_step_s": 0.1},
        ],
    )  # fmt: skip


def test_split_weight(gives: Gives) -> None:
    gives("split_weight", [WEIGHT], within=["split"], layered_run=[LAYERED], device_split=[SPLIT])


PIECES: list[dict[str, Any]] = [
    {"place": "block", "is_core": False, "pieces": 8, "fewer_pieces": 2, "fewer_fraction": 0.25, "weight_byte": 16.0, "macs": 40.0},
    {"place": "block", "is_core": False, "pieces": 0, "fewer_pieces": 0, "fewer_fraction": 0.0, "weight_byte": 16.0, "macs": 40.0},
    {"place": "block", "is_core": True, "pieces": 6, "fewer_pieces": 2, "fewer_fraction": 0.0, "weight_byte": 0.0, "macs": 20.0},
    {"place": "end", "is_core": False, "pieces": 2, "fewer_pieces": 2, "fewer_fraction": 0.0, "weight_byte": 12.0, "macs": 7.0},
]  # fmt: skip


def test_a_split_has_whole_heads_and_experts(gives: Gives) -> None:
    """On four devices: of 8 and 2 heads a quarter is 2, 1/4 + 1/4 (1/2 - 1/4); of features a quarter; two of 6 heads; one of two in the
    ends. One of four devices has one of three experts."""
    layers = (16 * 5 / 16 + 16 / 4) / 32
    work = (40 * 5 / 16 + 40 / 4 + 20 / 3) / 100
    gives(
        "split_weight",
        [
            {
                "split": "s", "work_share": work, "core_share": 1 / 3, "cache_share": 0.5, "layer_byte": 32 * layers + 8,
                "own_expert_byte": 40 / 4 / 3, "end_byte": 14 * (1 - (1 - 0.5) * 12 / 24),
            }
        ],
        within=["split"],
        layered_run=[LAYERED | {"expert_count": 3}],
        layered_piece=PIECES,
        device_split=[SPLIT | {"tensor": 4, "expert": 4}],
    )  # fmt: skip


def test_layered_piece(gives: Gives) -> None:
    """Two layers of a product of 10 bytes and 5 MACs, an expert of the same heads, and a core; outside the layers one product."""
    split = {"is_split": True, "is_backward": False, "is_expert": False, "split": "column", "place": "block", "pieces": 8, "fewer_pieces": 2}
    kernels: list[dict[str, Any]] = [
        {"shape_id": 0, "weight_byte": 10.0}, {"shape_id": 0, "weight_byte": 10.0}, {"shape_id": 0, "weight_byte": 70.0, "is_expert": True},
        {"shape_id": 1, "split": "between", "weight_byte": 0.0}, {"shape_id": 0, "place": "last", "weight_byte": 4.0, "fewer_pieces": None},
        {"shape_id": 0, "weight_byte": 1000.0, "is_backward": True}, {"shape_id": 0, "weight_byte": 1000.0, "is_split": False},
    ]  # fmt: skip
    gives(
        "layered_piece",
        [
            {"place": "block", "is_core": False, "pieces": 8, "fewer_pieces": 2, "weight_byte": 20.0, "macs": 15.0},
            {"place": "block", "is_core": True, "pieces": 8, "fewer_pieces": 2, "weight_byte": 0.0, "macs": 3.0},
            {"place": "end", "is_core": False, "pieces": 8, "fewer_pieces": 8, "weight_byte": 4.0, "macs": 5.0},
        ],
        by=["place", "is_core"],
        split_kernel=[split | {"kernel_id": i} | {k: v for k, v in kernel.items() if k != "shape_id"} for i, kernel in enumerate(kernels)],
        run_kernel=[{"kernel_id": i, "shape_id": kernel["shape_id"]} for i, kernel in enumerate(kernels)],
        run_shape=[{"shape_id": 0, "kernel_class": "linear", "macs": 5.0}, {"shape_id": 1, "kernel_class": "matmul", "macs": 3.0}],
    )  # fmt: skip


def test_split_piece(gives: Gives) -> None:
    """Shares of four devices, weighted by weight bytes and by arithmetic."""
    shares = {
        "split": "s", "block_share": (16 * 5 / 16 + 16 / 4) / 32, "end_share": 1 / 2, "work_share": (40 * 5 / 16 + 40 / 4 + 20 / 3) / 100,
        "core_share": 1 / 3, "cache_share": 1 / 2,
    }  # fmt: skip
    gives("split_piece", [shares], within=["split"], layered_piece=PIECES, device_split=[SPLIT | {"tensor": 4, "expert": 4}])


def test_what_a_frozen_model_trains(gives: Gives) -> None:
    """Layers: (6 - 2) / 2 + 8 - 6, twice a half; experts: 2 / 4; ends: 7 minus half of their split half."""
    trained = {"trained_layer_byte": 4.0, "trained_expert_byte": 0.5, "trained_end_byte": 5.25}
    gives("split_weight", [WEIGHT | trained], within=["split"], layered_run=[FROZEN], device_split=[SPLIT])


def test_nothing_frozen_has_gradients_or_states(gives: Gives) -> None:
    """Of weights of 2 bytes, (4 + 5.25) / 2 and 0.5 / 2 are trained; all are stored."""
    gives(
        "split_memory",
        [
            MEMORY
            | {"dense_count": 4.625, "expert_count": 0.25, "gradient_byte": 4 * 4.875, "optimizer_byte": 12 * (4.625 / 4 + 0.25 / 2)}
        ],
        within=["split"],
        trained_run=[RUN],
        split_weight=[WEIGHT | {"trained_layer_byte": 4.0, "trained_expert_byte": 0.5, "trained_end_byte": 5.25}],
        layered_run=[LAYERED],
        device_split=[SPLIT],
        optimizer=[OPTIMIZER],
        precision=[{"precision": "fp4", "bits": 4.0}],
    )  # fmt: skip


def test_weights_before_and_behind_the_layers_without_a_pipeline(gives: Gives) -> None:
    """Both ends; 12 are split in two, and 8 of those are stored twice."""
    gives(
        "split_weight", [{"split": "s", "stage_share": 1.0, "end_byte": (12 - 8) / 2 + 12.0}], within=["split"], layered_run=[LAYERED],
        device_split=[SPLIT | {"pipeline": 1}],
    )  # fmt: skip


def test_split_memory(gives: Gives) -> None:
    gives(
        "split_memory",
        [
            MEMORY
            | {
                "peak_memory_byte": sum(
                    MEMORY[f"{what}_byte"] for what in ("weight", "gradient", "optimizer", "activation", "scratch")
                )
            }
        ],
        within=["split"],
        trained_run=[RUN],
        split_weight=[WEIGHT],
        layered_run=[LAYERED],
        device_split=[SPLIT],
        optimizer=[OPTIMIZER],
        precision=[{"precision": "fp4", "bits": 4.0}],
    )


SUMS = {
    "forward_split_s": 16.0, "forward_whole_s": 8.0, "backward_split_s": 32.0, "backward_whole_s": 16.0, "backward_weighted_s": 24.0,
    "forward_core_s": 4.0, "backward_core_s": 8.0, "first_split_s": 2.0, "first_whole_s": 2.0, "last_split_s": 4.0, "last_whole_s": 4.0,
    "forward_host_s": 3.0, "backward_host_s": 6.0, "end_host_s": 1.5, "run_call_s": 1.0,
    "dynamic_energy_j": 90.0, "forward_energy_j": 30.0, "static_w": 5.0,
    "dram_byte_per_s": 100.0, "dense_ops_per_s": 50.0, "fault": None,
}  # fmt: skip
TIMES = {
    # Kernels take twice as long, for twice the layers, on 2 x 2 devices.
    "split": "s", "forward_s": 24.0, "backward_s": 48.0, "recompute_s": 24.0, "first_s": 2.0, "last_s": 4.0,
    # (2 x 16 + 24) bytes twice over 2, 24 calls twice: half a sum of 56 bytes is sent twice; three times 6 bytes
    # collected once in 2 calls; half of it overlaps.
    "tensor_s": 0.5 * (0.5 * (2 * 56.0 + 18.0) / 10.0 + 48 * (1.0 + 2 * 0.5) + 12 * (1.0 + 0.5)),
    "end_tensor_s": 0.5 * (0.5 * (2 * 2.0 + 10.0) / 10.0 + 2 * (1.0 + 2 * 0.5) + 2 * (1.0 + 0.5)),
    # Half of 2 (2 x 32 + 32) bytes over 4 devices' tokens, 3 x 16 calls.
    "expert_s": 0.5 * 192.0 / (4 * 4.0) + 48 * 1.5,
    # A turn: half of 128 bytes over 2 devices, and 8 steps; forward during 4 s, twice, backward two turns during 8 s.
    "context_s": 2 * (3.2 + 4.0 - 4.0) + (14.4 - 8.0),
    "host_s": 24.0, "end_host_s": 1.5,
}  # fmt: skip
CORE_TIMES = {"forward_s": 26.0, "backward_s": 52.0, "recompute_s": 26.0, "context_s": 2 * 1.2 + 2.4}


@pytest.mark.parametrize(
    ("factors", "instruction", "times"),
    [
        ({}, "mma", {}),
        ({"attention_factor": 3.0}, "wgmma", {}),
        # A half more of 2 x 2 x (4 and 8) s over 2 devices and half of the tokens each; a turn of 7.2 s during 6 and
        # two during 12.
        ({"attention_factor": 3.0, "warpgroup_attention_factor": 4.0}, "mma", CORE_TIMES),
        ({"attention_factor": 4.0, "warpgroup_attention_factor": 3.0}, "wgmma", CORE_TIMES),
    ],
)
def test_split_micro_batch(gives: Gives, factors: dict[str, float], instruction: str, times: dict[str, float]) -> None:
    gives(
        "split_micro_batch",
        [TIMES | times],
        within=["split"],
        training_sum=[SUMS],
        trained_run=[RUN],
        layered_run=[LAYERED],
        split_weight=[WEIGHT],
        device_split=[SPLIT],
        framework=[FRAMEWORK | factors],
        free=FREE,
        split_framework=[{"split": "s", "framework": "plain"}],
        split_link=[LINKS],
        part=[{"matrix_instruction": instruction}],
    )


@pytest.mark.parametrize(("host_s", "end_host_s"), [(24.0, 1.5), (1000.0, 20.0)])
def test_split_step(gives: Gives, host_s: float, end_host_s: float) -> None:
    """Two stages with two groups of layers each, four micro batches; a host that issues half of the layers and the ends more slowly than
    the device computes makes it wait."""
    layers = 0.5 * (24 + 48 + 24 + TIMES["tensor_s"] + TIMES["expert_s"] + TIMES["context_s"])
    shared = 0.5 * (TIMES["tensor_s"] + TIMES["expert_s"] + TIMES["context_s"])
    dense = 3 / 4 * (17.25 * (4 + 2)) / 2 + 2 * 1 + 3 * 0.25 * 2
    experts = 1 / 2 * (5 * (4 + 2)) / 2 + 2 * 1 + 1 * 0.25 * 2
    gives(
        "split_step",
        [
            {
                "split": "s", "compute_s": 4 * (36.0 + 4.0), "recompute_s": 48.0,
                "tensor_s": 4 * (0.5 * TIMES["tensor_s"] + TIMES["end_tensor_s"]), "expert_s": 2 * TIMES["expert_s"],
                "context_s": 2 * TIMES["context_s"], "send_s": 4.5 * 4 * (8 / (4 * 4.0) + 0.125), "bubble_s": layers / 2,
                "host_s": 1.0 + 4 * max(0.0, 0.5 * host_s + end_host_s - 40.0 - 12.0 - TIMES["end_tensor_s"] - shared),
                "sync_s": dense + experts,
                "data_s": max(dense + experts - 0.5 * 36.0, (dense + experts) / 4),
                "optimizer_s": 30 / 50 * (17.25 / 4 + 5 / 2), "dynamic_energy_j": 4 * 2 * 2 * (90.0 + 30.0),
            }
        ],
        within=["split"],
        split_micro_batch=[
            TIMES
            | {"host_s": host_s, "end_host_s": end_host_s}
            | {name: MEMORY[name] for name in ("layers", "layer_factor", "stage_share", "whole_parts")}
            | {name: SUMS[name] for name in ("dram_byte_per_s", "dense_ops_per_s", "static_w", "run_call_s", "dynamic_energy_j")}
            | {"forward_energy_j": SUMS["forward_energy_j"], "overlap_fraction": 0.5}
        ],
        device_split=[SPLIT],
        framework=[FRAMEWORK],
        free=FREE,
        split_framework=[{"split": "s", "framework": "plain"}],
        optimizer=[OPTIMIZER],
        split_link=[LINKS],
        layered_run=[LAYERED],
        split_memory=[MEMORY],
    )  # fmt: skip


def test_training_step(gives: Gives) -> None:
    """16 samples in 110 s on 16 devices: 6 x 4 x 2 (2 x 100 + 10) operations of 16 x 110 x 50, 2 x 8 x 200 of them repeated."""
    gives(
        "training_step",
        [
            {
                "split": "s", "global_batch": 16, "step_s": 110.0, "tokens_per_s": 16 * 64 / 110, "samples_per_s": 16 / 110, "model_flops": 10080.0,
                "repeated_flops": 3200.0, "mfu_fraction": 10080 / 88000, "hfu_fraction": 13280 / 88000, "peak_memory_byte": 90.0,
                "fits_device": True, "step_limit": "compute", "energy_j": 1000 + 16 * 5 * 110.0,
                "million_tokens_usd": 16 * 110 * 1e6 / (16 * 64), "million_samples_usd": 16 * 110 * 1e6 / 16,
            }
        ],
        within=["split"],
        split_step=[
            {"split": "s", "batch": 2, "sequence": 64, "compute_s": 50.0, "recompute_s": 20.0, "tensor_s": 5.0, "expert_s": 5.0,
             "context_s": 5.0, "send_s": 5.0, "bubble_s": 5.0, "host_s": 5.0, "data_s": 5.0, "optimizer_s": 5.0, "sync_s": 9.0,
             "dense_ops_per_s": 50.0, "static_w": 5.0, "dynamic_energy_j": 1000.0}
        ],
        device_split=[SPLIT],
        split_link=[LINKS],
        split_memory=[MEMORY | {"batch": 2, "sequence": 64, "peak_memory_byte": 90.0}],
        trained_run=[RUN | {"batch": 2, "sequence": 64}],
        split_framework=[{"split": "s", "framework": "plain"}],
        part=[{"dram_byte": 100.0, "is_simulated": False}],
        part_price=[{"price_usd_per_hour": 3600.0}],
    )  # fmt: skip


TERMS = tuple(f"{name}_s" for name in ("compute", "recompute", "tensor", "expert", "context", "send", "bubble", "host", "data", "optimizer"))
"""Terms of the time of a step."""


def test_a_model_without_a_sequence_counts_samples(gives: Gives) -> None:
    """16 images in 4 s on 16 devices of 3,600 dollars an hour, a dollar a second."""
    sizes = {"batch": 2, "sequence": 1}
    gives(
        "training_step",
        [{"split": "s", "tokens_per_s": None, "samples_per_s": 16 / 4.0, "million_tokens_usd": None, "million_samples_usd": 16 * 4.0 * 1e6 / 16}],
        within=["split"],
        split_step=[{"split": "s", **sizes, **dict.fromkeys(TERMS, 0.4)}],
        device_split=[SPLIT],
        split_link=[LINKS],
        split_memory=[MEMORY | sizes | {"peak_memory_byte": 90.0}],
        trained_run=[RUN | sizes],
        split_framework=[{"split": "s", "framework": "plain"}],
        part=[{"dram_byte": 100.0, "is_simulated": False}],
        part_price=[{"price_usd_per_hour": 3600.0}],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("of_run", "of_split", "model_flops", "repeated_flops"),
    [
        # Twice 100 MACs of layers and 10 of ends, 4 micro batches of 2 replicas, 2 operations each: 3,360 per forward
        # pass.
        ({}, {"recompute": "none"}, 3 * 3360.0, 0.0),
        ({}, {"recompute": "none", "adapter_rank": 4}, 2 * 3360.0, 0.0),
        # Backward passes of 150 and 5 MACs: a model with frozen weights lacks their products.
        ({"is_frozen": True}, {"recompute": "none"}, 3360.0 + 16 * (2 * 150.0 + 5.0), 0.0),
        # Its own checkpoints repeat 30 and 2 MACs.
        ({"block_repeated_macs": 30.0, "end_repeated_macs": 2.0}, {"recompute": "none"}, 3 * 3360.0, 16 * (2 * 30.0 + 2.0)),
    ],
)
def test_operations_of_a_step(
    gives: Gives, of_run: dict[str, Any], of_split: dict[str, Any], model_flops: float, repeated_flops: float
) -> None:
    gives(
        "training_step",
        [{"split": "s", "model_flops": model_flops, "repeated_flops": repeated_flops}],
        within=["split"],
        split_step=[{"split": "s", "batch": 2, "sequence": 64}],
        device_split=[SPLIT | of_split],
        split_link=[LINKS],
        split_memory=[MEMORY | {"batch": 2, "sequence": 64}],
        trained_run=[RUN | of_run | {"batch": 2, "sequence": 64}],
        split_framework=[{"split": "s", "framework": "plain"}],
        part=[{}],
    )


@pytest.mark.parametrize(
    ("fault", "is_null"),
    [
        ({"kind": "network", "row_key": "*", "is_possible": False}, True),
        ({"kind": "device_split", "row_key": "s", "is_possible": False}, True),
        ({"kind": "device_split", "row_key": "other", "is_possible": False}, False),
        ({"kind": "framework", "row_key": "other", "is_possible": False}, False),
        ({"kind": "optimizer", "row_key": "other", "is_possible": False}, False),
        ({"kind": "device_split", "row_key": "s", "is_possible": True}, False),
    ],
)
def test_a_step_that_rests_on_a_number_that_cannot_be(
    evaluate: Callable[..., list[dict[str, Any]]], fault: dict[str, Any], is_null: bool
) -> None:
    """The step has no time; an implausible number is named."""
    (row,) = evaluate(
        "training_step",
        split_step=[
            {"split": "s", "batch": 1, "sequence": 64, "sync_s": 9.0, "dense_ops_per_s": 50.0, "static_w": 5.0, "dynamic_energy_j": 1.0,
             **{f"{name}_s": 5.0 for name in (
                 "compute", "recompute", "tensor", "expert", "context", "send", "bubble", "host", "data", "optimizer")}}
        ],
        device_split=[SPLIT],
        split_link=[LINKS],
        split_memory=[MEMORY | {"sequence": 64, "peak_memory_byte": 90.0}],
        trained_run=[RUN | {"sequence": 64}],
        split_framework=[{"split": "s", "framework": "plain"}],
        part=[{"dram_byte": 100.0, "is_simulated": False}],
        part_price=[{"price_usd_per_hour": 3600.0}],
        report_fault=[fault | {"field": "a number"}],
    )  # fmt: skip
    assert (row["step_s"] is None) == (row["step_limit"] is None) == (row["energy_j"] is None) == is_null
    named = fault["kind"] == "network" or fault["row_key"] == "s"
    assert row["implausible"] == ("a number" if named else None)


def test_a_backend_has_its_own_default_framework(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    """The default is the framework fitted on the backend; on a graph, that of the captured backend; else an ideal one. A named framework
    applies everywhere."""
    rows = evaluate(
        "split_framework",
        device_split=[SPLIT | {"split": "open", "framework": None}, SPLIT | {"split": "named", "framework": "other"}],
        backend=[
            {"backend": "eager", "captures": None}, {"backend": "graph", "captures": "eager"}, {"backend": "xla", "captures": None},
        ],
        framework=[
            {"framework": "ideal", "backend": "*", "is_default": True}, {"framework": "usual", "backend": "eager", "is_default": True},
            {"framework": "other", "backend": "eager", "is_default": False},
        ],
    )  # fmt: skip
    assert {row["framework"] for row in rows if row["is_ideal"]} == {"ideal"}
    assert {(row["split"], row["backend"]): row["framework"] for row in rows} == {
        ("open", "eager"): "usual", ("open", "graph"): "usual", ("open", "xla"): "ideal",
        ("named", "eager"): "other", ("named", "graph"): "other", ("named", "xla"): "other",
    }  # fmt: skip


def test_training_sum(gives: Gives) -> None:
    kinds = [
        ("block", False, "column", False, True), ("block", False, "between", True, False), ("block", False, "whole", False, False),
        ("block", True, "row", False, True), ("block", True, "between", True, False), ("block", True, "whole", False, False),
        ("first", False, "row", False, False), ("first", True, "whole", False, False), ("last", False, "column", False, True),
        ("last", True, "whole", False, False),
    ]  # fmt: skip
    gives(
        "training_sum",
        [
            {"forward_split_s": 3.0, "forward_whole_s": 4.0, "backward_split_s": 8.0 + 16.0, "backward_whole_s": 32.0,
             "backward_weighted_s": 8.0, "forward_core_s": 2.0, "backward_core_s": 16.0, "first_split_s": 64.0, "first_whole_s": 128.0,
             "last_split_s": 256.0, "last_whole_s": 512.0, "forward_host_s": 3 * (2 * 0.5 + 3 * 0.25) * 2.0,
             "backward_host_s": 3 * (2 * 0.5 + 3 * 0.25) * 2.0, "end_host_s": 4 * (2 * 0.5 + 3 * 0.25) * 2.0,
             "dynamic_energy_j": 1023.0, "forward_energy_j": 7.0}
        ],
        trained_kernel=[
            {"shape_id": i, "place": place, "is_backward": back, "split": split, "is_split": split != "whole", "is_core": core,
             "is_weighted": weighted, "kernel_count": 2, "view_count": 3, "is_expert": False}
            for i, (place, back, split, core, weighted) in enumerate(kinds)
        ],
        clocked_shape=[
            {"shape_id": i, "device_s": 0.5 * 2.0**i, "dynamic_energy_j": 0.5 * 2.0**i, "dispatch": "async_queue", "host_kernel_s": 0.5,
             "host_view_s": 0.25, "host_factor": 2.0, "fault": None}
            for i in range(len(kinds))
        ],
    )  # fmt: skip


def test_policies_with_rounded_numbers(gives: Gives) -> None:
    """Weights, results or arithmetic in 8 bits need a check of accuracy; 16 bits, and a kept class without a format, do not."""
    rows = [("int8", "int8", "fp32", "fp32"), ("w8a16", "fp16", "int8", "fp16"), ("q", "fp16", "fp16", "int8"), ("fp16", "fp16", "fp16", None)]
    gives(
        "rounded_policy",
        [{"policy": "int8"}, {"policy": "w8a16"}, {"policy": "q"}],
        by=["policy"],
        precision_policy=[
            {"policy": p, "operator_class": "*", "compute_precision": c, "weight_precision": w, "activation_precision": a} for p, c, w, a in rows
        ],
        precision=[{"precision": "fp32", "bits": 32.0}, {"precision": "fp16", "bits": 16.0}, {"precision": "int8", "bits": 8.0}],
    )
