"""MACs of every torchvision model against its card, written to docs/published-macs.md.

charz ingest --all torchvision --db tv.duckdb
python benchmarks/published_macs.py tv.duckdb
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

from charz.cli import pages

PAGE = Path(__file__).resolve().parent.parent / "docs" / "published-macs.md"

ROUNDING = 0.5001e6
"""The cards state thousandths of 1e9."""

NO_PROPOSAL = "random weights pass no proposal above `rpn_score_thresh`, 0.05; charz bounds "

CAUSES = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": NO_PROPOSAL + "150",
    "fasterrcnn_mobilenet_v3_large_fpn": NO_PROPOSAL + "1000",
    "maskrcnn_resnet50_fpn": "counted without a detection, hence without masks; charz bounds 100",
    "keypointrcnn_resnet50_fpn": "counted without a detection, hence without keypoints; charz bounds 100",
}
"""Why a published figure differs."""

QUERY = """
    SELECT model, resolution, published_macs, sum(coefficient * pow(default_batch, batch_power)) AS macs
    FROM model JOIN term USING (model)
    WHERE quantity = 'macs' AND published_macs IS NOT NULL
    GROUP BY ALL ORDER BY model
"""


Row = tuple[str, int | None, float, float]
"""Model, pixels, MACs of its card, MACs of charz."""


def differing(rows: list[Row]) -> list[Row]:
    """Models whose figures differ by more than the card's rounding."""
    return [r for r in rows if abs(r[3] - r[2]) > ROUNDING]


def page(rows: list[Row]) -> str:
    """The page: the deviations with their causes, then every model."""
    apart = differing(rows)
    lines = ["# MACs against torchvision's cards", "", pages.line(), ""]
    lines.append(f"{len(rows) - len(apart)} of {len(rows)} models agree to the last digit their card states (1e6).")
    lines += ["", "| model | card, GMAC | charz, GMAC | cause |", "|---|---|---|---|"]
    lines += [f"| {m} | {p / 1e9:.3f} | {c / 1e9:.3f} | {CAUSES.get(m, 'unexplained')} |" for m, _, p, c in apart]
    lines += ["", "## All models", "", "| model | pixels | card, GMAC | charz, GMAC |", "|---|---|---|---|"]
    lines += [f"| {m} | {side or ''} | {p / 1e9:.3f} | {c / 1e9:.3f} |" for m, side, p, c in rows]
    return "\n".join(lines) + "\n"


def main(path: str) -> int:
    """Write the page; 1 when a deviation has no known cause."""
    with duckdb.connect(path, read_only=True) as connection:
        rows = connection.execute(QUERY).fetchall()
    PAGE.write_text(page(rows))
    return 1 if any(m not in CAUSES for m, *_ in differing(rows)) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
