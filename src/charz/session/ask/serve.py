"""The command for a server of a language model under load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..axes import amount, names, numbers, sizes
from ..core import Core
from ..paging import paged
from ..parameters import (
    Amount,
    Backends,
    Devices,
    File,
    Force,
    Model,
    Page,
    Part,
    Parts,
    Precisions,
    Sizes,
    Text,
)
from ..question import SERVED_PRECISIONS, Question
from ..scoped import Scoped
from . import launch as launches
from . import prices, queue, server_rows, splits, trace
from .load import Load, Server, at_concurrency, at_rate, saturated
from .mix import Mix
from .queue import Lengths, Times

COLUMNS = (
    "model", "hardware", "backend", "precision", "split", "device_count", "input_tokens", "output_tokens", "rate_per_s", "concurrency",
    "load_fraction", "requests_per_s", "saturation_per_s", "is_saturated", "ttft_p50_s", "ttft_p99_s", "tpot_p50_s", "tpot_p99_s", "request_p99_s",
    "goodput_per_s", "met_fraction", "tokens_per_s", "token_j", "million_tokens_usd", "running_batch", "most_batch", "ttft_s", "ttft_mean_s",
    "ttft_p90_s", "tpot_s", "tpot_mean_s", "tpot_p90_s", "request_mean_s", "request_p50_s", "request_p90_s", "busy_fraction", "residual_fraction",
    "weight_byte", "kv_cache_byte", "peak_memory_byte", "is_simulated",
)  # fmt: skip

TEXTS = {
    "split": "Devices of the server: tp share each kernel, pp are stages of layers, ep are replicas over which experts are distributed.",
    "input_tokens": "Mean tokens of a prompt.",
    "output_tokens": "Mean tokens generated for a request.",
    "rate_per_s": "Rate of requests that arrive at random.",
    "concurrency": "Requests in flight: each is followed by the next one.",
    "load_fraction": "Rate of requests, in a closed loop of finished ones, as a share of the largest rate, `saturation_per_s`.",
    "running_batch": "Mean number of requests that decode at once.",
    "most_batch": "Largest number of requests that memory and the server let run at once.",
    "is_saturated": "True if memory or the server limits the running requests: others wait, at a rate without bound.",
    "requests_per_s": "Finished requests.",
    "saturation_per_s": "Largest rate of requests: above it the queue grows without bound.",
    "goodput_per_s": "Finished requests that meet --ttft and --tpot; null without an objective.",
    "met_fraction": "Share of the requests that meet --ttft and --tpot; null without an objective.",
    "ttft_s": "Time to the first token: the median, in a closed loop once the burst is over; null if the queue grows without bound.",
    "tpot_s": "Time per later token: the median, in a closed loop once the burst is over.",
    "tokens_per_s": "Generated tokens.",
    "token_j": "Energy of all devices for a generated token; null when a coefficient is missing.",
    "million_tokens_usd": "Price of all devices for a million generated tokens, prompts included; null when unknown.",
    "busy_fraction": (
        "Share of the time in which the device does a step or a prompt, for however few requests: a single long request keeps it busy. The share of"
        " the capacity in use is `load_fraction`."
    ),
    "residual_fraction": "Relative deviation of the running requests from Little's law in the closed form.",
    "weight_byte": "Weights on a device.",
    "kv_cache_byte": "KV cache on a device of as many running requests as the server lets run, `most_batch`.",
    "peak_memory_byte": "Memory of a device for as many requests, the share that the server leaves free included.",
}
"""Descriptions of columns."""


SLOTS = 256
"""Largest number of requests that a replica runs at once unless the user names another."""


@dataclass(frozen=True, slots=True)
class Speculation:
    """Tokens that a step verifies and accepts for a request, and the model that drafts them."""

    accepted: float = 1.0
    drafted: int = 0
    draft: str | None = None


def speculation(accepted: float | None, drafted: int, draft: str | None, acceptance: float | None) -> Speculation:
    """Check the options of speculation. With drafted tokens of a common acceptance a, a step accepts 1 + a + a^2 + … tokens on average, one for
    each drafted token and one more (Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding", equation 1).

    >>> speculation(None, 2, "hf:small", 0.5).accepted
    1.75
    """
    if None not in (accepted, acceptance):
        raise CharzError("two statements of what a step accepts", f"--accepted {accepted:g} --acceptance {acceptance:g}", next="leave one out")
    if not drafted and (draft is not None or acceptance is not None or (accepted or 1.0) > 1.0):
        raise CharzError("speculation without draft tokens", "a step that verifies none accepts one token", next="add --drafted 4")
    if draft is not None and (accepted, acceptance) == (None, None):
        raise CharzError("a draft without its acceptance", f"--draft {draft}", next="add --acceptance 0.7")
    if accepted is None:
        accepted = 1.0 if acceptance is None else sum(acceptance**i for i in range(drafted + 1))
    if accepted > drafted + 1:
        raise CharzError("more tokens accepted than verified", f"--accepted {accepted:g}", f"a step verifies {drafted} draft tokens and adds one")
    return Speculation(accepted, drafted, draft)


@dataclass(frozen=True, slots=True)
class Plan:
    """Requests and load that a command asks for."""

    model: str
    input: int
    """Mean tokens of a prompt."""
    output: int
    """Mean tokens of an answer."""
    context: int
    """Mean tokens of a running request."""
    lengths: Lengths
    slots: int
    prefix: float
    guess: Speculation
    devices: int
    """Devices that share each kernel."""
    replicas: int
    """Replicas that share the experts of a model."""
    ttft_s: float | None
    tpot_s: float | None
    stages: int = 1
    """Stages of consecutive layers in a pipeline."""
    chunk: int | None = None
    """Most tokens of prompts that a step takes; None for the server's own number."""

    @property
    def given(self) -> int:
        """Return the tokens of a prompt that are computed."""
        return max(1, round(self.input * (1.0 - self.prefix)))

    @property
    def split(self) -> str:
        """Return the name of the split over devices."""
        return splits.name({
            "tensor": self.devices, "pipeline": self.stages, "interleave": 1, "context": 1, "data": self.replicas, "expert": self.replicas,
            "micro_batches": 1,
        })  # fmt: skip


class Serve(Core):
    """Server of a language model under load."""

    @answer(files=("html",))
    @paged
    def serve(
        self,
        model: Model,
        *,
        on: Parts = None,
        input: Annotated[int, Text("Tokens of a prompt.", least=1)] = 1024,
        output: Annotated[int, Text("Tokens generated for a request.", least=1)] = 256,
        lengths: Annotated[File | None, Text("CSV or parquet file with columns prompt and output, in place of --input and --output.")] = None,
        rate: Annotated[
            float | str | Sequence[float] | None, Text("Rates of requests that arrive at random, per second: 2 or 0.5,1,2.", taken=str)
        ] = None,
        concurrency: Annotated[
            Sizes | None, Text("Numbers of requests in flight, each followed by the next: 64, 4,16,64 or 1:256 (doubling).")
        ] = None,
        ttft: Annotated[Amount | None, Text("Objective for the time to the first token, e.g. 500ms.")] = None,
        tpot: Annotated[Amount | None, Text("Objective for the time per output token, e.g. 30ms.")] = None,
        slots: Annotated[int, Text("Largest number of requests that each replica of a server runs at once.", least=1)] = SLOTS,
        prefix: Annotated[float, Text("Share of a prompt found in a prefix cache.", least=0.0, most=0.999)] = 0.0,
        draft: Annotated[str | None, Text("Ingested model that drafts tokens on the same devices.")] = None,
        drafted: Annotated[int, Text("Draft tokens that a step verifies.", least=0)] = 0,
        acceptance: Annotated[float | None, Text("Probability that a draft token is accepted.", least=0.0, most=1.0)] = None,
        accepted: Annotated[float | None, Text("Tokens that a step accepts for a request, in place of --acceptance.", least=1.0)] = None,
        prefill_on: Annotated[str | None, Text("Separate part for the prompts.")] = None,
        prefill_parts: Annotated[int, Text("Number of parts for the prompts.", least=1)] = 1,
        devices: Devices = None,
        pipeline: Annotated[Sizes | None, Text("Stages of consecutive layers, of --devices each; several are compared.")] = None,
        expert: Annotated[
            Sizes | None, Text("Replicas of --devices each over which experts are distributed; attention is data parallel. Several are compared.")
        ] = None,
        chunk: Annotated[
            int | None, Text("Most tokens of prompts that a step takes (chunked prefill); default the server's own.", least=16)
        ] = None,
        precision: Precisions = None,
        backend: Backends = None,
        version: Annotated[str | None, Text("Version of the backend.")] = None,
        kv_precision: Annotated[str | None, Text("Format of keys and values between tokens, e.g. fp8_e4m3.")] = None,
        launch: Annotated[
            Literal["vllm", "sglang", "trtllm", "llama.cpp"] | None, Text("Server whose command is listed for each split, in place of numbers.")
        ] = None,
        html: Page = None,
        force: Force = False,
    ) -> Rows:
        """Serve requests under loads: running requests, times with their percentiles, goodput, saturation, joules and dollars.

        Each of --rate and --concurrency is a row; without both all requests wait from the start. Steps and prompts of running requests share
        the device. The mean, p50, p90 and p99 of the times to the first token (ttft), per later token (tpot) and to the last token (request)
        come from a replay of the queue: of random arrivals, or of a benchmark that keeps --concurrency requests in flight and sends ten times
        as many, the burst at its start included. ttft_s and tpot_s are the medians at a rate, and at a concurrency those once the burst is over.
        goodput_per_s counts the requests that meet --ttft and --tpot. Above saturation_per_s the queue grows without bound; load is the share of
        that rate, and busy the share of time in which the device works for any request. Cost and energy include the parts of --prefill-on.

        --devices 1,2,4,8, --pipeline and --expert compare splits. --launch lists the command that starts the server of each.
        """
        if launch is not None:
            backend = launches.backend(launch, names(backend))
        given = trace.read(Path(lengths), arrives=False) if lengths is not None else None
        plan = plan_of(
            model, given or trace.Trace([input], [output], []), slots, prefix, speculation(accepted, drafted, draft, acceptance),
            (1, 1), (amount(ttft, "s", "--ttft"), amount(tpot, "s", "--tpot")),
        )  # fmt: skip
        plans = [
            replace(plan, devices=tensor, stages=stages, replicas=replicas, chunk=chunk)
            for tensor in sizes(devices) or [1]
            for stages in sizes(pipeline) or [1]
            for replicas in sizes(expert) or [1]
        ]
        rates, flights = numbers(rate, "--rate"), sizes(concurrency)
        largest = min(slots, max(flights)) if flights and not rates else slots
        kept = {"engine_version": version, "kv_precision": kv_precision}
        found = self._servers(plans, names(on), precision, backend, kept, largest, (prefill_on, prefill_parts))
        if launch is not None and html is None:
            return self._commands(found, launch, given)
        rows: list[tuple[Any, ...]] = []
        for plan, key, server, costs in found:
            loads: list[Asked] = [_of_rate(server, plan, each) for each in rates]
            loads += [_of_flight(server, plan, each) for each in flights]
            if not loads:
                loads.append(Asked(None, None, saturated(server), None))
            for asked in loads:
                if asked.rate is not None and asked.load.is_saturated:
                    self.messages.warn(
                        f"saturated: {key[0]} serves at most {server.capacity:.3g} requests a second of these; at {asked.rate:g} the queue grows without bound"
                    )
                rows.append((model, *key, plan.split, _devices(plan), plan.input, plan.output, *row_of(server, plan, asked, costs)))
        for line in prices.said(prices.of(self.connection(), [key[0] for _, key, *_ in found])):
            self.messages.remark(line)
        rows.sort(key=lambda row: (*map(str, row[1:4]), row[5], row[4], row[8] or 0, row[9] or 0))
        if launch is None:
            return Rows(COLUMNS, rows, ("llm_serving",), texts=TEXTS)
        commands = {tuple(row[1:5]): row[-1] for row in self._commands(found, launch, given).fetch()}
        return Rows((*COLUMNS, "launch"), [(*row, commands[row[1:5]]) for row in rows], ("llm_serving",), texts=TEXTS)

    def _servers(
        self, plans: Sequence[Plan], parts: Sequence[str], precision: Precisions, backend: Backends, kept: dict[str, Any], largest: int,
        apart: tuple[str | None, int],
    ) -> list[Found]:  # fmt: skip
        """Return a server and its costs for each target of plans that differ in their split; report those where no request fits."""
        plan = plans[0]
        self._check_decodes(plan.model)
        if plan.guess.draft is not None and any(each.stages > 1 for each in plans):
            raise CharzError("a draft before a pipeline", f"--draft {plan.guess.draft}", next="leave --pipeline out")
        prompts = self._runs_of_prompts(plan, kept)
        step = {
            "sequence": 1 + plan.guess.drafted if plan.guess.drafted else None,
            "phase": "prefill" if plan.guess.drafted else "decode",
            "context": plan.context,
        }
        most = -(-largest // min(each.stages for each in plans))
        batches = sorted({2**i for i in range(most.bit_length())} | {most})
        steps = [{"batch": batch, **step, **kept} for batch in batches]
        targets = self._targets_of(plans, parts, precision, backend, [*prompts, *steps])
        drafts = {}
        if plan.guess.draft is not None:
            self._check_decodes(plan.guess.draft)
            alone = [{"batch": batch, "sequence": None, "phase": "decode", "context": plan.context, **kept} for batch in batches]
            runs = _on_devices(plans, [*prompts, *alone])
            drafts = _together(map(server_rows.by_target, self._served([plan.guess.draft], parts, precision, backend, runs)))
        alone_runs = [run for run in prompts if run["sequence"] == plan.given]
        other = self._apart(plan.model, apart[0], precision, backend, _on_devices(plans[:1], alone_runs)) if apart[0] else None
        found: list[Found] = []
        for key, plan in ((key, plan) for key in targets for plan in plans):
            rows = server_rows.of_split(targets[key], plan.devices, plan.stages, plan.replicas)
            if plan.guess.draft is not None:
                if key not in drafts:
                    self.messages.warn(f"left out: {key[0]}, where {plan.guess.draft} does not run in {key[2]} under {key[1]}")
                    continue
                rows = server_rows.with_draft(rows, server_rows.of_split(drafts[key], plan.devices), plan.guess.drafted, plan.replicas)
            made = server_rows.served(rows, plan.context, plan.given, other, apart[1], plan.replicas, plan.stages, plan.chunk)
            if made is None:
                where = f"{key[0]}, {plan.split}" if len(plans) > 1 else key[0]
                self.messages.warn(f"left out: {where}, {server_rows.lacking(rows, plan.devices)}")
                continue
            serving, costs = made
            accepted = plan.guess.accepted
            most_running = min(serving.most, plan.slots * plan.replicas)
            if most_running < serving.most:
                told = f"slots limit it to {most_running:,.0f} of {serving.most:,.0f} requests that fit; --slots takes more"
                self.messages.remark(f"{key[0]}, {plan.split}: {told}")
            server = replace(serving, steps=(plan.output - 1) / accepted, most=most_running, steps_per_token=1.0 / accepted)
            found.append((plan, key, server, costs))
        return found

    def _targets_of(
        self, plans: Sequence[Plan], parts: Sequence[str], precision: Precisions, backend: Backends, runs: list[dict[str, Any]]
    ) -> dict[server_rows.Target, list[server_rows.Row]]:
        """Evaluate the runs of the plans' model by target, on each of the replicas and stages where there are several."""
        plan, runs = plans[0], _on_devices(plans, runs)
        if all(each.replicas == each.stages == 1 for each in plans):
            return _together(map(server_rows.by_target, self._served([plan.model], parts, precision, backend, runs)))
        if any(each.replicas > 1 for each in plans) and not splits.has_experts(self.connection(), [self.model_name(plan.model)]):
            raise CharzError("no experts to distribute", plan.model, "replicas without experts are separate servers", "leave --expert out")
        self.stays_here("serving over devices")
        scopes = self._served([plan.model], parts, precision, backend, runs, "serving_split")
        degrees = [sorted({getattr(each, name) for each in plans}) for name in ("devices", "stages", "replicas")]
        for scoped in scopes:
            splits.hold(scoped, list(splits.served(splits.Degrees(degrees[1], [1], degrees[2], degrees[0], most=splits.MOST_STATED))))
        return _together(map(server_rows.of_replicas, scopes))

    def _commands(self, found: Sequence[Found], engine: str, given: trace.Trace | None) -> Rows:
        """Return the commands that start servers, and tell what no flag sets."""
        facts = launches.Facts.read(self.connection(), engine)
        rows = []
        for plan, key, server, costs in found:
            row = dict(zip(("hardware", "backend", "precision"), key, strict=True)) | {
                "model": self.model_name(plan.model), "engine_version": costs["engine_version"], "kv_precision": costs["kv_precision"],
                "samples": int(server.most), "context": plan.context, **memory_of(server, costs),
            }  # fmt: skip
            degrees = {"tensor": plan.devices, "pipeline": plan.stages, "data": plan.replicas, "expert": plan.replicas}
            longest = plan.input + plan.output if given is None else max(map(sum, zip(given.prompts, given.outputs, strict=True)))
            words, notes = facts.command(row, degrees, [Mix(longest, 0, plan.context, longest)], plan.chunk)
            for line in notes:
                self.messages.remark(line)
            rows.append((plan.model, *key, plan.split, _devices(plan), int(server.most), words))
        return Rows(("model", "hardware", "backend", "precision", "split", "device_count", "most_batch", "launch"), rows, texts=TEXTS)

    def _check_decodes(self, model: str) -> None:
        query = "SELECT has_context FROM model WHERE model = ?"
        ((decodes,),) = self.connection().execute(query, [self.model_name(model)]).fetchall()
        if not decodes:
            raise CharzError("nothing to serve", model, "its graph gives no step of one token")

    def _runs_of_prompts(self, plan: Plan, kept: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the runs of a single prompt, of as many as fill a chunk of any server, and of a chunk of a longer prompt, at the mean context of
        its chunks."""
        given = plan.given
        query = "SELECT DISTINCT chunk_tokens FROM backend WHERE serves"
        chunks = [plan.chunk] if plan.chunk else [chunk for (chunk,) in self.connection().execute(query).fetchall()]
        counts = {1} | {max(1, int(chunk // given)) for chunk in chunks}
        runs = [{"batch": count, "phase": "prefill", "sequence": given, "context": plan.input, **kept} for count in sorted(counts)]
        if plan.chunk is None or plan.chunk >= given:
            return runs
        context = plan.input - (given - plan.chunk) // 2
        return [*runs, {"batch": 1, "phase": "prefill", "sequence": plan.chunk, "context": context, **kept}]

    def _served(
        self,
        models: list[str],
        parts: Sequence[str],
        precision: Precisions,
        backend: Backends,
        runs: list[dict[str, Any]],
        view: str = "llm_serving",
    ) -> list[Scoped]:
        unique = list({repr(run): run for run in runs}.values())
        question = Question(
            models, parts, precisions=names(precision), backends=names(backend), runs=unique, preferred=SERVED_PRECISIONS, serves=True,
            is_as_stored=True,
        )  # fmt: skip
        return [self.asked(one, view) for one in self.by_build(question)]

    def _apart(
        self, model: str, part: Part, precision: Precisions, backend: Backends, prompts: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """Return a prompt on a part of its own: its time, energy and price, and the link that transfers keys and values."""
        (scoped,) = self._served([model], [part], precision, backend, prompts)
        found = next(iter(server_rows.by_target(scoped).values()))
        alone = min(found, key=lambda row: row["batch"])
        link = "SELECT MAX(link_byte_per_s) FROM part_link WHERE hardware = ? AND interconnect <> 'none'"
        return alone | {"link_byte_per_s": scoped.value(link, [alone["hardware"]])}


def _together(found: Iterable[dict[server_rows.Target, list[server_rows.Row]]]) -> dict[server_rows.Target, list[server_rows.Row]]:
    """Join the rows by target of questions about different parts."""
    return {target: rows for of_parts in found for target, rows in of_parts.items()}


Found = tuple[Plan, server_rows.Target, Server, dict[str, Any]]
"""A plan, the target, and its server with costs."""


def _devices(plan: Plan) -> int:
    return plan.devices * plan.stages * plan.replicas


def _on_devices(plans: Sequence[Plan], runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return runs for each number of devices that share a kernel in the plans."""
    return [{**run, "device_count": count if count > 1 else None} for count in sorted({plan.devices for plan in plans}) for run in runs]


def memory_of(server: Server, costs: dict[str, Any]) -> dict[str, float | None]:
    """Return weights, cache and whole memory of a device while as many requests run as the server lets run. [byte]"""
    cache, peak = (costs[name] and costs[name](server.most) for name in ("cache_byte", "peak_byte"))
    return {"weight_byte": costs["weight_byte"], "kv_cache_byte": cache, "peak_memory_byte": peak and max(peak, costs["prompt_byte"])}


@dataclass(frozen=True, slots=True)
class Asked:
    """A load of a command, with the times of its requests."""

    rate: float | None
    concurrency: int | None
    load: Load
    times: Times | None
    """None where all requests wait, or the queue grows without bound."""


def _of_rate(server: Server, plan: Plan, rate: float) -> Asked:
    """Answer for random arrivals."""
    load = at_rate(server, rate)
    if load.is_saturated:
        return Asked(rate, None, load, None)
    times = queue.at_random(server, plan.lengths, rate)
    first_s, step_s = queue.summary(times.ttft())[1], _step_s(times, plan, load.step_s)
    return Asked(rate, None, replace(load, batch=times.running_s / times.end_s, first_s=first_s, step_s=step_s), times)


def _step_s(times: Times, plan: Plan, otherwise: float) -> float:
    """Return the median time of a step of the replayed requests, or another time if each request ends with its first token. [s]"""
    token_s = queue.summary(times.tpot())[1]
    return otherwise if token_s is None else token_s * plan.guess.accepted


def _of_flight(server: Server, plan: Plan, requests: int) -> Asked:
    """Answer for requests in flight."""
    return Asked(None, requests, at_concurrency(server, requests), queue.in_flight(server, plan.lengths, requests))


def of_trace(server: Server, plan: Plan, given: trace.Trace) -> Asked:
    """Answer for the arrivals of a trace. It is saturated if they are more than the server's largest rate on average."""
    times = queue.replay(server, plan.lengths, given.arrivals_s)
    span_s = given.arrivals_s[-1]
    rate = (len(given.arrivals_s) - 1) / span_s if span_s else None
    running = times.running_s / times.end_s
    load = Load(
        batch=running,
        rate_per_s=len(given.arrivals_s) / times.end_s,
        first_s=queue.summary(times.ttft())[1],
        step_s=_step_s(times, plan, server.step_s(max(running, 1.0))),
        busy_fraction=times.busy_s / times.end_s,
        residual_fraction=0.0,
        is_saturated=rate is not None and rate >= server.capacity,
    )
    return Asked(rate, None, load, times)


def plan_of(
    model: str, given: trace.Trace, slots: int, prefix: float, guess: Speculation, devices: tuple[int, int],
    objectives: tuple[float | None, float | None],
) -> Plan:  # fmt: skip
    """Summarize requests, whose mean lengths give the sizes of the evaluated runs."""
    mean = given.mean_prompt
    lengths = Lengths([prompt / mean for prompt in given.prompts], given.outputs)
    sizes_ = (max(1, round(mean)), max(1, round(given.mean_output)), max(1, int(given.mean_context)))
    return Plan(model, *sizes_, lengths, slots, prefix, guess, *devices, *objectives)


def row_of(server: Server, plan: Plan, asked: Asked, costs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the columns from `rate_per_s` on."""
    load, times = asked.load, asked.times
    tokens_per_s = load.rate_per_s * plan.output
    token_j = None
    if None not in (costs["prompt_j"], costs["step_j"], costs["static_w"]) and load.rate_per_s:
        step_j = costs["step_j"](load.batch) / max(load.batch, 1.0)
        idle_j = (1.0 - load.busy_fraction) * costs["static_w"] / load.rate_per_s
        token_j = (costs["prompt_j"] + server.steps * step_j + idle_j) / plan.output
    usd = costs["usd_per_hour"]
    million_usd = usd / 3600.0 / tokens_per_s * 1e6 if usd is not None and tokens_per_s else None
    replayed = {"ttft": [], "tpot": [], "request": []} if times is None else {"ttft": times.ttft(), "tpot": times.tpot(), "request": times.whole()}
    met = None if (plan.ttft_s, plan.tpot_s) == (None, None) else _met(plan, asked)
    found = {
        "rate_per_s": asked.rate, "concurrency": asked.concurrency, "load_fraction": (asked.rate or load.rate_per_s) / server.capacity,
        "running_batch": load.batch, "most_batch": server.most, "is_saturated": load.is_saturated, "requests_per_s": load.rate_per_s,
        "saturation_per_s": server.capacity, "goodput_per_s": None if met is None else met * load.rate_per_s, "met_fraction": met,
        "ttft_s": load.first_s, "tpot_s": load.step_s / plan.guess.accepted, "tokens_per_s": tokens_per_s, "token_j": token_j,
        "million_tokens_usd": million_usd, "busy_fraction": load.busy_fraction, "residual_fraction": load.residual_fraction,
        "is_simulated": costs["is_simulated"], **memory_of(server, costs),
    }  # fmt: skip
    for name, each in replayed.items():
        found |= dict(zip((f"{name}_{word}_s" for word in ("mean", "p50", "p90", "p99")), queue.summary(each), strict=True))
    return tuple(found[name] for name in COLUMNS[COLUMNS.index("rate_per_s") :])


def _met(plan: Plan, asked: Asked) -> float:
    """Return the share of requests that meet the objectives. Where the queue grows without bound, all requests become late."""
    if asked.times is not None:
        return asked.times.met_fraction(plan.ttft_s, plan.tpot_s)
    is_met = plan.ttft_s is None and plan.tpot_s is not None and asked.load.step_s / plan.guess.accepted <= plan.tpot_s
    return float(is_met)
