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
    "balanced": "only a change that shortens both helps, such as a narrower precision",
}
"""Remedies for a run or a kernel, by kind of bottleneck."""


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


def of_run(run: Record, kernels: Sequence[Record]) -> list[tuple[str, str]]:
    """Write the three sentences about a run, from the run's row and kernels."""
    kinds = paces(run)
    busy, issue, compute, memory, team = (
        sum(kernel[name] or 0.0 for kernel in kernels)
        for name in ("busy_s", "host_issue_s", "compute_s", "memory_s", "team_s")
    )
    apart = f"alone, arithmetic would take {_time(compute)} and the slowest level of memory {_time(memory)}"
    reasons = {
        "compute": f"its kernels compute {quantity(run['flops'], 'flop')}, at {percent(run['utilization_fraction'])} of"
        " the units' peak given their shapes and waves",
        "memory": f"its kernels move {size(run['traffic_byte'])}, most of the time limited by {_level(kernels)}",
        "power": f"at full clock it would draw more than {_watts(run['tdp_w'])}",
        "threads": f"{sum(1 for kernel in kernels if kernel['team_s'])} kernels start and stop threads, {_time(team)} in all",
        "overhead": f"the host takes {_time(issue + (run['run_call_s'] or 0.0))} to issue {len(kernels)} kernels, which keep"
        f" the device busy for {_time(busy)}",
    }
    why = "; ".join(dict.fromkeys(reasons.get(kind, apart) for kind in kinds))
    if "compute" in kinds or "memory" in kinds:
        why += f"; {apart}"
    saved = {kind: sum(_saved(k) for k in kernels if kind_of(k["bottleneck"]) == kind) for kind in kinds}
    if "overhead" in saved:
        saved["overhead"] = run["overhead_s"] or 0.0
    # The largest saving comes first.
    changes = [_change(kind, run["latency_s"], saved[kind]) for kind in sorted(kinds, key=lambda kind: -saved[kind])]
    told = f"a run of {run['model']} on {run['hardware']} takes {_time(run['latency_s'])}: {pace(run)}"
    return _three(told, f"{why}{_held(run)}", "; ".join(changes))


def _held(run: Record) -> str:
    """Describe how far the power limit lowers the clock, and the share of static power in the limit."""
    if run["clock_fraction"] is None or run["clock_fraction"] >= 1.0:
        return ""
    rest = f"{_watts(run['static_energy_j'] / run['latency_s'])} of its {_watts(run['tdp_w'])} is static power"
    return f"; {rest}, so clocks run at {percent(run['clock_fraction'])}"


def of_kernel(kernel: Record, name: str, sentence: str, run_s: float) -> list[tuple[str, str]]:
    """Write the three sentences about a kernel, from the kernel's row, name and sentence about the mapping."""
    kind = kind_of(kernel["bottleneck"])
    setter = _SETTERS.get(kind, _TOGETHER)
    if kind == "memory":
        setter = f"{kernel['bottleneck'].partition(':')[2]} sets the pace"
    told = (
        f"kernel {kernel['kernel_id']}, {name}, takes {_time(kernel['latency_s'])}"
        f" ({percent(kernel['latency_s'] / run_s)} of the run): {setter}"
    )
    both = f"arithmetic takes {_time(kernel['compute_s'])}, its slowest level of memory {_time(kernel['memory_s'])}"
    why = {
        "overhead": f"the device is busy for {_time(kernel['busy_s'])} of it, the host takes {_time(kernel['host_issue_s'])} to"
        " issue it",
        "power": f"clocks run at {percent(kernel['clock_fraction'])}; at full clock it would take {_time(kernel['unlimited_s'])}",
        "threads": f"threads start and stop for {_time(kernel['team_s'])}",
    }.get(kind, both)
    return _three(told, f"{why}; {sentence}" if sentence else why, _change(kind, kernel["latency_s"], _saved(kernel)))


def _three(told: str, why: str, change: str) -> list[tuple[str, str]]:
    return [
        (name, f"{text[:1].upper()}{text[1:]}.") for name, text in (("pace", told), ("why", why), ("change", change))
    ]


def _change(kind: str, latency_s: float, saved_s: float) -> str:
    """Describe the remedy for a bottleneck, and the largest speedup before another bottleneck takes over."""
    if kind == "balanced":
        return f"{REMEDIES[kind]}: {significant(latency_s / (latency_s - saved_s))} times as fast if it halves both"
    if not 0.0 < saved_s < latency_s:
        return f"{REMEDIES[kind]}, but something else takes as long"
    return f"{REMEDIES[kind]}: at most {significant(latency_s / (latency_s - saved_s))} times as fast, before something else sets the pace"


def _saved(kernel: Record) -> float:
    """Return the largest time that a kernel can save: the time if the bottleneck takes no time, or half the time if arithmetic and memory are
    balanced. [s]"""
    kind = kind_of(kernel["bottleneck"])
    busy, compute, memory = (kernel[name] or 0.0 for name in ("busy_s", "compute_s", "memory_s"))
    return {
        "compute": max(0.0, busy - memory),
        "memory": max(0.0, busy - compute),
        "power": max(0.0, busy - (kernel["unlimited_s"] or busy)),
        "threads": kernel["team_s"] or 0.0,
        "overhead": kernel["overhead_s"] or 0.0,
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
