"""A small network, written in several ways that compute the same result."""

from __future__ import annotations

import torch
from torch import nn


class Net(nn.Module):
    """Two convolutions, one of them normalized, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, padding=1, stride=2)
        self.norm = nn.BatchNorm2d(32)
        self.body = nn.Conv2d(32, 64, 3, padding=1)
        self.head = nn.Linear(64, 100)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features = torch.relu(self.norm(self.stem(images)))
        return self.head(torch.relu(self.body(features)).mean((2, 3)))


class Renamed(nn.Module):
    """The same network with other names, its layers created in another order."""

    def __init__(self) -> None:
        super().__init__()
        self.zz = nn.Linear(64, 100)
        self.c2 = nn.Conv2d(32, 64, 3, padding=1)
        self.b1 = nn.BatchNorm2d(32)
        self.a = nn.Conv2d(3, 32, 3, padding=1, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.b1(self.a(x)))
        return self.zz(torch.relu(self.c2(y)).mean((2, 3)))


class Wrapped(nn.Module):
    """The same network within another module."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(Net())

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.inner(images)
