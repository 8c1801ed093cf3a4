"""Choices whose queue is replayed: those that an answer lists, from the cheapest on."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from ..quantities import quantity
from . import lost, queue
from .lost import Loss, order
from .tried import Candidate, Limits, over_budget

SAMPLE = 4_000
"""Number of random arrivals in a first replay. A choice that may be listed is replayed with as many as `serve` takes."""

CLEAR = 0.97
"""Share of requests within the limits below which more arrivals do not change that a choice misses them."""

MORE = 1.1
"""Factor by which the number of servers grows while their queue is above the limits."""


def settled(best: Sequence[Candidate], limits: Limits, servers: Collection[tuple[Any, ...]]) -> tuple[list[dict[str, Any]], list[Loss]]:
    """Return the choices that no other beats, the cheapest first, and the losses of the others.

    At a rate the queue of each is replayed. One that is above the limits gets more servers and waits until it is the cheapest again.
    """
    heap = [(order(one.choice), i, one) for i, one in enumerate(best)]
    heapq.heapify(heap)
    front: list[dict[str, Any]] = []
    losses: list[Loss] = []
    while heap:
        _, i, one = heapq.heappop(heap)
        server = tuple(one.choice[name] for name in lost.SERVER)
        if better := next((other for other in front if lost.beats(other, one.choice)), None):
            losses.append(lost.beaten(one.choice, better, servers, is_bound=limits.rate is not None))
            continue
        if limits.rate is None:
            front.append(one.choice)
            continue
        choice, met = under_load(one, limits)
        if met >= queue.MET:
            better = next((other for other in front if lost.beats(other, choice)), None)
            losses += [] if better is None else [lost.beaten(choice, better, servers)]
            front += [choice] if better is None else []
            continue
        count = choice["replicas"]
        more = one.tried.at_least(max(count + 1, int(MORE * count)), limits)
        if more is None:
            first, later = (quantity(choice[name], "s") for name in ("ttft_p99_s", "tpot_p99_s"))
            told = f"p99 {first} to the first token and {later} a token on {choice['devices']} device{'s' if choice['devices'] > 1 else ''}"
            losses.append(Loss(server, lost.LOAD, told, 1.0 - met))
        elif loss := over_budget(more, limits):
            losses.append(loss)
        else:
            heapq.heappush(heap, (order(more), i, replace(one, choice=more | {"price_kind": one.choice["price_kind"]})))
    return front, losses


def under_load(one: Candidate, limits: Limits) -> tuple[dict[str, Any], float]:
    """Replay the queue of each server of a choice. Return the choice with its times, and the share of the requests that meet the limits."""
    assert limits.rate is not None
    lengths = queue.Lengths([1.0], [max(limits.output, 2)])
    for count in (SAMPLE, queue.SAMPLE):
        times = queue.at_random(one.tried.server, lengths, limits.rate / one.choice["replicas"], count)
        met = times.met_fraction(limits.ttft_s, limits.tpot_s)
        if met < CLEAR:
            break
    first, later = queue.summary(times.ttft()), queue.summary(times.tpot())
    found = {"ttft_s": first[0], "ttft_p99_s": first[-1], "tpot_s": later[0], "tpot_p99_s": later[-1]}
    return one.choice | found, met
