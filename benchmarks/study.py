"""Runner of the studies that compare charz with measurements.

    python -m benchmarks.study                                        # list the studies
    python -m benchmarks.study NAME [--file FILE] [--measurements FOLDER] [--package FOLDER] [--worst 15]
    python -m benchmarks.study --page                                 # write docs/validation.md

A study is a row of `studies.csv` and a loader in `benchmarks/studies/`. The loader returns a frame with a row for each
measurement: `hardware, backend, family, measured, predicted`, and where they apply `quantity` (the compared quantity), `standing`
(whether the fit used the row), `p10_s` and `p90_s` (the band). The runner scores the frame and writes `results/NAME.parquet`, each
row with the date, the commit and the version of the shipped tables. FILE is a charz database; a study that needs models
ingests those that FILE lacks. `carried.csv` has scores of earlier runs; the page shows them until the study runs again.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import hashlib
import importlib
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import polars as pl

import charz
from charz.cli import display
from charz.hardware_catalog import loader
from charz.hardware_catalog.calibration import errors
from charz.schema.catalog.source import Source
from charz.schema.errors import CharzError, unknown_name
from charz.schema.row import Row
from charz.session import Session, workspace
from charz.sql import graph, views
from charz.sql.layers import MODELS
from charz.sql.views import View

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
PAGE = ROOT / "docs" / "validation.md"
EVERY = "*"
"""Value of a key of a score over all of its values."""

SCORE = {
    "study": pl.String, "quantity": pl.String, "standing": pl.String, "hardware": pl.String, "backend": pl.String, "family": pl.String,
    "rows": pl.Int64, "median_error": pl.Float64, "p90_error": pl.Float64, "bias": pl.Float64, "within_30_fraction": pl.Float64,
    "interval_coverage_fraction": pl.Float64, "date": pl.String, "commit": pl.String, "version": pl.String,
}  # fmt: skip
"""Columns of a result."""
KEYS = ("study", "quantity", "standing")
FIGURES = ("rows", "median_error", "p90_error", "bias", "within_30_fraction", "interval_coverage_fraction")


@dataclass(frozen=True, slots=True)
class Given:
    """Inputs of a study, from the command line."""

    file: Path
    measurements: Path = ROOT.parent / "shared" / "measurements"
    package: Path | None = None
    """Unpacked aiconfigurator_core folder; None for the installed one."""
    every: int = 1
    """Stride at which a study of many slow cases takes them."""

    @contextmanager
    def connection(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file read-only, made with the shipped catalog if it does not exist."""
        workspace.read(self.file, create=True).close()
        with workspace.read(self.file) as opened:
            yield opened

    def table(self, name: str) -> pl.DataFrame:
        """Read a file of published figures. Raise `CharzError` if it does not exist."""
        path = self.measurements / f"{name}.parquet"
        if not path.is_file():
            raise CharzError("no such file of measurements", str(path), next="name its folder with --measurements")
        return pl.read_parquet(path)

    def ingested(self, sources: Iterable[str], **options: object) -> None:
        """Ingest the sources that the file lacks, without answers."""
        with charz.open(self.file) as db:
            held = set(db.sql("SELECT source FROM model")["source"]) if self.file.exists() else set()
            if missing := [name for name in dict.fromkeys(sources) if name not in held]:
                db.ingest(missing, no_answers=True, **options)  # type: ignore[arg-type]  # options of the method

    def session(self) -> Session:
        """Open the file as a session."""
        return charz.open(self.file)


@dataclass(frozen=True, slots=True)
class Study:
    """A row of `studies.csv`."""

    name: str
    loader: str
    """Module of `benchmarks.studies` and its function; empty for a study with only carried scores."""
    compares: str
    family: str
    """Meaning of the column `family`."""
    minutes: float
    """CPU time of a run, ingest included. [min]"""
    needs: str
    source: str
    """Source of the measured figures."""

    def load(self, given: Given) -> pl.DataFrame:
        """Run the loader. Raise `CharzError` for a study with only carried scores."""
        if not self.loader:
            raise CharzError("no program repeats this study", self.name, next=self.needs)
        module, _, function = self.loader.partition(":")
        found: pl.DataFrame = getattr(importlib.import_module(f"benchmarks.studies.{module}"), function)(given)
        return found


@functools.cache
def studies() -> dict[str, Study]:
    """Read the rows of `studies.csv` by name."""
    rows = pl.read_csv(FOLDER / "studies.csv", schema_overrides={"minutes": pl.Float64}).with_columns(pl.col(pl.String).fill_null(""))
    return {row["name"]: Study(**row) for row in rows.iter_rows(named=True)}


