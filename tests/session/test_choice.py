"""Choices of part, devices, precision and batch within limits, on steps that a test writes out."""

from __future__ import annotations

from typing import Any

import pytest

from charz.session.ask.choice import COLUMNS, chosen
from charz.session.ask.load import Curve, Server, at_rate

OUTPUT = 101
USD_PER_S = 0.001


def steps(hardware: str, devices: int, times: dict[int, float], prompt_s: float) -> list[dict[str, Any]]:
    """Rows of a target by batch, at a rent for each device."""
    return [
        {
            "model": "m", "hardware": hardware, "backend": "vllm", "engine_version": "2025", "precision": "bf16", "kv_precision": "none",
            "device_count": devices, "context": 1024, "batch": batch, "ttft_s": prompt_s * batch, "tpot_s": step_s,
            "tokens_per_s": batch / step_s, "million_tokens_usd": devices * USD_PER_S * step_s / batch * 1e6, "step_limit": "weights",
            "peak_memory_byte": 1.0, "is_simulated": False,
        }
        for batch, step_s in times.items()
    ]  # fmt: skip


ONE = steps("one", 1, {1: 0.010, 2: 0.012, 4: 0.020}, prompt_s=0.1)


def choose(rows: list[dict[str, Any]], **limits: float) -> list[dict[str, Any]]:
    asked = [limits.get(name) for name in ("rate", "ttft", "tpot")]
    return [dict(zip(COLUMNS, row, strict=True)) for row in chosen(rows, OUTPUT, *asked)]


def test_the_largest_batch_within_the_limits() -> None:
    """A request takes its prompt and half of 100 steps of 12 ms; two run."""
    (found,) = choose(ONE, ttft=0.2, tpot=0.015)
    assert (found["batch"], found["replicas"], found["devices"]) == (2, 1, 1)
    assert found["requests_per_s"] == pytest.approx(1 / (0.1 + 100 * 0.012 / 2))
    assert found["million_tokens_usd"] == pytest.approx(USD_PER_S / (found["requests_per_s"] * OUTPUT) * 1e6)
    assert choose(ONE, tpot=0.009) == choose(ONE, ttft=0.05) == []


def test_as_few_replicas_as_keep_the_limits() -> None:
    limits = {"ttft": 0.25, "tpot": 0.03}
    (found,) = choose(ONE, rate=10.0, **limits)
    server = Server(Curve([1.0, 2.0, 4.0], [0.010, 0.012, 0.020]), 100.0, 0.1, 0.1, 4.0)

    def keeps(replicas: int) -> bool:
        load = at_rate(server, 10.0 / replicas)
        return not load.is_saturated and (load.first_s or 9.0) <= limits["ttft"] and load.step_s <= limits["tpot"]

    assert keeps(found["replicas"]) and not keeps(found["replicas"] - 1)
    assert found["tokens_per_s"] == pytest.approx(10 * OUTPUT)
    assert found["million_tokens_usd"] == pytest.approx(found["replicas"] * USD_PER_S / (10 * OUTPUT) * 1e6)


def test_what_another_beats_is_left_out() -> None:
    """Slower and dearer; one that is faster and dearer stays, as does a dear one that is fastest."""
    slower = steps("slower", 1, {1: 0.012, 2: 0.014, 4: 0.029}, prompt_s=0.15)
    faster = steps("faster", 2, {1: 0.006, 2: 0.007, 4: 0.011}, prompt_s=0.06)
    found = choose([*ONE, *slower, *faster], tpot=0.03)
    assert {row["hardware"] for row in found} == {"one", "faster"}


def test_what_does_not_fit_is_no_choice() -> None:
    rows = [row | {"tpot_s": None} for row in ONE]
    assert choose(rows, tpot=1.0) == []
