"""Steps that are no products, in blocks of threads on the vector units."""

from __future__ import annotations

from collections.abc import Callable

import pytest

STEP = {"is_product": False, "threads": 1024.0, "flops": 800.0}
RATE = {
    "unit_count": 2.0, "block_threads": 256.0, "vector_ops_per_s": 100.0, "vector_precision": "fp32", "vector_op_j": 0.5,
    "matrix_ops_per_s": 1000.0, "matrix_precision": "fp16",
}  # fmt: skip


def test_whole_waves(check: Callable[..., None]) -> None:
    """Four blocks on two units: two waves of a quarter of the work at 50 a second, as long as all of it at the peak."""
    expected = {
        "is_matrix": False,
        "executed_precision": "fp32",
        "peak_ops_per_s": 100.0,
        "unit_ops_per_s": 50.0,
        "op_j": 0.5,
        "tile_m": None,
        "tile_count": 4.0,
        "units_allocated": 2.0,
        "waves": 2.0,
        "reload_byte": 0.0,
        "ideal_s": 8.0,  # 2 x 200 / 50
    }
    check("vector_step", expected, shape_step=STEP, part_rate=RATE)


@pytest.mark.parametrize(
    ("step", "rate", "expected"),
    [
        # 513 threads are three blocks, two waves: each 800 x 256 / 513 operations at 50 a second.
        pytest.param({"threads": 513.0}, {}, {"waves": 2.0, "ideal_s": 2 * 800 * 256 / 513 / 50}, id="last block"),
        # All 800 operations in one block of one unit.
        pytest.param({"threads": 1.0}, {}, {"units_allocated": 1.0, "ideal_s": 16.0}, id="one block"),
        pytest.param({"threads": 0.0}, {}, {"tile_count": 1.0, "ideal_s": 16.0}, id="no threads"),
        # Without vector units, the matrix units' 1,000 a second.
        pytest.param(
            {},
            {"vector_ops_per_s": None, "vector_precision": None},
            {"ideal_s": 0.8, "executed_precision": "fp16"},
            id="no vector units",
        ),
    ],
)
def test_each_term(
    check: Callable[..., None], step: dict[str, object], rate: dict[str, object], expected: dict[str, object]
) -> None:
    """What one number changes."""
    check("vector_step", expected, shape_step=STEP | step, part_rate=RATE | rate)


def test_attention_cut_by_queries_is_elsewhere(evaluate: Callable[..., list[object]]) -> None:
    """`tile_query_block` has its softmax; products are no business of this view."""
    attention = STEP | {"query_count": 10.0}
    assert not evaluate("vector_step", shape_step=[attention], part_rate=[RATE | {"cuts_queries": True}])
    assert evaluate("vector_step", shape_step=[attention], part_rate=[RATE])
    assert evaluate("vector_step", shape_step=[STEP], part_rate=[RATE | {"cuts_queries": True}])
    assert not evaluate("vector_step", shape_step=[STEP | {"is_product": True}], part_rate=[RATE])
