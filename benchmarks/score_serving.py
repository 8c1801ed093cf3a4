"""Error of predicted serving of language models against published figures of static batches.

    python -m benchmarks.score_serving DATABASE [--measurements ../shared/measurements] [--fit] [--markdown FILE]

A row counts where its requests still fit at their last token (others are served one after the other), and where its source does
not give another time of the same configuration more than 1.5 times apart. A figure is worked out as
its source measured it: a prompt of the whole batch, then one step a token at the mean context, or
one of the two alone. Rows of grade A with a static batch, of models in the database, on parts and under engines that charz
knows. What an engine's version takes of each step and sample, and of each kernel that it launches, are numbers of
`engine_version`: those that are not 0 are fitted on these rows, at most three a version, so the table of left-out models and
parts fits them anew without the rows that it scores. `--fit` prints the numbers that fit best, one to three of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

import charz
from benchmarks import page
from charz.hardware_catalog.calibration import errors
from charz.session import Session
from charz.session.core import Question

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
"""Model in the database by the one measured, which has its sizes."""

PARTS = {
    "A100 SXM 40GB": "a100_sxm4_40", "A100 SXM": "a100_sxm4_80", "A100 PCIe": "a100_pcie_80", "H100 SXM": "h100_sxm5_80",
    "H100 PCIe": "h100_pcie_80", "MI300X": "mi300x_192", "RTX 4090": "rtx4090", "RTX 3090": "rtx3090",
    "RTX A6000": "rtx_a6000", "A40 48GB": "a40", "Ryzen 9 7950X CPU": "ryzen_7950x", "Apple M2 Max CPU": "apple_m2_max",
    "3070 8GB": "rtx3070", "3080 10GB": "rtx3080", "3080 Ti 12GB": "rtx3080ti", "4070 Ti 12GB": "rtx4070ti",
    "4080 16GB": "rtx4080", "M1 7\u2011Core GPU 8GB": "apple_m1_gpu_7", "M1 Max 32\u2011Core GPU 64GB": "apple_m1_max_gpu_32",
    "M3 Max 40\u2011Core GPU 64GB": "apple_m3_max_gpu_40",
}  # fmt: skip

ENGINES = {
    ("TensorRT-LLM", False): ("tensorrt_llm", "2024"), ("TensorRT-LLM (static batch session)", False): ("tensorrt_llm", "2023"),
    ("lmdeploy TurboMind", False): ("tensorrt_llm", "lmdeploy-0.1"), ("vLLM", False): ("vllm", "2024"),
    ("vLLM", True): ("vllm", "2024-rocm"), ("llama.cpp", False): ("llama_cpp", "2024"),
    ("llama.cpp b4384", False): ("llama_cpp", "2024"), ("llama.cpp b4384", True): ("llama_cpp", "2024"),
}  # fmt: skip
"""Backend and version by engine and whether the part is AMD's."""

PRECISIONS = {
    "fp16/bf16": "fp16", "fp16": "fp16", "F16": "fp16", "BF16": "bf16", "fp8": "fp8", "int8": "w8a16",
    "int4-awq g128": "w4a16", "Q4_K_M": "q4_k_m", "Q4_K - Small": "q4_k_m", "Q8_0": "q8_0",
}  # fmt: skip
KV = {"fp8": "fp8_e4m3", "int8": "int8"}

ROCM_2025 = "ROCm/vllm dev-docker README"
CASE = ["model", "hardware", "backend", "version", "precision", "kv", "devices"]
SAME = ["source", *CASE, "task", "quantity", "batch", "input_tokens", "output_tokens"]
CONTRADICTION = 1.5
"""A source that gives two times of one configuration further apart than this does not say which of them it had: all of that
configuration stand in a table of their own."""
RUNS_AT_ONCE = 120
FACTORS = {"step_s": 1e-5, "sample_s": 1e-7, "kernel_s": 1e-8, "kernel_sample_s": 1e-10, "prompt_kernel_s": 1e-7}
"""Numbers of a version, each with the smallest that a fit tries."""
COUNTS = ("steps", "samples", "kernel_steps", "kernel_samples", "prompt_kernels")
"""By what these numbers count."""
MOST_FACTORS = 3


def main() -> None:
    """Print or write the tables."""
    options = page.scoring(__doc__, "numbers of each engine version")
    with charz.open(options.database) as db:
        rows = scored(db, measured(options.measurements, db))
        known = factors(db)
    if options.rows:
        rows.write_parquet(options.rows)
    if options.fit:
        for key, group in rows.group_by("backend", "version", maintain_order=True):
            for found in fits(group):
                print(key, len(group), {name: value for name, value in zip(FACTORS, found, strict=True) if value})
    report(rows, known, options.markdown)


