"""An ONNX graph as a module that calls its nodes in order, with operators that exporters split up joined again.

Exporters write a linear layer as a product and an addition, and fused attention as its parts. Each is one operator here, as it
was in the model: a product with a weight and the bias added to it; and two products around a softmax whose operands are both
scaled, which is how exporters spell `scaled_dot_product_attention`.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from charz.schema.errors import CharzError

from .arguments import set_signature
from .onnx_operators import HOST, TENSOR, Block, Step, is_host

IN_PLACE = ("Relu", "Clip", "HardSwish", "LeakyRelu", "charz.Silu")
"""Activations that run in place if nothing else reads their operand, as in ONNX Runtime
(`MayInplace` of its kernels, https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/framework/allocation_planner.cc)."""

OWNERS = ("Conv", "ConvTranspose", "Gemm", "charz.Linear", "BatchNormalization", "Add", "Mul", "Concat")
"""Operators whose result never is a view of another tensor."""

BIASED = ("Conv", "ConvTranspose")
FILLING = ("Expand", "CastLike", "Cast")
"""Operators that may carry a single number into a tensor."""

SCALARS = ("Sqrt", "Div", "Cast", "CastLike", "Constant")
"""Operators that make the scale of attention."""

WIDTHS = {4: torch.uint4, 8: torch.uint8}
"""Types of weights by number of bits."""

PACKED = {"charz.PackedLinear": 1, "com.microsoft.GatherBlockQuantized": 0}
"""Operators with an integer weight and a scale, each with the weight's input position."""

UNCOUNTED = {
    "local_window_size": "all tokens before are counted", "left_window_size": "all tokens before are counted",
    "softcap": "its arithmetic is not counted",
}  # fmt: skip
"""Ignored attributes of attention, each with the consequence."""

INSTEAD = "ingest the nn.Module, or torch.export.save its program as model.pt2"
"""Next step for a model whose file is not read."""

UNFIT = (TypeError, AttributeError, IndexError, KeyError, ValueError)
"""Exceptions of an operator's function at unexpected operands."""


class OnnxModule(nn.Module):
    """Runs the steps of a graph on its inputs; weights are its parameters."""

    def __init__(
        self,
        steps: Sequence[Step],
        numbers: dict[str, Any],
        weights: dict[str, torch.Tensor],
        inputs: dict[str, str],
        outputs: Sequence[str],
    ) -> None:
        super().__init__()
        self._numbers = numbers
        self._outputs = list(outputs)
        self._inputs = inputs
        self._steps = _prepared(steps, outputs, numbers, weights)
        self._held: dict[str, str] = {}
        used = {name for step in self._steps for name in step.reads} | set(outputs)
        packed = {step.inputs[PACKED[step.operator]] for step in _every(self._steps) if step.operator in PACKED}
        for i, (name, weight) in enumerate(weights.items()):
            if name in used:
                self._held[name] = key = f"weight_{i}"
                if weight.is_floating_point() or name in packed:
                    self.register_parameter(key, nn.Parameter(weight, requires_grad=weight.is_floating_point()))
                else:
                    self.register_buffer(key, weight)
        _check(self._steps)

        def forward(**given: torch.Tensor) -> list[torch.Tensor]:
            return self._run(given)

        self.graph = Scope(self._steps, _dropped(self._steps, outputs))
        set_signature(forward, inputs.values())
        self.forward = forward

    @property
    def uncounted(self) -> list[str]:
        """Ignored attributes of the graph's attentions, one text each."""
        found = dict.fromkeys(
            f"{step.operator} {name} {step.get(name):g}: {said}"
            for step in _every(self._steps)
            for name, said in UNCOUNTED.items()
            if step.get(name, 0) > 0
        )
        return list(found)

    def _run(self, given: dict[str, torch.Tensor]) -> list[torch.Tensor]:
        values: dict[str, Any] = dict(self._numbers)
        values.update({name: getattr(self, key) for name, key in self._held.items()})
        values.update({name: given.pop(key) for name, key in self._inputs.items()})
        self.graph(values)
        return [values[name] for name in self._outputs if isinstance(values[name], torch.Tensor)]


