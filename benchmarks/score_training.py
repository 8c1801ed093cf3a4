"""Error of predicted training over devices against published figures.

    python -m benchmarks.score_training DATABASE [--measurements ../shared/measurements] [--fit] [--markdown FILE]

Rows of grade A of llm-foundry, NeMo, Megatron-Bridge and torchtitan with all degrees stated, and the eight times of Megatron
(Korthikanti et al. 2022, table 5). A model is in the database with two of its layers (`benchmarks.training_models`), under the
name in `MODELS`; splits say how many it has. Of a framework at most three factors are fitted (`framework`): the time of its
kernels, how much of the replicas' and how much of tensor parallel's communication is hidden. The tables of left-out models and
parts fit them anew without the rows that they score. `--fit` prints the factors that fit best.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import charz
from benchmarks import page
from charz.hardware_catalog.calibration import errors
from charz.schema.catalog import DeviceSplit, Framework
from charz.session import Session
from charz.session.core import Question

MODELS = {
    "MPT-125m": ("mpt-125m", 12), "MPT-350m": ("mpt-350m", 24), "MPT-1b": ("mpt-1b", 24), "MPT-3b": ("mpt-3b", 32),
    "MPT-13b": ("mpt-13b", 40), "MPT-70b": ("mpt-70b", 80), "GPT3-5B": ("gpt3-5b", 24), "GPT3-20B": ("gpt3-20b", 44),
    "GPT3-175B": ("m175", 96), "meta-llama/Llama-2-7b-hf": ("llama-2-7b", 32), "meta-llama/Llama-2-13b-hf": ("llama-2-13b", 40),
    "meta-llama/Llama-2-70b-hf": ("llama-2-70b", 80), "meta-llama/Meta-Llama-3-8B": ("llama-3-8b", 32),
    "meta-llama/Llama-3.1-8B": ("llama-3-8b", 32), "meta-llama/Meta-Llama-3-70B": ("llama-3-70b", 80),
    "meta-llama/Llama-3.1-70B": ("llama-3-70b", 80),
}  # fmt: skip
"""Model in the database and layers, by the one measured."""

PARTS = {
    "A100 SXM": "a100_sxm4_80", "A100 SXM 40GB": "a100_sxm4_40", "H100 SXM": "h100_sxm5_80", "H200": "h200_sxm_141",
}  # fmt: skip
FRAMEWORKS = {
    "llm-foundry/Composer FSDP": "llm_foundry", "NeMo/Megatron-Core": "nemo", "Megatron-Bridge": "nemo", "torchtitan": "torchtitan",
}  # fmt: skip
PRECISIONS = {"bf16": "bf16", "BF16": "bf16", "fp16": "fp16", "fp8": "amp-fp8", "FP8": "amp-fp8", "FP8-CS": "amp-fp8"}
BACKEND = "inductor"

MEGATRON = [
    # model, layers, tensor, pipeline, interleave, global batch, micro batch, seconds with full and with selective recomputation
    ("m22", 48, 8, 1, 1, 4, 4, 1.42, 1.10),
    ("m175", 96, 8, 8, 3, 64, 1, 18.13, 13.75),
    ("m530", 105, 8, 35, 3, 280, 1, 49.05, 37.83),
    ("m1t", 128, 8, 64, 1, 512, 1, 94.42, 71.49),
]
"""Korthikanti et al. 2022, table 5: A100 80 GB, 8 a node, fp16, 2048 tokens."""

REDUCED = 2.0
"""Bytes of a gradient that travels in all of them."""

KERNEL_GRID = [round(0.75 * 1.03**i, 3) for i in range(32)]
HIDDEN_GRID = [0.0, 0.25, 0.5, 0.75, 1.0]
"""Factors tried."""

DEGREES = ("tensor", "pipeline", "interleave", "context", "data", "expert", "micro_batches", "zero_stage")


def main() -> None:
    """Print or write the tables."""
    options = page.scoring(__doc__, "factors of each framework")
    with charz.open(options.database) as db:
        cases = pl.concat([measured(options.measurements, db), megatron(db)], how="diagonal")
        known = {row[0]: tuple(row[1:]) for row in db.sql(_FACTORS).rows()}
        tried = evaluated(db, cases)
    scored = tried.join(cases, on="row_id")
    if options.rows:
        scored.write_parquet(options.rows)
    if options.fit:
        for (framework,), rows in scored.group_by("framework", maintain_order=True):
            print(framework, rows["row_id"].n_unique(), fit(rows))
    report(scored, known, options.markdown)


_FACTORS = "SELECT framework, kernel_factor, overlap_fraction, tensor_fraction FROM framework"

Factors = tuple[float, float, float]


def measured(folder: Path, db: Session) -> pl.DataFrame:
    """Published rows that can be asked about, each with its split and the seconds of a step."""
    held = set(db.sql("SELECT model FROM model")["model"])
    frame = pl.read_parquet(folder / "serving.parquet").filter(
        pl.col("task") == "train", pl.col("scope") == "per_device", pl.col("unit") == "tokens/s/device",
        pl.col("grade") == "A", pl.col("framework").is_in(list(FRAMEWORKS)),
    )  # fmt: skip
    rows = []
    for row in frame.iter_rows(named=True):
        model, layers = MODELS.get(row["model"], (None, 0))
        note = row["note"] or ""
        if model not in held or row["hardware_norm"] not in PARTS or "LoRA" in note or "SFT" in note:
            continue
        split = _split(row, note)
        precision = PRECISIONS.get(row["precision_weights"], "amp-fp8" if "float8" in row["precision_weights"] else None)
        if split is None or precision is None:
            continue
        tokens = row["global_batch"] * row["sequence"]
        rows.append({
            "row_id": str(row["row_id"]), "framework": FRAMEWORKS[row["framework"]], "source": row["framework"], "model": model,
            "layers": layers, "hardware": PARTS[row["hardware_norm"]], "precision": precision,
            "batch": int(row["micro_batch"]), "sequence": int(row["sequence"]), "devices": int(row["hardware_count"]),
            "measured_s": tokens / (row["value"] * row["hardware_count"]), **split,
        })  # fmt: skip
    return pl.DataFrame(rows)


def _split(row: dict[str, Any], note: str) -> dict[str, Any] | None:
    """Degrees of a row as its source states them, and how it recomputes; None where they do not divide its samples."""
    degree = {short: int(row[short] or 1) for short in ("tp", "pp", "ep", "cp", "vp")}
    data, rest = divmod(int(row["hardware_count"]), degree["tp"] * degree["pp"] * degree["cp"])
    micro_batches, left = divmod(int(row["global_batch"]), data * int(row["micro_batch"])) if data else (0, 1)
    if rest or left or not micro_batches:
        return None
    if "FULL_SHARD" in note or row["framework"] == "torchtitan":
        stage = 3
    elif "SHARD_GRAD_OP" in note:
        stage = 2
    else:
        stage = 3 if row["fsdp"] else 1
    full = "activation checkpointing True" in note or "full AC" in note or "full activation checkpointing" in note
    selective = "selective activation checkpointing" in note or "SAC" in note
    return {
        "tensor": degree["tp"], "pipeline": degree["pp"], "interleave": degree["vp"] if degree["pp"] > 1 else 1,
        "context": degree["cp"], "data": data, "expert": degree["ep"], "micro_batches": micro_batches, "zero_stage": stage,
        "recompute": "full" if full else "selective" if selective else "none", "is_sequence_parallel": degree["tp"] > 1,
    }  # fmt: skip


def megatron(db: Session) -> pl.DataFrame:
    """The eight times of Megatron."""
    held = set(db.sql("SELECT model FROM model")["model"])
    rows = [
        {
            "row_id": f"{model} {kind}", "framework": "megatron", "source": "Megatron 2022", "model": model, "layers": layers,
            "hardware": "a100_sxm4_80", "precision": "fp16", "batch": micro, "sequence": 2048, "devices": tensor * pipeline,
            "measured_s": seconds, "tensor": tensor, "pipeline": pipeline, "interleave": interleave, "context": 1, "data": 1,
            "expert": 1, "micro_batches": samples // micro, "zero_stage": 0, "recompute": kind,
            "is_sequence_parallel": kind == "selective",
        }
        for model, layers, tensor, pipeline, interleave, samples, micro, *both in MEGATRON
        for kind, seconds in zip(("full", "selective"), both, strict=True)
        if model in held
    ]  # fmt: skip
    return pl.DataFrame(rows)


def evaluated(db: Session, cases: pl.DataFrame) -> pl.DataFrame:
    """What a step of every case is made of under factors that change nothing and hide nothing."""
    found = []
    for (model, precision), rows in cases.group_by("model", "precision", maintain_order=True):
        runs = [
            {"batch": batch, "phase": "forward", "sequence": sequence}
            for batch, sequence in rows.select("batch", "sequence").unique(maintain_order=True).rows()
        ]
        question = Question(
            [model], sorted(set(rows["hardware"])), precisions=[precision], backends=[BACKEND], runs=runs
        )
        scoped = db.asked(question)
        connection = scoped.connection
        splits = [
            DeviceSplit(
                split=row["row_id"], framework="tried", optimizer="adam", block_count=row["layers"], adapter_rank=None,
                frozen_precision=None, recompute=row["recompute"], is_sequence_parallel=row["is_sequence_parallel"],
                **{name: row[name] for name in DEGREES},
            )
            for row in rows.iter_rows(named=True)
        ]  # fmt: skip
        for name, made in (("device_split", splits), ("framework", [])):
            frame = pl.DataFrame([row.model_dump() for row in made], infer_schema_length=None)
            connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM main.{name} LIMIT 0")
            if made:
                connection.register("made_rows", frame)
                connection.execute(f"INSERT INTO temp.{name} BY NAME SELECT * FROM made_rows")
                connection.unregister("made_rows")
        connection.execute("CREATE OR REPLACE TEMP TABLE training_sum AS SELECT * FROM training_sum")
        plain = Framework(
            framework="tried", kernel_factor=1, overlap_fraction=0, tensor_fraction=1, reduce_byte=REDUCED, source_id="", confidence=""
        )
        connection.register("made_rows", pl.DataFrame([plain.model_dump()]))
        connection.execute("INSERT INTO temp.framework BY NAME SELECT * FROM made_rows")
        connection.unregister("made_rows")
        keys = rows.select("row_id", "hardware", "batch", "sequence")
        found.append(keys.join(connection.sql(_STEPS).pl(), on=["row_id", "hardware", "batch", "sequence"]))
        connection.execute("DROP TABLE temp.training_sum")
        for name in ("framework", "device_split"):
            connection.execute(f"DROP TABLE temp.{name}")
        print(model, precision, len(rows), flush=True)
    return pl.concat(found).select(pl.exclude("hardware", "batch", "sequence"))


_STEPS = """
    SELECT split AS row_id, hardware, batch, sequence, fits_device, peak_memory_byte / device_byte AS held_fraction, compute_s, recompute_s,
        tensor_s, expert_s, context_s, send_s, bubble_s, host_s, sync_s, optimizer_s, model_flops
    FROM training_step
