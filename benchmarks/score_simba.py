"""What of Simba's published figures charz gives: a package of 36 chiplets with networks on and between them.

    python -m benchmarks.score_simba

The part is benchmarks/designs/simba.yaml. ResNet-50 is its convolutions and its last product at batch 1, each in the loop nest that the
search finds fastest, one after another. What is found goes to docs/validation-simba.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from benchmarks import nests, page
from charz.session.decide.loop_nests import Product, Room, candidates

PAGE = Path(__file__).parents[1] / "docs" / "validation-simba.md"
KEYS = {"hardware": "simba", "backend": "xla", "compute_precision": "int8"}
FLOWS = ("weight_stationary",)
"""What its elements do: weights stay in their buffers."""
MEASURED_S = 1 / 1988
"""A picture of ResNet-50 at batch 1, from memory of the paper of the chip (VLSI 2019), not checked."""
CHIPLET_MM2 = 6.0
"""A chiplet of 2.5 x 2.4 mm, from memory, not checked."""
BEST = """
    SELECT * FROM loop_nest_cost WHERE latency_s IS NOT NULL
    QUALIFY ROW_NUMBER() OVER (PARTITION BY product ORDER BY latency_s, loop_nest_id) = 1
"""


def layers() -> Iterator[tuple[str, int, Product]]:
    """Distinct products of ResNet-50 with how often each is there."""

    def one(
        name: str, count: int, side: int, filters: int, channels: int, window: int, stride: int = 1
    ) -> tuple[str, int, Product]:
        sizes = (side**2, filters, channels * window**2)
        return name, count, Product(sizes, 1, window**2, (side * stride) ** 2 * channels)

    yield one("conv1", 1, 112, 64, 3, 7, 2)
    entering = 64
    for stage, (side, width, blocks) in enumerate(((56, 64, 3), (28, 128, 4), (14, 256, 6), (7, 512, 3)), start=1):
        stride = 1 if stage == 1 else 2
        yield one(f"layer{stage}.0.conv1", 1, side * stride, width, entering, 1)
        yield one(f"layer{stage}.0.conv2", 1, side, width, width, 3, stride)
        yield one(f"layer{stage}.0.downsample", 1, side, 4 * width, entering, 1, stride)
        yield one(f"layer{stage}.conv1", blocks - 1, side, width, 4 * width, 1)
        yield one(f"layer{stage}.conv2", blocks - 1, side, width, width, 3)
        yield one(f"layer{stage}.conv3", blocks, side, 4 * width, width, 1)
        entering = 4 * width
    yield "fc", 1, Product((1, 1000, 2048))


def main() -> None:
    """Cost every product and write the page."""
    products = {name: (count, product) for name, count, product in layers()}
    with nests.opened("simba") as connection:
        ((area_mm2, die_count),) = connection.execute(
            "SELECT area_mm2, (SELECT die_count FROM hardware) FROM part_leakage"
        ).fetchall()
        room = Room(8, 8, 1.0, 2359296, 44032, 576)
        some = [(name, p, nest) for name, (_, p) in products.items() for nest in candidates(p, room, FLOWS)]
        found = {row["product"]: row for row in nests.costed(connection, some, KEYS, BEST)}
    rows = [
        {
            "product": name, "count": count, "us": found[name]["latency_s"] * 1e6, "limited by": found[name]["limited_by"],
            "arithmetic, us": found[name]["compute_s"] * 1e6, "networks, us": found[name]["network_s"] * 1e6,
            "DRAM, us": found[name]["dram_s"] * 1e6,
        }
        for name, (count, _) in products.items()
    ]  # fmt: skip
    total = sum(row["count"] * row["us"] for row in rows) * 1e-6
    macs = sum(count * p.sizes[0] * p.sizes[1] * p.sizes[2] for count, p in products.values())
    without = sum(
        products[name][0] * max(row["compute_s"], row["cache_s"], row["array_s"], row["network_s"])
        for name, row in found.items()
    )
    said = (
        f"{macs / 1e9:.2f} GMAC take {total * 1e6:.0f} us ({total / MEASURED_S:.2f} of the {MEASURED_S * 1e6:.0f} us that were measured), at"
        f" the peak {2 * macs / 127.8e12 * 1e6:.0f} us; the same nests without DRAM {without * 1e6:.0f} us. A chiplet is"
        f" {area_mm2 / die_count:.2f} mm2 by charz's rules, {area_mm2 / die_count / CHIPLET_MM2:.2f} of what is in print."
    )
    page.write(
        PAGE, "Simba, 36 chiplets", [WRITTEN, said, CAUSES], [("Products of ResNet-50, batch 1", pl.DataFrame(rows))]
    )
    print(said)


CAUSES = (
    "Figures of the papers are from memory and not checked. Bandwidth of main memory is assumed (100 GB/s): the prototype is loaded over a test"
    " board, and its measured figure holds weights in place layer by layer. Not given: energies at its voltages (0.42 to 1.2 V), which"
    " charz's rules do not reach below 0.62 V, and the paper's uneven spreading of tiles by distance."
)
WRITTEN = "Written by `python -m benchmarks.score_simba`; do not edit. " + " ".join(
    (__doc__ or "").split("\n\n")[2].split()
)

if __name__ == "__main__":
    main()
