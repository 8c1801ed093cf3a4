"""Steps of training over devices, compared with published figures."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import charz
from benchmarks.study import Given
from charz.schema.catalog.devices import DeviceSplit, Framework
from charz.session import Session
from charz.session.question import Question

MODELS = {
    "MPT-125m": ("mpt-125m", 12), "MPT-350m": ("mpt-350m", 24), "MPT-1b": ("mpt-1b", 24), "MPT-3b": ("mpt-3b", 32),
    "MPT-13b": ("mpt-13b", 40), "MPT-70b": ("mpt-70b", 80), "GPT3-5B": ("gpt3-5b", 24), "GPT3-20B": ("gpt3-20b", 44),
    "GPT3-175B": ("gpt3-175b", 96), "meta-llama/Llama-2-7b-hf": ("llama-2-7b", 32), "meta-llama/Llama-2-13b-hf": ("llama-2-13b", 40),
    "meta-llama/Llama-2-70b-hf": ("llama-2-70b", 80), "meta-llama/Meta-Llama-3-8B": ("llama-3-8b", 32),
    "meta-llama/Llama-3.1-8B": ("llama-3-8b", 32), "meta-llama/Meta-Llama-3-70B": ("llama-3-70b", 80),
    "meta-llama/Llama-3.1-70B": ("llama-3-70b", 80), "openai/gpt-oss-120b": ("gpt-oss-120b", 36),
}  # fmt: skip
"""Model in the database and number of layers, by the measured model."""
MPT = {
    "mpt-125m": (768, 12), "mpt-350m": (1024, 16), "mpt-1b": (2048, 16), "mpt-3b": (2560, 20), "mpt-13b": (5120, 40), "mpt-70b": (8192, 64),
}  # fmt: skip
"""Width and heads of llm-foundry's MPT."""
GPT = {
    "gpt3-5b": (4096, 32), "gpt3-20b": (6144, 48), "gpt3-175b": (12288, 96), "m22": (6144, 64), "m175": (12288, 96), "m530": (20480, 128),
    "m1t": (25600, 160),
}  # fmt: skip
"""Width and heads of NeMo's GPT-3, and of Megatron's models (Korthikanti et al. 2022, table 5)."""
SHIPPED = {
    "llama-2-7b": "llama-2-7b", "llama-2-13b": "llama-2-13b", "llama-2-70b": "llama-2-70b", "llama-3-8b": "llama-3.1-8b",
    "llama-3-70b": "llama-3.1-70b", "gpt-oss-120b": "gpt-oss-120b",
}  # fmt: skip
"""Shipped architecture by the name in the file."""
PARTS = {"A100 SXM": "a100_sxm4_80", "A100 SXM 40GB": "a100_sxm4_40", "H100 SXM": "h100_sxm5_80", "H200": "h200_sxm_141"}
FRAMEWORKS = {
    "llm-foundry/Composer FSDP": "llm_foundry", "NeMo/Megatron-Core": "nemo", "Megatron-Bridge": "nemo", "torchtitan": "torchtitan",
}  # fmt: skip
PRECISIONS = {"bf16": "bf16", "BF16": "bf16", "fp16": "fp16", "fp8": "amp-fp8", "FP8": "amp-fp8", "FP8-CS": "amp-fp8"}
OWN = "llm_foundry"
"""Framework that runs unmodified PyTorch, with a factor on its attention; it splits no product."""
MEGATRON = [
    # model, layers, pipeline, interleave, global batch, micro batch, seconds with full and with selective recomputation
    ("m22", 48, 1, 1, 4, 4, 1.42, 1.10),
    ("m175", 96, 8, 3, 64, 1, 18.13, 13.75),
    ("m530", 105, 35, 3, 280, 1, 49.05, 37.83),
    ("m1t", 128, 64, 1, 512, 1, 94.42, 71.49),
]
"""Korthikanti et al. 2022, table 5: A100 80 GB, 8 a node, fp16, 2048 tokens, tensor parallel over 8."""
FOREIGN_FRACTION = 0.545
"""Rate of an attention written for earlier tensor cores relative to one written for groups of warps, measured on an H200."""
REDUCED = 2.0
"""Size of an element of a gradient in transfers. [byte]"""
KERNEL_GRID = [round(0.85 * 1.04**i, 3) for i in range(17)]
OVERLAP_GRID, TENSOR_GRID = [0.0, 0.2, 0.4, 0.7, 1.0], [0.0, 0.5, 1.0]
ATTENTION_GRID = [1.43, 1.55, 1.68, 1.82, 1.98, 2.15, 2.33]
DEGREES = ("tensor", "pipeline", "interleave", "context", "data", "expert", "micro_batches", "zero_stage")
TERMS = (
    "compute_s", "recompute_s", "tensor_s", "expert_s", "context_s", "send_s", "bubble_s", "host_s", "data_s", "optimizer_s",
)  # fmt: skip
"""Terms of a step. Their sum also exists for steps that do not fit."""


