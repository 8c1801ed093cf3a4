"""Error of predicted matrix products against the timings in aiconfigurator-core.

    python -m benchmarks.score_gemm DATABASE [--package DIR] [--sample 0.05] [--precision bf16]

The products run through the same SQL as a network's (`ingest/measurements/bare.py`). Of several
frameworks' timings of one shape, each version is scored on its own.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import duckdb
import polars as pl

from charz.ingest.measurements import aiconfigurator, bare, score


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("--package", type=Path, default=None, help="unpacked aiconfigurator_core folder; default the installed one")
    parser.add_argument("--sample", type=float, default=0.05, help="share of the shapes, by a fixed hash")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--hardware", nargs="*", default=["a100_sxm4_80", "h100_sxm5_80", "h200_sxm_141", "b200_sxm", "l40s"])
    options = parser.parse_args()
    pl.Config.set_tbl_rows(200).set_tbl_cols(30).set_tbl_width_chars(200).set_tbl_hide_dataframe_shape(True)
    pl.Config.set_tbl_hide_column_data_types(True).set_float_precision(4)
    start = time.perf_counter()
    measured = timings(options.package, options.precision, options.hardware, options.sample)
    print(f"{len(measured)} timings of {measured.select('m', 'n', 'k').unique().height} shapes, {time.perf_counter() - start:.1f} s")
    predicted = bare.times(options.database, measured.select("m", "n", "k"), options.hardware, options.precision)
    both = measured.join(predicted, on=["m", "n", "k", "hardware_id"]).rename({"latency_s": "measured_s"})
    print(score.table(both, ["hardware_id", "framework", "version"], "device_s"))
    print(score.table(both, ["hardware_id"], "device_s"))
    rows = pl.col("m").cut([16, 128, 1024, 8192]).alias("rows_m")
    print(score.table(both.with_columns(rows), ["hardware_id", "rows_m"], "device_s"))
    print(score.worst(both, 15, "device_s").select("hardware_id", "framework", "m", "n", "k", "measured_s", "device_s", "tile_m", "tile_n", "waves", "utilization_fraction", "memory_level"))
    print(f"{time.perf_counter() - start:.1f} s")


def timings(package: Path | None, precision: str, hardware: list[str], sample: float) -> pl.DataFrame:
    """Measured products: `hardware_id, framework, version, m, n, k, latency_s`."""
    connection = duckdb.connect()
    rows = aiconfigurator.relation(connection, aiconfigurator.data_root(package), "gemm")
    connection.register("hardware_wanted", pl.DataFrame({"hardware_id": hardware}).to_arrow())
    return connection.sql(
        f"""
        SELECT hardware_id, framework, version, CAST(m AS DOUBLE) AS m, CAST(n AS DOUBLE) AS n, CAST(k AS DOUBLE) AS k,
            MEDIAN(latency_s) AS latency_s
        FROM rows SEMI JOIN hardware_wanted USING (hardware_id)
        WHERE precision = '{precision}' AND hash(m, n, k) % 10000 < {sample * 10000}
        GROUP BY ALL
        """
    ).pl()


if __name__ == "__main__":
    main()
