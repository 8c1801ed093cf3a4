"""MACs of the timm models of a database against timm's own results, written to docs/published-macs-timm.md.

    python -m benchmarks.ingest_timm timm.duckdb --limit 400
    python benchmarks/published_macs_timm.py timm.duckdb ../shared/measurements/models.parquet

timm's results are counts of fvcore, in 1e9, to two decimals. fvcore adds to the multiply-accumulates
two operations an element of a batch normalization (five of one in training, as weight standardization
calls it, four without scale), five of a layer or group normalization, one an element that adaptive pooling
reads, one or four that nearest or bilinear resampling writes. It has no rule for convolutions that are
given `padding="same"`, nor for fused attention, which the newest results use.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import duckdb

from charz.cli import pages

PAGE = Path(__file__).resolve().parent.parent / "docs" / "published-macs-timm.md"

TOLERANCE = 0.005
ROUNDING = 0.00501
"""Half of the last digit stated, in 1e9."""

QUERY = """
    WITH macs AS (
        SELECT model, operator_id, sum(coefficient * pow(default_batch, batch_power)) / any_value(default_batch) AS macs
        FROM term JOIN model USING (model)
        WHERE quantity = 'macs'
        GROUP BY ALL
    ),
    sizes AS (
        SELECT model, tensor_id, max(batch_power) > 0 AS is_activation,
            sum(coefficient * pow(default_batch, batch_power)) / any_value(default_batch) AS elements
        FROM tensor_term JOIN model USING (model)
        GROUP BY ALL
    ),
    reads AS (
        SELECT model, consumer_operator_id AS operator_id, count(*) AS reads, min_by(tensor_id, position) AS first_read
        FROM edge
        GROUP BY ALL
    ),
    operators AS (
        SELECT o.model, o.aten_operator, coalesce(macs, 0) AS macs, coalesce(e.elements, 0) AS elements,
            coalesce(r.elements, 0) AS read_elements, r.is_activation, reads.reads
        FROM operator AS o
        LEFT JOIN macs USING (model, operator_id)
        LEFT JOIN tensor AS t ON t.model = o.model AND t.producer_operator_id = o.operator_id
        LEFT JOIN sizes AS e ON e.model = o.model AND e.tensor_id = t.tensor_id
        LEFT JOIN reads ON reads.model = o.model AND reads.operator_id = o.operator_id
        LEFT JOIN sizes AS r ON r.model = o.model AND r.tensor_id = reads.first_read
    ),
    counted AS (
        SELECT model, sum(macs) AS macs,
            sum(CASE
                WHEN aten_operator LIKE 'aten.batch_norm%' AND is_activation THEN 2 * elements
                WHEN aten_operator LIKE 'aten.batch_norm%' THEN CASE WHEN reads > 1 THEN 5 ELSE 4 END * elements
                WHEN aten_operator LIKE 'aten.layer_norm%' OR aten_operator LIKE 'aten.group_norm%' THEN 5 * elements
                WHEN aten_operator LIKE 'aten.adaptive_avg_pool2d%' THEN read_elements
                WHEN aten_operator LIKE 'aten.upsample_nearest2d%' THEN elements
                WHEN aten_operator LIKE 'aten.upsample_bilinear2d%' THEN 4 * elements
                ELSE 0 END) AS added,
            sum(macs) FILTER (aten_operator LIKE 'aten.conv%.padding') AS same_padding,
            sum(macs) FILTER (aten_operator LIKE 'aten.scaled_dot_product_attention%') AS attention
        FROM operators
        GROUP BY model
    ),
    published AS (
        SELECT regexp_replace(model, '[.].*$', '') AS name,
            try_cast(regexp_extract(seq_or_resolution, '^[0-9]+$') AS INTEGER) AS resolution,
            list(DISTINCT gmacs ORDER BY gmacs) AS gmacs, max(params) AS params
        FROM read_parquet(?)
        WHERE source_repo = 'huggingface/pytorch-image-models' AND gmacs IS NOT NULL
        GROUP BY ALL
    )
    SELECT m.source, m.resolution, c.macs / 1e9, c.added / 1e9, coalesce(c.same_padding, 0) / 1e9,
        coalesce(c.attention, 0) / 1e9, p.gmacs, p.params, m.parameter_count
    FROM counted AS c
    JOIN model AS m USING (model)
    JOIN published AS p ON 'timm:' || p.name = m.source AND p.resolution = m.resolution
    ORDER BY ALL
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One model and what it is compared with, in 1e9."""

    model: str
    resolution: int
    macs: float
    added: float
    same_padding: float
    attention: float
    published: list[float]
    published_parameters: float
    parameters: int

    @property
    def verdict(self) -> str:
        """How the counts agree, or why they do not."""
        if any(abs(self.macs - g) <= TOLERANCE * g for g in self.published):
            return "within 0.5 %"
        if self._agrees(self.macs):
            return "within the two decimals stated"
        if self._agrees(self.macs + self.added):
            return "with fvcore's normalizations and pooling"
        if self._agrees(self.macs + self.added - self.same_padding):
            return "fvcore leaves out convolutions padded by name"
        if self._agrees(self.macs + self.added - self.same_padding - self.attention):
            return "fvcore leaves out fused attention"
        if abs(self.parameters / self.published_parameters - 1) > 0.02:
            return (
                f"another architecture then: {self.published_parameters / 1e6:.1f} M parameters,"
                f" today {self.parameters / 1e6:.1f} M"
            )
        return "unexplained"

    def _agrees(self, count: float) -> bool:
        return any(abs(count - g) <= max(ROUNDING, 1e-3 * g) for g in self.published)


def read(database: str, measurements: str) -> list[Row]:
    """Every model of the database that timm has published a count of."""
    with duckdb.connect(database, read_only=True) as connection:
        return [Row(*row) for row in connection.execute(QUERY, [measurements]).fetchall()]


def page(rows: list[Row]) -> str:
    """The page: how many agree how, then every model."""
    counts = Counter(row.verdict.partition(":")[0] for row in rows)
    names = {row.model for row in rows}
    notes = " ".join((__doc__ or "").partition("models.parquet\n")[2].split())
    lines = ["# MACs against timm's own results", "", pages.line(), ""]
    lines += [f"{len(names)} architectures, drawn at random within each family, at {len(rows)} resolutions.", ""]
    lines += [notes, "", "| | models |", "|---|---|"]
    lines += [f"| {verdict} | {count} |" for verdict, count in counts.most_common()]
    lines += ["", "| model | pixels | timm, GMAC | charz, GMAC | as fvcore counts | |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {r.model.removeprefix('timm:')} | {r.resolution} | {', '.join(f'{g:g}' for g in r.published)} |"
        f" {r.macs:.3f} | {r.macs + r.added - r.same_padding:.3f} | {r.verdict} |"
        for r in rows
    ]
    return "\n".join(lines) + "\n"


def main(database: str, measurements: str) -> int:
    """Write the page; 1 when a deviation has no known cause."""
    rows = read(database, measurements)
    PAGE.write_text(page(rows))
    unexplained = [row for row in rows if row.verdict == "unexplained"]
    for row in unexplained:
        print(f"unexplained: {row}")
    print(f"{len(rows)} models, {len(unexplained)} unexplained")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
