"""Lifetimes of tensors in a model's Python code, observed while the model is traced.

Eager PyTorch frees a storage when Python drops the last tensor that refers to it, and a local variable
may outlive the last operator that reads it. Tracing runs the same code, so its tensors die at the
same points. Functions of `torch.nn.functional` are Python too and are watched inside: attention
there keeps its projections and scores in local variables. Tensors that C++ code makes and drops inside one
call are not seen.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import torch
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.overrides import TorchFunctionMode, redispatch_function


@dataclass(slots=True)
class Span:
    """Calls of torch between which Python keeps a storage."""

    born: int
    died: int | None = None
    holders: int = 0
    """Number of live tensors that refer to the storage."""


class References(TorchFunctionMode):
    """A mode that notes, by address, the storages of all results of torch functions."""

    def __init__(self) -> None:
        super().__init__()
        self.spans: dict[int, Span] = {}
        self._call = 0

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = self._result(func, types, args, kwargs or {})
        self._call += 1
        for item in result if isinstance(result, (list, tuple)) else (result,):
            if isinstance(item, torch.Tensor):
                self._hold(item)
        return result

    def _result(self, func: Callable[..., Any], types: Sequence[type], args: Any, kwargs: dict[str, Any]) -> Any:
        if not isinstance(func, FunctionType) or not func.__module__.startswith("torch.nn.functional"):
            return func(*args, **kwargs)
        with self:  # so that calls in its body come here too
            return redispatch_function(func, types, args, kwargs)

    def _hold(self, tensor: torch.Tensor) -> None:
        if is_functorch_wrapped_tensor(tensor):  # as under vmap: the wrapped tensor belongs to no operator
            return
        storage = tensor.untyped_storage()
        address = storage._cdata
        span = self.spans.get(address)
        if span is None:
            span = self.spans[address] = Span(self._call)
            weakref.finalize(storage, self.spans.pop, address, None).atexit = False  # addresses are reused
        span.holders += 1
        span.died = None  # a new view revives a storage that only the traced graph kept
        weakref.finalize(tensor, self._drop, span).atexit = False

    def _drop(self, span: Span) -> None:
        span.holders -= 1
        if not span.holders:
            span.died = self._call
