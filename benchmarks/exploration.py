"""CPU seconds of parts that do not exist, with area and dollars and without, and the front of two models at 5 W.

    python -m benchmarks.exploration [--parts 2000] [--file FILE]

Asked for: 2,000 parts with one model in 30; with area and dollars within 1.3 times of without; a front of eight points. The figures
stand in docs/decisions/exploration.md.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import charz
from charz.session.decide import design_point

MODELS = ("resnet50", "mobilenet_v2", "efficientnet_b0", "hf:bert-base-uncased")
PRECISIONS = "int8,bf16,fp16"
OUTER = ("l2=4MiB:64MiB:10", "dram=128GB/s:1TB/s:10")
AT_5_W = ("tiles=4:128", "dram=8GB/s:128GB/s", "l2=256KiB:4MiB")


def main() -> None:
    """Print points and CPU seconds, then the front."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, default=2000, help="parts of the space, hundreds")
    parser.add_argument("--file", type=Path, help="file that holds the models, or shall; a temporary one else")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, charz.open(given.file or Path(folder) / "charz.duckdb") as db:
        there = set(db.models()["model"]) if given.file and given.file.exists() else set()
        for model in MODELS:
            if model not in there:
                db.ingest(model, no_answers=True)
        vary = [f"tiles=64:1024:{given.parts // 100}", *OUTER]
        for what, costs in (("with", contextlib.nullcontext()), ("without", _without_costs())):
            begun = time.process_time()
            with costs:
                found = db.explore(
                    base="kpu_t256", vary=vary, models=MODELS, precision=PRECISIONS, every_point=True, by="latency"
                )
            print(f"{len(found):,} points {what} area and dollars: {time.process_time() - begun:.1f} CPU s", flush=True)
        for model in MODELS[2:]:
            front = db.explore(
                base="kpu_t64", vary=AT_5_W, models=model, precision="int8", limit="power=5W", by="latency,usd,energy"
            )
            print(f"{model} at 5 W: {len(front)} points on the front", flush=True)
            print(front, flush=True)


@contextlib.contextmanager
def _without_costs() -> Iterator[None]:
    nothing = dict.fromkeys((*design_point.MADE, *design_point.BAND))
    with (
        mock.patch.object(design_point, "VIEWS", ("target_cost", "busy_pace")),
        mock.patch.object(design_point, "_made", lambda _, parts: {part: dict(nothing) for part in parts}),
    ):
        yield


if __name__ == "__main__":
    main()
