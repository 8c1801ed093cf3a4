"""A server of a language model under load, in closed form.

Requests are alike: a prompt takes some of the device's time, followed by `steps` steps that all running requests share. Prompts that
arrive during one step are taken together: they share what a chunk takes whatever it contains. The host prepares a prompt while the
device works for others. While a request decodes, prompts of others take their share of the device, so a step takes
`step / (1 - rate * prompt)`. By Little's law, the number of running requests is the number that arrives while one decodes:
`batch = rate * steps * step(batch) / (1 - rate * prompt)`. The running batch is the fixed point of this equation, limited by memory and
the server; at that limit the server is saturated. A prompt waits for earlier prompts as in a queue with one server and equal service times
(Pollaczek 1930, Khinchine 1932), and for half of the current step.

A closed loop begins with a burst: all requests in flight wait for the prompts of those ahead of them. Benchmarks of ten requests for each
in flight count that burst as a tenth of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

HALVINGS = 200
"""Number of bisections of the batch; the last ones are below the precision of a double."""
BURST_SHARE = 0.1
"""Share of the requests of a benchmark that are in flight at its start: it sends ten for each in flight."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A piecewise linear quantity by batch: constant below the first batch, extrapolated above the last."""

    batches: Sequence[float]
    values: Sequence[float]

    def __call__(self, batch: float) -> float:
        """Interpolate the quantity at a batch."""
        if batch <= self.batches[0] or len(self.batches) == 1:
            return self.values[0]
        last = len(self.batches) - 1
        right = next((i for i, known in enumerate(self.batches) if known >= batch), last)
        x0, x1 = self.batches[right - 1], self.batches[right]
        y0, y1 = self.values[right - 1], self.values[right]
        return y0 + (y1 - y0) * (batch - x0) / (x1 - x0)


@dataclass(frozen=True, slots=True)
class Server:
    """Capacity of a server for requests that are alike."""

    step_s: Curve
    """Time of a step by running requests. [s]"""
    steps: float
    """Steps of a request after its prompt."""
    prompt_s: float
    """Time of the device that each prompt of a chunk takes from steps: 0 where prompts run on other parts. [s]"""
    first_s: float
    """Time of a single prompt without waiting for other requests. [s]"""
    most: float
    """Largest number of running requests."""
    prompts_per_s: float = float("inf")
    """Largest rate of prompts on parts of their own. [1/s]"""
    chunk_s: float = 0.0
    """Time of the device that a chunk of prompts takes from steps whatever it contains. [s]"""
    most_prompts: float = 1.0
    """Number of mean prompts in a full chunk; below 1 where a prompt takes several chunks."""
    prompt_parts: int = 0
    """Number of parts on which prompts run; 0 where they run with the steps."""
    steps_per_token: float = 1.0
    """Steps for each later token: below 1 where a step accepts several."""

    def together(self, batch: float) -> float:
        """Return the number of prompts that a chunk contains: those of requests that end in a step, at least one."""
        return min(max(1.0, batch / max(self.steps, 1.0)), max(self.most_prompts, 1.0))

    def taken_s(self, batch: float) -> float:
        """Return the time of the device that a prompt takes from steps. [s]"""
        return self.prompt_s + self.chunk_s / self.together(batch)

    def rate(self, batch: float) -> float:
        """Return the rate at which a busy device serves so many running requests. [1/s]"""
        return 1.0 / (self.taken_s(batch) + self.steps * self.step_s(batch) / max(batch, 1.0))

    @property
    def capacity(self) -> float:
        """Largest rate of requests. [1/s]"""
        return min(self.rate(self.most), self.prompts_per_s)


@dataclass(frozen=True, slots=True)
class Load:
    """State of a server under a load."""

    batch: float
    """Mean number of requests that decode at once."""
    rate_per_s: float
    """Rate of finished requests. [1/s]"""
    first_s: float | None
    """Time to the first token; None where the queue grows without bound. [s]"""
    step_s: float
    """Time from step to step of a request, including other requests' prompts. [s]"""
    busy_fraction: float
    """Share of the time in which the device works."""
    residual_fraction: float
    """Relative deviation of the batch from Little's law."""
    is_saturated: bool
    """True if memory or the server limits the running requests."""
    mean_first_s: float | None = None
    """Mean time to the first token of a benchmark that begins with a burst; None without a number in flight. [s]"""
    late_first_s: float | None = None
    """Time that 99 % of its first tokens take at most; None without a number in flight. [s]"""


