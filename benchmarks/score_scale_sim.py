"""Steps of arrays as SCALE-Sim 3.0 counts them, beside those of charz's loop nests.

    python -m venv ENV && ENV/bin/pip install scalesim==3.0.0 numpy==2.2.6
    python -m benchmarks.score_scale_sim ENV/bin/python

Twenty layers of ResNet-18, MobileNet-V2 and BERT as matrix products, on an array of 32 x 32 with buffers that hold everything,
under three dataflows: SCALE-Sim simulates every step of every fold, charz's `loop_nest_cost.serial_cycles` is a formula. What is
found goes to docs/validation-scale-sim.md.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import duckdb
import polars as pl

from benchmarks import page
from charz.hardware_catalog import loader
from charz.schema import database, file
from charz.sql import views

PAGE = Path(__file__).parents[1] / "docs" / "validation-scale-sim.md"
WRITTEN = (
    "Written by `python -m benchmarks.score_scale_sim ENV/bin/python`; do not edit. SCALE-Sim 3.0 simulates every step of every fold"
    " with buffers that hold all operands; charz's figure is `loop_nest_cost.serial_cycles`, a formula of folds, streamed steps"
    " and the sides of the array."
)

ROWS, COLUMNS = 32, 32
DATAFLOWS = {"os": "output_stationary", "ws": "weight_stationary", "is": "input_stationary"}
LAYERS = {
    "resnet18.conv1": (12544, 64, 147), "resnet18.layer1": (3136, 64, 576), "resnet18.layer2.0": (784, 128, 576),
    "resnet18.layer2": (784, 128, 1152), "resnet18.layer2.down": (784, 128, 64), "resnet18.layer3.0": (196, 256, 1152),
    "resnet18.layer3": (196, 256, 2304), "resnet18.layer3.down": (196, 256, 128), "resnet18.layer4.0": (49, 512, 2304),
    "resnet18.layer4": (49, 512, 4608), "resnet18.fc": (1, 1000, 512), "mobilenet_v2.expand": (3136, 144, 24),
    "mobilenet_v2.project": (784, 32, 192), "mobilenet_v2.last": (49, 1280, 320), "mobilenet_v2.fc": (1, 1000, 1280),
    "bert.query": (128, 768, 768), "bert.scores": (128, 128, 64), "bert.values": (128, 64, 128), "bert.up": (128, 3072, 768),
    "bert.down": (128, 768, 3072),
}  # fmt: skip
"""Rows, columns and depth of the products, at batch 1."""

NEST = """
    INSERT INTO loop_nest BY NAME
    SELECT
        $1 AS loop_nest_id, $2 AS product, 'tpu_v1' AS hardware, 'xla' AS backend, 'int8' AS compute_precision, 1 AS gemm_count, 1 AS images,
        $3 AS m, $4 AS n, $5 AS k, $6 AS dataflow, $7 AS outer_m, $8 AS outer_n, $9 AS outer_k, 'output' AS outer_kept,
        $10 AS inner_m, $11 AS inner_n, $12 AS inner_k, 'output' AS inner_kept
