"""What a user asks for in one word, e.g. `resnet50@288`, `timm:vit_tiny_patch16_224`, `hf:gpt2`."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from charz.schema.errors import CharzError

PREFIXES = {"torchvision": "torchvision", "timm": "timm", "hf": "huggingface", "synthetic": "synthetic"}
"""Word before the colon → module of this package."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One model to ingest, before anything is imported."""

    name: str
    """Name within its source, without prefix and resolution."""
    module: str
    """Module of this package that builds it."""
    resolution: int | None = None
    """Height and width of a square image, where the user asks for another than the model's own."""
    sequence: int | None = None
    """Default sequence length, where the user asks for another."""
    batch: int | None = None
    """A fixed batch instead of a symbolic one."""
    inputs: tuple[str, ...] = ()
    """Shapes and types given by the user, e.g. `B,3,224,224:fp32`."""
    settings: tuple[tuple[str, str], ...] = ()
    """Parameters of a synthetic model or changes to a configuration."""
    train: bool = False
    """Backward work included."""
    trust: bool = field(default=False, repr=False)
    """A saved program may run code; no part of what is asked for, so nothing of its `repr`."""

    @property
    def prefix(self) -> str:
        """Word before the colon."""
        return next((p for p, m in PREFIXES.items() if m == self.module), self.module)

    @property
    def source(self) -> str:
        """How the `model` table names the source."""
        return f"{self.prefix}:{self.name}"

    @property
    def shown(self) -> str:
        """The request as typed."""
        return self.name if self.module in ("factory", "exported") else self.source


def parse(text: str, **options: object) -> Spec:
    """Read a model's name as typed. Raises CharzError when it cannot mean anything."""
    name, resolution = text.strip(), None
    if not name:
        raise CharzError("empty model name", next="try `charz ingest resnet50`")
    if match := re.fullmatch(r"(.+)@(\d+)", name):
        name, resolution = match[1], int(match[2])
    module, name = _module(name)
    spec = Spec(name, module, resolution=resolution)
    given = {k: v for k, v in options.items() if v is not None and v != ()}
    if resolution is not None and given.get("resolution", resolution) != resolution:
        raise CharzError("two resolutions", text, f"--resolution says {given['resolution']}", "give one of them")
    return replace(spec, **given)  # type: ignore[arg-type]


def _module(name: str) -> tuple[str, str]:
    prefix, colon, rest = name.partition(":")
    if colon and prefix in PREFIXES:
        return PREFIXES[prefix], rest
    if name.endswith(".pt2"):
        return "exported", name
    if name.endswith(".json"):
        return "huggingface", name
    if colon and (("." in prefix) or Path(f"{prefix}.py").exists() or prefix.isidentifier()):
        return "factory", name
    return "torchvision", name


def sweep(settings: list[str]) -> list[tuple[tuple[str, str], ...]]:
    """Every combination of settings: `["in=8", "hidden=4,5"]` is two. Raises CharzError."""
    keys, choices = [], []
    for text in " ".join(settings).split():
        key, equals, values = text.partition("=")
        if not equals or not key or not values:
            raise CharzError("a setting is KEY=VALUE or KEY=V1,V2", text, next="e.g. --set in=128 --set hidden=256,512")
        keys.append(key)
        choices.append(values.split(","))
    return [tuple(zip(keys, values, strict=True)) for values in itertools.product(*choices)]
