"""LLMCompass's three designs (Zhang et al., ISCA 2024) by charz's rules of silicon and of making: area and dollars.

    python -m benchmarks.score_llmcompass

GA100 and what the paper makes of it, one for latency and one for throughput, as copies of the A100 with their numbers of its table. What
is found goes to docs/validation-llmcompass.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl

from benchmarks import nests, page

PAGE = Path(__file__).parents[1] / "docs" / "validation-llmcompass.md"
BASE = "a100_sxm4_80"
KIB, MIB = 1024, 1024**2


@dataclass(frozen=True, slots=True)
class Design:
    """A column of the paper's table of designs: what is given, and what it came to."""

    name: str
    cores: int
    array_side: int
    """Of one of four systolic arrays a core."""
    local_byte: int
    global_byte: int
    dram_byte: float
    dram_byte_per_s: float
    technology: str
    area_mm2: float
    die_usd: float
    memory_usd: float


DESIGNS = (
    Design("GA100", 128, 16, 192 * KIB, 48 * MIB, 80e9, 2e12, "HBM2e", 826, 151, 560),
    Design("latency", 64, 16, 192 * KIB, 24 * MIB, 80e9, 2e12, "HBM2e", 478, 80, 560),
    Design("throughput", 64, 32, 768 * KIB, 48 * MIB, 512e9, 1e12, "DDR5", 787, 142, 153),
)
"""From memory of the paper's table, not checked."""


def main() -> None:
    """Work the three out and write the page."""
    rows = []
    with nests.opened(BASE) as connection:
        for design in DESIGNS:
            area, die_usd, memory_usd, low_usd, high_usd, part_usd = _made(connection, design)
            rows.append(
                {
                    "design": design.name, "mm2, paper": design.area_mm2, "mm2": area, "ratio of area": area / design.area_mm2,
                    "die USD, paper": design.die_usd, "die USD": die_usd, "memory USD, paper": design.memory_usd, "memory USD": memory_usd,
                    "part USD": part_usd, "from": low_usd, "to": high_usd,
                }
            )  # fmt: skip
    ours, theirs = rows[0]["mm2"], rows[0]["mm2, paper"]
    for row in rows:
        row["against GA100, paper"] = row["mm2, paper"] / theirs
        row["against GA100"] = row["mm2"] / ours
    near = sum(abs(row["ratio of area"] - 1) <= 0.1 for row in rows)
    said = f"Area within 10 %: {near} of {len(rows)}."
    page.write(PAGE, "Designs of LLMCompass", [WRITTEN, said, CAUSES], [("Area and dollars", pl.DataFrame(rows))])
    print(said)


def _made(connection: duckdb.DuckDBPyConnection, design: Design) -> tuple[float, ...]:
    """Area, dollars of dice and of memory, and of the part with its band."""
    connection.execute("BEGIN")
    sizes = {
        "l1": design.local_byte,
        "scratchpad": design.local_byte,
        "l2": design.global_byte,
        "dram": design.dram_byte,
    }
    connection.execute(f"UPDATE hardware_cluster SET unit_count = {design.cores}")
    for level, size in sizes.items():
        connection.execute("UPDATE hardware_memory SET capacity_byte = ? WHERE level = ?", [size, level])
    connection.execute(
        "UPDATE hardware_memory SET bandwidth_byte_per_s = ?, technology = ? WHERE level = 'dram'",
        [design.dram_byte_per_s, design.technology],
    )
    connection.execute(
        f"UPDATE hardware_peak SET ops_per_clock_per_unit = ops_per_clock_per_unit * {design.array_side**2 / 256}"
        " WHERE unit = 'matrix'"
    )
    names = "area_mm2, die_usd, memory_usd, low_usd, high_usd, part_usd"
    (found,) = connection.execute(f"SELECT {names} FROM part_cost").fetchall()
    connection.execute("ROLLBACK")
    return tuple(map(float, found))


CAUSES = (
    "The paper's numbers are from memory and not checked. Its table of latencies (0.95 and 1.41 of GA100's performance on GPT-3) is not"
    " reproduced: it is of layers on eight devices in a setting that memory does not hold. Dollars differ in kind: the paper's are of a good die"
    " and of memory at prices of its year."
)
WRITTEN = "Written by `python -m benchmarks.score_llmcompass`; do not edit. " + " ".join(
    (__doc__ or "").split("\n\n")[2].split()
)

if __name__ == "__main__":
    main()
