"""Three sentences about a run or a kernel: the bottleneck, the reason, and a remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..quantities import percent, quantity, significant, size

Record = Mapping[str, Any]

SHARES = {
    "compute": "compute_s",
    "memory": "memory_s",
    "power": "power_s",
    "threads": "team_s",
    "overhead": "overhead_s",
}
"""Columns of a run that contain the time of each kind of bottleneck."""

_SETTERS = {
    "compute": "arithmetic sets the pace",
    "memory": "memory sets the pace",
    "power": "the power limit sets the pace",
    "threads": "starting and stopping threads sets the pace",
    "overhead": "dispatch by the host sets the pace",
}

_ALSO = {
    "compute": "arithmetic",
    "memory": "memory",
    "power": "the power limit",
    "threads": "starting and stopping threads",
    "overhead": "dispatch by the host",
}
"""Names of bottlenecks in the sentence about a second bottleneck."""

ALSO_SHARE = 0.2
"""Share of a run's time above which a second bottleneck is named with a remedy."""

_TOGETHER = "arithmetic and memory set the pace together"

REMEDIES = {
    "compute": "a precision of fewer bits, more units or a faster clock shortens it",
    "memory": "fewer bytes shorten it (a narrower precision, more fusion), and so does a faster level",
    "power": "a higher cap, or a precision of less energy an operation, raises the clock",
    "threads": "a larger batch spreads it over more samples, and fewer threads start sooner",
    "overhead": "a larger batch spreads it over more samples, and a backend that launches whole graphs reduces it",
    "launch": "a larger batch spreads it over more samples",
    "balanced": "only a change that shortens both helps, such as a narrower precision",
}
"""Remedies for a run or a kernel, by kind of bottleneck; `launch` is overhead where one launch starts all kernels."""

LEAST_GAIN = 0.005
"""Smallest share of a time that counts as a gain."""


def kind_of(bottleneck: object) -> str:
    """Return the kind of a bottleneck, without the memory level."""
    return str(bottleneck).partition(":")[0]


def pace(run: Record) -> str:
    """Describe the bottlenecks of a run, with the share of the time of each."""
    kind, *others = paces(run)
    if kind not in SHARES:
        return _TOGETHER
    told = [f"{_SETTERS[kind]} ({percent(_share(run, kind))} of the time)"]
    told += [f"{_ALSO[other]} does for {percent(_share(run, other))}" for other in others]
    return ", ".join(told)


def paces(run: Record) -> list[str]:
    """Return the kind of the main bottleneck of a run, followed by other kinds that limit a considerable share of the time."""
    kind = kind_of(run["bottleneck"])
    if kind not in SHARES:
        return [kind]
    others = [other for other in SHARES if other != kind and ALSO_SHARE <= _share(run, other) <= _share(run, kind)]
    return [kind, *sorted(others, key=lambda other: -_share(run, other))]


def _share(run: Record, kind: str) -> float:
    """Return the share of a run's time that a kind of bottleneck limits."""
    return float((run.get(SHARES[kind]) or 0.0) / run["latency_s"])


def remedies(run: Record) -> list[str]:
    """Return a remedy for each bottleneck of a run. Device time that the host's time covers gains nothing."""
    return [f"{_remedy(kind, run)}{_hidden(kind, run)}" for kind in paces(run)]


