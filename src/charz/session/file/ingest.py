"""The command that ingests models into the database."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from charz.schema.errors import CharzError, is_interrupt

from ..answer import Rows, answer
from ..ask.report import SHOWN_PARTS
from ..ask.sql import Sql
from ..assumed import note
from ..axes import names
from ..parameters import Names, Text
from . import first_look

if TYPE_CHECKING:
    import duckdb
    from torch import nn

    from charz.ingest.run import Outcome, Trace
    from charz.ingest.sources.spec import Spec

CLOSING_MODELS = 3
"""Largest number of models that `ingest` evaluates on several parts. More models are evaluated on the GPU only, with one line per model."""

_CLOSING = (
    "model", "hardware", "is_simulated", "backend", "precision", "batch", "latency_s", "energy_j", "edp_js", "peak_memory_byte"
)  # fmt: skip

_CLOSING_TAIL = (
    "JOIN (SELECT hardware, backend, is_default, serves FROM supported_backend) USING (hardware, backend)"
    " QUALIFY backend = first_value(backend) OVER (PARTITION BY model, hardware ORDER BY serves, is_default DESC, backend)"
    " ORDER BY list_position(?, model), list_position(?, hardware), scenario_id"
)

_SETTING = re.compile(r"[A-Za-z_]\w*=")


INGESTED_U = 500.0
"""Largest estimated time to compute the answers of ingested models, that of about twelve convolutional networks, in the CPU time of ten million
empty passes of a Python loop. [U]"""

SERVED_U = 20.0
"""The same for language models that are ingested to be served, of which few commands read the standard runs: single passes of a prompt. [U]"""


class Ingest(Sql):
    """Ingestion of models."""

    @answer(is_writing=True)
    def ingest(
        self,
        models: Annotated[
            Any,
            Text(
                "Models: resnet50, timm:NAME, hf:NAME, config.json, file.py, module:factory (imports and runs your code),"
                " model.pt2, model.onnx or synthetic:KIND; in Python also an `nn.Module`.",
                taken=list[str] | None,
            ),
        ] = None,
        *,
        all_: Annotated[str | None, Text("Ingest every model of a source: torchvision, timm or hf.")] = None,
        list_: Annotated[
            str | None,
            Text("File with one model name per line; or a source (torchvision, timm, hf), whose model names are printed."),
        ] = None,
        jobs: Annotated[int, Text("Number of models ingested in parallel.", short="-j", least=1)] = 1,
        batch: Annotated[int | None, Text("Fixed batch size; default symbolic.", least=1)] = None,
        resolution: Annotated[
            int | str | None, Text("Image side in pixels, e.g. 288, or height x width, e.g. 800x1066.", taken=str | None)
        ] = None,
        sequence: Annotated[int | None, Text("Default sequence length.", least=1)] = None,
        inputs: Annotated[
            Any,
            Text(
                "Shape and type of an input of your own model, e.g. B,3,224,224:fp32; in Python also example tensors.",
                flag="input",
                taken=list[str] | None,
            ),
        ] = None,
        settings: Annotated[
            Names | None,
            Text("Setting KEY=VALUE of a synthetic model or configuration; KEY=V1,V2 ingests a model for each value.", flag="set"),
        ] = None,
        train: Annotated[bool, Text("Trace the backward pass too.")] = False,
        force: Annotated[bool, Text("Trace unchanged models again.")] = False,
        no_answers: Annotated[bool, Text("Do not compute answers at hand (stored predictions); `charz refresh` computes them.")] = False,
        name: Annotated[
            str | None, Text("Name of the model in the database, e.g. v2, to keep several versions.")
        ] = None,
    ) -> Rows:
        """Trace models without weights, and write their operators, work and memory traffic to the database.

        Sizes stay symbolic in batch and sequence, so a model is ingested once for all batches. Unchanged models are skipped. At the end,
        predictions for the first models at batch 1 on a few parts are printed, or for a language model its sizes and servers.
        An `nn.Module` is neither changed nor run; its inputs are a tensor, a tuple or mapping of tensors, or shapes as texts. With `--engine`,
        the engine's workers trace the models in `--jobs` tasks; charz must be installed there.
        """
        from charz.ingest.sources.listing import names_of

        if hasattr(models, "forward"):
            return self._closing([self._live(models, inputs, name, train, force)], no_answers)
        wanted = _listed(models)
        if list_ and Path(list_).is_file():
            wanted += _in_file(Path(list_))
        elif list_:
            return Rows(("model",), [(name,) for name in names_of(list_)])
        options = {
            "batch": batch,
            "resolution": resolution,
            "sequence": sequence,
            "train": train,
            "trust": self.access.trust,
        }
        specs = _specs(wanted, all_, _listed(settings), inputs=tuple(_listed(inputs)), **options)
        if name is not None:
            specs = [_named(specs, name)]
        with self.messages.status() if len(specs) == 1 else contextlib.nullcontext(_unsaid) as status:
            status("preparing the file")
            outcomes = self._traced(specs, jobs, force, status)
            if not self.access.engine:
                status("evaluating first answers")
                return self._closing(outcomes, no_answers)
        self._fill_answers(outcomes, no_answers)  # the rows that the engine reads are outdated now
        found = [(outcome.model, outcome.state, outcome.message) for outcome in outcomes]
        return Rows(("model", "state", "message"), found, is_failure=any(outcome.state == "failed" for outcome in outcomes))

    def _traced(self, specs: Sequence[Spec], jobs: int, force: bool, status: Callable[[str], None]) -> list[Outcome]:
        """Trace models, write their rows, and report each when it is done."""
        from charz.ingest.run import run
        from charz.sql import maintain

        changing = functools.partial(self.changing, fills=False, is_engine_done=True)
        finished: Counter[str] = Counter()
        with self.messages.progress("ingest", len(specs)) as done:

            def report(outcome: Outcome) -> None:
                done(outcome.model)
                finished[outcome.state] += 1
                if outcome.state == "failed":
                    self.messages.warn(f"failed: {outcome.model}: {outcome.message}")
                elif outcome.message:
                    self.messages.remark(f"{outcome.model}: {outcome.message}")

            try:
                trace = self._elsewhere(jobs)
                add_runs = functools.partial(maintain.add_runs, commits=True)
                return run(specs, changing, add_runs, jobs, force, report, trace, self._reading, status)
            except BaseException as error:
                if not is_interrupt(error):
                    raise
                kept = finished["written"] + finished["unchanged"]
                self.messages.warn(
                    f"interrupted: {kept} of {len(specs)} models are kept; the same command continues"
                )
                raise

    def _reading(self) -> contextlib.AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Give a connection with the rules of the file, or with the shipped rules before the first model creates the file."""
        return contextlib.nullcontext(self.catalog())

    def _fill_answers(self, outcomes: Sequence[Outcome], no_answers: bool) -> None:
        """Evaluate and store the answers of written models after these are kept, so that an interrupt loses no model. Where that takes long, tell
        instead how to do so."""
        from charz.sql import answers

        models = list(dict.fromkeys(outcome.model for outcome in outcomes if outcome.state != "failed"))
        if no_answers or not models:
            return
        lacking = answers.missing(self.connection(), models)
        most = SERVED_U if all(map(self._serves, models)) else INGESTED_U
        if lacking.work > most:
            self.messages.remark(
                f"{lacking.count:,} predictions of standard runs are left out, since they take long: a command evaluates those that it needs;"
                " `charz refresh` stores them all"
            )
        if not 0.0 < lacking.work <= most:
            return
        try:
            with self.changing(create=False, fills=False, is_engine_done=True) as connection:
                self._filled(connection, answers.missing(connection, models))
        except BaseException as error:
            if is_interrupt(error):
                self.messages.warn("interrupted: the models are kept; `charz refresh` fills their answers")
            raise

    def _elsewhere(self, tasks: int) -> Trace | None:
        """Return a function that traces models on the workers of the session's engine, or None without an engine."""
        if not self.access.engine:
            return None
        from charz.ingest import elsewhere

        from ..engine.endpoint import reached

        spark = reached(self.access.engine)
        return lambda specs, rules: elsewhere.results(spark, specs, rules, tasks)

    def _live(
        self, module: nn.Module, inputs: Any, name: str | None, train: bool, force: bool
    ) -> Outcome:
        """Trace an `nn.Module` and write the model. Raise `CharzError` if another model has the same name."""
        from charz.ingest.compile.rules import from_connection
        from charz.ingest.pipeline import ingest_request, remark
        from charz.ingest.run import Outcome
        from charz.ingest.sources import live
        from charz.ingest.sources.spec import Spec
        from charz.ingest.write import write
        from charz.sql import maintain

        rules = from_connection(self.connection(create=True))
        request = live.request(module, inputs, name, train)
        made = ingest_request(request, rules, train)
        query = "SELECT source FROM model WHERE model = ?"
        held = self.connection().execute(query, [request.name]).fetchall()
        if held and held[0][0] != request.source and not force:
            next = "choose another name=, or replace that model with force=True"
            raise CharzError("the name is taken", request.name, f"{held[0][0]} has it", next)
        with self.changing(fills=False) as connection:
            write(connection, [made], maintain.add_runs)
        if said := remark(request, made, is_guess=inputs is None):
            self.messages.remark(f"{request.name}: {said}")
        return Outcome(Spec(request.name, "live"), "written", request.name, said, made.model["ingest_s"])

    def _closing(self, outcomes: Sequence[Outcome], no_answers: bool) -> Rows:
        """Report how parts serve a few language models. For others report latency, energy, EDP and peak memory of the first models on a few
        parts, at batch 1, under the default backend or the first backend that trains, in every precision that has a scenario of batch 1."""
        self._fill_answers(outcomes, no_answers)
        counts = Counter(outcome.state for outcome in outcomes)
        states = ("written", "unchanged", "failed")
        if len(outcomes) > 1 or not counts["failed"]:
            self.messages.remark("models: " + ", ".join(f"{counts[state]} {state}" for state in states if counts[state]))
        known = list(dict.fromkeys(outcome.model for outcome in outcomes if outcome.state != "failed"))
        if not known:
            return Rows(_CLOSING, [], is_failure=True)
        serving = [name for name in known if self._serves(name)]
        if serving == known and len(known) <= CLOSING_MODELS:
            looks = [look for name in known if (look := first_look.shown(self, name))]
            if looks:
                listed = [row for look in looks for row in look.fetch()]
                return dataclasses.replace(looks[0], source=listed, is_failure=counts["failed"] > 0)
        elif serving:
            self.messages.remark(f"language models as a server runs them: `charz llm {' '.join(serving[:CLOSING_MODELS])} --smallest`")
        is_brief = len(known) > CLOSING_MODELS
        parts = [part for part in SHOWN_PARTS if part in self._names("hardware")]
        if is_brief:
            parts = [part for part in parts if part == SHOWN_PARTS[1]]
        query = "SELECT scenario_id FROM scenario WHERE batch = 1 AND phase = 'forward'"
        numbers = [number for (number,) in self.connection().execute(query).fetchall()]
        scoped = self.scope(models=known, hardware=parts, scenarios=numbers).whole()
        found = scoped.rows("target_cost", (*_CLOSING, "fits_device"), _CLOSING_TAIL, [known, parts]).fetch()
        rows = [row[:-1] for row in found]
        if large := list(dict.fromkeys(f"{row[0]} on {row[1]} in {row[4]}" for row in found if row[-1] is False)):
            self.messages.warn(f"does not fit the memory: {', '.join(large)}")
        # The usual precision of the part comes first.
        usual = {part: self.usual_policy([part], ()) for part in parts}
        rows.sort(key=lambda row: (known.index(row[0]), parts.index(row[1]), row[4] != usual[row[1]]))
        if is_brief:
            rows = list({row[0]: row for row in reversed(rows)}.values())[::-1]
        if lost := [part for part in parts if rows and all(part not in row for row in rows)]:
            self.messages.remark(f"no answer on {', '.join(lost)}: no backend there trains")
        note(scoped, self.messages)
        for line in self._following(known):
            self.messages.remark(line)
        return Rows(_CLOSING, rows, ("target_cost",), is_failure=counts["failed"] > 0)

    def _following(self, known: Sequence[str]) -> list[str]:
        """Return the next commands for ingested models."""
        connection = self.connection()
        query = "SELECT parameter_count FROM model WHERE model = ? AND is_training AND has_context"
        if len(known) == 1 and (found := connection.execute(query, [known[0]]).fetchall()):
            memory = dict(connection.execute("SELECT hardware, dram_byte FROM part WHERE dram_byte IS NOT NULL").fetchall())
            if lines := first_look.training(known[0], found[0][0], memory):
                return lines
        return [f"next: charz {'report' if len(known) == 1 else 'compare'} {' '.join(known[:CLOSING_MODELS])} --on {SHOWN_PARTS[1]}"]

    def _serves(self, model: str) -> bool:
        """Return True for a language model that is ingested to be served."""
        query = "SELECT has_context AND NOT is_training FROM model WHERE model = ?"
        ((serves,),) = self.connection().execute(query, [model]).fetchall()
        return bool(serves)


