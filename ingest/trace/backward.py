"""The backward pass, appended to a forward graph (`charz ingest --train`).

Every operator between a trained weight and an output gets a backward operator, in reverse order. It
reads the gradients of its results and the forward tensors that its formula needs (which therefore
stay in memory until then), and writes a gradient for each input that has one. A matrix product
becomes two: the gradient of the left side (N and K exchanged; `_image_gradient` for convolutions) and of the
right side (M and K exchanged), or only the needed one where the other operand is frozen. The gradients of a
tensor with several readers are added. The optimizer's step is not included.

The operators of a checkpoint run again before its own backward, from its inputs: in order, up to the
last result that this backward reads, as `torch.utils.checkpoint` stops early, or to the end where the model asks for that.

An output over a vocabulary has a loss, the cross-entropy with the next token, in PyTorch's three kernels:
the logarithm of its softmax, a gradient that is zero except at the chosen token, and the softmax's backward. They have
the type of the logits, as frameworks' fused loss kernels do; without those, PyTorch first widens logits to fp32
and moves three times as much. Any other output's gradient is an input.

FLOPs of everything else are the forward's times the factor below for each input that has a gradient.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from charz.schema.errors import CharzError

from ..compile.rules import Classes
from ..graph import BACKWARD, GRADIENT, Graph, GraphOperator, GraphTensor, Polynomial, Step, dims
from ..operators.elementwise import FLOPS_PER_ELEMENT
from .symbolic import NotPolynomialError, polynomial, product, ratio, scaled

FACTORS = {"norm": 2.0, "batch_norm": 2.0, "softmax": 0.8, "rnn": 2.0}
"""Backward FLOPs over forward FLOPs, by class: a norm's gradient needs two more sums and a blend;
softmax's four operations to the forward's five. Others have factor 1."""

LINEAR_OPERATORS = frozenset({"add", "add_", "sub", "sub_", "rsub", "neg", "neg_"})
"""ATen arithmetic that passes its result's gradient on unchanged."""

ACCUMULATING = frozenset({"addmm", "addmv", "baddbmm", "addbmm"})
"""ATen products whose first operand is the tensor to which the product is added."""

FACTORS_OF_EACH_OTHER = frozenset({"mul", "mul_", "multiply", "multiply_"})
"""ATen arithmetic in which the gradient of one operand needs only the other operand (derivatives.yaml of PyTorch)."""

KEPT = "charz.kv_cache"
"""Cached keys or values: in training, those of the current step."""


FROM_RESULT = frozenset(
    f"{name}{mark}"
    for name in ("relu", "sigmoid", "tanh", "exp", "exp2", "expm1", "sqrt", "rsqrt", "reciprocal", "softmax", "log_softmax")
    for mark in ("", "_")
)
"""ATen functions whose gradient needs only the result (derivatives.yaml of PyTorch)."""


def add_backward(graph: Graph, classes: Classes) -> None:
    """Append the backward operators of a graph, in execution order. Raise CharzError where all weights are frozen."""
    weights = [t for t in graph.tensors if t.role == "weight"]
    if weights and not any(t.is_trained for t in weights):
        raise CharzError(
            "nothing trains", graph.modules[0].class_name, "none of its parameters requires a gradient",
            "ingest it without --train, or give one `requires_grad_()`",
        )  # fmt: skip
    builder = _Builder(graph, classes)
    forward = list(graph.operators)
    for tensor in list(graph.tensors):
        if tensor.is_output and builder.needs[tensor.tensor_id]:
            builder.seed(tensor)
    for operator in reversed(forward):
        builder.reverse(operator)
    for tensor_id, gradient in builder.gradients.items():
        if graph.tensors[tensor_id].role == "weight":
            made = graph.tensors[gradient]
            made.is_output = True
            made.role = graph.tensors[made.storage_tensor_id].role = GRADIENT


