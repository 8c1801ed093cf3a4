"""Memory layouts of tensors in each memory format, compared with PyTorch's own tensors on this machine's CPU."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from charz.ingest.trace import layout
from charz.ingest.trace.layout import layouts

from ..conftest import Lowered


def layout_of(lowered: Lowered, memory_format: str, name: str) -> list[str]:
    """Return the layouts of the operators of one name."""
    layouts = lowered.graph.layouts[memory_format]
    return [layouts[o.operator_id] for o in lowered.graph.operators if o.aten_operator.split(".")[1] == name]


def copies_of(lowered: Lowered, memory_format: str, name: str) -> int:
    """Count the tensors copied by the operators of one name."""
    targets = [o.aten_operator.split(".")[1] for o in lowered.graph.operators]
    return sum(targets[operator_id] == name for operator_id, _ in lowered.graph.copies[memory_format])


class Block(nn.Module):
    """A convolution, a normalization over channels that come last, and a convolution of its result."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.norm = nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.norm(self.first(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2))


def test_a_permuted_view_makes_the_next_convolution_channels_last(lowered: Callable[..., Any]) -> None:
    found = lowered(Block(), torch.empty(2, 3, 16, 16))
    assert layout_of(found, "nchw", "conv2d") == ["nchw", "nhwc"]
    assert layout_of(found, "nchw", "layer_norm") == ["strided"]
    assert layout_of(found, "nhwc", "conv2d") == ["nhwc", "nhwc"]
    assert layout_of(found, "nhwc", "layer_norm") == ["nchw"]
    block = Block()
    inner = block.norm(block.first(torch.zeros(2, 3, 16, 16)).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
    assert inner.is_contiguous(memory_format=torch.channels_last)


class Halves(nn.Module):
    """A convolution of the first half of the channels."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x.chunk(2, 1)[0])


def test_a_convolution_copies_a_slice_of_channels(lowered: Callable[..., Any]) -> None:
    """In either format, skipped channels are between the selected ones, so that PyTorch passes its library a contiguous
    copy of the slice."""
    found = lowered(Halves(), torch.empty(2, 8, 16, 16))
    assert [copies_of(found, f, "conv2d") for f in ("nchw", "nhwc")] == [1, 1]
    assert copies_of(lowered(Block(), torch.empty(2, 3, 16, 16)), "nhwc", "conv2d") == 0
    for memory_format in (torch.contiguous_format, torch.channels_last):
        x = torch.zeros(2, 8, 16, 16).to(memory_format=memory_format)
        assert not x.chunk(2, 1)[0].is_contiguous(memory_format=memory_format)


def test_a_convolution_of_another_order_copies_its_weight(lowered: Callable[..., Any]) -> None:
    assert copies_of(lowered(Block(), torch.empty(2, 3, 16, 16)), "nchw", "conv2d") == 1


def test_a_sum_keeps_the_order_of_its_operands(lowered: Callable[..., Any]) -> None:
    found = lowered(lambda x, y: x.transpose(1, 2) + y, torch.empty(2, 5, 7), torch.empty(2, 7, 5))
    assert layout_of(found, "nchw", "add") == ["strided"]
    same = lowered(lambda x, y: x + y, torch.empty(2, 5, 7), torch.empty(2, 5, 7))
    assert layout_of(same, "nchw", "add") == ["nchw"]


def scores(qkv: torch.Tensor) -> torch.Tensor:
    """Compute attention scores of three heads cut from one projection, (batch, length, 3 * 3 * 8)."""
    q, k, _ = qkv.reshape(qkv.shape[0], qkv.shape[1], 3, 3, 8).permute(2, 0, 3, 1, 4).unbind(0)
    return q @ k.transpose(-2, -1)


def test_products_of_permuted_heads_copy_both_operands(lowered: Callable[..., Any]) -> None:
    """(batch, heads) with the heads' strides cannot be one dimension, so `bmm` gets copies: two clones in PyTorch's own
    dispatch of the same call."""
    found = lowered(scores, torch.empty(2, 10, 72))
    assert copies_of(found, "nchw", "matmul") == 2
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        scores(torch.zeros(2, 10, 72))
    cloned = sum(e.count for e in profile.key_averages() if e.key == "aten::clone")
    assert cloned == 2


def attention(x: torch.Tensor) -> torch.Tensor:
    """Compute fused attention of three heads of eight, cut from (batch, length, 24), joined again."""
    heads = x.reshape(x.shape[0], 10, 3, 8).transpose(1, 2)
    return nn.functional.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).reshape(x.shape[0], 10, 24)


def test_fused_attention_leaves_its_heads_together(lowered: Callable[..., Any]) -> None:
    """PyTorch's kernel does the same: joining its heads again moves nothing."""
    found = lowered(attention, torch.empty(2, 10, 24))
    assert layout_of(found, "nchw", "reshape")[-1] == "view"
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        attention(torch.zeros(2, 10, 24))
    assert not [e for e in profile.key_averages() if e.key in ("aten::clone", "aten::contiguous")]


@pytest.mark.parametrize(("memory_format", "copies"), [("nchw", 0), ("nhwc", 1)])
def test_flattening_images_copies_where_channels_come_last(
    lowered: Callable[..., Any], memory_format: str, copies: int
) -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8 * 14 * 14, 4))
    found = lowered(model, torch.empty(2, 3, 16, 16))
    assert copies_of(found, memory_format, "flatten") == copies


