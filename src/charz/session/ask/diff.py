"""The command that compares two versions of a model, or a prediction with a profiler's trace."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from charz.schema.errors import CharzError, unknown_name

from ..answer import Rows, answer
from ..axes import names
from ..core import Core
from ..parameters import Backend, Batch, Cache, Cap, Names, Precisions, Sequence_, Text, Top
from ..question import Question, header, single
from ..scoped import Scoped
from . import against_trace, versions

Record = dict[str, Any]

_KEYS = {
    "total": ("quantity",),
    "modules": ("module", "class_name"),
    "classes": ("kernel_class",),
    "kernels": ("kernel", "module"),
}
"""Key columns of each section. The number in an operator's name changes from version to version, so operators are no keys."""

_RUN = {
    "latency_s": ("latency", "s"),
    "energy_j": ("energy", "J"),
    "peak_memory_byte": ("peak memory", "byte"),
    "macs": ("macs", "mac"),
    "kernel_count": ("kernel count", ""),
}
"""Name and unit of each quantity of a run."""

_HELD = ("latency_s", "energy_j", "peak_memory_byte")
"""Quantities whose growth can fail `--fail-on`."""

_QUERIES = {
    "modules": "SELECT module, class_name, latency_s AS seconds FROM module_edp WHERE depth > 0",
    "classes": "SELECT kernel_class, sum(latency_s) AS seconds FROM kernel_latency GROUP BY kernel_class",
    "kernels": "SELECT kernel, module, latency_s AS seconds FROM kernel_latency",
}
"""Query for the time of each row of a section."""


