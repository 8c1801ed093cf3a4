"""Matrix products: linear layers, mm, bmm, addmm, baddbmm, matmul, einsum.

An added bias or accumulator input is the accumulator's first value and costs no operation. In
baddbmm/addmm with a beta or alpha other than 1, the fused scaling is left out as well.
"""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import Size, polynomial, product, size_product
from .elementwise import FLOPS_PER_ELEMENT
from .registry import Call, Value, gemm, rule, vector


@rule("aten.linear.default", "charz.packed_linear.default", operator_class="linear")
def linear(call: Call) -> list[Step]:
    source: Value = call["input"]
    weight: Value = call["weight"]
    n = weight.dims[0] if len(weight.dims) > 1 else 1
    return [gemm("main", 1, size_product(source.dims[:-1]), n, source.dims[-1])]


@rule(
    "aten.mm.default",
    "aten.matmul.default",
    "aten.bmm.default",
    "aten.dot.default",
    "aten.mv.default",
    operator_class="matmul",
)
def matrix_product(call: Call) -> list[Step]:
    """Count a matrix product; a single one is classed as linear, because it is the same library call."""
    left, right = call.tensors()[:2]
    step = _product(left, right)
    if step.quantities["groups"] == polynomial(1):
        call.operator_class = "linear"
    return [step]


@rule("aten.addmm.default", "aten.addmv.default", operator_class="linear")
def product_onto_a_bias(call: Call) -> list[Step]:
    """Count a product with an added bias, the same library call as a linear layer with a bias."""
    return accumulated_product(call)


@rule("aten.baddbmm.default", "aten.addbmm.default", operator_class="matmul")
def accumulated_product(call: Call) -> list[Step]:
    _, left, right = call.tensors()[:3]
    return [_product(left, right)]


def _product(left: Value, right: Value) -> Step:
    """Count a batched product with broadcasting; a right side without batch dimensions is one product of many rows."""
    k = left.dims[-1]
    m = left.dims[-2] if len(left.dims) > 1 else 1
    n = right.dims[-1] if len(right.dims) > 1 else 1
    batch_left, batch_right = left.dims[:-2], right.dims[:-2]
    if not batch_right or all(d == 1 for d in batch_right):
        return gemm("main", 1, product(*batch_left, m), n, k)
    if not batch_left or all(d == 1 for d in batch_left):
        return gemm("main", 1, m, product(*batch_right, n), k)
    return gemm("main", _broadcast(batch_left, batch_right), m, n, k)


def _broadcast(left: tuple[Size, ...], right: tuple[Size, ...]) -> Size:
    length = max(len(left), len(right))
    padded_left = (1,) * (length - len(left)) + left
    padded_right = (1,) * (length - len(right)) + right
    return product(*(b if a == 1 else a for a, b in zip(padded_left, padded_right, strict=True)))


@rule("aten.einsum.default", operator_class="matmul")
def einsum(call: Call) -> list[Step]:
    """Count a contraction of two operands as one GEMM: letters in both and in the result are groups, contracted letters K, the
    rest M and N. Letters of only one operand that the result lacks are summed first; two operands without contracted letters
    are multiplied element by element, as `sumproduct_pair` in ATen's Linear.cpp does both. More operands contract
    from left to right."""
    equation: str = call["equation"].replace(" ", "")
    operands = call.tensors()
    inputs, arrow, result = equation.partition("->")
    letters = [_spell_ellipsis(term, len(v.dims)) for term, v in zip(inputs.split(","), operands, strict=True)]
    sizes: dict[str, Size] = {}
    for term, value in zip(letters, operands, strict=True):
        for letter, size in zip(term, value.dims, strict=True):
            if sizes.get(letter, 1) == 1:
                sizes[letter] = size
    if not arrow:
        joined = "".join(letters)
        result = "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
    result = _spell_ellipsis(result, len(call.output.dims))
    if len(letters) == 1:
        call.operator_class = "reduction"
        return [_summed("main", letters[0], set(letters[0]), sizes, call.output.numel)]
    steps: list[Step] = []
    current = letters[0]
    for index, term in enumerate(letters[1:], 1):
        later = set("".join(letters[index + 1 :])) | set(result)
        name = "main" if len(letters) == 2 else f"step{index}"
        for side, own, other in (("left", current, term), ("right", term, current)):
            if alone := set(own) - set(other) - later:
                steps.append(_summed(f"{name}_{side}", own, alone, sizes))
        kept = [c for c in dict.fromkeys(current + term) if c in later]
        groups = [c for c in kept if c in current and c in term]
        m = [c for c in kept if c in current and c not in term]
        n = [c for c in kept if c in term and c not in current]
        k = [c for c in dict.fromkeys(current) if c in term and c not in later]
        if k:
            steps.append(gemm(name, *(product(*(sizes[c] for c in group)) for group in (groups, m, n, k))))
        else:
            elements = product(*(sizes[c] for c in kept))
            steps.append(vector(name, product(FLOPS_PER_ELEMENT["mul"], elements), elements))
        current = "".join(kept)
    if all(step.step_class == "vector" for step in steps):
        call.operator_class = "elementwise"
    return steps


def _summed(name: str, letters: str, over: set[str], sizes: dict[str, Size], results: Size | None = None) -> Step:
    """Sum an operand over some of its letters."""
    whole = product(*(sizes[c] for c in dict.fromkeys(letters)))
    left = product(*(sizes[c] for c in dict.fromkeys(letters) if c not in over))
    return vector(name, product(FLOPS_PER_ELEMENT["sum"], whole), left if results is None else results)


def _spell_ellipsis(term: str, rank: int) -> str:
    """Replace `...` by digits counted from the right, so that broadcasting lines up."""
    if "..." not in term:
        return term
    count = rank - (len(term) - 3)
    return term.replace("...", "".join(str(i) for i in reversed(range(count))))