def scores(study: Study, frame: pl.DataFrame) -> pl.DataFrame:
    """Score a study's rows: all, by part and backend, and by family."""
    given = {"study": study.name, "quantity": study.compares, "standing": "as shipped"}
    frame = frame.with_columns(pl.lit(value).alias(name) for name, value in given.items() if name not in frame.columns)
    found = []
    for by in ((), ("hardware", "backend"), ("family",)):
        table = errors.table(frame, [*KEYS, *by], "predicted", "measured")
        others = [name for name in ("hardware", "backend", "family") if name not in by]
        found.append(table.with_columns(pl.lit(EVERY).alias(name) for name in others))
    shown = pl.concat(found, how="diagonal_relaxed")
    stamp = {"date": datetime.date.today().isoformat(), "commit": commit(), "version": version()}
    return conformed(shown.with_columns(pl.lit(value).alias(name) for name, value in stamp.items()))


def conformed(frame: pl.DataFrame) -> pl.DataFrame:
    """Give a frame the columns of a result, absent ones null, numbers rounded to four digits."""
    absent = [pl.lit(None, kind).alias(name) for name, kind in SCORE.items() if name not in frame.columns]
    numbers = [pl.col(name).round(4) for name, kind in SCORE.items() if kind == pl.Float64]
    return frame.with_columns(absent).select(pl.col(n).cast(k) for n, k in SCORE.items()).with_columns(numbers).fill_nan(None)


def commit() -> str:
    """Name the commit of the working tree, with `+` if files other than results and pages differ from it."""
    run = functools.partial(subprocess.run, cwd=ROOT, capture_output=True, text=True, check=True)
    head = run(["git", "rev-parse", "--short=9", "HEAD"]).stdout.strip()
    changed = run(["git", "status", "--porcelain", "--untracked-files=no", "--", ".", ":!benchmarks/results", ":!docs"]).stdout.strip()
    return head + ("+" if changed else "")


@functools.cache
def version() -> str:
    """Hash the shipped tables: the catalog's rows that the views read, and the views' queries.

    Texts, sources and the order of rows do not change it.
    """
    return version_of(loader.load().rows, views.load())


def version_of(rows: dict[type[Row], list[Row]], known: Iterable[View]) -> str:
    """Hash some rows and views."""
    known = list(known)
    reads = {view.name: view.relations for view in known}
    read = graph.ancestors([view.name for view in known if view.layer in MODELS], reads)
    texts = [
        f"{view.name}: {' '.join(view.body.split())}" for view in known if view.layer in MODELS or view.name in read
    ]
    for row_type, found in rows.items():
        if row_type.TABLE in read and row_type is not Source:
            texts += [f"{row_type.TABLE}: {row.model_dump_json()}" for row in found]
    return hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()[:12]


def results(folder: Path = RESULTS) -> pl.DataFrame:
    """Read every score: of the last run of each study, and carried ones of studies without a run."""
    runs = [conformed(pl.read_parquet(path)) for path in sorted(folder.glob("*.parquet"))]
    found = pl.concat([pl.DataFrame(schema=SCORE), *runs])
    carried = pl.read_csv(folder / "carried.csv", schema_overrides=SCORE)
    ran = found.select("study").unique()
    return pl.concat([found, conformed(carried).join(ran, on="study", how="anti")]).sort("study", *SCORE)


def page(folder: Path = RESULTS) -> str:
    """Write the page of validation from the results."""
    known, rows = studies(), results(folder)
    unknown = sorted(set(rows["study"]) - known.keys())
    if unknown:
        raise CharzError("results of no study", ", ".join(unknown), next="add its row to benchmarks/studies.csv")
    every = [pl.col(name) == EVERY for name in ("hardware", "backend", "family")]
    whole, parts = rows.filter(*every), rows.filter(every[2] & ~(every[0] & every[1]))
    families = rows.filter(~every[2])
    figures = pl.read_csv(folder / "figures.csv", infer_schema_length=None).with_columns(pl.col(pl.String).fill_null(""))
    stamp = ["date", "version"]
    listed = pl.DataFrame(
        [(s.name, s.family, s.source, f"{s.minutes:g}", s.needs) for s in known.values()],
        schema=["study", "family", "measured figures", "CPU min", "needs"], orient="row",
    )  # fmt: skip
    lines = [HEAD.format(studies=len(known))]
    for heading, frame, columns in (
        ("Studies", whole, [*KEYS, *FIGURES, *stamp]),
        ("By part and backend", parts, [*KEYS, "hardware", "backend", *FIGURES, *stamp]),
        ("By family", families, [*KEYS, "hardware", "backend", "family", *FIGURES, *stamp]),
        ("Other figures", figures, figures.columns),
        ("Requirements of each study", listed, listed.columns),
    ):
        shown = [[_shown(value) for value in row] for row in frame.select(columns).rows()]
        lines += [f"## {heading}", "", display.markdown([HEADERS.get(name, name) for name in columns], shown), ""]
    return "\n".join(lines)


