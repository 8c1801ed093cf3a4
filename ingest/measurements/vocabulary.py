"""Names in measurement files and the corresponding charz names."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

BACKENDS = {
    "compile": "inductor",
    "dynamo": "inductor",
    "torchcompile": "inductor",
    "pytorch": "eager",
    "tensorrt": "tensorrt",
    "onnxruntime": "onnxruntime",
    "openvino": "openvino",
    "xla": "xla",
    "eager": "eager",
    "inductor": "inductor",
}
"""Backends by the word in a file; an unlisted word stays unchanged."""

PRECISIONS = {
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "half": "fp16",
    "amp": "amp-fp16",
    "int8-weight-only": "w8a16",
    "int4-g32-weight-only": "w4a16",
    "int8_wo": "w8a16",
    "int4_wo": "w4a16",
    "gptq-int4": "w4a16",
    "bnb-4bit": "w4a16",
}
"""Precision policies by the word in a file; an unlisted word stays unchanged."""


def backend(word: str) -> str:
    """Return the charz backend for a file's word."""
    return BACKENDS.get(word.lower(), word.lower())


def precision(word: str) -> str:
    """Return the charz precision policy for a file's word."""
    return PRECISIONS.get(word.lower(), word.lower())


@cache
def model_names() -> dict[str, str]:
    """Read the model source of each name in a file, from `model_names.csv`."""
    with (Path(__file__).parent / "model_names.csv").open(newline="") as file:
        return {row["name"]: row["model_source"] for row in csv.DictReader(file)}
