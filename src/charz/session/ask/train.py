"""The command that predicts training over several devices."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from charz.schema.errors import CharzError, unknown_name

from ..answer import Rows, answer
from ..axes import names, one_of, sizes
from ..core import Core
from ..paging import paged
from ..parameters import (
    Backends,
    Batches,
    Caps,
    Force,
    Models,
    Page,
    Parts,
    Precisions,
    Rents,
    Sequences,
    Sizes,
    Text,
    Top,
)
from ..quantities import UNKNOWN, quantity, significant, size
from ..question import Question
from ..scoped import Scoped
from . import prices, splits, trainer
from .rents import rented

TRAINED_PRECISIONS = ("bf16", "fp16", "fp32")
"""Precision policies to try if no precision is named. A part takes the first policy that it computes in."""

RECOMPUTED = ("none", "selective", "full")
"""Kinds of recomputation in the backward pass, the least first; see `schema.catalog.devices.DeviceSplit`."""

STAGES = ("0", "1", "2", "3")
"""Stages of ZeRO."""

KWH_J = 3.6e6
"""Energy of a kilowatt-hour. [J]"""

TEXTS = {
    "split": (
        "Devices and memory of the training: tensor (tp), pipeline (pp), context (cp), data (dp) and expert (ep) parallel, micro batches (m), stage of"
        " ZeRO, and kind of recomputation; one is a single device."
    ),
    "whole_s": "Time of the whole training: its steps one after another.",
    "whole_usd": "Price of all devices for the whole training.",
    "whole_j": "Energy of all devices for the whole training, without hosts and cooling.",
}
"""Descriptions of columns: of the split, and of those that `--tokens` adds."""

MOST_SPLITS = 20_000
"""Largest number of splits in a question."""

_RUN = ("model", "hardware", "backend", "precision", "batch", "sequence", "framework", "split")

_SECTIONS = {
    "steps": (
        *_RUN, "device_count", "global_batch", "step_s", "tokens_per_s", "mfu_fraction", "peak_memory_byte", "fits_device",
        "million_tokens_usd", "energy_j", "hfu_fraction", "step_limit", "is_simulated",
    ),
    "time": (
        *_RUN, "step_s", "compute_s", "recompute_s", "tensor_s", "expert_s", "context_s", "send_s", "bubble_s", "host_s", "data_s",
        "sync_s", "optimizer_s",
    ),
    "memory": (
        *_RUN, "weight_byte", "gradient_byte", "optimizer_byte", "activation_byte", "scratch_byte",
        "peak_memory_byte", "context_byte", "device_byte", "fits_device",
    ),
}  # fmt: skip
"""Columns of each section."""


_DEGREES = (
    "model", "hardware", "backend", "precision", "batch", "sequence", "scenario_id", "framework", "tensor", "pipeline", "interleave",
    "context", "data", "expert", "micro_batches", "zero_stage",
)  # fmt: skip

_LEAST = (
    f"QUALIFY ROW_NUMBER() OVER (PARTITION BY {', '.join(_DEGREES)} ORDER BY COALESCE(fits_device, FALSE) DESC,"
    f" LIST_POSITION({list(RECOMPUTED)}, recompute) * CASE WHEN fits_device THEN 1 ELSE -1 END) = 1"
)
"""Clause that takes the least recomputation with which a split fits, or the most where none fits."""

_PLAIN = f"MAX(CASE WHEN recompute = 'none' THEN peak_memory_byte END) OVER (PARTITION BY {', '.join(_DEGREES)}) AS plain_byte"
"""Column of the memory that a split needs without recomputation. [byte]"""

_SAVING = f"QUALIFY recompute <> 'selective' OR peak_memory_byte < COALESCE({_PLAIN.removesuffix(' AS plain_byte')}, peak_memory_byte + 1e0)"
"""Clause that leaves out selective recomputation where it saves no memory over none."""

_HIDDEN = (
    _PLAIN, "device_byte - context_byte AS room_byte", "peak_memory_byte AS needed_byte", "fits_device AS is_fitting", "frozen_precision AS frozen",
    "recompute AS repeated", "tensor * pipeline AS shares", "micro_batches AS rounds", "step_s AS whole_step_s",
    *(f"{name} AS known_{name}" for name in (*trainer.READ, "global_batch")),
)  # fmt: skip
"""Columns of which messages alone tell."""

MOST_TOLD = 6
"""Largest number of rows whose recomputation is explained."""


class Train(Core):
    """Training over several devices."""

    @answer(
        "steps", more=("time", "memory"), files=("html",),
        common=("on", "devices", "precision", "batch", "global_batch", "sequence", "tokens", "zero", "recompute", "adapter", "frozen", "launch", "section"),
    )
    @paged
    @rented
    def train(
        self,
        models: Models,
        *,
        on: Parts = None,
        devices: Annotated[Sizes | None, Text("Numbers of devices; default tensor x pipeline x context.")] = None,
        tensor: Annotated[Sizes, Text("Degree of tensor parallelism: devices that share each matrix product.")] = 1,
        pipeline: Annotated[Sizes, Text("Degree of pipeline parallelism: stages of consecutive layers.")] = 1,
        interleave: Annotated[Sizes, Text("Groups of layers per pipeline stage (interleaved schedule).")] = 1,
        context: Annotated[Sizes, Text("Degree of context parallelism: devices that share the tokens of a sample.")] = 1,
        expert: Annotated[Sizes, Text("Degree of expert parallelism: replicas over which experts are distributed.")] = 1,
        zero: Annotated[str, Text("Stages of ZeRO: 0 (none), 1, 2 or 3 (FSDP), separated by commas.")] = "0",
        recompute: Annotated[
            str | None, Text("Recomputation in the backward pass: none, selective or full, separated by commas; default the least that fits.")
        ] = None,
        no_sequence_parallel: Annotated[bool, Text("Disable sequence parallelism.")] = False,
        batch: Batches = None,
        global_batch: Annotated[int | None, Text("Samples per training step; default one micro batch per replica.", least=1)] = None,
        sequence: Sequences = None,
        precision: Precisions = None,
        backend: Backends = None,
        framework: Annotated[
            str | None, Text("Training framework; default depends on the backend; `plain` has no framework overhead.")
        ] = None,
        optimizer: Annotated[str, Text("Optimizer: adam, adam_16bit (16-bit gradients), adam_8bit or sgd.")] = "adam",
        adapter: Annotated[
            int | None, Text("Train adapters of this rank with frozen weights (LoRA).", least=1)
        ] = None,
        frozen: Annotated[str | None, Text("Format of frozen weights, e.g. nf4 (QLoRA).")] = None,
        layers: Annotated[int | None, Text("Number of equal layers; default the model's number of layers.", least=1)] = None,
        tokens: Annotated[
            float | None, Text("Tokens of the whole training, or samples of a model without tokens: adds its time, energy and price.", least=1.0)
        ] = None,
        launch: Annotated[Literal["trl"] | None, Text("Trainer whose command is listed for each row, in place of numbers.")] = None,
        cap: Caps = None,
        top: Top = 20,
        rent: Rents = None,
        html: Page = None,
        force: Force = False,
        section: Literal["steps", "time", "memory"] = "steps",
    ) -> Rows:
        """Predict training over several devices: time of a step by cause, memory per device, model FLOPs utilization, joules and dollars.

        All combinations of the degrees of parallelism are listed, the fastest first; --batch is the micro batch. The model must be ingested with
        `--train`. Ranks are assigned to tensor, context, data and pipeline parallelism in that order, and to nodes by rows of `network`. Frameworks are
        rows of `framework`, fitted to published step times.

        --tokens 2e12 adds time, energy and price of the whole training; a message tells those of the fastest split. Energy is that of the
        devices, without hosts and cooling. --section time lists the causes of a step's time, --section memory the parts of a device's memory.

        --launch lists the command that starts the training of each row. Messages name what charz assumes and no flag sets, and the splits that
        the trainer has no flags for.
        """
        from charz.schema.catalog.devices import DeviceSplit

        self.stays_here("training over devices")
        if framework is not None:
            self._check_name("framework", framework)
        self._check_name("optimizer", optimizer)
        if frozen is not None:
            self._check_name("precision", frozen)
            if adapter is None:
                raise CharzError("frozen weights without adapters", f"--frozen {frozen}", next="add --adapter 16")
        stated = [one_of("recompute", kind, RECOMPUTED) for kind in names(recompute)]
        stages = [int(one_of("zero", stage, STAGES)) for stage in names(zero)]
        trained = self._trained_names(names(models))
        repeated = stated or (["none"] if self._recomputing(trained) else list(RECOMPUTED))
        self._check_own_rules(trained, adapter, stated)
        question = Question(
            trained, names(on), sizes(batch), sizes(sequence), names(precision), names(backend),
            names(cap), preferred=TRAINED_PRECISIONS,
        )  # fmt: skip
        scoped = self.asked(question, "training_step")
        axes = (tensor, pipeline, interleave, context, expert)
        fixed: dict[str, Any] = {
            "framework": framework, "optimizer": optimizer, "is_sequence_parallel": not no_sequence_parallel, "block_count": layers,
            "adapter_rank": adapter, "frozen_precision": frozen,
        }  # fmt: skip
        made = [
            DeviceSplit(**degrees, **fixed, split=splits.name(degrees, stage, kind), zero_stage=stage, recompute=kind)
            for degrees in _degrees([sizes(axis) for axis in axes], sizes(devices), global_batch, sizes(batch) or [1])
            for stage in stages
            for kind in repeated
        ]  # fmt: skip
        if not made:
            raise CharzError("no split", "the degrees do not divide the devices or the samples of a step")
        if len(made) > MOST_SPLITS:
            raise CharzError("too many splits", f"{len(made):,}", f"at most {MOST_SPLITS:,} are possible")
        splits.hold(scoped, made)
        limit = "" if global_batch is None else f"WHERE global_batch = {global_batch}"
        least = _SAVING if stated else _LEAST
        order = "ORDER BY samples_per_s * GREATEST(sequence, 1) DESC NULLS LAST, peak_memory_byte, hardware, split"
        self._say_ideal(scoped)
        columns = _SECTIONS[section] if html is None and launch is None else (*dict.fromkeys((*_SECTIONS["steps"], *_SECTIONS["memory"])),)
        columns = (*_counted(scoped, columns, tokens), *_HIDDEN)
        every = self.cut(scoped.rows("training_step", columns, f"{limit} {least} {order}"), top, "splits")
        rows = every.fetch()
        found = replace(every, columns=every.columns[: -len(_HIDDEN)], source=[row[: -len(_HIDDEN)] for row in rows], texts=TEXTS)
        records = [dict(zip(every.columns, row, strict=True)) for row in rows]
        owned = prices.said(self, prices.of(self, [row["hardware"] for row in records]))
        explained = self._unsaved(scoped, stated) if stated else recomputing(records)
        for line in (*usual(records, batch=batch, sequence=sequence), *lacking(records, stated), *explained, *owned):
            self.messages.remark(line)
        if launch is not None:
            for option, given in (("--layers", layers), ("--cap", cap)):
                if given:
                    self.messages.remark(f"{option} {given}: no flag of the command sets it")
        answered = found if launch is None and html is None else self._commands_of(found, records, tokens, launch is not None)
        if tokens is not None:
            self.messages.remark(_budget(answered.page or answered, tokens, "fastest" if launch is None else f"fastest that {launch} starts"))
        return answered

    def _commands_of(self, answered: Rows, records: Sequence[Mapping[str, Any]], tokens: float | None, is_listed: bool) -> Rows:
        """Return the commands of rows, or an answer whose page has the command of the first row that has one."""
        found = trainer.launched(trainer.Trainer.read(self.connection()), [trainer.known(row, tokens) for row in records], is_listed)
        for line in found.left_out:
            self.messages.warn(line)
        for line in found.notes:
            self.messages.remark(line)
        rows = [
            dict(zip(answered.columns, row, strict=True)) | {"launch": words}
            for row, words in zip(answered.fetch(), found.commands, strict=True) if words or not is_listed
        ]  # fmt: skip
        every, short = (*answered.columns, "launch"), (*(name for name in _RUN if name in answered.columns), "launch")
        page, listed = (replace(answered, columns=names, source=[tuple(row[name] for name in names) for row in rows]) for names in (every, short))
        return replace(listed if is_listed else answered, page=page)

    def _unsaved(self, scoped: Scoped, stated: Sequence[str]) -> list[str]:
        """Tell that selective recomputation is left out where it saves no memory."""
        if not {"none", "selective"} <= set(stated):
            return []
        peaks = f"SELECT recompute, peak_memory_byte, {_PLAIN} FROM training_step"
        query = f"SELECT COUNT(*) FROM ({peaks}) AS p WHERE recompute = 'selective' AND peak_memory_byte >= plain_byte"
        told = "selective recomputation, which saves no memory: the attention of this backend keeps no scores"
        return [f"left out: {told}"] if scoped.value(query) else []

    def _recomputing(self, models: list[str]) -> list[str]:
        """Return those of the models whose code recomputes."""
        query = "SELECT DISTINCT model FROM operator WHERE is_repeated AND list_contains(?, model)"
        return [model for (model,) in self.connection().execute(query, [models]).fetchall()]

    def _check_own_rules(self, models: list[str], adapter: int | None, repeated: list[str]) -> None:
        """Raise `CharzError` if the model's code already freezes weights or recomputes, and an option asks for the same."""
        connection = self.connection()
        for model in models:
            if adapter is not None and connection.execute(
                "SELECT 1 FROM tensor WHERE model = ? AND role = 'weight' AND NOT is_trained LIMIT 1", [model]
            ).fetchone():
                raise CharzError(
                    "adapters of a model that freezes weights itself", f"--adapter {adapter}", f"the code of {model} chooses the trained weights",
                    "leave --adapter out, or ingest the model without frozen weights",
                )  # fmt: skip
            if set(repeated) - {"none"} and self._recomputing([model]):
                raise CharzError(
                    "recomputation of a model that has checkpoints itself", f"--recompute {','.join(repeated)}",
                    f"the code of {model} chooses the recomputation", "leave --recompute out, or ingest the model without checkpoints",
                )  # fmt: skip

    def _say_ideal(self, scoped: Scoped) -> None:
        """Report that an answer without a framework leaves out framework overhead, and list the frameworks."""
        query = "SELECT DISTINCT framework FROM split_framework AS f JOIN run AS r ON r.run.backend = f.backend WHERE is_ideal"
        for (ideal,) in scoped.execute(query).fetchall():
            known = scoped.execute("SELECT framework, backend FROM framework WHERE backend <> '*' ORDER BY framework, backend").fetchall()
            self.messages.remark(
                f"{ideal} leaves out the overhead of a framework: kernels run as fast as under the backend alone;"
                f" --framework takes {', '.join(f'{name} ({backend})' for name, backend in known)}"
            )

    def _trained_names(self, models: list[str]) -> list[str]:
        """Append `,train` to the names of models whose backward pass the file has under that name."""
        known = dict(self.connection().execute("SELECT model, is_training FROM model").fetchall())
        found = [name if known.get(name, True) else f"{name},train" for name in models]
        found = [f"{name},train" if name not in known and f"{name},train" in known else name for name in found]
        for name in found:
            if name not in known:
                plain = name.removesuffix(",train")
                sources = dict(self.connection().execute("SELECT model, source FROM model").fetchall())
                raise CharzError("no backward pass", plain, next=f"`charz ingest {sources.get(plain, plain)} --train` adds one")
        return found

    def _check_name(self, table: str, name: str) -> None:
        known = [found for (found,) in self.connection().execute(f"SELECT {table} FROM {table} ORDER BY 1").fetchall()]
        if name not in known:
            raise unknown_name(table, name, known)


