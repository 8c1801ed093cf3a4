"""Regions around parts of a forward, in the backward pass: counts by hand, and by PyTorch's own run."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts, set_checkpoint_early_stop
from torch.utils.flop_counter import FlopCounterMode

from charz.ingest.trace.backward import add_backward

WIDTH, BATCH = 8, 16
PRODUCT = BATCH * WIDTH * WIDTH


class Three(nn.Module):
    """Three linear layers with activations between; subclasses decide how the second runs."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))

    def middle(self, x):
        return torch.sin(self.second(torch.sin(x)))

    def forward(self, x):
        return self.third(self.covered(self.first(x)))

    def covered(self, x):
        return self.middle(x)


class Checkpointed(Three):
    def covered(self, x):
        return checkpoint(self.middle, x, use_reentrant=False)


class Reentrant(Three):
    def covered(self, x):
        return checkpoint(self.middle, x, use_reentrant=True)


class Whole(Three):
    def covered(self, x):
        with set_checkpoint_early_stop(False):
            return checkpoint(self.middle, x, use_reentrant=False)


class WithoutGradient(Three):
    def covered(self, x):
        with torch.no_grad():
            return self.middle(x)


class Detached(Three):
    def covered(self, x):
        return self.middle(x).detach()


class Decorated(Three):
    @torch.no_grad()
    def covered(self, x):
        return self.middle(x)


class SwitchedOff(Three):
    """A module that switches gradients off and restores them, as code without context managers does."""

    def covered(self, x):
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        x = self.middle(x)
        torch.set_grad_enabled(before)
        return x


class SwitchedOn(Three):
    def covered(self, x):
        with torch.no_grad(), torch.enable_grad():
            return self.middle(x)


def macs_of(module):
    """Return the multiply-accumulates of a step that charz counts, and those that PyTorch runs."""
    with FlopCounterMode(display=False) as counter:
        module.train()(torch.randn(BATCH, WIDTH)).sum().backward()
    return counter.get_total_flops() // 2


def trained(lowered, rules, module):
    found = lowered(module, torch.empty(2, WIDTH), training=True)
    add_backward(found.graph, rules.classes)
    return found


def counted(found):
    return sum(found.value(o, "macs", batch=BATCH) for o in found.graph.operators)


@pytest.mark.parametrize(
    ("module", "products"),
    [
        (Three, 3 + 5),
        (Checkpointed, 3 + 5 + 1),
        (Reentrant, 3 + 5 + 1),
        (Whole, 3 + 5 + 1),
        (WithoutGradient, 3 + 1),  # only the gradient of the third weight
        (Detached, 3 + 1),
        (Decorated, 3 + 1),
        (SwitchedOff, 3 + 1),
        (SwitchedOn, 3 + 5),
    ],
)
def test_products_of_a_step(lowered, rules, module, products):
    assert counted(trained(lowered, rules, module())) == products * PRODUCT == macs_of(module())


def backward(found):
    return [o for o in found.graph.operators if o.is_backward]


def kept(found):
    """Return the names of forward tensors that the backward pass reads, except inputs and weights."""
    graph = found.graph
    made = {t for o in graph.operators if not o.is_backward for t in o.writes}
    return sorted({graph.tensors[t].tensor for o in backward(found) for t in o.reads if t in made})


def test_a_checkpoint_keeps_what_it_is_given_alone(lowered, rules):
    """Sines and the product between them are made again, up to the last one read: PyTorch stops before the last sine, which
    a re-entrant checkpoint makes too."""
    assert kept(trained(lowered, rules, Three())) == ["linear", "linear_1", "sin", "sin_1"]
    early, whole = (trained(lowered, rules, module()) for module in (Checkpointed, Reentrant))
    assert kept(early) == kept(whole) == ["linear", "sin_1"]
    names = [[o.aten_operator for o in backward(found) if o.is_repeated] for found in (early, whole)]
    assert names == [["aten.sin.default", "aten.linear.default"], ["aten.sin.default", "aten.linear.default", "aten.sin.default"]]


