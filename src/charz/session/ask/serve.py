"""The command for a server of a language model under load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from charz.schema.errors import CharzError, some

from ..answer import Rows, answer
from ..axes import amount, names, numbers, sizes
from ..core import Core
from ..paging import paged
from ..parameters import (
    Amount,
    Backends,
    File,
    Force,
    Model,
    Page,
    Part,
    Parts,
    Precisions,
    Rents,
    Sizes,
    Text,
)
from ..quantities import quantity, significant
from ..question import EIGHT_BITS, SERVED_PRECISIONS, Question
from ..scoped import Scoped
from . import accuracy, lost, prices, queue, server_rows, splits, trace
from . import launch as launches
from .load import Load, Server, at_concurrency, at_rate, saturated
from .lost import HIGH_LOAD
from .mix import Mix
from .plans import SLOTS, Named, Plan, over, plan_of, speculation
from .queue import Times
from .rents import rented

COLUMNS = (
    "model", "hardware", "backend", "precision", "split", "device_count", "replicas", "devices", "input_tokens", "output_tokens", "rate_per_s", "concurrency",
    "load_fraction", "requests_per_s", "saturation_per_s", "is_saturated", "ttft_p50_s", "ttft_p99_s", "tpot_p50_s", "tpot_p99_s", "request_p99_s",
    "goodput_per_s", "met_fraction", "tokens_per_s", "token_j", "million_output_tokens_usd", "price_usd_per_hour", "running_batch", "most_batch",
    "ttft_s", "ttft_mean_s", "ttft_p90_s", "tpot_s", "tpot_mean_s", "tpot_p90_s", "request_mean_s", "request_p50_s", "request_p90_s",
    "busy_fraction", "residual_fraction", "weight_byte", "kv_cache_byte", "peak_memory_byte", "is_simulated",
)  # fmt: skip

TEXTS = {
    "split": "Devices of a server: tp share each kernel, pp are stages of layers, ep are replicas over which experts are distributed.",
    "device_count": "Number of devices of a server.",
    "replicas": "Number of equal servers that share the requests.",
    "devices": "Number of devices of all servers.",
    "input_tokens": "Mean tokens of a prompt.",
    "output_tokens": "Mean tokens generated for a request.",
    "rate_per_s": "Rate of requests that arrive at random.",
    "concurrency": "Requests in flight: each is followed by the next one.",
    "load_fraction": "Rate of requests, in a closed loop of finished ones, as a share of the largest rate, `saturation_per_s`.",
    "running_batch": "Mean number of requests that decode at once.",
    "most_batch": "Largest number of requests of mean length that memory and the servers let run at once.",
    "is_saturated": "True if memory or the server limits the running requests: others wait, at a rate without bound.",
    "requests_per_s": "Finished requests.",
    "saturation_per_s": "Largest rate of requests: above it the queue grows without bound.",
    "goodput_per_s": "Finished requests that meet --ttft and --tpot, in the share `met_fraction`; null without an objective.",
    "met_fraction": (
        "Share of the requests that meet --ttft and --tpot, in a closed loop of those after the burst at its start, which its percentiles contain;"
        " null without an objective."
    ),
    "ttft_s": (
        "Time to the first token: the median of the replay at a rate; in a closed loop that of a steady load by a closed form, which fits measured"
        " medians better than the replay and may exceed its percentiles; null if the queue grows without bound."
    ),
    "tpot_s": "Time per later token: the median, in a closed loop once the burst is over.",
    "tokens_per_s": "Generated tokens.",
    "token_j": "Energy of all devices for a generated token; null when a coefficient is missing.",
    "million_output_tokens_usd": "Price of all devices while they generate a million tokens at this load, prompts and idle time included; null when unknown.",
    "price_usd_per_hour": "Price of all devices, also idle ones; null when unknown.",
    "busy_fraction": (
        "Share of the time in which the device does a step or a prompt, for however few requests: a single long request keeps it busy. The share of"
        " the capacity in use is `load_fraction`."
    ),
    "residual_fraction": "Relative deviation of the running requests from Little's law in the closed form.",
    "weight_byte": "Weights on a device.",
    "kv_cache_byte": "KV cache on a device of as many running requests as its server lets run.",
    "peak_memory_byte": "Memory of a device for as many requests, the share that the server leaves free included.",
}
"""Descriptions of columns."""


MOST_RATE = "the largest rate within --ttft and --tpot"


class Serve(Core):
    """Server of a language model under load."""

    @answer(
        files=("html",),
        common=("on", "precision", "devices", "rate", "concurrency", "input", "output", "ttft", "tpot", "html"),
    )
    @paged
    @rented
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
        prefill_parts: Annotated[int, Text("Number of parts for the prompts of each server.", least=1)] = 1,
        devices: Annotated[
            Sizes | None,
            Text("Numbers of all devices: 8 or 4,8. Without degrees all splits are listed: also several equal servers, and pipelines of nodes of 8."),
        ] = None,
        tensor: Annotated[Sizes | None, Text("Devices that share each kernel; several are compared.")] = None,
        pipeline: Annotated[Sizes | None, Text("Stages of consecutive layers, of --tensor devices each; several are compared.")] = None,
        expert: Annotated[
            Sizes | None, Text("Replicas of --tensor devices each over which experts are distributed; attention is data parallel. Several are compared.")
        ] = None,
        chunk: Annotated[
            int | None, Text("Most tokens of prompts that a step takes (chunked prefill); default the server's own.", least=16)
        ] = None,
        precision: Precisions = None,
        backend: Backends = None,
        version: Annotated[str | None, Text("Version of the backend.")] = None,
        kv_precision: Annotated[str | None, Text("Format of keys and values between tokens, e.g. fp8_e4m3.")] = None,
        rent: Rents = None,
        launch: Annotated[
            Literal["vllm", "sglang", "trtllm", "llama.cpp"] | None, Text("Server whose command is listed for each split, in place of numbers.")
        ] = None,
        html: Page = None,
        force: Force = False,
    ) -> Rows:
        """Serve requests under loads: running requests, times with their percentiles, goodput, saturation, joules and dollars.

        Each of --rate and --concurrency is a row. Without both, --ttft and --tpot give the largest rate of random arrivals at which 99 % of the
        requests meet them, the cheapest split first; without objectives all requests wait from the start. Steps and prompts of running requests share
        the device. The mean, p50, p90 and p99 of the times to the first token (ttft), per later token (tpot) and to the last token (request)
        come from a replay of the queue: of random arrivals, or of a benchmark that keeps --concurrency requests in flight and sends ten times
        as many, the burst at its start included. ttft_s and tpot_s are the medians at a rate, and at a concurrency those once the burst is over.
        goodput_per_s counts the requests that meet --ttft and --tpot, at a concurrency in the share of those after the burst. Above
        saturation_per_s the queue grows without bound; load is the share of that rate, and busy the share of time in which the device works for any
        request. Cost and energy include the parts of --prefill-on.

        --devices is the number of all devices. Alone it lists all their splits: 8 devices are a server of 8, or four servers of 2 that share the
        requests; 16 are also a pipeline of two nodes. --tensor, --pipeline and --expert name degrees: with --tensor, further servers take the
        devices that the degrees leave, and without it tensor parallel takes them. Rates, running requests and prices are those of all servers.
        --launch lists the command that starts a server of each. The first line names the cheapest server, or that none meets the objectives: the
        exit code is then 1.
        """
        if launch is not None:
            backend = launches.backend(launch, names(backend))
        given = trace.read(Path(lengths), arrives=False) if lengths is not None else None
        plan = plan_of(
            model, given or trace.Trace([input], [output], []), slots, prefix, speculation(accepted, drafted, draft, acceptance),
            (1, 1), (amount(ttft, "s", "--ttft"), amount(tpot, "s", "--tpot")),
        )  # fmt: skip
        named = Named(sizes(devices), sizes(tensor), sizes(pipeline), sizes(expert))
        plans = over(replace(plan, chunk=chunk), named, splits.has_experts(self.connection(), [self.model_name(model)]))
        rates, flights = numbers(rate, "--rate"), sizes(concurrency)
        largest = min(slots, max(flights)) if flights and not rates else slots
        kept = {"engine_version": version, "kv_precision": kv_precision}
        found = self._servers(plans, names(on), precision, backend, kept, largest, (prefill_on, prefill_parts))
        if launch is not None and html is None:
            if rates or flights:
                self.messages.remark("--launch lists commands, which no load changes; without it charz answers for each load")
            return self._commands(found, launch, given)
        records = [
            dict(zip(COLUMNS, (model, *key, *devices_of(plan), plan.input, plan.output, *row_of(server, plan, asked, costs)), strict=True))
            for plan, key, server, costs in found
            for asked in self._loads(server, plan, key, rates, flights)
        ]
        for line in prices.said(self, prices.of(self, [key[0] for _, key, *_ in found])):
            self.messages.remark(line)
        if not rates and not flights and _is_limited(plan):
            self.messages.remark(
                f"{MOST_RATE}: {100 * queue.MET:.0f} % of the requests meet the objectives, the share that goodput counts; --rate and --concurrency state loads"
            )
            records.sort(key=lost.order)
        else:
            place = ("devices", "device_count", "split", "rate_per_s", "concurrency")
            records.sort(key=lambda row: (*(str(row[name]) for name in COLUMNS[1:4]), *(row[name] or 0 for name in place)))
        for line in (*accuracy.lines(self.connection(), records), *crowded(records)):
            self.messages.remark(line)
        told, is_met = verdict(records, plan, bool(rates or flights))
        rows = [tuple(record.values()) for record in records]
        answered = Rows(COLUMNS, rows, ("llm_serving",), texts=TEXTS, verdict=told, is_failure=not is_met)
        if html is None:
            return answered
        best = None if launch else launches.best(sorted(records, key=lambda row: preference(row, bool(rates or flights))))
        engine = launch or (launches.engine_of(best) if best else None)
        if engine is None:
            return answered
        meant = [one for one in found if best is None or (*one[1], *devices_of(one[0])) == tuple(best[name] for name in COLUMNS[1:8])]
        commands = {tuple(row[1:8]): row[-1] for row in self._commands(meant, engine, given).fetch()}
        is_listed = [best is None or row == tuple(best.values()) for row in rows]
        launched = [(*row, commands.get(row[1:8]) if listed else None) for row, listed in zip(rows, is_listed, strict=True)]
        page = replace(answered, columns=(*COLUMNS, "launch"), source=launched)
        return page if launch else replace(answered, page=page)

    def _loads(self, server: Server, plan: Plan, target: server_rows.Target, rates: Sequence[float], flights: Sequence[int]) -> list[Asked]:
        """Answer for each load of a question, or for the largest rate within its objectives."""
        if not rates and not flights and _is_limited(plan):
            share = queue.largest_rate(server, plan.lengths, plan.ttft_s, plan.tpot_s)
            if share is None:
                where = f"{target[0]} in {target[2]}, {plan.name}"
                first, step = quantity(server.first_s, "s"), quantity(server.step_s(1.0) * server.steps_per_token, "s")
                self.messages.warn(f"left out: {where}, no rate meets the objectives: a request alone takes {first} to the first token and {step} a token")
                return []
            rates = [share * plan.servers]
        loads = [_of_rate(server, plan, each) for each in rates] + [_of_flight(server, plan, each) for each in flights]
        return loads or [Asked(None, None, saturated(server), None, plan.servers)]

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
        others = self._apart(plan.model, apart[0], precision, backend, _on_devices(plans[:1], alone_runs)) if apart[0] else {}
        found: list[Found] = []
        lacking: dict[tuple[str, str], list[tuple[Plan, list[server_rows.Row]]]] = {}
        limited: list[str] = []
        for key, plan in ((key, plan) for key in targets for plan in plans):
            rows = server_rows.of_split(targets[key], plan.tensor, plan.stages, plan.expert)
            if plan.guess.draft is not None:
                if key not in drafts:
                    self.messages.warn(f"left out: {key[0]}, where {plan.guess.draft} does not run in {key[2]} under {key[1]}")
                    continue
                rows = server_rows.with_draft(rows, server_rows.of_split(drafts[key], plan.tensor), plan.guess.drafted, plan.expert)
            if others and key[2] not in others:
                self.messages.warn(f"left out: {key[2]}, in which {apart[0]} does not compute the prompts")
                continue
            made = server_rows.served(rows, plan.context, plan.given, others.get(key[2]), apart[1], plan.expert, plan.stages, plan.chunk)
            if made is None:
                lacking.setdefault((key[0], key[2]), []).append((plan, rows))
                continue
            serving, costs = made
            accepted = plan.guess.accepted
            most_running = min(serving.most, plan.slots * plan.expert)
            if most_running < serving.most:
                limited.append(f"{key[0]} in {key[2]}, {plan.split}, to {most_running:,.0f} of {serving.most:,.0f} requests that fit")
            server = replace(serving, steps=(plan.output - 1) / accepted, most=most_running, steps_per_token=1.0 / accepted)
            found.append((plan, key, server, costs))
        if limited:
            self.messages.remark(f"slots limit {some(limited, 1)}; servers with the same limit may tie; --slots takes more")
        with_room = {key[0] for _, key, *_ in found}
        for (part, precision), without in lacking.items():
            where = f"{part} in {precision}" + (f", {', '.join(dict.fromkeys(plan.split for plan, _ in without))}" if len(plans) > 1 else "")
            plan, rows = min(without, key=lambda one: server_rows.least_byte(one[1]))
            self.messages.warn(f"left out: {where}, {server_rows.lacking(rows, None if part in with_room else plan.tensor)}")
        return found

    def _targets_of(
        self, plans: Sequence[Plan], parts: Sequence[str], precision: Precisions, backend: Backends, runs: list[dict[str, Any]]
    ) -> dict[server_rows.Target, list[server_rows.Row]]:
        """Evaluate the runs of the plans' model by target, on each of the replicas and stages where there are several."""
        plan, runs = plans[0], _on_devices(plans, runs)
        if all(each.expert == each.stages == 1 for each in plans):
            return _together(map(server_rows.by_target, self._served([plan.model], parts, precision, backend, runs)))
        if any(each.expert > 1 for each in plans) and not splits.has_experts(self.connection(), [self.model_name(plan.model)]):
            raise CharzError("no experts to distribute", plan.model, "replicas without experts are separate servers", "leave --expert out")
        self.stays_here("serving over devices")
        scopes = self._served([plan.model], parts, precision, backend, runs, "serving_split")
        degrees = dict.fromkeys((each.tensor, each.stages, each.expert) for each in plans)
        made = [one for t, s, e in degrees for one in splits.served(splits.Degrees([s], [1], [e], [t], most=splits.MOST_STATED))]
        for scoped in scopes:
            splits.hold(scoped, made)
        return _together(map(server_rows.of_replicas, scopes))

    def _commands(self, found: Sequence[Found], engine: str, given: trace.Trace | None) -> Rows:
        """Return the commands that start servers, and tell what no flag sets."""
        facts = launches.Facts.read(self.connection(), engine)
        rows = []
        for plan, key, server, costs in found:
            row = dict(zip(("hardware", "backend", "precision"), key, strict=True)) | {
                "model": self.model_name(plan.model), "engine_version": costs["engine_version"], "kv_precision": costs["kv_precision"],
                "samples": int(server.most), "context": plan.context, "split": plan.split, "replicas": plan.servers, **memory_of(server, costs),
            }  # fmt: skip
            if told := facts.lacking(row):
                self.messages.warn(told)
                continue
            degrees = {"tensor": plan.tensor, "pipeline": plan.stages, "data": plan.expert, "expert": plan.expert}
            longest = plan.input + plan.output if given is None else max(map(sum, zip(given.prompts, given.outputs, strict=True)))
            words, notes = facts.command(row, degrees, [Mix(longest, 0, plan.context, longest)], plan.chunk)
            for line in notes:
                self.messages.remark(line)
            rows.append((plan.model, *key, *devices_of(plan), int(server.most) * plan.servers, words))
        columns = ("model", "hardware", "backend", "precision", "split", "device_count", "replicas", "devices", "most_batch", "launch")
        return Rows(columns, rows, texts=TEXTS)

    def _check_decodes(self, model: str) -> None:
        query = "SELECT has_context FROM model WHERE model = ?"
        ((decodes,),) = self.connection().execute(query, [self.model_name(model)]).fetchall()
        if not decodes:
            raise CharzError("nothing to serve", model, "its graph gives no step of one token")

    def _runs_of_prompts(self, plan: Plan, kept: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the runs of a single prompt, of as many as fill a chunk of any server, and of a chunk of a longer prompt, at the mean context of
        its chunks."""
        given = plan.given
        full = {server_rows.in_full_chunk(plan.chunk, given)} if plan.chunk else server_rows.full_chunks(self.connection(), given)
        counts = {1} | full
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
            models, parts, precisions=names(precision), backends=names(backend), runs=unique, preferred=SERVED_PRECISIONS, beside=(EIGHT_BITS,),
            serves=True, is_as_stored=True,
        )  # fmt: skip
        return [self.asked(one, view) for one in self.by_build(question)]

    def _apart(
        self, model: str, part: Part, precision: Precisions, backend: Backends, prompts: list[dict[str, Any]]
    ) -> dict[str, dict[str, Any]]:
        """Return a prompt on a part of its own in each precision: its time, energy and price, and the link that transfers keys and values."""
        (scoped,) = self._served([model], [part], precision, backend, prompts)
        link = "SELECT MAX(link_byte_per_s) FROM part_link WHERE hardware = ? AND interconnect <> 'none'"
        return {
            target[2]: min(rows, key=lambda row: row["batch"]) | {"link_byte_per_s": scoped.value(link, [target[0]])}
            for target, rows in server_rows.by_target(scoped).items()
        }


def _together(found: Iterable[dict[server_rows.Target, list[server_rows.Row]]]) -> dict[server_rows.Target, list[server_rows.Row]]:
    """Join the rows by target of questions about different parts."""
    return {target: rows for of_parts in found for target, rows in of_parts.items()}


Found = tuple[Plan, server_rows.Target, Server, dict[str, Any]]
"""A plan, the target, and its server with costs."""


def verdict(rows: Sequence[dict[str, Any]], plan: Plan, is_loaded: bool) -> tuple[str, bool]:
    """Tell the cheapest server, under stated loads at the largest one within the objectives, or that none meets them. Also tell whether one does."""
    times = " and ".join(f"{name} {quantity(value, 's')}" for name, value in (("TTFT", plan.ttft_s), ("TPOT", plan.tpot_s)) if value is not None)
    bearing = [row for row in rows if row["rate_per_s"] is None or not row["is_saturated"]]
    meeting = [row for row in bearing if not times or (row["met_fraction"] or 0.0) >= queue.MET]
    if not meeting:
        nearest = max(bearing, key=lambda row: row["met_fraction"] or 0.0, default=None)
        share = "" if nearest is None else f": at best {100 * (nearest['met_fraction'] or 0.0):.3g} % of the requests do, on {lost.bought(nearest)}"
        return f"none meets {times}{share}" if times else "none bears these rates", not times
    best = min(meeting, key=lambda row: preference(row, is_loaded))
    usd = best["million_output_tokens_usd"]
    price = "of unknown price" if usd is None else f"{significant(usd)} USD a million output tokens"
    judged = "the requests" if best["concurrency"] is None else f"the requests after the opening burst of {best['concurrency']}"
    met = f"; {100 * best['met_fraction']:.3g} % of {judged} meet {times}" if times else ""
    above = {f"{row['rate_per_s']:g}" for row in rows if is_loaded and best["rate_per_s"] and (row["rate_per_s"] or 0.0) > best["rate_per_s"]}
    beyond = f"; none {'meets them' if times else 'bears'} at {', '.join(sorted(above, key=float))}" if above else ""
    return f"cheapest: {lost.bought(best)}: {price} at {significant(best['requests_per_s'])} requests/s{met}{beyond}", True


def preference(row: lost.Record, is_loaded: bool) -> tuple[Any, ...]:
    """Return a sort key: servers within the objectives come first, then the largest stated load, then the best server."""
    loads = (row["rate_per_s"] or 0.0, row["concurrency"] or 0.0) if is_loaded else (0.0, 0.0)
    return _is_missed(row), -loads[0], -loads[1], lost.order(row)


def crowded(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Tell in a line each which servers run near their largest rate, and which do not bear a rate."""
    full = [row for row in rows if row["rate_per_s"] is not None and not row["is_saturated"] and row["load_fraction"] > HIGH_LOAD]
    named = [f"{lost.bought(row)} at {100 * row['load_fraction']:.0f} %" for row in full]
    over = dict.fromkeys(
        f"{lost.bought(row)} serves at most {significant(row['saturation_per_s'])} a second" for row in rows if row["rate_per_s"] and row["is_saturated"]
    )
    lines = [f"waiting times grow fast above {100 * HIGH_LOAD:.0f} % of the largest rate: {some(named, 3)}"] if full else []
    return lines + ([f"saturated rows, whose queue grows without bound: {some(list(over), 3)}"] if over else [])


def devices_of(plan: Plan) -> tuple[str, int, int, int]:
    """Return the split, and the devices of a server and of all."""
    return plan.split, plan.device_count, plan.servers, plan.servers * plan.device_count


def _on_devices(plans: Sequence[Plan], runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return runs for each number of devices that share a kernel in the plans."""
    return [{**run, "device_count": count if count > 1 else None} for count in sorted({plan.tensor for plan in plans}) for run in runs]


def memory_of(server: Server, costs: dict[str, Any]) -> dict[str, float | None]:
    """Return weights, cache and whole memory of a device while as many requests run as the server lets run. [byte]"""
    weights, cache, peak = (costs[name] and costs[name](server.most) for name in ("weight_byte", "cache_byte", "peak_byte"))
    return {"weight_byte": weights, "kv_cache_byte": cache, "peak_memory_byte": peak and max(peak, costs["prompt_byte"])}


@dataclass(frozen=True, slots=True)
class Asked:
    """A load of a command, with the times of its requests."""

    rate: float | None
    concurrency: int | None
    load: Load
    times: Times | None
    """None where all requests wait, or the queue grows without bound."""
    servers: float = 1.0
    """Number of equal servers that have this load."""


def _of_rate(server: Server, plan: Plan, rate: float) -> Asked:
    """Answer for random arrivals at a rate. Each of several servers takes its share of them, which arrives at random too."""
    share = rate / plan.servers
    load = at_rate(server, share)
    if load.is_saturated:
        return Asked(rate, None, load, None, plan.servers)
    times = queue.at_random(server, plan.lengths, share)
    first_s, step_s = queue.summary(times.ttft())[1], _step_s(times, plan, load.step_s)
    return Asked(rate, None, replace(load, batch=times.running_s / times.end_s, first_s=first_s, step_s=step_s), times, plan.servers)


def _step_s(times: Times, plan: Plan, otherwise: float) -> float:
    """Return the median time of a step of the replayed requests, or another time if each request ends with its first token. [s]"""
    token_s = queue.summary(times.tpot())[1]
    return otherwise if token_s is None else token_s * plan.guess.accepted


def _of_flight(server: Server, plan: Plan, requests: int) -> Asked:
    """Answer for requests in flight, of which each of several servers has its share."""
    share = -(-requests // plan.servers)
    return Asked(None, requests, at_concurrency(server, share), queue.in_flight(server, plan.lengths, share), requests / share)


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


def row_of(server: Server, plan: Plan, asked: Asked, costs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the columns from `rate_per_s` on."""
    load, times, busy = asked.load, asked.times, asked.servers
    rate = busy * load.rate_per_s
    tokens_per_s = rate * plan.output
    token_j = None
    if None not in (costs["prompt_j"], costs["step_j"], costs["static_w"]) and load.rate_per_s:
        step_j = costs["step_j"](load.batch) / max(load.batch, 1.0)
        idle_j = (plan.servers - busy * load.busy_fraction) * costs["static_w"] / rate
        token_j = (costs["prompt_j"] + server.steps * step_j + idle_j) / plan.output
    usd = costs["usd_per_hour"]
    million_usd = plan.servers * usd / 3600.0 / tokens_per_s * 1e6 if usd is not None and tokens_per_s else None
    replayed = {"ttft": [], "tpot": [], "request": []} if times is None else {"ttft": times.ttft(), "tpot": times.tpot(), "request": times.whole()}
    met = _met(plan, asked) if _is_limited(plan) else None
    found = {
        "rate_per_s": asked.rate, "concurrency": asked.concurrency, "load_fraction": (asked.rate or rate) / (plan.servers * server.capacity),
        "running_batch": busy * load.batch, "most_batch": plan.servers * server.most, "is_saturated": load.is_saturated, "requests_per_s": rate,
        "saturation_per_s": plan.servers * server.capacity, "goodput_per_s": None if met is None else met * rate, "met_fraction": met,
        "ttft_s": load.first_s, "tpot_s": load.step_s / plan.guess.accepted, "tokens_per_s": tokens_per_s, "token_j": token_j,
        "million_output_tokens_usd": million_usd,
        "price_usd_per_hour": None if usd is None else plan.servers * usd, "busy_fraction": load.busy_fraction, "residual_fraction": load.residual_fraction,
        "is_simulated": costs["is_simulated"], **memory_of(server, costs),
    }  # fmt: skip
    for name, each in replayed.items():
        found |= dict(zip((f"{name}_{word}_s" for word in ("mean", "p50", "p90", "p99")), queue.summary(each), strict=True))
    return tuple(found[name] for name in COLUMNS[COLUMNS.index("rate_per_s") :])


def _is_missed(row: lost.Record) -> bool:
    """Return True if a row does not meet the objectives."""
    return row["met_fraction"] is not None and row["met_fraction"] < queue.MET


def _is_limited(plan: Plan) -> bool:
    """Return True if a plan has an objective."""
    return (plan.ttft_s, plan.tpot_s) != (None, None)


def _met(plan: Plan, asked: Asked) -> float:
    """Return the share of requests that meet the objectives. Where the queue grows without bound, all requests become late."""
    if asked.times is not None:
        return asked.times.met_fraction(plan.ttft_s, plan.tpot_s)
    is_met = plan.ttft_s is None and plan.tpot_s is not None and asked.load.step_s / plan.guess.accepted <= plan.tpot_s
    return float(is_met)
