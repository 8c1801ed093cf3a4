"""Peak activation memory under eager against PyTorch's own tracker.

    python -m benchmarks.peak_memory [MODEL ...]
    python -m benchmarks.peak_memory --measured

The tracker (`torch.distributed._tools.mem_tracker`) runs the torchvision model on fake tensors, which
have sizes and no memory, and follows every storage Python keeps alive. charz predicts the same peak
from the graph and its lifetime rules. Both count inputs and activations, without weights and buffers.

`--measured` holds whole runs of Llama-2-7B against the device memory that ../shared/measurements has.
That is the use of the process and not of a run: the same for 512 tokens read as for 100 more written,
though those add 52 MB of cache a sample. So beside charz's figure stands what such a process holds
besides, the result of the run before and the logits copied to fp32, and one constant for the driver,
the libraries and the allocator's unused blocks, fitted over all rows.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

MODELS = (
    "resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0", "vgg16", "shufflenet_v2_x1_0", "vit_b_16", "swin_t",
    "convnext_tiny", "inception_v3", "squeezenet1_0", "densenet121", "googlenet", "mnasnet1_0", "regnet_y_400mf",
)  # fmt: skip


def tracked_byte(name: str, side: int) -> float:
    """What the tracker reports for one image. [byte]"""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed._tools.mem_tracker import MemTracker

    from charz.ingest.sources.torchvision_builders import construct

    module = construct(name).eval()
    with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
        module = _faked(module, mode)
        image = torch.empty(1, 3, side, side)
        tracker = MemTracker()
        tracker.track_external(module, image)
        with tracker:
            module(image)
    peak = tracker.get_tracker_snapshot("peak")
    counted = {str(kind).rsplit(".", 1)[-1]: size for kind, size in next(iter(peak.values())).items()}
    return float(counted["ACT"] + counted["OTH"] + counted.get("TEMP", 0))


def _faked(module, mode):  # type: ignore[no-untyped-def]
    """The module with fake weights of the right sizes on the CPU, whatever device it was built on."""
    import torch

    def fake(tensor: torch.Tensor) -> torch.Tensor:
        return torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")

    for child in module.modules():
        for name, parameter in list(child._parameters.items()):
            if parameter is not None:
                child._parameters[name] = torch.nn.Parameter(fake(parameter))
        for name, buffer in list(child._buffers.items()):
            if buffer is not None:
                child._buffers[name] = fake(buffer)
    return module


def predicted_byte(name: str) -> tuple[float, int]:
    """What charz predicts for one image, and the side of the image. [byte]"""
    from charz.hardware_catalog import loader
    from charz.ingest.compile.dataflow import flow_of
    from charz.ingest.compile.fusion import partition
    from charz.ingest.compile.lifetime import EAGER, lifetimes
    from charz.ingest.compile.rules import from_rows
    from charz.ingest.graph import evaluate
    from charz.ingest.pipeline import to_graph
    from charz.ingest.sources import build
    from charz.ingest.sources.spec import parse

    request = build(parse(name))
    graph, _ = to_graph(request)
    rules = from_rows(loader.load().rows)
    kernels = partition(flow_of(graph, rules.classes), EAGER, rules.fusion[EAGER], rules.folds_norm[EAGER])
    changes = [0.0] * (kernels.count + 2)
    for tensor_id, (first, last) in lifetimes(graph, kernels).items():
        tensor = graph.tensors[tensor_id]
        size = evaluate(tensor.elements, 1) * rules.bits[tensor.precision] / 8
        changes[first + 1] += math.ceil(size / 512) * 512
        changes[last + 2] -= math.ceil(size / 512) * 512
    held, peak = 0.0, 0.0
    for change in changes:
        held += change
        peak = max(peak, held)
    return peak, request.resolution or 224


MEASURED = Path(__file__).parents[2] / "shared" / "measurements" / "models.parquet"
MEASURED_MODEL = "hf:llama-2-7b"
MEASURED_TOKENS = 512
VOCABULARY = 32000
PRECISIONS = {"fp16": "fp16", "gptq-int4": "w4a16", "bnb-4bit": "w4a16"}
"""Policy that stands for each measured precision."""


def measured() -> None:
    """Print a line for each measured precision and batch: the file, charz, and charz with the process around it."""
    import duckdb

    if not MEASURED.exists():
        print(f"skipped: {MEASURED} is not there")
        return
    query = """
        SELECT precision, batch, max(peak_mem_bytes), max(peak_mem_bytes) - min(peak_mem_bytes)
        FROM read_parquet(?)
        WHERE peak_mem_bytes IS NOT NULL AND model = 'Llama-2-7b-hf'
        GROUP BY precision, batch
        ORDER BY precision DESC, batch
    """
    rows = duckdb.connect().execute(query, [str(MEASURED)]).fetchall()
    runs = run_memory(sorted({int(batch) for _, batch, *_ in rows}))
    alone, held = [], []
    for precision, batch, *_ in rows:
        peak, cache = runs[PRECISIONS[precision], int(batch)]
        logits = batch * MEASURED_TOKENS * VOCABULARY * 4
        alone.append(peak)
        held.append(peak + cache + 2 * logits)
    constant = statistics.median(row[2] - byte for row, byte in zip(rows, held, strict=True))
    print(
        f"{'precision':10} {'batch':>5} {'measured GB':>12} {'charz GB':>9} {'error':>7} {'process GB':>11} {'error':>7}"
    )
    errors = []
    for (precision, batch, truth, _), run, process in zip(rows, alone, held, strict=True):
        errors.append(abs((process + constant) / truth - 1))
        print(
            f"{precision:10} {batch:5.0f} {truth / 1e9:12.2f} {run / 1e9:9.2f} {run / truth - 1:7.1%}"
            f" {(process + constant) / 1e9:11.2f} {(process + constant) / truth - 1:7.1%}"
        )
    print(f"forward and generate differ by at most {max(row[3] for row in rows) / 1e9:.2f} GB")
    within = sum(error <= 0.1 for error in errors)
    print(f"constant {constant / 1e9:.2f} GB; {within} of {len(errors)} within 10 %, largest error {max(errors):.1%}")


def run_memory(batches: list[int]) -> dict[tuple[str, int], tuple[float, float]]:
    """Peak of a prefill under eager and the key-value cache in it, by precision and batch. [byte]"""
    from charz.session import Session, workspace
    from charz.sql import evaluate

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "peak.duckdb"
        command = [
            sys.executable,
            "-c",
            "from charz.cli import main; main()",
            "ingest",
            MEASURED_MODEL,
            "--db",
            str(path),
        ]
        subprocess.run(command, check=True, capture_output=True)
        keys = [(precision, batch) for precision in sorted(set(PRECISIONS.values())) for batch in batches]
        scenarios = [
            {
                "scenario_id": i,
                **Session.conditions({"batch": b, "sequence": MEASURED_TOKENS, "phase": "prefill", "precision": p}),
            }
            for i, (p, b) in enumerate(keys)
        ]
        with workspace.read(path) as connection:
            evaluate.hold(connection, evaluate.Scope(scenarios=scenarios))
            found = connection.execute("SELECT run.scenario_id, peak_memory_byte, kv_cache_byte FROM run_memory").fetchall()
    return {keys[scenario_id]: (peak, cache) for scenario_id, peak, cache in found}


def main(names: list[str]) -> None:
    """Print a line a model."""
    import polars  # noqa: F401  # before torch: its allocator must be the first

    if names == ["--measured"]:
        measured()
        return
    print(f"{'model':24} {'charz MB':>10} {'tracker MB':>11} {'error':>8}")
    errors = []
    for name in names or MODELS:
        predicted, side = predicted_byte(name)
        truth = tracked_byte(name, side)
        errors.append(abs(predicted / truth - 1))
        print(f"{name:24} {predicted / 1e6:10.3f} {truth / 1e6:11.3f} {predicted / truth - 1:8.1%}", flush=True)
    within = sum(error <= 0.05 for error in errors)
    print(f"{within} of {len(errors)} within 5 %, largest error {max(errors):.1%}")


if __name__ == "__main__":
    main(sys.argv[1:])
