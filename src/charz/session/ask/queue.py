"""Requests of a server one by one: times of each request in the queue that `load` assumes.

The device takes prompts first: between two steps it processes those that wait, at most one chunk at a time and at most as many as slots are
free. Otherwise all running requests do a step together. Steps between two events are alike, so they are taken at once, and a request costs
a few operations whatever its length. The same code replays random arrivals at a rate, a closed loop of requests in flight, and the arrivals of a
trace. Random arrivals are a fixed sample: the gaps are evenly spaced quantiles of the exponential distribution in a random order, so that the
rate of the sample is exact.
"""

from __future__ import annotations

import functools
import heapq
import math
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from .load import Server, at_rate

SAMPLE = 10_000
"""Least number of requests in a sample of random arrivals."""
TURNS = 40
"""Number of requests in a sample for each that runs on average."""
NEAR = 0.3
"""Idle share of the capacity below which a sample is `LONGER`: queues persist longer there."""
LONGER = 4.0
"""Factor by which such a sample is longer."""
ENDS = 0.1
"""Share of a sample of random arrivals that is left out at its start, where the server is empty, and at its end, where it empties."""
ROUNDS = 10
"""Requests that a benchmark sends for each in flight."""
SPREAD = tuple((0.8 + 0.005 * i) / 0.9 for i in range(41))
"""Lengths of a benchmark of equal requests, relative to the mean: uniform from 0.8 to 1 of a maximum. Exactly equal requests in flight would end
together, and the burst would last."""
MET = 0.99
"""Share of the requests that meet objectives under a load that is within them."""
FULLEST = 0.99
"""Largest load tried for objectives. The times of a fuller server depend on the sample of arrivals."""
CLOSE = 1.01
"""Ratio of two rates that the search for the largest rate takes as equal."""
FIRST = 2_000
"""Least number of requests in a first sample of the search for the largest rate."""
FIRST_TURNS = 4
"""Number of requests in that sample for each that runs on average."""
POOR = 0.9
"""Share of the requests of the first sample within the objectives below which more arrivals do not change that a rate misses them."""
LEAST = 1e-4
"""Smallest load tried for objectives."""
SEED = 1
PERCENTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True)
class Lengths:
    """Prompts and answers of requests, which repeat in this order or are drawn at random."""

    prompts: Sequence[float]
    """Length of each prompt, relative to the mean."""
    outputs: Sequence[int]
    """Tokens generated for each request."""

    def drawn(self, count: int) -> Lengths:
        """Return lengths of so many requests: every pair equally often, in a random order."""
        pairs = list(zip(self.prompts, self.outputs, strict=True))
        drawn = [pairs[i % len(pairs)] for i in range(count)]
        if len(pairs) > 1:
            random.Random(SEED + 1).shuffle(drawn)
        return Lengths([p for p, _ in drawn], [o for _, o in drawn])

    def spread(self) -> Lengths:
        """Return lengths around a single pair as benchmarks draw them, prompts and answers apart; several pairs are returned unchanged."""
        if len(self.outputs) > 1:
            return self
        outputs = [max(1, round(self.outputs[0] * share)) for share in SPREAD]
        random.Random(SEED).shuffle(outputs)
        return Lengths([self.prompts[0] * share for share in SPREAD], outputs)


