"""Small networks to be swept, with every dimension a parameter: `synthetic:mlp --set in=128
hidden=256,512,1024`. A sweep from on-chip to off-chip sizes shows where a part's memory tiers end."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from charz.schema.errors import CharzError, unknown_name

from ..graph import Powers
from ..trace.export import BATCH, SEQUENCE, Request
from .spec import Spec

Parameters = dict[str, int]
Default = int | Callable[[Parameters], int]
"""A number, or a function of the parameters before it."""
Shape = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """A family of synthetic networks: its parameters with defaults, its module and its inputs."""

    parameters: dict[str, Default]
    module: Callable[[Parameters], nn.Module]
    inputs: Callable[[Parameters], list[Shape]]


KINDS: dict[str, Kind] = {}


def kind(
    inputs: Callable[[Parameters], list[Shape]], **parameters: Default
) -> Callable[[Callable[[Parameters], nn.Module]], Callable[[Parameters], nn.Module]]:
    """Register a family under its function's name."""

    def register(function: Callable[[Parameters], nn.Module]) -> Callable[[Parameters], nn.Module]:
        KINDS[function.__name__] = Kind(parameters, function, inputs)
        return function

    return register


def names() -> list[str]:
    """List all families."""
    return list(KINDS)


def build(spec: Spec) -> Request:
    """Build one member of a family. Raise CharzError for an unknown family or parameter."""
    found = KINDS.get(spec.name)
    if found is None:
        raise unknown_name("synthetic model", spec.name, KINDS)
    values = given = _given(spec, found)
    try:
        values = _resolved(found, given)
        shapes = found.inputs(values)
        with torch.device("meta"):
            module = found.module(values).eval()
    except (ValueError, RuntimeError, AssertionError) as error:
        raise CharzError(
            "these sizes do not fit together", f"{spec.source} {_suffix(values)}", str(error).splitlines()[0]
        ) from None
    named = {k: v for k, v in values.items() if k in given or isinstance(found.parameters[k], int)}
    request = Request(
        name=f"{spec.source},{_suffix(named)}", source=spec.source, module=module, family="synthetic",
        default_batch=spec.batch or 2,
    )  # fmt: skip
    for number, shape in enumerate(shapes):
        _add_input(request, number, shape, spec)
    return request


def _given(spec: Spec, found: Kind) -> Parameters:
    given: Parameters = {}
    for key, text in spec.settings:
        if key not in found.parameters:
            raise unknown_name("parameter", f"{key} of {spec.source}", found.parameters)
        if not re.fullmatch("0*[1-9][0-9]{0,8}", text) and not (key == "padding" and text == "0"):
            raise CharzError("a size must be a whole number above 0 and below a billion", f"{key}={text}")
        given[key] = int(text)
    return given


def _resolved(found: Kind, given: Parameters) -> Parameters:
    """Return the values of all parameters. Raise ValueError where a derived one is impossible."""
    values: Parameters = {}
    for name, default in found.parameters.items():
        values[name] = given[name] if name in given else default if isinstance(default, int) else default(values)
    return values


def _suffix(values: Parameters) -> str:
    return ",".join(f"{k}={v}" for k, v in values.items())


def _add_input(request: Request, number: int, shape: Shape, spec: Spec) -> None:
    """Add an input whose size B is the batch, and whose `S=128` is a sequence with that default."""
    sizes: list[int] = []
    axes: dict[int, Powers] = {}
    for d, size in enumerate(shape):
        if size == "B":
            sizes.append(spec.batch or 2)
            if not spec.batch:
                axes[d] = BATCH
        elif isinstance(size, str):
            sizes.append(spec.sequence or int(size.partition("=")[2]))
            axes[d] = SEQUENCE
            request.default_sequence = sizes[-1]
        else:
            sizes.append(size)
    name = list(_signature(request.module))[number]
    request.keywords[name] = torch.empty(sizes, device="meta")
    request.axes[name] = axes


def _signature(module: nn.Module) -> list[str]:
    import inspect

    return list(inspect.signature(module.forward).parameters)


class Apply(nn.Module):
    """A module around a function of one tensor."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor | tuple[torch.Tensor, ...]]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        return self.function(x)


class Product(nn.Module):
    """A product of two matrices."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


class Residual(nn.Module):
    """A block with a connection around it, through a projection where the block changes the shape."""

    def __init__(self, block: nn.Module, shortcut: nn.Module, last: nn.Module) -> None:
        super().__init__()
        self.block = block
        self.shortcut = shortcut
        self.last = last

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.block(x) + self.shortcut(x))  # type: ignore[no-any-return]


