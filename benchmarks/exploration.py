"""CPU seconds of 2,000 parts that do not exist with ResNet-50 in three precisions, opening and ingest apart.

    python -m benchmarks.exploration

Asked for: 30. The figures stand in docs/decisions/exploration.md.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import charz

VARY = ("tiles=64:1024:20", "l2=4MiB:64MiB:10", "dram=128GB/s:1TB/s:10")


def main() -> None:
    """Print points and CPU seconds."""
    with tempfile.TemporaryDirectory() as folder, charz.open(Path(folder) / "charz.duckdb") as db:
        db.ingest("resnet50")
        begun = time.process_time()
        found = db.explore(base="kpu_t256", vary=VARY, models="resnet50", precision="int8,bf16,fp16", every_point=True)
        print(f"{len(found):,} points of {len(found) // 3:,} parts in {time.process_time() - begun:.1f} CPU s")


if __name__ == "__main__":
    main()