def steps(given: Given) -> pl.DataFrame:
    """Predict rows of grade A whose degrees are all stated, and Megatron's eight times.

    A framework has at most three fitted factors: on its kernels, on the overlap of the replicas' traffic, and either on its
    attention or on tensor-parallel traffic. `model left out` and `part left out` fit them again without those rows.
    """
    rows, _ = candidates(given)
    shipped = rows.with_columns(predicted=pl.col("latency_s").list.get(0), standing=pl.lit("fitted"))
    found = [shipped, _left_out(rows, "model"), _left_out(rows, "hardware")]
    return pl.concat(
        frame.select("hardware", "standing", "predicted", measured="measured_s", backend="framework", family="model") for frame in found
    )


def candidates(given: Given) -> tuple[pl.DataFrame, dict[str, list[Framework]]]:
    """Query every row under every candidate of its framework, the shipped one first: `latency_s` is a list in their order."""
    ingest(given)
    with given.session() as db:
        cases = pl.concat([_published(given, db), _megatron()], how="diagonal")
        known = {row["framework"]: Framework(**row) for row in db.sql("SELECT * FROM framework").rows(named=True)}
        tried = {str(name): [known[str(name)], *_grid(rows, known[str(name)])] for (name,), rows in cases.group_by("framework")}
        times = _stepped(db, cases, tried).sort("row_id", "candidate").group_by("row_id", maintain_order=True).agg("latency_s")
    return cases.join(times, on="row_id"), tried


def best(rows: pl.DataFrame) -> int:
    """Return the index of the fitted candidate with the least mean |ln| over rows of one framework."""
    ratios = np.array(rows["latency_s"].to_list())[:, 1:] / rows["measured_s"].to_numpy()[:, None]
    return 1 + int(np.abs(np.log(ratios)).mean(axis=0).argmin())