class Scope(nn.Module):
    """The steps of one call of a module; the steps of its submodules are submodules."""

    def __init__(self, steps: Sequence[Step], dropped: Sequence[Collection[str]], depth: int = 0) -> None:
        super().__init__()
        self._parts: list[tuple[Step, Collection[str]] | str] = []
        self._blocks: dict[str, str] = {}
        """Module of each block of a step, by the step's first result and the attribute."""
        pairs = zip(steps, dropped, strict=True)
        for path, group in itertools.groupby(pairs, lambda pair: pair[0].scope[depth : depth + 1]):
            found = list(group)
            if not path:
                self._parts += found
                for step, _ in found:
                    for attribute, block in step.blocks.items():
                        within = Scope(block.steps, _dropped(block.steps, block.outputs), depth)
                        self._blocks[f"{step.outputs[0]}.{attribute}"] = self._named(step.name or attribute, within)
                continue
            parts = [step for step, _ in found], [names for _, names in found]
            self._parts.append(self._named(path[0].rsplit(".", 1)[-1], Scope(*parts, depth=depth + 1)))

    def _named(self, name: str, module: nn.Module) -> str:
        """Add a module and return its unique name."""
        name = re.sub(r"\W", "_", name.strip("/")) or "graph"
        while name in self._modules or hasattr(self, name):
            name += "_"
        self.add_module(name, module)
        return name

    def forward(self, values: dict[str, Any]) -> None:
        """Run the steps: add their results to the values, and remove values after their last use."""
        for part in self._parts:
            if isinstance(part, str):
                self._modules[part](values)  # type: ignore[misc]
                continue
            step, dropped = part
            if step.blocks:
                step = replace(step, attributes={**step.attributes, **self._bound(step, values)})
            made = _called(step, [values[name] if name else None for name in step.inputs])
            values.update(zip(step.outputs, made if isinstance(made, tuple) else (made,), strict=False))
            for name in dropped:
                values.pop(name, None)

    def _bound(self, step: Step, values: dict[str, Any]) -> dict[str, Bound]:
        """Bind the blocks of a step to the values around them."""
        return {
            name: Bound(block, self._modules[self._blocks[f"{step.outputs[0]}.{name}"]], values)
            for name, block in step.blocks.items()
        }


@dataclass(frozen=True, slots=True)
class Bound:
    """A block with the values around it, as a function of its inputs."""

    block: Block
    scope: Any
    around: dict[str, Any]

    def __call__(self, *operands: Any) -> list[Any]:
        """Run the block on operands. Raises ValueError for a wrong number of operands."""
        values = {**self.around, **dict(zip(self.block.inputs, operands, strict=True))}
        self.scope(values)
        return [values[name] for name in self.block.outputs]


def _dropped(steps: Sequence[Step], outputs: Collection[str]) -> list[list[str]]:
    """List the values that no step reads after each step."""
    last = {name: i for i, step in enumerate(steps) for name in step.reads}
    return [
        [n for n in {*s.reads, *s.outputs} if last.get(n, i) == i and n not in outputs] for i, s in enumerate(steps)
    ]