def _counted(scoped: Scoped, columns: Sequence[str], tokens: float | None) -> tuple[str, ...]:
    """Return the columns with throughput and price in tokens for models that read tokens, and in samples for the others. Those of a whole training
    follow the price."""
    ((has_tokens, has_others),) = scoped.execute("SELECT BOOL_OR(run.sequence > 1), NOT BOOL_AND(run.sequence > 1) FROM run").fetchall()
    names = [(name, name.replace("tokens", "samples")) for name in columns]
    found = list(dict.fromkeys(name for pair in names for name, is_asked in zip(pair, (has_tokens, has_others), strict=True) if is_asked))
    last = max((i + 1 for i, name in enumerate(found) if name.startswith("million_")), default=len(found))
    return (*found[:last], *_whole(tokens), *found[last:])


def lacking(rows: Sequence[Mapping[str, Any]], stated: Sequence[str] = ()) -> list[str]:
    """Tell the memory that is missing where no row fits, by the row that needs the least, and what needs less. `stated` are named recomputations."""
    if not rows or any(row["is_fitting"] or row["room_byte"] is None for row in rows):
        return []
    least = min(rows, key=lambda row: float(row["needed_byte"]) / float(row["room_byte"]))
    need, have = size(least["needed_byte"]), size(least["room_byte"])
    done = f" with {least['repeated']} recomputation" if least["repeated"] in RECOMPUTED[1:] else ""
    less = ["--recompute full"] if stated and least["repeated"] != "full" else []
    less += ["--devices 8 --zero 3", "--adapter 16 --frozen nf4" if least["frozen"] is None else "a smaller --batch or --sequence"]
    return [f"nothing fits: {least['hardware']} needs {need} a device{done} and has {have}, without the driver's share; less need {', or '.join(less)}"]