def report(rows: pl.DataFrame, known: dict[tuple[str, str], np.ndarray], markdown: Path | None) -> None:
    """Print the tables of scored rows under these host times, or write them to a page."""
    rows = judged(rows, known)
    kept = rows.filter("fits", ~pl.col("is_contradicted"))
    tables = [
        ("By source, engine and devices", errors.table(kept, ["source", "backend", "version", "is_node"])),
        ("By part and engine", errors.table(kept, ["backend", "version", "hardware", "is_node"])),
        ("By model", errors.table(kept, ["backend", "model", "is_node"])),
        ("By precision", errors.table(kept, ["backend", "precision", "task"])),
        ("By batch", errors.table(kept, ["backend", "batch"])),
        ("By length of the prompt", errors.table(kept, ["backend", "input_tokens"])),
        ("Each model left out in turn", errors.table(left_out(kept, "model", known), ["backend", "version", "is_node"])),
        ("Each part left out in turn", errors.table(left_out(kept, "hardware", known), ["backend", "version", "is_node"])),
        ("Configurations of which the source contradicts itself", errors.table(
            rows.filter("fits", "is_contradicted"), ["source", "backend", "version", "hardware"])),
        ("Rows that charz says do not fit", rows.filter(~pl.col("fits")).group_by("backend", "hardware").len().sort("backend", "hardware")),
    ]  # fmt: skip
    if markdown:
        text = [
            "Figures of static batches of language models, as `benchmarks/score_serving.py` works them out.",
            " ".join((__doc__ or "").split("\n\n")[2].split()),
        ]
        page.write(markdown, "Served language models against published figures", text, tables)
        return
    for heading, table in tables:
        print(heading, table, sep="\n")


def judged(rows: pl.DataFrame, known: dict[tuple[str, str], np.ndarray]) -> pl.DataFrame:
    """Scored rows with their times under these host times, and whether their source contradicts them."""
    is_contradicted = pl.col("measured_s").max().over(SAME) > CONTRADICTION * pl.col("measured_s").min().over(SAME)
    return rows.with_columns(latency_s=with_host(rows, known)).with_columns(is_contradicted=is_contradicted)


def measured(folder: Path, db: Session) -> pl.DataFrame:
    """The rows that can be asked about."""
    held = set(db.sql("SELECT model FROM model")["model"])
    frame = pl.read_parquet(folder / "serving.parquet").filter(
        pl.col("grade") == "A", pl.col("task").is_in(["serve", "prefill", "decode"]), pl.col("batch").is_not_null(),
        pl.col("note").fill_null("").str.contains("SUSPECT|FLAGS").not_(),
    )  # fmt: skip
    return (
        frame.with_columns(
            model=pl.col("model").replace_strict(MODELS, default=None),
            hardware=pl.col("hardware_norm").replace_strict(PARTS, default=None),
            precision=pl.col("precision_weights").replace_strict(PRECISIONS, default=None),
            kv=pl.col("precision_kv").replace_strict(KV, default=None),
            devices=pl.col("hardware_count").cast(pl.Int64),
            batch=pl.col("batch").cast(pl.Int64),
            engine=pl.struct("framework", "vendor", "source").map_elements(_engine, return_dtype=pl.List(pl.String)),
        )
        .with_columns(backend=pl.col("engine").list.get(0), version=pl.col("engine").list.get(1))
        .filter(
            pl.col("model").is_in(held), pl.col("hardware").is_not_null(), pl.col("precision").is_not_null(),
            pl.col("backend").is_not_null(), (pl.col("backend") != "llama_cpp") | (pl.col("devices") == 1),
        )
    )  # fmt: skip


def _engine(row: dict[str, str]) -> list[str | None]:
    is_amd = "AMD" in (row["vendor"] or "").upper()
    if row["source"] == ROCM_2025:
        return ["vllm", "2025-rocm"]
    return list(ENGINES.get((row["framework"], is_amd), (None, None)))