"""


def latency_s(rows: pl.DataFrame, factors: Factors) -> np.ndarray:
    """Time of each row under these factors, as `split_step` has it; what waits for the host shrinks as kernels grow."""
    kernel, overlap, tensor = factors
    of = {name: rows[name].to_numpy().astype(float) for name in _TERMS}
    computed = of["compute_s"] + of["recompute_s"]
    others = of["expert_s"] + of["context_s"]
    shared = tensor * of["tensor_s"] + others
    is_spread = of["zero_stage"] == 3
    window = kernel * computed / np.where(is_spread, 1.0, of["micro_batches"])
    rounds = np.where(is_spread, of["micro_batches"], 1.0)
    exposed = np.maximum(of["sync_s"] - overlap * window, of["sync_s"] * of["pipeline"] / (of["layers"] * rounds))
    waiting = np.maximum(0.0, of["host_s"] - max(0.0, kernel - 1) * computed)
    bubble = of["bubble_s"] * (kernel * computed + shared) / (computed + of["tensor_s"] + others)
    return kernel * computed + shared + of["send_s"] + bubble + waiting + exposed + of["optimizer_s"]


_TERMS = (
    "compute_s", "recompute_s", "tensor_s", "expert_s", "context_s", "send_s", "bubble_s", "host_s", "sync_s", "optimizer_s",
    "zero_stage", "micro_batches", "pipeline", "layers",
)  # fmt: skip


def with_factors(rows: pl.DataFrame, factors: Factors) -> pl.DataFrame:
    """Rows with `latency_s` under these factors."""
    return rows.with_columns(latency_s=pl.Series(latency_s(rows, factors)))


def fit(rows: pl.DataFrame) -> Factors:
    """Factors with the least sum of |ln|."""
    hidden = HIDDEN_GRID if bool((rows["tensor"] > 1).any()) else [1.0]
    gathered = HIDDEN_GRID if bool((rows["data"] > 1).any()) else [1.0]
    seen = rows["measured_s"].to_numpy()
    tried = itertools.product(KERNEL_GRID, gathered, hidden)
    return min(tried, key=lambda factors: float(np.abs(np.log(latency_s(rows, factors) / seen)).mean()))


def left_out(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    """Rows of each model or part under factors fitted on the others of their framework."""
    parts = []
    for _, group in rows.group_by("framework", maintain_order=True):
        for (name,), scored_rows in group.group_by(by, maintain_order=True):
            others = group.filter(pl.col(by) != name)
            parts.append(with_factors(scored_rows, fit(others if len(others) else group)))
    return pl.concat(parts)


def report(rows: pl.DataFrame, known: dict[str, Factors], markdown: Path | None) -> None:
    """Print the tables, or write them to a page."""
    kept = pl.concat([
        with_factors(group, known.get(framework, fit(group)))
        for (framework,), group in rows.group_by("framework", maintain_order=True)
    ])  # fmt: skip
    largest = pl.concat([
        with_factors(pl.concat([g.filter(pl.col(by) == g[by].max())]), fit(g.filter(pl.col(by) < g[by].max())))
        for by in ("devices", "layers")
        for (_,), g in rows.filter(pl.col("framework") == "llm_foundry").group_by("framework")
    ])  # fmt: skip
    times = kept.filter(pl.col("framework") == "megatron").select(
        "row_id", "devices", "measured_s", predicted_s="latency_s", ratio=pl.col("latency_s") / pl.col("measured_s"),
        mfu_fraction=pl.col("model_flops") / (pl.col("latency_s") * pl.col("devices") * 312e12),
        published_mfu_fraction=pl.col("model_flops") / (pl.col("measured_s") * pl.col("devices") * 312e12),
    ).sort("devices", "row_id")  # fmt: skip
    worst = (
        kept.with_columns(ratio=pl.col("latency_s") / pl.col("measured_s"))
        .sort((pl.col("ratio").log().abs()), descending=True)
        .select("framework", "model", "hardware", "precision", "devices", "batch", "sequence", "micro_batches", "recompute", "ratio")
        .head(15)
    )
    tables = [
        ("By framework", errors.table(kept, ["framework", "source", "precision"])),
        ("Megatron (Korthikanti et al. 2022)", times),
        ("By model", errors.table(kept, ["framework", "model"])),
        ("By part", errors.table(kept, ["framework", "hardware"])),
        ("By devices", errors.table(kept, ["framework", "devices"])),
        ("By tokens of a sample", errors.table(kept, ["framework", "sequence"])),
        ("Each model left out in turn", errors.table(left_out(rows, "model"), ["framework"])),
        ("Each part left out in turn", errors.table(left_out(rows, "hardware"), ["framework"])),
        ("llm-foundry: largest cluster and largest model left out", errors.table(largest, ["model"])),
        ("Rows that charz says do not fit", kept.filter(~pl.col("fits_device")).group_by("framework", "model", "hardware").len().sort("framework", "model")),
        ("Worst rows", worst),
    ]  # fmt: skip
    if markdown:
        text = [
            "Steps of training over devices, as `benchmarks/score_training.py` works them out.",
            " ".join((__doc__ or "").split("\n\n")[2].split()),
        ]
        page.write(markdown, "Training over devices against published figures", text, tables)
        return
    for heading, table in tables:
        print(heading, table, sep="\n")


if __name__ == "__main__":
    main()
