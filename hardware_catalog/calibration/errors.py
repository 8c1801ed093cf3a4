"""Errors of predictions: one line of statistics per group of rows.

The error of a row is `ln(predicted / measured)`, so that twice too slow and twice too fast weigh the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

LOG_RATIO = "log_ratio"


def with_log_ratio(frame: pl.DataFrame, predicted: str = "latency_s", measured: str = "measured_s") -> pl.DataFrame:
    """Add the column `log_ratio` and drop rows without a prediction or a positive measurement."""
    return frame.filter((pl.col(predicted) > 0) & (pl.col(measured) > 0)).with_columns(
        (pl.col(predicted).log() - pl.col(measured).log()).alias(LOG_RATIO)
    )


def table(
    frame: pl.DataFrame, by: Sequence[str], predicted: str = "latency_s", measured: str = "measured_s"
) -> pl.DataFrame:
    """Score each group: `rows`; if the column `unfitted_s` exists, `unfitted_median_error` and `unfitted_bias` of predictions without a
    factor on the host's time, and the least and largest such factor; `median_error` and `p90_error` of |log ratio|, `bias` (median log
    ratio: above 0 predicts too slow), `mape`, `within_30_fraction`, `spearman`; if the columns `p10_s` and `p90_s` exist,
    `interval_coverage_fraction` and `mean_interval_width`, the ratio of its ends."""
    error, ratio = pl.col(LOG_RATIO).abs(), pl.col(predicted) / pl.col(measured)
    figures = [pl.len().alias("rows")]
    if "unfitted_s" in frame.columns:
        unfitted = pl.col("unfitted_s").log() - pl.col(measured).log()
        figures += [
            unfitted.abs().median().alias("unfitted_median_error"),
            unfitted.median().alias("unfitted_bias"),
            pl.col("host_factor").min().alias("least_host_factor"),
            pl.col("host_factor").max().alias("largest_host_factor"),
        ]
    figures += [
        error.median().alias("median_error"),
        error.quantile(0.9, "linear").alias("p90_error"),
        pl.col(LOG_RATIO).median().alias("bias"),
        (ratio - 1).abs().mean().alias("mape"),
        # The ratio counts if it is between 1/1.3 and 1.3.
        ((ratio <= 1.3) & (ratio >= 1 / 1.3)).mean().alias("within_30_fraction"),
        pl.corr(predicted, measured, method="spearman").alias("spearman"),
    ]
    if {"p10_s", "p90_s"} <= set(frame.columns):
        inside = (pl.col(measured) >= pl.col("p10_s")) & (pl.col(measured) <= pl.col("p90_s"))
        figures.append(inside.mean().alias("interval_coverage_fraction"))
        figures.append((pl.col("p90_s") / pl.col("p10_s")).mean().alias("mean_interval_width"))
    scored = with_log_ratio(frame, predicted, measured)
    if not by:
        return scored.select(figures)
    return scored.group_by(by).agg(figures).sort(by)


def band_table(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Score the bands of rows with `log_ratio`, `low_factor` and `high_factor`: the covered share, the mean logarithm of the ratio of
    their ends, and the latter divided by the p90 of |log ratio|."""
    miss = -pl.col(LOG_RATIO)
    is_inside = (miss >= pl.col("low_factor").log()) & (miss <= pl.col("high_factor").log())
    width = (pl.col("high_factor") / pl.col("low_factor")).log().mean()
    p90 = miss.abs().quantile(0.9, "linear")
    figures = {"rows": pl.len(), "coverage": is_inside.mean(), "band_width": width, "p90_error": p90}
    return frame.group_by(by).agg(**figures, width_over_p90=width / p90).sort(by)


def worst(frame: pl.DataFrame, count: int, predicted: str = "latency_s", measured: str = "measured_s") -> pl.DataFrame:
    """Return the rows with the largest errors, the worst first."""
    return with_log_ratio(frame, predicted, measured).sort(pl.col(LOG_RATIO).abs(), descending=True).head(count)


def batch_class(column: str = "batch") -> pl.Expr:
    """Classify batches as `1`, `2-8`, `9-64` or `>64`."""
    batch = pl.col(column)
    return (
        pl.when(batch == 1).then(pl.lit("1"))
        .when(batch <= 8).then(pl.lit("2-8"))
        .when(batch <= 64).then(pl.lit("9-64"))
        .otherwise(pl.lit(">64"))
    )  # fmt: skip