def at_rate(server: Server, rate_per_s: float) -> Load:
    """Compute the load under random arrivals at a rate."""
    if rate_per_s >= server.capacity:
        return saturated(server)

    def needed(batch: float) -> float:
        return rate_per_s * server.steps * server.step_s(batch) / (1.0 - rate_per_s * server.taken_s(batch))

    batch = _root(lambda batch: batch - needed(batch), server.most)
    return _load(server, batch, rate_per_s, _residual(batch, needed(batch)), others=1.0)


def at_concurrency(server: Server, requests: float) -> Load:
    """Compute the load with a fixed number of requests in flight, where each is followed by the next one."""
    others = (requests - 1.0) / requests

    def load_of(batch: float) -> Load:
        rate = batch / (server.steps * server.step_s(batch) + others * batch * server.taken_s(batch))
        return _load(server, batch, min(rate, server.prompts_per_s), 0.0, others)

    def in_flight(batch: float) -> float:
        load = load_of(batch)
        return batch + load.rate_per_s * (load.first_s or 0.0)

    most = min(server.most, requests)
    if in_flight(most) <= requests:  # the others wait
        found = load_of(most)
        return _with_burst(server, replace(found, first_s=(requests - most) / found.rate_per_s, is_saturated=True), requests)
    batch = _root(lambda batch: in_flight(batch) - requests, most)
    return _with_burst(server, replace(load_of(batch), residual_fraction=_residual(in_flight(batch), requests)), requests)


def _with_burst(server: Server, load: Load, requests: float) -> Load:
    """Add what the burst of all requests in flight does to the times to the first token of a benchmark."""
    each = server.prompt_s + server.chunk_s / max(server.most_prompts, 1.0) or 1.0 / server.prompts_per_s
    last = server.first_s + (requests - 1.0) * each
    steady = load.first_s or server.first_s
    mean = (1.0 - BURST_SHARE) * steady + BURST_SHARE * 0.5 * (server.first_s + last)
    # A tenth of the requests wait between the first and the last time of the burst: 1 % wait longer than nine tenths of them.
    late = server.first_s + (1.0 - 0.01 / BURST_SHARE) * (last - server.first_s)
    return replace(load, mean_first_s=mean, late_first_s=max(steady, late))


def saturated(server: Server) -> Load:
    """Compute the load with unlimited requests: memory and the server limit the running ones, the others wait."""
    return replace(_load(server, server.most, server.capacity, 0.0, others=1.0), first_s=None, is_saturated=True)


def _load(server: Server, batch: float, rate: float, residual: float, others: float) -> Load:
    """Compute the load at a batch; `others` is the share of all requests that a request meets."""
    step_s = server.step_s(batch)
    decoding = rate * server.steps * step_s / max(batch, 1.0)
    prompts = rate * server.taken_s(batch)
    is_apart = server.taken_s(batch) == 0.0
    served = server.first_s / server.together(batch)
    queued = rate * served
    wait = queued * served / (2.0 * (1.0 - queued)) if queued < 1.0 else 0.0
    under_way = 0.0 if is_apart else 0.5 * step_s * min(1.0, decoding)
    return Load(
        batch=batch,
        rate_per_s=rate,
        first_s=server.first_s + others * (wait + under_way),
        step_s=step_s / (1.0 - others * prompts),
        busy_fraction=1.0 if others < 1.0 else -math.expm1(-(batch + prompts)),
        residual_fraction=residual,
        is_saturated=False,
    )


def _residual(found: float, wanted: float) -> float:
    return abs(found - wanted) / wanted if wanted else abs(found)


def _root(excess: Callable[[float], float], most: float) -> float:
    """Find the root of an increasing function by bisection."""
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high:  # no number lies between
            break
        if excess(middle) < 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
