"""The choices that no other beats, within limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from ..answer import Rows, answer
from ..axes import names, sizes
from ..core import Core, Question
from ..parameters import (
    Amount,
    Backends,
    Batches,
    Model,
    Parts,
    Powers,
    Precisions,
    Sequences,
    Text,
    Top,
)
from ..question import DEFAULT_BATCHES, TARGET
from .limits import Limit, limits

_CHOSEN = (
    *TARGET, "power", "latency_s", "throughput_per_s", "sample_j", "peak_memory_byte", "price_usd_per_hour",
    "million_inference_usd", "is_simulated", "energy_basis", "fits_device", "dominated_by",
)  # fmt: skip

FRONT = "on the front"


class Recommend(Core):
    """The choices that no other beats, within limits."""

    @answer("front", "others")
    def recommend(
        self,
        model: Model,
        *,
        latency: Annotated[Amount | None, Text("Longest run, e.g. 5ms.")] = None,
        energy: Annotated[Amount | None, Text("Most energy a sample, e.g. 50mJ.")] = None,
        memory: Annotated[Amount | None, Text("Most memory, e.g. 8GiB.")] = None,
        price: Annotated[float | None, Text("Highest rent of the part in USD an hour.", least=0.0)] = None,
        on: Parts = None,
        batch: Batches = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        power: Powers = None,
        top: Top = 15,
        section: Literal["front", "others"] = "front",
    ) -> Rows:
        """List the choices no other beats, within the limits, fastest first, and why the others lost.

        A limit left out does not bind. Simulated parts are marked: no silicon exists to check them. Exit code 1 when no
        choice meets the limits.
        """
        wanted = limits(latency, energy, memory, price=price)
        question = Question(
            [model],
            names(on),
            sizes(batch) or DEFAULT_BATCHES,
            sizes(sequence),
            names(precision),
            names(backend),
            names(power),
            every_backend=True,
            is_first=False,
        )
        scoped = self.asked(question, "recommendation")
        scoped.keep("recommendation")
        found = scoped.rows("recommendation", _CHOSEN, "ORDER BY latency_s, hardware, backend, precision, batch")
        choices = [dict(zip(found.columns, row, strict=True)) for row in found.fetch()]
        verdicts = [_verdict(choice, wanted) for choice in choices]
        if section == "others":
            return _lost(choices, verdicts)
        kept = [list(c.values())[:-2] for c, verdict in zip(choices, verdicts, strict=True) if verdict == FRONT]
        self._say_simulated([c for c, verdict in zip(choices, verdicts, strict=True) if verdict == FRONT])
        if not kept:
            self.messages.warn("no choice meets all limits; --section others says which limit each choice misses")
        return Rows(_CHOSEN[:-2], kept[:top], ("recommendation",), is_failure=not kept)

    def _say_simulated(self, front: Sequence[dict[str, object]]) -> None:
        """Say when the choices that stand first have no silicon, and which is the first that has."""
        if not front or not front[0]["is_simulated"]:
            return
        real = next((f"{c['hardware']} {c['backend']} {c['precision']}" for c in front if not c["is_simulated"]), None)
        self.messages.warn(
            f"{front[0]['hardware']} stands first and is simulated: its time and its energies, {front[0]['energy_basis']}, rest on no"
            f" measurement; {'no choice on the front is in silicon' if real is None else f'the first in silicon is {real}'}"
        )


def _verdict(choice: Mapping[str, Any], wanted: Sequence[Limit]) -> str:
    """Why a choice lost: the first limit it misses, or that others beat it; else `FRONT`."""
    if not choice["fits_device"]:
        return "does not fit the part's memory"
    for limit in wanted:
        is_met = limit.is_met(choice)
        if not is_met:
            return limit.unknown if is_met is None else limit.too_much
    return FRONT if choice["dominated_by"] is None else "beaten in every respect"


def _lost(choices: Sequence[dict[str, object]], verdicts: Sequence[str]) -> Rows:
    """Why choices lost, with the fastest of each kind; choices come fastest first."""
    fastest: dict[str, list[object]] = {}
    for choice, verdict in zip(choices, verdicts, strict=True):
        if verdict != FRONT and verdict not in fastest:
            name = f"{choice['hardware']} {choice['backend']} {choice['precision']} batch {choice['batch']}"
            fastest[verdict] = [name, choice["latency_s"], choice["dominated_by"]]
    rows = [[verdict, verdicts.count(verdict), *found] for verdict, found in fastest.items()]
    rows.sort(key=lambda row: (-int(str(row[1])), str(row[0])))
    return Rows(("reason", "choice_count", "fastest", "latency_s", "beaten_by"), rows)
