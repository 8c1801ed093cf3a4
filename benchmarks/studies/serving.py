"""Served language models: static batches, servers under load, energy of a served token, DeepSeek's deployment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from benchmarks.study import Given
from charz.schema.errors import CharzError
from charz.session import Session
from charz.session.ask import splits
from charz.session.question import Question

from .energy import PROMPT, PROMPTS

MODELS = {
    "meta-llama/Meta-Llama-3-8B": "hf:llama-3.1-8b", "meta-llama/Llama-3.1-8B": "hf:llama-3.1-8b",
    "meta-llama/Llama-3.1-8B-Instruct": "hf:llama-3.1-8b", "meta-llama/Meta-Llama-3-8B-Instruct": "hf:llama-3.1-8b",
    "meta-llama/Llama-2-7b-hf": "hf:llama-2-7b", "huggyllama/llama-7b": "hf:llama-2-7b",
    "lmsys/vicuna-7b-v1.5": "hf:llama-2-7b", "meta-llama/Llama-2-13b-hf": "hf:llama-2-13b",
    "meta-llama/Llama-2-70b-hf": "hf:llama-2-70b", "meta-llama/Meta-Llama-3-70B": "hf:llama-3.1-70b",
    "meta-llama/Llama-3.1-70B": "hf:llama-3.1-70b", "meta-llama/Llama-3.1-70B-Instruct": "hf:llama-3.1-70b",
    "meta-llama/Meta-Llama-3-70B-Instruct": "hf:llama-3.1-70b",
    "mistralai/Mixtral-8x7B-v0.1": "hf:mixtral-8x7b", "Qwen/Qwen2-7B": "hf:qwen2.5-7b",
    "mistralai/Mistral-7B-v0.1": "hf:mistral-7b", "EleutherAI/gpt-j-6b": "hf:gpt-j-6b",
}  # fmt: skip
"""Model in the database, of equal sizes, by the measured model."""
LOADED = MODELS | {"meta-llama/Llama-3.3-70B-Instruct": "hf:llama-3.1-70b", "openai/gpt-oss-120b": "hf:gpt-oss-120b"}
PARTS = {
    "A100 SXM 40GB": "a100_sxm4_40", "A100 SXM": "a100_sxm4_80", "A100 PCIe": "a100_pcie_80", "H100 SXM": "h100_sxm5_80",
    "H100 PCIe": "h100_pcie_80", "H200": "h200_sxm_141", "MI300X": "mi300x_192", "RTX 4090": "rtx4090", "RTX 3090": "rtx3090",
    "RTX A6000": "rtx_a6000", "A40 48GB": "a40", "Ryzen 9 7950X CPU": "ryzen_7950x", "Apple M2 Max CPU": "apple_m2_max",
    "3070 8GB": "rtx3070", "3080 10GB": "rtx3080", "3080 Ti 12GB": "rtx3080ti", "4070 Ti 12GB": "rtx4070ti",
    "4080 16GB": "rtx4080", "M1 7\u2011Core GPU 8GB": "apple_m1_gpu_7", "M1 Max 32\u2011Core GPU 64GB": "apple_m1_max_gpu_32",
    "M3 Max 40\u2011Core GPU 64GB": "apple_m3_max_gpu_40",
}  # fmt: skip
ENGINES = {
    ("TensorRT-LLM", False): ("tensorrt_llm", "v0.12"), ("TensorRT-LLM (static batch session)", False): ("tensorrt_llm", "v0.6"),
    ("lmdeploy TurboMind", False): ("tensorrt_llm", "lmdeploy-0.1"), ("vLLM", False): ("vllm", "v0.6"),
    ("vLLM", True): ("vllm", "v0.6-rocm"), ("llama.cpp", False): ("llama_cpp", "b4384"),
    ("llama.cpp b4384", False): ("llama_cpp", "b4384"), ("llama.cpp b4384", True): ("llama_cpp", "b4384"),
}  # fmt: skip
"""Backend and version by engine, separately for AMD's parts."""
PRECISIONS = {
    "fp16/bf16": "fp16", "fp16": "fp16", "F16": "fp16", "BF16": "bf16", "bf16": "bf16", "fp8": "fp8", "int8": "w8a16", "mxfp4": "mxfp4",
    "int4-awq g128": "w4a16", "Q4_K_M": "q4_k_m", "Q4_K - Small": "q4_k_m", "Q8_0": "q8_0",
}  # fmt: skip
KV = {"fp8": "fp8_e4m3", "int8": "int8"}
ROCM_2025 = "ROCm/vllm dev-docker README"
CASE = ["model", "hardware", "backend", "version", "precision", "kv", "devices"]
SAME = ["source", *CASE, "task", "quantity", "batch", "input_tokens", "output_tokens"]
CONTRADICTION = 1.5
"""Ratio of two times of one configuration above which the source contradicts itself; such rows are not scored."""
RUNS_AT_ONCE = 120
FACTORS = {"step_s": 1e-5, "sample_s": 1e-7, "kernel_s": 1e-8, "kernel_sample_s": 1e-10, "prompt_kernel_s": 1e-7}
"""Fitted numbers of an engine's version, each with the smallest that a fit tries."""
COUNTS = ("steps", "samples", "kernel_steps", "kernel_samples", "prompt_kernels")
"""Columns whose counts these numbers multiply."""


