"""Choices whose queue is replayed: those that an answer lists, from the cheapest on."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from ..quantities import quantity, significant
from . import lost, queue
from .lost import Loss, order
from .tried import Candidate, Limits, Splits, Tried, over_budget

CLEAR = {500: 0.9, 4_000: 0.97}
"""Share of requests within the limits below which more arrivals do not change that a choice misses them, by the number of arrivals of the first
replays. A choice that may be listed is replayed with as many as `serve` takes."""

MOST_TIED = 3
"""Largest number of splits that are replayed for the sake of their times where they cost as much as a choice."""

MORE = 1.1
"""Factor by which the number of servers grows while their queue is above the limits."""


def settled(
    servers: Sequence[Splits], limits: Limits, named: Collection[tuple[Any, ...]]
) -> tuple[list[Candidate], list[Loss]]:
    """Return the cheapest choice of each server, unless another one beats it, the cheapest first, and the losses of the other servers.

    At a rate the queue of each is replayed. A split that is above the limits gets more servers and waits until it is the cheapest again, so that
    other splits of its server come before it if they are cheaper.
    """
    search = _Search(limits, named)
    for one in servers:
        for tried in one.tried:
            search.push(tried.bound, Candidate({}, tried, one))
    while search.heap:
        search.step(heapq.heappop(search.heap)[-1])
    won = {one.of.server for one in search.front}
    losses = [search.losses.get(one.server, one.none) for one in servers if one.server not in won]
    return search.front, losses


class _Search:
    """Search for the cheapest choice of each server, from the cheapest on."""

    def __init__(self, limits: Limits, named: Collection[tuple[Any, ...]]) -> None:
        self.limits = limits
        self.named = named
        self.heap: list[tuple[tuple[float, ...], int, Candidate]] = []
        """Splits by their numbers: those without a choice by lower bounds."""
        self.numbers = count()
        self.front: list[Candidate] = []
        self.ended: set[tuple[Any, ...]] = set()
        """Servers whose further splits cannot change the answer."""
        self.losses: dict[tuple[Any, ...], Loss] = {}

    def push(self, key: tuple[float, ...], one: Candidate) -> None:
        heapq.heappush(self.heap, (key, next(self.numbers), one))

    def step(self, one: Candidate) -> None:
        """Find the choice of a split, or judge the one that it has."""
        if one.of.server in self.ended:
            return
        if not one.choice:
            self._wait(one, one.tried.choice(self.limits))
        elif dear := over_budget(one.choice, self.limits):
            self._lose(dear)
        elif not self._is_beaten(one, is_bound=self.limits.rate is not None):
            self._judge(one)

    def _wait(self, one: Candidate, choice: dict[str, Any] | None) -> None:
        """Return a split with its choice to the others."""
        if choice is not None:
            self.push(order(choice), replace(one, choice=choice | {"price_kind": one.of.price_kind}))

    def _lose(self, loss: Loss) -> None:
        """Keep the nearest miss of a server."""
        known = self.losses.get(loss.server, loss)
        self.losses[loss.server] = min(known, loss, key=lost.nearest)

    def _is_beaten(self, one: Candidate, is_bound: bool) -> bool:
        """Return True and end the server if the front has a better choice."""
        better = next((other.choice for other in self.front if lost.beats(other.choice, one.choice)), None)
        if better is not None:
            self._lose(lost.beaten(one.choice, better, self.named, is_bound=is_bound))
            self.ended.add(one.of.server)
        return better is not None

    def _judge(self, one: Candidate) -> None:
        """Replay the queue of a choice, and add the choice to the front if it meets the limits."""
        met = 1.0
        if self.limits.rate is not None:
            choice, met = under_load(one, self.limits)
            one = replace(one, choice=choice)
        if met >= queue.MET:
            one = min((one, *self._tied(one)), key=lambda each: order(each.choice))
            if not self._is_beaten(one, is_bound=False):
                self.front.append(one)
                self.ended.add(one.of.server)
            return
        replicas = one.choice["replicas"]
        more = one.tried.at_least(max(replicas + 1, int(MORE * replicas)), self.limits)
        if more is not None:
            self._wait(one, more)
            return
        first, later = (quantity(one.choice[name], "s") for name in ("ttft_p99_s", "tpot_p99_s"))
        told = f"p99 {first} to the first token and {later} a token on {one.choice['devices']} device{'s' if one.choice['devices'] > 1 else ''}"
        self._lose(Loss(one.of.server, lost.LOAD, told, 1.0 - met))

    def _tied(self, one: Candidate) -> list[Candidate]:
        """Replay other splits of a server that meet the limits with as many devices for the same cost as its choice."""
        if self.limits.rate is None:
            return []
        same = order(one.choice)[:2]
        tied: list[tuple[tuple[float, ...], Tried, dict[str, Any]]] = []
        for _, _, other in self.heap:
            if other.of.server == one.of.server and order(other.choice or other.tried.best)[:2] <= same:
                choice = other.choice or other.tried.choice(self.limits)
                if choice and order(choice)[:2] == same:
                    tied.append((order(choice), other.tried, choice | {"price_kind": one.of.price_kind}))
        found = []
        for _, tried, choice in sorted(tied, key=lambda each: each[0])[:MOST_TIED]:
            known, met = under_load(Candidate(choice, tried, one.of), self.limits)
            found += [Candidate(known, tried, one.of)] if met >= queue.MET else []
        return found


def under_load(one: Candidate, limits: Limits) -> tuple[dict[str, Any], float]:
    """Replay the queue of each server of a choice. Return the choice with its times, and the share of the requests that meet the limits."""
    assert limits.rate is not None
    lengths = queue.Lengths([1.0], [max(limits.output, 2)])
    for arrivals in (*CLEAR, queue.SAMPLE):
        times = queue.at_random(one.tried.server, lengths, limits.rate / one.choice["replicas"], arrivals)
        met = times.met_fraction(limits.ttft_s, limits.tpot_s)
        if met < CLEAR.get(arrivals, 0.0):
            break
    first, later = queue.summary(times.ttft()), queue.summary(times.tpot())
    found = {"ttft_s": first[0], "ttft_p99_s": first[-1], "tpot_s": later[0], "tpot_p99_s": later[-1]}
    return one.choice | found, met


def compared(one: Candidate, limits: Limits) -> str | None:
    """Tell what as many servers of one device do as a choice has devices, for the same price; None if it has servers of one device, or if the model
    does not fit one."""
    choice, alone = one.choice, one.of.alone
    if choice["device_count"] == 1 or not one.of.fits_alone:
        return None
    devices, where = choice["devices"], f"{choice['hardware']} in {choice['precision']}"
    many = choice["split"] if choice["replicas"] == 1 else f"{choice['replicas']} x {choice['split']}"
    tpot_s = None if alone is None else _tpot_s(Candidate({}, alone, one.of), devices, limits)
    if alone is None or tpot_s is None:
        return f"{where}: {devices} servers of one device, in place of {many} at the same price, do not meet the limits"
    most, mine = devices * alone.server.capacity, choice["replicas"] * one.tried.server.capacity
    times = f"{quantity(tpot_s, 's')} instead of {quantity(choice['tpot_s'], 's')} a token"
    served = f"serve at most {significant(most)} instead of {significant(mine)} requests a second"
    return f"{where}: {devices} servers of one device, in place of {many} at the same price, {served}, with {times}"


def _tpot_s(one: Candidate, replicas: int, limits: Limits) -> float | None:
    """Return the mean time per later token of so many servers at the rate, or that of a full server without one; None if they miss the limits."""
    if limits.rate is None:
        return float(one.tried.allowed[-1]["latency_s"])
    found = one.tried.at_least(replicas, replace(limits, devices=(replicas * one.tried.allowed[0]["device_count"],)))
    if found is None:
        return None
    choice, met = under_load(replace(one, choice=found), limits)
    return float(choice["tpot_s"]) if met >= queue.MET else None