def of_run(run: Record, kernels: Sequence[Record]) -> list[tuple[str, str]]:
    """Write the three sentences about a run, from the run's row and kernels."""
    kinds = paces(run)
    busy, compute, memory, team, naive = (
        sum(kernel[name] or 0.0 for kernel in kernels) for name in ("busy_s", "compute_s", "memory_s", "team_s", "naive_s")
    )
    apart = f"alone, arithmetic would take {_time(compute)} and the slowest level of memory {_time(memory)}"
    issues = f"launch all {len(kernels)} kernels at once" if _is_graph(run) else f"issue {len(kernels)} kernels{_call(run)}"
    reasons = {
        "compute": f"its kernels compute {quantity(run['flops'], 'flop')}: shapes and waves allow {percent(run['utilization_fraction'])} of"
        f" {peak(run)}, and arithmetic reaches {percent(naive / compute if compute else None)} of it with the efficiency of such kernels"
        + (" at a lowered clock" if _is_slowed(run) else ""),
        "memory": f"its kernels move {size(run['traffic_byte'])}, most of the time limited by {_level(kernels)}",
        "power": f"at full clock it would draw more than {_watts(run['tdp_w'])}",
        "threads": f"{sum(1 for kernel in kernels if kernel['team_s'])} kernels start and stop threads, {_time(team)} in all",
        "overhead": f"the host takes {_time(run['host_issue_s'])} to {issues}, which keep the device busy for {_time(busy)}",
    }
    why = "; ".join(dict.fromkeys(reasons.get(kind, apart) for kind in kinds))
    if "compute" in kinds or "memory" in kinds:
        why += f"; {apart}"
    saved = {
        kind: run["overhead_s"] if kind == "overhead"
        else run["latency_s"] - time_without(run, kernels, {k["kernel_id"]: (0.0, _saved(k, kind)) for k in kernels if _is_of(k, kind)})
        for kind in kinds
    }  # fmt: skip
    # The largest saving comes first.
    changes = [_change(kind, run, saved[kind]) for kind in sorted(kinds, key=lambda kind: -saved[kind])]
    pacing = f"a run of {run['model']} on {run['hardware']} takes {_time(run['latency_s'])}: {pace(run)}"
    return _three(pacing, f"{why}{_held(run)}", "; ".join(changes))


def peak(run: Record) -> str:
    """Name the peak of the units that execute a run's kernels: on a part with two kinds of cores perhaps one kind alone."""
    known = f", on average {quantity(run['flops'] / run['naive_s'], 'ops/s')}" if run["naive_s"] else ""
    return f"the peak of the units in use{known}"


def time_without(run: Record, kernels: Iterable[Record], saved: Mapping[int, tuple[float, float]]) -> float:
    """Return the time of a run whose kernels save these times of the host and of the device, by kernel. [s]"""
    issued = end = 0.0
    for kernel in sorted(kernels, key=lambda kernel: kernel["position"]):
        host, device = saved.get(kernel["kernel_id"], (0.0, 0.0))
        issue = kernel["host_issue_s"] - host
        issued += issue
        end = max(end, issued) if kernel["dispatch"] == "async_queue" else end + issue
        end += kernel["device_s"] - device
    return float(run["run_call_s"] + end)


def _remedy(kind: str, run: Record) -> str:
    return REMEDIES["launch" if kind == "overhead" and _is_graph(run) else kind]


def _call(run: Record) -> str:
    """Tell a considerable time of the call of a run, which a graph of its kernels does not remove."""
    is_large = run["run_call_s"] >= ALSO_SHARE * run["host_issue_s"]
    return f" ({_time(run['run_call_s'])} of it for the call of the run, which a graph keeps)" if is_large else ""


def _is_graph(run: Record) -> bool:
    """Return True if the host spends time only on the run's call, which starts all kernels."""
    return bool(run["host_issue_s"] == run["run_call_s"])


def _is_of(kernel: Record, kind: str) -> bool:
    """Return True if a kind of bottleneck limits a kernel's busy time, as the shares of a run count it."""
    if kernel["is_power_bound"] or kind == "power":
        return bool(kernel["is_power_bound"]) and kind == "power"
    return kind == "threads" or (kind == "compute") == (kernel["compute_s"] >= kernel["memory_s"])


def _is_slowed(run: Record) -> bool:
    """Return True if the power limit lowers the clock of a run."""
    return run["clock_fraction"] is not None and bool(run["clock_fraction"] < 1.0)


def _held(run: Record) -> str:
    """Describe how far the power limit lowers the clock, and the share of static power in the limit."""
    if not _is_slowed(run):
        return ""
    rest = f"{_watts(run['static_energy_j'] / run['latency_s'])} of its {_watts(run['tdp_w'])} is static power"
    return f"; {rest}, so clocks run at {percent(run['clock_fraction'])}"


