"""How long the catalog takes to load, to write into a new database, and that database to open:
`python benchmarks/hardware_catalog.py`."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from charz.hardware_catalog import loader, sync
from charz.hardware_catalog.loader import Catalog
from charz.schema import file


def median_s(action: Callable[[], object], runs: int = 7) -> float:
    """Median wall time of an action. [s]"""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def one_part(catalog: Catalog, part: str) -> Catalog:
    """The catalog with the rows of one part only."""
    rows = {
        row_type: [row for row in found if getattr(row, "hardware", part) == part]
        for row_type, found in catalog.rows.items()
    }
    return Catalog(rows, catalog.version)


def write(catalog: Catalog, path: Path) -> None:
    """A new database with the catalog."""
    with file.replace(path, create=True) as connection:
        sync.write(connection, catalog)


def open_and_ask(path: Path) -> None:
    """Open a database and read one number."""
    with file.connect(path) as connection:
        connection.execute("SELECT count(*) FROM hardware").fetchall()


def main() -> None:
    """Print the figures."""
    catalog = loader.load()
    print(f"load {len(catalog.parts())} parts: {median_s(loader.load):.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("all parts", catalog), ("one part", one_part(catalog, "t4"))):
            path = Path(folder) / f"{len(content.parts())}.duckdb"
            start = time.perf_counter()
            write(content, path)
            print(f"write {name}: {time.perf_counter() - start:.2f} s")
            print(f"open with {name}: {median_s(lambda path=path: open_and_ask(path)) * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
