"""What PyTorch's fused attention pays for each block of queries on this processor, measured on one thread.

    python -m benchmarks.attention_blocks

Half a minute. Queries go in blocks of 32, of 64 from 192 on, of 256 from 768 on; each block brings its keys and values
into the product's order anew, which takes as long as some rows more of the block would. Those rows are fitted to the
times of 1 to 4,096 queries (`tiling_strategy`, `cpu_query_block`); each width of a head has a rate of its own.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import torch
from scipy.optimize import minimize_scalar
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.benchmark import Timer

from benchmarks import page

LENGTHS = (49, 64, 128, 160, 191, 192, 197, 257, 384, 577, 767, 768, 1024, 1370, 2048, 4096)
DECODED = (1, 2, 4, 8, 16)
CONTEXT = 512
CACHED = 2**19
"""Elements of all keys: 2 MiB, and as much of values."""

WIDTHS = (32, 64, 80)
LANES = 16


def block(queries: int) -> int:
    """Queries of a block."""
    return 256 if queries >= 768 else 64 if queries >= 192 else 32


def timed(queries: int, keys: int, width: int) -> dict[str, float]:
    """Median time of an attention of so many heads that its keys and values stay in the last-level cache."""
    heads = max(2, min(64, CACHED // (keys * width)))
    query, key, value = (torch.randn(1, n, heads, width).transpose(1, 2) for n in (queries, keys, keys))
    call = Timer("attend(q, k, v)", globals={"attend": scaled_dot_product_attention, "q": query, "k": key, "v": value})
    seconds = call.blocked_autorange(min_run_time=0.25).median
    rows, blocks = queries * heads, math.ceil(queries / block(queries)) * heads
    lanes = LANES * math.ceil(keys / LANES)
    return {"width": width, "queries": queries, "keys": keys, "rows": rows, "blocks": blocks,
            "seconds_a_row": seconds / rows, "gflops": 4e-9 * rows * keys * width / seconds, "work": 4.0 * lanes * width}  # fmt: skip


def errors(table: pl.DataFrame, fill: float) -> np.ndarray:
    """Logarithm of each time over that with `fill` rows more a block, at the width's own rate."""
    paid = table.with_columns(
        ((1 + fill * pl.col("blocks") / pl.col("rows")) * pl.col("work") / pl.col("seconds_a_row")).log().alias("rate")
    )
    return paid.select(pl.col("rate") - pl.col("rate").median().over("width"))["rate"].to_numpy()


def main() -> None:
    """Measure, fit, print."""
    page.print_wide(3)
    torch.set_num_threads(1)
    with torch.inference_mode():
        table = pl.DataFrame(
            [timed(n, n, width) for width in WIDTHS for n in LENGTHS]
            + [timed(n, CONTEXT, width) for width in WIDTHS for n in DECODED]
        )
    found = minimize_scalar(lambda fill: float(np.mean(np.abs(errors(table, fill)))), bounds=(0, 64), method="bounded")
    print(table.with_columns(error=pl.Series(-errors(table, found.x))).drop("work", "seconds_a_row"))
    print(f"rows a block: {found.x:.1f}, mean error {found.fun:.3f}, without {np.mean(np.abs(errors(table, 0.0))):.3f}")


if __name__ == "__main__":
    main()
