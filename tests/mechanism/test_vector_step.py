"""Steps other than products, in blocks of threads on the vector units."""

from __future__ import annotations

from collections.abc import Callable

import pytest

STEP = {"is_product": False, "threads": 1024.0, "flops": 800.0}
RATE = {
    "vector_unit_count": 2.0, "block_threads": 256.0, "vector_ops_per_s": 100.0, "vector_precision": "fp32", "vector_op_j": 0.5,
    "matrix_ops_per_s": 1000.0, "matrix_precision": "fp16",
}  # fmt: skip


def test_whole_waves(check: Callable[..., None]) -> None:
    """Four blocks on two units: two waves of a quarter of the work at 50 per second, as long as all of it at the peak."""
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
        "stream_s": 0.0,
        "ideal_s": 8.0,  # 2 x 200 / 50
    }
    check("vector_step", expected, shape_step=STEP, arithmetic_rate=RATE)


@pytest.mark.parametrize(
    ("step", "rate", "expected"),
    [
        # 513 threads are three blocks, two waves: each 800 x 256 / 513 operations at 50 per second.
        pytest.param({"threads": 513.0}, {}, {"waves": 2.0, "ideal_s": 2 * 800 * 256 / 513 / 50}, id="last block"),
        # All 800 operations in one block of one unit.
        pytest.param({"threads": 1.0}, {}, {"units_allocated": 1.0, "ideal_s": 16.0}, id="one block"),
        pytest.param({"threads": 0.0}, {}, {"tile_count": 1.0, "ideal_s": 16.0}, id="no threads"),
        # Without vector units, the matrix units' 1,000 per second.
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
    """Each case changes one number."""
    check("vector_step", expected, shape_step=STEP | step, arithmetic_rate=RATE | rate)


SHARED = {"is_reducing": True, "threads": 512.0, "flops": 51_200.0}
DOMAIN_FLOW = {
    "is_staged": True, "vector_unit_count": 8.0, "block_threads": 256.0, "vector_ops_per_s": 800.0, "element_byte": 1.0,
    "load_unit_byte_per_s": 1024.0, "stream_unit_byte_per_s": 1536.0, "matrix_array_rows": 4.0, "matrix_array_columns": 4.0,
    "matrix_unit_count": 8.0, "matrix_ops_per_s": 2560.0, "matrix_precision": "int8",
    "vector_precision": "fp32", "vector_op_j": 0.5, "matrix_op_j": 0.25,
}  # fmt: skip
"""Eight units of 100 operations and 1,024 loaded bytes per second, arrays of 4 x 4 at 10 steps per second."""


def test_units_share_the_elements_of_a_result(check: Callable[..., None]) -> None:
    """Two blocks of 256 results of 100 elements each: 256 s in one unit. Four units share a block: 64 s, and two rounds in which 256
    partial results of 4 bytes meet (1 s) and are added (2.56 s); more units would pay up to LN(2) x 256 / 3.56 = 49.8."""
    expected = {
        "tile_count": 8.0,
        "units_allocated": 8.0,
        # The first element crosses the array in 100 + 4 + 4 - 2 steps.
        "ideal_s": 64.0 + 2 * 3.56 + 10.6,
        # Each result's elements and itself, by eight units that draw 12,288 bytes per second.
        "stream_byte": 512.0 * 101,
        "stream_s": 512 * 101 / 12_288,
        "is_matrix": False,
    }
    check("vector_step", expected, shape_step=STEP | SHARED, arithmetic_rate=DOMAIN_FLOW)


@pytest.mark.parametrize(
    ("step", "rate", "expected"),
    [
        # Rounds of 40 and 2.56 s: four parts pay, LN(2) x 256 / 42.56 = 4.17, a fifth does not.
        pytest.param({"threads": 256.0, "flops": 25_600.0}, {"load_unit_byte_per_s": 25.6}, {"tile_count": 4.0}, id="slow rounds"),
        # Units share elements only for reducing operators on domain-flow parts.
        pytest.param({"is_reducing": False}, {}, {"tile_count": 2.0, "ideal_s": 256.0, "stream_byte": 0.0}, id="no reduction"),
        pytest.param({}, {"is_staged": False}, {"tile_count": 2.0, "ideal_s": 256.0, "stream_byte": 0.0}, id="no domain flow"),
        # Streams with 51,712 bytes at 512 per second.
        pytest.param({}, {"stream_unit_byte_per_s": 64.0}, {"stream_s": 101.0, "ideal_s": 101.0 + 10.6}, id="fed slowly"),
        # In one column 512 results are 128 tiles, 16 per unit: 25 + 3 and 15 x 25 steps at 10 per second. Vector units
        # with a hundredth of the rate take longer.
        pytest.param(
            {"macs": 12_800.0, "flops": 25_600.0}, {"vector_ops_per_s": 8.0},
            {"is_matrix": True, "executed_precision": "int8", "op_j": 0.25, "ideal_s": 40.3}, id="one column",
        ),
    ],
)  # fmt: skip
def test_domain_flow(
    check: Callable[..., None], step: dict[str, object], rate: dict[str, object], expected: dict[str, object]
) -> None:
    """Each case changes one number."""
    check("vector_step", expected, shape_step=STEP | SHARED | step, arithmetic_rate=DOMAIN_FLOW | rate)


def test_attention_cut_by_queries_is_elsewhere(evaluate: Callable[..., list[object]]) -> None:
    """`tile_query_block` has its softmax; this view excludes products."""
    attention = STEP | {"query_count": 10.0}
    assert not evaluate("vector_step", shape_step=[attention], arithmetic_rate=[RATE | {"cuts_queries": True}])
    assert evaluate("vector_step", shape_step=[attention], arithmetic_rate=[RATE])
    assert evaluate("vector_step", shape_step=[STEP], arithmetic_rate=[RATE | {"cuts_queries": True}])
    assert not evaluate("vector_step", shape_step=[STEP | {"is_product": True}], arithmetic_rate=[RATE])
