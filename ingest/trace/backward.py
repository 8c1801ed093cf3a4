"""The backward pass, appended to a forward graph (`charz ingest --train`).

Every operator that lies between a trained weight and an output gets a backward operator, in reverse order. It
reads the gradients of its results and what its formula needs of the forward pass (which therefore
stays in memory till then), and writes a gradient for each input that has one. A matrix product
becomes two: the gradient of the left side (N and K change places) and of the right side (M and K do),
and only the one that is needed where the other is frozen. A tensor read more than once has its gradients
added. The optimizer's step is not part of it.

What a checkpoint covers is run again before its own backward, from what it was given: in order, up to the
last result that this backward reads, as `torch.utils.checkpoint` stops early, or all of it where that is asked for.

An output over a vocabulary has a loss, the cross-entropy with the next token, in three kernels as PyTorch has it:
logarithms of its softmax, a gradient by the chosen one that is zero elsewhere, and the softmax's own backward. They are
of the type of the logits, as frameworks' own kernels take them; where a framework widens logits to fp32 before, as
PyTorch's does without them, it moves three times as much. Any other output's gradient is given from outside.

FLOPs of everything else are the forward's times the factor below for each input that has a gradient.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import replace

from charz.schema.errors import CharzError

from ..compile.rules import Classes
from ..graph import BACKWARD, GRADIENT, Graph, GraphOperator, GraphTensor, Step, dims
from ..operators.elementwise import FLOPS_PER_ELEMENT
from .symbolic import polynomial, product, scaled

FACTORS = {"norm": 2.0, "batch_norm": 2.0, "softmax": 0.8, "rnn": 2.0}
"""Backward FLOPs over forward FLOPs, by class: a norm's gradient needs two more sums and a blend;
softmax's four operations to the forward's five. Others have factor 1."""

LINEAR_OPERATORS = frozenset({"add", "add_", "sub", "sub_", "rsub", "neg", "neg_"})
"""Arithmetic of ATen whose gradient is that of its result."""

ACCUMULATING = frozenset({"addmm", "addmv", "baddbmm", "addbmm"})
"""Products of ATen whose first operand is what they are added to."""

FACTORS_OF_EACH_OTHER = frozenset({"mul", "mul_", "multiply", "multiply_"})
"""Arithmetic of ATen of which the gradient of one operand needs the other alone (derivatives.yaml of PyTorch)."""

KEPT = "charz.kv_cache"
"""Keys or values as they are kept: in training those that were just made."""


FROM_RESULT = frozenset(
    f"{name}{mark}"
    for name in ("relu", "sigmoid", "tanh", "exp", "exp2", "expm1", "sqrt", "rsqrt", "reciprocal", "softmax", "log_softmax")
    for mark in ("", "_")
)
"""Functions of ATen whose gradient needs the result alone (derivatives.yaml of PyTorch)."""


def add_backward(graph: Graph, classes: Classes) -> None:
    """Append the backward operators of a graph, in execution order. Raises CharzError where all weights are frozen."""
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
    """Gradients found so far."""

    def __init__(self, graph: Graph, classes: Classes) -> None:
        self.graph = graph
        self.classes = classes
        self.needs = _differentiable(graph)
        self.vocabularies = _vocabularies(graph)
        self.gradients: dict[int, int] = {}
        self.regions: defaultdict[int, list[GraphOperator]] = defaultdict(list)
        """Operators of each checkpoint, by its first, that the backward pass has not run again yet."""
        for operator in graph.operators:
            if operator.checkpoint is not None:
                self.regions[operator.checkpoint].append(operator)
        self.again: dict[int, int] = {}
        """Results that were made again, by those of the forward pass."""

    def seed(self, tensor: GraphTensor) -> None:
        """The gradient of the loss by an output: worked out where the output is over a vocabulary, else given from outside and
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
        """The backward operator of one forward operator."""
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
        """What the gradients of `targets` need of the forward pass. PyTorch keeps an operand only for a gradient that is asked
        for where each has a formula of its own (`should_compute_output` in the code that its derivatives.yaml generates)."""
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
        """Append the operators of a checkpoint once more, as far as the backward of any of them reads what they make."""
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
        """Of a view of everything a view; of a part a copy into zeros; of an expansion a sum."""
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
        """Append an operator that writes one gradient for each of some tensors; the gradients' ids."""
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
    """Of each tensor whether it has a gradient: floating, and made from a weight that is trained."""
    is_float = [t.precision.startswith(("fp", "bf", "complex")) for t in graph.tensors]
    needs = [t.is_trained for t in graph.tensors]
    for operator in graph.operators:
        reached = not operator.stops_gradient and any(needs[t] for t in operator.reads)
        for t in operator.writes:
            needs[t] = reached and is_float[t]
    return needs


def _vocabularies(graph: Graph) -> set[int | None]:
    """Rows of the tables in which what the model is given is looked up."""
    tables = (o.reads[0] for o in graph.operators if o.operator_class == "embedding" and o.reads)
    return {dims(graph.tensors[t].shape)[0] for t in tables if graph.tensors[t].role == "weight"} - {None}


def _name(operator: GraphOperator) -> str:
    """Name of ATen without its overload."""
    return operator.aten_operator.split(".")[1]


def _operands(operator: GraphOperator, taking_bias: Container[str]) -> list[int]:
    """What an operator multiplies, or all that it reads where it multiplies nothing."""
    if _name(operator) in ACCUMULATING:
        return operator.reads[1:3]
    return operator.reads[:2] if operator.operator_class in taking_bias else operator.reads


def _sides(operator: GraphOperator, step: Step, operands: Sequence[int], targets: Sequence[int]) -> list[str]:
    """Sides of a product whose gradients are asked for. Of an attention the left side of the second product is made of both
    operands of the first, and its right side is what is read third; a recurrent layer makes both sides of its last product, and
    of a factorization one product counts."""
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
    """Steps of the backward operator that writes the gradients of `targets`."""
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
                m, n, k = ("m", "k", "n") if side == "left" else ("k", "n", "m")
                steps.append(_gemm(f"{step.step}_{side}", step, m, n, k))
        elif step.step_class == "vector":
            is_elementwise = operator.operator_class == "elementwise"
            times = products if "macs" in q else len(targets) * factor if is_elementwise else factor
            steps.append(
                Step(step.step, "vector", {n: scaled(v, times) if n in ("flops", "macs") else v for n, v in q.items()})
            )
        else:
            steps.append(step)
    return steps or [Step("main", "move", {"threads": {(0, 0, 0): 0.0}})]


def _recurrent(step: Step, needs_first: bool) -> list[Step]:
    """Both gradients of a product within a recurrence; where what its first group read has none, one group less on the
    left, which is the whole product where nothing recurs."""
    both = [_gemm(f"{step.step}_left", step, "m", "k", "n"), _gemm(f"{step.step}_right", step, "k", "n", "m")]
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


def _gemm(name: str, forward: Step, m: str, n: str, k: str) -> Step:
    """The forward product with its dimensions exchanged; as many multiplications."""
    q = forward.quantities
    threads = polynomial(product(q["groups"], q[m], q[n]))
    return Step(name, "gemm", {**q, "m": q[m], "n": q[n], "k": q[k], "threads": threads})
