"""Every fault of `tests/whole/faults.py` written into a file and answered: `python -m benchmarks.every_fault [TABLE ...]` writes
the table of docs/faults.md and names every fault that is answered in silence. About a second of CPU a fault."""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

import duckdb

from charz.cli import pages

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "faults.md"
BEGIN, END = "<!-- counted by benchmarks/every_fault.py -->", "<!-- end of what is counted -->"
KINDS = ("refused", "null", "gone", "same", "slower", "faster", "frugal", "NaN")


def main(tables: list[str]) -> None:
    """Count them, and write the page when no table was named."""
    sys.path.insert(0, str(ROOT / "tests"))
    from whole import faults

    counts: Counter[tuple[str, str]] = Counter()
    silent: list[str] = []
    table = ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "faults.duckdb"
        faults.make(path)
        with duckdb.connect(str(path), config={"threads": 1}) as connection:
            before = faults.answers(connection) | faults.costs(connection)
            for fault in faults.faults(connection, *tables):
                found = faults.outcome(connection, fault, before)
                counts[fault.value.format(column="itself"), found.kind] += 1
                if found.is_silent:
                    silent.append(str(fault))
                    print(f"in silence: {fault}", flush=True)
                if fault.table != table:
                    table = fault.table
                    print(f"{table}, after {counts.total() - 1} faults", flush=True)
    text = "\n".join(
        [
            pages.line(),
            "",
            *_table(counts),
            "",
            f"Answered in silence: {len(silent)}.",
            *(f"- `{one}`" for one in silent),
        ]
    )
    print(text)
    if not tables:
        page = PAGE.read_text()
        PAGE.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{text}\n{END}", page, flags=re.S))


def _table(counts: Counter[tuple[str, str]]) -> list[str]:
    lines = [f"| value | {' | '.join(KINDS)} |", "|---" * (len(KINDS) + 1) + "|"]
    for value in dict.fromkeys(value for value, _ in counts):
        lines.append(f"| {value} | {' | '.join(str(counts[value, kind]) for kind in KINDS)} |")
    return lines


if __name__ == "__main__":
    main(sys.argv[1:])
