"""Distinct products of a run."""

from __future__ import annotations

from collections.abc import Callable

Gives = Callable[..., None]


def test_products_alike_are_one_row(gives: Gives) -> None:
    """Kernels 1 and 2 have shape 1, kernel 3 shape 3; all three compute the same product, except that shape 3 has a convolution's window:
    9 taps over 640 elements."""
    step = {"is_product": True, "step": "gemm", "m": 8.0, "n": 4.0, "k": 36.0, "gemm_count": 2.0, "step_id": 1}
    gives(
        "run_product",
        [
            {"m": 8.0, "k": 36.0, "taps": 1.0, "image": 576.0, "product": "first", "product_count": 2},
            {"m": 8.0, "k": 36.0, "taps": 9.0, "image": 640.0, "product": "window", "product_count": 1},
        ],
        by=["taps"],
        shape_step=[
            {**step, "shape_id": 1, "operator_id": 1},
            {**step, "shape_id": 3, "operator_id": 3, "taps": 9.0, "image": 640.0},
            {**step, "shape_id": 3, "operator_id": 3, "step": "bias", "step_id": 2, "is_product": False, "taps": 4.0},
        ],
        operator=[{"operator_id": 1, "operator": "first"}, {"operator_id": 3, "operator": "window"}],
        run_kernel=[{"kernel_id": 1, "shape_id": 1}, {"kernel_id": 2, "shape_id": 1}, {"kernel_id": 3, "shape_id": 3}],
    )


def test_products_of_other_sizes_or_precisions_are_others(gives: Gives) -> None:
    step = {"is_product": True, "step": "gemm", "m": 8.0, "n": 4.0, "k": 2.0, "gemm_count": 1.0, "operator_id": 1}
    gives(
        "run_product",
        [
            {"m": 8.0, "compute_precision": "fp16", "image": 16.0, "product_count": 1},
            {"m": 8.0, "compute_precision": "int8", "image": 16.0, "product_count": 1},
            {"m": 9.0, "compute_precision": "int8", "image": 18.0, "product_count": 1},
        ],
        by=["m", "compute_precision"],
        shape_step=[
            {**step, "shape_id": 1, "compute_precision": "fp16"},
            {**step, "shape_id": 2, "compute_precision": "int8"},
            {**step, "shape_id": 3, "compute_precision": "int8", "m": 9.0},
        ],
        operator=[{"operator_id": 1, "operator": "first"}],
        run_kernel=[{"kernel_id": i, "shape_id": i} for i in (1, 2, 3)],
    )


def test_where_operands_of_a_product_come_from(gives: Gives) -> None:
    """A kernel of two products of 8 x 4 x 36, one with windows over 144 elements of its 288, reads half of 240 bytes of weights twice and
    160 of the rest from main memory: 240 of 2 x 144 for weights, 160 of 288 + 32 and 144 + 32. One without weights moves 100 of 288 +
    144 + 32."""
    size = {"gemm_count": 1.0, "element_byte": 1.0}
    placed = size | {"candidate": 5, "tile_m": 8.0, "tile_n": 4.0, "tile_k": 4.0, "m": 8.0, "n": 4.0, "k": 36.0, "step_id": 0, "dram_byte": 400.0}
    held = {"weight_byte": 240.0, "reread_weight_byte": 240.0, "held_weight_fraction": 0.5}
    shares = {"weight_dram_fraction": 240 / 288, "activation_dram_fraction": 160 / (288 + 32 + 144 + 32)}
    none = 100 / (288 + 144 + 32)
    gives(
        "product_source",
        [
            {"kernel_id": 1, "step_id": 0, "dataflow": "wavefront", "split_k": 2, **shares},
            {"kernel_id": 1, "step_id": 1, **shares},
            {"kernel_id": 2, "step_id": 0, "weight_dram_fraction": none, "activation_dram_fraction": none},
            # All data is cached: nothing comes from main memory, whatever share of the weights stays.
            {"kernel_id": 3, "step_id": 0, "weight_dram_fraction": 0.0, "activation_dram_fraction": 0.0},
        ],
        by=["kernel_id", "step_id"],
        mapped_step=[
            placed | held | {"kernel_id": 1, "taps": 1.0, "image": 999.0},
            placed | held | {"kernel_id": 1, "step_id": 1, "taps": 9.0, "image": 144.0},
            placed | held | {"kernel_id": 1, "step_id": 2, "gemm_count": None},
            placed | {"kernel_id": 2, "weight_byte": 0.0, "reread_weight_byte": 0.0, "held_weight_fraction": 0.5, "dram_byte": 100.0},
            placed | held | {"kernel_id": 3, "dram_byte": 0.0},
        ],
        part_strategy=[{"candidate": 5, "dataflow": "wavefront", "split_k": 2}],
    )  # fmt: skip


def test_product_source(gives: Gives) -> None:
    """288 weights make 0.75 of 500 bytes of main memory; the other 284 are shared by 576 of inputs and 64 of results."""
    sizes = {"step_id": 1, "m": 8.0, "n": 4.0, "k": 36.0}
    gives(
        "product_source",
        [{"kernel_id": 1, "weight_dram_fraction": 0.75, "activation_dram_fraction": 284 / 640}],
        within=["kernel_id"],
        mapped_step=[
            {**sizes, "kernel_id": 1, "dram_byte": 500.0, "weight_byte": 288.0, "reread_weight_byte": 0.0,
             "held_weight_fraction": 0.25, "candidate": 1, "gemm_count": 1.0, "element_byte": 2.0},
        ],
        part_strategy=[{"candidate": 1, "dataflow": "weight_stationary", "split_k": 1.0}],
    )  # fmt: skip
