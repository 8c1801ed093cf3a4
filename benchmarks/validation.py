"""Writes docs/validation.md: the error of predictions against the measurements of a database.

    python -m benchmarks.validation FILE

FILE holds the measurements and the models they are of.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

import charz
from charz.cli import output, pages
from charz.hardware_catalog.calibration import validation
from charz.hardware_catalog.calibration.questions import CELLS, SCORED

PAGE = Path(__file__).parents[1] / "docs" / "validation.md"

HEAD = """# Validation

{shipped}

Written by `python -m benchmarks.validation FILE`; do not edit.

{rows} measured runs of {models} models on {parts} parts. The error of a row is the natural logarithm of predicted over
measured time: `median` and `p90` are of its absolute value, `bias` is its median (above 0 predicts too slow), `mape` the
mean of |predicted / measured - 1|, `within 30` the share between 1/1.3 and 1.3, `interval coverage` the share inside the
p10-p90 band (80 % nominal). The rows of each data set share one factor on the host's dispatch time, fitted on those that
wait for the host. These are errors of the shipped catalog, whose fits saw part of these rows. On what fits did not see:
[families and parts left out](validation-left-out.md); besides: [single operators](validation-operators.md), [products,
attention and experts](validation-kernels.md), [energy](validation-energy.md), [energy at the
wall](validation-wall-energy.md), [fresh pages on processors](validation-page-faults.md) and [one machine after `charz
measure`](validation-this-machine.md).
"""


def page(file: Path) -> str:
    """The page for a database."""
    with charz.open(file) as db:
        frame = validation.validate(db.connection(), SCORED)
        counts = {"rows": len(frame), "models": frame["model"].n_unique(), "parts": frame["hardware"].n_unique()}
        sections = {f"By {section}": db.validate(section=section) for section in CELLS}
        sections["The worst rows"] = db.validate(section="worst")
    return "\n".join(
        [
            HEAD.format(shipped=pages.line(), **counts),
            *(f"## {title}\n\n{_table(rows)}" for title, rows in sections.items()),
        ]
    )


def _table(frame: pl.DataFrame) -> str:
    return output.encode(frame.columns, frame.rows(), output.Format.markdown).decode()


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    PAGE.write_text(page(parser.parse_args().file))


if __name__ == "__main__":
    main()
