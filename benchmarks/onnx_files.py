"""Models as exporters write them to ONNX against the models themselves: multiply-accumulates, weights and peak memory.

    python -m benchmarks.onnx_files [--models resnet18,…]

Each model is exported by `torch.onnx.export` with and without its optimizer, its batch left open, and ingested beside the
original. The optimizer folds batch norms into convolutions, so that its files hold fewer weights and fewer tensors than the model.
Results go to docs/onnx-files.md.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path

import polars as pl
import torch

import charz
from benchmarks import page
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.schema.errors import CharzError

PAGE = Path(__file__).parents[1] / "docs" / "onnx-files.md"
MODELS = (
    "resnet18", "mobilenet_v2", "efficientnet_b0", "densenet121", "regnet_y_400mf", "shufflenet_v2_x1_0", "squeezenet1_1",
    "mnasnet1_0", "googlenet", "inception_v3", "convnext_tiny", "vit_b_16", "swin_t", "maxvit_t", "vgg11", "alexnet",
    "hf:bert-base-uncased", "hf:distilbert-base-uncased", "timm:mixer_s32_224", "timm:deit_tiny_patch16_224",
)  # fmt: skip
"""Convolutional networks, transformers and mixers of four sources."""

COMPARED = """
    SELECT o.run.batch, f.peak_memory_byte / o.peak_memory_byte AS peak_ratio, f.weight_byte / o.weight_byte AS weight_ratio,
        g.macs = m.macs AS is_macs_equal
    FROM run_memory AS o
    JOIN model AS d ON d.model = o.run.model AND o.run.sequence = d.default_sequence
    JOIN run_memory AS f
        ON f.run.batch = o.run.batch AND f.run.backend = o.run.backend AND f.run.precision = o.run.precision
    JOIN model_work AS m ON m.model = o.run.model AND m.batch = o.run.batch AND m.sequence = o.run.sequence AND m.backend = o.run.backend
        AND m.precision = o.run.precision
    JOIN model_work AS g ON g.model = f.run.model AND g.batch = o.run.batch AND g.sequence = f.run.sequence AND g.backend = o.run.backend
        AND g.precision = o.run.precision
    WHERE o.run.model = '{model}' AND f.run.model = '{file}' AND o.run.backend = 'eager' AND o.run.precision = 'fp32' AND o.run.batch IN (1, 8)
    ORDER BY o.run.batch"""


HEAD = (
    "`python -m benchmarks.onnx_files`: models exported by `torch.onnx.export` with their batch open, and read again beside the originals;"
    " ratios of the file to the model under eager in fp32.",
    "The exporter's optimizer folds batch norms into convolutions: less weight, no tensor between the two. A model's own code holds"
    " tensors longer than a graph needs them (DenseNet's concatenations); a file does not say so.",
)


def export(name: str, path: Path, is_optimized: bool) -> None:
    """Write a model to a file, with weights of zeros and the batch open."""
    request = build(parse(name))
    module = request.module.to_empty(device="cpu").eval()
    for held in (*module.parameters(), *module.buffers()):
        if held.is_floating_point():
            torch.nn.init.zeros_(held)
    arguments = tuple(torch.zeros_like(a, device="cpu") for a in request.arguments)
    keywords = {key: torch.zeros_like(value, device="cpu") for key, value in request.keywords.items()}
    is_open = {0: torch.export.Dim.DYNAMIC}
    shapes = tuple(is_open for _ in arguments) or dict.fromkeys(keywords, is_open)
    program = torch.onnx.export(
        module, arguments, kwargs=keywords, dynamo=True, optimize=is_optimized, dynamic_shapes=shapes, verbose=False
    )
    assert program is not None
    program.save(str(path))


def rows(name: str, is_optimized: bool, folder: Path) -> pl.DataFrame:
    """Ratios of a file to its model at two batches. Raises CharzError where the file is refused."""
    path = folder / f"{re.sub(r'[^a-zA-Z0-9]', '_', name)}_file.onnx"
    export(name, path, is_optimized)
    with charz.open(folder / "both.duckdb") as db:
        db.ingest([name, str(path)], no_answers=True)
        return db.sql(COMPARED.format(model=name, file=path.stem)).select(pl.lit(name).alias("model"), pl.all())


def main() -> None:
    """Compare every model, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    asked = parser.parse_args().models.split(",")
    tables, text = [], list(HEAD)
    for is_optimized, heading in ((False, "Without the exporter's optimizer"), (True, "With it")):
        frames = []
        for name in asked:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    frames.append(rows(name, is_optimized, Path(folder)))
                except CharzError as error:
                    text.append(f"Refused, {heading.lower()}: {name}: {error}")
        found = pl.concat(frames)
        near = found.filter(pl.col("peak_ratio").is_between(0.97, 1.03))
        text.append(
            f"{heading}: {found['model'].n_unique()} of {len(asked)} read, multiply-accumulates equal in {found.filter('is_macs_equal').height}"
            f" of {found.height} runs, peak memory within 3 % in {near.height}."
        )
        tables.append((heading, found))
    if asked == list(MODELS):
        page.write(PAGE, "Models as ONNX files", text, tables)
    else:
        print(*text, *(table for _, table in tables), sep="\n")


if __name__ == "__main__":
    main()
