"""Modules whose forward does what tracers do not like."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional


class ConstantsInForward(nn.Module):
    """Positions, a mask and a window made on the CPU whenever they are needed."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(16, 64)
        self.table = nn.Embedding(512, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        s = x.shape[1]
        positions = torch.arange(s)
        mask = torch.triu(torch.full((s, s), float("-inf")), diagonal=1)
        x = self.embed(x) + self.table(positions)
        weights = (x @ x.transpose(1, 2) / 8.0 + mask).softmax(-1)
        return weights @ x * torch.tensor([0.5])


class NumpyConstants(nn.Module):
    """A filter bank and a normalization computed with numpy in forward."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Conv2d(4, 32, 3, padding=1)
        self.mean = np.array([0.485, 0.456, 0.406], dtype=np.float32)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        image = image - torch.from_numpy(self.mean).view(1, 3, 1, 1)
        ramp = torch.as_tensor(np.linspace(-1, 1, image.shape[-1], dtype=np.float32))
        ramp = ramp.expand(image.shape[0], 1, image.shape[-2], -1)
        return functional.relu(self.project(torch.cat([image, ramp], dim=1)))


class Conditional(nn.Module):
    """Two branches of the same shape, chosen by a value."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Linear(128, 128)
        self.narrow = nn.Linear(128, 128)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: self.wide(y).relu(), lambda y: self.narrow(y).tanh(), (x,))


class WriteAfterRead(nn.Module):
    """Activations overwritten while others have read them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(256, 256), nn.Linear(256, 256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        z = y + 1.0
        y.mul_(2.0)
        y[:, 0] = 0.0
        y[..., ::2] += z[..., 1::2]
        z.copy_(self.second(y))
        functional.relu_(z)
        return y.add_(z)


class EinsumAttention(nn.Module):
    """Attention written in letters."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Parameter(torch.empty(3, 4, 128, 32).normal_(std=0.02))
        self.out = nn.Parameter(torch.empty(4, 32, 128).normal_(std=0.02))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = torch.einsum("bsd,nhde->nbhse", x, self.qkv)
        weights = torch.einsum("bhie,bhje->bhij", q, k).div(32**0.5).softmax(-1)
        return torch.einsum("bhij,bhje,hed->bid", weights, v, self.out)


class FourierOperator(nn.Module):
    """Complex weights on the lowest frequencies."""

    def __init__(self) -> None:
        super().__init__()
        self.lift = nn.Conv2d(1, 16, 1)
        self.weight = nn.Parameter(torch.randn(16, 16, 8, 8, dtype=torch.cfloat) / 16)
        self.lower = nn.Conv2d(16, 1, 1)

    def forward(self, field: torch.Tensor) -> torch.Tensor:
        x = self.lift(field)
        spectrum = torch.fft.rfft2(x)
        kept = torch.zeros_like(spectrum)
        kept[:, :, :8, :8] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :8, :8], self.weight)
        return self.lower(functional.gelu(torch.fft.irfft2(kept, s=x.shape[-2:]) + x))


class UpdatedBuffers(nn.Module):
    """A codebook with running counts, kept while it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("codes", torch.randn(64, 32))
        self.register_buffer("used", torch.zeros(64))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.project = nn.Linear(48, 32)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.project(x)
        distance = x.pow(2).sum(-1, keepdim=True) - 2 * x @ self.codes.t() + self.codes.pow(2).sum(-1)
        chosen = distance.argmin(-1)
        counts = functional.one_hot(chosen, 64).float().sum((0, 1))
        self.used.mul_(0.99).add_(counts, alpha=0.01)
        self.steps += 1
        return x + (self.codes[chosen] - x).detach(), chosen


class ParameterLists(nn.Module):
    """Layers as lists and dictionaries of parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(96, 96) * 0.05) for _ in range(3))
        self.biases = nn.ParameterDict({f"bias_{i}": nn.Parameter(torch.zeros(96)) for i in range(3)})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i, weight in enumerate(self.weights):
            x = torch.addmm(self.biases[f"bias_{i}"], x, weight).tanh()
        return x


class GatedExperts(nn.Module):
    """All experts on all tokens, blended by the gate's best two."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(64, 4)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64)) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values, indices = self.gate(x).topk(2, dim=-1)
        share = torch.zeros(*x.shape[:-1], 4, dtype=x.dtype, device=x.device)
        share = share.scatter(-1, indices, values.softmax(-1))
        results = torch.stack([expert(x) for expert in self.experts], dim=-1)
        return (results * share.unsqueeze(-2)).sum(-1)


class SparseExperts(GatedExperts):
    """Each expert only on the tokens that chose it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1])
        values, indices = self.gate(flat).softmax(-1).topk(2, dim=-1)
        result = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, places = torch.where(indices == number)
            result.index_add_(0, rows, expert(flat[rows]) * values[rows, places, None])
        return result.view_as(x)


class AdaptiveDepth(nn.Module):
    """As many layers as the values ask for."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(4):
            x = self.layer(x).relu()
            if x.mean() < 0.1:
                break
        return x


class HandwrittenCell(nn.Module):
    """A recurrence written out in Python over a fixed number of steps."""

    def __init__(self) -> None:
        super().__init__()
        self.input, self.recurrent = nn.Linear(32, 4 * 64), nn.Linear(64, 4 * 64, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = c = x.new_zeros(x.shape[0], 64)
        seen = []
        for step in x.unbind(1):
            i, f, g, o = (self.input(step) + self.recurrent(h)).chunk(4, dim=-1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            seen.append(h)
        return torch.stack(seen, dim=1)


class AutocastInside(nn.Module):
    """A region of half precision within a full one."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(128, 512), nn.Linear(512, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x = functional.gelu(self.body(x))
        return self.head(x.float())


class _RoundThrough(torch.autograd.Function):
    """Rounds forward and passes gradients as they are."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return torch.round(x / scale).clamp(-128, 127) * scale

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradients[0], None


class CustomFunction(nn.Module):
    """Weights and activations rounded by a function with a gradient of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 32, 3, 2, 1)
        self.scale = nn.Parameter(torch.tensor(0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = _RoundThrough.apply(x, self.scale.detach())
        weight = _RoundThrough.apply(self.convolution.weight, self.scale.detach())
        return functional.conv2d(x, weight, self.convolution.bias, 2, 1).relu()


class Ensemble(nn.Module):
    """Five members at once under vmap."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5, 64, 64) * 0.1)
        self.bias = nn.Parameter(torch.zeros(5, 64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        members = torch.vmap(lambda w, b: torch.tanh(x @ w + b))(self.weight, self.bias)
        return members.mean(0)


def constants_in_forward() -> nn.Module:
    return ConstantsInForward()


def numpy_constants() -> nn.Module:
    return NumpyConstants()


def conditional() -> nn.Module:
    return Conditional()


def write_after_read() -> nn.Module:
    return WriteAfterRead()


def einsum_attention() -> nn.Module:
    return EinsumAttention()


def fourier_operator() -> nn.Module:
    return FourierOperator()


def updated_buffers() -> nn.Module:
    return UpdatedBuffers()


def parameter_lists() -> nn.Module:
    return ParameterLists()


def gated_experts() -> nn.Module:
    return GatedExperts()


def sparse_experts() -> nn.Module:
    return SparseExperts()


def adaptive_depth() -> nn.Module:
    return AdaptiveDepth()


def handwritten_cell() -> nn.Module:
    return HandwrittenCell()


def autocast_inside() -> nn.Module:
    return AutocastInside()


def custom_function() -> nn.Module:
    return CustomFunction()


def ensemble() -> nn.Module:
    return Ensemble()
