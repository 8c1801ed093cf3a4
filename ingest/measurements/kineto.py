"""PyTorch profiler (Kineto) traces: one row an outermost ATen call, with the device time it caused.

A CPU call owns the device kernels launched while it ran (matched through the correlation of the
launch, which Kineto writes as `External id` or `correlation`). In a trace without device kernels
its own wall time counts. Format: the JSON of `torch.profiler.profile.export_chrome_trace`.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from charz.schema.errors import CharzError
from charz.schema.scenario import OperatorMeasurement

from . import operator_shape, store

_DEVICE_CATEGORIES = {"kernel", "gpu_memcpy", "gpu_memset"}
_TYPES = {"float": "fp32", "c10::Half": "fp16", "c10::BFloat16": "bf16", "double": "fp64", "signed char": "int8"}
_CLASSES = {
    "conv1d": "conv", "conv2d": "conv", "conv3d": "conv", "_convolution": "conv", "convolution": "conv",
    "conv_transpose2d": "conv_transposed", "linear": "linear", "addmm": "linear", "mm": "matmul",
    "bmm": "matmul", "matmul": "matmul", "einsum": "matmul", "baddbmm": "matmul",
    "scaled_dot_product_attention": "attention", "batch_norm": "batch_norm", "layer_norm": "norm",
    "group_norm": "norm", "rms_norm": "norm", "softmax": "softmax", "_softmax": "softmax",
    "relu": "activation", "relu_": "activation", "gelu": "activation", "silu": "activation",
    "silu_": "activation", "hardswish": "activation", "hardswish_": "activation", "relu6": "activation",
    "hardtanh": "activation", "hardtanh_": "activation", "sigmoid": "activation", "tanh": "activation",
    "hardsigmoid": "activation", "max_pool2d": "pooling", "avg_pool2d": "pooling",
    "adaptive_avg_pool2d": "pooling", "mean": "reduction", "sum": "reduction", "embedding": "embedding",
    "cat": "copy", "contiguous": "copy", "clone": "copy", "copy_": "copy", "roll": "copy", "pad": "copy",
    "to": "cast", "_to_copy": "cast", "add": "elementwise", "add_": "elementwise", "mul": "elementwise",
    "mul_": "elementwise", "div": "elementwise", "sub": "elementwise", "view": "view", "reshape": "view",
    "flatten": "view", "permute": "view", "transpose": "view", "unsqueeze": "view", "dropout": "view",
}  # fmt: skip


def read(path: Path, model: str | None, hardware: str, backend: str, source_id: str) -> pl.DataFrame:
    """Read `operator_measurement` rows from a trace, none from a run without ATen calls. Raise `CharzError` for any other file."""
    try:
        return _read(_events(path), model, hardware, backend, source_id)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        # A trace has tens of thousands of events, which are not checked before use.
        what = f"{type(error).__name__}: {error}"
        raise CharzError("an event of the trace lacks a field or has a wrong one", str(path), what) from error


def _read(
    events: list[dict[str, Any]], model: str | None, hardware: str, backend: str, source_id: str
) -> pl.DataFrame:
    # A compiled region encloses the ATen calls that its kernels make.
    calls = outermost_calls([e for e in events if e.get("cat") == "cpu_op" and e["name"].startswith("aten::")])
    device_time = _device_time(events, calls)
    rows = [_row(call, device_time, model, hardware, backend, source_id) for call in calls]
    return store.conform(pl.DataFrame(rows, infer_schema_length=None), OperatorMeasurement)


def outermost_calls(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the calls that no other call of the same thread encloses, in order of time."""
    found: list[dict[str, Any]] = []
    end: dict[Any, float] = defaultdict(lambda: float("-inf"))
    for call in sorted(calls, key=lambda c: (c["ts"], -c.get("dur", 0))):
        thread = (call.get("pid"), call.get("tid"))
        if call["ts"] < end[thread]:
            continue
        end[thread] = call["ts"] + call.get("dur", 0)
        found.append(call)
    return found


def _events(path: Path) -> list[dict[str, Any]]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as file:
            document = json.load(file)
    except RecursionError as error:
        raise CharzError("not a JSON trace", str(path), "its values are nested too deeply") from error
    except (OSError, EOFError, zlib.error, ValueError) as error:  # ValueError: neither JSON nor UTF-8
        raise CharzError("not a JSON trace", str(path), str(error)) from error
    events = document.get("traceEvents", []) if isinstance(document, dict) else document
    if not isinstance(events, list):
        raise CharzError("not a PyTorch trace", str(path), "traceEvents is not a list")
    return [e for e in events if isinstance(e, dict) and e.get("ph") == "X"]


