"""Operators that only move bytes. A `reshape` or `contiguous` that aliases its input never arrives here,
because the lowering has marked it as a view."""

from __future__ import annotations

from ..graph import Step
from .registry import Call, move, rule


@rule(
    "aten.cat.default",
    "charz.state_join.default",
    "aten.stack.default",
    "aten.hstack.default",
    "aten.vstack.default",
    "aten.concat.default",
    "aten.concatenate.default",
    "aten.dstack.default",
    "aten.column_stack.default",
    "aten.clone.default",
    "aten.contiguous.default",
    "aten.reshape.default",
    "aten.flatten.using_ints",
    "aten.roll.default",
    "aten.flip.default",
    "aten.fliplr.default",
    "aten.flipud.default",
    "aten.rot90.default",
    "aten.repeat.default",
    "aten.tile.default",
    "aten.repeat_interleave.self_int",
    "aten.pixel_shuffle.default",
    "aten.pixel_unshuffle.default",
    "aten.channel_shuffle.default",
    "aten.unfold_copy.default",
    "aten.im2col.default",
    "aten.lift_fresh_copy.default",
    "aten.tril.default",
    "aten.triu.default",
    "aten.tril_.default",
    "aten.triu_.default",
    "aten.diag_embed.default",
    "aten.diag.default",
    "aten.block_diag.default",
    "aten.native_channel_shuffle.default",
    "aten.view_as_complex.default",
    "aten.view_as_real.default",
    "aten.resolve_conj.default",
    "aten.resolve_neg.default",
    "aten.unflatten.int",
    "aten.split_copy.Tensor",
    "aten.cartesian_prod.default",
    "aten.meshgrid.indexing",
    "aten.meshgrid.default",
    "aten.movedim.intlist",
    "aten.lift_fresh.default",
    "aten.squeeze.dim",
    "aten.view.dtype",
    "aten.unfold.default",
    operator_class="copy",
)
def whole_copy(call: Call) -> list[Step]:
    """Read the inputs and write the output in full."""
    return [move(call.output.elements)]


@rule(
    "aten.pad.default",
    "aten.constant_pad_nd.default",
    "aten.reflection_pad1d.default",
    "aten.reflection_pad2d.default",
    "aten.replication_pad1d.default",
    "aten.replication_pad2d.default",
    "aten.replication_pad3d.default",
    operator_class="copy",
)
def pad(call: Call) -> list[Step]:
    return [move(call.output.elements)]


@rule("aten.copy_.default", "aten.copy.default", operator_class="copy")
def overwrite(call: Call) -> list[Step]:
    """Read only the source, because the destination is overwritten."""
    destination, *_ = call.tensors()
    call.moves(destination, 0)
    return [move(call.output.elements)]


@rule(
    "aten.fill_.Scalar",
    "aten.zero_.default",
    "aten.fill_.Tensor",
    "aten.uniform_.default",
    "aten.normal_.default",
    operator_class="create",
)
def fill(call: Call) -> list[Step]:
    """Write without reading."""
    destination, *_ = call.tensors()
    call.moves(destination, 0)
    return [move(call.output.elements)]


@rule(
    "aten.to.dtype",
    "aten.to.dtype_layout",
    "aten.to.device",
    "aten.to.other",
    "aten.type_as.default",
    "aten._to_copy.default",
    "aten.float.default",
    "aten.half.default",
    "aten.to.prim_Device",
    operator_class="cast",
)
def cast(call: Call) -> list[Step]:
    return [move(call.output.elements)]
