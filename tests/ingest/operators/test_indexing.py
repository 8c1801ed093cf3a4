"""Gathers and scatters move only the selected elements."""

import torch


def test_gather_reads_what_it_picks(lowered):
    g = lowered(lambda x, y: x[:, y], torch.empty(2, 1000), torch.empty(7, dtype=torch.int64), symbolic=False)
    op = g.only("gather")
    assert g.moved(op, op.reads[0]) == 14


def test_writing_a_slice_moves_the_slice(lowered):
    def write(x, y):
        z = x.clone()
        z[:, :3] = y
        return z * 2

    g = lowered(write, torch.empty(2, 10), torch.empty(2, 3))
    copy = next(o for o in g.graph.operators if o.aten_operator == "aten.copy_.default")
    assert [g.moved(copy, t, batch=2) for t in copy.reads] == [0, 6]
    assert g.moved(copy, copy.writes[0], batch=2) == 6
    product = g.only("elementwise")
    assert copy.writes[0] in product.reads, "who reads the whole waits for the slice"
    assert g.moved(product, copy.writes[0]) == 0
    assert product.stage > copy.stage


def test_index_add_in_place(lowered):
    def add(x, y, z):
        return x.clone().index_add_(0, y, z)

    g = lowered(add, torch.empty(10, 4), torch.empty(3, dtype=torch.int64), torch.empty(3, 4), symbolic=False)
    op = g.only("gather")
    assert g.value(op, "flops") == 12
    assert g.moved(op, op.writes[0]) == 12


def test_fold_adds_every_element_of_the_patches(lowered):
    g = lowered(lambda x: torch.nn.functional.fold(x, (6, 6), 3, stride=2, padding=1), torch.empty(2, 18, 9))
    op = g.only("gather")
    assert g.value(op, "flops", batch=2) == 2 * 18 * 9
    assert g.value(op, "threads", batch=2) == 2 * 2 * 36
