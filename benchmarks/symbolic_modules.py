"""Modules whose sizes follow from batch and length in ways that networks of the libraries rarely show."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Contrast(nn.Module):
    """Every sample against every other: sizes quadratic in the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.left = nn.Linear(48, 32)
        self.right = nn.Linear(48, 32)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Scores of all pairs of two sets of batch x 48."""
        a = functional.normalize(self.left(left), dim=-1)
        b = functional.normalize(self.right(right), dim=-1)
        return torch.log_softmax(a @ b.T / 0.07, dim=0)


class Relative(nn.Module):
    """Attention with a bias of every pair of positions, and the positions before and after each."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(64, 192)
        self.bias = nn.Embedding(64, 4)

    def forward(self, x: Tensor) -> Tensor:
        """Batch x length x 64 to the same."""
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, 4, 16).permute(2, 0, 3, 1, 4)
        place = torch.arange(length, device=x.device)
        bias = self.bias((place[:, None] - place[None]).clamp(-32, 31) + 32).permute(2, 0, 1)
        scores = torch.einsum("bhid,bhjd->bhij", q, k) * 0.25 + bias
        scores = scores.masked_fill(place[:, None] < place[None], float("-inf"))
        return torch.einsum("bhij,bhjd->bihd", scores.softmax(-1), v).flatten(2)


class Linearized(nn.Module):
    """Attention without scores: sums over positions, and running ones."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(64, 192)

    def forward(self, x: Tensor) -> Tensor:
        """Batch x length x 64 to the same."""
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k = functional.elu(q) + 1, functional.elu(k) + 1
        whole = q @ (k.transpose(1, 2) @ v)
        running = torch.cumsum(k * v, dim=1) * q
        return whole + running / (torch.cumsum(k, dim=1) * q).sum(-1, keepdim=True)


class Tagger(nn.Module):
    """Words through two directions of a recurrence, and the best five of each."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(500, 48)
        self.cell = nn.GRU(48, 40, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(80, 30)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Batch x length tokens to the five best tags of each and their scores."""
        scores, tags = self.head(self.cell(self.embed(tokens))[0]).topk(5, dim=-1)
        return scores.softmax(-1), tags


class Pyramid(nn.Module):
    """Series brought to fixed lengths, and put together again at their own."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(8, 32, 3, padding=1)
        self.second = nn.Conv1d(32, 32, 5, padding=4, dilation=2)
        self.norm = nn.GroupNorm(4, 32)

    def forward(self, x: Tensor) -> Tensor:
        """Batch x 8 x length to batch x 64 x length."""
        fine = functional.gelu(self.norm(self.first(x)))
        coarse = functional.adaptive_avg_pool1d(self.second(fine), 8)
        return torch.cat([fine, functional.interpolate(coarse, size=x.shape[-1], mode="linear")], dim=1)


class Retriever(nn.Module):
    """Positions ordered by a score, the words of a memory that each picks, and what they add up to."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = nn.Parameter(torch.empty(200, 64))
        self.score = nn.Linear(64, 1)
        self.norm = nn.LayerNorm(64)

    def forward(self, x: Tensor) -> Tensor:
        """Batch x length x 64 to the same."""
        order = self.score(x).squeeze(-1).argsort(dim=1, descending=True)
        x = torch.gather(x, 1, order.unsqueeze(-1).expand(-1, -1, 64))
        picked = (x @ self.memory.T).argmax(-1)
        found = functional.embedding(picked, self.memory)
        return self.norm(torch.zeros_like(x).scatter_add_(1, order.unsqueeze(-1).expand(-1, -1, 64), x + found))


def contrast() -> nn.Module:
    """Sizes quadratic in the batch."""
    return Contrast()


def relative() -> nn.Module:
    """Sizes quadratic in the length."""
    return Relative()


def linearized() -> nn.Module:
    """Running sums."""
    return Linearized()


def tagger() -> nn.Module:
    """A recurrent kernel and a choice."""
    return Tagger()


def pyramid() -> nn.Module:
    """Lengths that are fixed for a while."""
    return Pyramid()


def retriever() -> nn.Module:
    """Sorting and scattering."""
    return Retriever()
