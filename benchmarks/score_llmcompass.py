"""LLMCompass's three designs (Zhang et al., ISCA 2024) by charz's rules of silicon and of making: area, dollars and what GPT-3 takes.

    python -m benchmarks.score_llmcompass [--file FILE]

GA100 and what the paper makes of it, one for latency and one for throughput, as copies of the A100 with their numbers of its table.
Twelve layers of GPT-3 are served by them in the settings of the paper's scripts (ae/figure10 and ae/figure12 of its repository). What
is found goes to docs/validation-llmcompass.md.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

import charz
from benchmarks import nests, page
from charz.session import Session

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


LAYERS, WIDTH, HEADS = 12, 12288, 96
MODEL = f"hf:gpt2,n_layer={LAYERS},n_embd={WIDTH},n_head={HEADS},n_positions=4096"
"""A pipeline stage of eight of GPT-3's layers, with the embedding and the output layer of GPT-2."""

INPUTS = (256, 512, 1024, 2048)
OUTPUTS = (256, 512, 768, 1024, 1280, 1536, 1792, 2048)
THROUGHPUT_INPUTS = (512, 2048)
LATENCY_BATCH, LATENCY_DEVICES = 16, 4
"""Of the latency-oriented design: ae/figure10/test_latency.py."""

PAPER = {"latency": 0.953, "throughput": 1.41}
"""Performance against GA100, geometric mean over the settings: from memory of the paper's table, not checked."""

SERVER = "tensorrt_llm"

SPARE = 1.25
"""Memory beside what the paper counts: the server keeps a tenth of it free, and the embedding lies there too. Decides no time."""


def main() -> None:
    """Work the three out and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help="file that holds the model, or shall; a temporary one else")
    given = parser.parse_args()
    made = _areas()
    with tempfile.TemporaryDirectory() as folder, charz.open(given.file or Path(folder) / "charz.duckdb") as db:
        there = set(db.models()["model"]) if given.file and given.file.exists() else set()
        if MODEL not in there:
            db.ingest(MODEL, no_answers=True)
        waits, served = _latencies(db), _throughputs(db)
    found = {
        "latency": statistics.geometric_mean(row["ratio"] for row in waits),
        "throughput": statistics.geometric_mean(row["ratio"] for row in served),
    }
    near = sum(abs(row["ratio of area"] - 1) <= 0.1 for row in made)
    said = f"Area within 10 %: {near} of {len(made)}. " + "; ".join(
        f"{name}-oriented design against GA100 {ratio:.3f}, paper {PAPER[name]:.3g} ({ratio / PAPER[name]:.3f} of it)"
        for name, ratio in found.items()
    )
    tables = [
        ("Area and dollars", pl.DataFrame(made)), ("Seconds of a request, batch 16 on four devices", pl.DataFrame(waits)),
        ("Requests a second of one device", pl.DataFrame(served)),
    ]  # fmt: skip
    page.write(PAGE, "Designs of LLMCompass", [WRITTEN, f"{said}.", CAUSES], tables)
    print(said)


def _areas() -> list[dict[str, Any]]:
    """Area and dollars of every design beside the paper's."""
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
    return rows


def _latencies(db: Session) -> list[dict[str, Any]]:
    """Every request of the paper on GA100 and on the latency-oriented design."""
    contexts = (*INPUTS, INPUTS[-1] + OUTPUTS[-1])
    one, other = (_served(db, DESIGNS[i], LATENCY_BATCH, contexts, LATENCY_DEVICES) for i in (0, 1))
    rows = []
    for length in INPUTS:
        for more in OUTPUTS:
            ours, theirs = (_request_s(times, length, more) for times in (one, other))
            rows.append({"input": length, "output": more, "GA100, s": ours, "latency design, s": theirs, "ratio": ours / theirs})
    return rows


def _throughputs(db: Session) -> list[dict[str, Any]]:
    """Requests a second with as many as memory holds, of some of the paper's settings, on GA100 and on the design for throughput."""
    rows = []
    for length in THROUGHPUT_INPUTS:
        rates, batches = [], []
        for design in (DESIGNS[0], DESIGNS[2]):
            batches.append(_most(design, 2 * length))
            times = _served(db, design, batches[-1], [length, 2 * length], 1)
            rates.append(batches[-1] / _request_s(times, length, length))
        rows.append(
            {
                "input": length, "output": length, "batch, GA100": batches[0], "batch, throughput design": batches[1],
                "GA100, 1/s": rates[0], "throughput design, 1/s": rates[1], "ratio": rates[1] / rates[0],
            }
        )  # fmt: skip
    return rows


def _most(design: Design, length: int) -> int:
    """Requests of so many tokens beside the weights of twelve layers: ae/figure12/test_throughput.py."""
    return int((design.dram_byte - 2 * LAYERS * WIDTH**2 * 12) // ((12 * 4 + 8) * length * WIDTH))


def _served(
    db: Session, design: Design, batch: int, contexts: Sequence[int], devices: int
) -> dict[int, tuple[float, float]]:
    """Time to the first token and of a step, of every context. [s]"""
    changes: dict[str, Any] = {
        f"{BASE}.sm.unit_count": design.cores, f"{BASE}.scratchpad.capacity_byte": design.local_byte,
        f"{BASE}.l1.capacity_byte": design.local_byte, f"{BASE}.memory.l2.capacity_byte": design.global_byte,
        f"{BASE}.memory.dram.bandwidth_byte_per_s": design.dram_byte_per_s, f"{BASE}.memory.dram.capacity_byte": SPARE * design.dram_byte,
    }  # fmt: skip
    if design.array_side != DESIGNS[0].array_side:
        changes[f"{BASE}.peak.fp16.matrix.fp32.ops_per_clock_per_unit"] = 2048 * (design.array_side / 16) ** 2
    asked = {"on": BASE, "batch": batch, "context": ",".join(map(str, contexts)), "devices": devices, "precision": "fp16"}
    as_is, changed = db.variants(changes).values()
    with as_is, changed:
        found = changed.llm(MODEL, backend=SERVER, **asked)  # type: ignore[attr-defined]
    return {row["context"]: (row["ttft_s"], row["tpot_s"]) for row in found.to_dicts()}


def _request_s(times: dict[int, tuple[float, float]], length: int, more: int) -> float:
    """A prompt and all its steps, whose time is a line between the contexts asked for. [s]"""
    spent = 0.0
    for (a, (_, x)), (b, (_, y)) in itertools.pairwise(sorted(times.items())):
        first, last = max(a, length), min(b, length + more)
        if first < last:
            slope = (y - x) / (b - a)
            spent += (last - first) * (x + slope * ((first + last) / 2 - a))
    return times[length][0] + spent


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
    "The paper's figures are from memory and not checked; the settings are those of its scripts. It prints no latency in seconds that memory"
    " holds, so that what is compared is the performance of its designs against GA100, over 32 requests for latency and over 2 of its 32 for"
    f" throughput. charz takes time to the first token and steps under {SERVER}, libraries as fitted to NVIDIA's parts; the paper searches"
    " the best mapping on the design. The design for throughput misses: its units are four times as fast beside a memory four times as"
    " large, but their tiles stay those that libraries have for an A100, so that a prompt of 512 tokens takes 1.13 times GA100's time a"
    " request where its peak is twice that; a step there is 1.44 times as fast a request. Dollars differ in kind: the paper's are of a"
    " good die and of memory at prices of its year."
)
WRITTEN = "Written by `python -m benchmarks.score_llmcompass`; do not edit. " + " ".join(
    (__doc__ or "").split("\n\n")[2].split()
)

if __name__ == "__main__":
    main()
