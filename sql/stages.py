"""What is evaluated in which order, so that many answers come from little memory, each relation evaluated once.

Reports of kernels are evaluated for a few parts at a time. What they sum up to, a row a target, is carried over from part to
part; reports of targets, which compare parts, are evaluated from that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from .installed import Relation, column_names, relations
from .layers import COST, MAPPING, REPORT, ROLLUP, WORKLOAD
from .narrow import COSTED

TARGET = ("model", "hardware", "backend", "precision", "batch", "sequence", "scenario_id")
"""Columns that tell targets apart."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A view that several others read, held as a temporary table of the columns that any of them names."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stages:
    """Which of the wanted relations are evaluated when, and what is held for each stage."""

    once: tuple[str, ...]
    """Those that know no model."""
    run_pins: tuple[Pin, ...]
    by_part: tuple[str, ...]
    """Those of some models on some parts at a time."""
    part_pins: tuple[Pin, ...]
    carried: tuple[Pin, ...]
    """Sums of a target: evaluated part by part, held for all parts of the models."""
    by_model: tuple[str, ...]
    """Those of some models on all parts."""
    target_pins: tuple[Pin, ...]


def stages(connection: duckdb.DuckDBPyConnection, wanted: Collection[str]) -> Stages:
    """The stages of views and maintained tables of runs; names that charz did not install know no model here."""
    return _Planner(connection, wanted).stages()


class _Planner:
    def __init__(self, connection: duckdb.DuckDBPyConnection, wanted: Collection[str]) -> None:
        self.known = {relation.name: relation for relation in relations(connection)}
        query = "SELECT view FROM view_catalog WHERE grain = ?"
        self.of_targets = {name for (name,) in connection.execute(query, [", ".join(TARGET)]).fetchall()}
        self.wanted = wanted
        self.columns = {name: column_names(connection, name) for name in self.known}
        self.costed: dict[str, bool] = {}
        for relation in self.known.values():
            self.costed[relation.name] = relation.layer in (MAPPING, COST) or any(
                self.costed.get(name, False) and not self._is_carried(name) for name in relation.reads
            )

    def _is_carried(self, name: str) -> bool:
        return self.costed[name] and self.known[name].layer == ROLLUP and name in self.of_targets

    def stages(self) -> Stages:
        of_models = [name for name in self.wanted if name in self.known and "model" in self.columns[name]]
        by_part = [name for name in of_models if self.costed[name]]
        by_model = [name for name in of_models if not self.costed[name]]
        below_model = self._below(by_model, is_through_carried=False)
        carried = [name for name in self.known if name in below_model and self._is_carried(name)]
        below_part = self._below([*by_part, *carried], is_through_carried=True)
        of_targets = self._needed(by_model, below_model)
        of_kernels = self._needed([*by_part, *carried], below_part, of_targets)
        return Stages(
            once=tuple(name for name in self.wanted if name not in of_models),
            run_pins=tuple(self._pins(of_models, below_part | below_model, self.columns, (WORKLOAD,))),
            by_part=tuple(by_part),
            part_pins=tuple(self._pins([*by_part, *carried], below_part, of_kernels, (COST, ROLLUP, REPORT))),
            carried=tuple(Pin(name, of_targets[name]) for name in carried),
            by_model=tuple(by_model),
            target_pins=tuple(self._pins(by_model, below_model - set(carried), of_targets, (ROLLUP, REPORT))),
        )

    def _below(self, names: Sequence[str], is_through_carried: bool) -> set[str]:
        """The views that some relations read, themselves included."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            relation = self.known.get(name)
            if relation is None or name in found:
                continue
            found.add(name)
            if not relation.is_table and (is_through_carried or not self._is_carried(name)):
                waiting += relation.reads
        return found

    def _needed(
        self, asked: Collection[str], below: Collection[str], also: dict[str, tuple[str, ...]] | None = None
    ) -> dict[str, tuple[str, ...]]:
        """Columns of each view that those reading it name, or pass on to who asks for them."""
        needed: dict[str, tuple[str, ...]] = {}
        for name in reversed(list(self.known)):
            if name not in below:
                continue
            named = (
                set(self.columns[name])
                if name in asked and name not in (also or {})
                else set((also or {}).get(name, ()))
            )
            for reader in self._readers(name, below):
                named.update(re.findall(r"\w+", reader.body), needed.get(reader.name, ()))
            needed[name] = tuple(column for column in self.columns[name] if column in named)
        return needed

    def _pins(
        self,
        asked: Collection[str],
        below: Collection[str],
        needed: Mapping[str, Sequence[str]],
        layers: Collection[str],
    ) -> Iterator[Pin]:
        """Views of some layers that are read more than once, each after those it reads; of the costs the last alone."""
        for name, relation in self.known.items():
            if name not in below or relation.is_table or relation.layer not in layers:
                continue
            count = len(list(self._readers(name, below))) + (name in asked)
            if count > 1 and (relation.layer != COST or name == COSTED):
                yield Pin(name, tuple(needed[name]))

    def _readers(self, name: str, below: Collection[str]) -> Iterator[Relation]:
        return (self.known[other] for other in below if name in self.known[other].reads)
