"""Reports of single kernels, and of their mapping to a part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from charz.sql import documents

Record = dict[str, Any]
Gives = Callable[..., None]
Evaluate = Callable[..., list[Record]]


def test_kernel_latency(gives: Gives) -> None:
    """24 operations on 6 of 12 bytes in 4 s, 2 s at peak and 3 s at the roof; 8 bytes per second meet the peak at 1.5."""
    gives(
        "kernel_latency",
        [
            {"kernel_id": 0, "correction_factor": 2.0, "arithmetic_intensity": 4.0, "ridge_intensity": 1.5,
             "attained_ops_per_s": 6.0, "ceiling_ops_per_s": 8.0, "ingress_byte_per_s": 2.5, "egress_byte_per_s": 0.5,
             "is_power_known": True},
            {"kernel_id": 1, "correction_factor": None, "arithmetic_intensity": 0.0, "ridge_intensity": None,
             "attained_ops_per_s": 0.0, "ingress_byte_per_s": 1.0, "egress_byte_per_s": 2.0, "is_power_known": False},
        ],
        by=["kernel_id"],
        kernel_time=[
            {"kernel_id": 0, "flops": 24.0, "latency_s": 4.0, "naive_s": 2.0, "roofline_s": 3.0, "dram_byte": 6.0,
             "dram_byte_per_s": 8.0, "moved_byte": 12.0, "output_byte": 2.0, "tdp_w": 50.0},
            {"kernel_id": 1, "flops": 0.0, "latency_s": 1.0, "naive_s": 0.0, "roofline_s": 3.0, "dram_byte": 6.0,
             "dram_byte_per_s": 8.0, "moved_byte": 3.0, "output_byte": 2.0},
        ],
    )  # fmt: skip


def test_kernel_energy(gives: Gives) -> None:
    """2 + 3 J of main memory; 8 J, a quarter of them wasted, in 4 s."""
    gives(
        "kernel_energy",
        [
            {"kernel_id": 0, "dram_energy_j": 5.0, "efficiency_fraction": 0.75, "power_w": 2.0, "energy_scope": "board"},
            {"kernel_id": 1, "dram_energy_j": None, "efficiency_fraction": None, "power_w": None, "energy_scope": "board"},
        ],
        by=["kernel_id"],
        kernel_time=[
            {"kernel_id": 0, "dram_energy_j": 2.0, "reorder_energy_j": 3.0, "energy_j": 8.0, "wasted_energy_j": 2.0,
             "latency_s": 4.0},
            {"kernel_id": 1, "latency_s": 4.0, "reorder_energy_j": 3.0},
        ],
        part=[{"energy_scope": "board"}],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("threads", "parallelism"),
    [(999.0, "<1K"), (1e3, "1K-10K"), (9999.0, "1K-10K"), (1e4, "10K-100K"), (99999.0, "10K-100K"), (1e5, ">100K")],
)
def test_kernels_by_threads(gives: Gives, threads: float, parallelism: str) -> None:
    gives("kernel_work", [{"parallelism": parallelism}], **work(threads=threads))


@pytest.mark.parametrize(
    ("flops", "traffic", "bucket", "intensity"),
    [
        (199.0, 2.0, "10-100", 99.5), (200.0, 2.0, ">100", 100.0), (19.0, 2.0, "1-10", 9.5), (20.0, 2.0, "10-100", 10.0),
        (1.0, 2.0, "<1", 0.5), (2.0, 2.0, "1-10", 1.0), (5.0, 0.0, "<1", None),
    ],
)  # fmt: skip
def test_kernels_by_intensity(gives: Gives, flops: float, traffic: float, bucket: str, intensity: float | None) -> None:
    """A kernel that moves nothing has no intensity, and counts in the lowest bucket."""
    expected = {"intensity": bucket, "arithmetic_intensity": intensity, "kernel_kind": "pointwise_conv"}
    gives("kernel_work", [expected], **work(flops=flops, traffic_byte=traffic))


def work(**changed: float) -> dict[str, list[Record]]:
    """Return the rows that `kernel_work` reads for one kernel."""
    usual: Record = {"shape_id": 4, "kernel_class": "conv", "threads": 1.0, "flops": 1.0, "traffic_byte": 1.0}
    kinds = [{"operator_id": 3, "operator_kind": "pointwise_conv"}, {"operator_id": 4, "operator_kind": "relu"}]
    return {
        "run": [{}],
        "run_kernel": [{"kernel_id": 1, "fused_kernel_id": 1, "shape_id": 4, "anchor_operator_id": 3}],
        "shape": [usual | changed, usual | {"shape_id": 5}],
        "operator": kinds,
    }


def test_partition_report(gives: Gives) -> None:
    """Two kernels of one bucket and one of another: 30 of 40 operations, 4 of 16 bytes."""
    kernels = [
        {"kernel_id": 0, "kernel_class": "conv", "kernel_kind": "conv", "parallelism": "<1K", "intensity": "<1"},
        {"kernel_id": 1, "kernel_class": "conv", "kernel_kind": "pointwise", "parallelism": "1K-10K", "intensity": "1-10"},
        {"kernel_id": 2, "kernel_class": "pool", "kernel_kind": "pool", "parallelism": ">100K", "intensity": ">100"},
    ]  # fmt: skip
    amounts = [
        {"flops": 10.0, "traffic_byte": 3.0},
        {"flops": 20.0, "traffic_byte": 1.0},
        {"flops": 10.0, "traffic_byte": 12.0},
    ]
    shares = {  # kernels, operations and their share, bytes and their share
        0: (1, 10.0, 0.25, 3.0, 3 / 16), 1: (1, 20.0, 0.5, 1.0, 1 / 16), 2: (1, 10.0, 0.25, 12.0, 0.75),
    }  # fmt: skip
    names = ("kernel_count", "flops", "flops_fraction", "traffic_byte", "traffic_fraction")
    expected = [
        ("class", "conv", 0, (2, 30.0, 0.75, 4.0, 0.25)),
        ("class", "pool", 0, shares[2]),
        ("kind", "conv", 0, shares[0]),
        ("kind", "pointwise", 0, shares[1]),
        ("kind", "pool", 0, shares[2]),
        ("threads", "<1K", 1, shares[0]),
        ("threads", "1K-10K", 2, shares[1]),
        ("threads", ">100K", 4, shares[2]),
        ("intensity", "<1 ops/byte", 1, shares[0]),
        ("intensity", "1-10 ops/byte", 2, shares[1]),
        ("intensity", ">100 ops/byte", 4, shares[2]),
    ]
    gives(
        "partition_report",
        [
            {"aspect": aspect, "bucket": bucket, "bucket_order": order, **dict(zip(names, values, strict=True))}
            for aspect, bucket, order, values in expected
        ],
        by=["aspect", "bucket"],
        kernel_work=[kernel | amount for kernel, amount in zip(kernels, amounts, strict=True)],
    )


def test_operators_of_a_chain_by_kind(gives: Gives) -> None:
    """A kernel of two gates and a convolution: the gates read 3 and write 1 byte each and do 2 operations, of 10 bytes and 8 operations
    in all. A view and a folded operator do not count."""
    kinds = ("gate", "conv", "gate", "view", "norm")
    moved = [(0, "read", 3.0), (0, "write", 1.0), (1, "read", 2.0), (2, "read", 3.0), (2, "write", 1.0), (3, "read", 9.0)]
    gives(
        "partition_report",
        [
            {"aspect": "operators", "bucket": "gate", "kernel_count": 1, "operator_count": 2, "flops": 4.0, "flops_fraction": 0.5,
             "traffic_byte": 8.0, "traffic_fraction": 0.8},
            {"aspect": "operators", "bucket": "conv", "kernel_count": 1, "operator_count": 1, "flops": 4.0, "flops_fraction": 0.5,
             "traffic_byte": 2.0, "traffic_fraction": 0.2},
        ],
        by=["bucket"],
        run=[{"context": 0, "phase": "forward", "logit_tokens": 1, "chunk_count": 1}],
        kernel_operator=[{"kernel_id": 0, "operator_id": i, "is_folded": i == 4} for i in range(5)],
        operator=[{"operator_id": i, "operator_kind": kind, "is_view": kind == "view"} for i, kind in enumerate(kinds)],
        step_size=[{"operator_id": i, "flops": flops, "logit_tokens": 1, "chunk_count": 1} for i, flops in ((0, 2.0), (1, 4.0), (2, 2.0))],
        border_byte=[
            {"backend": "eager", "operator_id": i, "tensor_id": number, "direction": direction, "moved_byte": byte}
            for number, (i, direction, byte) in enumerate(moved)
        ],
    )  # fmt: skip


def test_buckets_between(gives: Gives) -> None:
    """The kernel is the third of four."""
    row = {"kernel_class": "c", "kernel_kind": "k", "parallelism": "10K-100K", "intensity": "10-100", "flops": 1.0}
    names = {"class": "c", "kind": "k", "threads": "10K-100K", "intensity": "10-100 ops/byte"}
    orders = {"class": 0, "kind": 0, "threads": 3, "intensity": 3}
    gives(
        "partition_report",
        [{"aspect": a, "bucket": names[a], "bucket_order": orders[a], "flops_fraction": 1.0} for a in names],
        by=["aspect"],
        kernel_work=[row],
    )


def test_stage_allocation(gives: Gives) -> None:
    """Two kernels ask for 6 and 5 of 8 units in one stage; one alone asks for 3, and its cast for 2 more."""
    units = (6.0, 5.0, 3.0, 2.0)
    gives(
        "stage_allocation",
        [
            {"stage": 0, "kernel_count": 2, "flops": 3.0, "threads": 30.0, "units_wanted": 11.0, "units_allocated": 8.0,
             "unit_count": 8.0, "allocated_fraction": 1.0, "sequential_s": 3.0, "longest_s": 2.0},
            {"stage": 1, "kernel_count": 2, "flops": 7.0, "threads": 70.0, "units_wanted": 5.0, "units_allocated": 5.0,
             "unit_count": 8.0, "allocated_fraction": 0.625, "sequential_s": 7.0, "longest_s": 4.0},
        ],
        by=["stage"],
        within=["kernel_id"],
        free={"kernel_cost": ["kernel_id"]},
        kernel_cost=[
            {"fused_kernel_id": min(i, 2), "units_allocated": unit, "unit_count": 8.0, "flops": 1.0 + i,
             "threads": 10.0 + 10.0 * i, "device_s": 1.0 + i}
            for i, unit in enumerate(units)
        ],
        kernel=[{"kernel_id": i, "stage": stage} for i, stage in enumerate((0, 0, 1))],
    )  # fmt: skip


def test_kernel_border(gives: Gives) -> None:
    """A tensor read and one written, each with its operator."""
    gives(
        "kernel_border",
        [
            {"direction": "read", "tensor": "x", "operator": "conv", "moved_byte": 4.0},
            {"direction": "write", "tensor": "y", "operator": "relu", "moved_byte": 2.0},
        ],
        by=["direction"],
        free={"tensor": ["precision"]},
        run=[{}],
        border_byte=[
            {"tensor_id": 1, "operator_id": 5, "direction": "read", "moved_byte": 4.0},
            {"tensor_id": 2, "operator_id": 6, "direction": "write", "moved_byte": 2.0},
        ],
        tensor=[{"tensor_id": 1, "tensor": "x"}, {"tensor_id": 2, "tensor": "y"}],
        operator=[{"operator_id": 5, "operator": "conv"}, {"operator_id": 6, "operator": "relu"}],
    )


COSTED = {"dispatch": "async_queue", "host_kernel_s": 1.0, "host_view_s": 0.5, "host_factor": 2.0, "device_s": 4.0}


@pytest.mark.parametrize(
    ("dispatch", "issued"), [("async_queue", (2.0, 5.0)), ("serial", (2.0, 5.0)), ("graph", (0.0, 0.0))]
)
def test_kernel_cost(gives: Gives, dispatch: str, issued: tuple[float, float]) -> None:
    """On a host of half the speed 2 s per kernel and 1 s per view; a graph is launched once."""
    gives(
        "kernel_cost",
        [
            {"kernel_id": 0, "host_issue_s": issued[0], "device_s": 4.0, "position": 0},
            {"kernel_id": 1, "host_issue_s": issued[1], "device_s": 4.0, "position": 1},
        ],
        by=["kernel_id"],
        within=["shape_id"],
        run_kernel=[
            {"kernel_id": 0, "position": 0, "view_count": 0},
            {"kernel_id": 1, "position": 1, "view_count": 3},
        ],
        clocked_shape=[COSTED | {"dispatch": dispatch}],
    )


STEP = {
    "tile_count": 12.0, "tile_unit_count": 8.0, "units_allocated": 8.0, "waves": 2.0, "utilization_fraction": 0.75,
    "ideal_s": 3.0, "threads": 96.0, "result_columns": 4.0, "unit_count": 10.0, "unit": "matrix", "tile_m": 2.0,
    "latency_s": 5.0, "bottleneck": "compute", "batch": 3, "main_loss": "waves", "tile_n": 49.0, "loaded_rows": 64.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {},
            {"batch_parts": 3.0, "channel_parts": 4.0, "space_parts": 8.0, "least_units": 1.0, "best_units": 6.0,
             "most_units": 12.0, "occupancy_fraction": 0.8, "utilization_bucket": "50-90%", "unit": "matrix",
             "sentence": "96 independent outputs in 12 tiles on 8 of 8 units (matrix), 2 waves, utilization 75 %:"
             " the last wave is partly empty"},
        ),
        (
            {"tile_m": None, "tile_count": 1.0, "units_allocated": 1.0, "waves": 1.0, "utilization_fraction": 0.094,
             "unit": "vector", "main_loss": "units"},
            {"best_units": 1.0, "occupancy_fraction": 0.1, "utilization_bucket": "<10%",
             "sentence": "96 independent outputs in 1 block on 1 of 8 units (vector), 1 wave, utilization 9 %:"
             " too few blocks to fill the part"},
        ),
        (
            {"utilization_fraction": 0.9},
            {"utilization_bucket": ">=90%",
             "sentence": "96 independent outputs in 12 tiles on 8 of 8 units (matrix), 2 waves, utilization 90 %"},
        ),
        (
            {"tile_count": 16.0, "utilization_fraction": 0.499, "main_loss": "rows"},
            {"utilization_bucket": "10-50%",
             "sentence": "96 independent outputs in 16 tiles on 8 of 8 units (matrix), 2 waves, utilization 50 %:"
             " tiles cover more rows than the product has"},
        ),
        (
            {"tile_count": 14.0, "utilization_fraction": 0.5, "main_loss": None},
            {"utilization_bucket": "50-90%",
             "sentence": "96 independent outputs in 14 tiles on 8 of 8 units (matrix), 2 waves, utilization 50 %"},
        ),
        ({"utilization_fraction": 0.1}, {"utilization_bucket": "10-50%"}),
        *(
            (
                {"main_loss": loss},
                {"sentence": "96 independent outputs in 12 tiles on 8 of 8 units (matrix), 2 waves, utilization 75 %: " + words},
            )
            for loss, words in (
                ("columns", "tiles cover more columns than the product has"),
                ("depth", "tiles cover more depth than the product has"),
                ("weights", "an array that loads 64 rows of weights has time for more rows than the 2 that a tile streams"),
                ("inputs", "an array that loads 64 rows of inputs has time for more columns than the 49 that a tile streams"),
                ("lanes", "the last block of threads is partly empty"),
                ("filling", "the product is too shallow to hide how tiles fill and drain"),
                ("feed", "tiles of this size are not fed at the full pace"),
                ("other", "starting, streaming and combining results take the most"),
            )
        ),
    ],
)  # fmt: skip
def test_kernel_mapping(gives: Gives, changed: Record, expected: Record) -> None:
    """12 tiles on 8 units in 2 rounds; 6 units would do. 96 outputs are 3 samples of 4 columns at 8 places."""
    other = STEP | {"step_id": 2, "ideal_s": 2.9, "tile_count": 1.0}
    gives(
        "kernel_mapping",
        [{"kernel_id": 7, "step_id": 1, "mapped_count": 2, **expected}],
        within=["kernel_id"],
        mapped_step=[STEP | {"kernel_id": 7, "step_id": 1} | changed, other | {"kernel_id": 7}],
    )


def test_of_equal_steps_that_of_fewer_tiles_speaks(gives: Gives) -> None:
    """Of equal steps the one with fewer tiles counts, then the first; a kernel that moves data has no step and takes all units."""
    steps = [
        STEP | {"kernel_id": 1, "step_id": 3, "tile_count": 4.0},
        STEP | {"kernel_id": 1, "step_id": 4, "tile_count": 4.0, "ideal_s": 3.0 * (1 - 1e-12)},
        STEP | {"kernel_id": 1, "step_id": 2, "tile_count": 5.0},
        STEP | {"kernel_id": 1, "step_id": 1, "tile_count": 3.0, "ideal_s": 3.0 * (1 - 1e-6)},
        {"kernel_id": 2, "batch": 3, "step_id": None, "unit": None, "units_allocated": 10.0, "unit_count": 10.0,
               "utilization_fraction": 1.0},
    ]  # fmt: skip
    gives(
        "kernel_mapping",
        [
            {"kernel_id": 1, "step_id": 3, "mapped_count": 4},
            {"kernel_id": 2, "step_id": None, "mapped_count": 0, "unit": "vector", "sentence": "moves data, no arithmetic",
             "utilization_bucket": ">=90%", "occupancy_fraction": 1.0, "space_parts": None},
        ],
        by=["kernel_id"],
        mapped_step=steps,
    )  # fmt: skip


def test_mapping_summary(gives: Gives) -> None:
    """Two of three kernels and 3 of 12 s on the matrix units."""
    kernels = [
        ("matrix", "compute", ">=90%", 1.0),
        ("matrix", "overhead", "<10%", 2.0),
        ("vector", "compute", "<10%", 9.0),
    ]
    expected = [
        ("unit", "matrix", 2, 3.0), ("unit", "vector", 1, 9.0), ("bottleneck", "compute", 2, 10.0),
        ("bottleneck", "overhead", 1, 2.0), ("utilization", ">=90%", 1, 1.0), ("utilization", "<10%", 2, 11.0),
    ]  # fmt: skip
    gives(
        "mapping_summary",
        [
            {"dimension": dimension, "bucket": bucket, "kernel_count": count, "latency_s": time,
             "kernel_fraction": count / 3, "latency_fraction": time / 12}
            for dimension, bucket, count, time in expected
        ],
        by=["dimension", "bucket"],
        kernel_mapping=[
            {"kernel_id": i, "unit": unit, "bottleneck": pace, "utilization_bucket": bucket, "latency_s": time}
            for i, (unit, pace, bucket, time) in enumerate(kernels)
        ],
    )  # fmt: skip


def test_step_mapping(gives: Gives) -> None:
    """Each step has its operator."""
    gives(
        "step_mapping",
        [
            {"step_id": 1, "operator": "conv", "step": "main", "macs": 5.0},
            {"step_id": 2, "operator": "relu", "macs": 0.0},
        ],
        by=["step_id"],
        within=["kernel_id"],
        mapped_step=[{"step_id": 1, "macs": 5.0}, {"step_id": 2, "macs": 0.0}],
        kernel_step=[{"step_id": 1, "operator": "conv", "step": "main"}, {"step_id": 2, "operator": "relu"}],
    )


PLACED = {
    "shape_id": 4, "kernel_id": 9, "candidate": 2, "unit_count": 8.0, "compute_s": 4.0, "matrix_ideal_s": 1.0,
    "direct_ideal_s": 0.5, "vector_ideal_s": 1.5, "dram_s": 5.0, "dram_byte": 20.0, "dram_byte_per_s": 8.0,
}  # fmt: skip
TILED = {
    "shape_id": 4, "candidate": 2, "step_id": 0, "is_matrix": True, "flops": 60.0, "peak_ops_per_s": 100.0, "ideal_s": 1.0,
    "units_allocated": 6.0, "reload_byte": 3.0, "tile_byte": 2.0, "n": 16.0, "macs": 30.0,
}  # fmt: skip


def test_mapped_step(gives: Gives) -> None:
    """60 of 100 operations per second; 2 of 4 s at the tiles' own rate, 20 of 40 bytes. A vector step runs with any tile, a product only
    with its kernel's tile."""
    gives(
        "mapped_step",
        [
            {"step_id": 0, "unit": "matrix", "utilization_fraction": 0.6, "compute_efficiency_fraction": 0.5,
             "memory_efficiency_fraction": 0.5, "units_allocated": 6.0, "reload_byte": 3.0, "tile_byte": 2.0,
             "result_columns": 16.0, "macs": 30.0},
            {"step_id": 1, "unit": "vector", "utilization_fraction": 1.0, "units_allocated": 8.0, "reload_byte": 0.0,
             "tile_byte": 0.0, "result_columns": 1.0, "macs": 0.0},
        ],
        by=["step_id"],
        within=["shape_id"],
        free={"kernel_time": ["shape_id"]},
        kernel_time=[PLACED],
        tile_step=[TILED, TILED | {"candidate": 3}],
        vector_step=[
            {"shape_id": 4, "step_id": 1, "candidate": None, "macs": 0.0, "flops": 7.0, "peak_ops_per_s": 100.0, "ideal_s": 0.01},
        ],
    )  # fmt: skip