class Attention(nn.Module):
    """Self-attention: projections, heads, output projection."""

    def __init__(self, width: int, heads: int, head_width: int) -> None:
        super().__init__()
        self.heads, self.head_width = heads, head_width
        self.project = nn.Linear(width, 3 * heads * head_width)
        self.out = nn.Linear(heads * head_width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = self.project(x).view(batch, length, 3, self.heads, self.head_width).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, self.heads * self.head_width))  # type: ignore[no-any-return]


class TransformerBlock(nn.Module):
    """Pre-norm attention and MLP."""

    def __init__(self, width: int, heads: int, head_width: int, hidden: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, head_width)
        self.mlp = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))  # type: ignore[no-any-return]


def _image(p: Parameters) -> list[Shape]:
    """Return an image of `size` x `width` pixels. Raise ValueError where the window does not fit into it."""
    for name in ("size", "width"):
        reach, padded = p.get("dilation", 1) * (p["kernel"] - 1) + 1, p[name] + 2 * p["padding"]
        if reach > padded:
            raise ValueError(f"a window of {reach} does not fit into {name} {p[name]} with a border of {p['padding']}")
    return [("B", p["channels"], p["size"], p["width"])]


def _same(name: str) -> Callable[[Parameters], int]:
    """Return a default equal to another parameter."""
    return lambda p: p[name]


def _half_kernel(p: Parameters) -> int:
    """Return the padding with which a window of odd size keeps the image's size."""
    return p["kernel"] // 2


def _head_width(p: Parameters) -> int:
    if p["width"] % p["heads"]:
        raise ValueError(f"width {p['width']} is not a multiple of {p['heads']} heads")
    return p["width"] // p["heads"]


def _matrix(p: Parameters) -> list[Shape]:
    return [("B", p["n"], p["n"])]


@kind(lambda p: [("B", p["in"])], **{"in": 1024, "hidden": 4096, "out": 1024, "layers": 2})
def mlp(p: Parameters) -> nn.Module:
    """Build `layers` linear layers with ReLU between."""
    widths = [p["in"], *[p["hidden"]] * (p["layers"] - 1), p["out"]]
    layers: list[nn.Module] = []
    for a, b in itertools.pairwise(widths):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


@kind(
    _image, channels=64, out=64, size=56, kernel=3, stride=1, groups=1, width=_same("size"), padding=_half_kernel,
    dilation=lambda _: 1,
)  # fmt: skip
def conv2d(p: Parameters) -> nn.Module:
    """Build one convolution."""
    return nn.Conv2d(p["channels"], p["out"], p["kernel"], p["stride"], p["padding"], p["dilation"], groups=p["groups"])


@kind(
    _image, channels=64, out=64, size=56, kernel=3, stride=1, width=_same("size"), padding=_half_kernel,
    dilation=lambda _: 1, groups=lambda _: 1,
)  # fmt: skip
def conv2d_bn_act(p: Parameters) -> nn.Module:
    """Build convolution, batch normalization and ReLU."""
    conv = nn.Conv2d(
        p["channels"], p["out"], p["kernel"], p["stride"], p["padding"], p["dilation"], groups=p["groups"], bias=False
    )
    return nn.Sequential(conv, nn.BatchNorm2d(p["out"]), nn.ReLU())


