"""Error of predicted training over devices against published figures.

    python -m benchmarks.score_training DATABASE [--measurements ../shared/measurements] [--fit] [--markdown FILE]

Rows of grade A of llm-foundry, NeMo, Megatron-Bridge and torchtitan with all degrees stated, but for adapters whose rank is not, and
the eight times of Megatron (Korthikanti et al. 2022, table 5). A model is in the database with two of its layers
(`benchmarks.training_models`), under the name in `MODELS`; splits say how many it has. llm-foundry's Composer and rows that say so run
PyTorch as it is (`eager`), the others compiled or with fused kernels of their own (`inductor`).

Of a framework at most three factors are fitted (`framework`): the time of its kernels, how much of the computing hides what replicas
send, and the time of its attention or how much of what tensor parallel sends is not hidden. An attention written for the tensor cores
of before has 0.545 of the pace of one written for groups of warps, which charz measured on an H200: so one factor serves A100 and
H100. Every candidate is a row of `framework` whose steps `training_step` works out. The tables of left-out models, parts, clusters and
sizes fit the factors anew without the rows that they score. `--fit` prints the factors that fit best.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
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
    "GPT3-175B": ("gpt3-175b", 96), "meta-llama/Llama-2-7b-hf": ("llama-2-7b", 32), "meta-llama/Llama-2-13b-hf": ("llama-2-13b", 40),
    "meta-llama/Llama-2-70b-hf": ("llama-2-70b", 80), "meta-llama/Meta-Llama-3-8B": ("llama-3-8b", 32),
    "meta-llama/Llama-3.1-8B": ("llama-3-8b", 32), "meta-llama/Meta-Llama-3-70B": ("llama-3-70b", 80),
    "meta-llama/Llama-3.1-70B": ("llama-3-70b", 80), "openai/gpt-oss-120b": ("gpt-oss-120b", 36),
}  # fmt: skip
"""Model in the database and layers, by the one measured."""

PARTS = {
    "A100 SXM": "a100_sxm4_80", "A100 SXM 40GB": "a100_sxm4_40", "H100 SXM": "h100_sxm5_80", "H200": "h200_sxm_141",
}  # fmt: skip
FRAMEWORKS = {
    "llm-foundry/Composer FSDP": "llm_foundry", "NeMo/Megatron-Core": "nemo", "Megatron-Bridge": "nemo", "torchtitan": "torchtitan",
}  # fmt: skip
PRECISIONS = {"bf16": "bf16", "BF16": "bf16", "fp16": "fp16", "fp8": "amp-fp8", "FP8": "amp-fp8", "FP8-CS": "amp-fp8"}
EAGER = {"llm_foundry"}
"""Frameworks that run PyTorch as it is; the others compile, or bring fused kernels of their own, but for rows that say so."""

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

FOREIGN_FRACTION = 0.545
"""Pace of an attention written for the tensor cores of before over that of one written for groups of warps: FlashAttention-2's kernel
and cuDNN's, forward, 16-bit, 8,192 tokens and heads of 128, with a causal mask and without, measured by charz on an H200."""

KERNEL_GRID = [round(0.85 * 1.04**i, 3) for i in range(17)]
OVERLAP_GRID = [0.0, 0.2, 0.4, 0.7, 1.0]
TENSOR_GRID = [0.0, 0.5, 1.0]
ATTENTION_GRID = [1.43, 1.55, 1.68, 1.82, 1.98, 2.15, 2.33]
"""Factors tried."""

OWN_ATTENTION = {"llm_foundry"}
"""Frameworks whose attention has a factor of its own; they split no product."""

DEGREES = ("tensor", "pipeline", "interleave", "context", "data", "expert", "micro_batches", "zero_stage")


TERMS = (
    "compute_s", "recompute_s", "tensor_s", "expert_s", "context_s", "send_s", "bubble_s", "host_s", "data_s", "optimizer_s",
)  # fmt: skip
"""What a step is made of; a step that does not fit has no time, but is scored."""


def main() -> None:
    """Print or write the tables."""
    options = page.scoring(__doc__, "factors of each framework")
    with charz.open(options.database) as db:
        cases = pl.concat([measured(options.measurements, db), megatron(db)], how="diagonal")
        known = shipped(db)
        tried = {
            name: [known[name], *(grid(rows) if options.fit or options.markdown else [])]
            for (name,), rows in cases.group_by("framework")
        }
        steps = stepped(db, cases, tried)
    kept = cases.join(steps.filter(pl.col("candidate") == 0).drop("candidate"), on="row_id")
    fits = Fits(tried, steps) if options.fit or options.markdown else None
    if options.rows:
        kept.write_parquet(options.rows)
    if options.fit and fits:
        for (framework,), rows in cases.group_by("framework", maintain_order=True):
            print(framework, len(rows), fits.best(rows))
    report(kept, fits, options.markdown)