def test_a_kernel_that_only_moves_data(gives: Gives) -> None:
    """No step: all units, full utilization. Without arithmetic and main-memory traffic no share of them is lost."""
    kernel = PLACED | {"compute_s": 0.0, "dram_s": 0.0, "candidate": None}
    expected = {
        "step_id": None, "unit": None, "units_allocated": 8.0, "utilization_fraction": 1.0, "reload_byte": 0.0, "tile_byte": 0.0,
        "compute_efficiency_fraction": 1.0, "memory_efficiency_fraction": 1.0,
    }  # fmt: skip
    gives("mapped_step", [expected], kernel_time=[kernel])


def test_the_slower_kind_of_units_sets_the_share(gives: Gives) -> None:
    """Products on the matrix units take 3 of 4 s, more than 0.5 + 1.5 on the others; a step without arithmetic loses nothing."""
    gives(
        "mapped_step",
        [{"step_id": 0, "compute_efficiency_fraction": 0.75, "utilization_fraction": 1.0}],
        by=["step_id"],
        within=["shape_id"],
        free={"kernel_time": ["shape_id"]},
        kernel_time=[PLACED | {"matrix_ideal_s": 3.0}],
        tile_step=[TILED | {"ideal_s": 0.0}],
    )


def tiles() -> dict[str, list[Record]]:
    """Return two tiles that fit a shape, the second faster; one too large for the first level, and one too large for a cache."""
    return {
        "run_kernel": [{"kernel_id": 1, "shape_id": 4}, {"kernel_id": 2, "shape_id": 5}],
        "tile_rank": [
            {"shape_id": 4, "candidate": 0, "rank_s": 2.0, "unlimited_s": 2.0, "compute_s": 1.5},
            {"shape_id": 4, "candidate": 1, "rank_s": 1.0, "unlimited_s": 1.1, "compute_s": 0.5},
            {"shape_id": 5, "candidate": 0, "rank_s": 0.5, "unlimited_s": 0.6, "compute_s": 0.2},
        ],
        "shape_step": [
            {"shape_id": 4, "is_product": True, "step_id": 0},
            {"shape_id": 4, "is_product": True, "step_id": 1},
            {"shape_id": 5, "is_product": False},
        ],
        "part_tile": [{"candidate": 2, "overflowing_level": "stream"}, {"candidate": 0, "overflowing_level": None}],
        "tile_block": [
            {"shape_id": 4, "candidate": 3, "overflowing_level": "tile"},
            {"shape_id": 4, "candidate": 4, "overflowing_level": "l2"},
            {"shape_id": 4, "candidate": 0, "overflowing_level": None},
        ],
        "part_support": [{}],
        "part": [{"tile_memory_level": "shared", "stream_level": "registers"}],
        "part_strategy": [
            {"hardware": hardware, "candidate": i, "strategy": f"{strategy}{i}"}
            for hardware, strategy in (("chip", "gpu"), ("other", "cpu"))
            for i in range(5)
        ],
    }


