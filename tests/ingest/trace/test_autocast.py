"""Autocast within a forward: its casts are operators, with the types of a real run."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from charz.ingest.pipeline import to_graph
from charz.ingest.sources import live

TYPES = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}


class Region(nn.Module):
    """A convolution and a product in half precision, a sum outside."""

    def __init__(self, device: str, dtype: torch.dtype | None) -> None:
        super().__init__()
        self.device, self.dtype = device, dtype
        self.conv, self.head = nn.Conv2d(3, 8, 3), nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map batch x 3 x height x width to batch x 5."""
        with torch.autocast(self.device, dtype=self.dtype):
            y = self.head(torch.relu_(self.conv(x)).mean((2, 3)))
        return y.float() + 1


@pytest.mark.parametrize(
    ("device", "dtype", "narrow"),
    [("cpu", torch.bfloat16, "bf16"), ("cuda", None, "fp16"), ("cuda", torch.bfloat16, "bf16")],
)
def test_casts_are_operators(device: str, dtype: torch.dtype | None, narrow: str) -> None:
    graph, traced = to_graph(live.request(Region(device, dtype).eval(), torch.empty(2, 3, 9, 9)))
    assert traced.is_batch_symbolic
    made = {o.aten_operator.split(".")[1]: graph.tensors[o.writes[0]].precision for o in graph.operators}
    assert (made["conv2d"], made["linear"], made["add"]) == (narrow, narrow, "fp32")
    casts = [o for o in graph.operators if o.operator_class == "cast"]
    assert len(casts) == 6  # an image, two weights, two biases; the result back
    products = [o for o in graph.operators if o.operator_class in ("conv", "linear")]
    assert [graph.modules[o.module_id].path for o in products] == ["conv", "head"]
    assert all(o.source_line is not None for o in (*products, *casts))


def test_the_types_are_those_of_a_real_run() -> None:
    module = Region("cpu", torch.bfloat16).eval()
    seen: dict[str, str] = {}
    for name, child in module.named_children():
        child.register_forward_hook(lambda _, __, result, name=name: seen.update({name: TYPES[result.dtype]}))
    with torch.no_grad():
        module(torch.zeros(2, 3, 9, 9))
    graph, _ = to_graph(live.request(module, torch.empty(2, 3, 9, 9)))
    made = {
        graph.modules[o.module_id].path: graph.tensors[o.writes[0]].precision
        for o in graph.operators
        if o.operator_class in ("conv", "linear")
    }
    assert made == seen == {"conv": "bf16", "head": "bf16"}


def test_a_region_that_switches_it_off_is_traced_as_it_is() -> None:
    class Off(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", enabled=False):
                return self.layer(x)

    graph, _ = to_graph(live.request(Off().eval(), torch.empty(2, 4)))
    assert [o.aten_operator for o in graph.operators] == ["aten.linear.default"]


class SwitchedOff(nn.Module):
    """A layer that always runs in fp32, as rotary embeddings do."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map batch x 8 to batch x 8, on the tensor's own device."""
        with torch.autocast("cuda", torch.bfloat16):
            x = self.layer(x)
            with torch.autocast(device_type=x.device.type, enabled=False):
                return self.layer(x.float())


def test_autocast_switched_off_on_the_device_of_a_tensor_makes_no_cast() -> None:
    graph, traced = to_graph(live.request(SwitchedOff(), "B,8"))
    assert traced.is_batch_symbolic
    made = [graph.tensors[o.writes[0]].precision for o in graph.operators if o.operator_class == "linear"]
    assert made == ["bf16", "fp32"]