"""
"""A product that is one tile of both levels."""

CONFIGURATION = """
[general]
run_name = run
[architecture_presets]
ArrayHeight : {rows}
ArrayWidth : {columns}
IfmapSramSzkB : 65536
FilterSramSzkB : 65536
OfmapSramSzkB : 65536
IfmapOffset : 0
FilterOffset : 10000000
OfmapOffset : 20000000
Dataflow : {dataflow}
Bandwidth : 100000
ReadRequestBuffer : 512
WriteRequestBuffer : 512
[layout]
IfmapCustomLayout : False
IfmapSRAMBankBandwidth : 10
IfmapSRAMBankNum : 10
IfmapSRAMBankPort : 2
FilterCustomLayout : False
FilterSRAMBankBandwidth : 10
FilterSRAMBankNum : 10
FilterSRAMBankPort : 2
[sparsity]
SparsitySupport : false
SparseRep : ellpack_block
OptimizedMapping : false
BlockSize : 8
RandomNumberGeneratorSeed : 40
[run_presets]
InterfaceBandwidth : CALC
UseRamulatorTrace : False
"""
"""Buffers hold every operand, so that no step waits for memory."""


def main() -> None:
    """Run both and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", type=Path, help="interpreter of an environment with scalesim")
    python = parser.parse_args().python.absolute()
    ours, own_s = charz_steps()
    simulated_s, rows = 0.0, []
    for short, dataflow in DATAFLOWS.items():
        theirs, spent_s = scale_sim_steps(python, short)
        simulated_s += spent_s
        rows += [
            {
                "product": name, "rows x columns x depth": "x".join(map(str, sizes)), "dataflow": dataflow,
                "SCALE-Sim, steps": int(theirs[name]), "charz, steps": int(ours[name, dataflow]),
                "ratio": ours[name, dataflow] / theirs[name],
            }
            for name, sizes in LAYERS.items()
        ]  # fmt: skip
    ratios = [row["ratio"] for row in rows]
    text = (
        f"{len(ratios)} counts, on an array of {ROWS} x {COLUMNS}: median ratio {statistics.median(ratios):.4f}, the furthest"
        f" {max(ratios, key=lambda ratio: abs(ratio - 1)):.4f}; {sum(abs(ratio - 1) <= 0.03 for ratio in ratios)} within 3 %."
        f" SCALE-Sim took {simulated_s:.0f} s of CPU time, charz {own_s:.2f} s."
    )
    page.write(PAGE, "Steps of an array, beside SCALE-Sim", [WRITTEN, text], [("Every product", pl.DataFrame(rows))])
    print(text)


def charz_steps() -> tuple[dict[tuple[str, str], float], float]:
    """Steps of every product under every dataflow, on a TPU v1 with an array of the size asked for, and the CPU time taken."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nests.duckdb"
        with file.replace(path, create=True) as connection:
            for row_type, rows in loader.load().rows.items():
                kept = [row for row in rows if getattr(row, "hardware", "tpu_v1") == "tpu_v1"]
                database.insert(connection, row_type, loader.columns_of(row_type, kept))
            views.install(connection)
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"UPDATE hardware_cluster SET array_rows = {ROWS}, array_columns = {COLUMNS}")
            connection.execute(f"UPDATE hardware_peak SET ops_per_clock_per_unit = {2 * ROWS * COLUMNS}")
            nests = [
                (number, name, *sizes, dataflow, *sizes, *sizes)
                for number, (name, sizes, dataflow) in enumerate(
                    (name, sizes, dataflow) for name, sizes in LAYERS.items() for dataflow in DATAFLOWS.values()
                )
            ]
            connection.executemany(NEST, nests)
            begun = time.process_time()
            query = "SELECT product, dataflow, serial_cycles FROM loop_nest_cost"
            found = {(name, flow): steps for name, flow, steps in connection.execute(query).fetchall()}
            return found, time.process_time() - begun


def scale_sim_steps(python: Path, dataflow: str) -> tuple[dict[str, float], float]:
    """Steps of every product as SCALE-Sim reports them, and the CPU time of its process."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "run.cfg").write_text(CONFIGURATION.format(rows=ROWS, columns=COLUMNS, dataflow=dataflow))
        lines = ["Layer,M,N,K,", *(f"{name},{m},{n},{k}," for name, (m, n, k) in LAYERS.items())]
        (root / "products.csv").write_text("\n".join(lines) + "\n")
        lines = [
            "Layer name, IFMAP Height Intraline Factor, IFMAP Width Intraline Factor,",
            *(f"{name},1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1," for name in LAYERS),
        ]
        (root / "layout.csv").write_text("\n".join(lines) + "\n")
        begun = _children_s()
        files = ("-c", "run.cfg", "-t", "products.csv", "-l", "layout.csv", "-p", "out")
        run = [str(python), "-m", "scalesim.scale", *files, "-i", "gemm", "-s", "N"]
        subprocess.run(run, cwd=root, check=True, capture_output=True)
        (report,) = root.glob("out/**/COMPUTE_REPORT.csv")
        with report.open(newline="") as opened:
            rows = [[cell.strip() for cell in row] for row in csv.reader(opened)]
    place = next(i for i, head in enumerate(rows[0]) if head.startswith("Total Cycles") and "prefetch" not in head)
    steps = {name: float(row[place]) for name, row in zip(LAYERS, rows[1:], strict=True)}
    return steps, _children_s() - begun


def _children_s() -> float:
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