def _every(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield steps, and the steps of their blocks."""
    for step in steps:
        yield step
        for block in step.blocks.values():
            yield from _every(block.steps)


def _check(steps: Sequence[Step]) -> None:
    """Raise CharzError at the first unknown operator."""
    for step in _every(steps):
        if step.operator not in TENSOR and step.operator not in HOST:
            where = f"{step.operator}, node {step.name or step.outputs[0]}"
            raise CharzError("an operator of ONNX that is not read", where, next=INSTEAD)


def _prepared(
    steps: Sequence[Step], outputs: Collection[str], numbers: dict[str, Any], weights: dict[str, torch.Tensor]
) -> list[Step]:
    """Join what exporters split up, also in blocks."""
    inner = [
        replace(step, attributes={
            **step.attributes,
            **{
                name: replace(block, steps=tuple(_prepared(block.steps, block.outputs, numbers, weights)))
                for name, block in step.blocks.items()
            },
        }) if step.blocks else step
        for step in steps
    ]  # fmt: skip
    simpler = _with_silu(_without_zeros(_with_packed(inner, weights), numbers))
    joined = _joined(simpler, outputs, numbers, weights)
    return _in_place(_without_unused(joined, outputs), outputs)


def _with_packed(steps: list[Step], weights: dict[str, torch.Tensor]) -> list[Step]:
    """Replace each product with a packed weight by one step, with an unpacked weight of shape (outputs, inputs)."""
    made_by = {name: step for step in steps for name in step.outputs}
    return [_packed(step, made_by, weights) for step in steps]


def _packed(step: Step, made_by: dict[str, Step], weights: dict[str, torch.Tensor]) -> Step:
    """Return a product or look-up in a packed weight with the weight unpacked; return any other step unchanged."""
    if step.operator == "com.microsoft.MatMulNBits" or (step.operator == "com.microsoft.MatMulBnb4" and step.get("transB", 1)):
        weight = _unpacked(step.inputs[1], [step.get("N"), step.get("K")], step.get("bits", 4), weights)
        source, _, scales, zeros, _, bias = (*step.inputs, "", "", "")[:6]
        return replace(step, operator="charz.PackedLinear", inputs=(source, weight, scales, zeros, bias))
    if step.operator == "com.microsoft.GatherBlockQuantized" and step.inputs[0] in weights:
        stored, bits = weights[step.inputs[0]], step.get("bits", 4)
        if stored.dtype == torch.uint8 and bits < 8:
            weight = _unpacked(step.inputs[0], [*stored.shape[:-1], stored.shape[-1] * 8 // bits], bits, weights)
            return replace(step, inputs=(weight, *step.inputs[1:]))
    if step.operator == "MatMul":
        scaled, is_turned = made_by.get(step.inputs[1]), False
        if scaled is not None and scaled.operator == "Transpose":
            scaled, is_turned = made_by.get(scaled.inputs[0]), True
        if scaled is not None and scaled.operator == "DequantizeLinear" and scaled.inputs[0] in weights:
            name = scaled.inputs[0]
            stored = weights[name]
            if stored.dim() == 2 and not is_turned:
                name = f"{name}.turned"
                weights[name] = torch.empty(stored.shape[::-1], dtype=stored.dtype, device="meta")
            if stored.dim() == 2:
                return replace(step, operator="charz.PackedLinear", inputs=(step.inputs[0], name, *scaled.inputs[1:]))
    return step


def _unpacked(name: str, shape: Sequence[int], bits: int, weights: dict[str, torch.Tensor]) -> str:
    """Add a weight with one element for each number packed in bytes, and return its name. Raises CharzError for widths other than
    4 and 8 bits, and for a weight that the graph computes."""
    if bits not in WIDTHS or name not in weights:
        raise CharzError("a packed weight in a form that is not read", f"{name}, {bits} bits", next=INSTEAD)
    weights[f"{name}.unpacked"] = torch.empty(tuple(shape), dtype=WIDTHS[bits], device="meta")
    return f"{name}.unpacked"


def _called(step: Step, operands: list[Any]) -> Any:
    """Call the function of a step without the trailing operands that are omitted."""
    while operands and operands[-1] is None:
        operands.pop()
    table = HOST if step.operator in HOST and all(is_host(o) for o in operands) else TENSOR
    try:
        return table[step.operator](step, *operands)
    except UNFIT as error:
        raise CharzError(
            "an operator of ONNX in a form that is not read",
            f"{step.operator}, node {step.name or step.outputs[0]}: {(str(error) or repr(error)).splitlines()[0]}",
            next=INSTEAD,
        ) from error


def _without_zeros(steps: list[Step], numbers: dict[str, Any]) -> list[Step]:
    """Remove zero biases that an exporter adds to convolutions without bias."""
    made_by = {name: step for step in steps for name in step.outputs}

    def is_zero(name: str) -> bool:
        step = made_by.get(name)
        if step is not None and step.operator in FILLING:
            return is_zero(step.inputs[0])
        return name in numbers and numbers[name] == 0.0

    return [
        replace(step, inputs=step.inputs[:2])
        if step.operator in BIASED and step.inputs[2:] and is_zero(step.inputs[2])
        else step
        for step in steps
    ]


def _with_silu(steps: list[Step]) -> list[Step]:
    """Replace each product of a value with its sigmoid by SiLU."""
    uses = Counter(name for step in steps for name in step.reads)
    gates = {s.outputs[0]: s.inputs[0] for s in steps if s.operator == "Sigmoid" and uses[s.outputs[0]] == 1}
    result = []
    for step in steps:
        gate = next((name for name in step.inputs if name in gates), None) if step.operator == "Mul" else None
        if gate is not None and gates[gate] in step.inputs:
            step = replace(step, operator="charz.Silu", inputs=(gates[gate],))
        result.append(step)
    return result


def _in_place(steps: list[Step], outputs: Collection[str]) -> list[Step]:
    """Mark activations that can run in place."""
    made_by = {name: step.operator for step in steps for name in step.outputs}
    uses = Counter([name for step in steps for name in step.reads] + list(outputs))
    return [
        replace(step, attributes={**step.attributes, "is_in_place": True})
        if step.operator in IN_PLACE and uses[step.inputs[0]] == 1 and made_by.get(step.inputs[0]) in OWNERS
        else step
        for step in steps
    ]


def _without_unused(steps: list[Step], outputs: Collection[str]) -> list[Step]:
    """Keep the steps that an output depends on."""
    needed, kept = set(outputs), []
    for step in reversed(steps):
        if needed.intersection(step.outputs):
            needed.update(step.reads)
            kept.append(step)
    return kept[::-1]


def _joined(
    steps: list[Step], outputs: Collection[str], numbers: dict[str, Any], weights: dict[str, torch.Tensor]
) -> list[Step]:
    """Join the parts of linear layers and of attention."""
    made_by = {name: step for step in steps for name in step.outputs}
    uses = Counter([*(name for step in steps for name in step.reads), *outputs])
    bound = {name: step for step in steps for name in step.inputs if uses[name] == 1}
    single = {*numbers, *(name for name, weight in weights.items() if weight.numel() == 1)}
    taken: set[int] = set()
    result = []
    for step in steps:
        if id(step) in taken:
            continue
        if step.operator == "MatMul":
            after = bound.get(step.outputs[0])
            attention = _attention(step, made_by, single)
            if attention is not None:
                step = attention
            elif (weight := _outputs_first(step.inputs[1], made_by, weights)) is not None:
                bias = _bias(weights[weight].shape[0], step, after, weights)
                step = replace(step, operator="charz.Linear", inputs=(step.inputs[0], weight))
                if bias is not None and after is not None:
                    taken.add(id(after))
                    step = replace(step, inputs=(*step.inputs, bias), outputs=after.outputs)
        result.append(step)
    return result


def _bias(columns: int, step: Step, after: Step | None, weights: dict[str, torch.Tensor]) -> str | None:
    """Return the bias that step `after` adds to the result of `step`, or None."""
    if after is None or after.operator != "Add":
        return None
    other = next((n for n in after.inputs if n != step.outputs[0]), None)
    return other if other in weights and tuple(weights[other].shape) == (columns,) else None


def _outputs_first(name: str, made_by: dict[str, Step], weights: dict[str, torch.Tensor]) -> str | None:
    """Return the name of a product's weight of shape (outputs, inputs), or None if its operand is not a two-dimensional weight."""
    step = made_by.get(name)
    if step is not None and step.operator == "Transpose" and step.inputs[0] in weights:
        return step.inputs[0] if weights[step.inputs[0]].dim() == 2 else None
    if name not in weights or weights[name].dim() != 2:
        return None
    turned = f"{name}.turned"
    if turned not in weights:
        weight = weights[name]
        weights[turned] = torch.empty(weight.shape[::-1], dtype=weight.dtype, device="meta")
    return turned


def _attention(step: Step, made_by: dict[str, Step], single: Collection[str]) -> Step | None:
    """Return the attention that ends in this product, or None."""
    weights = made_by.get(step.inputs[0])
    if weights is not None and weights.operator == "Where":  # zeroes fully masked rows
        weights = made_by.get(weights.inputs[2])
    if weights is None or weights.operator != "Softmax":
        return None
    scores, mask = made_by.get(weights.inputs[0]), None
    if scores is not None and scores.operator == "Add":
        product = next((n for n in scores.inputs if getattr(made_by.get(n), "operator", "") == "MatMul"), None)
        if product is None:
            return None
        mask = next(n for n in scores.inputs if n != product)
        scores = made_by[product]
    if scores is None or scores.operator != "MatMul":
        return None
    query, key = (_unscaled(name, made_by, single) for name in scores.inputs)
    if query is None or key is None:
        return None
    found, is_turned = _unturned(key, made_by)
    operands = (query, found, step.inputs[1], *([mask] if mask else []))
    return replace(step, operator="charz.Attention", inputs=operands, attributes={"is_turned": is_turned})


def _unscaled(name: str, made_by: dict[str, Step], single: Collection[str]) -> str | None:
    """Return the operand that is multiplied by a scalar, or None."""
    step = made_by.get(name)
    if step is None or step.operator != "Mul":
        return None
    for operand, other in (step.inputs, step.inputs[::-1]):
        if other in single or getattr(made_by.get(other), "operator", "") in SCALARS:
            return operand
    return None


def _unturned(name: str, made_by: dict[str, Step]) -> tuple[str, bool]:
    """Return the keys before a transpose of the last two dimensions and False, else the value and True."""
    step = made_by.get(name)
    inner = made_by.get(step.inputs[0]) if step is not None and step.operator == "Reshape" else step
    if inner is not None and inner.operator == "Transpose":
        perm = inner.attributes.get("perm", [])
        if perm[:-2] == list(range(len(perm) - 2)) and perm[-2:] == [len(perm) - 1, len(perm) - 2]:
            before = made_by.get(inner.inputs[0])
            if inner is step:
                return inner.inputs[0], False
            if before is not None and before.operator == "Reshape":
                return before.inputs[0], False
    return name, True
