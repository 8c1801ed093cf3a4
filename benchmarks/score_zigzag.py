"""Energies of the best loop nests as ZigZag 3.9 finds them, beside those of charz's search.

    python -m venv ENV && ENV/bin/pip install zigzag-dse==3.9.* six
    python -m benchmarks.score_zigzag ENV/bin/python

Convolutions of ResNet-18 on an array of 32 x 32, output channels along its columns and input channels along its rows, with 128 KiB beside
it and the same energies a byte (benchmarks/designs/zigzag.yaml). ZigZag orders loops by their prime factors (six of them), charz
searches tiles of its weight-stationary array by energy. What is found goes to docs/validation-zigzag.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import polars as pl
import yaml

from benchmarks import nests, page
from charz.session.decide.loop_nests import Product, Room, candidates

PAGE = Path(__file__).parents[1] / "docs" / "validation-zigzag.md"
KEYS = {"hardware": "zigzag", "backend": "xla", "compute_precision": "int8"}
SIDE, HELD_BYTE = 32, 128 * 1024
DRAM_PJ, SRAM_PJ, MAC_PJ = 64.0, 2.0, 0.3
"""Of a byte, a byte and a multiply-accumulate."""
FACTORS = 6

LAYERS = {
    "conv1": (64, 3, 112, 7, 2), "layer1": (64, 64, 56, 3, 1), "layer2.0": (128, 64, 28, 3, 2), "layer2": (128, 128, 28, 3, 1),
    "layer2.down": (128, 64, 28, 1, 2), "layer3.0": (256, 128, 14, 3, 2), "layer3": (256, 256, 14, 3, 1),
    "layer3.down": (256, 128, 14, 1, 2), "layer4.0": (512, 256, 7, 3, 2), "layer4": (512, 512, 7, 3, 1),
    "layer4.down": (512, 256, 7, 1, 2),
}  # fmt: skip
"""Filters, channels, side of the results, side of the window and stride, at batch 1."""

THEIRS = """
import json, logging, sys, time
logging.disable(logging.CRITICAL)
from zigzag.api import get_hardware_performance_zigzag
for name in sys.argv[2:]:
    begun = time.process_time()
    energy, cycles, _ = get_hardware_performance_zigzag(
        f"{name}.yaml", "array.yaml", "mapping.yaml", opt="energy", lpf_limit=int(sys.argv[1]), dump_folder="out",
        pickle_filename="out/found.pickle", nb_spatial_mappings_generated=1, loma_show_progress_bar=False)
    print("found", json.dumps([name, energy, cycles, time.process_time() - begun]), flush=True)
"""
"""Runs in ZigZag's environment."""

CAUSES = (
    "charz counts what crosses a border once, with the energy of the memory that it leaves or enters; ZigZag adds the write into the array's"
    " memory of what comes from DRAM. charz holds both operands twice, ZigZag once. The first layer has 3 channels: ZigZag is given channels"
    " along the rows of the array and fills 3 of 32, charz takes 147 products of a window for its depth and fills them all, so that sums leave"
    " the array a fifth as often and weights are not loaded anew with every step."
)


def main() -> None:
    """Run both and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", type=Path, help="interpreter of an environment with zigzag-dse")
    python = parser.parse_args().python.absolute()
    theirs = zigzag(python)
    ours, own_s = charz()
    rows = [
        {
            "layer": name, "ZigZag, uJ": energy / 1e6, "charz, uJ": ours[name] / 1e6, "ratio": ours[name] / energy,
            "ZigZag, CPU s": spent_s, "charz, CPU s": own_s[name],
        }
        for name, (energy, spent_s) in theirs.items()
    ]  # fmt: skip
    ratios = [row["ratio"] for row in rows]
    said = (
        f"Within 20 %: {sum(abs(ratio - 1) <= 0.2 for ratio in ratios)} of {len(rows)}; median ratio {statistics.median(ratios):.3f}. A layer took"
        f" ZigZag {statistics.median(row['ZigZag, CPU s'] for row in rows):.2f} s of CPU time, charz"
        f" {statistics.median(own_s.values()):.2f} s (medians)."
    )
    page.write(
        PAGE, "Energies of loop nests, beside ZigZag", [WRITTEN, said, CAUSES], [("Best by energy", pl.DataFrame(rows))]
    )
    print(said)


def charz() -> tuple[dict[str, float], dict[str, float]]:
    """Energy of the best nest of each layer in pJ, power at rest left out, and the CPU time of its search."""
    room = Room(SIDE, SIDE, 1.0, None, HELD_BYTE, 1)
    found, spent = {}, {}
    query = f"""
        SELECT MIN({DRAM_PJ} * dram_byte + {SRAM_PJ} * array_byte + {MAC_PJ} * m * n * k * gemm_count) AS energy_pj
        FROM loop_nest_cost WHERE latency_s IS NOT NULL
    """
    with nests.opened("zigzag") as connection:
        for name, (filters, channels, side, window, stride) in LAYERS.items():
            product = Product((side**2, filters, channels * window**2), 1, window**2, (side * stride) ** 2 * channels)
            begun = time.process_time()
            some = [(name, product, nest) for nest in candidates(product, room, ["weight_stationary"])]
            (row,) = nests.costed(connection, some, KEYS, query)
            found[name], spent[name] = row["energy_pj"], time.process_time() - begun
    return found, spent


def zigzag(python: Path) -> dict[str, tuple[float, float]]:
    """Energy of the best nest of each layer in pJ as ZigZag finds it, and the CPU time of that."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "array.yaml").write_text(yaml.safe_dump(_array(), sort_keys=False))
        (root / "mapping.yaml").write_text(yaml.safe_dump([_mapping()], sort_keys=False))
        for name, sizes in LAYERS.items():
            (root / f"{name}.yaml").write_text(yaml.safe_dump([_layer(name, *sizes)], sort_keys=False))
        run = [str(python), "-c", THEIRS, str(FACTORS), *LAYERS]
        said = subprocess.run(run, cwd=root, check=True, capture_output=True, text=True).stdout
    rows = [json.loads(line.removeprefix("found ")) for line in said.splitlines() if line.startswith("found ")]
    return {name: (energy, spent_s) for name, energy, _, spent_s in rows}


