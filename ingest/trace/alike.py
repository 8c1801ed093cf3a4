"""Lists of repeating layers, found in a module before it is traced, so that equal layers are traced once.

A list repeats with a period if layers that far apart are alike: modules of the same classes with the same attributes, parameters
and buffers of the same sizes, and the same entries in every list of their owner or its configuration that is as long. The list
then contains only its first few layers while the model is traced, and `trace.repeat` repeats the graph.

Code that sees a layer's number could treat layers differently. So the numbers that layers keep, and those of `enumerate`, are
watched: every use other than a subscript, and every other way to iterate the list, is noted, and the model is traced whole.
"""

from __future__ import annotations

import builtins
import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType, MethodType
from typing import Any
from unittest import mock

import torch
from torch import nn

UNITS = 4
"""Periods to trace: the first and the last may differ, and the two in between must be equal."""


class NotAlikeError(Exception):
    """Layers that turn out not to be copies of each other."""


@dataclass(slots=True)
class Layers:
    """A list of layers of which only the first `kept` are traced."""

    path: str
    """Path of the list in the model, e.g. `model.layers`."""
    first: int
    """Number of the layer with which the first period begins."""
    period: int
    kept: int
    copies: int
    """Number of periods that are left out."""
    owner: nn.Module
    layers: nn.Module
    numbers: list[tuple[nn.Module, str]]
    """Attributes of the kept layers that store a layer's number."""

    def layer_of(self, path: str) -> int | None:
        """Return the number of the layer that contains a module or parameter."""
        head, _, rest = path.partition(self.path + ".")
        number = rest.partition(".")[0]
        return int(number) if not head and number.isdecimal() else None

    def unit_of(self, layer: int) -> int:
        """Return the period of a layer: -1 before the first, and the last traced period for all later layers."""
        return max(min((layer - self.first) // self.period, UNITS - 1), -1)

    def moved(self, path: str, periods: int) -> str:
        """Return the path of the module or parameter so many periods later; a path outside the list stays unchanged."""
        layer = self.layer_of(path)
        if layer is None:
            return path
        rest = path[len(self.path) + 1 :].partition(".")
        return f"{self.path}.{layer + periods * self.period}{rest[1]}{rest[2]}"


@dataclass(slots=True)
class Watch:
    """Uses of layer numbers that could tell layers apart."""

    seen: list[str] = field(default_factory=list)


class _Number(int):
    """A layer's number that notes every use of it except subscripts."""

    watch: Watch


def _noting(name: str) -> Callable[..., Any]:
    plain = getattr(int, name)

    def noted(self: _Number, *others: Any) -> Any:
        self.watch.seen.append(name)
        return plain(self, *others)

    return noted


for _name in (
    "add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "rfloordiv", "truediv", "rtruediv", "mod", "rmod", "divmod", "rdivmod",
    "pow", "rpow", "and", "rand", "or", "ror", "xor", "rxor", "lshift", "rlshift", "rshift", "rrshift", "neg", "pos", "abs", "invert",
    "lt", "le", "gt", "ge", "eq", "ne", "bool", "float", "str", "format",
):  # fmt: skip
    setattr(_Number, f"__{_name}__", _noting(f"__{_name}__"))


def _number(value: int, watch: Watch) -> _Number:
    number = _Number(value)
    number.watch = watch
    return number


class _Watched:
    """A class that precedes the class of a watched list."""

    watch = Watch()
    _modules: dict[str, nn.Module]

    def __iter__(self) -> Iterator[nn.Module]:
        called = set(sys._getframe(1).f_code.co_names)
        self.watch.seen += called & {"enumerate", "zip", "reversed", "list", "tuple", "iter", "map", "islice", "chain"}
        return iter(self._modules.values())

    def __len__(self) -> int:
        if not _is_of_torch():
            self.watch.seen.append("len")
        return len(self._modules)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            self.watch.seen.append("[]")
        return super().__getitem__(index)  # type: ignore[misc]


def _is_of_torch() -> bool:
    """Return True if the list's own code in torch is the caller."""
    return bool(sys._getframe(2).f_globals.get("__name__") == nn.ModuleList.__module__)


def _numbered(items: Iterable[Any], start: int = 0) -> Iterable[tuple[int, Any]]:
    """Enumerate as the builtin does, with watched numbers for a watched list."""
    if not isinstance(items, _Watched) or start:
        return builtins.enumerate(items, start)
    return [(_number(i, items.watch), item) for i, item in builtins.enumerate(items._modules.values())]


def find(module: nn.Module) -> list[Layers]:
    """Find the lists, none within another's layers, that repeat often enough to leave layers out."""
    found: list[Layers] = []
    for path, owner in module.named_modules():
        if any(layers.layer_of(path) is not None for layers in found):
            continue
        for name, child in owner.named_children():
            if isinstance(child, nn.ModuleList | nn.Sequential):
                layers = _repeating(f"{path}.{name}".lstrip("."), owner, child, module)
                found += [layers] if layers else []
    return found


def _repeating(path: str, owner: nn.Module, child: nn.Module, root: nn.Module) -> Layers | None:
    layers = list(child._modules.values())
    count = len(layers)
    if count <= UNITS or list(child._modules) != [str(i) for i in range(count)] or None in layers:
        return None
    kinds = [_attributes(layer) for layer in layers]  # type: ignore[arg-type]
    numbers = _numbers(kinds)
    listed = _listed(count, owner, root)
    alike = [
        ({key: value for key, value in kind.items() if key not in numbers}, [values[i] for values in listed])
        for i, kind in enumerate(kinds)
    ]
    best: tuple[int, int, int] | None = None
    for period in range(1, count // (UNITS + 1) + 1):
        first = max((i + 1 for i in range(count - period) if alike[i] != alike[i + period]), default=0)
        kept = first + UNITS * period + (count - first) % period
        if kept < count and (best is None or kept < best[0]):
            best = (kept, first, period)
        if period == 1 and first == 0:
            break
    if best is None:
        return None
    kept, first, period = best
    parts = [
        (layer.get_submodule(where), name)  # type: ignore[union-attr]
        for layer, kind in zip(layers[:kept], kinds, strict=False)
        for where, name in numbers
        if (where, name) in kind
    ]
    return Layers(path, first, period, kept, (count - kept) // period, owner, child, parts)


Kind = dict[tuple[str, str], Any]
"""A layer's description: attribute values by path of the submodule and name of the attribute."""


def _attributes(layer: nn.Module) -> Kind:
    places = {id(part): path for path, part in layer.named_modules()}
    kind: Kind = {}
    for path, part in layer.named_modules():
        kind[path, ""] = type(part)
        for name, value in vars(part).items():
            if name != "_modules":
                kind[path, name] = _shown(value, places)
    return kind


def _shown(value: Any, places: dict[int, str]) -> Any:
    """Describe a value so that alike layers compare equal: tensors by size, modules within by path, other objects by
    identity."""
    if isinstance(value, torch.Tensor):
        return (type(value), value.shape, value.stride(), value.dtype, value.requires_grad)
    if isinstance(value, nn.Module):
        return ("module", places.get(id(value), id(value)))
    if isinstance(value, list | tuple):
        return (type(value), [_shown(item, places) for item in value])
    if isinstance(value, dict):
        return (type(value), [(key, _shown(item, places)) for key, item in value.items()])
    if isinstance(value, partial):
        return ("partial", value.func, _shown(value.args, places), _shown(value.keywords, places))
    if isinstance(value, MethodType):
        return ("method", value.__func__, _shown(value.__self__, places))
    if isinstance(value, int | float | str | bytes | complex | torch.dtype | torch.device | type | FunctionType | None):
        return (type(value), value)
    return (type(value), value if isinstance(value, set | frozenset) else id(value))


def _numbers(kinds: Sequence[Kind]) -> set[tuple[str, str]]:
    """Find the attributes that number the layers: integers that grow by one from each layer to the next."""
    origins: dict[tuple[str, str], list[int | None]] = {}
    for i, kind in enumerate(kinds):
        for key, value in kind.items():
            if type(value) is tuple and value[0] is int:
                origins.setdefault(key, []).append(value[1] - i)
    return {key for key, found in origins.items() if len(found) > 1 and len(set(found)) == 1}


def _listed(count: int, *modules: nn.Module) -> list[Sequence[Any]]:
    """Collect the lists of modules and their configurations that have one entry a layer."""
    found: list[Sequence[Any]] = []
    waiting: list[Any] = list(modules)
    seen: set[int] = set()
    while waiting:
        holder = waiting.pop()
        if id(holder) in seen:
            continue
        seen.add(id(holder))
        for name, value in vars(holder).items():
            if isinstance(value, list | tuple) and len(value) == count:
                found.append(value)
            elif "config" in name and hasattr(value, "to_dict"):
                waiting.append(value)
    return found


@contextlib.contextmanager
def shortened(found: Sequence[Layers]) -> Iterator[Watch]:
    """Shorten the lists to the layers kept, and note uses of layer numbers, within the context."""
    watch = Watch()
    with contextlib.ExitStack() as stack:
        for layers in found:
            plain = type(layers.layers)
            named = {"__module__": plain.__module__, "__qualname__": plain.__qualname__, "watch": watch}
            watched = type(plain.__name__, (_Watched, plain), named)
            kept = dict(list(layers.layers._modules.items())[: layers.kept])
            _put(stack, layers.layers, "_modules", kept)
            layers.layers.__class__ = watched
            stack.callback(setattr, layers.layers, "__class__", plain)
            for part, name in layers.numbers:
                _put(stack, part, name, _number(vars(part)[name], watch))
            for kind in type(layers.owner).__mro__:
                if not kind.__module__.startswith(("torch.", "builtins")):
                    stack.enter_context(
                        mock.patch.object(sys.modules[kind.__module__], "enumerate", _numbered, create=True)
                    )
        yield watch


def _put(stack: contextlib.ExitStack, part: nn.Module, name: str, value: Any) -> None:
    """Give a module an attribute until the stack exits."""
    stack.callback(vars(part).__setitem__, name, vars(part)[name])
    vars(part)[name] = value
