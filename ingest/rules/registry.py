"""Where operator rules are registered, and what a rule sees.

A rule sizes one call of an ATen overload: it returns the parts of the operator, each with its
quantities (see `schema.workload.Term`), and says which tensors move less than wholly.

    @rule("aten.mm.default", "aten.bmm.default", operator_class="matmul")
    def matrix_product(call: Call) -> list[Part]: ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ..graph import Part, Polynomial
from ..symbolic import Size, polynomial, product, scaled, size_product


@dataclass(slots=True)
class Value:
    """A tensor as a rule sees it: dimensions, unique elements, and its id in the graph."""

    tensor_id: int
    dims: tuple[Size, ...]
    elements: Size
    precision: str = "fp32"

    @property
    def numel(self) -> Size:
        """Product of all dimensions; larger than `elements` where a dimension is expanded."""
        return size_product(self.dims)


class Call:
    """One call of an operator. Tensor arguments appear as `Value`, sizes as `Size`."""

    __slots__ = ("accesses", "arguments", "draw_fractions", "keywords", "operator_class", "outputs", "target")

    def __init__(
        self, target: Any, arguments: list[Any], keywords: dict[str, Any], outputs: list[Value], operator_class: str
    ) -> None:
        self.target = target
        self.arguments = arguments
        self.keywords = keywords
        self.outputs = outputs
        self.operator_class = operator_class
        self.accesses: dict[int, Polynomial] = {}
        self.draw_fractions: dict[int, float] = {}

    def __getitem__(self, name: str) -> Any:
        """Argument by its schema name, the schema's default where the call leaves it out."""
        index, default = _signature(self.target)[name]
        if index < len(self.arguments):
            return self.arguments[index]
        return self.keywords.get(name, default)

    def has(self, name: str) -> bool:
        """True when the schema has an argument of this name."""
        return name in _signature(self.target)

    @property
    def output(self) -> Value:
        """First result."""
        return self.outputs[0]

    def moves(self, value: Value | None, size: Size) -> None:
        """State that only `size` elements of a tensor really move."""
        if value is not None:
            self.accesses[value.tensor_id] = dict(polynomial(size)) or {(0, 0, 0): 0.0}

    def draws(self, value: Value, fraction: float) -> None:
        """State that what moves of a tensor is drawn at random, `fraction` of the tensor at a time."""
        self.draw_fractions[value.tensor_id] = fraction

    def tensors(self) -> list[Value]:
        """All tensor arguments, in order."""
        found: list[Value] = []
        for argument in [*self.arguments, *self.keywords.values()]:
            if isinstance(argument, Value):
                found.append(argument)
            elif isinstance(argument, (list, tuple)):
                found.extend(item for item in argument if isinstance(item, Value))
        return found


@cache
def _signature(target: Any) -> dict[str, tuple[int, Any]]:
    return {a.name: (i, a.default_value) for i, a in enumerate(target._schema.arguments)}


@dataclass(frozen=True, slots=True)
class Rule:
    """A registered rule."""

    name: str
    operator_class: str
    function: Callable[[Call], list[Part]]
    targets: tuple[str, ...] = field(default=())


RULES: dict[str, Rule] = {}
"""Rule of every known overload, by its name, e.g. `aten.conv2d.default`."""

RuleFunction = Callable[[Call], list[Part]]


def rule(*targets: str, operator_class: str) -> Callable[[RuleFunction], RuleFunction]:
    """Register a function as the rule of some overloads. Raises ValueError on a second registration."""

    def register(function: RuleFunction) -> RuleFunction:
        name = f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}"
        for target in targets:
            if target in RULES:
                raise ValueError(f"{target} already has the rule {RULES[target].name}")
            RULES[target] = Rule(name, operator_class, function, targets)
        return function

    return register


def gemm(part: str, groups: Size, m: Size, n: Size, k: Size, threads: Size | None = None) -> Part:
    """A matrix product part: `groups` products of (m, k) by (k, n). A MAC is two FLOPs."""
    macs = product(groups, m, n, k)
    quantities = {
        "groups": polynomial(groups), "m": polynomial(m), "n": polynomial(n), "k": polynomial(k),
        "macs": polynomial(macs), "flops": scaled(macs, 2.0),
        "threads": polynomial(product(groups, m, n) if threads is None else threads),
    }  # fmt: skip
    return Part(part, "gemm", quantities)


def vector(part: str, flops: Size | Polynomial, threads: Size, macs: Size = 0, steps: Size = 0) -> Part:
    """Arithmetic on vector lanes; `steps` are accesses that each thread of PyTorch's kernel makes one after another."""
    quantities = {"flops": polynomial(flops), "threads": polynomial(threads)}
    if macs != 0:
        quantities["macs"] = polynomial(macs)
    if steps != 0:
        quantities["steps"] = polynomial(steps)
    return Part(part, "vector", quantities)


def move(threads: Size) -> Part:
    """Bytes only."""
    return Part("main", "move", {"threads": polynomial(threads)})


def words(text: str) -> list[str]:
    """Names written one after the other."""
    return text.split()
