"""timm benchmark result files: one row a model, whole-batch step time, settings in the file's name.

A name reads `benchmark-infer-amp-nhwc-pt240-cu124-rtx3090[-dynamo].csv`: precision, memory format,
framework, CUDA, part, and `dynamo` for torch.compile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from charz.schema.catalog.source import Source
from charz.schema.errors import CharzError

_FILE_NAME = re.compile(
    r"benchmark-infer-(?P<precision>amp|fp32|fp16|bf16)-(?P<memory_format>nchw|nhwc)-(?P<software>pt\d+)"
    r"(?:-cu\d+)?(?:-cpu)?-(?P<hardware>[A-Za-z0-9_]+?)(?P<compile>-dynamo)?\.csv$"
)

_PRECISIONS = {"amp": "amp-fp16", "fp32": "fp32", "fp16": "fp16", "bf16": "bf16"}
_HARDWARE = {
    "rtx3090": "NVIDIA RTX 3090",
    "rtx4090": "NVIDIA RTX 4090",
    "4090": "NVIDIA RTX 4090",
    "i9_10940x": "Intel Core i9-10940X",
    "pro6000maxq": "NVIDIA RTX PRO 6000 Blackwell Max-Q",
}


@dataclass(frozen=True)
class Settings:
    """The settings in the name of a result file."""

    precision: str
    memory_format: str
    software: str
    hardware: str
    backend: str


def settings(name: str) -> Settings | None:
    """Parse the settings in a file name; return None unless it names a timm inference result."""
    match = _FILE_NAME.search(Path(name).name)
    if match is None:
        return None
    return Settings(
        precision=_PRECISIONS[match["precision"]],
        memory_format=match["memory_format"],
        software=match["software"],
        hardware=_HARDWARE.get(match["hardware"].lower(), match["hardware"]),
        backend="inductor" if match["compile"] else "eager",
    )


def read(path: Path) -> tuple[pl.DataFrame, Source, int]:
    """Read one file: its measurement rows, their source, and the number of rows without a time.

    Raises `CharzError` if the name does not tell the settings or a needed column is missing.
    """
    found = settings(path.name)
    if found is None:
        raise CharzError(
            "the name does not tell precision, format and part",
            str(path),
            next="rename it like benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv or import it with --map",
        )
    raw = pl.read_csv(path, infer_schema_length=None)
    missing = {"model", "infer_batch_size", "infer_step_time", "infer_img_size"} - set(raw.columns)
    if missing:
        raise CharzError(
            "columns are missing", f"{path}: {', '.join(sorted(missing))}", f"there are {', '.join(raw.columns)}"
        )
    source = Source(
        source_id=f"timm:{path.stem.removeprefix('benchmark-infer-')}",
        kind="measurement",
        locator=str(path.name),
        licence="Apache-2.0",
        what="timm inference benchmark",
    )
    timed = raw.filter(pl.col("infer_step_time") > 0)
    return rows(timed, found, source.source_id), source, len(raw) - len(timed)


def rows(raw: pl.DataFrame, found: Settings, source_id: str) -> pl.DataFrame:
    """Convert a result table to measurement rows; `infer_step_time` is the time of one whole batch. [ms]"""
    return raw.select(
        pl.col("model"),
        model_source=pl.format("timm:{}", pl.col("model").str.replace(r"\..*$", "")),
        hardware_name=pl.lit(found.hardware),
        device_count=pl.lit(1),
        backend=pl.lit(found.backend),
        software=pl.lit(found.software),
        mode=pl.lit("run"),
        precision=pl.lit(found.precision),
        memory_format=pl.lit(found.memory_format),
        batch=pl.col("infer_batch_size").cast(pl.Int64),
        resolution=pl.col("infer_img_size").cast(pl.Int64),
        latency_s=pl.col("infer_step_time") / 1e3,
        throughput_per_s=pl.col("infer_batch_size") / (pl.col("infer_step_time") / 1e3),
        parameter_count=pl.col("param_count") * 1e6 if "param_count" in raw.columns else None,
        source_id=pl.lit(source_id),
    )