class _Builder:
    """Builder that appends backward operators and keeps the gradients found so far."""

    def __init__(self, graph: Graph, classes: Classes) -> None:
        self.graph = graph
        self.classes = classes
        self.needs = _differentiable(graph)
        self.vocabularies = _vocabularies(graph)
        self.gradients: dict[int, int] = {}
        self.regions: defaultdict[int, list[GraphOperator]] = defaultdict(list)
        """Operators of each checkpoint that the backward pass has not yet run again, by the checkpoint's first operator."""
        for operator in graph.operators:
            if operator.checkpoint is not None:
                self.regions[operator.checkpoint].append(operator)
        self.again: dict[int, int] = {}
        """Recomputed results, by those of the forward pass."""

    def seed(self, tensor: GraphTensor) -> None:
        """Append the loss gradient of an output: computed where the output is over a vocabulary, else an input that is
        written once."""
        moved = [Step("main", "move", {"threads": tensor.elements})]
        if dims(tensor.shape)[-1] not in self.vocabularies:
            self.gradients[tensor.tensor_id] = self._of_loss(tensor, "seed", "create", [], moved)
            return
        forward, backward = (
            [Step("main", "vector", {"flops": scaled(tensor.elements, flops), "threads": tensor.elements})]
            for flops in (FLOPS_PER_ELEMENT["softmax"], FLOPS_PER_ELEMENT["softmax"] * FACTORS["softmax"])
        )
        made = self._of_loss(tensor, "log_softmax", "softmax", [tensor.tensor_id], forward)
        chosen = self._of_loss(tensor, "chosen", "create", [], moved)
        self.gradients[tensor.tensor_id] = self._of_loss(tensor, "loss", "softmax", [chosen, made], backward)

    def _of_loss(self, tensor: GraphTensor, name: str, kind: str, reads: list[int], steps: list[Step]) -> int:
        made = self._emit(name, BACKWARD + name, kind, 0, reads, [tensor], steps)[0]
        self.graph.operators[-1].targets = [tensor.tensor_id]
        return made

    def reverse(self, operator: GraphOperator) -> None:
        """Append the backward operator of one forward operator."""
        arriving = [self.gradients[t] for t in operator.writes if t in self.gradients]
        targets = [t for t in dict.fromkeys(operator.reads) if self.needs[t] and self._moves(operator, t)]
        if operator.stops_gradient or not arriving or not targets:
            return
        if operator.checkpoint is not None:
            self._run_again(self.regions.pop(operator.checkpoint, []))
        tensors = self.graph.tensors
        if operator.is_view:
            made = [self._reverse_view(operator, arriving[0], targets[0])]
            targets = targets[:1]
        else:
            made = self._emit(
                operator.operator,
                BACKWARD + operator.aten_operator,
                operator.operator_class,
                operator.module_id,
                [*arriving, *(self.again.get(t, t) for t in self._saved(operator, targets))],
                [tensors[t] for t in targets],
                _steps(operator, targets, self.classes.taking_bias),
                bounded=operator.is_size_bound,
            )
        self.graph.operators[-1].source_file = operator.source_file
        self.graph.operators[-1].source_line = operator.source_line
        self.graph.operators[-1].forward = operator.operator_id
        self.graph.operators[-1].targets = targets
        for target, gradient in zip(targets, made, strict=True):
            self._accumulate(target, gradient, operator.module_id)

    def _moves(self, operator: GraphOperator, tensor_id: int) -> bool:
        access = operator.accesses.get(tensor_id)
        return access is None or any(access.values())

    def _saved(self, operator: GraphOperator, targets: Sequence[int]) -> list[int]:
        """Return the forward tensors that the gradients of `targets` need. If each gradient has a formula of its own, PyTorch
        keeps an operand only for a requested one (`should_compute_output` in the code that its derivatives.yaml generates)."""
        name = _name(operator)
        if operator.operator_class in self.classes.saving_nothing or name in LINEAR_OPERATORS:
            return []
        if name in FROM_RESULT:
            return list(operator.writes)
        kept = [t for t in dict.fromkeys(operator.reads) if self._moves(operator, t)]
        operands = _operands(operator, self.classes.taking_bias)
        if len(operands) == 2 and (operator.operator_class in self.classes.saving_other or name in FACTORS_OF_EACH_OTHER):
            needed = {other for one, other in (operands, operands[::-1]) if one in targets}
            kept = [t for t in kept if t in needed or t not in operands]
        return kept

    def _run_again(self, region: Sequence[GraphOperator]) -> None:
        """Append the operators of a checkpoint once more, up to the last result that the backward of any of them reads."""
        read = {
            t
            for o in region
            if not o.stops_gradient and (targets := [t for t in o.reads if self.needs[t]])
            for t in self._saved(o, targets)
        }
        made = [i for i, o in enumerate(region) if read.intersection(o.writes)]
        for operator in region if region and region[0].is_checkpoint_whole else region[: max(made, default=-1) + 1]:
            self._repeat(operator)

    def _repeat(self, operator: GraphOperator) -> None:
        graph = self.graph
        number = len(graph.operators)
        for t in operator.writes:
            tensor = graph.tensors[t]
            self.again[t] = len(graph.tensors)
            storage = tensor.storage_tensor_id
            graph.tensors.append(
                replace(
                    tensor,
                    tensor_id=self.again[t],
                    tensor=f"{tensor.tensor}.again.{self.again[t]}",
                    producer_operator_id=number,
                    storage_tensor_id=self.again.get(storage, storage),
                    is_output=False,
                    held_operator_id=None,
                )
            )
        again = replace(
            operator,
            operator_id=number,
            operator=f"{operator.operator}_again_{number}",
            reads=[self.again.get(t, t) for t in operator.reads],
            writes=[self.again[t] for t in operator.writes],
            steps=[
                s if (left := s.left_tensor_id) is None else replace(s, left_tensor_id=self.again.get(left, left))
                for s in operator.steps
            ],
            accesses={self.again.get(t, t): moved for t, moved in operator.accesses.items()},
            draw_fractions={self.again.get(t, t): share for t, share in operator.draw_fractions.items()},
            is_backward=True,
            is_repeated=True,
            forward=operator.operator_id,
        )
        again.stage = self._stage(again.reads)
        graph.operators.append(again)

    def _reverse_view(self, operator: GraphOperator, gradient: int, target: int) -> int:
        """Append the backward of a view: a full view's is a view, a slice's a copy into zeros, an expand's a sum."""
        tensors = self.graph.tensors
        whole = tensors[target]
        if tensors[gradient].elements == whole.elements or operator.aten_operator.startswith(KEPT):
            made = self._emit(
                operator.operator,
                BACKWARD + operator.aten_operator,
                "view",
                operator.module_id,
                [gradient],
                [whole],
                [],
            )[0]
            tensors[made].storage_tensor_id = tensors[gradient].storage_tensor_id
            self.graph.operators[-1].is_view = True
            return made
        steps = [Step("main", "move", {"threads": whole.elements})]
        return self._emit(
            operator.operator, BACKWARD + operator.aten_operator, "copy", operator.module_id, [gradient], [whole], steps
        )[0]

    def _accumulate(self, target: int, gradient: int, module_id: int) -> None:
        known = self.gradients.get(target)
        if known is not None:
            tensor = self.graph.tensors[target]
            steps = [Step("main", "vector", {"flops": tensor.elements, "threads": tensor.elements})]
            name = f"{tensor.tensor}_sum"
            gradient = self._emit(
                name, BACKWARD + "accumulate", "elementwise", module_id, [known, gradient], [tensor], steps
            )[0]
            self.graph.operators[-1].targets = [target]
        self.gradients[target] = gradient

    def _emit(
        self,
        name: str,
        aten_operator: str,
        operator_class: str,
        module_id: int,
        reads: list[int],
        like: list[GraphTensor],
        steps: list[Step],
        bounded: bool = False,
    ) -> list[int]:
        """Append an operator that writes one gradient for each of some tensors, and return the gradients' ids."""
        graph = self.graph
        operator_id = len(graph.operators)
        made = []
        for tensor in like:
            tensor_id = len(graph.tensors)
            graph.tensors.append(
                GraphTensor(
                    tensor_id,
                    f"{tensor.tensor}.grad.{tensor_id}",
                    operator_id,
                    "activation",
                    tensor.precision,
                    tensor.shape,
                    tensor.elements,
                    tensor_id,
                    is_size_bound=tensor.is_size_bound,
                )
            )
            made.append(tensor_id)
        graph.operators.append(
            GraphOperator(
                operator_id,
                f"{name}_backward_{operator_id}",
                aten_operator,
                operator_class,
                module_id,
                "backward.add_backward",
                reads,
                made,
                stage=self._stage(reads),
                is_size_bound=bounded,
                steps=steps,
                is_backward=True,
            )
        )
        return made

    def _stage(self, reads: Sequence[int]) -> int:
        producers = (self.graph.tensors[t].producer_operator_id for t in reads)
        return max((self.graph.operators[p].stage + 1 for p in producers if p is not None), default=0)


