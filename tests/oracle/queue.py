"""Simulation of a server step by step, written without the package: the oracle of the queue.

Every step is an event of its own, and arrivals are drawn by NumPy. Between two steps the server processes the prompts that wait,
a chunk at a time and as many as slots are free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np


def simulate(
    *, rate: float, step: Callable[[int], float], answers: Sequence[int], prompt: float, chunk: float, most_prompts: int, after: float,
    slots: int, count: int, seed: int,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Serve random arrivals, and return times to the first token, of a later token and to the last one, without the first and last tenth."""
    random = np.random.default_rng(seed)
    arrivals = np.cumsum(random.exponential(1.0 / rate, count))
    tokens = random.choice(np.array(answers), count)
    first, last = np.zeros(count), np.zeros(count)
    clock, busy, next_one = 0.0, 0.0, 0
    ends: dict[int, list[int]] = {}
    active, ticks = 0, 0
    while next_one < count or active:
        arrived = next_one
        while arrived < count and arrivals[arrived] <= clock:
            arrived += 1
        batch = min(arrived - next_one, most_prompts, slots - active)
        if batch:
            duration = chunk + batch * prompt
            for i in range(next_one, next_one + batch):
                first[i] = clock + duration + after
                ends.setdefault(ticks + int(tokens[i]) - 1, []).append(i)
            next_one += batch
            active += batch
        elif active:
            duration = step(active)
            ticks += 1
            for i in ends.pop(ticks, ()):
                last[i] = clock + duration + after
                active -= 1
        else:
            clock, duration = arrivals[next_one], 0.0
        clock += duration
        busy += duration
    kept = slice(count // 10, count - count // 10)
    return {
        "ttft": (first - arrivals)[kept], "tpot": ((last - first) / (tokens - 1))[kept], "whole": (last - arrivals)[kept],
        "busy": np.array(busy / clock),
    }  # fmt: skip
