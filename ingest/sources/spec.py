"""A user's request for one model, e.g. `resnet50@288`, `timm:vit_tiny_patch16_224`, `hf:gpt2`."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from charz.schema.errors import CharzError

PREFIXES = {"torchvision": "torchvision", "timm": "timm", "hf": "huggingface", "synthetic": "synthetic"}
"""Modules of this package by the word before the colon."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One model to ingest, before anything is imported."""

    name: str
    """Name within its source, without prefix and resolution."""
    module: str
    """Module of this package that builds it."""
    resolution: int | None = None
    """Height of an image, where the user asks for another than the model's own."""
    width: int | None = None
    """Width of an image, where it differs from the height."""
    sequence: int | None = None
    """Default sequence length, where the user asks for another."""
    batch: int | None = None
    """A fixed batch instead of a symbolic one."""
    inputs: tuple[str, ...] = ()
    """Shapes and types given by the user, e.g. `B,3,224,224:fp32`."""
    settings: tuple[tuple[str, str], ...] = ()
    """Parameters of a synthetic model or changes to a configuration."""
    train: bool = False
    """True if backward work is included."""
    stored: str = ""
    """Name in the database, where the user gives another than the model's own."""
    trust: bool = field(default=False, repr=False)
    """Permission for a saved program to run code; it does not change the result, so `repr` leaves it out."""

    @property
    def prefix(self) -> str:
        """Word before the colon."""
        return next((p for p, m in PREFIXES.items() if m == self.module), self.module)

    @property
    def source(self) -> str:
        """Name of the source in the `model` table."""
        return f"{self.prefix}:{self.name}"

    @property
    def sides(self) -> tuple[int, int] | None:
        """Height and width asked for."""
        return None if self.resolution is None else (self.resolution, self.width or self.resolution)

    @property
    def shown(self) -> str:
        """The request as typed."""
        return self.name if self.module in ("factory", "exported", "onnx_file") else self.source


WITH_SETTINGS = ("synthetic", "huggingface")
"""Modules whose names end in settings, e.g. `synthetic:mlp,in=512,layers=2`."""

_ENDING = re.compile(r"(.+?)((?:,(?:train|[\w.]+=[^,]+))+)")


def parse(text: str, **options: object) -> Spec:
    """Read a model's name as typed, or as stored in the `model` table. Raise CharzError for an invalid name."""
    name, sides = text.strip(), None
    if not name:
        raise CharzError("empty model name", next="try `charz ingest resnet50`")
    name, options = _with_ending(name, options)
    if match := re.fullmatch(r"(.+)@(\d+(?:x\d+)?)", name):
        name, sides = match[1], parse_sides(match[2])
    module, name = _module(name)
    given = {k: v for k, v in options.items() if v is not None and v != ()}
    asked = given.pop("resolution", None)
    if asked is not None:
        if sides not in (None, parse_sides(str(asked))):
            raise CharzError("two resolutions", text, f"--resolution gives {asked}", "give one of them")
        sides = parse_sides(str(asked))
    height, width = sides or (None, None)
    spec = Spec(name, module, resolution=height, width=None if width == height else width)
    return replace(spec, **given)  # type: ignore[arg-type]


RUNNING = {"factory": "import and call", "exported": "load", "onnx_file": "open"}
"""Modules of this package whose model names are imported, loaded or opened, each with its verb."""

_PLAIN = re.compile(r"-?[0-9]+(?:\.[0-9]+)?|true|false", re.IGNORECASE)


def of_database(text: str, is_trusted: bool) -> Spec:
    """Parse a model's stored name from a database, which is untrusted input. Raise CharzError if the database is not trusted and
    building the model would import code, open a file, or call a library with arguments other than numbers."""
    spec = parse(text, trust=is_trusted)
    if is_trusted:
        return spec
    would = RUNNING.get(spec.module, "")
    if spec.module == "huggingface":
        further = [f"{key}={value}" for key, value in spec.settings if not _PLAIN.fullmatch(value)]
        would = "open" if spec.name.endswith(".json") else f"set {', '.join(further)} of" if further else ""
    if would:
        raise CharzError(
            "what a database names runs only if you trust it", spec.shown, f"to make this model again would {would} it",
            f"name {spec.shown} to take your own, or --trust if you trust who wrote the database",
        )  # fmt: skip
    return spec


