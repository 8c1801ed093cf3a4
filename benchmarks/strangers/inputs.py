"""Modules that take anything but one tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional


class TwoTower(nn.Module):
    """An image and a text encoder and the similarity of every pair."""

    def __init__(self) -> None:
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(3, 64, 8, 8), nn.Flatten(2), nn.Linear(64, 32), nn.ReLU())
        self.text = nn.Embedding(500, 32)
        self.logit_scale = nn.Parameter(torch.ones([]) * 2.6)

    def encode(self, image: torch.Tensor, text: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.image(image).mean(1), self.text(text).mean(1)

    def forward(self, image: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        a, b = self.encode(image, text)
        a, b = functional.normalize(a, dim=-1), functional.normalize(b, dim=-1)
        return self.logit_scale.exp() * a @ b.t()


class FromDictionary(TwoTower):
    """The two towers as a training loop hands them a batch."""

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:  # type: ignore[override]
        a, b = self.encode(batch["image"], batch["text"])
        return {"logits": a @ b.t(), "image": a, "text": b}


@dataclass
class Batch:
    """A batch of tokens with their mask."""

    tokens: torch.Tensor
    mask: torch.Tensor


class FromDataclass(nn.Module):
    """A masked mean of embedded tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(500, 128)
        self.mix = nn.Linear(128, 128)

    def forward(self, batch: Batch) -> torch.Tensor:
        x = self.mix(self.embed(batch.tokens)) * batch.mask.unsqueeze(-1)
        return x.sum(1) / batch.mask.sum(1, keepdim=True).clamp(min=1)


class FromList(nn.Module):
    """Two frames, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1))

    def forward(self, frames: list[torch.Tensor]) -> torch.Tensor:
        first, second = (self.encoder(f) for f in frames)
        return (first - second).abs().mean((2, 3))


class Video(nn.Module):
    """Frames folded into the batch, then attention over time."""

    def __init__(self) -> None:
        super().__init__()
        self.frame = nn.Sequential(nn.Conv2d(3, 32, 7, 4, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.time = nn.MultiheadAttention(128, 4, batch_first=True)
        self.head = nn.Linear(128, 5)

    def forward(self, video: torch.Tensor) -> torch.Tensor:
        b, t, c, h, w = video.shape
        x = self.frame(video.view(b * t, c, h, w)).reshape(b, t, -1)
        x, _ = self.time(x, x, x, need_weights=False)
        return self.head(x[:, -1])


class Features(NamedTuple):
    """Result and, where asked for, what came before it."""

    logits: torch.Tensor
    hidden: torch.Tensor | None = None


class WithDefaults(nn.Module):
    """A forward of arguments that nearly all have a default."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(
        self,
        x: torch.Tensor,
        mask: torch.Tensor | None = None,
        temperature: float = 1.0,
        steps: int = 2,
        return_hidden: bool = False,
    ) -> Features:
        for _ in range(steps):
            hidden = functional.silu(self.first(x / temperature))
            x = x + self.second(hidden)
        if mask is not None:
            x = x.masked_fill(mask, 0.0)
        return Features(x, hidden if return_hidden else None)


class KeywordsOnly(nn.Module):
    """Arguments by keyword alone, one of them a scalar a sample."""

    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 64))
        self.body = nn.Linear(64, 64)

    def forward(self, *, sample: torch.Tensor, timestep: torch.Tensor) -> torch.Tensor:
        frequencies = torch.exp(torch.arange(16, device=timestep.device) / -16.0)
        angles = timestep[:, None].float() * frequencies[None]
        time = self.time(torch.cat([angles.sin(), angles.cos()], dim=-1))
        return self.body(sample + time[:, None, :])


class WithState(nn.Module):
    """One step of a stack of cells that hands its state back."""

    def __init__(self) -> None:
        super().__init__()
        self.lower, self.upper = nn.LSTMCell(64, 128), nn.LSTMCell(128, 128)

    def forward(self, x: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, Any]:
        h, c = self.lower(x, state)
        h2, c2 = self.upper(h, (h, c))
        return h2, (h2, c2)


def two_tower() -> nn.Module:
    return TwoTower()


def dictionary() -> nn.Module:
    return FromDictionary()


def data_class() -> nn.Module:
    return FromDataclass()


def data_class_arguments(given: dict[str, torch.Tensor]) -> dict[str, Any]:
    return {"batch": Batch(given["batch.tokens"], given["batch.mask"])}


def list_of_frames() -> nn.Module:
    return FromList()


def list_of_frames_arguments(given: dict[str, torch.Tensor]) -> dict[str, Any]:
    return {"frames": [given["frames.0"], given["frames.1"]]}


def video() -> nn.Module:
    return Video()


def with_defaults() -> nn.Module:
    return WithDefaults()


def keywords_only() -> nn.Module:
    return KeywordsOnly()


def with_state() -> nn.Module:
    return WithState()


def with_state_arguments(given: dict[str, torch.Tensor]) -> dict[str, Any]:
    return {"x": given["x"], "state": (given["state.0"], given["state.1"])}
