"""The command for serving language models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..axes import amount, formats, names, one_of, sizes
from ..core import Core
from ..paging import paged
from ..parameters import (
    Amount,
    Backends,
    Batches,
    Caps,
    Devices,
    Force,
    HostShare,
    KvPrecisions,
    Models,
    Page,
    Parts,
    Precisions,
    Sizes,
    Text,
    Versions,
)
from ..question import SERVED_PRECISIONS, Question
from . import choice, mix, splits
from . import launch as launches

_SPLIT = (
    "model", "hardware", "backend", "engine_version", "precision", "kv_precision", "split", "device_count", "phase", "batch", "context",
    "samples", "latency_s", "tokens_per_s", "token_j", "million_tokens_usd", "step_limit", "work_s", "tensor_s", "expert_s", "context_s",
    "send_s", "host_s", "weight_byte", "expert_read_byte", "kv_cache_byte", "peak_memory_byte", "fits_device", "is_simulated",
)  # fmt: skip

POWERS_OF_TWO = f"1:{splits.MOST_DEVICES}"
"""Degrees that are tried where none is named."""

ORDERS = {"part": "", "latency": "tpot_s", "energy": "token_j", "cost": "million_mixed_tokens_usd"}
"""Column that orders the answers within a model."""

_USED = """
    expert = 1 OR model IN (SELECT o.model FROM operator_split AS o WHERE o.is_expert)