def _differentiable(graph: Graph) -> list[bool]:
    """Mark each tensor that has a gradient: floating, and computed from a trained weight."""
    is_float = [t.precision.startswith(("fp", "bf", "complex")) for t in graph.tensors]
    needs = [t.is_trained for t in graph.tensors]
    for operator in graph.operators:
        reached = not operator.stops_gradient and any(needs[t] for t in operator.reads)
        for t in operator.writes:
            needs[t] = reached and is_float[t]
    return needs


def _vocabularies(graph: Graph) -> set[int | None]:
    """Return the numbers of rows of the embedding tables."""
    tables = (o.reads[0] for o in graph.operators if o.operator_class == "embedding" and o.reads)
    return {dims(graph.tensors[t].shape)[0] for t in tables if graph.tensors[t].role == "weight"} - {None}


def _name(operator: GraphOperator) -> str:
    """Return the ATen name without its overload."""
    return operator.aten_operator.split(".")[1]


def _operands(operator: GraphOperator, taking_bias: Container[str]) -> list[int]:
    """Return the factors of a product, or all operands of any other operator."""
    if _name(operator) in ACCUMULATING:
        return operator.reads[1:3]
    return operator.reads[:2] if operator.operator_class in taking_bias else operator.reads


def _sides(operator: GraphOperator, step: Step, operands: Sequence[int], targets: Sequence[int]) -> list[str]:
    """Return the sides of a product whose gradients are requested. In attention, the left side of the second product comes from
    both operands of the first, and its right side is the third operand. Both operands of a recurrent layer reach both sides of
    its products. A factorization has one product."""
    if operator.operator_class == "attention":
        left, right = (operands[:1], operands[1:2]) if step.step.startswith("qk") else (operands[:2], operands[2:3])
    elif operator.operator_class == "rnn":
        left = right = operands
    elif len(operands) == 1:
        left, right = operands[:0], operands
    else:
        left, right = operands[:1], operands[1:]
    return [side for side, read in (("left", left), ("right", right)) if any(t in targets for t in read)]


