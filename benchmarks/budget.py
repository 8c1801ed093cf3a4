"""Measures each figure of `budget.csv` and compares it with its limit.

    python -m benchmarks.budget            # fails if a figure is above its limit
    python -m benchmarks.budget --write    # writes the measured figures; explain a raised figure in its last column

A limit is the figure times its factor: 1.02 for sizes and lines, 1.25 for U, since machines are noisy. A figure above its limit
is measured up to three times, and the least counts. `tests/cost.py` compares `default_tests`, `tests/whole/test_planned_scans.py`
compares `scans`.
"""

from __future__ import annotations

import argparse
import csv
import functools
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import charz

from .engine import asked, process_in_units

ROOT = Path(__file__).parents[1]
BUDGET = ROOT / "budget.csv"
FOLDERS = ("cli", "hardware_catalog", "ingest", "schema", "sql", "src/charz")
"""Folders of the package."""
MODEL = "resnet50"
MODEL_REPORT = (
    f"SELECT * FROM model_report WHERE model = '{MODEL}' AND batch = 1 AND precision = 'fp16' AND backend = 'inductor'"
)
ELSEWHERE = {"default_tests", "scans"}
"""Figures that tests compare."""
TRIES = 3


@dataclass(frozen=True)
class Line:
    """A line of `budget.csv`."""

    quantity: str
    unit: str
    figure: float
    factor: float
    why: str


class Weighing:
    """Measurements of files and processes in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @functools.cached_property
    def three(self) -> Path:
        """File of an MLP, ResNet-18 and ResNet-50."""
        path = self.folder / "three.duckdb"
        with charz.open(path) as db:
            db.ingest(["synthetic:mlp,in=64,hidden=64,out=10", "resnet18", MODEL])
        return path

    def _command(self, *arguments: object) -> float:
        return process_in_units(sys.executable, "-m", "charz", *arguments)[0]

    def _emptied(self, cache: Path) -> float:
        """Make a file without models. [U] The first in a cache evaluates all views."""
        path = self.folder / "empty.duckdb"
        path.unlink(missing_ok=True)
        code = f"import charz\nwith charz.open({str(path)!r}) as db, db.changing(fills=False): pass"
        return process_in_units("env", f"XDG_CACHE_HOME={cache}", sys.executable, "-c", code)[0]

    def first_file(self) -> float:
        """Make a file without models with an empty cache. [U]"""
        return self._emptied(Path(tempfile.mkdtemp(dir=self.folder)))

    def empty_file(self) -> float:
        self._emptied(self.folder / "cache")
        return (self.folder / "empty.duckdb").stat().st_size / 1e6

    def one_model_file(self) -> float:
        path = self.folder / "one.duckdb"
        path.unlink(missing_ok=True)
        with charz.open(path) as db:
            db.ingest(["resnet18"])
        return path.stat().st_size / 1e6

    def ingest(self) -> float:
        """Ingest ResNet-50 into a file of two models, in a process of its own. [U]"""
        path = self.folder / "two.duckdb"
        path.unlink(missing_ok=True)
        with charz.open(path) as db:
            db.ingest(["synthetic:mlp,in=64,hidden=64,out=10", "resnet18"])
        return self._command("--db", path, "ingest", MODEL)

    def live_answer(self) -> float:
        """Query one model on one part at one batch in a plain client. [U]"""
        return asked(self.three, f"{MODEL_REPORT} AND hardware = 'h100_sxm5_80'", 5)[0]

    def live_parts(self) -> float:
        """Query one model on all parts in a plain client. [U]"""
        return asked(self.three, MODEL_REPORT, 3)[0]

    def mart_kernels(self) -> float:
        """Query the ten kernels that take the most energy of one model on one part in a plain client. [U]"""
        where = f"model = '{MODEL}' AND hardware = 't4' AND batch = 1"
        query = f"SELECT kernel, latency_s, energy_j FROM mart.kernels WHERE {where} ORDER BY energy_j DESC LIMIT 10"
        return asked(self.three, query, 3)[0]

    def recommend(self) -> float:
        return self._command("--db", self.three, "recommend", MODEL)

    def report(self) -> float:
        return self._command("--db", self.three, "report", MODEL, "--on", "h100_sxm5_80")

    def sql(self) -> float:
        return self._command("--db", self.three, "sql", "SELECT 1")

    def lines(self) -> float:
        """Count the lines of the package in Python and SQL."""
        files = [
            p
            for name in FOLDERS
            for p in (ROOT / name).rglob("*")
            if p.suffix in {".py", ".sql"} and not p.is_symlink()
        ]
        return sum(len(path.read_text().splitlines()) for path in files)


def read() -> list[Line]:
    """Read the lines of `budget.csv`."""
    with BUDGET.open(newline="") as rows:
        return [
            Line(r["quantity"], r["unit"], float(r["figure"]), float(r["factor"]), r["why"])
            for r in csv.DictReader(rows)
        ]


def limit(quantity: str) -> float:
    """Return the limit of a quantity."""
    (line,) = (line for line in read() if line.quantity == quantity)
    return line.figure * line.factor


def measured(line: Line, measure: Callable[[], float]) -> float:
    """Measure a figure, and if it is above its limit return the least of three."""
    least = measure()
    for _ in range(TRIES - 1):
        if least > line.figure * line.factor and line.unit == "U":
            least = min(least, measure())
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    is_written = parser.parse_args().write
    lines, found, over = read(), {}, []
    with tempfile.TemporaryDirectory() as folder:
        weighing = Weighing(Path(folder))
        for line in lines:
            if line.quantity in ELSEWHERE:
                continue
            found[line.quantity] = measured(line, getattr(weighing, line.quantity))
            most = line.figure * line.factor
            print(f"{line.quantity:15} {found[line.quantity]:10.1f} {line.unit:5} of {most:.1f}", flush=True)
            if found[line.quantity] > most:
                over.append(line.quantity)
    if is_written:
        with BUDGET.open("w", newline="") as rows:
            table = csv.writer(rows, lineterminator="\n")
            table.writerow(["quantity", "unit", "figure", "factor", "why"])
            for line in lines:
                figure = round(found.get(line.quantity, line.figure), 1)
                table.writerow([line.quantity, line.unit, f"{figure:g}", f"{line.factor:g}", line.why])
    elif over:
        sys.exit(f"above budget.csv: {', '.join(over)}; reduce it, or raise its figure and give the reason in column `why`")


if __name__ == "__main__":
    main()
