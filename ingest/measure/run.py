"""Measures time, memory, energy and operator times of one model on one device."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import torch

from charz.schema.conditions import MEMORY_FORMATS
from charz.schema.errors import CharzError

from ..measurements import kineto
from ..trace.export import Request
from . import materialize

_HALF = {"fp16": torch.float16, "bf16": torch.bfloat16}
_AUTOCAST = {"amp-fp16": torch.float16, "amp-bf16": torch.bfloat16}
PRECISIONS = ("fp32", "tf32", *_HALF, *_AUTOCAST)
"""Precision policies that can be measured."""
_CHOICES = {
    "device": ("cpu", "cuda"),
    "backend": ("eager", "inductor"),
    "precision": PRECISIONS,
    "memory_format": MEMORY_FORMATS,
}


@dataclass(frozen=True)
class Settings:
    """Conditions of a run. Raises `CharzError` for conditions that this machine lacks."""

    device: str = "cpu"
    backend: str = "eager"
    precision: str = "fp32"
    batch: int = 1
    sequence: int | None = None
    memory_format: str = "nchw"
    least_runs: int = 7
    seconds: float = 2.0
    """Least duration of the measurement; runs continue until this and `least_runs` are reached. [s]"""
    quantile: float = 0.5
    """Share of the runs that are faster than the reported time."""

    def __post_init__(self) -> None:
        for field, choices in _CHOICES.items():
            if (value := getattr(self, field)) not in choices:
                what = f"this {field.replace('_', ' ')} cannot be measured"
                raise CharzError(what, value, f"there are {', '.join(choices)}")
        if self.device == "cuda" and not torch.cuda.is_available():
            raise CharzError("no CUDA device here", next="measure with --device cpu")
        if self.precision == "tf32" and self.device != "cuda":
            raise CharzError("tf32 is a format of GPUs", f"--device {self.device}", next="measure fp32 here")


@dataclass(frozen=True)
class Result:
    """Results of repeated runs."""

    times_s: tuple[float, ...]
    """Times of all runs. [s]"""
    quantile: float
    """Share of the runs that are faster than `latency_s`."""
    peak_memory_byte: float | None
    """Peak of the device's allocator; null on a CPU, which has none. [byte]"""
    energy_j: float | None
    """Energy of one run by the device's counter; null without a counter. [J]"""

    @property
    def latency_s(self) -> float:
        """The requested quantile of the times, by default the median. [s]"""
        return self._at(self.quantile)

    @property
    def low_s(self) -> float:
        """The tenth percentile. [s]"""
        return self._at(0.1)

    @property
    def high_s(self) -> float:
        """The ninetieth percentile. [s]"""
        return self._at(0.9)

    def _at(self, quantile: float) -> float:
        return float(torch.tensor(self.times_s, dtype=torch.float64).quantile(quantile))

    def joined(self, other: Result) -> Result:
        """Join the runs of two results for the same model under the same settings."""
        energies = [(r.energy_j, len(r.times_s)) for r in (self, other)]
        runs = len(self.times_s) + len(other.times_s)
        return Result(
            times_s=self.times_s + other.times_s,
            quantile=self.quantile,
            peak_memory_byte=self.peak_memory_byte,
            energy_j=sum(e * n for e, n in energies if e is not None) / runs
            if all(e is not None for e, _ in energies)
            else None,
        )


def measure(request: Request, settings: Settings) -> tuple[Result, Callable[[], object]]:
    """Measure a model, and also return the timed call, for a trace."""
    call = prepare(request, settings)
    synchronize = torch.cuda.synchronize if settings.device == "cuda" else _nothing
    _warm_up(call, synchronize)
    if settings.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    energy = _energy_counter(settings.device)
    before = energy() if energy else None
    times = _timed(call, synchronize, settings)
    spent = energy() - before if energy and before is not None else None
    return (
        Result(
            times_s=tuple(times),
            quantile=settings.quantile,
            peak_memory_byte=float(torch.cuda.max_memory_allocated()) if settings.device == "cuda" else None,
            energy_j=spent / len(times) if spent is not None else None,
        ),
        call,
    )


def prepare(request: Request, settings: Settings) -> Callable[[], object]:
    """Return the model on its device, under its backend and precision, as a call without arguments.

    Raise `CharzError` where the model has no such batch or sequence.
    """
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = settings.precision == "tf32"
    model = materialize.module(request, settings.device)
    arguments, keywords = materialize.inputs(request, settings.batch, settings.sequence, settings.device)
    if settings.precision in _HALF:
        model = model.to(_HALF[settings.precision])
        arguments = tuple(_cast(a, _HALF[settings.precision]) for a in arguments)
        keywords = {k: _cast(v, _HALF[settings.precision]) for k, v in keywords.items()}
    if settings.memory_format == "nhwc":
        model = model.to(memory_format=torch.channels_last)
        arguments = tuple(_channels_last(a) for a in arguments)
    run = torch.compile(model) if settings.backend == "inductor" else model
    autocast = _AUTOCAST.get(settings.precision)

    def call() -> object:
        context = torch.autocast(settings.device, autocast) if autocast else contextlib.nullcontext()
        with torch.inference_mode(), context:
            return run(*arguments, **keywords)

    return call


def operator_times(
    call: Callable[[], object], device: str, model: str, hardware: str, backend: str, source_id: str
) -> pl.DataFrame:
    """Profile one run, and return its `operator_measurement` rows."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        call()
        if device == "cuda":
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        return kineto.read(path, model, hardware, backend, source_id)


def _warm_up(call: Callable[[], object], synchronize: Callable[[], object]) -> None:
    """Run three times, or more until half a second has passed: caches, allocator, compilation and clocks settle."""
    start = time.perf_counter()
    for count in range(50):
        call()
        synchronize()
        if count >= 2 and time.perf_counter() - start > 0.5:
            return


def _timed(call: Callable[[], object], synchronize: Callable[[], object], settings: Settings) -> list[float]:
    """Return the seconds of each run, with a synchronization after each."""
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < settings.least_runs or time.perf_counter() - start < settings.seconds:
        synchronize()
        before = time.perf_counter()
        call()
        synchronize()
        times.append(time.perf_counter() - before)
    return times


def _energy_counter(device: str) -> Callable[[], float] | None:
    """Return a counter of the GPU's energy since its driver was loaded, or None without one. [J]"""
    if device != "cuda":
        return None
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(torch.cuda.current_device())
        pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)
    except pynvml.NVMLError:
        return None
    return lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3


def is_busy() -> bool:
    """Return True when other work occupies more than a quarter of the cores, which would lengthen the times."""
    return os.getloadavg()[0] > 0.25 * (os.cpu_count() or 1)


def device_name(device: str) -> str:
    """Return the device's name by its maker."""
    if device == "cuda":
        return str(torch.cuda.get_device_name())
    return next(_cpu_names(), "unknown CPU")


def _cpu_names() -> Iterator[str]:
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith("model name"):
                yield line.split(":", 1)[1].strip()


def _cast(value: object, dtype: torch.dtype) -> object:
    return value.to(dtype) if isinstance(value, torch.Tensor) and value.dtype.is_floating_point else value


def _channels_last(value: object) -> object:
    if isinstance(value, torch.Tensor) and value.dim() == 4:
        return value.to(memory_format=torch.channels_last)
    return value


def _nothing() -> None:
    """Do nothing: the CPU needs no synchronization."""