def test_what_runs_again_is_a_backward_operator_in_order(lowered, rules):
    found = trained(lowered, rules, Checkpointed())
    producers = {t: o.operator_id for o in found.graph.operators for t in o.writes}
    for operator in found.graph.operators:
        assert all(producers.get(t, -1) < operator.operator_id for t in operator.reads)
    again = [o for o in backward(found) if o.is_repeated]
    assert [found.graph.operators[o.forward].aten_operator for o in again] == [o.aten_operator for o in again]
    assert not any(o.targets for o in again)


def test_every_checkpoint_of_many_layers_is_its_own(lowered, rules):
    """Twelve equal layers, of which the first few are traced: each is repeated from its own input."""

    class Many(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(Three() for _ in range(12))

        def forward(self, x):
            for layer in self.layers:
                x = checkpoint(layer, x, use_reentrant=False)
            return x

    found = trained(lowered, rules, Many())
    again = [o for o in backward(found) if o.is_repeated]
    assert len({o.checkpoint for o in again}) == 12
    # The last product of each is not recomputed; the first layer's input has no gradient.
    assert counted(found) == (12 * (3 + 2 + 6) - 1) * PRODUCT == macs_of(Many())


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * torch.cos(x)


class OwnBackward(Three):
    called = Doubled.apply

    def covered(self, x):
        return type(self).called(x)


class Packed(Three):
    def covered(self, x):
        with torch.autograd.graph.save_on_cpu():
            return self.middle(x)


class Selective(Three):
    def covered(self, x):
        ops = [torch.ops.aten.mm.default]
        return checkpoint(
            self.middle, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(ops)
        )


class Nested(Three):
    def covered(self, x):
        return checkpoint(lambda y: checkpoint(self.middle, y, use_reentrant=False), x, use_reentrant=False)


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (Three, None),
        (OwnBackward, "the backward of Doubled"),
        (Packed, "save_on_cpu"),
        (Selective, "what a selective checkpoint keeps"),
        (Nested, "a checkpoint within a checkpoint"),
    ],
)
def test_what_is_not_honoured_is_named_once(lowered, rules, module, said):
    found = trained(lowered, rules, module()).graph.not_honoured
    assert [text.startswith(said) for text in found] == ([] if said is None else [True])


def test_marks_survive_autocast(lowered, rules):
    """A program with casts as operators is made from the traced one."""

    class Narrow(Checkpointed):
        def forward(self, x):
            with torch.autocast("cuda", torch.bfloat16):
                return super().forward(x)

    found = trained(lowered, rules, Narrow())
    assert sum(o.operator_class == "linear" for o in backward(found) if o.is_repeated) == 1


def test_marks_of_an_exported_program(lowered, rules, tmp_path):
    """A region without gradients is a separate call in a program that was exported with gradients enabled, and frozen
    weights stay frozen in its file."""
    from charz.ingest.pipeline import to_graph
    from charz.ingest.sources import build
    from charz.ingest.sources.spec import parse

    module = WithoutGradient()
    module.third.requires_grad_(False)
    torch.export.save(torch.export.export(module.train(), (torch.ones(2, WIDTH),)), tmp_path / "saved.pt2")
    graph, _ = to_graph(build(parse(str(tmp_path / "saved.pt2"))))
    weights = {t.tensor: t.is_trained for t in graph.tensors if t.role == "weight"}
    assert weights == {"first.weight": True, "second.weight": True, "third.weight": False}
    assert [o.stops_gradient for o in graph.operators] == [False, True, True, True, False]


def test_marks_survive_what_is_traced_for_many_samples(lowered, rules):
    """A program with `vmap` is made from the traced one."""

    class Mapped(Checkpointed):
        def forward(self, x):
            return super().forward(torch.vmap(torch.cos)(x))

    found = trained(lowered, rules, Mapped())
    assert counted(found) == (3 + 5 + 1) * PRODUCT
