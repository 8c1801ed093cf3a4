"""Importer of the collected measurement parquets: whole models, single operators, FX nodes.

A folder has three files, distinguished by their columns. `seq_or_resolution` contains an image size for
vision models and a token count for the rest; `notes` contains settings such as framework version, memory format and
MLPerf scenario as `key=value`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from charz.schema.catalog.source import Source
from charz.schema.errors import CharzError
from charz.schema.row import Row
from charz.schema.scenario import Measurement, OperatorMeasurement

from . import operator_shape, vocabulary

_SQUAD_TOKENS = 177
"""Mean length of SQuAD 1.1 in BERT's tokens: 54 % of its tokens are padding at 384 (openreview.net/forum?id=3nzKUh9a4M).
An engine without padding computes this many for a question; MLPerf's reference programs pad."""

_LANGUAGE_MODELS = r"(?i)bert|gpt|opt-|llama|switch|transformer|qwen|mistral|mixtral|gemma|phi|deepseek"


def kind(frame_columns: list[str]) -> str | None:
    """Return `models`, `operators` or `fx_nodes`, or None for the columns of another file."""
    names = set(frame_columns)
    if {"source_repo", "seq_or_resolution", "latency_ms", "notes"} <= names:
        return "models"
    if {"source_repo", "op", "shape", "latency_ms"} <= names:
        return "operators"
    if {"node_name", "target", "input_shapes", "latency_ms"} <= names:
        return "fx_nodes"
    return None


_FUSED_LATER = ("hf:vit-base-patch16-224", "hf:beit-base", "hf:segformer-b0")
"""Models of transformers' table whose attention the library fuses today."""


def read(path: Path) -> tuple[pl.DataFrame, type[Row], list[Source]]:
    """Read one file of the collection: its rows, their row type and their data sets."""
    raw = pl.read_parquet(path)
    found = kind(raw.columns)
    if found is None:
        raise CharzError("not a file of the collection", str(path), f"columns: {', '.join(raw.columns)}")
    row_type: type[Row]
    if found == "models":
        frame, row_type = models(raw), Measurement
    elif found == "operators":
        frame, row_type = operators(raw), OperatorMeasurement
    else:
        frame, row_type = fx_nodes(raw), OperatorMeasurement
    return frame, row_type, _sources(frame, path)


def models(raw: pl.DataFrame) -> pl.DataFrame:
    """Convert `models.parquet` into `measurement` rows."""
    notes, size = pl.col("notes").fill_null(""), pl.col("seq_or_resolution")
    is_timm = pl.col("source_repo") == "huggingface/pytorch-image-models"
    is_language = pl.col("model").str.contains(_LANGUAGE_MODELS) & ~is_timm
    leading_number = size.str.extract(r"^(\d+)(?:x\d+)?$").cast(pl.Int64)
    scenario = notes.str.extract(r"scenario=(\w+)")
    named = pl.col("model").replace_strict(vocabulary.model_names(), default=None)
    # transformers' documentation has this table since 2023, and its models had no fused attention before 4.36.
    is_step_by_step = (pl.col("source_repo") == "huggingface/transformers") & named.is_in(_FUSED_LATER)
    is_unpadded = size.str.contains("SQuAD, variable length") & (pl.col("backend") == "tensorrt")
    return raw.select(
        pl.col("model"),
        model_source=pl.when(is_timm)
        .then(pl.format("timm:{}", pl.col("model").str.replace(r"\..*$", "")))
        .when(is_step_by_step)
        .then(pl.format("{},attn_implementation=eager", named))
        .otherwise(named),
        hardware_name=pl.col("hardware").str.replace(r"^\d+x\s+", "").str.strip_chars(),
        device_count=pl.coalesce(
            notes.str.extract(r"n_accel=(\d+)").cast(pl.Int64),
            # OpenVINO runs a single request on one socket (`openvino_threads`).
            pl.when(pl.col("backend").str.to_lowercase() == "openvino", notes.str.contains("latency mode")).then(1),
            pl.col("hardware").str.extract(r"^(\d+)x\s+").cast(pl.Int64),
            pl.lit(1),
        ),
        # CUDA graphs launch differently from `inductor`, so they have a name of their own.
        backend=pl.when(notes.str.contains("mode=reduce-overhead"))
        .then(pl.lit("inductor_graph"))
        .otherwise(pl.col("backend").map_elements(vocabulary.backend, return_dtype=pl.String)),
        software=notes.str.extract(r"\b(pt\d+)\b"),
        mode=pl.when(scenario == "SingleStream")
        .then(pl.lit("single_stream"))
        .when(scenario == "MultiStream")
        .then(pl.lit("multi_stream"))
        .when(scenario == "Offline")
        .then(pl.lit("offline"))
        .when(scenario == "Server")
        .then(pl.lit("server"))
        .when(notes.str.contains("per output token|time per output token|inter-token|decode"))
        .then(pl.lit("decode"))
        .when(notes.str.contains("Triton|server overhead"))
        .then(pl.lit("served"))
        .otherwise(pl.lit("run")),
        precision=pl.col("precision").fill_null("unknown").map_elements(vocabulary.precision, return_dtype=pl.String),
        memory_format=pl.when(notes.str.contains("layout=nhwc")).then(pl.lit("nhwc")).otherwise(pl.lit("nchw")),
        batch=pl.col("batch").cast(pl.Int64),
        sequence=pl.when(is_unpadded).then(_SQUAD_TOKENS).when(is_language).then(leading_number),
        resolution=pl.when(~is_language).then(leading_number),
        latency_s=pl.col("latency_ms") / 1e3,
        throughput_per_s=pl.col("throughput_per_s"),
        energy_j=pl.col("energy_j"),
        energy_scope=pl.when(pl.col("energy_j").is_null())
        .then(None)
        .when(pl.col("source_repo").str.starts_with("ml-energy"))
        .then(pl.lit("gpu"))
        .otherwise(pl.lit("wall")),
        energy_per=pl.when(pl.col("energy_j").is_null())
        .then(None)
        .when(notes.str.contains("(?i)per OUTPUT TOKEN"))
        .then(pl.lit("token"))
        .when(notes.str.contains("(?i)per REQUEST"))
        .then(pl.lit("request"))
        .when(notes.str.contains("(?i)per generated image|Energy/image"))
        .then(pl.lit("image"))
        .when(notes.str.contains("(?i)per generated video|Energy/video"))
        .then(pl.lit("video"))
        .otherwise(pl.lit("sample")),
        peak_memory_byte=pl.col("peak_mem_bytes"),
        parameter_count=pl.when(is_timm).then(pl.col("params")),
        source_id=pl.when(is_timm)
        .then(pl.format("timm:{}", pl.col("source_path").str.extract(r"benchmark-infer-(.*)\.csv")))
        .otherwise(pl.col("source_repo")),
        note=pl.col("notes"),
    )