def _unsaid(_: str) -> None:
    """Tell nothing."""


def _specs(given: Sequence[str], source: str | None, settings: Sequence[str], **options: object) -> list[Spec]:
    """Make a model specification for each name, each model of a source, and each combination of settings."""
    from charz.ingest.sources.listing import names_of
    from charz.ingest.sources.spec import parse, sweep

    # In `--set in=128 hidden=256,512`, texts that look like settings count as settings, whichever option precedes them.
    swept = sweep([*settings, *(text for text in given if _SETTING.match(text))])
    requested = names([text for text in given if not _SETTING.match(text)]) + (names_of(source) if source else [])
    if not requested:
        raise CharzError(
            "no model named", next="try `charz ingest efficientnet_b0`, or `charz ingest --all torchvision`"
        )
    return [parse(name, settings=chosen, **options) for name in requested for chosen in swept]


def _named(specs: Sequence[Spec], name: str) -> Spec:
    """Give a single model the name that the user chose. Raise `CharzError` for several models and for an invalid name."""
    if len(specs) > 1:
        raise CharzError("one name for several models", f"--name {name}", f"{len(specs)} are requested", "ingest one")
    if not re.fullmatch(r"[\w.@:+-]+", name):
        raise CharzError("not a name of a model", f"--name {name}", next="write letters, digits and . _ - + @ :")
    return replace(specs[0], stored=name)


def _in_file(path: Path) -> list[str]:
    """Read a file of model names, one per line. Empty lines and comments after # are ignored."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise CharzError(
            "not a list of models", str(path), "the file is not text in UTF-8", "write one name per line"
        ) from error
    found = [name for line in lines if (name := line.partition("#")[0].strip())]
    if not found:
        raise CharzError("no model named", str(path), "the list is empty", "write one name per line")
    return found


def _listed(given: Names | None) -> list[str]:
    """Convert one text or several to a list. Texts are not split at commas, which may belong to a setting or a shape."""
    return [given] if isinstance(given, str) else list(given or ())