class Diff(Core):
    """Comparison of two versions of a model."""

    @answer("total", "modules", "classes", "kernels")
    def diff(
        self,
        old: Annotated[
            str, Text("Old version: an ingested model, or any model that `ingest` takes, also from a git revision: HEAD~1:net.py.")
        ],
        new: Annotated[
            str, Text("New version: a model as above, or a trace of the PyTorch profiler, .json or .json.gz.")
        ],
        *,
        on: Annotated[Names, Text("Hardware parts, separated by commas or by repeating the option.")],
        inputs: Annotated[
            Names | None,
            Text(
                "Shape and type of an input of a version from a file, e.g. B,3,224,224:fp32; default the input of the other version.",
                flag="input",
                taken=list[str] | None,
            ),
        ] = None,
        fail_on: Annotated[str | None, Text("Largest allowed growth of time, energy or memory, e.g. 5%.")] = None,
        batch: Batch = None,
        sequence: Sequence_ = None,
        precision: Precisions = None,
        backend: Backend = None,
        cache: Cache = "warm",
        cap: Cap = None,
        top: Top = 20,
        section: Literal["total", "modules", "classes", "kernels"] = "total",
    ) -> Rows:
        """Compare time, energy and memory of two versions of a model, by module, or a prediction with a measured trace.

        A trace is compared with the backend eager, with the batch and sequence in the trace, and with one of its runs.
        Exit code 1 if time, energy or peak memory grew by more than --fail-on.
        """
        most = _fraction(fail_on)
        parts, policies = [self.part_name(name) for name in names(on)], names(precision)
        self.check_run([backend] if backend else [], policies)
        is_trace = versions.is_trace(new) and self.access.may_ingest
        backend = backend or ("eager" if is_trace else None)  # An eager run makes one call for each kernel.
        questions = [
            single(old, part, batch, sequence, policy, backend, cache, cap) for part in parts for policy in policies or (None,)
        ]
        if is_trace:
            if len(questions) > 1:
                raise CharzError("a trace is from one part in one precision", new, next="name one --on and one --precision")
            return self._against_trace(questions[0], Path(new), section, top, most)
        questions = self._able(questions)
        session, models = self._both(old, new, (inputs,) if isinstance(inputs, str) else tuple(inputs or ()))
        self._check_inputs(session, models, (old, new), fail_on)
        found = [
            self._grown(session, [replace(question, models=[model]) for model in models], section, most)
            for question in questions
        ]
        return self.cut(_together(found), top) if section != "total" else _together(found)

    def _able(self, questions: list[Question]) -> list[Question]:
        """Leave out questions about precisions that a part does not run, before a version is traced, and report them. Raise `CharzError` if none
        remains."""
        if not self.path.exists():
            return questions
        lacking = [one for one in questions if one.precisions and not self._targets(one.hardware, one, one.precisions, set())]
        if lacking and len(lacking) == len(questions):
            first = lacking[0]
            raise self._not_executed(first.hardware[0], first.backends, first.precisions, set())
        if lacking:
            named = [f"{one.precisions[0]} on {one.hardware[0]}" for one in lacking]
            self.messages.warn(f"left out: {', '.join(named)}, which does not run it")
        return [one for one in questions if one not in lacking]

    def _grown(
        self, session: Core, questions: Sequence[Question], section: str, most: float | None
    ) -> tuple[Record, Rows]:
        """Return the conditions of the runs, and the section that compares both versions."""
        _, target = session.target(questions[0])
        if section == "total":
            runs = [_run(session, asked) for asked in questions]
            unknown = [_RUN[column][0] for column in _HELD if any(run[column] is None for run in runs)]
            if most is not None and unknown:
                self.messages.warn(f"not checked by --fail-on: {', '.join(unknown)}, unknown here")
            return target, _total(runs[0], runs[1], most)
        before, after = (_seconds(session.target(asked, "model_report")[0], section) for asked in questions)
        keys = dict.fromkeys([*before, *after])
        return target, _compared(section, [(key, before.get(key), after.get(key)) for key in keys])

    def close(self) -> None:
        """Close the file, and delete temporary files of ingested versions."""
        self._made.close()
        self._versions.clear()
        super().close()

    @functools.cached_property
    def _made(self) -> contextlib.ExitStack:
        """Files and sessions of versions, kept while this session is open."""
        return contextlib.ExitStack()

    @functools.cached_property
    def _versions(self) -> dict[tuple[str, str, tuple[str, ...]], tuple[Core, tuple[str, str]]]:
        return {}

    def _both(self, old: str, new: str, inputs: tuple[str, ...]) -> tuple[Core, tuple[str, str]]:
        """Return a session that has both models, and the models' names in that session. It is this session if its file has both models, else a
        session on a copy of the file."""
        known = self._names("model") if self.path.exists() else []
        if old in known and new in known:
            return self, (old, new)
        if not self.access.may_ingest:
            raise unknown_name("model", old if old not in known else new, known)
        if (old, new, inputs) not in self._versions:
            wanted = {"old": old, "new": new}
            asked = inputs or self._inputs([old, new], known)
            path, found = self._made.enter_context(versions.ingested(self.path, wanted, known, asked, self.messages))
            session = self._made.enter_context(type(self)(path, messages=self.messages, access=self.access))
            self._versions[old, new, inputs] = session, (found["old"], found["new"])
        return self._versions[old, new, inputs]

    def _inputs(self, asked: list[str], known: Sequence[str]) -> tuple[str, ...]:
        """Return input options for the versions: the inputs of the version in the database, else of the model last ingested from the same file."""
        from charz.ingest.sources.inputs import again

        if not known:
            return ()
        files = {versions.file_of(text) for text in asked} - {None}
        query = "SELECT model, source, input_signature FROM model ORDER BY ingested_at DESC"
        found = self.connection().execute(query).fetchall()
        named = [said for model, _, said in found if model in asked]
        alike = [said for _, source, said in found if source.partition(":")[0] in files]
        given = [text for said in [*named, *alike][:1] for text in again(said)]
        # A single input needs no name, which the other version may spell differently.
        return (given[0].partition("=")[2],) if len(given) == 1 else tuple(given)

    def _check_inputs(self, session: Core, models: tuple[str, str], asked: tuple[str, str], fail_on: str | None) -> None:
        """Warn of versions with different inputs, whose growth includes the growth of the inputs. Raise `CharzError` where growth has a limit."""
        query = "SELECT model, input_signature FROM model WHERE list_contains(?, model)"
        said = dict(session.connection().execute(query, [list(models)]).fetchall())
        old, new = (said[model] for model in models)
        if versions.are_alike(old, new):
            return
        differing = f"{asked[0]} takes {old}; {asked[1]} takes {new}"
        if fail_on is not None:
            next = "ingest one of them again with the other's --input, or leave out --fail-on"
            raise CharzError("the versions have different inputs", differing, next=next)
        self.messages.warn(f"the versions have different inputs, which the growth includes: {differing}")

    def _as_traced(self, question: Question, sizes: dict[str, int]) -> Question:
        """Complete the question with batch and sequence of a trace. Warn where it asks for others."""
        for word, asked, found in (("batch", question.batches, sizes.get("B")), ("sequence", question.sequences, sizes.get("S"))):
            if asked and found not in (None, asked[0]):
                self.messages.warn(f"the trace has {word} {found}, the prediction {word} {asked[0]}")
        traced = {letter: [size] for letter, size in sizes.items()}
        batches, sequences = question.batches or traced.get("B", ()), question.sequences or traced.get("S", ())
        return replace(question, batches=batches, sequences=sequences)

    def _against_trace(self, question: Question, path: Path, section: str, top: int, most: float | None) -> Rows:
        """Compare the calls of a trace with the predicted kernels."""
        from charz.ingest.measurements import kineto
        from charz.ingest.sources.inputs import again

        measured = kineto.profile(path)
        query = "SELECT input_signature FROM model WHERE model = ?"
        ((signature,),) = self.connection().execute(query, [self.model_name(question.models[0])]).fetchall()
        question = self._as_traced(question, measured.sizes(again(signature)))
        scoped, _ = self.target(question, "kernel_time")
        kernels = scoped.records("SELECT * FROM kernel_time ORDER BY position")
        if any(kernel["latency_s"] is None for kernel in kernels):
            raise _without_time(scoped.target)
        measured = measured.run(len(kernels))
        work = sum(call.operator_class != "view" for call in measured.calls)
        if work >= 2 * len(kernels):
            self.messages.warn(
                f"the trace has {work} calls, the prediction {len(kernels)} kernels: record one run, or mark each run by profiler.step()"
            )
        query = "SELECT family = 'cpu' FROM hardware WHERE hardware = ?"
        if scoped.value(query, [scoped.target["hardware"]]) == measured.has_device:
            kind = "device kernels" if measured.has_device else "no device kernels: it is of a processor"
            raise CharzError("a trace of another part", str(path), f"it has {kind}; the prediction is for {scoped.target['hardware']}", "name its part by --on")
        column = "device_s" if measured.has_device else "latency_s"
        pairs = list(against_trace.aligned(kernels, measured.calls))
        if section == "modules":
            self.messages.remark("a trace does not record modules")
        if section == "total":
            lost = sum(1 for kernel, call in pairs if kernel is None or call is None)
            self.messages.remark(
                f"{'device' if measured.has_device else 'wall'} time of {len(measured.calls)} calls, the median of {measured.step_count} runs;"
                f" {lost} of {len(pairs)} rows have no counterpart"
            )
            old, new = sum(k[column] for k in kernels), sum(call.seconds for call in measured.calls)
            return replace(_total({"latency_s": old}, {"latency_s": new}, most), header=header([scoped.target]))
        rows = [] if section == "modules" else against_trace.rows(section, pairs, column)
        return self.cut(replace(_compared(section, rows), header=header([scoped.target])), top)