def operators(raw: pl.DataFrame) -> pl.DataFrame:
    """Convert `operators.parquet` into `operator_measurement` rows."""
    shapes = raw.select("op", "shape", "precision").unique()
    described = shapes.with_columns(
        pl.Series(
            "work", [_work(operator_shape.from_text, row) for row in shapes.iter_rows()], dtype=operator_shape.WORK
        )
    ).unnest("work")
    return raw.join(described, on=["op", "shape", "precision"], how="left").select(
        model=pl.lit(None, pl.String),
        operator=pl.col("op"),
        operator_class=pl.col("operator_class"),
        hardware_name=pl.col("hardware"),
        backend=pl.lit("eager"),
        precision=pl.col("precision"),
        shape=pl.col("shape"),
        macs=pl.col("macs"),
        flops=pl.col("flops"),
        traffic_byte=pl.col("traffic_byte"),
        latency_s=pl.col("latency_ms") / 1e3,
        source_id=pl.format("{}:operators", pl.col("source_repo")),
    )


def fx_nodes(raw: pl.DataFrame) -> pl.DataFrame:
    """Convert `fx_nodes.parquet` into `operator_measurement` rows: forward time of each node, zeros left out."""
    raw = raw.filter(pl.col("fw_ms").fill_null(pl.col("latency_ms")) > 0)
    keys = ["op", "target", "input_shapes", "output_shape", "dtype", "is_training"]
    raw = raw.with_columns(is_training=pl.col("mode") == "train")
    shapes = raw.select(keys).unique()
    described = shapes.with_columns(
        pl.Series(
            "work", [_work(operator_shape.from_fx_node, row) for row in shapes.iter_rows()], dtype=operator_shape.WORK
        )
    ).unnest("work")
    return raw.join(described, on=keys, how="left", nulls_equal=True).select(
        pl.col("model"),
        operator=pl.format("{}:{}", pl.col("op"), pl.col("target")),
        operator_class=pl.col("operator_class"),
        hardware_name=pl.col("hardware"),
        backend=pl.lit("eager"),
        precision=pl.lit("fp32"),
        shape=pl.format("{} -> {}", pl.col("input_shapes"), pl.col("output_shape")),
        macs=pl.col("macs"),
        flops=pl.col("flops"),
        traffic_byte=pl.col("traffic_byte"),
        latency_s=pl.col("fw_ms").fill_null(pl.col("latency_ms")) / 1e3,
        source_id=pl.format("sitar-lab/NeuSight:fx_nodes:{}", pl.col("mode")),
    )


def _work(of: Callable[..., operator_shape.Work], row: tuple[Any, ...]) -> operator_shape.Work:
    """Compute the work of a row. Raise `CharzError` for an invalid shape."""
    try:
        return of(*row)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MemoryError) as error:
        # Python's parser raises MemoryError for parentheses nested too deeply.
        shown = " ".join(str(value) for value in row)
        raise CharzError(
            "not the sizes of an operator", shown[:200], f"{type(error).__name__}: {error}"[:200]
        ) from error


def _sources(frame: pl.DataFrame, path: Path) -> list[Source]:
    """Return one data set a distinct `source_id` of the frame."""
    return [
        Source(
            source_id=name, kind="measurement", locator=path.name, licence=None, what=f"measured rows, {count} in all"
        )
        for name, count in frame.group_by("source_id").len().sort("source_id").iter_rows()
    ]