def _device_time(events: list[dict[str, Any]], calls: list[dict[str, Any]]) -> dict[int, float] | None:
    """Return the microseconds of device work by id of the call, or None for a trace without device."""
    kernels = [e for e in events if e.get("cat") in _DEVICE_CATEGORIES]
    if not kernels:
        return None
    launches = {
        e["args"]["correlation"]: e for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in (e.get("args") or {})
    }  # fmt: skip
    by_thread: dict[Any, list[tuple[float, float, int]]] = defaultdict(list)
    for call in calls:
        by_thread[(call.get("pid"), call.get("tid"))].append((call["ts"], call["ts"] + call["dur"], id(call)))
    time: dict[int, float] = defaultdict(float)
    for kernel in kernels:
        launch = launches.get((kernel.get("args") or {}).get("correlation"))
        if launch is None:
            continue
        owner = _enclosing(by_thread[(launch.get("pid"), launch.get("tid"))], launch["ts"])
        if owner is not None:
            time[owner] += kernel["dur"]
    return time


def _enclosing(spans: list[tuple[float, float, int]], instant: float) -> int | None:
    """Return the id of the span that contains the instant; spans are disjoint and sorted."""
    low, high = 0, len(spans)
    while low < high:
        middle = (low + high) // 2
        if spans[middle][0] <= instant:
            low = middle + 1
        else:
            high = middle
    if low and spans[low - 1][0] <= instant <= spans[low - 1][1]:
        return spans[low - 1][2]
    return None


def _row(
    call: dict[str, Any],
    device_time: dict[int, float] | None,
    model: str | None,
    hardware: str,
    backend: str,
    source_id: str,
) -> dict[str, Any]:
    arguments = call.get("args") or {}
    dims, types = arguments.get("Input Dims", []), arguments.get("Input type", [])
    name = call["name"].removeprefix("aten::")
    precision = next((_TYPES[t] for t in types if t in _TYPES), "fp32")
    work = call_work(name, [tuple(d) for d in dims if d and not isinstance(d[0], list)], precision)
    micros = call["dur"] if device_time is None else device_time.get(id(call), 0.0)
    return {
        "model": model,
        "operator": call["name"],
        "operator_class": work["operator_class"],
        "hardware_name": hardware,
        "backend": backend,
        "precision": precision,
        "shape": json.dumps(dims),
        "macs": work["macs"],
        "flops": work["flops"],
        "traffic_byte": work["traffic_byte"],
        "latency_s": micros * 1e-6,
        "source_id": source_id,
    }


def call_work(name: str, shapes: list[tuple[int, ...]], precision: str) -> operator_shape.Work:
    """Compute the work of a linear layer or matrix product from its input sizes. For any other ATen
    call only the class is known, because a trace does not record output sizes."""
    element = operator_shape._ELEMENT_BYTE[precision]
    operator_class = _CLASSES.get(name, "unknown")
    if name == "linear" and len(shapes) >= 2:
        rows = 1
        for size in shapes[0][:-1]:
            rows *= size
        return operator_shape.gemm(1, rows, shapes[1][0], shapes[1][1], element, "linear")
    if name == "addmm" and len(shapes) >= 3:
        return operator_shape.gemm(1, shapes[1][0], shapes[2][1], shapes[1][1], element, "linear")
    if name in ("mm", "bmm", "matmul") and len(shapes) >= 2 and len(shapes[0]) >= 2 and len(shapes[1]) >= 2:
        count = 1
        for size in shapes[0][:-2]:
            count *= size
        return operator_shape.gemm(count, shapes[0][-2], shapes[1][-1], shapes[0][-1], element, "matmul")
    work = operator_shape.unknown()
    work["operator_class"] = operator_class
    return work


