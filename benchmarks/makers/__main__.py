"""Command line of the makers."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from charz.hardware_catalog.calibration import catalog_csv
from charz.schema.errors import CharzError
from charz.session import workspace

from . import __doc__ as text
from . import fit


def main(arguments: list[str] | None = None) -> int:
    """Fit shipped rows, write them to the tables of a folder, and print their errors."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--file", type=Path, help="database with the measurements; default one with only the catalog")
    parser.add_argument("--package", type=Path, help="unpacked aiconfigurator_core folder; default the installed one")
    parser.add_argument("--csv", type=Path, help="folder whose tables get the rows")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        file = given.file or Path(folder) / "catalog.duckdb"
        try:
            with workspace.read(file, create=given.file is None) as connection:
                rows = fit(connection, given.name, given.package)
            if given.csv is not None:
                catalog_csv.replace_rows(given.csv, rows)
        except CharzError as error:
            print(error.line, file=sys.stderr)
            return 2
    count = len(rows.efficiency) + len(rows.bands) + len(rows.constants)
    print(rows.report, f"{count} rows fitted" + (f" and written to {given.csv}" if given.csv else ""), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