HEAD = """# Validation

Written by `python -m benchmarks.study --page` from `benchmarks/results`; do not edit.

{studies} studies compare predictions with measurements. The error of a row is the natural logarithm of predicted over measured:
`median` and `p90` describe its absolute value, `bias` is its median (above 0 the prediction is too large), `within 30 %` is the share
between 1/1.3 and 1.3, `in band` the share between p10 and p90 (0.8 is nominal). `fit` names the rows or constants that the fit used.
`version` is a hash of the shipped tables at the run. A row with another version than the present one is an older score:
`python -m benchmarks.study STUDY` repeats it, in the time and with the inputs of the last table. `*` means all.
"""

HEADERS = {
    "standing": "fit", "hardware": "part",
    "median_error": "median", "p90_error": "p90", "within_30_fraction": "within 30 %", "interval_coverage_fraction": "in band",
}  # fmt: skip


def _shown(value: object) -> str:
    if value is None or value == "":
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def print_wide(digits: int = 4) -> None:
    """Configure polars to print whole frames with a number of decimal places."""
    pl.Config.set_tbl_rows(200).set_tbl_cols(30).set_tbl_width_chars(220).set_tbl_hide_dataframe_shape(True)
    pl.Config.set_tbl_hide_column_data_types(True).set_float_precision(digits).set_fmt_str_lengths(60)


@dataclass
class Timer:
    """CPU time since the creation of the timer. [s]"""

    begun: float = field(default_factory=lambda: sum(Timer._used()))

    @staticmethod
    def _used() -> Sequence[float]:
        import resource

        return [resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]

    def spent_s(self) -> float:
        """Return the CPU time since creation, of this process and its children. [s]"""
        return sum(self._used()) - self.begun


def run(name: str, given: Given, worst: int = 0) -> pl.DataFrame:
    """Run a study and return its scores. Raise `CharzError` for an unknown name or a study without a row to score."""
    if name not in studies():
        raise unknown_name("study", name, studies())
    study, timer = studies()[name], Timer()
    frame = study.load(given)
    if not len(frame):
        raise CharzError("no row to score", name, next=f"this study needs {study.needs or 'nothing'}")
    found = scores(study, frame)
    print(found.select("quantity", "standing", "hardware", "backend", "family", *FIGURES))
    if worst:
        print(errors.worst(frame, worst, "predicted", "measured"))
    print(f"{name}: {len(frame)} rows, {timer.spent_s() / 60:.1f} CPU min")
    return found


def main() -> int:
    """List studies, run some, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--file", type=Path, help="database with the models; default a temporary one")
    parser.add_argument("--measurements", type=Path, default=Given.__dataclass_fields__["measurements"].default)
    parser.add_argument("--package", type=Path, help="unpacked aiconfigurator_core folder; default the installed one")
    parser.add_argument("--every", type=int, default=1, help="stride at which slow cases are taken")
    parser.add_argument("--worst", type=int, default=0, help="number of rows with the largest errors to print")
    parser.add_argument("--no-write", action="store_true", help="print the scores without writing results")
    parser.add_argument("--page", action="store_true", help="write docs/validation.md")
    options = parser.parse_args()
    print_wide(3)
    try:
        for name in options.names:
            with tempfile.TemporaryDirectory() as folder:
                file = options.file or Path(folder) / "study.duckdb"
                found = run(name, Given(file, options.measurements, options.package, options.every), options.worst)
            if not options.no_write:
                found.write_parquet(RESULTS / f"{name}.parquet")
        if options.page:
            PAGE.write_text(page())
    except CharzError as error:
        print(error.line, file=sys.stderr)
        return 2
    if not options.names and not options.page:
        for study in studies().values():
            print(f"{study.name:16} {study.minutes:5g} CPU min  {study.compares}; needs {study.needs or 'nothing'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