@kind(
    _image, channels=64, size=56, kernel=3, out=_same("channels"), stride=lambda _: 1, width=_same("size"),
    padding=_half_kernel,
)  # fmt: skip
def resnet_block(p: Parameters) -> nn.Module:
    """Build two convolutions and a residual, with a 1x1 projection where channels or pixels change."""
    channels, out, k = p["channels"], p["out"], p["kernel"]
    if k % 2 == 0 or p["padding"] != k // 2:
        raise ValueError(f"kernel {k} with a border of {p['padding']} gives another size than the shortcut")
    block = nn.Sequential(
        nn.Conv2d(channels, out, k, p["stride"], k // 2, bias=False), nn.BatchNorm2d(out), nn.ReLU(),
        nn.Conv2d(out, out, k, padding=k // 2, bias=False), nn.BatchNorm2d(out),
    )  # fmt: skip
    if (channels, 1) == (out, p["stride"]):
        return Residual(block, nn.Identity(), nn.ReLU())
    projection = nn.Sequential(nn.Conv2d(channels, out, 1, p["stride"], bias=False), nn.BatchNorm2d(out))
    return Residual(block, projection, nn.ReLU())


@kind(
    _image, channels=64, out=128, size=56, kernel=3, stride=1, width=_same("size"), padding=_half_kernel,
    dilation=lambda _: 1,
)  # fmt: skip
def depthwise_separable(p: Parameters) -> nn.Module:
    """Build a depthwise, then a pointwise convolution."""
    c, k = p["channels"], p["kernel"]
    return nn.Sequential(
        nn.Conv2d(c, c, k, p["stride"], p["padding"], p["dilation"], groups=c, bias=False), nn.BatchNorm2d(c), nn.ReLU6(),
        nn.Conv2d(c, p["out"], 1, bias=False), nn.BatchNorm2d(p["out"]), nn.ReLU6(),
    )  # fmt: skip


@kind(_image, channels=64, size=56, kernel=3, stride=2, width=_same("size"), padding=_half_kernel)
def pooling(p: Parameters) -> nn.Module:
    """Build max pooling."""
    if p["padding"] > p["kernel"] // 2:
        raise ValueError(f"a border of {p['padding']} is more than half of the window of {p['kernel']}")
    return nn.MaxPool2d(p["kernel"], p["stride"], p["padding"])


@kind(lambda p: [("B", f"S={p['length']}", p["width"])], length=196, width=768)
def norm(p: Parameters) -> nn.Module:
    """Build layer normalization of tokens."""
    return nn.LayerNorm(p["width"])


@kind(lambda p: [("B", f"S={p['length']}", p["width"])], length=512, width=64, heads=1, head_width=_head_width)
def attention_head(p: Parameters) -> nn.Module:
    """Build attention with its projections; one head unless asked for more."""
    return Attention(p["width"], p["heads"], p["head_width"])


@kind(
    lambda p: [("B", f"S={p['length']}", p["width"])],
    length=512,
    width=768,
    heads=12,
    hidden=3072,
    head_width=_head_width,
)
def transformer_block(p: Parameters) -> nn.Module:
    """Build pre-norm attention and MLP with residuals."""
    return TransformerBlock(p["width"], p["heads"], p["head_width"], p["hidden"])


@kind(lambda p: [("B", p["m"], p["k"]), ("B", p["k"], p["n"])], m=1024, n=1024, k=1024)
def matmul(p: Parameters) -> nn.Module:
    """Build a product of two matrices a sample."""
    return Product()


@kind(lambda p: [("B", p["elements"])], elements=1048576)
def elementwise(p: Parameters) -> nn.Module:
    """Build one addition an element, which is nothing but traffic."""
    return Apply(lambda x: x + 1.0)


@kind(lambda p: [("B", p["rows"], p["columns"])], rows=1024, columns=1024)
def softmax(p: Parameters) -> nn.Module:
    """Build softmax of rows."""
    return nn.Softmax(-1)


@kind(_matrix, n=512)
def lu(p: Parameters) -> nn.Module:
    """Build LU factorization with pivoting."""
    return Apply(lambda x: tuple(torch.linalg.lu_factor(x)))


@kind(lambda p: [("B", p["m"], p["n"])], m=512, n=512)
def qr(p: Parameters) -> nn.Module:
    """Build QR factorization that forms Q."""
    return Apply(lambda x: tuple(torch.linalg.qr(x)))


@kind(_matrix, n=512)
def cholesky(p: Parameters) -> nn.Module:
    """Build Cholesky factorization of a symmetric matrix."""
    return Apply(torch.linalg.cholesky)


@kind(lambda p: [("B", p["n"], p["n"]), ("B", p["n"], p["columns"])], n=512, columns=512)
def triangular_solve(p: Parameters) -> nn.Module:
    """Build a triangular solve with many right-hand sides."""
    return Solve()


class Solve(nn.Module):
    """Upper triangular solve."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.linalg.solve_triangular(a, b, upper=True)


@kind(lambda p: [("B", p["length"])], length=4096)
def fft(p: Parameters) -> nn.Module:
    """Build the Fourier transform of a real signal."""
    return Apply(torch.fft.rfft)


@kind(lambda p: [("B", p["length"], p["width"])], length=64, width=512, hidden=512)
def lstm(p: Parameters) -> nn.Module:
    """Build one LSTM layer over a sequence."""
    return nn.LSTM(p["width"], p["hidden"], batch_first=True)
