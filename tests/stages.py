"""Tests that are too dear for `.ci/run`, which the broad stage runs.

    CHARZ_TEST_COSTS=/tmp/costs.tsv .venv/bin/pytest -m '(slow or broad) and not anew'
    python -m tests.stages /tmp/costs.tsv 0.16    # the second is U of that machine in seconds (the summary of the run prints it)

A test function may take 50 U in the full stage, over all its cases. Of a dearer one the full stage keeps the cheapest case, where
that takes no more, and the broad stage runs the others. What `broad.csv` does not name stays in the full stage.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path

MOST_U = 50.0
KEPT = {
    "tests/answers/test_answers.py::test_every_relation_at_hand_is_the_live_one": "holds all answers at hand against live ones",
    "tests/portability/test_sail.py::test_sail_answers_as_duckdb_does": "holds Sail against DuckDB",
    "tests/schema/test_file.py::test_nothing_is_lost_between_charz_and_plain_clients": "kills writers",
}
"""Dear tests that stay in the full stage, with the reason."""
LISTED = Path(__file__).parent / "broad.csv"


def listed() -> dict[str, str]:
    """The case that the full stage keeps, by test function of the broad stage; empty where it keeps none."""
    with LISTED.open(newline="") as rows:
        return {row["test"]: row["kept"] for row in csv.DictReader(rows)}


def main(costs: str, unit_s: float) -> None:
    """Write `broad.csv` from what each phase of each test took. [CPU s]"""
    cases: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for line in Path(costs).read_text().splitlines():
        spent, _, node = line.split("\t")
        function, _, case = node.partition("[")
        cases[function][case and f"[{case}"] += float(spent) / unit_s
    with LISTED.open("w", newline="") as rows:
        table = csv.writer(rows, lineterminator="\n")
        table.writerow(["test", "cases", "u", "kept"])
        for function, found in sorted(cases.items()):
            if sum(found.values()) > MOST_U and function not in KEPT:
                case = min(found, key=lambda name: found[name])
                is_kept = found[case] <= MOST_U and len(found) > 1
                table.writerow([function, len(found), round(sum(found.values())), case if is_kept else ""])


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
