"""Peak activation memory under eager against PyTorch's own tracker.

    python -m benchmarks.peak_memory [MODEL ...]

The tracker (`torch.distributed._tools.mem_tracker`) runs the torchvision model on fake tensors, which
have sizes and no memory, and follows every storage Python keeps alive. charz predicts the same peak
from the graph and its lifetime rules. Both count inputs and activations, without weights and buffers.
"""

from __future__ import annotations

import math
import sys

MODELS = (
    "resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0", "vgg16", "shufflenet_v2_x1_0", "vit_b_16", "swin_t",
    "convnext_tiny", "inception_v3", "squeezenet1_0", "densenet121", "googlenet", "mnasnet1_0", "regnet_y_400mf",
)  # fmt: skip


def tracked_byte(name: str, side: int) -> float:
    """What the tracker reports for one image. [byte]"""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed._tools.mem_tracker import MemTracker

    from charz.ingest.sources.torchvision import construct

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
    parts = partition(flow_of(graph), EAGER, rules.fusion[EAGER], rules.folds_norm[EAGER])
    changes = [0.0] * (parts.count + 2)
    for tensor_id, (first, last) in lifetimes(graph, parts).items():
        tensor = graph.tensors[tensor_id]
        size = evaluate(tensor.elements, 1) * rules.bits[tensor.precision] / 8
        changes[first + 1] += math.ceil(size / 512) * 512
        changes[last + 2] -= math.ceil(size / 512) * 512
    held, peak = 0.0, 0.0
    for change in changes:
        held += change
        peak = max(peak, held)
    return peak, request.resolution or 224


def main(names: list[str]) -> None:
    """Print a line a model."""
    import polars  # noqa: F401  # before torch: its allocator must be the first

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