def named(rows: pl.DataFrame, db: Session, models: dict[str, str]) -> pl.DataFrame:
    """Translate published rows to charz's names of model, part and precisions, and drop rows without them."""
    held = db.sql("SELECT model FROM model")["model"].to_list()
    return rows.with_columns(
        model=pl.col("model").replace_strict(models, default=None), hardware=pl.col("hardware_norm").replace_strict(PARTS, default=None),
        precision=pl.col("precision_weights").replace_strict(PRECISIONS, default=None),
        kv=pl.col("precision_kv").replace_strict(KV, default=None), devices=pl.col("hardware_count").cast(pl.Int64),
    ).filter(pl.col("model").is_in(held), pl.col("hardware").is_not_null(), pl.col("precision").is_not_null())  # fmt: skip


def static(given: Given) -> pl.DataFrame:
    """Predict rows of grade A with a static batch that fits at its last token.

    An engine version has at most three fitted numbers. `model left out` and `part left out` fit them again without those rows.
    """
    given.ingested(MODELS.values())
    with given.session() as db:
        rows, known = static_rows(given, db), _factors(db)
    rows = rows.with_columns(latency_s=_with_host(rows, known))
    standings = {"fitted": rows, "model left out": _left_out(rows, "model", known), "part left out": _left_out(rows, "hardware", known)}
    return pl.concat(
        frame.select("hardware", "backend", family="model", measured="measured_s", predicted="latency_s", standing=pl.lit(standing))
        for standing, frame in standings.items()
    )


def static_rows(given: Given, db: Session) -> pl.DataFrame:
    """Read the rows that fit and that their source does not contradict, with the components of their time."""
    contradiction = pl.col("measured_s").max().over(SAME) > CONTRADICTION * pl.col("measured_s").min().over(SAME)
    return _priced(db, _published(given, db)).filter("fits", ~contradiction)


def _published(given: Given, db: Session) -> pl.DataFrame:
    frame = given.table("serving").filter(
        pl.col("grade") == "A", pl.col("task").is_in(["serve", "prefill", "decode"]), pl.col("batch").is_not_null(),
        pl.col("note").fill_null("").str.contains("SUSPECT|FLAGS").not_(),
    )  # fmt: skip
    engine = pl.struct("framework", "vendor", "source").map_elements(_engine, return_dtype=pl.List(pl.String))
    rows = named(frame, db, MODELS).with_columns(engine=engine, batch=pl.col("batch").cast(pl.Int64))
    return rows.with_columns(backend=pl.col("engine").list.get(0), version=pl.col("engine").list.get(1)).filter(
        pl.col("backend").is_not_null(), (pl.col("backend") != "llama_cpp") | (pl.col("devices") == 1)
    )


