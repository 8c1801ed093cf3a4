"""The command for serving language models."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from charz.schema.errors import CharzError, some

from ..answer import Rows, answer
from ..axes import amount, formats, names, one_of, sizes
from ..core import Core
from ..paging import paged
from ..parameters import (
    Amount,
    Backends,
    Batches,
    Caps,
    Force,
    HostShare,
    KvPrecisions,
    Models,
    Page,
    Parts,
    Precisions,
    Rents,
    Sizes,
    Text,
    Versions,
)
from ..question import EIGHT_BITS, SERVED_PRECISIONS, Question
from . import accuracy, choice, lost, mix, nodes, prices, server_rows, splits, tried
from . import launch as launches
from .rents import rented
from .tried import Limits

if TYPE_CHECKING:
    from charz.schema.catalog.devices import DeviceSplit

_SPLIT = (
    "model", "hardware", "backend", "engine_version", "precision", "kv_precision", "split", "device_count", "phase", "batch", "context",
    "samples", "latency_s", "tokens_per_s", "token_j", "million_tokens_usd", "step_limit", "work_s", "tensor_s", "expert_s", "context_s",
    "send_s", "host_s", "weight_byte", "expert_read_byte", "kv_cache_byte", "peak_memory_byte", "fits_device", "is_simulated",
)  # fmt: skip

AMONG = ("datacenter", "rented", "all")
"""Classes of parts among which a choice without named parts is made."""

POWERS_OF_TWO = f"1:{splits.MOST_DEVICES}"
"""Degrees that are tried where none is named."""

NODES = "1:16"
"""Numbers of devices of which `--smallest` finds the smallest that fits, where none is named."""

NODES_SHOWN = 24
"""Number of rows that `--smallest` lists unless the user names another."""

ORDERS = {"part": "", "latency": "tpot_s", "energy": "token_j", "cost": "million_mixed_tokens_usd"}
"""Column that orders the answers within a model."""

_USED = """
    expert = 1 OR model IN (SELECT o.model FROM operator_split AS o WHERE o.is_expert)
"""
"""Condition that spreads experts only for models that have them."""

_NO_CACHE = "its graph gives no step of one token"


def _at_batch(question: Question, size: int, counts: Collection[int] | None = None) -> Question:
    """Return the question about the runs at one batch, on these numbers of devices. A prompt alone has batch 1."""
    return replace(
        question,
        runs=[
            run
            for run in question.runs
            if run["batch"] == size or (run["phase"] == "prefill" and run["batch"] == 1)
            if counts is None or (run["device_count"] or 1) in counts
        ],
    )


def _check_options(is_choice: bool, is_spread: bool, is_lost: bool, is_smallest: bool, is_launched: bool) -> None:
    """Raise `CharzError` for an option that does not apply."""
    if is_lost and not is_choice:
        raise CharzError("nothing lost", "--lost", "without limits no server is left out", "add --ttft, --tpot, --rate or --budget")
    if is_lost and is_launched:
        raise CharzError("two questions", "--lost --launch", "servers that lost have no command", "leave one out")
    if is_smallest and is_spread:
        raise CharzError("two questions", "--smallest", "it asks about one number of devices", "leave out --smallest, limits and further degrees")


def _place(row: dict[str, Any], first: str) -> tuple[Any, ...]:
    """Return the place of a row: by model, by the column `first` with missing values last, then by its conditions."""
    keys = ("hardware", "backend", "engine_version", "precision", "kv_precision", "device_count", "batch", "context")
    value = row[first] if first else None
    return (row["model"], value is None, value or 0.0, *(row[name] for name in keys))


def _degrees_of(row: Mapping[str, Any], degrees: Mapping[str, Mapping[str, int]]) -> Mapping[str, int]:
    """Return the degrees of a row's split; without a split its devices share each kernel."""
    if "split" not in row:
        return {"tensor": row["device_count"]}
    return degrees.get(row["split"]) or splits.parsed(row["split"])


def _joined(listed: Sequence[Rows]) -> Rows:
    """Join rows of one view, of which each may lack a column of the others."""
    first = max(listed, key=lambda rows: len(rows.columns))
    if len(listed) == 1:
        return first
    found = [dict(zip(rows.columns, row, strict=True)) for rows in listed for row in rows.fetch()]
    found.sort(key=lambda row: (row["model"], row["phase"], -(row["tokens_per_s"] or 0.0)))
    return replace(first, source=[tuple(row.get(name) for name in first.columns) for row in found])


