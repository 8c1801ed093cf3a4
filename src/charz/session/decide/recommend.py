"""The command that lists the Pareto-optimal choices of part, backend, precision and batch within limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from ..answer import Rows, answer
from ..ask import prices
from ..axes import names, one_of, sizes
from ..core import Core
from ..paging import paged
from ..parameters import (
    Amount,
    Backends,
    Batches,
    Caps,
    Context,
    Devices,
    Drawn,
    Force,
    KvPrecisions,
    Models,
    Page,
    Parts,
    Phase,
    Precisions,
    Sequences,
    Text,
    Top,
    Versions,
)
from ..quantities import quantity
from ..question import DEFAULT_BATCHES, TARGET, Question, served
from .limits import Limit, limits

_SHOWN = (
    *TARGET, "context", "power", "latency_s", "p10_s", "p90_s", "throughput_per_s", "sample_j", "average_power_w", "peak_memory_byte",
    "million_inference_usd", "price_usd_per_hour", "price_basis", "is_simulated", "energy_basis",
)  # fmt: skip

_CHOSEN = (*_SHOWN, "price_kind", "fits_device", "dominated_by", "dominating_power_w")

ORDERS = {"latency": "latency_s", "energy": "sample_j", "cost": "million_inference_usd", "price": "price_usd_per_hour"}
"""Orders of the choices, each with its column."""

FRONT = "on the front"


class Recommend(Core):
    """Pareto-optimal choices within limits."""

    @answer(
        "front", "others", files=("html",),
        common=("by", "latency", "energy", "memory", "power", "price", "on", "batch", "precision", "top", "html"),
    )
    @paged
    def recommend(
        self,
        models: Models,
        *,
        by: Annotated[
            Literal["latency", "energy", "cost", "price"],
            Text("Order of the choices: latency, energy per sample, cost per sample, or rent of the part."),
        ] = "latency",
        latency: Annotated[Amount | None, Text("Largest time of a run, e.g. 5ms.")] = None,
        energy: Annotated[Amount | None, Text("Largest energy per sample, e.g. 50mJ.")] = None,
        memory: Annotated[Amount | None, Text("Largest peak memory, e.g. 8GiB.")] = None,
        power: Drawn = None,
        price: Annotated[float | None, Text("Highest rent of the part, in USD per hour.", least=0.0)] = None,
        on: Parts = None,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        cap: Caps = None,
        phase: Phase = None,
        context: Context = None,
        devices: Devices = None,
        version: Versions = None,
        kv_precision: KvPrecisions = None,
        top: Top = 15,
        html: Page = None,
        force: Force = False,
        section: Literal["front", "others"] = "front",
    ) -> Rows:  # fmt: skip
        """List the choices of part, backend, precision and batch within the limits that no other choice beats, and the reasons against the others.

        A choice is beaten by another choice that is at most 1 % worse in each of latency, energy, memory, cost and rent, and better in all of
        them together. Without --precision, each part runs in its assumed precision. Without --backend, a part runs the usual backend for the
        precision (`assumed_backend`), or every backend if no backend is usual. Omitted limits do not apply. Simulated parts are marked,
        since no silicon exists to check their predictions. Exit code 1 if no choice meets the limits.
        """
        wanted = limits(latency, energy, memory, power, price)
        question = Question(
            names(models),
            names(on),
            sizes(batch) or DEFAULT_BATCHES,
            sizes(sequence),
            names(precision),
            names(backend),
            names(cap),
            every_backend=True,
            is_as_run=True,
        )
        if not question.precisions:
            self.messages.remark("each part runs in one precision; `--precision fp16,bf16,int8` compares several precisions")
        scoped = self.asked(served(question, phase, context, devices, version, kv_precision), "recommendation", "model_latency")
        scoped.keep("recommendation")
        first = "latency_s" if section == "others" else ORDERS[one_of("order", by, ORDERS)]
        order = f"ORDER BY {first} NULLS LAST, latency_s, model, hardware, backend, precision, batch, sequence"
        found = scoped.rows("recommendation", _CHOSEN, order, beside=("model_latency",))
        choices = [dict(zip(found.columns, row, strict=True)) for row in found.fetch()]
        verdicts = [_verdict(choice, wanted) for choice in choices]
        if section == "others":
            return _lost(choices, verdicts)
        kept = [c for c, verdict in zip(choices, verdicts, strict=True) if verdict == FRONT]
        self._say_simulated(kept)
        self._say_rounded(kept)
        if by == "latency" and (line := overlap(kept)):
            self.messages.remark(line)
        if not kept:
            self.messages.warn("no choice meets all limits; --section others shows which limit each choice misses")
        if by in ("cost", "price") and any(choice["million_inference_usd"] is None for choice in kept):
            self.messages.warn("parts without a price come last")
        if by in ("cost", "price"):
            for line in prices.said(self, {choice["hardware"]: choice["price_kind"] for choice in kept}, "charz compare --price --rent PART=USD"):
                self.messages.remark(line)
        shown = scoped.shown(_SHOWN)
        rows = [[choice[name] for name in shown] for choice in kept]
        return self.cut(Rows(shown, rows, ("recommendation",), is_failure=not kept), top, "choices")

    def _say_rounded(self, front: Sequence[dict[str, Any]]) -> None:
        """Warn if the first choice computes in fewer than 16 bits, and name the first choice in 16 bits or more."""
        from charz.sql.scopes import stored

        connection = self.connection()
        rounded = {policy for (policy,) in connection.execute(f"FROM {stored(connection, 'rounded_policy')}").fetchall()}
        if not front or front[0]["precision"] not in rounded:
            return
        exact = next((c for c in front if c["precision"] not in rounded), None)
        told = "no choice on the front computes in 16 bits or more"
        if exact is not None:
            name = f"{exact['hardware']} {exact['backend']} {exact['precision']}"
            told = f"the first in 16 bits or more is {name} at {quantity(exact['latency_s'], 's')}"
        self.messages.warn(f"{front[0]['precision']} comes first: charz does not judge its accuracy; {told}")

    def _say_simulated(self, front: Sequence[dict[str, object]]) -> None:
        """Warn if the part of the first choice is simulated, and name the first choice in silicon."""
        if not front or not front[0]["is_simulated"]:
            return
        real = next((f"{c['hardware']} {c['backend']} {c['precision']}" for c in front if not c["is_simulated"]), None)
        self.messages.warn(
            f"{front[0]['hardware']} comes first and is simulated: its time and energy ({front[0]['energy_basis']}) were not checked by"
            f" measurements; {'no choice on the front is in silicon' if real is None else f'the first in silicon is {real}'}"
        )


def overlap(front: Sequence[Mapping[str, Any]]) -> str | None:
    """Return a sentence if the bands of the first two choices overlap, so that their order may be the reverse; else None."""
    if len(front) < 2 or any(front[i][name] is None for i, name in ((0, "p90_s"), (1, "p10_s"))):
        return None
    first, second = front[:2]
    if first["p90_s"] < second["p10_s"]:
        return None
    names = (f"{c['hardware']} {c['backend']} {c['precision']} batch {c['batch']}" for c in front[:2])
    bands = (f"{quantity(c['p10_s'], 's')} to {quantity(c['p90_s'], 's')}" for c in front[:2])
    told = " and ".join(f"{name} ({band})" for name, band in zip(names, bands, strict=True))
    return f"the bands of the first two choices overlap, so that either may be faster: {told}"


def _verdict(choice: Mapping[str, Any], wanted: Sequence[Limit]) -> str:
    """Return the reason against a choice: the first limit that the choice exceeds, or `beaten`. Return `FRONT` for a choice on the front."""
    if not choice["fits_device"]:
        return "does not fit the part's memory"
    for limit in wanted:
        is_met = limit.is_met(choice)
        if not is_met:
            return limit.unknown if is_met is None else limit.too_much
    within = [limit.most for limit in wanted if limit.name == "power"]
    # The dominating choice meets every limit that this choice meets, except the limit on power.
    is_beaten = choice["dominated_by"] is not None and not any(
        choice["dominating_power_w"] is None or choice["dominating_power_w"] > most for most in within
    )
    return "beaten" if is_beaten else FRONT


def _lost(choices: Sequence[dict[str, object]], verdicts: Sequence[str]) -> Rows:
    """Count the choices by reason against them, and name the fastest choice of each reason. `choices` begin with the fastest."""
    fastest: dict[tuple[object, str], list[object]] = {}
    counts = Counter((choice["model"], verdict) for choice, verdict in zip(choices, verdicts, strict=True))
    for choice, verdict in zip(choices, verdicts, strict=True):
        key = (choice["model"], verdict)
        if verdict != FRONT and key not in fastest:
            name = f"{choice['hardware']} {choice['backend']} {choice['precision']} batch {choice['batch']}"
            fastest[key] = [name, choice["latency_s"], choice["dominated_by"]]
    rows = [[*key, counts[key], *found] for key, found in fastest.items()]
    rows.sort(key=lambda row: (str(row[0]), -int(str(row[2])), str(row[1])))
    return Rows(("model", "reason", "choice_count", "fastest", "latency_s", "beaten_by"), rows)
