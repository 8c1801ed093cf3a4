"""The predicted execution of a run as a Chrome trace: kernels, host dispatch, memory and power.

The format is the JSON object format of Chrome's trace viewer, which Perfetto opens, with times in microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..scoped import Scoped

Event = dict[str, Any]

RUN, KERNELS, DEVICE, HOST = "run", "kernels, waiting included", "device", "host"
"""Tracks in display order."""

_TRACKS = {RUN: 1, KERNELS: 2, DEVICE: 3, HOST: 4}
_PROCESS = 1

_MEMORY = "SELECT kernel_id, total_byte FROM memory_timeline"

VIEWS = ("kernel_time", "memory_timeline", "model_latency")
"""Views that contain the data of a trace."""


def text(scoped: Scoped) -> bytes:
    """Return the trace of the run as JSON."""
    (run,) = scoped.records("SELECT * FROM model_latency")
    held = {row["kernel_id"]: row["total_byte"] for row in scoped.records(_MEMORY)}
    rows = scoped.records("SELECT * FROM kernel_time ORDER BY position")
    kernels = [row | {"total_byte": held[row["kernel_id"]]} for row in rows]
    found = {"traceEvents": list(_events(run, kernels)), "displayTimeUnit": "ms", "otherData": _conditions(run)}
    return json.dumps(found, allow_nan=False).encode()


def _conditions(run: dict[str, Any]) -> dict[str, str]:
    """Return the conditions of the run, marked as predicted."""
    keys = ("model", "hardware", "backend", "precision", "batch", "sequence")
    return {**{key: str(run[key]) for key in keys}, "origin": "predicted by charz"}


def _events(run: dict[str, Any], kernels: list[dict[str, Any]]) -> Iterator[Event]:
    name = (
        f"{run['model']} on {run['hardware']}, {run['backend']}, {run['precision']}, batch {run['batch']} (predicted)"
    )
    yield {"ph": "M", "pid": _PROCESS, "name": "process_name", "args": {"name": name}}
    for track, number in _TRACKS.items():
        yield {"ph": "M", "pid": _PROCESS, "tid": number, "name": "thread_name", "args": {"name": track}}
        yield {"ph": "M", "pid": _PROCESS, "tid": number, "name": "thread_sort_index", "args": {"sort_index": number}}
    yield _span(RUN, run["model"], 0.0, run["latency_s"], {})
    call_s = run["run_call_s"]
    for track in (KERNELS, HOST):
        yield _span(track, "call", 0.0, call_s, {"what": "what a run pays once"})
    issued_s = call_s
    for kernel in kernels:
        end_s = call_s + kernel["end_s"]
        args = {name: kernel[name] for name in _ARGUMENTS if kernel[name] is not None}
        yield _span(KERNELS, kernel["kernel"], end_s - kernel["latency_s"], kernel["latency_s"], args)
        yield _span(DEVICE, kernel["kernel"], end_s - kernel["device_s"], kernel["device_s"], args)
        if kernel["dispatch"] == "serial":
            issued_s = end_s - kernel["latency_s"]
        yield _span(
            HOST, f"launch {kernel['kernel']}", issued_s, kernel["host_issue_s"], {"kernel_id": kernel["kernel_id"]}
        )
        issued_s += kernel["host_issue_s"]
        start_s = end_s - kernel["latency_s"]
        yield _counter("memory [MiB]", start_s, kernel["total_byte"] / 2**20)
        if kernel["energy_j"] is not None and kernel["latency_s"] > 0:
            yield _counter("power [W]", start_s, kernel["energy_j"] / kernel["latency_s"])


_ARGUMENTS = (
    "kernel_id",
    "operator",
    "module",
    "bottleneck",
    "flops",
    "moved_byte",
    "utilization_fraction",
    "energy_j",
)
"""Columns of a kernel that the span of the kernel shows."""


def _span(track: str, name: str, start_s: float, duration_s: float, arguments: Event) -> Event:
    """Make a span in whole nanoseconds, the resolution of viewers, so that successive spans never overlap."""
    begin, end = round(start_s * 1e9), round((start_s + duration_s) * 1e9)
    return {
        "ph": "X",
        "pid": _PROCESS,
        "tid": _TRACKS[track],
        "name": name,
        "ts": begin / 1e3,
        "dur": (end - begin) / 1e3,
        "args": arguments,
    }


def _counter(name: str, at_s: float, value: float) -> Event:
    return {"ph": "C", "pid": _PROCESS, "name": name, "ts": at_s * 1e6, "args": {name: value}}