def test_kernel_tile(gives: Gives) -> None:
    """The fastest is chosen; the others take longer or exceed a level, shown by the part's own name of it."""
    columns = ("kernel_id", "candidate", "strategy", "is_chosen", "overflowing_level", "unlimited_s", "compute_s")
    rows = [
        (1, 0, "gpu0", False, None, 2.0, 1.5),
        (1, 1, "gpu1", True, None, 1.1, 0.5),
        (1, 2, "gpu2", False, "registers", None, None),
        (1, 3, "gpu3", False, "shared", None, None),
        (1, 4, "gpu4", False, "l2", None, None),
        (2, 0, "gpu0", True, None, 0.6, 0.2),
    ]
    expected = [dict(zip(columns, row, strict=True)) for row in rows]
    of_shape = {"tile_rank": ["compute_precision"]}
    gives("kernel_tile", expected, by=["kernel_id", "candidate"], within=["compute_precision"], free=of_shape, **tiles())


def test_shmoo_point(gives: Gives) -> None:
    """24 operations in 4 s, of the largest kernel; its slowest product determines the tile."""
    kernel = {
        "shape_id": 4, "kernel_id": 1, "position": 1, "candidate": 2, "flops": 24.0, "busy_s": 4.0, "moved_byte": 10.0, "cache_byte": 10.0,
        "compute_s": 1.0, "memory_s": 1.0, "memory_level": "dram", "weight_byte": 5.0, "held_weight_fraction": 1.0,
        "cache_level": "l2", "cache_state": "warm", "traffic_byte": 10.0,
    }  # fmt: skip
    tile = {"shape_id": 4, "candidate": 2, "is_product": True, "tile_m": 16.0, "tile_n": 32.0, "tile_k": 8.0}
    gives(
        "shmoo_point",
        [{"part": "chip", "footprint_byte": 10.0, "attained_ops_per_s": 6.0, "tile": "16 x 32 x 8", "tile_count": 3.0,
          "served": "arithmetic", "weight_level": "l2", "fits_cache": True}],
        within=["shape_id", "candidate"],
        free={"kernel_cost": ["shape_id", "candidate"]},
        kernel_cost=[
            kernel,
            kernel | {"kernel_id": 0, "position": 2, "shape_id": 3},  # as many operations, later
            kernel | {"kernel_id": 2, "position": 0, "shape_id": 5, "flops": 23.0},
        ],
        tile_step=[
            tile | {"shape_id": 5, "step_id": 0, "ideal_s": 1.0, "tile_count": 1.0, "tile_m": 5.0},
            tile | {"step_id": 0, "ideal_s": 1.0, "tile_count": 5.0, "tile_m": 1.0},
            tile | {"step_id": 3, "ideal_s": 1.0, "tile_count": 3.0, "tile_m": 2.0},
            tile | {"step_id": 1, "ideal_s": 1.0, "tile_count": 3.0},
            tile | {"step_id": 2, "ideal_s": 0.5, "tile_count": 1.0, "tile_m": 3.0},
            tile | {"step_id": 4, "ideal_s": 9.0, "tile_count": 1.0, "tile_m": 4.0, "is_product": False},
        ],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {},
            {
                "tile": "none",
                "served": "dram",
                "weight_level": "dram",
                "fits_cache": False,
                "part": "chip",
                "tile_count": None,
            },
        ),
        ({"cache_state": "hot", "traffic_byte": 10.0}, {"weight_level": "l2"}),
        ({"cache_state": "hot", "traffic_byte": 11.0}, {"weight_level": "dram"}),
        ({"held_weight_fraction": 1.0 - 1e-10}, {"weight_level": "l2"}),
        ({"held_weight_fraction": 1.0 - 1e-7}, {"weight_level": "dram"}),
        ({"weight_byte": 0.0}, {"weight_level": None}),
        ({"weight_byte": None}, {"weight_level": None}),
        ({"is_simulated": True, "traffic_byte": 10.0}, {"part": "chip (simulated)", "fits_cache": True}),
    ],
)
def test_where_weights_come_from(gives: Gives, changed: Record, expected: Record) -> None:
    """Weights come from the cache if all of them are there when the kernel begins."""
    kernel = {
        "shape_id": 4, "flops": 24.0, "busy_s": 4.0, "moved_byte": 11.0, "cache_byte": 10.0, "compute_s": 1.0, "memory_s": 2.0,
        "memory_level": "dram", "weight_byte": 5.0, "held_weight_fraction": 0.9, "cache_level": "l2", "cache_state": "warm",
        "traffic_byte": 11.0,
    }  # fmt: skip
    gives("shmoo_point", [expected], kernel_cost=[kernel | changed])