def _left_out(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    """Predict each model's or part's rows with the factors that fit the others of their framework, and drop rows without others."""
    found = [rows.clear().with_columns(predicted=pl.lit(None, pl.Float64))]
    for _, group in rows.group_by("framework", maintain_order=True):
        for (name,), own in group.group_by(by, maintain_order=True):
            others = group.filter(pl.col(by) != name)
            if len(others):
                found.append(own.with_columns(predicted=pl.col("latency_s").list.get(best(others))))
    return pl.concat(found).with_columns(standing=pl.lit("part left out" if by == "hardware" else f"{by} left out"))


def ingest(given: Given) -> None:
    """Ingest the models that the file lacks, each with two of its layers.

    Megatron of 2022 runs attention step by step and keeps its scores for the backward pass; the others run it as one kernel.
    """
    shaped: dict[str, dict[str, Any]] = {
        name: {
            "model_type": "mpt", "architectures": ["MptForCausalLM"], "n_layers": 2, "d_model": width, "n_heads": heads,
            "max_seq_len": 65536, "vocab_size": 50368,
        }
        for name, (width, heads) in MPT.items()
    }  # fmt: skip
    shaped |= {
        name: {
            "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": 2, "n_embd": width, "n_head": heads, "n_positions": 2048,
            "vocab_size": 51200, "activation_function": "gelu",
        }
        for name, (width, heads) in GPT.items()
    }  # fmt: skip
    with charz.open(given.file) as db, tempfile.TemporaryDirectory() as folder:
        held = set(db.sql("SELECT model FROM model")["model"]) if given.file.exists() else set()
        for name in [name for name in (*shaped, *SHIPPED) if name not in held]:
            if name in shaped:
                path = Path(folder) / f"{name}.json"
                path.write_text(json.dumps(shaped[name]))
                source, settings = str(path), ["attn_implementation=eager"] if name.startswith("m") and name not in MPT else []
            else:
                source, settings = f"hf:{SHIPPED[name]}", ["num_hidden_layers=2"]
            db.ingest([source], settings=settings, train=True, no_answers=True, name=name)


def _grid(rows: pl.DataFrame, shipped: Framework) -> list[Framework]:
    """List the candidates for the rows of a framework: the shipped row with other factors."""
    gathered = OVERLAP_GRID if bool((rows["data"] > 1).any()) else [1.0]
    is_own = rows["framework"][0] == OWN
    hidden = TENSOR_GRID if bool((rows["tensor"] > 1).any()) and not is_own else [1.0]
    attention: Sequence[float | None] = ATTENTION_GRID if is_own else [None]
    return [
        shipped.model_copy(update={
            "kernel_factor": kernel, "attention_factor": own, "warpgroup_attention_factor": own and round(own / FOREIGN_FRACTION, 3),
            "overlap_fraction": overlap, "tensor_fraction": tensor, "reduce_byte": REDUCED,
        })
        for kernel, overlap, tensor, own in itertools.product(KERNEL_GRID, gathered, hidden, attention)
    ]  # fmt: skip


def _published(given: Given, db: Session) -> pl.DataFrame:
    """Read published rows, each with its split and the seconds of a step. Adapters without a stated rank are left out."""
    held = set(db.sql("SELECT model FROM model")["model"])
    frame = given.table("serving").filter(
        pl.col("task") == "train", pl.col("scope") == "per_device", pl.col("unit") == "tokens/s/device",
        pl.col("grade") == "A", pl.col("framework").is_in(list(FRAMEWORKS)),
    )  # fmt: skip
    rows = []
    for row in frame.iter_rows(named=True):
        model, layers = MODELS.get(row["model"], (None, 0))
        note = row["note"] or ""
        precision = PRECISIONS.get(row["precision_weights"], "amp-fp8" if "float8" in row["precision_weights"] else None)
        split = _split(row, note)
        if model not in held or row["hardware_norm"] not in PARTS or "LoRA" in note or split is None or precision is None:
            continue
        framework = FRAMEWORKS[row["framework"]]
        rows.append({
            "row_id": str(row["row_id"]), "framework": framework, "model": model, "layers": layers, "hardware": PARTS[row["hardware_norm"]],
            "precision": precision, "backend": "eager" if framework == OWN or "eager" in note else "inductor",
            "batch": int(row["micro_batch"]), "sequence": int(row["sequence"]),
            "measured_s": row["global_batch"] * row["sequence"] / (row["value"] * row["hardware_count"]), **split,
        })  # fmt: skip
    return pl.DataFrame(rows)


def _split(row: dict[str, Any], note: str) -> dict[str, Any] | None:
    """Read the degrees and the recomputation of a row. Return None if the degrees do not divide its samples."""
    degree = {short: int(row[short] or 1) for short in ("tp", "pp", "ep", "cp", "vp")}
    data, rest = divmod(int(row["hardware_count"]), degree["tp"] * degree["pp"] * degree["cp"])
    micro_batches, left = divmod(int(row["global_batch"]), data * int(row["micro_batch"])) if data else (0, 1)
    if rest or left or not micro_batches:
        return None
    is_full_shard = "FULL_SHARD" in note or row["framework"] == "torchtitan" or ("SHARD_GRAD_OP" not in note and row["fsdp"])
    stage = 3 if is_full_shard else 2 if "SHARD_GRAD_OP" in note else 1
    full = "activation checkpointing True" in note or "full AC" in note or "full activation checkpointing" in note
    selective = "selective activation checkpointing" in note or "SAC" in note
    return {
        "tensor": degree["tp"], "pipeline": degree["pp"], "interleave": degree["vp"] if degree["pp"] > 1 else 1, "context": degree["cp"],
        "data": data, "expert": degree["ep"], "micro_batches": micro_batches, "zero_stage": stage,
        "recompute": "full" if full else "selective" if selective else "none", "is_sequence_parallel": degree["tp"] > 1,
    }  # fmt: skip


def _megatron() -> pl.DataFrame:
    return pl.DataFrame([
        {
            "row_id": f"{model} {kind}", "framework": "megatron", "model": model, "layers": layers, "hardware": "a100_sxm4_80",
            "precision": "fp16", "backend": "inductor", "batch": micro, "sequence": 2048, "measured_s": seconds, "tensor": 8,
            "pipeline": pipeline, "interleave": interleave, "context": 1, "data": 1, "expert": 1, "micro_batches": samples // micro,
            "zero_stage": 0, "recompute": kind, "is_sequence_parallel": kind == "selective",
        }
        for model, layers, pipeline, interleave, samples, micro, *both in MEGATRON
        for kind, seconds in zip(("full", "selective"), both, strict=True)
    ])  # fmt: skip


def _stepped(db: Session, cases: pl.DataFrame, candidates: dict[str, list[Framework]]) -> pl.DataFrame:
    """Query a step of every case under every candidate of its framework."""
    query = f"SELECT split, {' + '.join(TERMS)} AS latency_s FROM training_step WHERE hardware = ? AND batch = ? AND sequence = ?"
    found = []
    for (model, precision, backend), rows in cases.group_by("model", "precision", "backend", maintain_order=True):
        runs = [
            {"batch": batch, "phase": "forward", "sequence": sequence}
            for batch, sequence in rows.select("batch", "sequence").unique(maintain_order=True).rows()
        ]
        question = Question([model], sorted(set(rows["hardware"])), precisions=[precision], backends=[backend], runs=runs)
        connection = db.asked(question).connection
        connection.execute("CREATE OR REPLACE TEMP TABLE training_sum AS SELECT * FROM training_sum")
        for run, alike in rows.group_by("hardware", "batch", "sequence", maintain_order=True):
            frameworks, made = [], []
            for row in alike.iter_rows(named=True):
                for number, candidate in enumerate(candidates[row["framework"]]):
                    name = f"{row['row_id']}|{number}"
                    frameworks.append(candidate.model_copy(update={"framework": name}))
                    degrees = {degree: row[degree] for degree in (*DEGREES, "recompute", "is_sequence_parallel")}
                    made.append(DeviceSplit(
                        split=name, framework=name, optimizer="adam", block_count=row["layers"], adapter_rank=None, frozen_precision=None,
                        **degrees,
                    ))  # fmt: skip
            _replace(connection, "framework", frameworks)
            _replace(connection, "device_split", made)
            found.append(connection.sql(query, params=list(run)).pl())
        for name in ("training_sum", "framework", "device_split"):
            connection.execute(f"DROP TABLE temp.{name}")
    parts = pl.col("split").str.split_exact("|", 1).struct
    number = parts.field("field_1").cast(pl.Int64).alias("candidate")
    return pl.concat(found).select(parts.field("field_0").alias("row_id"), number, "latency_s")


def _replace(connection: Any, name: str, made: Sequence[Framework | DeviceSplit]) -> None:
    """Replace a table by rows, for this connection."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM main.{name} LIMIT 0")
    connection.register("made_rows", pl.DataFrame([row.model_dump() for row in made], infer_schema_length=None))
    connection.execute(f"INSERT INTO temp.{name} BY NAME SELECT * FROM made_rows")
    connection.unregister("made_rows")
