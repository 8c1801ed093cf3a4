"""The command for a server of a language model under load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..axes import names, sizes
from ..core import Core
from ..parameters import (
    Backends,
    Model,
    Part,
    Parts,
    Precisions,
    Sizes,
    Text,
)
from ..question import SERVED_PRECISIONS, Question
from ..scoped import Scoped
from .load import Curve, Load, Server, at_concurrency, at_rate, saturated

_COLUMNS = (
    "model", "hardware", "backend", "precision", "device_count", "input_tokens", "output_tokens", "concurrency", "running_batch",
    "most_batch", "is_saturated", "requests_per_s", "saturation_per_s", "ttft_s", "ttft_mean_s", "ttft_p99_s", "tpot_s", "tokens_per_s", "token_j",
    "million_tokens_usd", "busy_fraction", "residual_fraction", "is_simulated",
)  # fmt: skip


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
        rate: Annotated[float | None, Text("Rate of requests that arrive at random, per second.", least=0.0)] = None,
        concurrency: Annotated[
            Sizes | None, Text("Numbers of requests in flight, each followed by the next: 64, 4,16,64 or 1:256 (doubling).")
        ] = None,
        slots: Annotated[int, Text("Largest number of requests that the server runs at once.", least=1)] = 256,
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
        """Serve equal requests under a load: running requests, speed, saturation, joules and dollars.

        Without --rate and --concurrency all requests wait from the start. The model is a closed form: steps and prompts of running requests share the
        device, and their number follows from how long they stay (Little's law). ttft_mean_s and ttft_p99_s are those of a benchmark that keeps
        --concurrency requests in flight and sends ten times as many, the burst at its start included. Cost and energy include the parts of
        --prefill-on.
        """
        if rate is not None and concurrency is not None:
            raise CharzError("two loads", "--rate and --concurrency", "give one of them")
        self._check_decodes(model)
        kept = {
            "engine_version": version,
            "kv_precision": kv_precision,
            "device_count": devices if devices > 1 else None,
        }
        flights = sizes(concurrency)
        largest = min(slots, max(flights)) if flights else slots
        context = input + output // 2
        given = max(1, round(input * (1.0 - prefix)))
        prompts = self._runs_of_prompts(input, given, kept)
        step = {
            "sequence": 1 + drafted if drafted else None,
            "phase": "prefill" if drafted else "decode",
            "context": context,
        }
        batches = sorted({2**i for i in range(largest.bit_length())} | {largest})
        steps = [{"batch": batch, **step, **kept} for batch in batches]
        scoped = self._served([model], names(on), precision, backend, [*prompts, *steps])
        apart = self._apart(model, prefill_on, precision, backend, prompts) if prefill_on else None
        rows: list[tuple[Any, ...]] = []
        for key, found in _by_target(scoped).items():
            made = _served_rows(found, context, given, apart, prefill_parts)
            if made is None:
                self.messages.warn(f"left out: {key[0]}, where no request fits or the step has no time")
                continue
            server, costs = made
            server = replace(server, steps=(output - 1) / accepted, most=min(server.most, slots))
            loads: list[tuple[int | None, Load]] = [(flight, at_concurrency(server, flight)) for flight in flights]
            if not flights:
                loads.append((None, saturated(server) if rate is None else at_rate(server, rate)))
            rows += [
                (model, *key, devices, input, output, flight, *_row(server, load, costs, output, accepted))
                for flight, load in loads
            ]
        return Rows(_COLUMNS, sorted(rows, key=lambda row: (*map(str, row[1:4]), row[7] or 0)), ("llm_serving",))

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
    return Server(curve, 0.0, prompt_s, first_s, float(most), prompts_per_s, chunk_s, float(full["batch"])), costs


def _row(server: Server, load: Load, costs: dict[str, Any], output: int, accepted: float) -> tuple[Any, ...]:
    """Return the columns from `running_batch` on."""
    tokens_per_s = load.rate_per_s * output
    token_j = None
    if None not in (costs["prompt_j"], costs["step_j"], costs["static_w"]) and load.rate_per_s:
        step_j = costs["step_j"](load.batch) / max(load.batch, 1.0)
        idle_j = (1.0 - load.busy_fraction) * costs["static_w"] / load.rate_per_s
        token_j = (costs["prompt_j"] + server.steps * step_j + idle_j) / output
    usd = costs["usd_per_hour"]
    million_usd = usd / 3600.0 / tokens_per_s * 1e6 if usd is not None and tokens_per_s else None
    return (
        load.batch, server.most, load.is_saturated, load.rate_per_s, server.capacity, load.first_s, load.mean_first_s,
        load.late_first_s, load.step_s / accepted, tokens_per_s, token_j, million_usd, load.busy_fraction, load.residual_fraction, costs["is_simulated"],
    )  # fmt: skip
