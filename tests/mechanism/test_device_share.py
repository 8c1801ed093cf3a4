"""The share of one of several devices in data that come in pieces: at least one whole piece."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .conftest import Bench

Record = dict[str, Any]
Check = Callable[..., None]
Evaluate = Callable[..., list[Record]]

COUNTS = st.integers(1, 4096)


@given(pieces=COUNTS, fewer=COUNTS, devices=COUNTS, fraction=st.floats(0, 1))
def test_all_devices_have_all(bench: Bench, pieces: int, fewer: int, devices: int, fraction: float) -> None:
    """A share is at least a fair one, so that the shares cover the whole, and at most all; with more devices no share grows."""

    def share(count: int) -> float:
        return float(
            bench.call("split_share", pieces=pieces, fewer_pieces=fewer, fewer_fraction=fraction, device_count=count)
        )

    assert (1 - 1e-12) / devices <= share(devices) <= 1 + 1e-12
    assert share(1) == 1
    assert share(2 * devices) <= share(devices) * (1 + 1e-12)


TENSORS = [
    {"tensor_id": 0, "role": "kv_cache", "storage_tensor_id": 0},  # four heads
    {"tensor_id": 1, "role": "kv_cache", "storage_tensor_id": 1},  # a latent
    {"tensor_id": 2, "role": "weight", "storage_tensor_id": 2},  # of queries and, a quarter, of keys
    {"tensor_id": 3, "role": "weight", "storage_tensor_id": 3},  # compresses queries
    {"tensor_id": 4, "role": "weight", "storage_tensor_id": 4},  # of a normalization
    {"tensor_id": 5, "role": "weight", "storage_tensor_id": 5},  # a look-up table that is also the head
    {"tensor_id": 6, "role": "weight", "storage_tensor_id": 2},  # a view of the first weight
]
SPLITS = [
    {"operator_id": 0, "split": "column", "pieces": 16, "fewer_pieces": 4, "fewer_fraction": 0.25},
    {"operator_id": 3, "split": "row", "pieces": None, "fewer_fraction": 0.0},
    {"operator_id": 4, "split": "column", "pieces": None, "fewer_fraction": 0.0},
]


@pytest.mark.parametrize(
    ("devices", "cache", "weights"),
    [
        (1, 160.0, 160.0),
        (4, 80 / 4 + 80.0, 40 / 4 + 40 + 40 + 40 / 4),
        # One of four heads on each of eight devices; of the fused product 1/8 and a quarter of 1/4 - 1/8 more.
        (8, 80 / 4 + 80.0, 40 * (1 / 8 + 1 / 32) + 40 + 40 + 40 / 8),
    ],
)
def test_what_a_device_keeps(check: Check, devices: int, cache: float, weights: float) -> None:
    """Keys of four heads and a latent of 20 elements each, four weights of 10: in single precision."""
    check(
        "resident_byte",
        {"kv_cache_byte": 160.0, "device_cache_byte": cache, "weight_byte": 160.0, "device_weight_byte": weights},
        run={"phase": "decode", "device_count": devices},
        tensor=TENSORS,
        tensor_size=[{"tensor_id": i, "elements": 10.0 if i > 1 else 20.0} for i in range(7)],
        tensor_precision=[{"tensor_id": i, "precision": "fp32"} for i in range(7)],
        precision={"precision": "fp32", "bits": 32},
        cache_split={"tensor_id": 0, "pieces": 4},
        operator_split=SPLITS,
        operator=[
            {"operator_id": i, "operator_class": c}
            for i, c in enumerate(("linear", "linear", "norm", "embedding", "linear"))
        ],
        operator_class=[
            {"operator_class": c, "is_matrix": c == "linear"} for c in ("linear", "norm", "embedding")
        ],
        edge=[
            {"consumer_operator_id": operator, "tensor_id": tensor} for operator, tensor in ((0, 6), (1, 3), (2, 4), (3, 5), (4, 5))
        ],
    )  # fmt: skip


def test_a_weight_that_one_product_of_all_devices_reads(check: Check) -> None:
    """The weight is whole, even if another product that reads it is split."""
    check(
        "resident_byte",
        {"device_weight_byte": 40.0},
        run={"phase": "decode", "device_count": 8},
        tensor=[{"tensor_id": 0, "role": "weight", "storage_tensor_id": 0}],
        tensor_size=[{"tensor_id": 0, "elements": 10.0}],
        tensor_precision=[{"tensor_id": 0, "precision": "fp32"}],
        precision={"precision": "fp32", "bits": 32},
        operator_split=[{"operator_id": 0, "split": "column", "fewer_fraction": 0.0}, {"operator_id": 1, "split": "whole"}],
        operator=[{"operator_id": i, "operator_class": "linear"} for i in (0, 1)],
        operator_class=[{"operator_class": "linear", "is_matrix": True}],
        edge=[{"consumer_operator_id": i, "tensor_id": 0} for i in (0, 1)],
    )


@pytest.mark.parametrize(
    ("split", "device", "moved"),
    [
        ({"is_split": False, "pieces": None}, 1.0, 1.0),
        ({"is_split": True, "pieces": None}, 1 / 8, 1 / 8),
        ({"is_split": True, "pieces": 4}, 1 / 4, 1 / 4),
        # 16 query heads share the work; 60 of 80 bytes are of four key heads, or of a latent.
        ({"is_split": True, "pieces": 16, "fewer_pieces": 4}, 1 / 8, (20 / 8 + 60 / 4) / 80),
        ({"is_split": True, "pieces": 16, "fewer_pieces": 1}, 1 / 8, (20 / 8 + 60) / 80),
    ],
)
def test_what_a_device_does_and_moves(check: Check, split: Record, device: float, moved: float) -> None:
    check(
        "shape_share",
        {"device_share": device, "moved_share": moved},
        run={"device_count": 8},
        run_kernel={},
        split_kernel={"fewer_fraction": 0.0} | split,
        shape={"kv_cache_byte": 60.0, "traffic_byte": 80.0},
    )


WHOLE: Record = {
    "kernel_count": 2, "macs": 64.0, "flops": 128.0, "compute_s": 8.0, "memory_s": 5.0, "memory_half_byte": 0.0, "stated_unit_count": 1.0,
    "dram_byte": 100.0, "dram_byte_per_s": 25.0, "naive_s": 6.0, "roofline_s": 6.0, "serial_s": 5.0, "unlimited_s": 14.0, "exposed_s": 1.0,
    "feed_s": 0.0, "overlap_fraction": 0.0, "product_energy_j": 4.0, "vector_energy_j": 4.0, "compute_energy_j": 8.0,
    "dynamic_energy_j": 10.0, "clocked_energy_j": 9.0, "host_byte": 0.0, "host_input_byte": 0.0, "kernel_gap_s": 0.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        # A quarter of both.
        ({"device_share": 0.25, "moved_share": 0.25}, {"kernel_count": 0.5, "compute_s": 8.0, "macs": 64.0, "unlimited_s": 14.0}),
        # Half of the arithmetic and 3/4 of the bytes: 3/4 as many kernels, 3/2 of them of 8 * 2/3 s.
        ({"device_share": 0.5, "moved_share": 0.75}, {"kernel_count": 1.5, "compute_s": 16 / 3, "unlimited_s": 16 / 3 + 5 + 1}),
        # A quarter of the arithmetic, 2 s, and all of the cache, 5 s of each kernel.
        (
            {"device_share": 0.25, "moved_share": 1.0},
            {"kernel_count": 2.0, "compute_s": 2.0, "memory_s": 5.0, "macs": 16.0, "flops": 32.0, "naive_s": 1.5, "roofline_s": 4.0,
             "serial_s": 2.0, "unlimited_s": 8.0, "product_energy_j": 1.0, "vector_energy_j": 1.0, "compute_energy_j": 2.0,
             "dynamic_energy_j": 4.0, "clocked_energy_j": 3.0},
        ),
    ],
)  # fmt: skip
def test_a_device_that_reads_more_than_it_works(check: Check, shares: Record, expected: Record) -> None:
    """The device runs as many whole kernels as its share of bytes, each with its share of the arithmetic."""
    check(
        "clock_step",
        expected | {"launch_count": 2},
        shape_cost=WHOLE,
        part_support={"dispatch": "graph", "call_s": 0.0},
        shape_share=shares,
        run={"device_count": 4, "power": "default", "host_factor": 1.0},
        run_collective={"all_reduce_byte": 0.0, "all_reduce_count": 0.0, "all_gather_byte": 0.0, "all_gather_count": 0.0},
        part_link={"least_device_count": 2, "link_device_count": 8, "collective_byte_per_s": 1.0, "collective_call_s": 0.0,
                   "collective_step_s": 0.0, "interconnect": "nvlink"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("merges", "share", "gap_s", "exchange_s"),
    [
        # A ring of four: 3/4 of 2 * 8 bytes at 2 bytes/s, two calls of 1 s, 3 * 2 * 2 steps of 0.5 s.
        (False, 1.0, 5.0, 6 + 2 + 6),
        # Each device reads its quarter of the three others at 4 bytes/s and their sums, in two kernels of 0.25 s for each of two calls.
        (True, 1.0, 5.0, 1 + 3),
        (True, 0.0, 1.0, 1 + 3),
        (True, 2.0, 9.0, 1 + 3),
    ],
)
def test_kernels_of_a_server_of_its_own(check: Check, merges: bool, share: float, gap_s: float, exchange_s: float) -> None:
    """A gap of 4 s for each launch, and 1 s that the version takes."""
    check(
        "clock_step",
        {"kernel_gap_s": gap_s, "exchange_s": exchange_s},
        shape_cost=WHOLE | {"kernel_gap_s": 4.0, "launch_s": 1.0, "launch_share": share},
        part_support={"dispatch": "graph", "call_s": 0.0},
        shape_share={"device_share": 0.25, "moved_share": 0.25},
        run={"device_count": 4, "power": "default", "host_factor": 1.0, "merges_kernels": merges},
        run_collective={"all_reduce_byte": 8.0, "all_reduce_count": 2.0, "all_gather_byte": 0.0, "all_gather_count": 0.0},
        part_link={"least_device_count": 2, "link_device_count": 8, "collective_byte_per_s": 2.0, "collective_call_s": 1.0,
                   "collective_step_s": 0.5, "interconnect": "nvlink", "direct_byte_per_s": 4.0, "direct_call_s": 0.25},
    )  # fmt: skip


def test_pieces_of_the_layers(evaluate: Evaluate) -> None:
    """Split kernels of the forward pass by heads and place; for experts' products only the work."""
    split: Record = {"is_split": True, "is_backward": False, "place": "block", "split": "column", "weight_byte": 10.0, "fewer_fraction": 0.0}
    kernels = [
        split | {"pieces": 8},
        split | {"pieces": 8},
        split | {"is_expert": True},
        split | {"split": "between", "weight_byte": 0.0, "pieces": 8, "fewer_pieces": 2},
        split | {"place": "last"},
        split | {"pieces": 8, "is_backward": True},
        split | {"is_split": False, "split": "whole"},
    ]
    rows = evaluate(
        "layered_piece",
        split_kernel=[kernel | {"kernel_id": i} for i, kernel in enumerate(kernels)],
        run_kernel=[{"kernel_id": i, "shape_id": i} for i in range(len(kernels))],
        run_shape=[
            {"shape_id": i, "macs": 2.0**i, "kernel_class": "attention" if i == 3 else "linear"} for i in range(len(kernels))
        ],
    )
    found = {(r["place"], r["is_core"], r["pieces"], r["fewer_pieces"]): (r["weight_byte"], r["macs"]) for r in rows}
    assert found == {
        ("block", False, 8, 8): (20.0, 3.0), ("block", False, 0, 0): (0.0, 4.0), ("block", True, 8, 2): (0.0, 8.0),
        ("end", False, 0, 0): (10.0, 16.0),
    }  # fmt: skip