@dataclass(frozen=True, slots=True)
class Call:
    """An outermost ATen call of one step of a run."""

    name: str
    operator_class: str
    seconds: float
    """Device time that it caused; in a trace without a device its own wall time. Median over the steps. [s]"""
    tensors: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """PyTorch's type and the sizes of each tensor that it reads; empty in a trace without shapes."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Calls of one step of a trace."""

    calls: list[Call]
    has_device: bool
    """True if times are device times."""
    step_count: int
    """Number of steps with the same calls; all other steps are ignored."""
    is_marked: bool
    """True if the profiler marked steps; else the calls are those of the whole trace."""

    def run(self, call_count: int) -> Profile:
        """Return the calls of one run. A trace without marks is divided into equal runs, so many that the number of calls, without views, is nearest
        to the expected number."""
        if self.is_marked:
            return self
        calls = [(call.name, call.tensors) for call in self.calls]
        work = sum(call.operator_class != "view" for call in self.calls)
        counts = [n for n in range(1, len(calls) + 1) if len(calls) % n == 0 and calls[len(calls) // n :] == calls[: -(len(calls) // n)]]
        count = min([1, *counts], key=lambda n: abs(work / n - call_count))
        length = len(calls) // count
        return replace(self, calls=_median([self.calls[i : i + length] for i in range(0, len(calls), length)]), step_count=count)

    def sizes(self, inputs: Sequence[str]) -> dict[str, int]:
        """Return batch `B` and sequence `S` from the first tensor that matches an input such as `x=B,3,224,224:fp32`; empty without a match."""
        for kind, sizes in (tensor for call in self.calls for tensor in call.tensors):
            for shape, _, precision in (text.partition("=")[2].partition(":") for text in inputs):
                dims = shape.split(",")
                found = dict(zip(dims, map(str, sizes), strict=False))
                if (kind in _INTEGERS) == precision.startswith("int") and [found[d] if d in "BS" else d for d in dims] == [str(n) for n in sizes]:
                    return {letter: int(size) for letter, size in found.items() if letter in "BS"}
        return {}


_INTEGERS = ("long int", "int")
"""PyTorch's types of token numbers."""


def profile(path: Path) -> Profile:
    """Return the calls of one step: from all steps that `torch.profiler` marked, or from the whole trace without marks.
    Raise `CharzError` for any other file."""
    try:
        events = _events(path)
        calls = outermost_calls([e for e in events if e.get("cat") == "cpu_op"])
        device_time = _device_time(events, calls)
        marks = _marks(events)
        steps = [
            [
                _call(call, device_time)
                for call in calls
                if begin <= call["ts"] < end and call["name"].startswith("aten::")
            ]
            for begin, end in marks or [(float("-inf"), float("inf"))]
        ]
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        what = f"{type(error).__name__}: {error}"
        raise CharzError("an event of the trace lacks a field or has a wrong one", str(path), what) from error
    named = Counter(tuple(call.name for call in step) for step in steps if step)
    if not named:
        next = "profile with activities=[ProfilerActivity.CPU, ...]"
        if any(str(call["name"]).startswith("Torch-Compiled Region") for call in calls):
            next = "record the model without torch.compile, or use `charz measure --backend inductor`"
        raise CharzError("the trace contains no ATen calls", str(path), next=next)
    common = named.most_common(1)[0][0]
    agreeing = [step for step in steps if tuple(call.name for call in step) == common]
    return Profile(_median(agreeing), device_time is not None, len(agreeing), bool(marks))


def _median(steps: Sequence[Sequence[Call]]) -> list[Call]:
    """Return the calls of the first step with the median time over all steps."""
    return [replace(same[0], seconds=median(call.seconds for call in same)) for same in zip(*steps, strict=True)]


def _marks(events: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """Return begin and end of each step that the profiler marked."""
    marks = [
        e for e in events if str(e.get("name", "")).startswith("ProfilerStep#") and e.get("cat") == "user_annotation"
    ]
    return [(e["ts"], e["ts"] + e["dur"]) for e in marks]


def _call(call: dict[str, Any], device_time: dict[int, float] | None) -> Call:
    name = call["name"].removeprefix("aten::")
    micros = call["dur"] if device_time is None else device_time.get(id(call), 0.0)
    arguments = call.get("args") or {}
    operands = zip(arguments.get("Input type", []), arguments.get("Input Dims", []), strict=False)
    tensors = tuple((kind, tuple(dims)) for kind, dims in operands if dims and not isinstance(dims[0], list))
    return Call(name, _CLASSES.get(name, "unknown"), micros * 1e-6, tensors)