def _steps(operator: GraphOperator, targets: list[int], taking_bias: Container[str]) -> list[Step]:
    """Return the steps of the backward operator that writes the gradients of `targets`."""
    operands = _operands(operator, taking_bias)
    products = min(2, sum(t in targets for t in operands))
    factor = FACTORS.get(operator.operator_class, 1.0)
    steps: list[Step] = []
    for step in operator.steps:
        q = step.quantities
        if step.left_tensor_id is not None:
            steps += _recurrent(step, step.left_tensor_id in targets)
        elif step.step_class == "gemm":
            for side in _sides(operator, step, operands, targets):
                if side == "right":
                    steps.append(_gemm(f"{step.step}_right", q, q["k"], q["n"], q["m"]))
                elif "taps" in q:
                    steps.append(_image_gradient(step))
                else:
                    steps.append(_gemm(f"{step.step}_left", q, q["m"], q["k"], q["n"]))
        elif step.step_class == "vector":
            is_elementwise = operator.operator_class == "elementwise"
            times = products if "macs" in q else len(targets) * factor if is_elementwise else factor
            steps.append(
                Step(step.step, "vector", {n: scaled(v, times) if n in ("flops", "macs") else v for n, v in q.items()})
            )
        else:
            steps.append(step)
    return steps or [Step("main", "move", {"threads": {(0, 0, 0): 0.0}})]


def _image_gradient(step: Step) -> Step:
    """Return the gradient of a convolution's input as an implicit GEMM, with as many multiplications as the forward pass: M = B * input pixels,
    N = input channels a group, K = output channels a group * kernel positions that reach a pixel (CUTLASS, implicit_gemm_convolution.md). M is
    B * output pixels where the input is not known or this K is a fraction."""
    q = step.quantities
    channels = polynomial(ratio(q["k"], q["taps"]))
    m, k = q["m"], polynomial(product(q["n"], q["taps"]))
    if "image" in q:
        with contextlib.suppress(NotPolynomialError):
            pixels = polynomial(ratio(q["image"], product(q["groups"], channels)))
            reached = ratio(product(m, k), pixels)
            if isinstance(reached, int):
                m, k = pixels, polynomial(reached)
        q = {**q, "image": polynomial(product(q["groups"], q["m"], q["n"]))}
    return _gemm(f"{step.step}_left", q, m, channels, k)


def _recurrent(step: Step, needs_first: bool) -> list[Step]:
    """Return both gradients of a product within a recurrence. If the input of its first group has no gradient, the left side has
    one group less, which is the whole product where nothing recurs."""
    q = step.quantities
    both = [_gemm(f"{step.step}_left", q, q["m"], q["k"], q["n"]), _gemm(f"{step.step}_right", q, q["k"], q["n"], q["m"])]
    if needs_first:
        return both
    q = both[0].quantities
    groups = {**q["groups"], (0, 0, 0): q["groups"].get((0, 0, 0), 0.0) - 1}
    groups = {powers: c for powers, c in groups.items() if c}
    if not groups:
        return both[1:]
    macs = product(groups, q["m"], q["n"], q["k"])
    threads = polynomial(product(groups, q["m"], q["n"]))
    q.update(groups=groups, macs=polynomial(macs), flops=scaled(macs, 2.0), threads=threads)
    return both


def _gemm(name: str, forward: Mapping[str, Polynomial], m: Polynomial, n: Polynomial, k: Polynomial) -> Step:
    """Return a product of these sizes with as many multiplications as that of the forward pass, whose quantities are given."""
    threads = polynomial(product(forward["groups"], m, n))
    return Step(name, "gemm", {**forward, "m": m, "n": n, "k": k, "threads": threads})
