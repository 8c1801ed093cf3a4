"""Area and power by the rules of the silicon against dice in print and measured watts, worst first.

    python -m benchmarks.silicon [DATABASE] [--measurements ../shared/measurements] [--markdown PAGE]

Dice, power at rest and what is off are of the catalog alone. With DATABASE, which `benchmarks/score_energy.py` makes, the average
power of language models on one GPU stands beside them: energy over time of the run as predicted, against what NVML measured
over the measured step. A figure that a rule was fitted on is no test; the reasons of `silicon_rule` say which those are.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb
import polars as pl

from benchmarks import catalog, page, score_energy
from charz.hardware_catalog.calibration import errors
from charz.session import workspace

DICE = "SELECT * FROM die_check WHERE stands_for_die"


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path, nargs="?", help="file of score_energy; without it no loaded power")
    parser.add_argument("--measurements", type=Path, default=Path("../shared/measurements"))
    parser.add_argument("--markdown", type=Path, help="write the tables to this page")
    return parser.parse_args()


def main() -> None:
    """Print the tables."""
    options = arguments()
    page.print_wide(3)
    with catalog.connection() as connection:
        tables = [*dice(connection), *rest(connection), *off(connection)]
    if options.database is not None:
        with workspace.read(options.database) as connection:
            tables += loaded(connection, catalog.published_models(options.measurements))
    for title, table in tables:
        print(title)
        print(table)
    if options.markdown is not None:
        page.write(options.markdown, "Validation of the silicon", _TEXT, tables)


def dice(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, pl.DataFrame]]:
    """Area of dice, by family and each."""
    spread = "ABS(LN(area_ratio))"
    summary = connection.sql(
        f"SELECT h.family, COUNT(*) AS dice, EXP(MEDIAN({spread})) AS median_factor, EXP(QUANTILE_CONT({spread}, 0.9)) AS"
        f" p90_factor FROM ({DICE}) JOIN hardware AS h USING (hardware) GROUP BY ROLLUP (h.family) ORDER BY h.family NULLS LAST"
    ).pl()
    each = connection.sql(
        f"SELECT die, hardware, printed_mm2, ruled_mm2, area_ratio, source_id FROM ({DICE}) ORDER BY {spread} DESC"
    ).pl()
    return [("Area of dice by family, all last", summary), ("Area of each die", each)]


def rest(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, pl.DataFrame]]:
    """Power at rest against what is stated, and against the limit."""
    stated = connection.sql(
        "SELECT hardware, state, stated_w, ruled_w, power_ratio, source_id FROM rest_check ORDER BY ABS(LN(power_ratio)) DESC"
    ).pl()
    limits = connection.sql(
        "SELECT hardware, area_mm2, leakage_w, l.clocking_w, memory_w, rest_w, static_w, tdp_w, rest_w / tdp_w AS rest_fraction"
        " FROM part_leakage AS l JOIN part USING (hardware) WHERE NOT is_stated AND tdp_w IS NOT NULL ORDER BY rest_fraction DESC LIMIT 12"
    ).pl()  # fmt: skip
    return [("Power at rest that is stated or measured", stated), ("Largest power at rest against the limit", limits)]


def off(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, pl.DataFrame]]:
    """What is further than a factor from the rules of its process."""
    query = "SELECT quantity, hardware, ruled, stated, factor, source_id FROM silicon_check WHERE is_off ORDER BY quantity, factor DESC"
    return [("Further than 1.5 from the rules of the process", connection.sql(query).pl())]


def loaded(connection: duckdb.DuckDBPyConnection, path: Path) -> list[tuple[str, pl.DataFrame]]:
    """Average power of language models, waits included, worst part first."""
    found = score_energy.scored(connection, score_energy.measured(path, prompt=200)).with_columns(
        measured_w=pl.col("measured_j") * pl.col("batch") / pl.col("step_s"),
        predicted_w=pl.col("served_j") * pl.col("batch") / pl.col("served_step_s"),
    )
    by = ["campaign", "hardware"]
    watts = found.group_by(by).agg(pl.col("measured_w").median(), pl.col("predicted_w").median())
    table = errors.table(found, by, "predicted_w", "measured_w").join(watts, on=by)
    return [("Average power of language models, in watts", table.sort(pl.col(table.columns[3]), descending=True))]


_TEXT = (
    "Written by `python -m benchmarks.silicon language-models.duckdb --markdown docs/validation-silicon.md`; do not edit.",
    "What areas and powers follow from, and what was fitted on which dice: [silicon](decisions/silicon.md). `waiting` is power with"
    " clocks at work and nothing to do, `clocks` what of it the clocks add to bare idle. `lift` is the energy of a matrix operation"
    " against the circuit's own: fetch, registers and wires, which differ by family.",
)


if __name__ == "__main__":
    main()
