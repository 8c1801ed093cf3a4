"""The command that sums time, energy and memory of several runs on one part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from charz.schema.errors import CharzError, unknown_name

from ..answer import Rows, answer
from ..ask import plans, serve, trace
from ..axes import amount, names
from ..parameters import Amount, Backends, File, Names, Precisions, Text
from ..question import TARGET, single

Record = dict[str, Any]

_ROW = (*TARGET, "power", "latency_s", "energy_j", "peak_memory_byte", "weight_byte", "buffer_byte", "context_byte")

_RUNS = (*TARGET, "power", "count", "latency_s", "time_s", "time_fraction", "energy_j", "peak_memory_byte")

_TOTAL = (
    "workload", "hardware", "run_count", "time_s", "energy_j", "peak_memory_byte", "fits_device", "most_per_s", "rate_per_s",
    "duty_fraction", "average_power_w",
)  # fmt: skip

_CONDITIONS = ("batch", "sequence", "precision", "backend", "cache", "cap")
"""Conditions that a workload file may state for a run."""

_EXAMPLE = "runs: [{model: resnet18, count: 2}], rate_per_s: 30"


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of the workload, and the number of its repetitions per round."""

    model: str
    count: float
    conditions: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Work:
    """Content of a workload file."""

    name: str
    pieces: Sequence[Piece]
    rate_per_s: float | None
    """Rounds of all runs per second that the part must reach; None for a single round. [1/s]"""


class Workload(serve.Serve):
    """Workloads of several runs on one part."""

    @answer("total", "runs")
    def workload(
        self,
        file: Annotated[
            File,
            Text(
                "YAML file with `runs`, a list of {model, count, batch, sequence, precision, backend, cap}, and optionally `rate_per_s`;"
                " or a CSV or parquet file of requests with columns arrival [s], prompt and output [tokens]."
            ),
        ],
        *,
        on: Annotated[Names, Text("Hardware part that executes all runs. Several parts, separated by commas, are alternatives.")],
        section: Literal["total", "runs"] = "total",
        model: Annotated[str | None, Text("Language model that serves a file of requests.")] = None,
        ttft: Annotated[Amount | None, Text("Objective for the time to the first token of a request, e.g. 500ms.")] = None,
        tpot: Annotated[Amount | None, Text("Objective for the time per output token of a request, e.g. 30ms.")] = None,
        slots: Annotated[int, Text("Largest number of requests that a server runs at once.", least=1)] = plans.SLOTS,
        devices: Annotated[int, Text("Devices of the server, which share each kernel (tensor parallel).", least=1)] = 1,
        precision: Precisions = None,
        backend: Backends = None,
    ) -> Rows:
        """Predict successive runs of several models on one part: total time, energy, memory, and the largest rate. If the file states
        `rate_per_s`, also list the utilization and average power of the part, including idle time.

        A file of requests is replayed by a server of --model as `serve` does: times to the first token (ttft), per later token (tpot) and to the last
        token (request) as mean, p50, p90 and p99, and goodput under --ttft and --tpot. These options belong to a file of requests.

        Memory contains the weights of every model, the activations of the largest run, and a process context for each backend. The exit
        code is 1 if memory does not suffice, or if a part does not reach the rate.
        """
        objectives = amount(ttft, "s", "--ttft"), amount(tpot, "s", "--tpot")
        if Path(file).suffix in trace.SUFFIXES:
            return self._replayed(Path(file), names(on), section, model, objectives, slots, devices, (precision, backend))
        if (model, *objectives, precision, backend, slots, devices) != (None, None, None, None, None, plans.SLOTS, 1):
            raise CharzError("options of a file of requests", str(file), "it states its runs", f"name a {' or '.join(trace.SUFFIXES)} file")
        work = read(Path(file))
        found = [(part, self._done(work, part)) for part in names(on)]
        if section == "runs":
            rows = [[row[name] for name in _RUNS] for _, runs in found for row in runs]
            return Rows(_RUNS, rows, ("model_report", "model_memory"))
        totals = [self._total(work, part, runs) for part, runs in found]
        is_failure = any(not row["fits_device"] or (row["duty_fraction"] or 0.0) > 1.0 for row in totals)
        rows = [[row[name] for name in _TOTAL] for row in totals]
        return Rows(_TOTAL, rows, ("model_report", "model_memory"), is_failure=is_failure)

    def _replayed(
        self, file: Path, parts: list[str], section: str, model: str | None, objectives: tuple[float | None, float | None], slots: int,
        devices: int, taken: tuple[Precisions, Backends],
    ) -> Rows:  # fmt: skip
        """Replay the requests of a trace on each part. It states no runs, so that section is empty."""
        if model is None:
            raise CharzError("no model", str(file), "a file of requests names none", "add --model, e.g. --model hf:llama-3.1-8b")
        if section == "runs":
            return Rows(_RUNS, [])
        given = trace.read(file, arrives=True)
        plan = plans.plan_of(model, given, slots, 0.0, plans.Speculation(), (devices, 1), objectives)
        found = [
            (key, server, serve.of_trace(server, plan, given), costs)
            for _, key, server, costs in self._servers([plan], parts, *taken, {}, slots, (None, 1))
        ]
        rows = [
            (model, *key, *serve.devices_of(plan), plan.input, plan.output, *serve.row_of(server, plan, asked, costs))
            for key, server, asked, costs in found
        ]
        rows.sort(key=lambda row: tuple(map(str, row[1:4])))
        return Rows(serve.COLUMNS, rows, ("llm_serving",), any(one[2].load.is_saturated for one in found), texts=serve.TEXTS)

    def _done(self, work: Work, part: str) -> list[Record]:
        """Return each run on the part with its count, total time and share of the workload's time."""
        rows = []
        for piece in work.pieces:
            scoped, _ = self.target(single(piece.model, part, **piece.conditions), "model_report")
            (row,) = scoped.rows("model_report", _ROW, beside=("model_memory",)).frame().to_dicts()
            if row["latency_s"] is None:
                raise CharzError("no time is known", f"{piece.model} on {part}", next="`charz doctor --invariants` shows why")
            rows.append(row | {"count": piece.count, "time_s": piece.count * row["latency_s"]})
        whole = sum(row["time_s"] for row in rows)
        return [row | {"time_fraction": row["time_s"] / whole} for row in rows]

    def _total(self, work: Work, part: str, rows: Sequence[Record]) -> Record:
        """Sum the runs."""
        hardware = self.part_name(part)
        query = "SELECT dram_byte, static_w FROM part WHERE hardware = ?"
        ((device_byte, static_w),) = self.connection().execute(query, [hardware]).fetchall()
        time_s = sum(row["time_s"] for row in rows)
        energy_j: float | None = None
        if all(row["energy_j"] is not None for row in rows):
            energy_j = sum(row["count"] * row["energy_j"] for row in rows)
        kept = {(row["model"], row["precision"], row["backend"]): _kept(row) for row in rows}
        peak = sum(kept.values()) + max(row["peak_memory_byte"] - _kept(row) for row in rows)
        contexts = {row["backend"]: row["context_byte"] for row in rows}
        held = None if None in contexts.values() else peak + sum(contexts.values())
        rate, duty = work.rate_per_s, None if work.rate_per_s is None else time_s * work.rate_per_s
        # At a given rate, the part idles for the rest of each period. Without a rate, the part is always busy.
        period_s = time_s if rate is None else max(1.0 / rate, time_s)
        rest_s = period_s - time_s
        rest_j = 0.0 if rest_s == 0.0 else None if static_w is None else static_w * rest_s
        drawn_j = None if energy_j is None or rest_j is None else energy_j + rest_j
        return {
            "workload": work.name,
            "hardware": hardware,
            "run_count": sum(row["count"] for row in rows),
            "time_s": time_s,
            "energy_j": energy_j,
            "peak_memory_byte": peak,
            "fits_device": None if device_byte is None or held is None else held <= device_byte,
            "most_per_s": 1.0 / time_s,
            "rate_per_s": rate,
            "duty_fraction": duty,
            "average_power_w": None if drawn_j is None else drawn_j / period_s,
        }