"""
"""Condition that spreads experts only for models that have them."""

_NO_CACHE = "its graph gives no step of one token"


def _place(row: dict[str, Any], first: str) -> tuple[Any, ...]:
    """Return the place of a row: by model, by the column `first` with missing values last, then by its conditions."""
    keys = ("hardware", "backend", "engine_version", "precision", "kv_precision", "device_count", "batch", "context")
    value = row[first] if first else None
    return (row["model"], value is None, value or 0.0, *(row[name] for name in keys))


class Llm(Core):
    """Serving of language models."""

    @answer(files=("html",))
    @paged
    def llm(
        self,
        models: Models,
        *,
        by: Annotated[
            Literal["part", "latency", "energy", "cost"],
            Text("Order: parts by name, or least time, energy or cost of a token first."),
        ] = "part",
        on: Parts = None,
        batch: Batches = None,
        context: Annotated[Sizes | None, Text("Tokens attended to: 1024 or 512:8192; the prompt is as long.")] = None,
        prompt: Annotated[Sizes | None, Text("Tokens of a prompt, in place of --context: a step attends to it and to half of --output.")] = None,
        precision: Precisions = None,
        backend: Backends = None,
        version: Versions = None,
        kv_precision: KvPrecisions = None,
        devices: Devices = None,
        pipeline: Annotated[Sizes | None, Text("Stages of consecutive layers.")] = None,
        expert: Annotated[Sizes | None, Text("Replicas over which experts are distributed.")] = None,
        spread: Annotated[Sizes | None, Text("Devices that share a prompt's tokens, and a step's cache.")] = None,
        host_weights: HostShare = None,
        host_cache: HostShare = None,
        ttft: Annotated[Amount | None, Text("Largest time to the first token, e.g. 500ms; lists choices within limits.")] = None,
        tpot: Annotated[Amount | None, Text("Largest time per token, e.g. 30ms; lists choices within limits.")] = None,
        rate: Annotated[float | None, Text("Requests a second to serve; lists choices within limits.", least=1e-9)] = None,
        budget: Annotated[float | None, Text("Largest rent of all devices in USD an hour; lists choices within limits.", least=0.0)] = None,
        output: Annotated[int, Text("Tokens generated for a request.", least=1)] = 256,
        launch: Annotated[
            Literal["vllm", "sglang", "trtllm", "llama.cpp"] | None, Text("Server whose command is listed for each row, in place of numbers.")
        ] = None,
        cap: Caps = None,
        html: Page = None,
        force: Force = False,
    ) -> Rows:
        """Serve language models: requests that fit, time to the first token, and time, energy and cost of tokens, by batch and context.

        ttft_s is the time to the first token of a request that arrives alone, batch_ttft_s that of a batch of prompts that arrive at once. Tokens of
        prompts and outputs have their own cost; mixed tokens have the shares of --prompt and --output.

        --ttft, --tpot, --rate or --budget list the cheapest choice of each part within these limits, unless another part is as good in dollars, devices
        and both times; a message tells why each other part lost. They try batches 1 to 256 on 1, 2, 4 and 8 devices unless these are named, and
        pipelines and distributed experts, up to 64 devices. --pipeline,
        --expert or --spread alone list prompts and steps of these splits, with the time to the result and the tokens a second of all devices.

        --launch lists the command that starts the server of each row: its devices, lengths, memory and formats. Messages name what charz assumes
        and no flag sets, and the version of the server whose flags were compared.

        Data in host memory (--host-weights, --host-cache) is transferred over PCIe in every step, before the kernels that read it. Without
        --backend, a part takes its assumed server, or its default backend where no server runs.
        """
        if launch is not None:
            backend = launches.backend(launch, names(backend))
            for option, given in (("--host-weights", host_weights), ("--host-cache", host_cache), ("--cap", cap)):
                if given:
                    self.messages.remark(f"{option} {given}: no flag of the command sets it")
        is_choice = (ttft, tpot, rate, budget) != (None, None, None, None)
        is_spread = is_choice or (pipeline, expert, spread) != (None, None, None)
        if is_choice:
            batch, devices = batch or "1:256", devices or "1:8"
            pipeline, expert = (degree or POWERS_OF_TWO for degree in (pipeline, expert))
        batches = sizes(batch) or [1]
        asked_mixes = mix.mixes(sizes(prompt), sizes(context), output)
        runs = [
            {
                **run,
                "engine_version": engine,
                "kv_precision": kept,
                "device_count": shared if shared > 1 else None,
                "weight_host_fraction": host_weights,
                "cache_host_fraction": host_cache,
            }
            for engine in (*names(version),) or (None,)
            for kept in formats(kv_precision)
            for shared in sizes(devices) or [1]
            for asked_mix in asked_mixes
            for run in mix.runs(asked_mix, batches)
            if not is_spread or run["context"] == (asked_mix.prompt if run["phase"] == "prefill" else asked_mix.context)
            if not is_choice or run["phase"] == "decode" or run["batch"] == 1
        ]
        asked = self._decoders(names(models))
        question = Question(
            asked,
            names(on),
            precisions=names(precision),
            backends=names(backend),
            caps=names(cap),
            runs=runs,
            preferred=SERVED_PRECISIONS,
            serves=True,
            is_as_stored=True,
        )
        known: dict[str, dict[str, int]] = {}
        if not is_spread:
            found = self._served_alone(question, asked_mixes, batches, ORDERS[one_of("order", by, ORDERS)])
        else:
            experts = (sizes(expert) or [1]) if splits.has_experts(self.connection(), asked) else [1]
            tried = (sizes(devices) or [1], sizes(pipeline) or [1], sizes(spread) or [1], experts)
            limits = choice.Limits(output, rate, amount(ttft, "s", "--ttft"), amount(tpot, "s", "--tpot"), budget) if is_choice else None
            if limits is not None and not precision:
                self.messages.remark("one precision a part is compared; `--precision fp16,fp8,int8` compares several")
            found, known = self._served_split(question, tried, limits)
        return found if launch is None else self._launched(found, known, launch, asked_mixes, is_paged=html is not None)

    def _served_split(
        self, question: Question, tried: splits.Degrees, limits: choice.Limits | None
    ) -> tuple[Rows, dict[str, dict[str, int]]]:
        """Return the rows of servers that run on several devices, or the choices within limits, and the degrees of each split."""
        self.stays_here("serving over devices")
        scoped = self.asked(question, "serving_split")
        made = list(splits.served(*tried, most=splits.MOST_STATED if limits is None else splits.MOST_DEVICES))
        if not made:
            raise CharzError("no split", "experts need devices that share a context, or replicas")
        splits.hold(scoped, made)
        degrees = splits.degrees(scoped)
        if limits is None:
            order = "ORDER BY model, phase, tokens_per_s DESC NULLS LAST, hardware, split, batch, context"
            return scoped.rows("serving_split", _SPLIT, f"WHERE {_USED} {order}"), degrees
        found = choice.chosen(scoped.records(f"SELECT {', '.join(choice.READ)} FROM serving_split WHERE {_USED}"), limits)
        if not found.rows:
            self.messages.warn("no choice meets the limits")
        for line in found.lines():
            self.messages.remark(line)
        return Rows(choice.COLUMNS, found.rows, ("serving_split",)), degrees

    def _launched(
        self, answered: Rows, degrees: Mapping[str, Mapping[str, int]], engine: str, asked: Sequence[mix.Mix], is_paged: bool
    ) -> Rows:
        """Return the commands of rows, for a page with their numbers, and tell what no flag sets. `degrees` are those of each split."""
        rows = [dict(zip(answered.columns, row, strict=True)) for row in answered.fetch()]
        steps = [row for row in rows if row.get("phase", "decode") == "decode"]
        connection = self.connection()
        origin = {model: rest for model, *rest in connection.execute("SELECT model, source, stored_policy FROM model").fetchall()}
        memory = dict(connection.execute("SELECT hardware, dram_byte FROM part").fetchall())
        query = "SELECT reserve_fraction, chunk_tokens FROM backend WHERE backend = ?"
        (server,) = connection.execute(query, [launches.ENGINES[engine]]).fetchall()
        query = f"SELECT {', '.join(launches.FLAG)} FROM launch_flag WHERE engine = ?"
        flags = [dict(zip(launches.FLAG, flag, strict=True)) for flag in connection.execute(query, [engine]).fetchall()]
        found = []
        for row in steps:
            if not row.get("fits_device", True):
                self.messages.warn(f"left out: {row['hardware']}, {row['precision']}, batch {row['batch']}, which does not fit")
                continue
            source, stored = origin[row["model"]]
            of_split = degrees[row["split"]] if "split" in row else {"tensor": row["device_count"]}
            numbers = launches.settings(row, of_split, asked, source, server, memory[row["hardware"]])
            words, notes = launches.command(flags, row, numbers, stored)
            found.append({**row, "launch": words})
            for line in (*notes, *launches.said(flags, row, source)):
                self.messages.remark(line)
        columns = [*answered.columns, "launch"] if is_paged else [name for name in launches.COLUMNS if name in ("launch", *answered.columns)]
        return Rows(tuple(columns), [tuple(row[name] for name in columns) for row in found], answered.views)

    def _served_alone(self, question: Question, asked: list[mix.Mix], batches: list[int], first: str) -> Rows:
        """Return the rows of servers that no split changes, with the requests that fit and the cost of each mix."""
        scoped = self.asked(question, "llm_serving", "largest_batch")
        order = "ORDER BY model, hardware, backend, engine_version, precision, kv_precision, device_count, batch, context"
        given = (*(name for name in mix.COLUMNS if name not in mix.MADE), "prompt_tokens", "scenario_id")
        answered = scoped.rows("llm_serving", given, order)
        rows = [dict(zip(answered.columns, row, strict=True)) for row in answered.fetch()]
        fitting = scoped.execute("SELECT scenario_id, hardware, model, largest_batch FROM largest_batch").fetchall()
        by_model: dict[str, dict[tuple[int, str], int | None]] = {}
        for number, part, model, most in fitting:
            by_model.setdefault(model, {})[number, part] = most
        found = [
            row
            for model, largest in by_model.items()
            for one in asked
            for row in mix.priced([row for row in rows if row["model"] == model], largest, one, batches)
        ]
        found.sort(key=lambda row: _place(row, first))
        for line in mix.said(found):
            self.messages.remark(line)
        self.messages.remark("a decode step generates one token for each sample of the batch")
        columns = scoped.shown(mix.COLUMNS)
        return Rows(columns, [tuple(row[name] for name in columns) for row in found], ("llm_serving", "run"))

    def _decoders(self, models: list[str]) -> list[str]:
        """Return the models that decode, and report the others. Raise `CharzError` if no model decodes."""
        query = "SELECT model FROM model WHERE has_context"
        known = {model for (model,) in self.connection().execute(query).fetchall()}
        others = [name for name in models if self.model_name(name) not in known]
        if len(others) == len(models):
            raise CharzError("nothing to serve", ", ".join(others), _NO_CACHE, self._next(others))
        if others:
            self.messages.warn(f"left out: {', '.join(others)}, {_NO_CACHE}")
        return [name for name in models if name in known]

    def _next(self, models: list[str]) -> str:
        """Tell how to ingest models that do not decode so that they do."""
        query = "SELECT COUNT(*) FROM model WHERE input_signature LIKE '%decoder_input_ids%' AND list_contains(?, model)"
        ((encoding,),) = self.connection().execute(query, [[self.model_name(name) for name in models]]).fetchall()
        if encoding:
            return "give its encoder a length: `charz ingest NAME --input input_ids=B,512:int64`"
        return "ingest a causal language model, or a recurrent one with `charz ingest NAME --sequence 1`"
