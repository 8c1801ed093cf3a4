"""The command for a server of a language model under load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..axes import amount, names, numbers, sizes
from ..core import Core
from ..parameters import (
    Amount,
    Backends,
    File,
    Model,
    Part,
    Parts,
    Precisions,
    Sizes,
    Text,
)
from ..question import SERVED_PRECISIONS, Question
from ..scoped import Scoped
from . import queue, trace
from .load import Curve, Load, Server, at_concurrency, at_rate, saturated
from .queue import Lengths, Times

COLUMNS = (
    "model", "hardware", "backend", "precision", "device_count", "input_tokens", "output_tokens", "rate_per_s", "concurrency",
    "running_batch", "most_batch", "is_saturated", "requests_per_s", "saturation_per_s", "goodput_per_s", "met_fraction",
    "ttft_s", "ttft_mean_s", "ttft_p50_s", "ttft_p90_s", "ttft_p99_s", "tpot_s", "tpot_mean_s", "tpot_p50_s", "tpot_p90_s", "tpot_p99_s",
    "request_mean_s", "request_p50_s", "request_p90_s", "request_p99_s", "tokens_per_s", "token_j", "million_tokens_usd", "busy_fraction",
    "residual_fraction", "is_simulated",
)  # fmt: skip


SLOTS = 256
"""Largest number of requests that a server runs at once unless the user names another."""


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
    accepted: float
    drafted: int
    devices: int
    ttft_s: float | None
    tpot_s: float | None

    @property
    def given(self) -> int:
        """Return the tokens of a prompt that are computed."""
        return max(1, round(self.input * (1.0 - self.prefix)))


class Serve(Core):
    """Server of a language model under load."""

    @answer()
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
        slots: Annotated[int, Text("Largest number of requests that the server runs at once.", least=1)] = SLOTS,
        prefix: Annotated[float, Text("Share of a prompt found in a prefix cache.", least=0.0, most=0.999)] = 0.0,
        accepted: Annotated[float, Text("Tokens that a step accepts for a request, with speculation.", least=1.0)] = 1.0,
        drafted: Annotated[int, Text("Draft tokens that a step verifies.", least=0)] = 0,
        prefill_on: Annotated[str | None, Text("Separate part for the prompts.")] = None,
        prefill_parts: Annotated[int, Text("Number of parts for the prompts.", least=1)] = 1,
        devices: Annotated[int, Text("Devices that share each kernel by tensor parallel.", least=1)] = 1,
        precision: Precisions = None,
        backend: Backends = None,
        version: Annotated[str | None, Text("Version of the backend.")] = None,
        kv_precision: Annotated[str | None, Text("Format of keys and values between tokens, e.g. fp8_e4m3.")] = None,
    ) -> Rows:
        """Serve requests under loads: running requests, times with their percentiles, goodput, saturation, joules and dollars.

        Each of --rate and --concurrency is a row; without both all requests wait from the start. Steps and prompts of running requests share
        the device. The mean, p50, p90 and p99 of the times to the first token (ttft), per later token (tpot) and to the last token (request)
        come from a replay of the queue: of random arrivals, or of a benchmark that keeps --concurrency requests in flight and sends ten times
        as many, the burst at its start included. ttft_s and tpot_s are the medians at a rate, and at a concurrency those once the burst is over.
        goodput_per_s counts the requests that meet --ttft and --tpot. Above saturation_per_s the queue grows without bound. Cost and energy
        include the parts of --prefill-on.
        """
        given = trace.read(Path(lengths), arrives=False) if lengths is not None else None
        plan = plan_of(
            model, given or trace.Trace([input], [output], []), slots, prefix, accepted, drafted, devices,
            (amount(ttft, "s", "--ttft"), amount(tpot, "s", "--tpot")),
        )  # fmt: skip
        rates, flights = numbers(rate, "--rate"), sizes(concurrency)
        largest = min(slots, max(flights)) if flights and not rates else slots
        kept = {"engine_version": version, "kv_precision": kv_precision, "device_count": devices if devices > 1 else None}
        found = self._servers(plan, names(on), precision, backend, kept, largest, (prefill_on, prefill_parts))
        rows: list[tuple[Any, ...]] = []
        for key, server, costs in found:
            loads: list[Asked] = [_of_rate(server, plan, each) for each in rates]
            loads += [_of_flight(server, plan, each) for each in flights]
            if not loads:
                loads.append(Asked(None, None, saturated(server), None))
            for asked in loads:
                if asked.rate is not None and asked.load.is_saturated:
                    self.messages.warn(
                        f"saturated: {key[0]} serves at most {server.capacity:.3g} requests a second of these; at {asked.rate:g} the queue grows without bound"
                    )
                rows.append((model, *key, devices, plan.input, plan.output, *row_of(server, plan, asked, costs)))
        return Rows(COLUMNS, sorted(rows, key=lambda row: (*map(str, row[1:4]), row[7] or 0, row[8] or 0)), ("llm_serving",))

    def _servers(
        self, plan: Plan, parts: Sequence[str], precision: Precisions, backend: Backends, kept: dict[str, Any], largest: int,
        apart: tuple[str | None, int],
    ) -> list[tuple[tuple[str, str, str], Server, dict[str, Any]]]:  # fmt: skip
        """Return a server and its costs for each target; report those where no request fits."""
        self._check_decodes(plan.model)
        prompts = self._runs_of_prompts(plan.input, plan.given, kept)
        step = {
            "sequence": 1 + plan.drafted if plan.drafted else None,
            "phase": "prefill" if plan.drafted else "decode",
            "context": plan.context,
        }
        batches = sorted({2**i for i in range(largest.bit_length())} | {largest})
        steps = [{"batch": batch, **step, **kept} for batch in batches]
        scoped = self._served([plan.model], parts, precision, backend, [*prompts, *steps])
        other = self._apart(plan.model, apart[0], precision, backend, prompts) if apart[0] else None
        found = []
        for key, rows in _by_target(scoped).items():
            made = _served_rows(rows, plan.context, plan.given, other, apart[1])
            if made is None:
                self.messages.warn(f"left out: {key[0]}, where no request fits or the step has no time")
                continue
            server, costs = made
            steps_of_all = (plan.output - 1) / plan.accepted
            found.append((key, replace(server, steps=steps_of_all, most=min(server.most, plan.slots), steps_per_token=1.0 / plan.accepted), costs))
        return found

    def _check_decodes(self, model: str) -> None:
        query = "SELECT has_context FROM model WHERE model = ?"
        ((decodes,),) = self.connection().execute(query, [self.model_name(model)]).fetchall()
        if not decodes:
            raise CharzError("nothing to serve", model, "its graph gives no step of one token")

    def _runs_of_prompts(self, input: int, given: int, kept: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the runs of a single prompt, and of as many as fill a chunk of any server."""
        query = "SELECT DISTINCT chunk_tokens FROM backend WHERE serves"
        counts = {1} | {max(1, int(chunk // given)) for (chunk,) in self.connection().execute(query).fetchall()}
        return [
            {"batch": count, "phase": "prefill", "sequence": given, "context": input, **kept}
            for count in sorted(counts)
        ]

    def _served(
        self,
        models: list[str],
        parts: Sequence[str],
        precision: Precisions,
        backend: Backends,
        runs: list[dict[str, Any]],
    ) -> Scoped:
        unique = list({repr(run): run for run in runs}.values())
        return self.asked(
            Question(
                models, parts, precisions=names(precision), backends=names(backend), runs=unique,
                preferred=SERVED_PRECISIONS, serves=True,
            is_as_stored=True,
            ),
            "llm_serving",
        )  # fmt: skip

    def _apart(
        self, model: str, part: Part, precision: Precisions, backend: Backends, prompts: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """Return a prompt on a part of its own: its time, energy and price, and the link that transfers keys and values."""
        scoped = self._served([model], [part], precision, backend, prompts)
        found = next(iter(_by_target(scoped).values()))
        alone = min(found, key=lambda row: row["batch"])
        link = "SELECT MAX(link_byte_per_s) FROM part_link WHERE hardware = ? AND interconnect <> 'none'"
        return alone | {"link_byte_per_s": scoped.value(link, [alone["hardware"]])}


_TARGET = ("hardware", "backend", "precision")

_RUN = (*_TARGET, "scenario_id")


def _by_target(scoped: Scoped) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    """Group the rows of every run by part, backend and precision: times, costs, static power, memory and the largest batch."""
    static = _known(scoped, "model_cost", "static_w")
    largest = _known(scoped, "largest_batch", "largest_batch")
    cache = dict(scoped.execute("SELECT run.scenario_id, kv_cache_byte FROM run_memory").fetchall())
    chunk = dict(scoped.execute("SELECT backend, chunk_tokens FROM backend").fetchall())
    launch = dict(scoped.execute("SELECT scenario_id, launch_s FROM prompt_launch").fetchall())
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in scoped.records("SELECT * FROM target_cost"):
        run = tuple(row[name] for name in _RUN)
        row |= {
            "static_w": static.get(run), "largest_batch": largest.get(run), "kv_cache_byte": cache[row["scenario_id"]],
            "chunk_tokens": chunk[row["backend"]], "prompt_launch_s": launch.get(row["scenario_id"]) or 0.0,
        }  # fmt: skip
        found.setdefault((row["hardware"], row["backend"], row["precision"]), []).append(row)
    return found


def _known(scoped: Scoped, view: str, column: str) -> dict[tuple[Any, ...], Any]:
    """Return a column of a view by run and part."""
    rows = scoped.execute(f"SELECT {', '.join(_RUN)}, {column} FROM {view}").fetchall()
    return {tuple(key): value for *key, value in rows}


def _served_rows(
    rows: list[dict[str, Any]], context: int, given: int, apart: dict[str, Any] | None, parts: int
) -> tuple[Server, dict[str, Any]] | None:
    """Build a target's server from its steps and prompts, and its costs; None where no request fits."""
    steps = sorted((r for r in rows if r["context"] == context and r["sequence"] != given), key=lambda r: r["batch"])
    prompts = sorted((r for r in rows if r["sequence"] == given and r not in steps), key=lambda r: r["batch"])
    if not steps or not prompts or any(r["latency_s"] is None for r in (*steps, *prompts)):
        return None
    most = steps[0]["largest_batch"]
    if not most:
        return None
    alone = prompts[0]
    chunk = max(1, int((alone["chunk_tokens"] or given) // given))
    full = next((r for r in prompts if r["batch"] == chunk), alone)
    batches = [float(r["batch"]) for r in steps]
    costs = {
        "prompt_j": None if full["energy_j"] is None else full["energy_j"] / full["batch"],
        "step_j": None if any(r["energy_j"] is None for r in steps) else Curve(batches, [r["energy_j"] for r in steps]),
        "static_w": None if alone["static_w"] is None else alone["static_w"] * alone["device_count"],
        "usd_per_hour": None
        if alone["price_usd_per_hour"] is None
        else alone["price_usd_per_hour"] * alone["device_count"],
        "is_simulated": alone["is_simulated"],
    }
    device_s = max(alone["latency_s"] - alone["prompt_launch_s"], 0.0)
    prompt_s = device_s if full is alone else max(full["latency_s"] - alone["latency_s"], 0.0) / (full["batch"] - alone["batch"])
    chunk_s, first_s, prompts_per_s = max(device_s - prompt_s, 0.0), alone["latency_s"], float("inf")
    if apart is not None:
        if apart["latency_s"] is None or not apart["link_byte_per_s"]:
            return None
        first_s = apart["latency_s"] + alone["kv_cache_byte"] * alone["device_count"] / apart["link_byte_per_s"]
        prompt_s, chunk_s, prompts_per_s = 0.0, 0.0, parts / apart["latency_s"]
        costs["prompt_j"] = apart["energy_j"]
        known = costs["usd_per_hour"] is not None and apart["price_usd_per_hour"] is not None
        costs["usd_per_hour"] = (
            costs["usd_per_hour"] + parts * apart["price_usd_per_hour"] * apart["device_count"] if known else None
        )
    curve = Curve(batches, [r["latency_s"] for r in steps])
    in_chunk = (alone["chunk_tokens"] or given) / given
    most_prompts = float(full["batch"]) if in_chunk >= 1.0 else in_chunk
    return Server(curve, 0.0, prompt_s, first_s, float(most), prompts_per_s, chunk_s, most_prompts, parts if apart is not None else 0), costs


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
    return otherwise if token_s is None else token_s * plan.accepted


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
    model: str, given: trace.Trace, slots: int, prefix: float, accepted: float, drafted: int, devices: int,
    objectives: tuple[float | None, float | None],
) -> Plan:  # fmt: skip
    """Summarize requests, whose mean lengths give the sizes of the evaluated runs."""
    mean = given.mean_prompt
    lengths = Lengths([prompt / mean for prompt in given.prompts], given.outputs)
    sizes_ = (max(1, round(mean)), max(1, round(given.mean_output)), max(1, int(given.mean_context)))
    return Plan(model, *sizes_, lengths, slots, prefix, accepted, drafted, devices, *objectives)


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
    ttft, tpot, whole = ((None,) * 4,) * 3 if times is None else tuple(map(queue.summary, (times.ttft(), times.tpot(), times.whole())))
    met = None if (plan.ttft_s, plan.tpot_s) == (None, None) else _met(plan, asked)
    return (
        asked.rate, asked.concurrency, load.batch, server.most, load.is_saturated, load.rate_per_s, server.capacity,
        None if met is None else met * load.rate_per_s, met, load.first_s, *ttft, load.step_s / plan.accepted, *tpot, *whole,
        tokens_per_s, token_j, million_usd, load.busy_fraction, load.residual_fraction, costs["is_simulated"],
    )  # fmt: skip


def _met(plan: Plan, asked: Asked) -> float:
    """Return the share of requests that meet the objectives. Where the queue grows without bound, all requests become late."""
    if asked.times is not None:
        return asked.times.met_fraction(plan.ttft_s, plan.tpot_s)
    is_met = plan.ttft_s is None and plan.tpot_s is not None and asked.load.step_s / plan.accepted <= plan.tpot_s
    return float(is_met)
