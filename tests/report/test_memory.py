"""Reports of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Record = dict[str, Any]
Gives = Callable[..., None]

HELD = [
    {"kernel_id": 0, "fixed_byte": 10.0, "sample_byte": 4.0, "storage_count": 1},
    {"kernel_id": 0, "fixed_byte": 0.0, "sample_byte": 6.0, "storage_count": 2},
]
MEMORY = {"weight_byte": 20.0, "buffer_byte": 5.0, "kv_cache_byte": 12.0}
CONSTANTS = [
    {"library_constant": "allocator_block_byte", "value": 8.0},
    {"library_constant": "allocator_segment_byte", "value": 64.0},
]


def test_batch_limit(gives: Gives) -> None:
    """10 + 16 bytes per sample, with scratch half as much again and 4 of a cache: 28 per sample on top of 25 + 15. Blocks of 8 add 24
    fixed bytes. The second kernel takes more at batch 0 and grows by 5.5."""
    gives(
        "batch_limit",
        [
            {"hardware": "chip", "upper_batch": 34.0, "lower_batch": 33.0, "on_chip_batch": 15.0, "grown_byte": 28.0,
             "resident_byte": 25.0, "kv_cache_sample_byte": 4.0, "workspace_factor": 1.5, "block_byte": 8.0, "dram_byte": 1000.0},
            {"hardware": "tiny", "upper_batch": -22.0, "lower_batch": 0.0, "on_chip_batch": 0.0},
            # A process takes 56 of its 1056 bytes; another backend's row does not matter.
            {"hardware": "held", "upper_batch": 34.0, "lower_batch": 33.0, "on_chip_batch": 15.0, "context_byte": 56.0},
        ],
        by=["hardware"],
        held_term=[
            row | {"batch": 3} for row in (*HELD, {"kernel_id": 1, "fixed_byte": 100.0, "sample_byte": 1.0, "storage_count": 1})
        ],
        library_constant=CONSTANTS,
        run_memory=[MEMORY | {"batch": 3}],
        backend=[{"workspace_fraction": 0.5}],
        part_support=[{"hardware": "chip"}, {"hardware": "tiny"}, {"hardware": "held"}],
        part_context=[{"hardware": "held", "context_byte": 56.0}, {"hardware": "chip", "backend": "xla", "context_byte": 99.0}],
        part=[
            {"hardware": "chip", "dram_byte": 1000.0, "cache_byte": 500.0},
            # (55 - 25 - 1.5 * 100) / 5.5 = -21.8
            {"hardware": "tiny", "dram_byte": 55.0, "cache_byte": 1.0},
            {"hardware": "held", "dram_byte": 1056.0, "cache_byte": 500.0},
        ],
    )  # fmt: skip


def test_memory_that_does_not_grow(gives: Gives) -> None:
    """No limit."""
    gives(
        "batch_limit",
        [{"upper_batch": None, "on_chip_batch": 0.0}],
        held_term=[{"kernel_id": 0, "fixed_byte": 10.0, "sample_byte": 0.0, "storage_count": 1}],
        library_constant=CONSTANTS,
        run_memory=[MEMORY | {"kv_cache_byte": 0.0}],
        backend=[{"workspace_fraction": 0.0}],
        part_support=[{}],
        part=[{"dram_byte": 1000.0, "cache_byte": 500.0}],
    )


LIMIT = {
    "upper_batch": 34.0, "lower_batch": 30.0, "dram_byte": 1000.0, "context_byte": 0.0, "block_byte": 8.0, "resident_byte": 25.0,
    "kv_cache_sample_byte": 4.0, "workspace_factor": 1.5, "grown_byte": 28.0, "on_chip_batch": 3.0,
}  # fmt: skip


def test_largest_batch(gives: Gives) -> None:
    """34 samples take 25 + 136 + 1.5 * (152 + 2 * 208) = 1013 bytes, 33 take 25 + 132 + 1.5 * (144 + 2 * 200) = 973, 31 take
    929, and 10 take 25 + 40 + 1.5 * (56 + 2 * 64) = 341. A second kernel takes less."""
    far = {"lower_batch": 10.0}
    parts: dict[str, tuple[Record, Record]] = {
        "chip": ({}, {"largest_batch": 33, "largest_batch_byte": 973.0, "is_exact": True}),
        "wide": ({"dram_byte": 1013.0}, {"largest_batch": 34, "largest_batch_byte": 1013.0, "is_exact": True}),
        "pair": (far | {"dram_byte": 945.0}, {"largest_batch": 32, "largest_batch_byte": 945.0, "is_exact": True}),
        "low": ({"dram_byte": 901.0}, {"largest_batch": 30, "largest_batch_byte": 901.0, "is_exact": True}),
        "edge": (far | {"dram_byte": 930.0}, {"largest_batch": 31, "largest_batch_byte": 929.0, "is_exact": True}),
        "brim": (far | {"dram_byte": 929.0}, {"largest_batch": 31, "largest_batch_byte": 929.0, "is_exact": True}),
        # The process takes 101 of 1030 and 1029 bytes.
        "held": (far | {"dram_byte": 1030.0, "context_byte": 101.0}, {"largest_batch": 31, "largest_batch_byte": 929.0, "is_exact": True}),
        "tight": (far | {"dram_byte": 1029.0, "context_byte": 101.0}, {"largest_batch": 10, "largest_batch_byte": 341.0}),
        "gap": (far | {"dram_byte": 928.0}, {"largest_batch": 10, "largest_batch_byte": 341.0, "is_exact": False}),
        "none": (
            {"upper_batch": 2.0, "lower_batch": 0.0, "dram_byte": 50.0},
            {"largest_batch": 0, "largest_batch_byte": None, "is_exact": True},
        ),
        "flat": ({"upper_batch": None, "lower_batch": None}, {"largest_batch": None, "largest_on_chip_batch": None}),
        # One sample takes 25 + 4 + 1.5 * (16 + 2 * 8) = 77.
        "one": (
            {"upper_batch": 1.0, "lower_batch": 1.0, "dram_byte": 77.0},
            {"largest_batch": 1, "largest_batch_byte": 77.0, "is_exact": True},
        ),
        "full": (
            {"upper_batch": -1.0, "lower_batch": 0.0, "dram_byte": 30.0, "on_chip_batch": 0.0},
            {"largest_batch": 0, "largest_on_chip_batch": 0},
        ),
    }
    gives(
        "largest_batch",
        [
            {"hardware": name, "device_byte": (LIMIT | limit)["dram_byte"], "fixed_byte": 25.0, "sample_byte": 28.0,
             "largest_on_chip_batch": 3} | answer
            for name, (limit, answer) in parts.items()
        ],
        by=["hardware"],
        batch_limit=[LIMIT | limit | {"hardware": name} for name, (limit, _) in parts.items()],
        held_term=[*HELD, {"kernel_id": 1, "fixed_byte": 8.0, "sample_byte": 1.0, "storage_count": 1}],
        run=[{}],
    )  # fmt: skip


def test_checkpoint_saving(gives: Gives) -> None:
    """Results of 200 bytes in ceil(sqrt(5)) groups of about 67: the first three, the fourth and the fifth. The largest group keeps 100, in
    addition to the borders 7 + 9 + 3. Kernels without a result and conversions do not count."""
    bytes_ = (10.0, 20.0, 30.0, 40.0, 100.0)
    borders = (1.0, 90.0, 7.0, 9.0, 3.0)
    kernels = [{"kernel_id": i, "fused_kernel_id": i, "position": 10 + i, "shape_id": i} for i in range(5)]
    gives(
        "checkpoint_saving",
        [{"group_count": 3, "stored_byte": 200.0, "checkpointed_byte": 119.0, "saved_byte": 81.0, "saved_fraction": 0.405,
          "recompute_s": 2.0}],
        within=["kernel_id", "shape_id"],
        free={"run_kernel": ["kernel_id", "shape_id"]},
        run_kernel=[
            *kernels,
            {"kernel_id": 5, "fused_kernel_id": 5, "position": 5, "shape_id": 5},
            {"kernel_id": 6, "fused_kernel_id": 4, "position": 6, "shape_id": 4},
        ],
        shape=[{"shape_id": i, "output_byte": byte} for i, byte in enumerate((*bytes_, 0.0))],
        split_kernel=[
            {"kernel_id": i, "crossing_byte": byte, "is_backward": False} for i, byte in enumerate((*borders, 50.0, 60.0))
        ],
        model=[{"is_training": False}],
        run_cost=[{"latency_s": 2.0}],
    )  # fmt: skip


def test_checkpoints_that_save_nothing(gives: Gives) -> None:
    """One result is kept either way."""
    gives(
        "checkpoint_saving",
        [{"group_count": 1, "stored_byte": 10.0, "checkpointed_byte": 10.0, "saved_byte": 0.0, "saved_fraction": 0.0}],
        run_kernel=[{"kernel_id": 1, "fused_kernel_id": 1, "position": 0}],
        shape=[{"output_byte": 10.0}],
        split_kernel=[{"kernel_id": 1, "crossing_byte": 50.0, "is_backward": False}],
        model=[{"is_training": False}],
        run_cost=[{"latency_s": 2.0}],
    )


def test_checkpoints_of_a_training_run(gives: Gives) -> None:
    """Two results of the forward pass in two groups, each kept at its border in addition to the larger one; a third of 18
    multiply-accumulates is repeated."""
    gives(
        "checkpoint_saving",
        [{"group_count": 2, "stored_byte": 30.0, "checkpointed_byte": 30.0, "recompute_s": 1.0}],
        within=["kernel_id", "shape_id"],
        free={"run_kernel": ["kernel_id", "shape_id"]},
        run_kernel=[{"kernel_id": i, "fused_kernel_id": i, "position": i, "shape_id": i} for i in range(3)],
        shape=[{"shape_id": i, "output_byte": byte} for i, byte in enumerate((10.0, 20.0, 40.0))],
        split_kernel=[{"kernel_id": i, "crossing_byte": 99.0, "is_backward": i == 2} for i in range(3)],
        model=[{"is_training": True}],
        run_cost=[{"latency_s": 3.0, "macs": 18.0}],
        trained_run=[{"block_macs": 4.0, "end_macs": 2.0}],
    )


def test_memory_fit(gives: Gives) -> None:
    """70 bytes of weights, 40 of gradients and activations, 200 together; twice 100 for computing one layer while the next loads; a memory
    of 50 in each of four units."""
    columns = ("level", "capacity_byte", "fits_weight", "fits_activation", "fits_all", "fits_double_buffered")
    rows = [
        ("dram", 1000.0, True, True, True, True),
        ("l1", 200.0, True, True, True, True),
        ("l2", 199.0, True, True, False, False),
        ("l3", 70.0, True, True, False, False),
        ("l4", 69.0, False, True, False, False),
        ("l5", 40.0, False, True, False, False),
        ("l6", 39.0, False, False, False, False),
    ]
    amounts = {"weight_byte": 70.0, "activation_byte": 40.0, "double_buffered_byte": 200.0}
    gives(
        "memory_fit",
        [amounts | dict(zip(columns, row, strict=True)) for row in rows],
        by=["level"],
        run=[{}],
        part_support=[{}],
        run_memory=[
            {"weight_byte": 60.0, "buffer_byte": 10.0, "gradient_byte": 10.0, "activation_byte": 20.0, "rounding_byte": 6.0, "workspace_byte": 4.0,
             "peak_memory_byte": 200.0}
        ],
        part=[{"unit_count": 4.0}],
        part_memory=[
            {"level": level, "capacity_byte": 50.0 if level == "l1" else size, "scope": "unit" if level == "l1" else "chip"}
            for level, size, *_ in rows
        ] + [{"level": "unknown", "scope": "chip"}],
    )  # fmt: skip


def test_streamed_weight(gives: Gives) -> None:
    """20 bytes of weights and 5 of buffers fit 25 that software manages, if nothing is kept there."""
    said = {"backend": "xla", "precision": "int8"}
    parts = {
        "reads": {}, "small": {"cache_byte": 24.0}, "cache": {"is_cache_placed": False}, "keeps": {"keeps_weights": True},
    }  # fmt: skip
    support = [
        said | {"hardware": name, "cache_level": "l3", "cache_byte": 25.0, "is_cache_placed": True, "keeps_weights": False} | other
        for name, other in parts.items()
    ]
    states = ["warm", "weights_streamed", "weights_resident", "cold"]
    gives(
        "streamed_weight",
        [
            {"hardware": "keeps", "scenario_id": 2},
            {"hardware": "reads", "scenario_id": 1, "weight_byte": 25.0, "cache_byte": 25.0, "cache_level": "l3"},
            {"hardware": "reads", "scenario_id": 2},
        ],
        by=["hardware", "scenario_id"],
        run=[said | {"scenario_id": number, "cache_state": state} for number, state in enumerate(states, start=1)],
        run_memory=[said | {"scenario_id": number, "weight_byte": 20.0, "buffer_byte": 5.0} for number in range(1, 5)],
        part_support=support,
    )


def test_host_weight(gives: Gives) -> None:
    """2 units of 10 bytes and 4 of the chip are 24: 20 bytes of weights and 5 of buffers exceed them on a part that the host serves."""
    memories = [("scratchpad", "unit", "SRAM", 10.0), ("l2", "chip", "SRAM", 4.0), ("dram", "chip", "host", 99.0)]
    gives(
        "host_weight",
        [{"weight_byte": 25.0, "chip_byte": 24.0, "scenario_id": 1}],
        run=[{"scenario_id": number} for number in (1, 2)],
        run_memory=[{"scenario_id": 1, "weight_byte": 20.0, "buffer_byte": 5.0}, {"scenario_id": 2, "weight_byte": 20.0, "buffer_byte": 4.0}],
        part=[{"unit_count": 2.0}, {"hardware": "own", "unit_count": 2.0}],
        part_support=[{}, {"hardware": "own"}],
        hardware_memory=[
            {"hardware": part, "level": level, "scope": scope, "technology": technology if part == "chip" else "SRAM", "capacity_byte": byte}
            for part in ("chip", "own")
            for level, scope, technology, byte in memories[: 3 if part == "chip" else 2]
        ],
    )  # fmt: skip


def test_unusual_backend(gives: Gives) -> None:
    """People run int8 with `trt` on chips of this maker. Without such a row for the precision, or for a server, nothing is unusual."""
    runs = [{"scenario_id": i, "backend": backend, "precision": precision} for i, (backend, precision) in enumerate(
        (("eager", "int8"), ("trt", "int8"), ("eager", "fp32"), ("vllm", "int8")), start=1)]  # fmt: skip
    gives(
        "unusual_backend",
        [{"scenario_id": 1, "backend": "eager", "precision": "int8", "usual_backend": "trt"}],
        across=["backend", "precision"],
        run=runs,
        part_support=[{name: run[name] for name in ("backend", "precision")} for run in runs],
        supported_backend=[{"backend": name, "serves": name == "vllm"} for name in ("eager", "trt", "vllm")],
        hardware=[{"family": "gpu", "vendor": "maker", "market": "edge"}],
        default_backend=[
            {"family": family, "vendor": vendor, "market": "*", "precision": precision, "backend": backend}
            for family, vendor, precision, backend in (
                ("gpu", "maker", "int8", "trt"), ("gpu", "maker", "*", "xla"), ("gpu", "other", "int8", "a"), ("cpu", "*", "int8", "a"),
            )
        ],
    )  # fmt: skip


def test_memory_timeline(gives: Gives) -> None:
    """24 bytes in blocks and 1 + 2 + 4 that stay; then 40, during the activation and during the copy made for it."""
    gives(
        "memory_timeline",
        [
            {"kernel_id": 0, "kernel": "conv", "operator": "conv2d", "module": "stem", "resident_byte": 7.0, "total_byte": 31.0},
            {"kernel_id": 1, "kernel": "relu", "operator": "relu", "module": "head", "resident_byte": 7.0, "total_byte": 47.0},
            {"kernel_id": 2, "position": 1, "kernel": "copy", "operator": "relu", "storage_count": 5, "live_byte": 33.0, "total_byte": 47.0},
        ],
        by=["kernel_id"],
        run=[{}],
        memory_step=[
            {"kernel_id": 0, "allocated_byte": 24.0, "live_byte": 20.0, "storage_count": 3},
            {"kernel_id": 1, "allocated_byte": 40.0, "live_byte": 33.0, "storage_count": 5},
        ],
        run_memory=[{"weight_byte": 1.0, "buffer_byte": 2.0, "kv_cache_byte": 4.0}],
        run_kernel=[
            {"kernel_id": 0, "fused_kernel_id": 0, "position": 0, "kernel": "conv", "operator": "conv2d", "module": "stem"},
            {"kernel_id": 1, "fused_kernel_id": 1, "position": 2, "kernel": "relu", "operator": "relu", "module": "head"},
            {"kernel_id": 2, "fused_kernel_id": 1, "position": 1, "kernel": "copy", "operator": "relu", "module": "head"},
        ],
    )  # fmt: skip
