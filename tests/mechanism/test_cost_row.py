"""Rows of a normalization, each a block of threads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {"kernel_class": "norm", "row_count": 50.0, "norm_row_s": 0.25, "channel_row_s": 0.125, "dram_s": 3.0, "kernel_gap_s": 1.0, "follows_strides": True}


@pytest.mark.parametrize(
    ("shape", "block_s", "row_s"),
    [
        # 50 rows of 0.25 s, then the traffic of 3 s.
        ({}, 12.5, 15.5),
        # A compiler assigns several rows to a block.
        ({"follows_strides": False}, 0.0, 0.0),
        ({"row_count": 0.0}, 0.0, 0.0),
        # The part's number of threads is unknown.
        ({"norm_row_s": None}, 0.0, 0.0),
        # A batch norm has a smaller block for each channel of each sample, and none in channels-last.
        ({"kernel_class": "batch_norm"}, 6.25, 0.0),
        ({"kernel_class": "batch_norm", "layout": "nhwc"}, 0.0, 0.0),
        # In half precision, two small kernels convert the statistics.
        ({"kernel_class": "batch_norm", "layout": "nhwc", "compute_precision": "fp16"}, 2.0, 0.0),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], block_s: float, row_s: float) -> None:
    """Each case changes one number."""
    check("cost_row", {"block_s": block_s, "row_s": row_s}, cost_latency_bound=SHAPE | shape)