def test_busy_pace(gives: Gives) -> None:
    """Twice 5 s, 1 s of it for teams; 3 s at the power limit, teams included; a level by its name."""
    shape = {"kernel_count": 2, "busy_s": 5.0, "team_s": 1.0, "compute_s": 2.0, "memory_s": 2.0, "memory_level": "l2"}
    gives(
        "busy_pace",
        [
            {"pace": "arithmetic", "pace_s": 8.0},
            {"pace": "threads", "pace_s": 2.0},
            {"pace": "power", "pace_s": 3.0},
            {"pace": "l2", "pace_s": 10.0},
        ],
        by=["pace"],
        clocked_shape=[
            shape,
            shape | {"shape_id": 1, "kernel_count": 1, "busy_s": 3.0, "is_power_bound": True},
            shape | {"shape_id": 2, "team_s": 0.0, "memory_s": 2.5},
        ],
    )


def test_paces_that_take_no_time(gives: Gives) -> None:
    """They have no row."""
    shape = {"kernel_count": 2, "busy_s": 5.0, "team_s": 0.0, "compute_s": 2.0, "memory_s": 1.0, "memory_level": "l2"}
    gives("busy_pace", [{"pace": "arithmetic", "pace_s": 10.0}], clocked_shape=[shape])


def test_every_term(bench: Any, gives: Gives, evaluate: Evaluate) -> None:
    """A row for each term that a file names, from the columns it names: every number of the kernel is different."""
    texts = {path: path.read_text() for name, path in bench.files.items() if name != "kernel_term"}
    named = [documents.parse(path, text) for path, text in texts.items() if "\n-- Term:" in text]
    found = [(term, document.name) for document in named for term in document.terms]
    fields = ("amount", "rate", "fraction", "seconds", "joules")
    columns = sorted({getattr(term, field) for term, _ in found for field in fields} - {""})
    kernel = {column: 1.0 + i for i, column in enumerate(columns)}
    rows = sorted({term.efficiency_id for term, _ in found if term.fraction})
    efficiency = {column: 1 + i for i, column in enumerate(rows)}
    names = ("amount", "rate_per_s", "fraction", "term_s", "term_j")
    gives(
        "kernel_term",
        [
            {
                "term": term.name,
                "kind": term.kind,
                "mechanism": mechanism,
                "efficiency_id": efficiency.get(term.efficiency_id),
            }
            | {name: kernel.get(getattr(term, field)) for name, field in zip(names, fields, strict=True)}
            for term, mechanism in found
        ],
        by=["term"],
        free={"efficiency": ["hardware", "backend", "precision"]},
        kernel_time=[kernel | CLASS],
        part_backend=[{}],
        chain_efficiency=[efficiency | CLASS],
        efficiency=[{"efficiency_id": i} for i in efficiency.values()],
    )
    assert {"dram", "issue", "power"} <= {term.name for term, _ in found}
    for column in sorted({term.seconds for term, _ in found}):
        # A term that takes no time has no row.
        rows = evaluate("kernel_term", kernel_time=[kernel | CLASS | {column: 0.0}], part_backend=[{}])
        assert {row["term"] for row in rows} == {term.name for term, _ in found if term.seconds != column}


