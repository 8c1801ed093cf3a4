"""Figures that depend only on the graph: multiply-accumulates of model cards, and the peak of activations under eager."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from benchmarks.study import Given

if TYPE_CHECKING:
    import torch

MODELS = (
    "resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0", "vgg16", "shufflenet_v2_x1_0", "vit_b_16", "swin_t",
    "convnext_tiny", "inception_v3", "squeezenet1_0", "densenet121", "googlenet", "mnasnet1_0", "regnet_y_400mf",
)  # fmt: skip


def macs(given: Given) -> pl.DataFrame:
    """Count the multiply-accumulates of torchvision's models that have a card.

    Cards of detectors count no proposal or detection, since random weights produce none; charz counts the bound.
    """
    with given.session() as db:
        db.ingest(all_="torchvision", no_answers=True)
        rows = db.sql(
            "SELECT model AS family, published_macs AS measured, SUM(coefficient * POW(default_batch, batch_power)) AS predicted"
            " FROM model JOIN term USING (model) WHERE quantity = 'macs' AND published_macs IS NOT NULL GROUP BY ALL"
        )
    return _graph(rows)


def peak_memory(given: Given) -> pl.DataFrame:
    """Predict the peak of inputs and activations of one image. [byte]"""
    sized = [(name, *predicted_byte(name)) for name in MODELS]
    return _graph(pl.DataFrame(
        [(name, tracked_byte(name, side), byte) for name, byte, side in sized], ["family", "measured", "predicted"], orient="row"
    ))  # fmt: skip


def _graph(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(hardware=pl.lit("-"), backend=pl.lit("-"), standing=pl.lit("nothing fitted"))


def tracked_byte(name: str, side: int) -> float:
    """Measure with PyTorch's tracker on fake tensors, which have sizes but no memory. [byte]"""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed._tools.mem_tracker import MemTracker

    from charz.ingest.sources.torchvision_builders import construct

    module = construct(name).eval()
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        module = _faked(module)
        image = torch.empty(1, 3, side, side)
        tracker = MemTracker()
        tracker.track_external(module, image)
        with tracker:
            module(image)
    peak = tracker.get_tracker_snapshot("peak")
    counted = {str(kind).rsplit(".", 1)[-1]: size for kind, size in next(iter(peak.values())).items()}
    return float(counted["ACT"] + counted["OTH"] + counted.get("TEMP", 0))


def _faked(module: torch.nn.Module) -> torch.nn.Module:
    """Give the module fake weights of the right sizes on the CPU."""
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
    """Predict the peak for one image. Return it with the side of the image. [byte]"""
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
