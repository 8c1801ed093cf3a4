"""Memory of a run, kernel by kernel, and fresh pages from its system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Record = dict[str, Any]


def storage(first: int, last: int, held: float, allocated: float, **changed: Any) -> Record:
    """Make a storage with its first and last kernel."""
    usual = {"first_kernel_id": first, "last_kernel_id": last, "held_byte": held, "allocated_byte": allocated}
    return usual | changed


def test_storages_held_at_each_kernel(evaluate: Callable[..., list[Record]]) -> None:
    """The input from before the first kernel to the first; a result of each of kernels 0 and 1."""
    storages = [storage(-1, 0, 100.0, 512.0), storage(0, 1, 600.0, 1024.0), storage(1, 2, 10.0, 512.0)]
    kernels = [{"kernel_id": i} for i in range(3)]
    rows = evaluate("memory_step", run=[{}], kernel=kernels, storage_byte=storages)
    found = {row["kernel_id"]: (row["storage_count"], row["live_byte"], row["allocated_byte"]) for row in rows}
    assert found == {0: (2, 700.0, 1536.0), 1: (2, 610.0, 1536.0), 2: (1, 10.0, 512.0)}


@pytest.mark.parametrize("size", [1536.0, 512.0 * 2**32])
def test_peak_is_the_first_of_equals(check: Callable[..., None], size: float) -> None:
    """Kernels 1 and 2 need equal memory, 1,536 bytes and 2 TiB; ten weights and a tenth of scratch memory."""
    steps = [
        {"kernel_id": 0, "live_byte": 1.0, "allocated_byte": size / 2},
        {"kernel_id": 1, "live_byte": size - 512, "allocated_byte": size},
        {"kernel_id": 2, "live_byte": size - 100, "allocated_byte": size},
    ]
    expected = {
        "peak_kernel_id": 1,
        "activation_byte": size - 512,
        "rounding_byte": 512.0,
        "workspace_byte": size / 8,
        "peak_memory_byte": 10 + size * 1.125,
    }
    for order in (steps, steps[::-1]):
        check(
            "run_memory",
            expected,
            run={},
            backend={"workspace_fraction": 0.125},
            resident_byte={"device_weight_byte": 10.0, "buffer_byte": 0.0, "device_cache_byte": 0.0},
            memory_step=order,
        )


def test_what_a_plan_holds(evaluate: Callable[..., list[Record]]) -> None:
    """A result from its producer to its last reader, in 32 bits if a kernel writes it wide; its copy, and a weight's copy until the last
    kernel, each from its first reader on."""
    casts = {"casts_are_kernels": True, "weight_casts_are_kernels": True}
    rows = evaluate(
        "planned_storage",
        run=[{"scenario_id": 1, "precision": "fp16"}, {"scenario_id": 2, "precision": "fp16", "batch": 8}],
        backend=[casts],
        precision=[{"precision": "fp16", "bits": 16}, {"precision": "fp32", "bits": 32}],
        tensor=[{"tensor_id": 0, "storage_tensor_id": 0, "role": "activation"}, {"tensor_id": 1, "role": "weight"}],
        tensor_lifetime=[{"tensor_id": 0, "first_kernel_id": 1, "last_kernel_id": 3, "block_tensor_id": 0}],
        tensor_precision=[{"tensor_id": 0, "policy": "fp16", "precision": "fp16"}],
        kernel_tensor=[{"tensor_id": 0, "kernel_id": 1, "direction": "write", "is_wide": True}],
        read_precision=[
            {"tensor_id": tensor, "operator_id": operator, "policy": "fp16", "precision": "fp16"}
            for tensor, operator in ((0, 2), (0, 3), (1, 2))
        ],
        kernel_operator=[{"operator_id": i, "kernel_id": i} for i in (2, 3)],
        kernel=[{"kernel_id": i} for i in range(6)],
    )
    held = {
        (row["tensor_id"], row["is_copy"]): (
            row["storage_precision"],
            row["bits"],
            row["first_kernel_id"],
            row["last_kernel_id"],
        )
        for row in rows
    }
    assert len(rows) == 3
    assert held == {
        (0, False): ("fp32", 32, 1, 3), (0, True): ("fp16", 16, 2, 3), (1, True): ("fp16", 16, 2, 5),
    }  # fmt: skip


def test_weights_of_a_kernel(check: Callable[..., None]) -> None:
    """Two weights of ten elements of two bytes, one trained and read through a view; activations, writes and other kernels' reads do not
    count."""
    crossing = [
        {"tensor_id": 0, "direction": "read", "role": "weight"},
        {"tensor_id": 1, "direction": "read", "role": "weight"},
        {"tensor_id": 2, "direction": "read", "role": "input"},
        {"tensor_id": 2, "direction": "write", "role": "weight"},
    ]
    check(
        "held_weight",
        {"kernel_id": 0, "held_byte": 40.0, "trained_byte": 20.0},
        run={},
        kernel_tensor=crossing,
        tensor=[
            {"tensor_id": 0, "storage_tensor_id": 3, "is_trained": False},
            {"tensor_id": 1, "storage_tensor_id": 1, "is_trained": False},
            {"tensor_id": 2, "storage_tensor_id": 2, "is_trained": False},
            {"tensor_id": 3, "storage_tensor_id": 3, "is_trained": True},
        ],
        tensor_size=[{"tensor_id": i, "elements": 10.0} for i in range(3)],
        tensor_precision=[{"tensor_id": i, "precision": "fp16"} for i in range(3)],
        precision={"precision": "fp16", "bits": 16},
    )


def test_blocks_are_rounded_up(check: Callable[..., None]) -> None:
    """513 bytes take two blocks of 512."""
    check(
        "storage_byte",
        {"held_byte": 513.0, "allocated_byte": 1024.0, "is_copy": False, "storage_precision": "int8"},
        run={},
        planned_storage={"storage_precision": "int8", "bits": 8, "is_copy": False},
        tensor_size={"elements": 513.0},
        library_constant={"library_constant": "allocator_block_byte", "value": 512.0},
    )


@pytest.mark.parametrize(("phase", "kv_cache_byte"), [("forward", 0.0), ("prefill", 80.0), ("decode", 80.0)])
def test_weights_and_cache(check: Callable[..., None], phase: str, kv_cache_byte: float) -> None:
    """Storages with two names count once."""
    tensors = [
        {"tensor_id": 0, "role": "weight", "storage_tensor_id": 0},
        {"tensor_id": 1, "role": "weight", "storage_tensor_id": 0},
        {"tensor_id": 2, "role": "buffer", "storage_tensor_id": 2},
        {"tensor_id": 3, "role": "constant", "storage_tensor_id": 3},
        {"tensor_id": 4, "role": "kv_cache", "storage_tensor_id": 4},
        {"tensor_id": 5, "role": "activation", "storage_tensor_id": 5},
    ]
    check(
        "resident_byte",
        {"weight_byte": 40.0, "buffer_byte": 80.0, "kv_cache_byte": kv_cache_byte},
        run={"phase": phase},
        tensor=tensors,
        tensor_size=[{"tensor_id": i, "elements": 10.0 if i < 4 else 20.0} for i in range(6)],
        tensor_precision=[{"tensor_id": i, "precision": "fp32"} for i in range(6)],
        precision={"precision": "fp32", "bits": 32},
    )


def test_what_crosses_a_cut(evaluate: Callable[..., list[Record]]) -> None:
    """A result of kernel 0 read by 1 and 2, one of kernel 1 read by 2; weights and unread results cross nowhere."""
    crossing = [
        {"tensor_id": 0, "kernel_id": 0, "direction": "write", "moved_byte": 10.0},
        {"tensor_id": 0, "kernel_id": 1, "direction": "read", "is_produced": True, "moved_byte": 10.0},
        {"tensor_id": 3, "kernel_id": 2, "direction": "read", "is_produced": True, "moved_byte": 10.0},
        {"tensor_id": 1, "kernel_id": 1, "direction": "write", "moved_byte": 5.0},
        {"tensor_id": 1, "kernel_id": 2, "direction": "read", "is_produced": True, "moved_byte": 5.0},
        {"tensor_id": 2, "kernel_id": 2, "direction": "read", "is_produced": False, "moved_byte": 1000.0},
        {"tensor_id": 4, "kernel_id": 2, "direction": "write", "moved_byte": 100.0},
    ]
    # Tensor 3 is a view of tensor 0.
    tensors = [{"tensor_id": i, "storage_tensor_id": 0 if i == 3 else i} for i in range(5)]
    kernels = [{"kernel_id": i} for i in range(3)]
    rows = evaluate("cut_byte", run=[{}], kernel=kernels, tensor=tensors, border_byte=crossing)
    assert {row["kernel_id"]: row["crossing_byte"] for row in rows} == {0: 10.0, 1: 15.0, 2: 0.0}


def test_fresh_pages(evaluate: Callable[..., list[Record]]) -> None:
    """Blocks of 1,000 bytes and more are mapped anew; for the others the heap grows by a quarter at batches from 2 on. A result that takes
    over a block is not allocated; converted copies of one size share theirs."""
    storages = [
        storage(0, 1, 400.0, 512.0, tensor_id=0, block_tensor_id=0, storage_precision="fp32"),
        storage(1, 2, 300.0, 512.0, tensor_id=1, block_tensor_id=0, storage_precision="fp32"),
        storage(1, 2, 2000.0, 2048.0, tensor_id=2, block_tensor_id=2, storage_precision="fp32"),
        storage(-1, 2, 5000.0, 5120.0, tensor_id=3, block_tensor_id=3, storage_precision="fp32"),
    ]
    calls = [
        {"kernel_id": 1, "scratch_byte": 200.0, "channels_last_byte": 1200.0},
        {"kernel_id": 2, "scratch_byte": 0.0, "channels_last_byte": 1200.0},
        {"kernel_id": 0, "scratch_byte": 0.0, "channels_last_byte": 600.0},
    ]
    growths = [
        {"batch": 1, "growth_fraction": 0.0}, {"batch": 2, "growth_fraction": 0.25}, {"batch": 8, "growth_fraction": 1.0},
    ]  # fmt: skip
    rows = evaluate(
        "page_fault",
        run=[{"batch": 4}],
        heap_growth=growths,
        storage_byte=storages,
        convolution_call=calls,
        library_constant=[{"library_constant": "mapped_block_byte", "value": 1000.0}],
    )
    faults = {row["kernel_id"]: row["fault_byte"] for row in rows if row["fault_byte"]}
    # A quarter of the block of 400; 2,000 whole, a quarter of 200 and 1,200 of channels-last weights once.
    assert faults == {0: 100.0, 1: 2000.0 + 50.0 + 1200.0}


def test_a_run_stays_where_it_fits_twice(evaluate: Callable[..., list[Record]]) -> None:
    """An MLP n - n - n in int8 at batch 4: 2 n^2 of weights, 2 n of biases, at most 12 n of activations: for n = 8, 480 bytes twice."""
    rows = evaluate(
        "memory_fit",
        run=[{}],
        run_memory=[{"weight_byte": 128.0, "buffer_byte": 16.0, "gradient_byte": 0.0, "activation_byte": 96.0}],
        part_memory=[
            {"level": "l1", "depth": 1, "scope": "unit", "capacity_byte": 120.0},
            {"level": "l2", "depth": 2, "scope": "chip", "capacity_byte": 479.0},
        ],
        part=[{"unit_count": 4.0}],
        part_support=[{}],
    )
    assert {row["level"]: row["fits_double_buffered"] for row in rows} == {"l1": True, "l2": False}
    assert {row["double_buffered_byte"] for row in rows} == {480.0}


@pytest.mark.parametrize(
    ("tensor", "given", "kv_cache_byte", "lasting_byte"),
    [
        # 20 elements of keys are 20 bytes in an 8-bit format; without a context none lasts.
        pytest.param({"producer_operator_id": 1}, {}, 20.0, 0.0, id="keys in another format"),
        # A state is given to the run and stays in fp32: 20 elements, whatever the context.
        pytest.param({"producer_operator_id": None}, {"lasting_elements": 20.0}, 80.0, 80.0, id="a state"),
        # A chunk of 20 elements of a context of 90.
        pytest.param({"producer_operator_id": 1, "is_chunked": True}, {}, 90.0, 0.0, id="an engine that keeps all"),
        pytest.param({"producer_operator_id": 1, "is_chunked": True}, {"drops_chunks": True}, 20.0, 0.0, id="a chunk alone"),
    ],
)
def test_what_a_request_keeps(
    check: Callable[..., None], tensor: Record, given: Record, kv_cache_byte: float, lasting_byte: float
) -> None:
    size = {"tensor_id": 0, "elements": 20.0, "whole_elements": 90.0, "lasting_elements": given.get("lasting_elements", 0.0)}
    check(
        "resident_byte",
        {"kv_cache_byte": kv_cache_byte, "device_lasting_byte": lasting_byte},
        run={"phase": "decode", "kv_bits": 8},
        backend={"drops_chunks": given.get("drops_chunks", False)},
        tensor={"tensor_id": 0, "role": "kv_cache", **tensor},
        tensor_size=size,
        tensor_precision={"tensor_id": 0, "precision": "fp32"},
        precision={"precision": "fp32", "bits": 32},
    )


TERM = {"tensor_id": 0, "sequence_power": 0, "context_power": 0, "logit_power": 0}


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        # 3 samples of 5 tokens of 7 elements: each token has 7.
        pytest.param({"sequence_power": 1}, {"elements": 105.0, "token_elements": 105.0}, id="of each token"),
        # 3 samples of 7 elements, however many tokens: a step of a whole chunk of tokens has no more.
        pytest.param({}, {"elements": 21.0, "token_elements": 0.0, "lasting_elements": 21.0}, id="of each sample"),
        # 3 samples of a context of 100, of which 16 tokens count.
        pytest.param(
            {"context_power": 1, "context_limit": 16},
            {"elements": 336.0, "whole_elements": 2100.0, "lasting_elements": 0.0, "token_elements": 0.0},
            id="of a window",
        ),
    ],
)
def test_what_grows_with_the_tokens_of_a_step(check: Callable[..., None], term: Record, expected: Record) -> None:
    check(
        "tensor_size",
        expected,
        run={"batch": 3, "sequence": 5, "context": 100, "logit_tokens": 1, "chunk_count": 1.0},
        model={"is_sequence_symbolic": True},
        tensor_term=TERM | {"coefficient": 7.0, "batch_power": 1} | term,
    )


@pytest.mark.parametrize(("phase", "count"), [("prefill", 1), ("decode", 0)])
def test_what_a_prompt_alone_holds(evaluate: Callable[..., list[Record]], phase: str, count: int) -> None:
    """An encoder's results are absent in a step of one token."""
    rows = evaluate(
        "storage_byte",
        run=[{"phase": phase}],
        planned_storage=[{"storage_precision": "int8", "bits": 8, "is_copy": False, "is_prompt_only": True}],
        tensor_size=[{"elements": 513.0}],
        library_constant=[{"library_constant": "allocator_block_byte", "value": 512.0}],
    )
    assert len(rows) == count
