"""Whole small networks of the kinds that people bring."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class TiedDecoder(nn.Module):
    """A language model whose head is its embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(1000, 128)
        self.position = nn.Embedding(256, 128)
        layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(128, 1000, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        s = tokens.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(s, device=tokens.device)
        x = self.embed(tokens) * math.sqrt(128) + self.position(torch.arange(s, device=tokens.device))
        return self.head(self.body(x, mask=mask, is_causal=True))


class Sequence2Sequence(nn.Module):
    """An LSTM reads, a GRU writes and looks back."""

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(800, 96), nn.Embedding(700, 96)
        self.encoder = nn.LSTM(96, 64, num_layers=2, bidirectional=True, batch_first=True)
        self.decoder = nn.GRU(96, 128, batch_first=True)
        self.head = nn.Linear(256, 700)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        memory, (h, _) = self.encoder(self.source(source))
        start = torch.cat([h[-2], h[-1]], dim=-1).unsqueeze(0)
        states, _ = self.decoder(self.target(target), start)
        weights = torch.bmm(states, memory.transpose(1, 2)).softmax(-1)
        return self.head(torch.cat([states, torch.bmm(weights, memory)], dim=-1))


class PackedTagger(nn.Module):
    """Sentences of different lengths, packed."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(800, 64)
        self.lstm = nn.LSTM(64, 64, bidirectional=True, batch_first=True)
        self.head = nn.Linear(128, 9)

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = pack_padded_sequence(self.embed(tokens), lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=tokens.shape[1])
        return self.head(states)


class Waveform(nn.Module):
    """Strided convolutions over samples, then a recurrent layer."""

    def __init__(self) -> None:
        super().__init__()
        sizes = ((1, 32, 10, 5), (32, 64, 8, 4), (64, 64, 4, 2))
        self.front = nn.Sequential(*(nn.Sequential(nn.Conv1d(i, o, k, s), nn.ReLU()) for i, o, k, s in sizes))
        self.gru = nn.GRU(64, 64, num_layers=2, batch_first=True)
        self.head = nn.Linear(64, 12)

    def forward(self, samples: torch.Tensor) -> torch.Tensor:
        x = self.front(samples.unsqueeze(1)).transpose(1, 2)
        return self.head(self.gru(x)[0]).log_softmax(-1)


class _Branch(nn.Module):
    """A branch among others, found by name."""

    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        self.path = nn.ModuleDict({"conv": nn.Conv2d(channels, channels, kernel, padding=kernel // 2, groups=4)})
        self.extra = nn.ModuleList([nn.BatchNorm2d(channels), nn.Sequential(nn.ReLU6(), nn.Identity())])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.path["conv"](x)
        for layer in self.extra:
            x = layer(x)
        return x


class NestedContainers(nn.Module):
    """Containers in containers, and one block used three times."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 4, 4)
        self.branches = nn.ModuleDict({f"k{k}": _Branch(32, k) for k in (1, 3, 5)})
        self.shared = nn.Sequential(
            nn.Conv2d(32, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True)
        )

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        x = self.stem(x)
        for _ in range(3):
            x = self.shared(x) + sum(branch(x) for branch in self.branches.values())
        return {"features": x, "pooled": x.amax((2, 3))}


class UNet(nn.Module):
    """Down, up and across, sizes taken from what is there."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([self.block(3, 16), self.block(16, 32), self.block(32, 64)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(64, 32, 2, 2), nn.Conv2d(32, 16, 1)])
        self.merge = nn.ModuleList([self.block(64, 32), self.block(32, 16)])
        self.head = nn.Conv2d(16, 2, 1)

    @staticmethod
    def block(i: int, o: int) -> nn.Sequential:
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU())

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        skips: list[torch.Tensor] = []
        x = image
        for down in self.down:
            x = down(x if not skips else functional.max_pool2d(x, 2))
            skips.append(x)
        for up, merge, skip in zip(self.up, self.merge, skips[-2::-1], strict=True):
            x = up(x)
            if x.shape[-2:] != skip.shape[-2:]:
                x = functional.interpolate(x, size=skip.shape[-2:], mode="bilinear", align_corners=False)
            x = merge(torch.cat([x, skip], dim=1))
        return self.head(x)


class GraphNetwork(nn.Module):
    """Messages along edges, added up where they arrive."""

    def __init__(self) -> None:
        super().__init__()
        self.message = nn.ModuleList([nn.Linear(64, 64), nn.Linear(64, 64)])
        self.embed = nn.Linear(16, 32)
        self.update = nn.ModuleList([nn.Linear(96, 32), nn.Linear(96, 32)])

    def forward(self, nodes: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        x = self.embed(nodes)
        source, target = edges
        for message, update in zip(self.message, self.update, strict=True):
            m = message(torch.cat([x[source], x[target]], dim=-1)).relu()
            gathered = torch.zeros(x.size(0), 64, dtype=x.dtype, device=x.device).index_add(0, target, m)
            degree = torch.zeros(x.size(0), device=x.device).scatter_add(
                0, target, torch.ones_like(target, dtype=x.dtype)
            )
            x = update(torch.cat([x, gathered / degree.clamp(min=1)[:, None]], dim=-1))
        return x


class Latents(nn.Module):
    """A few learned vectors look at many inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.latents = nn.Parameter(torch.randn(16, 128))
        self.project = nn.Linear(24, 128)
        self.cross = nn.MultiheadAttention(128, 4, batch_first=True)
        self.layer = nn.TransformerDecoderLayer(128, 4, 256, batch_first=True)
        self.head = nn.Linear(128, 3)

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        x = self.project(points)
        latents = self.latents.expand(x.shape[0], -1, -1)
        latents = latents + self.cross(latents, x, x)[0]
        return self.head(self.layer(latents, x)).flatten(1)


class PatchForecaster(nn.Module):
    """A normalized series in overlapping patches."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(16, 64)
        self.position = nn.Parameter(torch.zeros(1, 1, 15, 64))
        self.mixer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, activation="gelu")
        self.head = nn.Linear(15 * 64, 24)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        mean, deviation = series.mean(1, keepdim=True), series.std(1, keepdim=True, unbiased=False) + 1e-5
        x = ((series - mean) / deviation).permute(0, 2, 1).unfold(-1, 16, 8)
        x = self.embed(x) + self.position
        b, c, p, w = x.shape
        x = self.mixer(x.reshape(b * c, p, w)).reshape(b, c, p * w)
        return self.head(x).transpose(1, 2) * deviation + mean


class SuperResolution(nn.Module):
    """Normalized weights and shuffled pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.head = weight_norm(nn.Conv2d(3, 32, 3, padding=1))
        self.body = nn.Sequential(*(weight_norm(nn.Conv2d(32, 32, 3, padding=1)) for _ in range(2)))
        self.tail = nn.Sequential(weight_norm(nn.Conv2d(32, 12, 3, padding=1)), nn.PixelShuffle(2))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.head(image)
        x = x + self.body(x) * 0.1
        return self.tail(x) + functional.interpolate(image, scale_factor=2, mode="bicubic")


def tied_decoder() -> nn.Module:
    return TiedDecoder()


def sequence_to_sequence() -> nn.Module:
    return Sequence2Sequence()


def packed_tagger() -> nn.Module:
    return PackedTagger()


def packed_tagger_arguments(given: dict[str, torch.Tensor]) -> dict[str, Any]:
    return {**given, "lengths": torch.full_like(given["lengths"], given["tokens"].shape[1])}


def waveform() -> nn.Module:
    return Waveform()


def nested_containers() -> nn.Module:
    return NestedContainers()


def u_net() -> nn.Module:
    return UNet()


def graph_network() -> nn.Module:
    return GraphNetwork()


def latents() -> nn.Module:
    return Latents()


def patch_forecaster() -> nn.Module:
    return PatchForecaster()


def super_resolution() -> nn.Module:
    return SuperResolution()
