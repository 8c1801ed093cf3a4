"""Stored facts of models, so that only tests of ingest trace.

    python -m tests.model_facts    # trace the models and store them again, after a change of the rows that ingest writes

`tests/ingest/test_model_facts.py` compares them with a new ingest.
"""

from __future__ import annotations

import argparse
import functools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import charz
from charz.hardware_catalog import loader
from charz.ingest import pipeline
from charz.ingest.compile.rules import Rules, from_rows
from charz.ingest.identity import request_hash
from charz.ingest.rows import Ingested
from charz.ingest.sources.spec import parse
from charz.ingest.write import MODEL_TABLES

NAMES = ("efficientnet_b0", "mobilenet_v2", "mobilenet_v3_large", "resnet18", "resnet50", "swin_t", "vit_b_16")
MODELS = {name: parse(name) for name in NAMES} | {
    "gpt2_of_2_layers": parse("hf:gpt2", settings=(("n_layer", "2"),)),
    "gpt2_of_2_layers_training": parse("hf:gpt2", settings=(("n_layer", "2"),), train=True),
    "mixtral_of_1_layer": parse("hf:mixtral-8x7b", settings=(("num_hidden_layers", "1"),)),
}
"""Model to trace by name of the file."""
FOLDER = Path(__file__).parent / "facts"
OF_A_RUN = ("charz_version", "ingest_s", "request_hash", "rules_fingerprint")
"""Columns of a model's row that describe the run that wrote it, not the model."""


def path(name: str) -> Path:
    """Return the path of a model's file."""
    return FOLDER / f"{name}.parquet"


@functools.cache
def rules() -> Rules:
    """Load the compiler's rules from the shipped catalog."""
    return from_rows(loader.load().rows)


@functools.cache
def kept(name: str) -> Ingested:
    """Return the stored rows of a model as a current ingest would."""
    (row,) = pq.read_table(path(name)).to_pylist()
    by_table = {row_type.TABLE: row_type for row_type in MODEL_TABLES}
    columns = {by_table[table]: values for table, values in row.items() if table != "model"}
    model = row["model"] | {
        "charz_version": charz.__version__, "ingest_s": 0.0, "request_hash": request_hash(MODELS[name]),
        "rules_fingerprint": rules().fingerprint,
    }  # fmt: skip
    return Ingested(model, columns)


def stated(made: Ingested) -> dict[str, dict[str, Any]]:
    """Return the content of a model's file: one struct for each table, with one list for each column."""
    model = {name: value for name, value in made.model.items() if name not in OF_A_RUN}
    return {"model": model} | {row_type.TABLE: dict(values) for row_type, values in made.columns.items()}


@functools.cache
def fresh(name: str) -> Ingested:
    """Trace a model and return its rows."""
    return pipeline.ingest(MODELS.get(name) or parse(name), rules())


def main() -> None:
    """Trace the named models, or all, and write their facts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    FOLDER.mkdir(exist_ok=True)
    for name in parser.parse_args().models:
        pq.write_table(pa.Table.from_pylist([stated(fresh(name))]), path(name), compression="zstd")
        print(f"{path(name)}: {path(name).stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main()