class Llm(Core):
    """Serving of language models."""

    @answer(
        files=("html",),
        common=("on", "precision", "devices", "batch", "context", "smallest", "ttft", "tpot", "rate", "budget", "prompt", "output"),
    )
    @paged
    @rented
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
        devices: Annotated[
            Sizes | None,
            Text("Numbers of all devices: 8, 1,2,4 or 1:8 (doubling). Tensor parallel takes what --pipeline, --expert and --spread leave; "
                 "within limits, several equal servers may share them."),
        ] = None,
        among: Annotated[
            Literal["datacenter", "rented", "all"],
            Text("Parts of a choice without --on: of data centers, those that are rented out, or all, also gaming cards and workstations."),
        ] = "datacenter",
        smallest: Annotated[
            bool, Text("Keep the rows of the fewest devices that fit: 1, 2, 4, 8 or 16, else pipelines over 2 or 4 nodes, unless --devices names numbers.")
        ] = False,
        tensor: Annotated[Sizes | None, Text("Devices that share each kernel.")] = None,
        pipeline: Annotated[Sizes | None, Text("Stages of consecutive layers.")] = None,
        expert: Annotated[Sizes | None, Text("Replicas over which experts are distributed.")] = None,
        spread: Annotated[Sizes | None, Text("Devices that share a prompt's tokens, and a step's cache.")] = None,
        host_weights: HostShare = None,
        host_cache: HostShare = None,
        ttft: Annotated[
            Amount | None, Text("Largest time to the first token, e.g. 500ms: of 99 % of the requests at a --rate, else of one alone; lists choices.")
        ] = None,
        tpot: Annotated[
            Amount | None, Text("Largest time per token, e.g. 30ms: of 99 % of the requests at a --rate, else of a step.")
        ] = None,
        rate: Annotated[float | None, Text("Requests a second to serve; lists choices within limits.", least=1e-9)] = None,
        budget: Annotated[float | None, Text("Largest price of all devices in USD an hour; lists choices within limits.", least=0.0)] = None,
        rent: Rents = None,
        lost: Annotated[bool, Text("List the servers that are no choice within the limits, with the reason of each, in place of the choices.")] = False,
        output: Annotated[int, Text("Tokens generated for a request.", least=1)] = 256,
        launch: Annotated[
            Literal["vllm", "sglang", "trtllm", "llama.cpp"] | None, Text("Server whose command is listed for each row, in place of numbers.")
        ] = None,
        cap: Caps = None,
        top: Annotated[int | None, Text("Largest number of rows to list; default 24 with --smallest, else all.", least=1)] = None,
        html: Page = None,
        force: Force = False,
    ) -> Rows:
        """Serve language models: requests that fit, time to the first token, and time, energy and cost of tokens, by batch and context.

        ttft_s is the time to the first token of a request that arrives alone, batch_ttft_s that of a batch of prompts that arrive at once. Tokens of
        prompts and outputs have their own cost; mixed tokens have the shares of --prompt and --output.

        --ttft, --tpot, --rate or --budget list the cheapest choice of each part within these limits, unless another part is as good in dollars, devices
        and both times; messages tell why other parts lost, and --lost lists them all. A million output tokens cost what all devices cost while they
        generate them at this rate, with prompts and idle time; the saturated cost is that at the largest rate. Choices try the model's 16 bits and fp8,
        batches 1 to 256, and 1, 2, 4 and 8 devices, pipelines and distributed experts up to 64 devices, or --devices in all. At a rate the queue of
        each listed choice is replayed, and 99 % of its requests meet the limits. Without --on, choices are among parts of data centers on which a
        server of language models runs, or those of --among. --tensor, --pipeline, --expert or --spread alone list prompts and steps of these
        splits, with the time to the result and the tokens a second of all devices.

        The first line names the cheapest choice, or that none meets the limits: the exit code is then 1.

        --launch lists the command that starts the server of each row: its devices, lengths, memory and formats. Messages name what charz assumes
        and no flag sets, and the version of the server whose flags were compared.

        --smallest lists the fewest devices on which each part, precision and batch fits, the cheapest first.

        Data in host memory (--host-weights, --host-cache) is transferred over PCIe in every step, before the kernels that read it. Without
        --backend, a part takes its assumed server, or its default backend where no server runs.
        """
        if launch is not None:
            backend = launches.backend(launch, names(backend))
            for option, given in (("--host-weights", host_weights), ("--host-cache", host_cache), ("--cap", cap)):
                if given:
                    self.messages.remark(f"{option} {given}: no flag of the command sets it")
        is_choice = (ttft, tpot, rate, budget) != (None, None, None, None)
        is_spread = is_choice or (tensor, pipeline, expert, spread) != (None, None, None, None)
        _check_options(is_choice, is_spread, lost, smallest, launch is not None)
        asked = self._decoders(names(models))
        made = self._splits(asked, sizes(devices), (sizes(pipeline), sizes(spread), sizes(expert), sizes(tensor)), is_choice) if is_spread else []
        counts = sorted({split.tensor for split in made}) or sizes(devices or (NODES if smallest else None)) or [1]
        batches = sizes(batch or ("1:256" if is_choice else mix.LOADS if smallest else None)) or [1]
        if is_choice:
            # A choice needs the steps of fewer requests at once too.
            batches = sorted({*sizes(f"1:{max(batches)}"), *batches})
        asked_mixes = mix.mixes(sizes(prompt) or ([mix.USUAL_TOKENS] if is_choice and context is None else []), sizes(context), output)
        if is_choice and prompt is None and context is None:
            self.messages.remark(f"lengths: prompts of {asked_mixes[0].prompt:,} tokens and outputs of {output:,}; --prompt and --output take yours")
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
            for shared in counts
            for asked_mix in asked_mixes
            for run in mix.runs(asked_mix, batches, server_rows.full_chunks(self.connection(), asked_mix.prompt) if is_choice else None)
            if not is_spread or run["context"] == (asked_mix.prompt if run["phase"] == "prefill" else asked_mix.context)
        ]
        parts = names(on) or (self._serving_parts(one_of("among", among, AMONG), names(backend)) if is_choice or smallest else [])
        question = Question(
            asked,
            self._large_enough(asked, parts, counts) if smallest else parts,
            precisions=names(precision),
            backends=names(backend),
            caps=names(cap),
            runs=runs,
            preferred=SERVED_PRECISIONS,
            beside=(EIGHT_BITS,) if is_choice or smallest else (),
            serves=True,
            is_as_stored=True,
        )
        if devices is not None:
            self._say_unlinked(question, counts)
        known: dict[str, dict[str, int]] = {}
        if not is_spread:
            first = ORDERS[one_of("order", by, ORDERS)]
            found = self._served_alone(question, asked_mixes, batches, first, smallest, batch is None, smallest and devices is None)
            top = top or (NODES_SHOWN if smallest else None)
        else:
            limits = Limits(output, rate, amount(ttft, "s", "--ttft"), amount(tpot, "s", "--tpot"), budget, tuple(sizes(devices))) if is_choice else None
            found, known = self._served_split(question, made, limits, lost, asked_mixes[0].prompt)
        if launch is not None:
            found = self._launched(found, known, launch, asked_mixes)
        elif html is not None and not lost:
            found = self._best_launched(found, known, asked_mixes)
        return found if top is None else self.cut(found, top, "rows")

    def _splits(
        self, models: list[str], devices: list[int], named: tuple[list[int], list[int], list[int], list[int]], is_choice: bool
    ) -> list[DeviceSplit]:
        """Return the splits to try: of the named degrees of pipeline, spread, expert and tensor, or of all up to 64 devices for a choice."""
        pipelines, contexts, experts, tensors = named
        most = max(devices) if devices else splits.MOST_DEVICES if is_choice else splits.MOST_STATED
        if is_choice:
            pipelines, experts = (degrees or [d for d in sizes(POWERS_OF_TWO) if d <= most] for degrees in (pipelines, experts))
        experts = (experts or [1]) if splits.has_experts(self.connection(), models) else [1]
        tensors = tensors or (sizes("1:8") if is_choice else [] if devices else [1])
        made = list(splits.served(splits.Degrees(pipelines or [1], contexts or [1], experts, tensors, devices, most, is_shared=is_choice)))
        if not made:
            where = f"--devices {','.join(map(str, devices))}" if devices else f"more than {most} devices"
            raise CharzError("no split", where, "--tensor, --pipeline, --expert and --spread take other numbers", "name a multiple of their product")
        return made

    def _serving_parts(self, among: str, backends: Sequence[str]) -> list[str]:
        """Return the parts on which a server of language models runs, of the class that is asked for, and report the others."""
        query = "SELECT DISTINCT hardware FROM supported_backend WHERE serves AND (len(?) = 0 OR list_contains(?, backend))"
        serving = {name for (name,) in self.connection().execute(query, [backends, backends]).fetchall()}
        known = self._names("hardware")
        if not serving.intersection(known):
            return []
        if others := [name for name in known if name not in serving]:
            self.messages.remark(f"left out: {some(others, 3)}, on which no server of language models runs; --on names them")
        found = [name for name in known if name in serving]
        members = self._of_class(among)
        asked = [name for name in found if name in members]
        if among == "all" or not asked:
            return found
        if others := [name for name in found if name not in asked]:
            other = {"datacenter": "rented", "rented": "datacenter"}[among]
            told = {"datacenter": "which are no parts of data centers", "rented": "which have no stated rent"}[among]
            self.messages.remark(f"left out: {some(others, 3)}, {told}; --among {other} or all chooses among others")
        return asked

    def _of_class(self, among: str) -> set[str]:
        """Return the parts of a class of `--among`."""
        markets = "SELECT hardware FROM hardware WHERE market IN ('datacenter', 'server')"
        if among == "all":
            return set(self._names("hardware"))
        if among == "rented":
            return {part for part, kind in prices.kinds(self).items() if kind == prices.RENT}
        return {name for (name,) in self.connection().execute(markets).fetchall()}

    def _large_enough(self, models: list[str], parts: list[str], counts: Sequence[int]) -> list[str]:
        """Return the parts whose devices together have room for weights of 4 bits, and report the others. No format of weights has fewer bits."""
        joined = self.linked_devices()
        least = "SELECT MIN(parameter_count) / 2 FROM model WHERE list_contains(?, model)"
        ((byte,),) = self.connection().execute(least, [models]).fetchall()
        query = "SELECT hardware, dram_byte FROM part WHERE dram_byte IS NOT NULL"
        most = {part: dram * max((count for count in counts if count <= (joined.get(part) or 1)), default=1)
                for part, dram in self.connection().execute(query).fetchall()}
        asked = self.named_parts(parts)
        small = [part for part in asked if most.get(part, byte) < byte]
        if small and len(small) < len(asked):
            self.messages.remark(f"left out: {some(small, 3)}, whose memory is smaller than the weights in 4 bits")
            return [part for part in asked if part not in small]
        return parts

    def _say_unlinked(self, question: Question, counts: Sequence[int]) -> None:
        """Report the named numbers of devices that no link of a part joins."""
        joined, parts = self.linked_devices(), self.named_parts(question.hardware)
        for count in counts:
            most = {part: joined.get(part, 1) for part in parts if joined.get(part, 1) < count}
            if most:
                told = f"links join at most {', '.join(map(str, sorted(set(most.values()))))} of them"
                further = f"; --devices {count} --pipeline 2 spreads over two nodes" if count <= 2 * max(most.values()) else ""
                self.messages.warn(f"left out: {count} devices on {some(list(most), 3)}: {told}{further}")

    def _served_split(
        self, question: Question, made: list[DeviceSplit], limits: Limits | None, is_lost: bool, prompt: int
    ) -> tuple[Rows, dict[str, dict[str, int]]]:
        """Return the rows of servers that run on several devices, or the choices within limits, and the degrees of each split."""
        self.stays_here("serving over devices")
        scopes = [self.asked(one, "serving_split") for one in self.by_build(question)]
        for scoped in scopes:
            splits.hold(scoped, made)
        degrees = splits.degrees(scopes[0])
        if limits is None:
            self.messages.remark("batch counts the requests of each replica and stage, samples those of all")
            order = "ORDER BY model, phase, tokens_per_s DESC NULLS LAST, hardware, split, batch, context"
            listed = [scoped.rows("serving_split", _SPLIT, f"WHERE {_USED} {order}") for scoped in scopes]
            return _joined(listed), degrees
        kinds = prices.kinds(self)
        chunks = dict(self.connection().execute("SELECT backend, chunk_tokens FROM backend").fetchall())
        source = "serving_split LEFT JOIN prompt_launch USING (model, scenario_id)"
        query = f"SELECT {', '.join(choice.READ)}, COALESCE(launch_s, 0e0) AS launch_s FROM {source} WHERE {_USED}"
        rows = [row for scoped in scopes for row in scoped.records(query)]
        found = choice.chosen(rows, limits, kinds, chunks)
        told = choice.verdict(found, limits)
        losers = Rows(*lost.table(found.lost), verdict=told, is_failure=not found.choices)
        if is_lost:
            return losers, degrees
        if not found.choices:
            self.messages.warn("no choice meets the limits")
        for line in (*lost.lines(found.lost, found.choices), *prices.said(self, {row["hardware"]: row["price_kind"] for row in found.choices})):
            self.messages.remark(line)
        for line in prices.of_nodes(self.connection(), [(row["hardware"], row["devices"]) for row in found.choices]):
            self.messages.remark(line)
        self._say_choices(question, found)
        most = max(run["batch"] for run in question.runs)
        for line in (*tried.crowded(found.choices, most), *found.alone, *accuracy.lines(self.connection(), found.choices)):
            self.messages.remark(line)
        if limits.rate is None and found.choices and (limits.ttft_s, limits.tpot_s) != (None, None):
            self.messages.remark("times are those of a prompt alone and of a step: under load the prompts of others lengthen both; --rate judges that")
        if limits.rate and found.choices:
            run = question.runs[0]
            options = {"backend": question.backends, "version": run["engine_version"], "kv-precision": run["kv_precision"]}
            rents = [f"{part}={usd:g}" for part, usd in self.rents.items()]
            named = [*(option for option, value in options.items() if value), *rents]
            self.messages.remark(tried.replayed(found.choices[0], degrees, limits, prompt, named))
        beside = (("Why others lost", losers),)
        return Rows(found.columns(), found.rows, ("serving_split",), is_failure=not found.choices, texts=choice.TEXTS, verdict=told, beside=beside), degrees

    def _say_choices(self, question: Question, found: choice.Found) -> None:
        """Tell which precisions were tried, and what a price contains."""
        formats = sorted({str(loss.server[4]) for loss in found.lost} | {str(row["precision"]) for row in found.choices})
        if not question.precisions and len(formats) > 1:
            self.messages.remark(f"tried: {', '.join(formats)}; charz does not judge their accuracy; --precision names others")
        if "saturated_million_output_tokens_usd" in found.columns():
            self.messages.remark(
                "compare by million output tokens cost first: all devices at your rate, prompts and idle time included; the saturated cost is that of"
                " the same servers at their largest rate with these slots, a lower bound"
            )

    def _launched(self, answered: Rows, degrees: Mapping[str, Mapping[str, int]], engine: str, asked: Sequence[mix.Mix]) -> Rows:
        """Return the commands of rows, for a page with their numbers, and tell what no flag sets. `degrees` are those of each split."""
        rows = [dict(zip(answered.columns, row, strict=True)) for row in answered.fetch()]
        steps = [row for row in rows if row.get("phase", "decode") == "decode"]
        facts = launches.Facts.read(self.connection(), engine)
        found = []
        for row in steps:
            if not row.get("fits_device", True):
                self.messages.warn(f"left out: {row['hardware']}, {row['precision']}, batch {row['batch']}, which does not fit")
                continue
            if told := facts.lacking(row):
                self.messages.warn(told)
                continue
            words, notes = facts.command(row, _degrees_of(row, degrees), asked)
            found.append({**row, "launch": words})
            for line in notes:
                self.messages.remark(line)
        paged, columns = (*answered.columns, "launch"), tuple(name for name in launches.COLUMNS if name in ("launch", *answered.columns))
        whole, short = ([tuple(row[name] for name in each) for row in found] for each in (paged, columns))
        return replace(answered, columns=columns, source=short, page=Rows(paged, whole, answered.views, texts=answered.texts))

    def _best_launched(self, answered: Rows, degrees: Mapping[str, Mapping[str, int]], asked: Sequence[mix.Mix]) -> Rows:
        """Add the command of the best row to a page: that of the least cost, or the first one."""
        rows = [dict(zip(answered.columns, row, strict=True)) for row in answered.fetch()]
        cost = next((name for name in ("million_output_tokens_usd", "million_mixed_tokens_usd") if name in answered.columns), None)
        ordered = rows if cost is None else sorted(rows, key=lambda row: (row[cost] is None, row[cost] or 0.0))
        row = launches.best(ordered)
        if row is None:
            return answered
        facts = launches.Facts.read(self.connection(), launches.engine_of(row))
        if facts.lacking(row) is not None:
            return answered
        words, notes = facts.command(row, _degrees_of(row, degrees), asked)
        for line in notes:
            self.messages.remark(line)
        whole = [(*each.values(), words if each is row else None) for each in rows]
        return replace(answered, page=Rows((*answered.columns, "launch"), whole, answered.views, texts=answered.texts))

    def _served_alone(
        self, question: Question, asked: list[mix.Mix], batches: list[int], first: str, is_smallest: bool, is_loaded: bool, is_spread: bool
    ) -> Rows:
        """Return the rows of servers that no split changes, with the requests that fit and the cost of each mix. A smallest node `is_loaded` with the
        largest of the batches that it runs. Several nodes are tried where no node fits, if it `is_spread`."""
        least = min(batches)
        found, columns = self._alone(_at_batch(question, least) if is_loaded else question, asked, batches, is_smallest)
        if is_smallest:
            found, left = mix.smallest(found)
            if is_loaded:
                found = [row for size, rows in mix.by_load(found, batches).items() for row in self._loaded(question, asked, size, rows, least)]
            if is_spread:
                further, left = nodes.spread(self, question, left, asked, batches, is_loaded)
                found += further
            for line in mix.unfit(left):
                self.messages.remark(line)
            first = first or "million_mixed_tokens_usd"
            for line in mix.tight(found, is_loaded):
                self.messages.remark(line)
        found.sort(key=lambda row: (is_smallest and mix.is_tight(row), *_place(row, first)))
        kinds = prices.of(self, [row["hardware"] for row in found])
        whole = prices.sold(self.connection(), kinds)
        found = [
            {"split": splits.name({"tensor": row["device_count"]}), **row, "price_kind": kinds[row["hardware"]]}
            | {"nodes": prices.nodes(row["hardware"], row["device_count"], whole)}
            | mix.hourly(row, whole.get(row["hardware"], 1))
            for row in found
        ]
        for line in mix.said(found):
            self.messages.remark(line)
        counts = [(row["hardware"], row["device_count"]) for row in found]
        shared = prices.of_nodes(self.connection(), counts) if is_smallest else []
        for line in (*prices.said(self, kinds), *shared, *mix.apart(found), *accuracy.lines(self.connection(), found), *mix.MEANT):
            self.messages.remark(line)
        told = mix.verdict(found) if is_smallest else ""
        return Rows(columns, [tuple(row.get(name) for name in columns) for row in found], ("llm_serving", "run"), texts=mix.TEXTS, verdict=told)

    def _alone(self, question: Question, asked: list[mix.Mix], batches: list[int], is_smallest: bool) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        """Return the priced rows of a question about servers that no split changes, and the columns to show."""
        order = "ORDER BY model, hardware, backend, engine_version, precision, kv_precision, device_count, batch, context"
        given = (*(name for name in mix.COLUMNS if name not in mix.MADE), "prompt_tokens", "scenario_id")
        found: list[dict[str, Any]] = []
        columns: tuple[str, ...] = ()
        for one_build in self.by_build(question):
            scoped = self.asked(one_build, "llm_serving", "largest_batch")
            answered = scoped.rows("llm_serving", given, order)
            rows = [dict(zip(answered.columns, row, strict=True)) for row in answered.fetch()]
            fitting = scoped.execute("SELECT scenario_id, hardware, model, largest_batch FROM largest_batch").fetchall()
            by_model: dict[str, dict[tuple[int, str], int | None]] = {}
            for number, part, model, most in fitting:
                by_model.setdefault(model, {})[number, part] = most
            found += [
                row
                for model, largest in by_model.items()
                for one in asked
                for row in mix.priced([row for row in rows if row["model"] == model], largest, one, batches)
            ]
            columns = max(columns, scoped.shown(mix.SMALLEST if is_smallest else mix.COLUMNS), key=len)
        return found, columns

    def _loaded(
        self, question: Question, asked: list[mix.Mix], size: int, rows: Sequence[Mapping[str, Any]], least: int
    ) -> list[dict[str, Any]]:
        """Return the rows of these servers at a batch. `rows` are theirs at the least batch, which stay where a server has no other."""
        kept = {mix.server(row): dict(row) for row in rows}
        if size > least:
            parts, counts = sorted({row["hardware"] for row in rows}), {row["device_count"] for row in rows}
            found, _ = self._alone(_at_batch(replace(question, hardware=parts), size, counts), asked, [size], True)
            kept |= {
                mix.server(row): {**row, "most_requests": kept[mix.server(row)]["most_requests"]}
                for row in found if row["batch"] == size and row["fits_device"] and mix.server(row) in kept
            }  # fmt: skip
        return list(kept.values())

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
