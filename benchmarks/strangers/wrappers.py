"""Modules inside wrappers that hide the signature of what they wrap."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel
from torch.utils.checkpoint import checkpoint


class LoraLinear(nn.Module):
    """A frozen linear layer with a trained low-rank sum beside it."""

    def __init__(self, base: nn.Linear, rank: int = 8) -> None:
        super().__init__()
        self.base_layer = base.requires_grad_(False)
        self.lora_A = nn.ModuleDict({"default": nn.Linear(base.in_features, rank, bias=False)})
        self.lora_B = nn.ModuleDict({"default": nn.Linear(rank, base.out_features, bias=False)})
        self.active_adapters = ["default"]

    def forward(self, x: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        result = self.base_layer(x, *args, **kwargs)
        for name in self.active_adapters:
            result = result + self.lora_B[name](self.lora_A[name](x)) * 2.0
        return result


class Attention(nn.Module):
    """Self-attention with separate projections."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj = nn.Linear(width, width), nn.Linear(width, width)
        self.v_proj, self.o_proj = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        b, s, w = hidden.shape
        q, k, v = (
            p(hidden).view(b, s, self.heads, -1).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        weights = (q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).softmax(-1)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(b, s, w))


class Classifier(nn.Module):
    """Tokens to classes through two blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(1000, 128)
        self.blocks = nn.ModuleList(Attention(128, 4) for _ in range(2))
        self.head = nn.Linear(128, 10)

    def forward(self, input_ids: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        hidden = self.embed(input_ids)
        for block in self.blocks:
            hidden = hidden + scale * block(hidden)
        return self.head(hidden.mean(dim=1))


class PeftLike(nn.Module):
    """What an adapter library puts around a model: attributes of the base by delegation, everything by keyword."""

    def __init__(self, base: nn.Module) -> None:
        super().__init__()
        self.base_model = base

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "base_model":
                raise
            return getattr(self.base_model, name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.base_model(*args, **kwargs)


class ParallelLike(nn.Module):
    """What a data-parallel library puts around a model."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def _convolutions() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(inplace=True), nn.Conv2d(32, 64, 3, 2, 1), nn.GELU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


def lora_mlp() -> nn.Module:
    return nn.Sequential(LoraLinear(nn.Linear(256, 512)), nn.GELU(), LoraLinear(nn.Linear(512, 256)))


def peft_like() -> nn.Module:
    model = Classifier()
    for block in model.blocks:
        block.q_proj, block.v_proj = LoraLinear(block.q_proj), LoraLinear(block.v_proj)
    return PeftLike(model)


def compiled() -> nn.Module:
    return torch.compile(_convolutions())


def data_parallel() -> nn.Module:
    return nn.DataParallel(_convolutions())


def averaged() -> nn.Module:
    return AveragedModel(Classifier())


class Checkpointed(nn.Module):
    """Blocks that would be recomputed in training."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Linear(64, 128)
        self.blocks = nn.ModuleList(Attention(128, 4) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = x + checkpoint(block, x, use_reentrant=False)
        return x


def checkpointed() -> nn.Module:
    return Checkpointed()


def nested_wrappers() -> nn.Module:
    return torch.compile(ParallelLike(PeftLike(Classifier())), dynamic=True)
