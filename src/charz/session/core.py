"""Core of a session, which limits views to the models, parts and scenarios of a question."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from charz.schema.conditions import CLIENTS_FROM
from charz.schema.errors import CharzError

from .axes import check_size
from .messages import Messages
from .question import DEFAULT_MODE, SINGLE, Question, Scope
from .scoped import Said, Scoped
from .targets import Targets

if TYPE_CHECKING:
    import duckdb

    from charz.sql.scopes import Triple

COSTED_TARGETS = 200
"""Largest number of targets for which the views of a question share one evaluation of the costs. More targets are streamed."""


class Core(Targets):
    """A session that answers questions about models on parts."""

    rents: Mapping[str, float] = MappingProxyType({})
    """Rents of parts that the user states in place of the file's. [USD/h]"""

    def asked(self, question: Question, *views: str) -> Scoped:
        """Return a connection whose views contain only the models, parts and scenarios of a question.

        Report in one line the combinations that cannot run. Raise `CharzError` if no combination can run. With the `views` of the answer, also
        report doubtful inputs of the answer. The connection is cached for the next equal question.
        """
        self.connection()  # drops the connections if another file has replaced this one
        key = repr(question)
        if key not in self._answered:
            with self._recorded() as said:
                self._answered[key] = (self._scoped_for(question), said)
        scoped, said = self._answered[key]
        self._say(said)
        if views:
            from . import assumed

            if scoped.notes is None:
                with self._recorded() as scoped.notes:
                    assumed.note(scoped, self.messages)
                    assumed.note_unusual(scoped, self.messages)
            self._say(scoped.notes)
        return scoped

    def _say(self, said: Said) -> None:
        for is_left_out, text in said:
            (self.messages.warn if is_left_out else self.messages.remark)(text)

    @contextlib.contextmanager
    def _recorded(self) -> Iterator[Said]:
        """Record the messages of the block, so that later equal questions can repeat the messages."""
        said: Said = []
        messages = self.messages
        self.messages = Messages(
            warn=lambda text: said.append((True, text)),
            remark=lambda text: said.append((False, text)),
            progress=messages.progress,
        )
        try:
            yield said
        finally:
            self.messages = messages

    def _scoped_for(self, question: Question) -> Scoped:
        models = [self.model_name(name) for name in question.models] or list(self._scope.models)
        self._check_computes(models)
        parts = [self.part_name(name) for name in question.hardware] or list(self._scope.hardware)
        question = replace(question, precisions=self.policies(question.precisions))
        self.check_run(question.backends, question.precisions)
        self._check_caps(parts, question.caps)
        runs = self._released(parts, question, self._runs(question))
        taken = self._taken(models, parts, question, runs)
        targets = sorted({target for found in taken.values() for target in found})
        key = (tuple(models), tuple(targets), tuple(tuple(sorted(run.items())) for run in runs))
        if key not in self._scoped:
            self._keep(key, self._narrow(models, parts, targets, runs, taken))
        scoped = self._scoped[key]
        running = {name for names, found in taken.items() if found for name in names}
        self._check_sizes(scoped, [name for name in models if name in running], runs)
        return scoped

    def _taken(
        self, models: Sequence[str], parts: Sequence[str], question: Question, runs: Sequence[Mapping[str, Any]]
    ) -> dict[tuple[str, ...], list[Triple]]:
        """Return the targets of each group of models. The models of a group take the same backends and precisions: models with a backward pass take
        backends that train, and models of a checkpoint take the format of the checkpoint. Report the groups without a target. Raise the first
        error if no group has a target."""
        groups = self._alike(models, question)
        found: dict[tuple[str, ...], list[Triple]] = {}
        refused: list[tuple[tuple[str, ...], CharzError]] = []
        for names in groups:
            try:
                with self._recorded() as said:
                    found[names] = self._taken_alike(names, parts, question, runs)
            except CharzError as error:
                found[names] = []
                refused.append((names, error))
            about = f"{', '.join(names)}: " if len(groups) > 1 else ""
            self._say([(is_left_out, about + text) for is_left_out, text in said])
        if not any(found.values()):
            raise refused[0][1]
        if refused:
            told = "; ".join(f"{', '.join(names)} ({error.what}: {error.where})" for names, error in refused)
            self.messages.warn(f"left out: {told}")
        return found

    def _taken_alike(
        self, models: Sequence[str], parts: Sequence[str], question: Question, runs: Sequence[Mapping[str, Any]]
    ) -> list[Triple]:
        """Return the targets of models that take the same backends and precisions. Report the combinations that do not run. Raise `CharzError` if no
        combination runs."""
        untrained = self._untrained(models)
        question = self._trained(question, untrained)
        precisions = question.precisions or (*self._stored(models, question), *question.preferred, *question.beside)
        lacking = self._excluded(parts, runs)
        targets = self._targets(parts, question, precisions, untrained, lacking)
        if targets:
            self._check_engines({backend for _, backend, _ in targets}, runs)
        self._say_left_out(parts, question, precisions, targets, untrained, lacking)
        targets = self._linked(targets, question)
        if question.is_first and not question.beside:
            self._say_mixed(targets)
        return targets

    def _alike(self, models: Sequence[str], question: Question) -> list[tuple[str, ...]]:
        """Group the models that take the same backends and precisions in a question about one model."""
        query = "SELECT model, is_training, stored_policy FROM model WHERE list_contains(?, model) ORDER BY model"
        is_stored = question.is_as_stored and not question.precisions
        groups: dict[tuple[bool, str | None], list[str]] = {}
        for name, is_training, stored in self.connection().execute(query, [models or self._names("model")]).fetchall():
            groups.setdefault((is_training, stored if is_stored else None), []).append(name)
        return [tuple(names) for names in groups.values()] or [()]

    def target(self, question: Question, *views: str) -> tuple[Scoped, dict[str, Any]]:
        """Call `asked` for one model on one part under one scenario. Also return keys and conditions of this target."""
        ((batch,),) = self.connection().execute(
            "SELECT default_batch FROM model WHERE model = ?", [self.model_name(question.models[0])]
        ).fetchall()  # fmt: skip
        runs = question.runs or [{"batch": (*question.batches, batch)[0], "sequence": (*question.sequences, None)[0]}]
        scoped = self.asked(replace(question, batches=(), sequences=(), runs=runs), *views)
        return scoped, scoped.target

    def _runs(self, question: Question) -> list[dict[str, Any]]:
        """Return the runs of a question as columns of a scenario, without the columns that depend on the target."""
        runs = question.runs or [
            {"batch": batch, "sequence": sequence}
            for batch in question.batches or [1]
            for sequence in (*question.sequences,) or (None,)
        ]
        caps = [None if cap == DEFAULT_MODE else cap for cap in question.caps] or [None]
        return [{**run, "power": cap, **question.fields} for run in runs for cap in caps]

    def scope_of(self, model: str, parts: Sequence[str]) -> Scope:
        """Return the session's scope limited to one model, and to the named parts if there are any."""
        chosen = tuple(self.part_name(name) for name in parts) or self._scope.hardware
        return Scope((model,), chosen, self._scope.scenarios)

    def _narrow(
        self,
        models: Sequence[str],
        parts: Sequence[str],
        targets: Sequence[Triple],
        runs: Sequence[Mapping[str, Any]],
        taken: Mapping[tuple[str, ...], Sequence[Triple]],
    ) -> Scoped:
        """Return a new connection limited to these runs. `taken` maps groups of models to targets."""
        from charz.sql import scopes

        pairs = sorted({(precision, backend) for _, backend, precision in targets})
        most = self._most_linked(targets, runs)
        every = [(run, precision, backend) for run in runs for precision, backend in pairs]
        linked = [(run, p, b) for run, p, b in every if (run.get("device_count") or 1) <= most.get((p, b), 1)]
        wanted = [self.conditions({**run, "backend": b, "precision": p}) for run, p, b in linked or every]
        rows, held = self.numbered(wanted)
        hardware = list(dict.fromkeys(part for part, *_ in targets))
        scope = scopes.Scope(
            models=list(models) or None,
            hardware=hardware if parts or len(hardware) < len(self._names("hardware")) else None,
            targets=targets,
            scenarios=rows,
            stored=held,
            runs=_runs_taken(taken),
            ground=self._ground,
        )
        count = len(models or self._names("model")) * len(targets) * len(runs)
        scoped = self.scoped_on(self.cursor(), scope, keeps_costs=count <= COSTED_TARGETS)
        scoped.limit(taken)
        if self.rents:
            from .ask import rents

            rents.state(scoped, self.rents)
        return scoped

    def _most_linked(self, targets: Sequence[Triple], runs: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], int]:
        """Return the largest number of devices that a link joins, by precision and backend: no part runs on more of them."""
        if all(run.get("device_count") is None for run in runs):
            return {}
        joined = self.linked_devices()
        most: dict[tuple[str, str], int] = {}
        for part, backend, precision in targets:
            most[precision, backend] = max(most.get((precision, backend), 1), joined.get(part, 1))
        return most

    @staticmethod
    def conditions(fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a scenario with defaults filled in, without the scenario's number, which `numbered` adds."""
        values = _DEFAULTS | dict(fields)
        for size in ("batch", "sequence", "context"):
            if values[size] is not None:
                check_size(size, values[size])
        return values

    def numbered(
        self, wanted: Sequence[Mapping[str, Any]], writing: duckdb.DuckDBPyConnection | None = None
    ) -> tuple[list[dict[str, Any]], set[int]]:
        """Return the scenarios with their numbers in the file or with new numbers, and the set of numbers already in the file.

        Pass the connection that will write the scenarios, since another process may add scenarios in the meantime.
        """
        same = [name for name in _DEFAULTS if name != "origin"]
        query = f"SELECT min(scenario_id), {', '.join(same)} FROM scenario GROUP BY ALL"
        held = {tuple(values): number for number, *values in (writing or self.connection()).execute(query).fetchall()}
        known = set(held.values())
        # Clients' rows have the numbers of a sequence, which must not meet a number given here.
        highest = max((number for number in known if number < CLIENTS_FROM), default=0)
        rows = []
        for row in wanted:
            number = held.setdefault(tuple(row[name] for name in same), highest + 1)
            highest = max(highest, number)
            rows.append({"scenario_id": number, **row})
        return rows, known.intersection(row["scenario_id"] for row in rows)

    def _check_sizes(self, scoped: Scoped, models: Sequence[str], runs: Sequence[Mapping[str, Any]]) -> None:
        """Report the models that have no run of these sizes. Raise `CharzError` if no model has such a run."""
        sizes = "run.batch, run.sequence, context, phase, device_count, kv_precision, power"
        query = f"SELECT run.model, count(DISTINCT ({sizes})) FROM run GROUP BY 1"
        counted = dict(scoped.execute(query).fetchall())
        missing = [self._no_run(scoped, model, runs[0]) for model in models if model not in counted]
        if counted and missing:
            self.messages.warn("left out: " + "; ".join(f"{error.where}, {error.exists}" for error in missing))
        if not counted:
            nothing = CharzError("no models yet", str(self.path), next="`charz ingest efficientnet_b0` adds one")
            raise missing[0] if missing else nothing
        most = max(counted.values())
        fewer = [model for model, count in counted.items() if count < most]
        if fewer:
            self.messages.warn(f"left out: some of the sizes for {', '.join(fewer)}, which cannot run them")

    def _no_run(self, scoped: Scoped, model: str, run: Mapping[str, Any]) -> CharzError:
        query = "SELECT is_batch_symbolic, has_context, default_batch, default_sequence FROM model WHERE model = ?"
        ((is_batch_free, has_context, batch, sequence),) = self.connection().execute(query, [model]).fetchall()
        query = "SELECT backend FROM scenario"
        serving = {name for (name,) in self.connection().execute("SELECT backend FROM backend WHERE serves").fetchall()}
        if not has_context and all(backend in serving for (backend,) in scoped.execute(query).fetchall()):
            return CharzError("this backend serves language models", model, "the model keeps no state between tokens")
        fixed = f"its sequence is {sequence}" if is_batch_free else f"its batch is fixed at {batch}"
        size = f"batch {run['batch']}" + (f", sequence {run['sequence']}" if run.get("sequence") else "")
        return CharzError("the model has no such size", f"{model}, {size}", fixed)


def _runs_taken(taken: Mapping[tuple[str, ...], Sequence[Triple]]) -> str:
    """Return an SQL condition on runs that limits each model to the backends and precisions of that model's targets."""
    from charz.sql.scopes import listed

    if len(taken) == 1:
        return "TRUE"
    conditions = []
    for names, targets in taken.items():
        pairs = sorted({f"{backend} {precision}" for _, backend, precision in targets})
        conditions.append(f"(run.model IN {listed(names)} AND CONCAT(run.backend, ' ', run.precision) IN {listed(pairs)})")
    return " OR ".join(conditions)


_DEFAULTS: dict[str, Any] = {
    "batch": 1,
    "sequence": None,
    "context": None,
    "phase": "forward",
    "precision": SINGLE,
    "backend": "eager",
    "engine_version": None,
    "kv_precision": None,
    "device_count": None,
    "weight_host_fraction": None,
    "cache_host_fraction": None,
    "input_host_fraction": None,
    "memory_format": "nchw",
    "host_factor": 1.0,
    "cache_state": "warm",
    "power": None,
    "origin": "user",
}
"""Default value of each column of a scenario."""