def shared_keys(x: torch.Tensor) -> torch.Tensor:
    """Compute attention of six heads that share two heads of keys, joined again."""
    heads = x.reshape(x.shape[0], 10, 6, 8).transpose(1, 2)
    keys = x[..., :16].reshape(x.shape[0], 10, 2, 8).transpose(1, 2)
    found = nn.functional.scaled_dot_product_attention(heads, keys, keys, is_causal=True, enable_gqa=True)
    return found.transpose(1, 2).contiguous().reshape(x.shape[0], 10, 48)


def test_heads_that_share_keys_keep_the_layouts_of_the_model(lowered: Callable[..., Any]) -> None:
    """The result has the query's layout, so that joining its heads needs no copy."""
    found = lowered(shared_keys, torch.empty(2, 10, 48))
    assert found.graph.layout_problem is None
    assert layout_of(found, "nchw", "contiguous") == ["view"]
    assert layout_of(found, "nchw", "scaled_dot_product_attention") == ["nchw"]
    assert shared_keys(torch.zeros(2, 10, 48)).is_contiguous()


def test_sizes_from_data_leave_the_format_to_the_run_and_say_so() -> None:
    program = torch.export.export(Positive(), (torch.ones(2, 5),))
    assert [found.layout for found in layouts(program).values()] == [{}, {}]
    assert all("aten.nonzero.default" in str(found.problem) for found in layouts(program).values())


def test_an_operator_that_meta_tensors_refuse_is_named(
    lowered: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise RuntimeError("no such strides")

    monkeypatch.setattr(layout, "_convolution", refuse)
    graph = lowered(Block(), torch.empty(2, 3, 16, 16)).graph
    assert graph.layouts == {"nchw": {}, "nhwc": {}}
    assert graph.layout_problem == "aten.conv2d.default does not run on meta tensors: RuntimeError: no such strides"


class Positive(nn.Module):
    """Positions of numbers above zero, whose count is unknown."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nonzero(x > 0) + 1


@pytest.mark.parametrize(("side", "groups"), [(1, 1), (3, 64)])
def test_weights_of_one_tap_or_one_channel_ask_for_channels_last_too(
    side: int, groups: int, lowered: Callable[..., Any]
) -> None:
    """A group normalization on a GPU writes nchw; the next convolution copies that into the order of its weights,
    which only their strides show."""

    def conv() -> nn.Conv2d:
        return nn.Conv2d(64, 64, side, padding=side // 2, groups=groups)

    found = lowered(nn.Sequential(nn.GroupNorm(2, 64), conv()), torch.empty(2, 64, 32, 32))
    assert layout_of(found, "nhwc", "conv2d") == ["nhwc"]
    assert copies_of(found, "nhwc", "conv2d") == 1
    assert layout_of(found, "nchw", "conv2d") == ["nchw"]
    result = conv().to(memory_format=torch.channels_last)(torch.zeros(2, 64, 32, 32))
    assert result.is_contiguous(memory_format=torch.channels_last)


class Crossed(nn.Module):
    """A concatenation of a slice of channels and of the other slice, which `contiguous` orders, as in timm's cross-stage networks."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept, other = self.conv(x).split(4, dim=1)
        return torch.cat([kept, other.relu().contiguous()], dim=1)


def test_contiguous_copies_an_image_in_channels_last(lowered: Callable[..., Any]) -> None:
    """Tracing sees a contiguous image, which `contiguous` returns."""
    found = lowered(Crossed(), torch.empty(2, 8, 4, 4))
    assert [copies_of(found, f, "alias") for f in ("nchw", "nhwc")] == [0, 1]
    for memory_format in (torch.contiguous_format, torch.channels_last):
        x = torch.zeros(2, 8, 4, 4).to(memory_format=memory_format)[:, 4:].relu()
        assert (x.contiguous() is x) == (memory_format is torch.contiguous_format)