def _engine(row: dict[str, str]) -> list[str | None]:
    if row["source"] == ROCM_2025:
        return ["vllm", "v0.8-rocm"]
    return list(ENGINES.get((row["framework"], "AMD" in (row["vendor"] or "").upper()), (None, None)))


def _priced(db: Session, rows: pl.DataFrame) -> pl.DataFrame:
    """Add `measured_s`, `kernel_s`, a flag for rows that fit, and the counts that determine the engine's own time."""
    chunks = dict(db.sql("SELECT backend, chunk_tokens FROM backend WHERE serves").iter_rows())
    planned = [list(_plan(row)) for row in rows.iter_rows(named=True)]
    wanted: dict[tuple[str, str, str], set[tuple[Any, ...]]] = {}
    parts: dict[tuple[str, str, str], set[str]] = {}
    for row, runs in zip(rows.iter_rows(named=True), planned, strict=True):
        key = row["model"], row["backend"], row["precision"]
        parts.setdefault(key, set()).add(row["hardware"])
        wanted.setdefault(key, set()).update((*run, row["version"], row["kv"], row["devices"]) for run, _ in runs)
    found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for key, asked in wanted.items():
        ordered = sorted(asked, key=repr)
        for start in range(0, len(ordered), RUNS_AT_ONCE):
            found.update(_times(db, key, sorted(parts[key]), ordered[start : start + RUNS_AT_ONCE]))
    result: list[tuple[Any, ...]] = []
    for row, runs in zip(rows.iter_rows(named=True), planned, strict=True):
        kernel_s, counts, fits = 0.0, np.zeros(len(COUNTS)), True
        shared = row["version"], row["kv"], row["devices"]
        for (batch, phase, sequence, context), count in runs:
            of_run = (*(row[name] for name in ("model", "hardware", "backend", "precision")), batch, phase, sequence, context, *shared)
            time_s, engine_s, need, cache, kernels = found.get(of_run, (None, 0.0, 0.0, 0.0, 0))
            if time_s is None:
                kernel_s = float("nan")
                break
            last = max(context, (row["input_tokens"] or 0) + (row["output_tokens"] or 0))
            fits &= need + cache * (last / context - 1.0) <= 1.0
            kernel_s += count * (time_s - engine_s)
            steps = 1 if phase == "decode" else max(1, -(-batch * sequence // chunks[row["backend"]]))
            counts += count * np.array([steps, batch, kernels * steps, kernels * batch, kernels * (phase != "decode")])
        result.append((kernel_s, *counts, fits, _measured_s(row)))
    frame = pl.DataFrame(result, schema=["kernel_s", *COUNTS, "fits", "measured_s"], orient="row")
    return pl.concat([rows.select(SAME), frame], how="horizontal").filter(pl.col("kernel_s").is_not_nan())


def _plan(row: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], float]]:
    """List the runs of a row as batch, phase, sequence and context, each with its number of repetitions."""
    batch, prompt, made = int(row["batch"]), int(row["input_tokens"] or 0), int(row["output_tokens"] or 0)
    if row["quantity"] == "decode_throughput":
        yield (batch, "decode", None, max(1, round(row["context"])) if row["context"] else prompt + made // 2 or 1), 1.0
        return
    yield (batch, "prefill", max(1, prompt), max(1, prompt)), 1.0
    if row["quantity"] in ("latency_end_to_end", "output_throughput") and made > 1:
        yield (batch, "decode", None, prompt + made // 2), made - 1.0


def _measured_s(row: dict[str, Any]) -> float:
    value, batch, prompt, made = row["value"], row["batch"], row["input_tokens"] or 0, row["output_tokens"] or 0
    if row["quantity"] in ("latency_end_to_end", "TTFT", "prefill_time"):
        return float(value / (1e3 if row["unit"] == "ms" else 1.0))
    if row["quantity"] == "output_throughput":
        return float(batch * made / (value * (row["devices"] if row["scope"] == "per_device" else 1)))
    return float(batch * (prompt if row["quantity"] == "prefill_throughput" else 1.0) / value)


def _times(
    db: Session, key: tuple[str, str, str], parts: Sequence[str], runs: Sequence[tuple[Any, ...]]
) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Query time, the engine's part of it, the memory fractions of all data and of the cache, and kernels."""
    model, backend, precision = key
    columns = ("batch", "phase", "sequence", "context", "engine_version", "kv_precision", "device_count")
    asked = [{**dict(zip(columns, run, strict=True)), "device_count": run[-1] if run[-1] > 1 else None} for run in runs]
    question = Question([model], parts, precisions=[precision], backends=[backend], runs=asked)
    found = db.asked(question).execute(
        """
        SELECT
            c.hardware, c.batch, c.phase, c.sequence, c.context, r.engine_version, NULLIF(r.kv_precision, 'none'), r.device_count, c.latency_s,
            r.engine_s + r.launch_s * k.kernel_count, c.peak_memory_byte / c.device_byte, m.kv_cache_byte / c.device_byte, k.kernel_count
        FROM target_cost AS c
        INNER JOIN model_cost AS k ON k.model = c.model AND k.hardware = c.hardware AND k.scenario_id = c.scenario_id
        INNER JOIN run_memory AS m ON m.run.model = c.model AND m.run.scenario_id = c.scenario_id
        INNER JOIN run AS r ON r.run.model = c.model AND r.run.scenario_id = c.scenario_id
        """
    )
    return {
        (model, part, backend, precision, batch, phase, None if phase == "decode" else sequence, *conditions): tuple(figures)
        for part, batch, phase, sequence, *conditions, time_s, engine_s, need, cache, kernels in found.fetchall()
        for figures in [(time_s, engine_s, need, cache, kernels)]
    }


def _factors(db: Session) -> dict[tuple[str, str], np.ndarray]:
    rows = db.sql(f"SELECT backend, engine_version, {', '.join(FACTORS)} FROM engine_version").rows()
    return {(backend, version): np.array(numbers) for backend, version, *numbers in rows}


def _with_host(rows: pl.DataFrame, known: dict[tuple[str, str], np.ndarray]) -> pl.Series:
    """Add the engine's own time to each row's kernels. [s]"""
    numbers = np.stack([known[key] for key in rows.select("backend", "version").iter_rows()])
    return pl.Series(rows["kernel_s"].to_numpy() + (numbers * rows.select(COUNTS).to_numpy()).sum(axis=1))


def fit(rows: pl.DataFrame, which: Sequence[int]) -> np.ndarray:
    """Fit the numbers `which`, with the others 0, to the least sum of |ln|, by coordinate descent over a grid."""
    kernel, seen = rows["kernel_s"].to_numpy(), np.log(rows["measured_s"].to_numpy())
    counts = rows.select(COUNTS).to_numpy().astype(float)
    grids = [np.r_[0.0, least * 1.1 ** np.arange(90)] for least in FACTORS.values()]
    best = np.zeros(len(FACTORS))
    for _ in range(12):
        for i in which:
            others = kernel + counts @ np.where(np.arange(len(best)) == i, 0.0, best)
            losses = np.abs(np.log(others[:, None] + counts[:, [i]] * grids[i]) - seen[:, None]).mean(axis=0)
            best[i] = grids[i][losses.argmin()]
    return best


def _left_out(rows: pl.DataFrame, by: str, known: dict[tuple[str, str], np.ndarray]) -> pl.DataFrame:
    """Predict each model's or part's rows with numbers fitted to the others of their version, and drop rows without others."""
    found = []
    for key, group in rows.group_by("backend", "version", maintain_order=True):
        for (name,), own in group.group_by(by, maintain_order=True):
            others = group.filter(pl.col(by) != name)
            if len(others):
                numbers = fit(others, np.flatnonzero(known[key]).tolist())  # type: ignore[index]  # two names
                found.append(own.with_columns(latency_s=_with_host(own, {key: numbers})))  # type: ignore[dict-item]  # two names
    return pl.concat([rows.clear(), *found])


SLOTS = {"tensorrt_llm": 2048, "vllm": 1024}
"""Default limit of concurrent requests in `trtllm-bench`, and in vLLM from 0.8 on a part of 70 GiB or more."""
SLOTS_OF_A100 = 256
"""vLLM's default on an A100 (`EngineArgs.get_batch_defaults`)."""
RELEASES = (r"^vLLM v?(\d+\.\d+)", r"^(?:TensorRT-LLM v?)?(1\.\d+)")
"""Releases that are asked for. The numbers of TensorRT-LLM before 1.0 come from static batches of a Python session, whose host work for each
request a server does not do, so these servers have the default release."""
LOAD = ["model", "hardware", "backend", "version", "precision", "kv", "devices", "tensor", "pipeline", "slots", "input", "output", "concurrency"]


def servers(given: Given) -> pl.DataFrame:
    """Predict servers with a stated number of requests in flight, and servers that queue all requests at once.

    Nothing was fitted on them. A server runs at most the requests that its source states, else the default of its engine. TensorRT-LLM's fp8
    checkpoints keep keys and values in fp8 unless a source states another format. Rows whose requests arrive at a stated rate are left out.
    """
    given.ingested(LOADED.values())
    with given.session() as db:
        rows = _load_rows(given, db)
        queued = rows.filter(pl.col("concurrency").is_null()).select(LOAD).unique(maintain_order=True).gather_every(given.every)
        cases = pl.concat([rows.filter(pl.col("concurrency").is_not_null()).select(LOAD).unique(maintain_order=True), queued])
        found = []
        for case in cases.iter_rows(named=True):
            asked = {"slots": case["slots"], "kv_precision": case["kv"], "pipeline": case["pipeline"], "version": case["version"]}
            for row in _answered(db, case, **asked):
                made = {"output_throughput": 1.0 / row["tokens_per_s"], "TPOT": row["tpot_s"]}
                found += [{**case, "quantity": name, "predicted": time_s} for name, time_s in made.items()]
    schema = rows.select(*LOAD, "quantity").schema | {"predicted": pl.Float64}
    both = rows.join(pl.DataFrame(found, schema=schema), on=[*LOAD, "quantity"], nulls_equal=True)
    load = pl.when(pl.col("concurrency").is_null()).then(pl.lit("all at once")).otherwise(pl.lit("stated in flight"))
    return both.select(
        "hardware", "backend", "predicted", measured="measured_s", family="model",
        quantity=pl.format("{}, {}", "quantity", load), standing=pl.lit("nothing fitted"),
    )  # fmt: skip


def _answered(db: Session, case: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    """Query a server. A case that charz refuses is printed and has no answer."""
    try:
        answer = db.serve(
            case["model"], on=case["hardware"], input=case["input"], output=case["output"], concurrency=case["concurrency"],
            tensor=case["tensor"], precision=case["precision"], backend=case["backend"], **options,
        )  # fmt: skip
    except CharzError as error:
        print("left out:", case["model"], case["hardware"], case["precision"], error)
        return []
    return [row for row in answer.iter_rows(named=True) if row["tokens_per_s"]]


def _load_rows(given: Given, db: Session) -> pl.DataFrame:
    is_trt = pl.col("framework").str.contains("TensorRT-LLM")
    backend = pl.when(is_trt).then(pl.lit("tensorrt_llm")).when(pl.col("framework").str.contains("vLLM")).then(pl.lit("vllm"))
    rows = given.table("serving").filter(
        pl.col("task") == "serve", pl.col("batch").is_null(), pl.col("grade").is_in(["A", "B"]),
        pl.col("quantity").is_in(["output_throughput", "TPOT", "ITL"]), pl.col("input_tokens").is_not_null(),
        pl.col("concurrency").is_not_null() | (pl.col("quantity") == "output_throughput"),
        (pl.col("hardware_count") == pl.col("tp") * pl.col("pp").fill_null(1)) | (pl.col("hardware_count") == 1),
        ~pl.col("note").fill_null("").str.contains("open loop"),
    )  # fmt: skip
    keeps_fp8 = is_trt & pl.col("precision_kv").is_null() & (pl.col("precision_weights") == "fp8")
    each = pl.when(pl.col("scope") == "per_device").then(pl.col("devices")).otherwise(1)
    is_small = pl.col("hardware").str.starts_with("a100") & (pl.col("backend") == "vllm")
    default = pl.when(is_small).then(pl.lit(SLOTS_OF_A100)).otherwise(pl.col("backend").replace_strict(SLOTS, default=None, return_dtype=pl.Int64))
    return (
        named(rows, db, LOADED)
        .with_columns(
            kv=pl.when(keeps_fp8).then(pl.lit("fp8_e4m3")).otherwise("kv"), backend=backend, quantity=pl.col("quantity").replace({"ITL": "TPOT"}),
            input=pl.col("input_tokens").round().cast(pl.Int64), output=pl.col("output_tokens").round().cast(pl.Int64),
            concurrency=pl.col("concurrency").cast(pl.Int64), pipeline=pl.col("pp").fill_null(1).cast(pl.Int64),
            version="v" + pl.coalesce(pl.col("version").str.extract(release) for release in RELEASES),
        )
        .filter(pl.col("backend").is_not_null())
        .with_columns(
            tensor=pl.col("devices") // pl.col("pipeline"),
            slots=pl.coalesce(pl.col("note").str.extract(r"max num seqs (\d+)").cast(pl.Int64), default),
        )
        .with_columns(
            measured_s=pl.when(pl.col("quantity") == "TPOT").then(pl.col("value") / 1e3).otherwise(1.0 / (pl.col("value") * each))
        )
    )  # fmt: skip


CAMPAIGN = LOADED | {
    "meta-llama/Llama-3.1-405B-Instruct-FP8": "hf:llama-3.1-405b", "Qwen/Qwen3-8B": "hf:qwen3-8b", "Qwen/Qwen3-14B": "qwen3-14b",
    "Qwen/Qwen3-32B": "qwen3-32b", "Qwen/Qwen3-30B-A3B-Instruct-2507": "hf:qwen3-30b-a3b",
    "Qwen/Qwen3-30B-A3B-Thinking-2507": "hf:qwen3-30b-a3b", "Qwen/Qwen3-Coder-30B-A3B-Instruct": "hf:qwen3-30b-a3b",
    "openai/gpt-oss-20b": "hf:gpt-oss-20b",
}  # fmt: skip
"""Models of the campaign."""
RESIZED = {
    "qwen3-14b": ["hidden_size=5120", "intermediate_size=17408", "num_hidden_layers=40", "num_attention_heads=40"],
    "qwen3-32b": ["hidden_size=5120", "intermediate_size=25600", "num_hidden_layers=64", "num_attention_heads=64"],
}
"""Settings that give Qwen3-8B the sizes of a larger model, by the name under which the file has it."""
QUANTITIES = {"time per token": "tpot_s", "time of a token of all": "token_s", "energy of a token": "token_j"}
MOST_BATCH = 32


def energy(given: Given) -> pl.DataFrame:
    """Predict vLLM at a stated number of requests in flight on 1 to 8 H100, with the energy of only the GPUs. Nothing was fitted
    on it."""
    note = pl.col("notes").fill_null("")
    rows = (
        given.table("models")
        .filter(
            pl.col("source_repo").str.starts_with("ml-energy/"), note.str.contains("per OUTPUT TOKEN"),
            pl.col("hardware").str.ends_with("NVIDIA H100"), pl.col("model").is_in(list(CAMPAIGN)),
        )
        .with_columns(
            model=pl.col("model").replace_strict(CAMPAIGN), devices=note.str.extract(r"n_accel=(\d+)").cast(pl.Int64),
            tensor=note.str.extract(r"tp=(\d+)").cast(pl.Int64), concurrency=pl.col("batch").round().cast(pl.Int64),
            input=note.str.extract(r"task=([\w-]+)").replace_strict(PROMPTS, default=PROMPT, return_dtype=pl.Int64),
            output=pl.col("seq_or_resolution").str.extract(r"avg_out=([\d.]+)").cast(pl.Float64).round().cast(pl.Int64),
            hardware=pl.lit("h100_sxm5_80"), backend=pl.lit("vllm"),
        )
        .filter(pl.col("devices") == pl.col("tensor"))
    )  # fmt: skip
    found: list[dict[str, Any]] = []
    given.ingested(name for name in CAMPAIGN.values() if name not in RESIZED)
    with given.session() as db:
        held = db.sql("SELECT model FROM model")["model"].to_list()
        for name in RESIZED.keys() - set(held):
            db.ingest(["hf:qwen3-8b"], name=name, settings=RESIZED[name], no_answers=True)
        held += RESIZED
        for case in rows.filter(pl.col("model").is_in(held)).iter_rows(named=True):
            seen = {"tpot_s": case["latency_ms"] / 1e3, "token_s": 1.0 / case["throughput_per_s"], "token_j": case["energy_j"]}
            size = f"batch to {MOST_BATCH}" if case["concurrency"] <= MOST_BATCH else f"batch above {MOST_BATCH}"
            for row in _answered(db, case, slots=case["concurrency"]):
                answer = {**row, "token_s": 1.0 / row["tokens_per_s"]}
                found += [
                    {
                        "hardware": case["hardware"], "backend": "vllm", "family": case["model"], "quantity": f"{quantity}, {size}",
                        "measured": seen[column], "predicted": answer[column],
                    }
                    for quantity, column in QUANTITIES.items()
                ]  # fmt: skip
    return pl.DataFrame(found).with_columns(standing=pl.lit("nothing fitted"))


DEEPSEEK, LAYERS, NODE = "deepseek-v3-layers", 61, 8
CACHED = 0.563
"""Share of prompt tokens found in a cache, as published."""
PROMPT_TOKENS, CHUNK, CONTEXT, REQUESTS = 4096, 4, 4989, 88
"""Assumed, since not published: tokens of a prompt, prompts in a chunk, context, and requests a device in a step."""
PUBLISHED = {"prefill": (32, 73.7e3 * (1 - CACHED)), "decode": (144, 14.8e3)}
"""Devices, and tokens a second of a node of eight, by phase."""


def deepseek(given: Given) -> pl.DataFrame:
    """Predict a node of eight H800 that serves DeepSeek-V3, from two of its layers.

    All layers have experts here, and times of computing and exchanges add up; DeepSeek overlaps two batches, which gives
    `overlapped`.
    """
    with given.session() as db:
        if not given.file.exists() or DEEPSEEK not in set(db.sql("SELECT model FROM model")["model"]):
            settings = ["num_hidden_layers=2", "first_k_dense_replace=0"]
            db.ingest(["hf:deepseek-v3"], settings=settings, no_answers=True, name=DEEPSEEK)
        runs: list[dict[str, Any]] = [
            {"batch": CHUNK, "phase": "prefill", "sequence": round(PROMPT_TOKENS * (1 - CACHED)), "context": PROMPT_TOKENS},
            {"batch": REQUESTS, "phase": "decode", "sequence": None, "context": CONTEXT},
        ]
        question = Question([DEEPSEEK], ["h800_sxm5_80"], precisions=["fp8"], backends=["vllm"], runs=runs, serves=True)
        scoped = db.asked(question, "serving_split")
        made = [
            split.model_copy(update={"block_count": LAYERS})
            for devices, _ in PUBLISHED.values()
            for split in splits.served(splits.Degrees([1], [1], [devices], [1], most=devices))
        ]
        splits.hold(scoped, made)
        rows = scoped.records("SELECT * FROM serving_split ORDER BY phase DESC")
    found = []
    for row in rows:
        devices, published = PUBLISHED[row["phase"]]
        if row["device_count"] == devices and row["pass_s"]:
            links_s = row["tensor_s"] + row["expert_s"] + row["context_s"] + row["send_s"]
            times = {"as it runs": row["pass_s"], "overlapped": max(row["work_s"], links_s) + row["host_s"]}
            each = NODE * row["batch"] * row["sequence"]
            found += [("h800_sxm5_80", "vllm", row["phase"], published, each / time_s, kind) for kind, time_s in times.items()]
    return pl.DataFrame(found, ["hardware", "backend", "family", "measured", "predicted", "standing"], orient="row")