def _array() -> dict[str, object]:
    """The design in ZigZag's terms: the order of the memories is that of their distance."""
    wide = 8192

    def memory(
        bits: int, pj: float, operands: list[str], ports: list[dict[str, object]], served: list[str]
    ) -> dict[str, object]:
        return {
            "size": bits, "r_cost": pj, "w_cost": pj, "area": 0.0, "latency": 1, "operands": operands, "ports": ports,
            "served_dimensions": served,
        }  # fmt: skip

    def port(name: str, kind: str, bits: int, *moves: str) -> dict[str, object]:
        return {"name": name, "type": kind, "bandwidth_min": 8, "bandwidth_max": bits, "allocation": list(moves)}

    weights = [port("r_port_1", "read", 8, "I2, tl"), port("w_port_1", "write", 8, "I2, fh")]
    sums = [
        port("r_port_1", "read", 32, "O, tl"), port("r_port_2", "read", 32, "O, th"), port("w_port_1", "write", 32, "O, fh"),
        port("w_port_2", "write", 32, "O, fl"),
    ]  # fmt: skip
    held = [
        port("r_port_1", "read", wide, "I1, tl", "I2, tl", "O, tl", "O, th"),
        port("w_port_1", "write", wide, "I1, fh", "I2, fh", "O, fh", "O, fl"),
    ]
    moves = [f"{operand}, {way}" for operand in ("I1", "I2") for way in ("fh", "tl")]
    main_memory = [port("rw_port_1", "read_write", 64, *moves, *(f"O, {way}" for way in ("fh", "tl", "fl", "th")))]
    both = ["D1", "D2"]
    return {
        "name": "array",
        "memories": {
            "weight": memory(8, 0.0, ["I2"], weights, []),
            "sum": memory(32, 0.0, ["O"], sums, []),
            "sram": memory(HELD_BYTE * 8, SRAM_PJ * wide / 8, ["I1", "I2", "O"], held, both),
            "dram": memory(10**10, DRAM_PJ * 8, ["I1", "I2", "O"], main_memory, both),
        },
        "operational_array": {"unit_energy": MAC_PJ, "unit_area": 1.0, "dimensions": both, "sizes": [SIDE, SIDE]},
    }


def _mapping() -> dict[str, object]:
    spatial = {"D1": [f"K, {SIDE}"], "D2": [f"C, {SIDE}"]}
    return {"name": "default", "spatial_mapping": spatial, "memory_operand_links": {"O": "O", "W": "I2", "I": "I1"}}


def _layer(name: str, filters: int, channels: int, side: int, window: int, stride: int) -> dict[str, object]:
    return {
        "id": 0, "name": name, "operator_type": "Conv", "equation": "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
        "dimension_relations": [f"ix={stride}*ox+1*fx", f"iy={stride}*oy+1*fy"], "loop_dims": ["B", "K", "C", "OY", "OX", "FY", "FX"],
        "loop_sizes": [1, filters, channels, side, side, window, window],
        "operand_precision": {"W": 8, "I": 8, "O": 32, "O_final": 8}, "operand_source": {"I": 0, "W": 0},
        "pr_loop_dims": ["IX", "IY"], "pr_loop_sizes": [side * stride] * 2, "padding": [[window // 2] * 2] * 2,
    }  # fmt: skip


WRITTEN = "Written by `python -m benchmarks.score_zigzag ENV/bin/python`; do not edit. " + " ".join(
    (__doc__ or "").split("\n\n")[2].split()
)

if __name__ == "__main__":
    main()