def scored(db: Session, rows: pl.DataFrame) -> pl.DataFrame:
    """Every row with `measured_s`, and with the time of its kernels `kernel_s` and the numbers of steps, samples and kernels by
    which an engine's own time counts."""
    known = factors(db)
    planned = [list(plan(row)) for row in rows.iter_rows(named=True)]
    wanted: dict[tuple[str, str, str], set[tuple[object, ...]]] = {}
    parts: dict[tuple[str, str, str], set[str]] = {}
    for row, runs in zip(rows.iter_rows(named=True), planned, strict=True):
        key = row["model"], row["backend"], row["precision"]
        parts.setdefault(key, set()).add(row["hardware"])
        for run, _ in runs:
            wanted.setdefault(key, set()).add((*run, row["version"], row["kv"], row["devices"]))
    found: dict[tuple[object, ...], tuple[float | None, float, float, float, int]] = {}
    for (model, backend, precision), asked in wanted.items():
        ordered = sorted(asked, key=repr)
        for start in range(0, len(ordered), RUNS_AT_ONCE):
            chunk = ordered[start : start + RUNS_AT_ONCE]
            found.update(_times(db, model, backend, precision, sorted(parts[model, backend, precision]), chunk))
    result = []
    for row, runs in zip(rows.iter_rows(named=True), planned, strict=True):
        kernel_s, counts, fits = 0.0, np.zeros(len(COUNTS)), True
        for run, count in runs:
            key = (
                row["model"],
                row["hardware"],
                row["backend"],
                row["precision"],
                *run,
                row["version"],
                row["kv"],
                row["devices"],
            )
            time_s, engine_s, need, cache, kernels = found.get(key, (None, 0.0, 0.0, 0.0, 0))
            if time_s is None:
                kernel_s = float("nan")
                break
            batch, phase, sequence, context = run
            last = max(context, (row["input_tokens"] or 0) + (row["output_tokens"] or 0))
            fits &= need + cache * (last / context - 1.0) <= 1.0
            kernel_s += count * (time_s - engine_s)
            steps = 1 if phase == "decode" else max(1, -(-batch * sequence // known["chunk", row["backend"]][0]))
            counts += count * np.array([steps, batch, kernels * steps, kernels * batch, kernels * (phase != "decode")])
        result.append((kernel_s, *counts, fits, _measured_s(row)))
    columns = ["kernel_s", *COUNTS, "fits", "measured_s"]
    frame = pl.DataFrame(result, schema=columns, orient="row")
    kept = rows.select(
        "row_id", "source", *CASE, "task", "quantity", "batch", "input_tokens", "output_tokens", "context",
        "hardware_norm",
    )  # fmt: skip
    return (
        pl.concat([kept, frame], how="horizontal")
        .with_columns(is_node=pl.col("devices") > 1)
        .filter(pl.col("kernel_s").is_not_nan())
    )


def plan(row: dict[str, object]) -> Iterator[tuple[tuple[object, ...], float]]:
    """Runs of a row as batch, phase, sequence and context, each with how often it runs."""
    batch, given, made = int(row["batch"]), int(row["input_tokens"] or 0), int(row["output_tokens"] or 0)
    if row["quantity"] in ("decode_throughput",):
        context = max(1, round(row["context"])) if row["context"] else given + made // 2 or 1
        yield (batch, "decode", None, context), 1.0
        return
    yield (batch, "prefill", max(1, given), max(1, given)), 1.0
    if row["quantity"] in ("latency_end_to_end", "output_throughput") and made > 1:
        yield (batch, "decode", None, given + made // 2), made - 1.0


def _measured_s(row: dict[str, object]) -> float:
    """Time of what `plan` says."""
    value, batch, given, made = row["value"], row["batch"], row["input_tokens"] or 0, row["output_tokens"] or 0
    quantity, unit = row["quantity"], row["unit"]
    if quantity in ("latency_end_to_end", "TTFT", "prefill_time"):
        return value / (1e3 if unit == "ms" else 1.0)
    if quantity == "output_throughput":
        return batch * made / (value * (row["devices"] if row["scope"] == "per_device" else 1))
    return batch * (given if quantity == "prefill_throughput" else 1.0) / value


def _times(
    db: Session, model: str, backend: str, precision: str, parts: Sequence[str], runs: Sequence[tuple[object, ...]]
) -> dict[tuple[object, ...], tuple[float | None, float, float, float, int]]:
    """Time, the engine's part of it, the shares of memory of all and of the cache, and kernels, of each run on each part."""
    asked = [
        {
            "batch": batch, "phase": phase, "sequence": sequence, "context": context, "engine_version": version,
            "kv_precision": kv, "device_count": devices if devices > 1 else None,
        }
        for batch, phase, sequence, context, version, kv, devices in runs
    ]  # fmt: skip
    question = Question([model], parts, precisions=[precision], backends=[backend], runs=asked)
    found = (
        db.asked(question)
        .execute(
            """
        SELECT
            c.hardware, c.batch, c.phase, c.sequence, c.context, r.engine_version, NULLIF(r.kv_precision, 'none'), r.device_count, c.latency_s,
            r.engine_s + r.launch_s * k.kernel_count, c.peak_memory_byte / c.device_byte, m.kv_cache_byte / c.device_byte, k.kernel_count
        FROM target_cost AS c
        INNER JOIN model_cost AS k ON k.model = c.model AND k.hardware = c.hardware AND k.scenario_id = c.scenario_id
        INNER JOIN run_memory AS m ON m.run.model = c.model AND m.run.scenario_id = c.scenario_id
        INNER JOIN run AS r ON r.run = m.run
        """
        )
        .fetchall()
    )
    return {
        (model, part, backend, precision, batch, phase, None if phase == "decode" else sequence, context, version, kv, devices): (
            time_s, engine_s, need, cache, kernels
        )
        for part, batch, phase, sequence, context, version, kv, devices, time_s, engine_s, need, cache, kernels in found
    }  # fmt: skip


def factors(db: Session) -> dict[tuple[str, str], np.ndarray]:
    """Fitted numbers of every version, and the chunk of every backend."""
    rows = db.sql(f"SELECT backend, engine_version, {', '.join(FACTORS)} FROM engine_version").rows()
    chunks = db.sql("SELECT backend, chunk_tokens FROM backend WHERE serves").rows()
    return {(b, v): np.array(numbers) for b, v, *numbers in rows} | {("chunk", b): np.array([n]) for b, n in chunks}


def with_host(rows: pl.DataFrame, known: dict[tuple[str, str], np.ndarray]) -> pl.Series:
    """Time of each row with the numbers of its version."""
    return pl.Series([
        row["kernel_s"] + float(known[row["backend"], row["version"]] @ [row[name] for name in COUNTS])
        for row in rows.iter_rows(named=True)
    ])  # fmt: skip


def fits(rows: pl.DataFrame) -> Iterator[list[float]]:
    """The best fit with each number of factors."""
    for most in range(1, MOST_FACTORS + 1):
        tried = [fit(rows, which) for which in itertools.combinations(range(len(FACTORS)), most)]
        yield min(tried, key=lambda found: _loss(rows, found))


def _loss(rows: pl.DataFrame, found: Sequence[float]) -> float:
    times = rows["kernel_s"].to_numpy() + rows.select(COUNTS).to_numpy() @ np.array(found)
    return float(np.abs(np.log(times / rows["measured_s"].to_numpy())).mean())


def fit(rows: pl.DataFrame, which: Sequence[int]) -> list[float]:
    """Numbers with the least sum of |ln| over rows, all but `which` 0: one coordinate after the other over a grid in ratios of
    1.1."""
    kernel, seen = rows["kernel_s"].to_numpy(), np.log(rows["measured_s"].to_numpy())
    counts = rows.select(COUNTS).to_numpy().astype(float)
    grids = [np.r_[0.0, least * 1.1 ** np.arange(90)] for least in FACTORS.values()]
    best = np.zeros(len(FACTORS))
    for _ in range(12):
        for i in which:
            others = kernel + counts @ np.where(np.arange(len(best)) == i, 0.0, best)
            losses = np.abs(np.log(others[:, None] + counts[:, [i]] * grids[i]) - seen[:, None]).mean(axis=0)
            best[i] = grids[i][losses.argmin()]
    return [float(f"{value:.2g}") for value in best]


def left_out(rows: pl.DataFrame, by: str, known: dict[tuple[str, str], np.ndarray]) -> pl.DataFrame:
    """Rows of each model or part under numbers fitted on the others of their version; those that nothing is left for keep
    what is in force."""
    parts = []
    for (backend, version), group in rows.group_by("backend", "version", maintain_order=True):
        for (name,), scored_rows in group.group_by(by, maintain_order=True):
            others = group.filter(pl.col(by) != name)
            if len(others):
                which = np.flatnonzero(known[backend, version]).tolist()
                fitted = {(backend, version): np.array(fit(others, which))}
                scored_rows = scored_rows.with_columns(latency_s=with_host(scored_rows, fitted))
            parts.append(scored_rows)
    return pl.concat(parts)


if __name__ == "__main__":
    main()
