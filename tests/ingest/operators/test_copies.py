"""Copies move bytes and views do not, whatever their names."""

import pytest
import torch


def test_reshape_of_a_transpose_copies_and_of_a_contiguous_tensor_does_not(lowered):
    g = lowered(lambda x: x.transpose(1, 2).reshape(-1, 12), torch.empty(2, 3, 4))
    assert [o.operator_class for o in g.graph.operators] == ["view", "copy"]
    g = lowered(lambda x: x.reshape(-1, 12), torch.empty(2, 3, 4))
    assert [o.operator_class for o in g.graph.operators] == ["view"]


def test_contiguous_copies_only_what_is_not_contiguous(lowered):
    g = lowered(lambda x: x.transpose(1, 2).contiguous().contiguous(), torch.empty(2, 3, 4))
    assert [o.is_view for o in g.graph.operators] == [True, False]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.cat([x, x], 1),
        lambda x: x.roll(1, 1),
        lambda x: torch.nn.functional.pad(x, (1, 1)),
        lambda x: x.repeat(1, 2),
        lambda x: x.flip(1),
    ],
)
def test_copies_compute_nothing(lowered, function):
    g = lowered(function, torch.empty(2, 3))
    op = g.only("copy")
    assert g.value(op, "flops") == 0
    assert op.steps[0].step_class == "move"


def test_chunks_are_views(lowered):
    g = lowered(lambda x: x.chunk(2, 1)[0] + 1, torch.empty(2, 8))
    assert [o.operator_class for o in g.graph.operators] == ["view", "elementwise"]


def test_cast(lowered):
    g = lowered(lambda x: x.half(), torch.empty(2, 8))
    op = g.only("cast")
    assert g.graph.tensors[op.writes[0]].precision == "fp16"