def _together(found: Sequence[tuple[Record, Rows]]) -> Rows:
    """Join the answers of several targets, each row with its part and precision."""
    told = header([target for target, _ in found], without=("model",))
    if len(found) == 1:
        return replace(found[0][1], header=told)
    rows = [[target["hardware"], target["precision"], *row] for target, one in found for row in one.fetch()]
    columns = ("hardware", "precision", *found[0][1].columns)
    return Rows(columns, rows, is_failure=any(one.is_failure for _, one in found), header=told)


def _run(session: Core, question: Question) -> Record:
    """Return the quantities of the run that a question asks about."""
    scoped, _ = session.target(question, "model_report")
    (run,) = scoped.rows("model_report", tuple(_RUN)).frame().to_dicts()
    if run["latency_s"] is None:
        raise _without_time(scoped.target)
    return run


def _without_time(target: Record) -> CharzError:
    next = "`charz report` shows why; try another --backend or --precision"
    return CharzError("a run without a time is not compared", f"{target['model']} on {target['hardware']}", next=next)


def _seconds(scoped: Scoped, section: str) -> dict[tuple[Any, ...], float]:
    """Sum time by key. [s]"""
    found: dict[tuple[Any, ...], float] = {}
    for row in scoped.records(_QUERIES[section]):
        if row["seconds"] is None:
            raise _without_time(scoped.target)
        key = tuple(row[name] for name in _KEYS[section])
        found[key] = found.get(key, 0.0) + row["seconds"]
    return found


def _fraction(text: str | None) -> float | None:
    """Parse a share, `5%` or `0.05`. Raise `CharzError` for an invalid share."""
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", text)
    if not match:
        raise CharzError("not a share", f"--fail-on {text}", next="write e.g. --fail-on 5%")
    return float(match[1]) / (100.0 if match[2] else 1.0)


def _total(old: Record, new: Record, most: float | None) -> Rows:
    """Compare each quantity of two runs. With `most`, add a verdict on time, energy and peak memory."""
    columns = ["quantity", "old_value", "new_value", "difference_value", "growth_fraction", "unit"]
    found = [
        [name, old[column], new[column], _difference(old[column], new[column]), _growth(old[column], new[column]), unit]
        for column, (name, unit) in _RUN.items()
        if column in old
    ]
    if most is None:
        return Rows(tuple(columns), found)
    held = [name for column, (name, _) in _RUN.items() if column in _HELD]
    for row in found:
        row.append(None if row[0] not in held or row[4] is None else "FAIL" if row[4] > most else "PASS")
    return Rows((*columns, "verdict"), found, is_failure=any(row[-1] == "FAIL" for row in found))


def _compared(section: str, rows: Iterable[against_trace.Row]) -> Rows:
    """Compare the time of each row, the largest difference first, rows without a difference last."""
    found = [(*key, old, new, _difference(old or 0.0, new or 0.0)) for key, old, new in rows]
    found.sort(key=lambda row: (-abs(row[-1]), [str(value) for value in row]))
    return Rows((*_KEYS[section], "old_s", "new_s", "difference_s"), found)


def _difference(old: Any, new: Any) -> Any:
    """Return a difference, without the digits that differ with the order of a sum."""
    if old is None or new is None:
        return None
    return 0.0 if abs(new - old) <= 1e-12 * abs(old) else new - old


def _growth(old: Any, new: Any) -> float | None:
    difference = _difference(old, new)
    return None if difference is None or not old else difference / old
