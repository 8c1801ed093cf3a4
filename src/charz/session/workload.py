"""Models: bringing them in, what is known of them, and how their fusion compares with inductor's."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from charz.schema.errors import CharzError

from .answer import Rows, answer
from .assumed import counted, note
from .axes import names
from .parameters import AnyModels, Names, Text
from .querying import Queries

if TYPE_CHECKING:
    from torch import nn

    from charz.ingest.inductor import Examination
    from charz.ingest.run import Outcome
    from charz.ingest.sources.spec import Spec

    from .narrowed import Narrowed

CLOSING_PARTS = ("i7_13700k", "h100_sxm5_80", "tpu_v4", "kpu_t256")
"""One CPU, GPU, TPU and KPU that everybody has heard of, or should."""

CLOSING_MODELS = 3
"""Models about which `ingest` answers, of those it brought in."""

_CLOSING = (
    "model", "hardware", "is_simulated", "backend", "precision", "latency_s", "energy_j", "edp_js", "peak_memory_byte"
)  # fmt: skip
_CLOSING_TAIL = (
    "JOIN (SELECT hardware, backend, is_default FROM supported_backend) USING (hardware, backend)"
    " QUALIFY backend = first_value(backend) OVER (PARTITION BY model, hardware ORDER BY is_default DESC, backend)"
    " ORDER BY list_position(?, model), list_position(?, hardware), scenario_id"
)
_COVERAGE = (
    "model", "operator_count", "view_count", "sized_count", "unsized_count", "bounded_count", "is_batch_symbolic",
    "is_sequence_symbolic", "specialized_reason",
)  # fmt: skip
_UNSIZED = ("aten_operator", "operator_count", "model_count", "first_model")
_SETTING = re.compile(r"[A-Za-z_]\w*=")


class Workload(Queries):
    """Models of the database."""

    @answer(is_writing=True)
    def ingest(
        self,
        models: Annotated[
            Any,
            Text(
                "resnet50, timm:NAME, hf:NAME, config.json, file.py, module:factory (imports and calls your own code),"
                " model.pt2, synthetic:KIND; in Python also an `nn.Module`.",
                taken=list[str] | None,
            ),
        ] = None,
        *,
        all_: Annotated[str | None, Text("Every model of a source: torchvision, timm or hf.")] = None,
        list_: Annotated[str | None, Text("Only list the names of a source.")] = None,
        jobs: Annotated[int, Text("Models worked on at once.", short="-j", least=1)] = 1,
        batch: Annotated[int | None, Text("Fix the batch instead of leaving it open.", least=1)] = None,
        resolution: Annotated[
            int | str | None, Text("Image side, e.g. 288, or height x width: 800x1066.", taken=str | None)
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
            Text("KEY=VALUE of a synthetic model or configuration; KEY=V1,V2 makes a sweep.", flag="set"),
        ] = None,
        train: Annotated[bool, Text("Add the backward pass.")] = False,
        force: Annotated[bool, Text("Trace again what has not changed.")] = False,
        name: Annotated[str | None, Text("Name of a live module, else its class's.", is_python_only=True)] = None,
    ) -> Rows:
        """Trace models without weights and write what they compute and move into the database.

        Sizes stay symbolic in batch and sequence, so one ingest answers every batch. Models that have
        not changed are skipped. Answers with the first models at batch 1 on a few parts. A live module is neither changed
        nor run; its inputs are a tensor, a tuple or mapping of them, or shapes as texts.
        """
        from charz.ingest.run import run
        from charz.ingest.sources.listing import names_of
        from charz.sql import maintain

        if hasattr(models, "forward"):
            return self._closing([self._live(models, inputs, name, train, force)])
        if list_:
            return Rows(("model",), [(name,) for name in names_of(list_)])
        options = {
            "batch": batch,
            "resolution": resolution,
            "sequence": sequence,
            "train": train,
            "trust": self.access.trust,
        }
        specs = _specs(_listed(models), all_, _listed(settings), inputs=tuple(_listed(inputs)), **options)
        with self.voice.progress("ingest", len(specs)) as done:

            def report(outcome: Outcome) -> None:
                done(outcome.model)
                if outcome.state == "failed":
                    self.voice.warn(f"failed: {outcome.model}: {outcome.message}")
                elif outcome.message:
                    self.voice.remark(f"{outcome.model}: {outcome.message}")

            return self._closing(run(specs, self.changing, maintain.add_runs, jobs, force, report))

    def _live(self, module: nn.Module, inputs: Any, name: str | None, train: bool, force: bool) -> Outcome:
        """Trace a module in memory and write it. Raises `CharzError` where another model has its name."""
        from charz.ingest.compile.rules import from_connection
        from charz.ingest.pipeline import ingest_request
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
            next = "give yours another with name=, or force=True puts it in that one's place"
            raise CharzError("the name is taken", request.name, f"{held[0][0]} has it", next)
        with self.changing() as connection:
            write(connection, [made], maintain.add_runs)
        return Outcome(Spec(request.name, "live"), "written", request.name, "", made.model["ingest_s"])

    def _closing(self, outcomes: Sequence[Outcome]) -> Rows:
        """Latency, energy, EDP and peak memory of the first models on a few parts: batch 1, the default backend or else the
        first that trains, every precision that the database has such a scenario of."""
        counts = Counter(outcome.state for outcome in outcomes)
        states = ("written", "unchanged", "failed")
        self.voice.remark("models: " + ", ".join(f"{counts[state]} {state}" for state in states if counts[state]))
        known = list(dict.fromkeys(outcome.model for outcome in outcomes if outcome.state != "failed"))
        shown = known[:CLOSING_MODELS]
        if not shown:
            return Rows(_CLOSING, [], is_failure=True)
        parts = [part for part in CLOSING_PARTS if part in self._names("hardware")]
        query = "SELECT scenario_id FROM scenario WHERE batch = 1 AND phase = 'forward'"
        numbers = [number for (number,) in self.connection().execute(query).fetchall()]
        narrowed = self.scope(models=shown, hardware=parts, scenarios=numbers).whole()
        rows = narrowed.rows("target_cost", _CLOSING, _CLOSING_TAIL, [shown, parts]).fetch()
        if lost := [part for part in parts if rows and all(part not in row for row in rows)]:
            self.voice.remark(f"no answer on {', '.join(lost)}: nothing that runs there trains")
        note(narrowed, self.voice, counted(["target_cost"]))
        self.voice.remark(
            f"next: charz {'report' if len(known) == 1 else 'compare'} {' '.join(shown)} --on {CLOSING_PARTS[1]}"
        )
        return Rows(_CLOSING, rows, ("target_cost",), is_failure=counts["failed"] > 0)

    @answer()
    def models(self) -> Rows:
        """List the ingested models with their size and work for one sample."""
        rows = self.whole().rows("model_list", tail="ORDER BY model")
        return Rows(rows.columns, self._some(rows.fetch()), rows.views)

    @answer("model", "operator")
    def coverage(self, models: AnyModels = None, *, section: Literal["model", "operator"] = "model") -> Rows:
        """List each model's operators by how they were sized; `operator`: every operator without a rule.

        Exit code 1 when there is one: its work is unknown, and every sum over that model too small.
        """
        chosen = [self.model_name(name) for name in names(models)] or self._names("model")
        narrowed = self.whole()
        rows = narrowed.rows("ingest_coverage", _COVERAGE, "WHERE list_contains(?, model) ORDER BY model", [chosen])
        found = self._some(rows.fetch())
        if section == "operator":
            listed = _unsized(narrowed, chosen)
            return Rows(_UNSIZED, listed, is_failure=bool(listed))
        is_failure = any(row[_COVERAGE.index("unsized_count")] for row in found)
        if found and not is_failure:
            self.voice.remark(f"every operator of {len(found)} models has a rule")
        return Rows(_COVERAGE, found, rows.views, is_failure)

    def _some(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """The rows; without any, a remark on how to get some."""
        if not rows:
            self.voice.remark("no models yet; `charz ingest efficientnet_b0` adds one")
        return rows

    @answer("model", "pair")
    def fusion(
        self,
        models: Annotated[Names, Text("resnet18, timm:NAME, hf:NAME, module:factory")],
        *,
        section: Literal["model", "pair"] = "model",
    ) -> Rows:
        """Let inductor plan a model's loops on this machine's CPU and hold the fusion rules against them.

        Inductor is stopped before it writes code: nothing is compiled or run. The rules describe its plan for a GPU; where a
        CPU's differs by design, the pairs of operators listed as `pair`, on which the two differ, are those.
        """
        from charz.ingest.sources.spec import parse

        examined = {name: self._examined(parse(name)) for name in names(models)}
        if section == "pair":
            rows = [(name, *row) for name, found in examined.items() for row in _differences(found)]
            return Rows(("model", "producer", "consumer", "fused_by", "pair_count"), rows)
        columns = (
            "model", "predicted_kernel_count", "pair_count", "both_count", "neither_count", "rules_only_count",
            "inductor_only_count", "agreement_fraction",
        )  # fmt: skip
        return Rows(columns, [(name, *_agreement(found)) for name, found in examined.items()])

    def _examined(self, spec: Spec) -> Examination:
        """What inductor plans for a model, asked for once as long as the rules of the file stay."""
        from charz.ingest.compile.rules import from_connection
        from charz.ingest.inductor import examine

        rules = from_connection(self.catalog())
        key = (spec, rules.fingerprint)
        if key not in self._plans:
            self._plans[key] = examine(spec, rules)
        return self._plans[key]

    @functools.cached_property
    def _plans(self) -> dict[tuple[Spec, str], Examination]:
        return {}


def _unsized(narrowed: Narrowed, models: Sequence[str]) -> list[tuple[str, int, int, str]]:
    """ATen operators without a rule: how many operators they are, of how many models, and the first of these."""
    query = "SELECT aten_operator, model FROM operator_without_rule WHERE list_contains(?, model) ORDER BY model"
    found: dict[str, list[str]] = {}
    for operator, model in narrowed.connection.execute(query, [list(models)]).fetchall():
        found.setdefault(operator, []).append(model)
    rows = [(operator, len(of), len(set(of)), of[0]) for operator, of in found.items()]
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def _specs(given: Sequence[str], source: str | None, settings: Sequence[str], **options: object) -> list[Spec]:
    """One request for each name, and each of a source, and combination of settings."""
    from charz.ingest.sources.listing import names_of
    from charz.ingest.sources.spec import parse, sweep

    # `--set in=128 hidden=256,512`: what looks like a setting is one, whichever option stood before it
    swept = sweep([*settings, *(text for text in given if _SETTING.match(text))])
    requested = names([text for text in given if not _SETTING.match(text)]) + (names_of(source) if source else [])
    if not requested:
        raise CharzError(
            "no model named", next="try `charz ingest efficientnet_b0`, or `charz ingest --all torchvision`"
        )
    return [parse(name, settings=chosen, **options) for name in requested for chosen in swept]


def _listed(given: Names | None) -> list[str]:
    """The texts as they are: commas within may be part of a setting or a shape."""
    return [given] if isinstance(given, str) else list(given or ())


def _agreement(found: Examination) -> tuple[Any, ...]:
    counts = Counter((edge.is_predicted, edge.is_actual) for edge in found.edges)
    right = counts[True, True] + counts[False, False]
    return (
        found.predicted_kernels,
        len(found.edges),
        counts[True, True],
        counts[False, False],
        counts[True, False],
        counts[False, True],
        right / len(found.edges) if found.edges else None,
    )


def _differences(found: Examination) -> list[tuple[str, str, str, int]]:
    """Producer, consumer, who fuses them and how often, the most frequent first."""
    operators = found.flow.names
    counts = Counter(
        (operators[edge.producer][0], operators[edge.consumer][0], "rules" if edge.is_predicted else "inductor")
        for edge in found.edges
        if edge.is_predicted != edge.is_actual
    )
    return [(*pair, count) for pair, count in counts.most_common()]