def recomputing(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Tell for each row that recomputes how much memory it would need without. `plain_byte` is that memory, `room_byte` the part's."""
    lines = [
        f"{row['hardware']}, batch {row['batch']}, sequence {row['sequence']}: {kind} recomputation in the backward pass, since without it a device"
        f" needs {size(row['plain_byte'])} of {size(row['room_byte'])}"
        for row in rows
        for kind in str(row["split"]).split()
        if kind in RECOMPUTED and row["is_fitting"]
    ]
    lines = list(dict.fromkeys(lines))
    further = [f"{len(lines) - MOST_TOLD} further rows recompute for the same reason"] if len(lines) > MOST_TOLD else []
    return [*lines[:MOST_TOLD], *further, "--recompute none,selective,full compares"] if lines else []


def usual(rows: Sequence[Mapping[str, Any]], **asked: object) -> list[str]:
    """Tell the batch and sequence that the model lends a question that names none. `asked` are the options of these names."""
    row = next((row for row in rows if (row["sequence"] or 1) > 1), None)
    lent = [name for name, value in asked.items() if value in (None, [], ())]
    if row is None or not lent:
        return []
    told = " and ".join(f"{name} {row[name]}" for name in lent)
    options = " and ".join(f"--{name}" for name in lent)
    return [f"{told}: usual of the model; {options} take{'s' if len(lent) == 1 else ''} yours, on which the hours of a training depend"]


def _whole(tokens: float | None) -> tuple[str, ...]:
    """Return the columns of a whole training, which repeats a step until it has read the tokens."""
    steps = f"{tokens!r} / (global_batch * GREATEST(sequence, 1))"
    columns = ("step_s", "million_samples_usd * global_batch / 1e6", "energy_j")
    names = ("whole_s", "whole_usd", "whole_j")
    return () if tokens is None else tuple(f"{steps} * {column} AS {name}" for column, name in zip(columns, names, strict=True))


def _budget(found: Rows, tokens: float, best: str = "fastest") -> str:
    """Tell time, energy and price of a whole training by the first split. `best` names the choice."""
    row = next((dict(zip(found.columns, row, strict=True)) for row in found.fetch()), None)
    if row is None or row["whole_s"] is None:
        return f"{tokens:g} tokens: no split fits{'' if best == 'fastest' else ' and has a command'}"
    energy_kwh = row["whole_j"] and row["whole_j"] / KWH_J
    scale, unit = (1e3, "MWh") if energy_kwh and energy_kwh >= 1e3 else (1.0, "kWh")
    energy = f"{UNKNOWN if energy_kwh is None else significant(energy_kwh / scale)} {unit}"
    span = quantity(row["whole_s"], "s").replace(" d", " days").replace(" h", " hours")
    where = " ".join(str(word) for word in (row["hardware"], row["split"]) if word != "one")
    what = "samples" if (row.get("tokens_per_s") is None and "tokens_per_s" in row) or "samples_per_s" in row else "tokens"
    return f"{best} for {tokens:g} {what}, {where}: {span}, {quantity(row['whole_usd'], 'USD')}, {energy}"


def _degrees(
    axes: list[list[int]], devices: list[int], global_batch: int | None, batches: list[int]
) -> Iterator[dict[str, Any]]:
    """Yield degrees of parallelism that divide the number of devices, with the numbers of micro batches that divide the samples of a step."""
    for tensor, pipeline, interleave, context, expert in itertools.product(*axes):
        shared = tensor * pipeline * context
        if pipeline == 1 < interleave:
            continue
        for count in devices or [shared]:
            data, rest = divmod(count, shared)
            if rest or (context * data) % expert:
                continue
            for micro_batches in _micro_batches(data, global_batch, batches):
                yield {
                    "tensor": tensor, "pipeline": pipeline, "interleave": interleave, "context": context, "expert": expert,
                    "data": data, "micro_batches": micro_batches,
                }  # fmt: skip


def _micro_batches(data: int, global_batch: int | None, batches: list[int]) -> list[int]:
    if global_batch is None:
        return [1]
    return sorted({global_batch // (data * batch) for batch in batches if global_batch % (data * batch) == 0})