def of_kernel(kernel: Record, name: str, sentence: str, run: Record, kernels: Sequence[Record]) -> list[tuple[str, str]]:
    """Write the three sentences about a kernel of a run, from the kernel's row, name and sentence about the mapping."""
    kind = kind_of(kernel["bottleneck"])
    setter = _SETTERS.get(kind, _TOGETHER)
    if kind == "memory":
        setter = f"{kernel['bottleneck'].partition(':')[2]} sets the pace"
    told = (
        f"kernel {kernel['kernel_id']}, {name}, takes {_time(kernel['latency_s'])}"
        f" ({percent(kernel['latency_s'] / run['latency_s'])} of the run): {setter}"
    )
    both = f"arithmetic takes {_time(kernel['compute_s'])}, its slowest level of memory {_time(kernel['memory_s'])}"
    why = {
        "overhead": f"the device is busy for {_time(kernel['busy_s'])} of it, "
        + (f"the gap takes {_time(kernel['overhead_s'])}" if _is_graph(run) else f"the host takes {_time(kernel['host_issue_s'])} to issue it"),
        "power": f"clocks run at {percent(kernel['clock_fraction'])}; at full clock it would take {_time(kernel['unlimited_s'])}",
        "threads": f"threads start and stop for {_time(kernel['team_s'])}",
    }.get(kind, both)
    host = kernel["host_issue_s"] if kind == "overhead" else 0.0
    saved_s = run["latency_s"] - time_without(run, kernels, {kernel["kernel_id"]: (host, _saved(kernel, kind))})
    remedy = _remedy(kind, run)
    if saved_s < LEAST_GAIN * kernel["latency_s"]:
        change = f"{remedy}{_but('something else')}"
    elif kind == "balanced":
        change = f"{remedy}: halving both saves {_time(saved_s)} of the run's {_time(run['latency_s'])}"
    else:
        change = f"{remedy}: this saves at most {_time(saved_s)} of the run's {_time(run['latency_s'])}"
    return _three(told, f"{why}; {sentence}" if sentence else why, change)


def _three(told: str, why: str, change: str) -> list[tuple[str, str]]:
    return [
        (name, f"{text[:1].upper()}{text[1:]}.") for name, text in (("pace", told), ("why", why), ("change", change))
    ]


def _change(kind: str, run: Record, saved_s: float) -> str:
    """Describe the remedy for a bottleneck of a run, and the largest speedup before another bottleneck takes over."""
    remedy, latency_s = _remedy(kind, run), run["latency_s"]
    if hidden := _hidden(kind, run):
        return f"{remedy}{hidden}"
    if not LEAST_GAIN * latency_s <= saved_s < latency_s:
        return f"{remedy}{_but('something else')}"
    return f"{remedy}: at most {significant(latency_s / (latency_s - saved_s))} times as fast, before something else sets the pace"


def _hidden(kind: str, run: Record) -> str:
    """Tell that the host takes as long, if its time covers what a remedy would save; empty text if not."""
    is_covered = run["latency_s"] - run["host_issue_s"] < LEAST_GAIN * run["latency_s"]
    return _but("the host") if is_covered and kind != "overhead" else ""


def _but(what: str) -> str:
    return f", but {what} takes as long"


def _saved(kernel: Record, kind: str) -> float:
    """Return the largest device time that a kernel can save: the time if the bottleneck takes no time, or half the time if arithmetic and
    memory are balanced. [s]"""
    busy, compute, memory = (kernel[name] or 0.0 for name in ("busy_s", "compute_s", "memory_s"))
    return {
        "compute": max(0.0, busy - memory),
        "memory": max(0.0, busy - compute),
        "power": max(0.0, busy - (kernel["unlimited_s"] or busy)),
        "threads": kernel["team_s"] or 0.0,
        "overhead": kernel["device_s"] - busy,
        "balanced": busy / 2,
    }[kind]


def _level(kernels: Iterable[Record]) -> str:
    """Return the memory level that limits kernels for the longest time."""
    held: Counter[str] = Counter()
    for kernel in kernels:
        kind, _, level = str(kernel["bottleneck"]).partition(":")
        if kind == "memory":
            held[level] += kernel["latency_s"]
    return max(held, key=held.__getitem__) if held else "no single level"


def _time(seconds: float | None) -> str:
    return quantity(seconds, "s")


def _watts(watt: float | None) -> str:
    return quantity(watt, "W")