def shipped(db: Session) -> dict[str, Framework]:
    """The rows of the catalog."""
    return {row["framework"]: Framework(**row) for row in db.sql("SELECT * FROM framework").rows(named=True)}


def grid(rows: pl.DataFrame) -> list[Framework]:
    """Candidates that are tried for the rows of a framework."""
    gathered = OVERLAP_GRID if bool((rows["data"] > 1).any()) else [1.0]
    if rows["framework"][0] in OWN_ATTENTION:
        return [_tried(k, o, 1.0, a) for k, o, a in itertools.product(KERNEL_GRID, gathered, ATTENTION_GRID)]
    hidden = TENSOR_GRID if bool((rows["tensor"] > 1).any()) else [1.0]
    return [_tried(k, o, t, None) for k, o, t in itertools.product(KERNEL_GRID, gathered, hidden)]


def _tried(kernel: float, overlap: float, tensor: float, attention: float | None) -> Framework:
    foreign = None if attention is None else round(attention / FOREIGN_FRACTION, 3)
    return Framework(
        framework="", kernel_factor=kernel, attention_factor=attention, warpgroup_attention_factor=foreign, overlap_fraction=overlap,
        tensor_fraction=tensor, reduce_byte=REDUCED, source_id="", confidence="",
    )  # fmt: skip


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
        if model not in held or row["hardware_norm"] not in PARTS or "LoRA" in note:
            continue
        split = _split(row, note)
        precision = PRECISIONS.get(row["precision_weights"], "amp-fp8" if "float8" in row["precision_weights"] else None)
        if split is None or precision is None:
            continue
        tokens = row["global_batch"] * row["sequence"]
        rows.append({
            "row_id": str(row["row_id"]), "framework": FRAMEWORKS[row["framework"]], "source": row["framework"], "model": model,
            "layers": layers, "hardware": PARTS[row["hardware_norm"]], "precision": precision,
            "backend": "eager" if FRAMEWORKS[row["framework"]] in EAGER or "eager" in note else "inductor",
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
            "hardware": "a100_sxm4_80", "precision": "fp16", "backend": "inductor", "batch": micro, "sequence": 2048, "devices": tensor * pipeline,
            "measured_s": seconds, "tensor": tensor, "pipeline": pipeline, "interleave": interleave, "context": 1, "data": 1,
            "expert": 1, "micro_batches": samples // micro, "zero_stage": 0, "recompute": kind,
            "is_sequence_parallel": kind == "selective",
        }
        for model, layers, tensor, pipeline, interleave, samples, micro, *both in MEGATRON
        for kind, seconds in zip(("full", "selective"), both, strict=True)
        if model in held
    ]  # fmt: skip
    return pl.DataFrame(rows)


def stepped(db: Session, cases: pl.DataFrame, candidates: dict[str, list[Framework]]) -> pl.DataFrame:
    """A step of every case under every candidate of its framework, as `training_step` works it out."""
    found = []
    for (model, precision, backend), rows in cases.group_by("model", "precision", "backend", maintain_order=True):
        runs = [
            {"batch": batch, "phase": "forward", "sequence": sequence}
            for batch, sequence in rows.select("batch", "sequence").unique(maintain_order=True).rows()
        ]
        parts = sorted(set(rows["hardware"]))
        scoped = db.asked(Question([model], parts, precisions=[precision], backends=[backend], runs=runs))
        connection = scoped.connection
        connection.execute("CREATE OR REPLACE TEMP TABLE training_sum AS SELECT * FROM training_sum")
        for run, alike in rows.group_by("hardware", "batch", "sequence", maintain_order=True):
            frameworks, splits = [], []
            for row in alike.iter_rows(named=True):
                for number, candidate in enumerate(candidates[row["framework"]]):
                    name = f"{row['row_id']}|{number}"
                    frameworks.append(candidate.model_copy(update={"framework": name}))
                    splits.append(_of_row(row, name))
            _hold(connection, "framework", frameworks)
            _hold(connection, "device_split", splits)
            found.append(connection.sql(_STEPS, params=list(run)).pl())
        for name in ("training_sum", "framework", "device_split"):
            connection.execute(f"DROP TABLE temp.{name}")
        print(model, precision, backend, len(rows), flush=True)
    named = pl.col("split").str.split_exact("|", 1).struct
    return pl.concat(found).select(
        named.field("field_0").alias("row_id"), named.field("field_1").cast(pl.Int64).alias("candidate"), pl.exclude("split")
    )


