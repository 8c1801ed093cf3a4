"""Regions that a model's code opens around parts of its forward, marked on the operators traced within.

Tracing runs a forward without gradients and follows every call, so that a checkpoint, a region without gradients or a
function with its own backward would leave no trace in the graph. Within `marked`, every operator notes its regions.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest import mock

import torch
import torch.utils.checkpoint
from torch.autograd import function, grad_mode, graph
from torch.fx import Node
from torch.fx.proxy import TracerBase

_GRADIENT, _CHECKPOINT, _FUNCTION, _HOOKS = "charz_gradient", "charz_checkpoint", "charz_function", "charz_hooks"
"""Metadata keys in which a traced operator keeps its regions."""

DETACHING = frozenset(f"aten.{name}.default" for name in ("detach", "detach_", "detach_copy"))
"""Operators whose results have no gradient."""

CHECKPOINTS = frozenset({"tag_activation_checkpoint", "wrap_activation_checkpoint"})
"""Higher-order calls of a block that the backward pass runs again."""

GRADIENTS = "wrap_with_set_grad_enabled"
"""Higher-order call of a block with gradients or without."""

FUNCTIONS = "autograd_function_apply"
"""Higher-order call of a function with a backward of its own."""


class Checkpoint(NamedTuple):
    """A region whose operators the backward pass runs again."""

    number: int
    is_whole: bool
    """True if the whole region runs again, even after the last result that the backward pass needs."""
    said: str = ""
    """Description of the part that charz does not follow."""


class _Marks:
    """Regions that cover the next traced operators."""

    def __init__(self) -> None:
        self.now: dict[str, Any] = {}
        self.numbers = itertools.count(1)
        self.contexts = 0
        """Number of entered contexts of `torch.autograd.grad_mode`."""

    @contextlib.contextmanager
    def covering(self, name: str, value: Any) -> Iterator[None]:
        before, self.now = self.now, {**self.now, name: value}
        try:
            yield
        finally:
            self.now = before

    def checkpoint(self, is_whole: bool, said: str = "") -> contextlib.AbstractContextManager[None]:
        """Enter the region of a checkpoint; a nested one belongs to the outer one."""
        outer: Checkpoint | None = self.now.get(_CHECKPOINT)
        if outer is not None:
            return self.covering(_CHECKPOINT, outer._replace(said="a checkpoint within a checkpoint"))
        return self.covering(_CHECKPOINT, Checkpoint(next(self.numbers), is_whole, said))


@contextlib.contextmanager
def marked(is_training: bool) -> Iterator[None]:
    """Mark traced operators with their regions, and let a model in training find gradients enabled, though the tracing
    itself has disabled them."""
    marks = _Marks()
    patches = [*_operators(marks), *_gradients(marks), *_checkpoints(marks), *_functions(marks)]
    if is_training:
        patches.append((torch, "is_grad_enabled", _is_grad_enabled(marks)))
    with contextlib.ExitStack() as stack:
        for owner, name, value in patches:
            stack.enter_context(mock.patch.object(owner, name, value, create=True))
        yield


def has_gradient(node: Node) -> bool:
    """Return False for an operator in a region without gradients."""
    return bool(_marks_of(node).get(_GRADIENT, True))


def checkpoint_of(node: Node) -> Checkpoint | None:
    """Return the checkpoint that covers an operator, or None."""
    return _marks_of(node).get(_CHECKPOINT)


def not_honoured(node: Node) -> Iterator[str]:
    """Describe the parts of an operator's regions that charz does not follow."""
    marks = _marks_of(node)
    if name := marks.get(_FUNCTION):
        yield f"the backward of {name}; counted is the backward of its forward's operators"
    if name := marks.get(_HOOKS):
        yield f"{name}; saved tensors are counted as kept on the device"
    if (region := checkpoint_of(node)) and region.said:
        yield f"{region.said}; the whole region is counted as recomputed once"


def _marks_of(node: Node) -> dict[str, Any]:
    return node.meta.get("custom") or {}


_Patch = tuple[Any, str, Any]


