"""CPU time of a search for loop nests, a layer, with all five dataflows.

    python -m benchmarks.mapping_pace FILE MODEL PART

Asked for: 5 U a layer, U being the CPU time of ten million passes of an empty loop. Searches that find no more than an exhaustive one
are tests (tests/session/test_mapping.py). Figures stand in docs/decisions/mapping.md.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import charz


def main() -> None:
    """Print layers, CPU seconds and U."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="file that has the model")
    parser.add_argument("model")
    parser.add_argument("part")
    given = parser.parse_args()
    unit_s = min(_loop_s() for _ in range(3))
    with charz.open(given.file) as db:
        begun = time.process_time()
        found = db.mapping(given.model, on=given.part, precision="int8", each=True)
        spent_s = time.process_time() - begun
    layers, flows = found["product"].n_unique(), found["dataflow"].n_unique()
    print(
        f"{given.model} on {given.part}: {layers} layers, {flows} dataflows, {spent_s:.2f} CPU s, {spent_s / layers / unit_s:.2f} U a layer"
        f" (U = {unit_s:.3f} s)"
    )


def _loop_s() -> float:
    """CPU time of ten million passes. [s]"""
    begun = time.process_time()
    exec("for _ in range(10_000_000): pass", {})
    return time.process_time() - begun


if __name__ == "__main__":
    main()
