"""Random graphs with branches, joins, long edges, views and in-place writes, without any library."""

from __future__ import annotations

import random

from charz.ingest.graph import Graph, GraphModule, GraphOperator, GraphTensor, Polynomial, Step

SAMPLE = (1, 0, 0)
ONE = (0, 0, 0)


def graph(seed: int, length: int = 40) -> Graph:
    """Build a graph of about `length` operators; the same seed gives the same graph."""
    dice = random.Random(seed)
    made = Graph(modules=[GraphModule(0, None, "", "Root", 0)])
    made.modules += [GraphModule(i, 0, f"block{i}", "Block", 1) for i in range(1, length // 4 + 2)]
    sizes = {_tensor(made, "input", {SAMPLE: 640.0}): 640}
    for i in range(dice.randint(length // 2, length)):
        recent = list(sizes)[-4:]
        reads = dice.sample(recent, min(len(recent), dice.choice([1, 1, 1, 2])))
        if dice.random() < 0.1:
            reads.append(dice.choice(list(sizes)))
        _operator(made, sizes, list(dict.fromkeys(reads)), 1 + i // 4, dice)
    read = {t for o in made.operators for t in o.reads}
    for tensor in made.tensors:
        tensor.is_output = tensor.role == "activation" and tensor.tensor_id not in read
    return made


def _tensor(made: Graph, role: str, elements: Polynomial, producer: int | None = None) -> int:
    tensor_id = len(made.tensors)
    made.tensors.append(GraphTensor(tensor_id, f"t{tensor_id}", producer, role, "fp32", "[]", elements, tensor_id))
    return tensor_id


def _operator(made: Graph, sizes: dict[int, int], reads: list[int], module: int, dice: random.Random) -> None:
    number = len(made.operators)
    kind = dice.choice(["linear", "activation", "elementwise", "norm", "copy", "view"])
    width = dice.choice([64, 200, 1000, 4096]) if kind == "linear" else sum(sizes[t] for t in reads[:1])
    written = _tensor(made, "activation", {SAMPLE: float(width)}, number)
    sizes[written] = width
    steps = [Step("main", "vector", {"flops": {SAMPLE: float(width)}, "threads": {SAMPLE: float(width)}})]
    if kind == "view":
        reads, steps = reads[:1], []
        made.tensors[written].storage_tensor_id = made.tensors[reads[0]].storage_tensor_id
    elif kind == "linear":
        depth = sizes[reads[0]]
        reads = [*reads, _tensor(made, "weight", {ONE: float(depth * width)})]
        macs = float(depth * width)
        product = {"m": {SAMPLE: 1.0}, "n": {ONE: float(width)}, "k": {ONE: float(depth)}, "groups": {ONE: 1.0}}
        work = {"macs": {SAMPLE: macs}, "flops": {SAMPLE: 2 * macs}, "threads": {SAMPLE: float(width)}}
        steps = [Step("main", "gemm", {**work, **product})]
    producers = [made.tensors[t].producer_operator_id for t in reads]
    stage = 1 + max((made.operators[p].stage for p in producers if p is not None), default=-1)
    made.operators.append(
        GraphOperator(
            number, f"n{number}", f"aten.{kind}.default", kind, module, "test", reads, [written],
            stage=stage, is_view=kind == "view", steps=steps,
        )
    )  # fmt: skip