def _operators(marks: _Marks) -> Iterator[_Patch]:
    """Mark operators during tracing."""
    plain = TracerBase.create_node

    def create_node(self: TracerBase, *args: Any, **kwargs: Any) -> Node:
        node = plain(self, *args, **kwargs)
        if marks.now:
            node.meta["custom"] = {**_marks_of(node), **marks.now}
        return node

    yield TracerBase, "create_node", create_node


def _gradients(marks: _Marks) -> Iterator[_Patch]:
    """Follow the contexts that switch gradients on and off."""
    for kind, switch in (
        (grad_mode.no_grad, lambda _: False),
        (grad_mode.enable_grad, lambda _: True),
        (grad_mode.inference_mode, lambda context: not context.mode),
        (grad_mode.set_grad_enabled, lambda context: context.mode),
    ):
        yield kind, "__enter__", _entering(marks, kind, switch)
        yield kind, "__exit__", _leaving(marks, kind)
    plain = grad_mode.set_grad_enabled.__init__

    def switched(self: Any, mode: bool) -> None:
        self.charz_before = marks.now
        plain(self, mode)
        marks.now = {**marks.now, _GRADIENT: mode}
        if not marks.contexts:  # a call, not a context: the tracing itself continues without gradients
            torch._C._set_grad_enabled(False)

    yield grad_mode.set_grad_enabled, "__init__", switched


def _entering(marks: _Marks, kind: Any, switch: Callable[[Any], bool]) -> Callable[[Any], None]:
    plain = kind.__enter__

    def enter(self: Any) -> None:
        before = self.charz_before if kind is grad_mode.set_grad_enabled else marks.now
        marks.contexts += 1
        plain(self)
        self.charz_before, marks.now = before, {**before, _GRADIENT: switch(self)}

    return enter


def _leaving(marks: _Marks, kind: Any) -> Callable[..., None]:
    plain = kind.__exit__

    def leave(self: Any, *error: Any) -> None:
        plain(self, *error)
        marks.contexts -= 1
        marks.now = self.charz_before

    return leave


def _is_grad_enabled(marks: _Marks) -> Callable[[], bool]:
    plain = torch.is_grad_enabled

    def is_grad_enabled() -> bool:
        asking = sys._getframe(1).f_globals.get("__name__", "")
        return plain() if asking.startswith("torch.") else bool(marks.now.get(_GRADIENT, True))

    return is_grad_enabled


def _checkpoints(marks: _Marks) -> Iterator[_Patch]:
    """Run the regions of checkpoints unchanged, but marked."""
    module = torch.utils.checkpoint

    class Reentrant:
        """Substitute for `CheckpointFunction`, which repeats its whole region."""

        @staticmethod
        def apply(call: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
            with marks.checkpoint(is_whole=True):
                return call(*args)

    def generator(
        call: Callable[..., Any], preserve_rng_state: bool = True, context_fn: Any = module.noop_context_fn,
        determinism_check: str = "", debug: bool = False, early_stop: bool = True, *args: Any, **kwargs: Any,
    ) -> Iterator[None]:  # fmt: skip
        said = "" if context_fn is module.noop_context_fn else "what a selective checkpoint keeps"
        overriding = module._enable_checkpoint_early_stop
        with marks.checkpoint(is_whole=not (early_stop if overriding is None else overriding), said=said):
            yield

    yield module, "CheckpointFunction", Reentrant
    yield module, "_checkpoint_without_reentrant_generator", generator


def _functions(marks: _Marks) -> Iterator[_Patch]:
    """Mark operators in functions with their own backward, and under hooks on tensors saved for the backward pass."""
    base = function._SingleLevelFunction

    def apply(cls: type, *args: Any, **kwargs: Any) -> Any:
        with marks.covering(_FUNCTION, cls.__qualname__):
            return super(base, cls).apply(*args, **kwargs)  # type: ignore[misc]

    yield base, "apply", classmethod(apply)
    hooks = graph.saved_tensors_hooks

    def enter(self: Any) -> None:
        self.charz_before, marks.now = marks.now, {**marks.now, _HOOKS: type(self).__qualname__}

    def leave(self: Any, *error: Any) -> None:
        marks.now = self.charz_before

    yield hooks, "__enter__", enter
    yield hooks, "__exit__", leave