@dataclass(slots=True)
class Times:
    """Times of each request, in the order of arrival."""

    arrived_s: list[float]
    first_s: list[float]
    """Time at which the first token is there. [s]"""
    last_s: list[float]
    outputs: Sequence[int]
    busy_s: float = 0.0
    """Time in which the device works, of all requests. [s]"""
    running_s: float = 0.0
    """Integral of the number of running requests over time. [s]"""
    end_s: float = 0.0
    counted: range = field(default_factory=lambda: range(0))
    """Requests that count."""
    burst: int = 0
    """Number of the first of them that open a closed loop all at once, whose times are no matter of objectives."""

    def ttft(self) -> list[float]:
        """Return the times to the first token. [s]"""
        return [self.first_s[i] - self.arrived_s[i] for i in self.counted]

    def tpot(self) -> list[float]:
        """Return the mean time of a later token of each request that has several. [s]"""
        return [(self.last_s[i] - self.first_s[i]) / (self.outputs[i] - 1) for i in self.counted if self.outputs[i] > 1]

    def whole(self) -> list[float]:
        """Return the times from arrival to the last token. [s]"""
        return [self.last_s[i] - self.arrived_s[i] for i in self.counted]

    def met_fraction(self, ttft_s: float | None, tpot_s: float | None) -> float:
        """Return the share of the requests that meet both objectives, of a closed loop those after the burst at its start."""
        met, judged = 0, self.counted[self.burst :]
        for i in judged:
            is_early = ttft_s is None or self.first_s[i] - self.arrived_s[i] <= ttft_s
            later = self.outputs[i] - 1
            met += is_early and (tpot_s is None or not later or self.last_s[i] - self.first_s[i] <= tpot_s * later)
        return met / len(judged)


def summary(values: Sequence[float]) -> tuple[float | None, ...]:
    """Return the mean, and the percentiles p50, p90 and p99: the least value that the share of all does not exceed."""
    if not values:
        return (None,) * (1 + len(PERCENTILES))
    ordered = sorted(values)
    return (sum(ordered) / len(ordered), *(ordered[math.ceil(share * len(ordered)) - 1] for share in PERCENTILES))


def at_random(server: Server, lengths: Lengths, rate_per_s: float, sample: int = SAMPLE, turns: int = TURNS) -> Times:
    """Replay random arrivals at a rate below the server's capacity: at least `sample` requests, and `turns` for each that runs on average. Their
    number is `sample` times a power of two, so that similar loads, and servers whose slots do not matter, have the same arrivals."""
    idle = 1.0 - rate_per_s / server.capacity
    least = max(sample, turns * at_rate(server, rate_per_s).batch) * (LONGER if idle < NEAR else 1.0)
    count = sample * 2 ** math.ceil(math.log2(least / sample))
    arrived, now = [], 0.0
    for gap in _gaps(count):
        now += gap / rate_per_s
        arrived.append(now)
    times = replay(server, lengths.drawn(count), arrived)
    ends = int(ENDS * count)
    times.counted = range(ends, count - ends)
    return times


@functools.lru_cache(maxsize=8)
def _gaps(count: int) -> Sequence[float]:
    """Return evenly spaced quantiles of the exponential distribution with mean 1, in a random order."""
    gaps = [-math.log(1.0 - (i + 0.5) / count) for i in range(count)]
    random.Random(SEED).shuffle(gaps)
    return gaps


def largest_rate(server: Server, lengths: Lengths, ttft_s: float | None, tpot_s: float | None) -> float | None:
    """Find the largest rate at which `MET` of random arrivals meet both objectives, within 1 % by bisection; None if no rate is found."""

    def is_met(rate_per_s: float) -> bool:
        if at_random(server, lengths, rate_per_s, FIRST, FIRST_TURNS).met_fraction(ttft_s, tpot_s) < POOR:
            return False
        return at_random(server, lengths, rate_per_s).met_fraction(ttft_s, tpot_s) >= MET

    high = FULLEST * server.capacity
    if is_met(high):
        return high
    low = high / 2.0
    while not is_met(low):
        low, high = low / 2.0, low
        if low < LEAST * server.capacity:
            return None
    while high > CLOSE * low:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if is_met(middle) else (low, middle)
    return low


def in_flight(server: Server, lengths: Lengths, requests: int) -> Times:
    """Replay a benchmark that keeps a number of requests in flight and sends ten times as many, from the burst at its start."""
    times = replay(server, lengths.spread().drawn(ROUNDS * requests), [0.0] * requests)
    times.burst = requests
    return times


def replay(server: Server, lengths: Lengths, arrivals: Sequence[float]) -> Times:
    """Serve requests in the order of arrival. Where there are more lengths than arrivals, each further request follows one that ends."""
    count = len(lengths.outputs)
    line = _Line(server, lengths, Times([0.0] * count, [0.0] * count, [0.0] * count, lengths.outputs, counted=range(count)))
    for now in arrivals:
        line.arrive(now)
    line.run()
    return line.times