def _kept(row: Record) -> float:
    """Return the bytes of a model's weights and buffers, which stay in memory between runs."""
    return float(row["weight_byte"] + row["buffer_byte"])


def read(path: Path) -> Work:
    """Read a workload file. Raise `CharzError` that names the wrong entry."""
    from charz.hardware_catalog import document

    text = document.read(path)
    if not isinstance(text, dict) or not isinstance(text.get("runs"), list) or not text["runs"]:
        raise CharzError("not a workload", str(path), "it has no list `runs`", f"write e.g. {_EXAMPLE}")
    for key in text:
        if key not in ("workload", "runs", "rate_per_s"):
            raise unknown_name("key of a workload", str(key), ("workload", "runs", "rate_per_s"))
    rate = text.get("rate_per_s")
    return Work(
        str(text.get("workload", path.stem)),
        list(_pieces(path, text["runs"])),
        None if rate is None else _positive(rate, f"{path}: rate_per_s"),
    )


def _pieces(path: Path, runs: Sequence[Any]) -> Iterator[Piece]:
    for i, run in enumerate(runs, start=1):
        where = f"{path}: run {i}"
        if not isinstance(run, dict) or not isinstance(run.get("model"), str):
            raise CharzError("a run without a model", where, next=f"write e.g. {_EXAMPLE}")
        for key in run:
            if key not in ("model", "count", *_CONDITIONS):
                raise unknown_name("key of a run", str(key), ("model", "count", *_CONDITIONS))
        conditions = {name: run[name] for name in _CONDITIONS if name in run}
        for name, value in conditions.items():
            wanted = int if name in ("batch", "sequence") else str
            if not isinstance(value, wanted) or isinstance(value, bool):
                raise CharzError("not a condition", f"{where}: {name} {value}", next=f"write a {wanted.__name__}")
        yield Piece(run["model"], _positive(run.get("count", 1), f"{where}: count"), conditions)


def _positive(value: Any, where: str) -> float:
    """Return the number. Raise `CharzError` unless the number is above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
        raise CharzError("not a number above 0", f"{where} {value}", next="write e.g. 30")
    return float(value)