CLASS = {"kernel_class": "conv", "operator_name": "*", "precision_class": "single", "layout": "nchw"}


def test_kernel_term(gives: Gives) -> None:
    """Bytes of main memory at the share of bandwidth of the row of the kernel's class, and the host's time."""
    kernel = {
        "kernel_id": 3, "kernel_class": "conv", "operator_name": "*", "precision_class": "single", "layout": "nchw",
        "dram_byte": 8.0, "dram_byte_per_s": 4.0, "memory_fraction": 0.5, "dram_s": 4.0, "dram_energy_j": 7.0,
        "host_issue_s": 2.0, "power_s": 0.0,
    }  # fmt: skip
    gives(
        "kernel_term",
        [
            {"term": "dram", "kind": "memory", "mechanism": "cost_dram", "amount": 8.0, "rate_per_s": 4.0, "fraction": 0.5,
             "term_s": 4.0, "term_j": 7.0, "efficiency_id": 1, "confidence": "measured"},
            {"term": "issue", "kind": "host", "mechanism": "kernel_cost", "amount": None, "rate_per_s": None, "fraction": None,
             "term_s": 2.0, "term_j": None, "efficiency_id": None},
        ],
        by=["term"],
        free={"efficiency": ["hardware", "backend", "precision"]},
        kernel_time=[kernel],
        part_backend=[{}],
        chain_efficiency=[
            {"kernel_class": "conv", "operator_name": "*", "precision_class": "single", "memory_efficiency_id": 1},
            {"kernel_class": "linear", "operator_name": "*", "precision_class": "single", "memory_efficiency_id": 2},
            {"efficiency_chain": "another", "kernel_class": "conv", "operator_name": "*", "precision_class": "single", "memory_efficiency_id": 2},
        ],
        efficiency=[{"efficiency_id": 1, "confidence": "measured"}, {"efficiency_id": 2}],
    )  # fmt: skip