class _Line:
    """The queue of a server while it is replayed."""

    def __init__(self, server: Server, lengths: Lengths, times: Times) -> None:
        self.server, self.lengths, self.times = server, lengths, times
        self.most = max(1, int(server.most))
        self.steps_s = [server.step_s(float(n)) for n in range(self.most + 1)]
        per_output = {output: math.ceil((output - 1) * server.steps_per_token) for output in set(lengths.outputs)}
        self.steps = [per_output[output] for output in lengths.outputs]
        self.is_apart = bool(server.prompt_parts)
        self.prompt_s = server.prompt_parts / server.prompts_per_s if self.is_apart else server.prompt_s
        """Time of a mean prompt. [s]"""
        self.after_s = max(server.first_s - self.prompt_s - server.chunk_s, 0.0)
        """Time of a first token in which the device works for others: the host's launches, or the way of the cache. [s]"""
        self.free_at = [0.0] * server.prompt_parts
        self.sent = 0
        self.coming: list[tuple[float, int]] = []
        self.waiting: deque[int] = deque()
        self.running: list[tuple[int, int]] = []
        self.left = 0.0
        """Unprocessed part of the first waiting prompt, in mean prompts."""

    def arrive(self, now: float) -> None:
        """Let the next request arrive, if there is one. Prompts on parts of their own are processed before it joins the line."""
        i = self.sent
        if i == len(self.lengths.outputs):
            return
        self.sent += 1
        self.times.arrived_s[i] = now
        if self.is_apart:
            begun = max(now, heapq.heappop(self.free_at))
            heapq.heappush(self.free_at, begun + self.prompt_s * self.lengths.prompts[i])
            now = self.times.first_s[i] = begun + self.prompt_s * self.lengths.prompts[i] + self.after_s
        heapq.heappush(self.coming, (now, i))

    def run(self) -> None:
        """Serve until no request is left."""
        now, tick, times = 0.0, 0, self.times
        coming, waiting, running = self.coming, self.waiting, self.running
        while coming or waiting or running:
            while coming and coming[0][0] <= now:
                waiting.append(heapq.heappop(coming)[1])
            count = len(running)
            if waiting and count < self.most:
                spent = self._chunk(now, tick)
                times.running_s += spent * count
            elif count:
                step_s, steps = self.steps_s[count], running[0][0] - tick
                if coming and count < self.most:
                    steps = min(steps, max(1, math.ceil((coming[0][0] - now) / step_s)))
                spent = steps * step_s
                tick += steps
                times.running_s += spent * count
                while running and running[0][0] <= tick:
                    self._end(heapq.heappop(running)[1], now + spent)
            else:
                now, spent = coming[0][0], 0.0
            now += spent
            times.busy_s += spent
        times.end_s = now

    def _chunk(self, now: float, tick: int) -> float:
        """Process the prompts that wait, up to a chunk and the free slots, and return the time that they take. [s]"""
        room, used = max(self.server.most_prompts, 1e-9), 0.0
        done: list[int] = []
        while self.waiting and len(self.running) + len(done) < self.most and (room > 1e-9 or self.is_apart):
            i = self.waiting[0]
            work = 0.0 if self.is_apart else self.left or self.lengths.prompts[i]
            if work > room + 1e-9:
                used, self.left = used + room, work - room
                break
            used, room, self.left = used + work, room - work, 0.0
            done.append(self.waiting.popleft())
        spent = 0.0 if self.is_apart else self.server.chunk_s + used * self.server.prompt_s
        for i in done:
            if not self.is_apart:
                self.times.first_s[i] = now + spent + self.after_s
            if self.steps[i]:
                heapq.heappush(self.running, (tick + self.steps[i], i))
            else:
                self._end(i, now + spent)
        return spent

    def _end(self, i: int, now: float) -> None:
        """End a request. The next one follows in a closed loop."""
        self.times.last_s[i] = max(now if self.is_apart else now + self.after_s, self.times.first_s[i])
        self.arrive(self.times.last_s[i])
