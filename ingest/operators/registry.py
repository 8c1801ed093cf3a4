"""Registry of operator rules, and the call that a rule receives.

A rule sizes one call of an ATen overload: it returns the steps of the operator, each with its
quantities (see `schema.workload.Term`), and marks the tensors that move only in part.

    @rule("aten.mm.default", "aten.bmm.default", operator_class="matmul")
    def matrix_product(call: Call) -> list[Step]: ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ..graph import Polynomial, Step
from ..trace.symbolic import Size, polynomial, product, scaled, size_product


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

    __slots__ = (
        "accesses", "arguments", "context_limit", "draw_fractions", "keywords", "operator_class", "outputs", "overload",
    )  # fmt: skip

    def __init__(
        self, overload: Any, arguments: list[Any], keywords: dict[str, Any], outputs: list[Value], operator_class: str
    ) -> None:
        self.overload = overload
        self.arguments = arguments
        self.keywords = keywords
        self.outputs = outputs
        self.operator_class = operator_class
        self.accesses: dict[int, Polynomial] = {}
        self.draw_fractions: dict[int, float] = {}
        self.context_limit: int | None = None
        """Maximum number of context tokens that the work counts."""

    def __getitem__(self, name: str) -> Any:
        """Return an argument by its schema name, or the schema's default where the call leaves it out."""
        index, default = _signature(self.overload)[name]
        if index < len(self.arguments):
            return self.arguments[index]
        return self.keywords.get(name, default)

    def has(self, name: str) -> bool:
        """Return True when the schema has an argument of this name."""
        return name in _signature(self.overload)

    @property
    def output(self) -> Value:
        """First result."""
        return self.outputs[0]

    def moves(self, value: Value | None, size: Size) -> None:
        """State that only `size` elements of a tensor really move."""
        if value is not None:
            self.accesses[value.tensor_id] = dict(polynomial(size)) or {(0, 0, 0): 0.0}

    def draws(self, value: Value, fraction: float) -> None:
        """State that the moved elements are drawn at random, `fraction` of the tensor at a time."""
        self.draw_fractions[value.tensor_id] = fraction

    def tensors(self) -> list[Value]:
        """List all tensor arguments, in order."""
        found: list[Value] = []
        for argument in [*self.arguments, *self.keywords.values()]:
            if isinstance(argument, Value):
                found.append(argument)
            elif isinstance(argument, (list, tuple)):
                found.extend(item for item in argument if isinstance(item, Value))
        return found


@cache
def _signature(overload: Any) -> dict[str, tuple[int, Any]]:
    return {a.name: (i, a.default_value) for i, a in enumerate(overload._schema.arguments)}


@dataclass(frozen=True, slots=True)
class Rule:
    """A registered rule."""

    name: str
    operator_class: str
    function: Callable[[Call], list[Step]]
    overloads: tuple[str, ...] = field(default=())


RULES: dict[str, Rule] = {}
"""Rules of all known overloads by name, e.g. `aten.conv2d.default`."""

RuleFunction = Callable[[Call], list[Step]]


def rule(*overloads: str, operator_class: str) -> Callable[[RuleFunction], RuleFunction]:
    """Register a function as the rule of some overloads. Raise ValueError on a second registration."""

    def register(function: RuleFunction) -> RuleFunction:
        name = f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}"
        for overload in overloads:
            if overload in RULES:
                raise ValueError(f"{overload} already has the rule {RULES[overload].name}")
            RULES[overload] = Rule(name, operator_class, function, overloads)
        return function

    return register


def gemm(step: str, groups: Size, m: Size, n: Size, k: Size, threads: Size | None = None) -> Step:
    """Make a step of `groups` matrix products of (m, k) by (k, n). A MAC is two FLOPs."""
    macs = product(groups, m, n, k)
    quantities = {
        "groups": polynomial(groups), "m": polynomial(m), "n": polynomial(n), "k": polynomial(k),
        "macs": polynomial(macs), "flops": scaled(macs, 2.0),
        "threads": polynomial(product(groups, m, n) if threads is None else threads),
    }  # fmt: skip
    return Step(step, "gemm", quantities)


def vector(step: str, flops: Size | Polynomial, threads: Size, macs: Size = 0, accesses: Size = 0) -> Step:
    """Make a step on vector lanes; `accesses` are those that each thread of PyTorch's kernel makes one after another."""
    quantities = {"flops": polynomial(flops), "threads": polynomial(threads)}
    if macs != 0:
        quantities["macs"] = polynomial(macs)
    if accesses != 0:
        quantities["accesses"] = polynomial(accesses)
    return Step(step, "vector", quantities)


def move(threads: Size) -> Step:
    """Make a step that only moves bytes."""
    return Step("main", "move", {"threads": polynomial(threads)})


def words(text: str) -> list[str]:
    """Split names separated by spaces."""
    return text.split()