def _with_ending(name: str, options: dict[str, object]) -> tuple[str, dict[str, object]]:
    """Move the ending of a stored name (`resnet18,batch=8,train`) into the options. Raise CharzError
    where the two contradict each other."""
    match = _ENDING.fullmatch(name)
    if not match:
        return name, options
    short, pairs = match[1], [part.partition("=")[::2] for part in match[2][1:].split(",")]
    settings = tuple(pair for pair in pairs if pair[1] and pair[0] != "batch")
    if settings and _module(short)[0] not in WITH_SETTINGS:
        return name, options
    found: dict[str, object] = {"settings": settings}
    for key, value in pairs:
        if key == "batch":
            if not re.fullmatch("[1-9][0-9]{0,8}", value):
                raise CharzError("not a batch", f"{name}: {value}", next="write e.g. resnet18,batch=8")
            found["batch"] = int(value)
        elif key == "train" and not value:
            found["train"] = True
    for key, value in found.items():
        given = options.get(key)
        if value and given and given != value:
            raise CharzError(f"two of {key}", name, f"an option gives {given}", "give one of them")
    return short, {**options, **{key: value for key, value in found.items() if value}}


def parse_sides(text: str) -> tuple[int, int]:
    """Return height and width of `288` or `800x1066`. Raise CharzError."""
    match = re.fullmatch(r"([0-9]{1,9})(?:x([0-9]{1,9}))?", text)
    sides = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if 0 in sides:
        raise CharzError("not a resolution", text, next="write --resolution 288, or 800x1066 for height x width")
    return sides


def shown_sides(height: int, width: int) -> str:
    """Format a square image's size as `288`, any other as `800x1066`."""
    return str(height) if height == width else f"{height}x{width}"


def _is_there(name: str) -> bool:
    """Return True for an existing file, False also for a name that no file can have."""
    try:
        return Path(name).exists()
    except OSError:
        return False


def _module(name: str) -> tuple[str, str]:
    prefix, colon, rest = name.partition(":")
    if colon and prefix in PREFIXES:
        return PREFIXES[prefix], rest
    if name.endswith(".pt2"):
        return "exported", name
    if name.endswith(".onnx"):
        return "onnx_file", name
    if name.endswith((".pt", ".pth", ".safetensors", ".torchscript", ".ckpt", ".gguf", ".tflite")):
        raise CharzError(
            f"a {Path(name).suffix} file has no code that could be traced", name,
            next="ingest the nn.Module (`charz ingest FILE.py:CALLABLE`), or torch.export.export(MODULE, ARGS) and"
            " torch.export.save(..., 'model.pt2'); precision is asked for later (--precision int8)",
        )  # fmt: skip
    if name.endswith(".py"):
        return "factory", name
    if name.endswith(".json"):
        return "huggingface", name
    if colon and (("." in prefix) or _is_there(f"{prefix}.py") or prefix.isidentifier()):
        return "factory", name
    return "torchvision", name


def sweep(settings: list[str]) -> list[tuple[tuple[str, str], ...]]:
    """Return every combination of settings: `["in=8", "hidden=4,5"]` has two. Raise CharzError."""
    keys, choices = [], []
    for text in " ".join(settings).split():
        key, equals, values = text.partition("=")
        if not equals or not key or not values:
            raise CharzError("a setting is KEY=VALUE or KEY=V1,V2", text, next="e.g. --set in=128 --set hidden=256,512")
        keys.append(key)
        choices.append(values.split(","))
    return [tuple(zip(keys, values, strict=True)) for values in itertools.product(*choices)]
