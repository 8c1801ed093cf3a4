"""Peak activation memory of PyTorch's own attention modules, and of a network in training: a line a module with charz's
figure and the tracker's.

The tracker (`torch.distributed._tools.mem_tracker`) patches torch for the whole process, so test_peak.py runs this
file in a separate process. PyTorch's fast path is off, because it passes a whole layer to one C++ call, which the tracker
cannot see into, while charz lowers the layer itself.
"""

from __future__ import annotations

import inspect
import math

import polars  # noqa: F401  # before torch: its allocator must be the first
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

BATCH, LENGTH, WIDTH, HEADS = 4, 32, 64, 2


class Separate(nn.Module):
    """Keys narrower than queries: three projections, each a variable of the function."""

    def __init__(self) -> None:
        super().__init__()
        self.key = nn.Linear(WIDTH, 32)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, kdim=32, vdim=32, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        key = self.key(x)
        return self.attention(x, key, key)[0]


class Padded(nn.Module):
    """Self-attention with a mask of padding and the weights returned."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        return x + self.attention(y, y, y, key_padding_mask=x[..., 0] > 0)[0]


class Windows(nn.Module):
    """Attention with windows as a dimension of their own, which no fused kernel takes."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).reshape(x.shape[0], HEADS, 4, LENGTH // 4, 3, WIDTH // HEADS).unbind(-2)
        mask = torch.ones(LENGTH // 4, LENGTH // 4, dtype=torch.bool, device=x.device)
        return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).reshape(x.shape)


class Encoder(nn.Module):
    """Embedded tokens through two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, 4 * WIDTH)
        layer = nn.TransformerEncoderLayer(4 * WIDTH, HEADS, 8 * WIDTH, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(4 * WIDTH, 10)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(self.embedding(tokens)).mean(1))


class Residual(nn.Module):
    """Convolutions, normalizations and activations around sums."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32),
            )
            for _ in range(3)
        )  # fmt: skip
        self.head = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = torch.relu(x + block(x))
        return self.head(x.mean((2, 3)))


TRAINED = {"residual": (Residual, (torch.empty(BATCH, 3, 64, 64),))}

MODULES = {
    "separate": (Separate, (torch.empty(BATCH, LENGTH, WIDTH),)),
    "padded": (Padded, (torch.empty(BATCH, 4 * LENGTH, WIDTH),)),
    "windows": (Windows, (torch.empty(BATCH, LENGTH, WIDTH),)),
    "encoder": (Encoder, (torch.zeros(BATCH, LENGTH, dtype=torch.int64),)),
    "transformer": (
        lambda: nn.Transformer(WIDTH, HEADS, 1, 1, 4 * WIDTH, batch_first=True),
        (torch.empty(BATCH, LENGTH, WIDTH), torch.empty(BATCH, LENGTH, WIDTH)),
    ),
}


def tracked_byte(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> float:
    """Return the tracker's figure, on fake tensors. [byte]"""
    from torch.distributed._tools.mem_tracker import MemTracker

    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        for child in module.modules():
            for name, weight in list(child._parameters.items()):
                if weight is not None:
                    child._parameters[name] = nn.Parameter(torch.empty(weight.shape))
        given = [torch.empty(t.shape, dtype=t.dtype) for t in inputs]
        tracker = MemTracker()
        tracker.track_external(module, *given)
        with tracker:
            module(*given)
    peak = next(iter(tracker.get_tracker_snapshot("peak").values()))
    counted = {str(kind).rsplit(".", 1)[-1]: size for kind, size in peak.items()}
    return float(counted["ACT"] + counted["OTH"] + counted.get("TEMP", 0))


def tracked_step_byte(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> float:
    """Return the tracker's figure for two steps with Adam: activations, their gradients and inputs. [byte]"""
    from torch.distributed._tools.mem_tracker import MemTracker

    optimizer = torch.optim.Adam(module.parameters(), foreach=False)
    tracker = MemTracker()
    tracker.track_external(module, optimizer, *inputs)
    with tracker:
        for _ in range(2):
            module(*inputs).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            tracker.reset_mod_stats()
    peak = next(iter(tracker.get_tracker_snapshot("peak").values()))
    counted = {str(kind).rsplit(".", 1)[-1]: size for kind, size in peak.items()}
    return float(counted["ACT"] + counted["TEMP"] + counted.get("OTH", 0))


def predicted_byte(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> float:
    """Return charz's prediction without gradients of weights, in the allocator's blocks. [byte]"""
    from charz.hardware_catalog import loader
    from charz.ingest.compile.dataflow import flow_of
    from charz.ingest.compile.fusion import partition
    from charz.ingest.compile.lifetime import EAGER, lifetimes
    from charz.ingest.compile.rules import from_rows
    from charz.ingest.graph import evaluate
    from charz.ingest.pipeline import to_graph
    from charz.ingest.trace import export
    from charz.ingest.trace.backward import add_backward

    names = inspect.signature(module.forward).parameters
    axes = {name: {0: export.BATCH} for name, _ in zip(names, inputs, strict=False)}
    given = tuple(t.to("meta") for t in inputs)
    graph, _ = to_graph(export.Request("peak", "test", module.to("meta"), given, axes=axes))
    rules = from_rows(loader.load().rows)
    if module.training:
        add_backward(graph, rules.classes)
    kernels = partition(flow_of(graph, rules.classes), EAGER, rules.fusion[EAGER], rules.folds_norm[EAGER])
    changes = [0.0] * (kernels.count + 2)
    for tensor_id, (first, last) in lifetimes(graph, kernels).items():
        tensor = graph.tensors[tensor_id]
        if tensor.role == "gradient":
            continue
        block = math.ceil(evaluate(tensor.elements, BATCH) * rules.bits[tensor.precision] / 8 / 512) * 512
        changes[first + 1] += block
        changes[last + 2] -= block
    held = peak = 0.0
    for change in changes:
        held += change
        peak = max(peak, held)
    return peak


if __name__ == "__main__":
    torch.backends.mha.set_fastpath_enabled(False)
    for name, (make, inputs) in MODULES.items():
        print(name, predicted_byte(make().eval(), inputs), tracked_byte(make().eval(), inputs), flush=True)
    for name, (make, inputs) in TRAINED.items():
        with FakeTensorMode(allow_non_fake_inputs=True):
            tracked = tracked_step_byte(make().train(), tuple(torch.empty(t.shape) for t in inputs))
        print(name, predicted_byte(make().train(), inputs), tracked, flush=True)
