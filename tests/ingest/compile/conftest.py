"""Hand-made graphs: `make()` gives a builder, whose calls read like the network."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from charz.ingest.graph import Graph, GraphModule, GraphOperator, GraphTensor, Step

VIEW = "view"
Elements = float


class Builder:
    """A graph under construction; tensors are plain ids, sizes are elements a sample."""

    def __init__(self) -> None:
        self.graph = Graph(modules=[GraphModule(0, None, "", "Net", 0)])

    def tensor(
        self,
        elements: Elements,
        role: str = "activation",
        precision: str = "fp32",
        producer: int | None = None,
        storage: int | None = None,
        shape: str | None = None,
    ) -> int:
        tensor_id = len(self.graph.tensors)
        is_fixed = role in ("weight", "buffer", "constant")
        powers = (0, 0, 0) if is_fixed else (1, 0, 0)
        storage = tensor_id if storage is None else storage
        text = shape or (f"[{elements:g}, 1]" if is_fixed else f"[B, {elements:g}]")
        name = f"t{tensor_id}"
        tensor = GraphTensor(tensor_id, name, producer, role, precision, text, {powers: float(elements)}, storage)
        self.graph.tensors.append(tensor)
        return tensor_id

    def input(self, elements: Elements, precision: str = "fp32") -> int:
        return self.tensor(elements, "input", precision)

    def weight(self, elements: Elements, shape: str | None = None) -> int:
        return self.tensor(elements, "weight", shape=shape)

    def op(
        self,
        operator_class: str,
        *reads: int,
        elements: Elements | None = None,
        aten_operator: str | None = None,
        precision: str = "fp32",
        inplace: bool = False,
        macs: float = 0.0,
        role: str = "activation",
        results: int = 1,
    ) -> int:
        """Append an operator, and return its first result. A size defaults to that of the first operand."""
        tensors = self.graph.tensors
        if elements is None:
            elements = next(iter(tensors[reads[0]].elements.values()))
        is_view = operator_class == VIEW
        shared = tensors[reads[0]].storage_tensor_id if is_view or inplace else None
        operator_id = len(self.graph.operators)
        writes = [self.tensor(elements, role, precision, operator_id, shared) for _ in range(results)]
        self.graph.operators.append(
            GraphOperator(
                operator_id,
                f"{operator_class}_{operator_id}",
                aten_operator or f"aten.{operator_class}.default",
                operator_class,
                0,
                operator_class,
                list(reads),
                writes,
                is_view=is_view,
                is_inplace=inplace,
                steps=[Step("main", "gemm", {"macs": {(1, 0, 0): macs}})] if macs else [],
            )
        )
        return writes[0]

    def output(self, *tensors: int) -> Graph:
        """Mark what the network returns."""
        for tensor in tensors:
            self.graph.tensors[tensor].is_output = True
        return self.graph


@pytest.fixture(scope="session")
def make() -> Callable[[], Builder]:
    return Builder
