"""Gathers and scatters: only the selected elements move, not the whole table."""

from __future__ import annotations

from ..graph import Step
from .registry import Call, Value, move, rule, vector


@rule(
    "aten.index.Tensor", "aten.index_select.default", "aten.gather.default", "aten.take.default",
    "aten.take_along_dim.default", "aten.masked_select.default", "aten._unsafe_index.Tensor",
    operator_class="gather",
)  # fmt: skip
def gather(call: Call) -> list[Step]:
    """Read the selected elements and the indices, and write the result."""
    source: Value = call.tensors()[0]
    call.moves(source, call.output.elements)
    return [move(call.output.elements)]


@rule(
    "aten.index_put_.default", "aten.scatter_.src", "aten.index_copy_.default", "aten.scatter_.value",
    "aten.masked_scatter_.default", "aten.index_fill_.int_Scalar", "aten._index_put_impl_.default",
    operator_class="gather",
)  # fmt: skip
def scatter_in_place(call: Call) -> list[Step]:
    """Write as many elements as there are values (or indices); the rest of the destination stays."""
    destination, *others = call.tensors()
    written = others[-1].numel if others else call.output.elements
    call.moves(destination, 0)
    call.moves(call.output, written)
    return [move(written)]


@rule("aten.index_add_.default", "aten.scatter_add_.default", "aten.scatter_reduce_.two", operator_class="gather")
def accumulate_in_place(call: Call) -> list[Step]:
    """Read the addressed elements, add to them and write them."""
    destination, *others = call.tensors()
    written = others[-1].numel
    call.moves(destination, written)
    call.moves(call.output, written)
    return [vector("main", written, written)]


@rule(
    "aten.index_put.default", "aten.scatter.src", "aten.scatter.value", "aten.index_copy.default",
    "aten.masked_scatter.default",
    "aten.slice_scatter.default", "aten.select_scatter.default", "aten.index_fill.int_Scalar",
    "aten.diagonal_scatter.default",
    operator_class="gather",
)  # fmt: skip
def scatter(call: Call) -> list[Step]:
    """Copy the destination and write the values over it."""
    return [move(call.output.elements)]


@rule(
    "aten.index_add.default",
    "aten.scatter_add.default",
    "aten.scatter_reduce.two",
    "aten.segment_reduce.default",
    operator_class="gather",
)
def accumulate(call: Call) -> list[Step]:
    """Copy the destination and add the values to it."""
    added = call.tensors()[-1].numel
    return [vector("main", added, call.output.elements)]


@rule("aten.col2im.default", operator_class="gather")
def overlap(call: Call) -> list[Step]:
    """Add each element of the patches to the pixel that it covers."""
    patches: Value = call["self"]
    return [vector("main", patches.numel, call.output.elements)]


@rule(
    "aten.nonzero.default",
    "aten.nonzero_numpy.default",
    "aten.argwhere.default",
    "aten.one_hot.default",
    operator_class="gather",
)
def scan(call: Call) -> list[Step]:
    """Count one comparison an input element."""
    source: Value = call.tensors()[0]
    return [vector("main", source.numel, source.numel)]


@rule(
    "aten.bucketize.Tensor",
    "aten.searchsorted.Tensor",
    "aten.bucketize.Scalar",
    "aten.isin.Tensor_Tensor",
    "aten.isin.Tensor_Scalar",
    operator_class="gather",
)
def search(call: Call) -> list[Step]:
    """Compare with every boundary, which is an upper bound."""
    first, *rest = call.tensors()
    boundaries = rest[0].numel if rest else 1
    from ..trace.symbolic import product

    return [
        vector(
            "main",
            product(boundaries, call.output.elements)
            if "bucket" not in call.overload.__name__
            else product(boundaries, first.numel),
            call.output.elements,
        )
    ]


@rule("aten.repeat_interleave.Tensor", "aten.repeat_interleave.self_Tensor", operator_class="gather")
def repeat_each(call: Call) -> list[Step]:
    return [move(call.output.elements)]