def _of_row(row: dict[str, Any], name: str) -> DeviceSplit:
    return DeviceSplit(
        split=name, framework=name, optimizer="adam", block_count=row["layers"], adapter_rank=None, frozen_precision=None,
        recompute=row["recompute"], is_sequence_parallel=row["is_sequence_parallel"], **{degree: row[degree] for degree in DEGREES},
    )  # fmt: skip


def _hold(connection: Any, name: str, made: Sequence[Framework | DeviceSplit]) -> None:
    frame = pl.DataFrame([row.model_dump() for row in made], infer_schema_length=None)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM main.{name} LIMIT 0")
    connection.register("made_rows", frame)
    connection.execute(f"INSERT INTO temp.{name} BY NAME SELECT * FROM made_rows")
    connection.unregister("made_rows")


_STEPS = f"""
    SELECT split, fits_device, peak_memory_byte / device_byte AS held_fraction, {" + ".join(TERMS)} AS latency_s, model_flops,
        {", ".join(TERMS)}
    FROM training_step
    WHERE hardware = ? AND batch = ? AND sequence = ?
"""


class Fits:
    """Times of every row under every candidate but the first, the one shipped, and the candidates that fit some rows best."""

    def __init__(self, tried: dict[str, list[Framework]], steps: pl.DataFrame) -> None:
        self.candidates = {name: candidates[1:] for name, candidates in tried.items()}
        ordered = steps.filter(pl.col("candidate") > 0).sort("row_id", "candidate").group_by("row_id", maintain_order=True).agg("latency_s")
        self.times = {row_id: np.array(times) for row_id, times in ordered.rows()}

    def chosen(self, rows: pl.DataFrame) -> int:
        """Number of the candidate with the least sum of |ln| over rows of one framework."""
        times = np.stack([self.times[row_id] for row_id in rows["row_id"]])
        return int(np.abs(np.log(times / rows["measured_s"].to_numpy()[:, None])).mean(axis=0).argmin())

    def best(self, rows: pl.DataFrame) -> str:
        """The factors of that candidate."""
        found = self.candidates[rows["framework"][0]][self.chosen(rows)]
        names = ("kernel_factor", "attention_factor", "warpgroup_attention_factor", "overlap_fraction", "tensor_fraction")
        return ", ".join(f"{name} {value}" for name in names if (value := getattr(found, name)) is not None)

    def fitted(self, rows: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
        """Rows with their time under the factors that fit others best."""
        number = self.chosen(others)
        return rows.with_columns(latency_s=pl.Series([self.times[row_id][number] for row_id in rows["row_id"]]))

    def left_out(self, rows: pl.DataFrame, by: str) -> pl.DataFrame:
        """Rows of each model or part under factors fitted on the others of their framework."""
        parts = []
        for _, group in rows.group_by("framework", maintain_order=True):
            for (name,), scored_rows in group.group_by(by, maintain_order=True):
                others = group.filter(pl.col(by) != name)
                parts.append(self.fitted(scored_rows, others if len(others) else group))
        return pl.concat(parts)

    def largest(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of llm-foundry with the largest cluster, and with the largest model, under factors fitted on smaller ones."""
        group = rows.filter(pl.col("framework") == "llm_foundry")
        return pl.concat(
            self.fitted(group.filter(pl.col(by) == group[by].max()), group.filter(pl.col(by) < group[by].max())).with_columns(
                largest=pl.lit("cluster" if by == "devices" else "model")
            )
            for by in ("devices", "layers")
        )


def report(kept: pl.DataFrame, fits: Fits | None, markdown: Path | None) -> None:
    """Print the tables, or write them to a page."""
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
        ("Rows that charz says do not fit", kept.filter(~pl.col("fits_device")).group_by("framework", "model", "hardware").len().sort("framework", "model")),
        ("Worst rows", worst),
    ]  # fmt: skip
    if fits and len(kept.filter(pl.col("framework") == "llm_foundry")):
        by = ["framework", "precision"]
        tables[-2:-2] = [
            ("Each model left out in turn", errors.table(fits.left_out(kept, "model"), by)),
            ("Each part left out in turn", errors.table(fits.left_out(kept, "hardware"), by)),
            ("llm-foundry: largest cluster and largest model left out", errors.table(fits.largest(kept), ["largest"])),
        ]
    if markdown:
        text = [
            "Steps of training over devices, as `benchmarks/score_training.py` works them out.",
            *(" ".join(paragraph.split()) for paragraph in (__doc__ or "").split("\n\n")[2:]),
        ]
        page.write(markdown, "Training over devices against published figures", text, tables)
        return
    for heading, table in tables:
        print(heading, table, sep="\n")


if __name__ == "__main__":
    main()
