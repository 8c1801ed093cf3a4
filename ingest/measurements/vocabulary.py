"""Names that measurement files use and the charz names they stand for."""

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
"""Backend by the word a file uses; a word that is not here is kept as it stands."""

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
"""Precision policy by the word a file uses; a word that is not here is kept as it stands."""


def backend(word: str) -> str:
    """charz backend for a file's word."""
    return BACKENDS.get(word.lower(), word.lower())


def precision(word: str) -> str:
    """charz precision policy for a file's word."""
    return PRECISIONS.get(word.lower(), word.lower())


@cache
def model_names() -> dict[str, str]:
    """Model source by the name a file uses, from `model_names.csv` beside this module."""
    with (Path(__file__).parent / "model_names.csv").open(newline="") as file:
        return {row["name"]: row["model_source"] for row in csv.DictReader(file)}
