"""A server of a language model under load, in closed form.

Requests are alike: a prompt of `prompt_s` of the device's time, then `steps` steps that each of them shares with all that run.
While a request decodes, prompts of others take their share of the device, so that a step takes `step / (1 - rate * prompt)`.
By Little's law as many run as arrive in the time that one decodes: `batch = rate * steps * step(batch) / (1 - rate * prompt)`.
The batch that runs is the fixed point of this, at most what memory and the server allow; there the server is saturated. A
prompt waits for prompts before it as in a queue with one server and equal service times (Pollaczek 1930, Khinchine 1932), and
for half of the step under way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

HALVINGS = 200
"""Halvings of the range of batches: the last ones change nothing that a double holds."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A quantity at some batches, straight between them; below the first as at it, above the last as its last piece goes on."""

    batches: Sequence[float]
    values: Sequence[float]

    def __call__(self, batch: float) -> float:
        """The quantity at a batch."""
        if batch <= self.batches[0] or len(self.batches) == 1:
            return self.values[0]
        last = len(self.batches) - 1
        right = next((i for i, known in enumerate(self.batches) if known >= batch), last)
        x0, x1 = self.batches[right - 1], self.batches[right]
        y0, y1 = self.values[right - 1], self.values[right]
        return y0 + (y1 - y0) * (batch - x0) / (x1 - x0)


@dataclass(frozen=True, slots=True)
class Server:
    """What a server does for requests that are alike."""

    step_s: Curve
    """Time of a step by the requests that run. [s]"""
    steps: float
    """Steps of a request after its prompt."""
    prompt_s: float
    """Time of the device that a prompt takes of the steps: 0 where prompts run on parts of their own. [s]"""
    first_s: float
    """Time of a prompt alone, with all that its first token waits for besides other requests. [s]"""
    most: float
    """Most requests that run at once."""
    prompts_per_s: float = float("inf")
    """Most prompts a second of parts of their own. [1/s]"""

    def rate(self, batch: float) -> float:
        """Requests a second when so many run and the device never waits. [1/s]"""
        return 1.0 / (self.prompt_s + self.steps * self.step_s(batch) / max(batch, 1.0))

    @property
    def capacity(self) -> float:
        """Most requests a second. [1/s]"""
        return min(self.rate(self.most), self.prompts_per_s)


@dataclass(frozen=True, slots=True)
class Load:
    """How a server runs under a load."""

    batch: float
    """Requests that decode at once, on average."""
    rate_per_s: float
    """Requests done in a second. [1/s]"""
    first_s: float | None
    """Time to the first token; None where requests queue without end. [s]"""
    step_s: float
    """Time from step to step of a request, prompts of others between. [s]"""
    busy_fraction: float
    """Share of the time in which the device works."""
    residual_fraction: float
    """How far the batch is from what Little's law says of it."""
    is_saturated: bool
    """Whether as many requests run as memory and the server allow."""


def at_rate(server: Server, rate_per_s: float) -> Load:
    """Under so many requests a second that arrive at random."""
    if rate_per_s >= server.capacity:
        return saturated(server)

    def needed(batch: float) -> float:
        return rate_per_s * server.steps * server.step_s(batch) / (1.0 - rate_per_s * server.prompt_s)

    batch = _root(lambda batch: batch - needed(batch), server.most)
    return _load(server, batch, rate_per_s, _residual(batch, needed(batch)), others=1.0)


def at_concurrency(server: Server, requests: float) -> Load:
    """With so many requests in flight, each followed by the next one: a request meets those that the others are."""
    others = (requests - 1.0) / requests

    def load_of(batch: float) -> Load:
        rate = batch / (server.steps * server.step_s(batch) + others * batch * server.prompt_s)
        return _load(server, batch, min(rate, server.prompts_per_s), 0.0, others)

    def in_flight(batch: float) -> float:
        load = load_of(batch)
        return batch + load.rate_per_s * (load.first_s or 0.0)

    most = min(server.most, requests)
    if in_flight(most) <= requests:  # the others wait for their turn
        found = load_of(most)
        return replace(found, first_s=(requests - most) / found.rate_per_s, is_saturated=True)
    batch = _root(lambda batch: in_flight(batch) - requests, most)
    return replace(load_of(batch), residual_fraction=_residual(in_flight(batch), requests))


def saturated(server: Server) -> Load:
    """With more requests than it can take: those that memory and the server allow run, the others wait."""
    return replace(_load(server, server.most, server.capacity, 0.0, others=1.0), first_s=None, is_saturated=True)


def _load(server: Server, batch: float, rate: float, residual: float, others: float) -> Load:
    """`others` is the share of all requests that a request finds beside it."""
    step_s = server.step_s(batch)
    decoding = rate * server.steps * step_s / max(batch, 1.0)
    prompts = rate * server.prompt_s
    is_apart = server.prompt_s == 0.0
    served = server.first_s if is_apart else server.prompt_s
    queued = rate * served
    wait = queued * served / (2.0 * (1.0 - queued)) if queued < 1.0 else 0.0
    under_way = 0.0 if is_apart else 0.5 * step_s * min(1.0, decoding)
    return Load(
        batch=batch,
        rate_per_s=rate,
        first_s=server.first_s + others * (wait + under_way),
        step_s=step_s / (1.0 - others * prompts),
        busy_fraction=min(1.0, prompts + decoding),
        residual_fraction=residual,
        is_saturated=False,
    )


def _residual(found: float, wanted: float) -> float:
    return abs(found - wanted) / wanted if wanted else abs(found)


def _root(excess: Callable[[float], float], most: float) -> float:
    """Where what grows from below 0 gets 0, by halving."""
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if excess(middle) < 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
