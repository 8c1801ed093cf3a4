"""Loop nests costed on a published design: a file with that one part, and the rows of `loop_nest_cost`."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from charz.hardware_catalog import loader
from charz.schema import database, file
from charz.schema.row import Row
from charz.session.decide.loop_nests import Nest, Product
from charz.session.decide.mapping import nest_table
from charz.session.scoped import Scoped
from charz.sql import views

DESIGNS = Path(__file__).parent / "designs"


@contextlib.contextmanager
def opened(design: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A file whose only part is one of `benchmarks/designs`, or of the catalog."""
    catalog = loader.load()
    path = DESIGNS / f"{design}.yaml"
    own = loader.load_part(path, catalog) if path.exists() else _shipped(catalog, design)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "design.duckdb"
        with file.replace(path, create=True) as connection:
            for row_type in {**catalog.rows, **own}:
                shared = [row for row in catalog.rows.get(row_type, []) if not hasattr(row, "hardware")]
                rows = [*shared, *own.get(row_type, [])]
                database.insert(connection, row_type, loader.columns_of(row_type, rows))
            views.install(connection)
        with duckdb.connect(str(path), config={"threads": 1}) as connection:
            yield connection


def _shipped(catalog: loader.Catalog, part: str) -> dict[type[Row], list[Row]]:
    return {
        kind: [row for row in rows if getattr(row, "hardware", None) == part] for kind, rows in catalog.rows.items()
    }


def costed(
    connection: duckdb.DuckDBPyConnection,
    nests: Sequence[tuple[str, Product, Nest]],
    keys: Mapping[str, str],
    query: str = "SELECT * FROM loop_nest_cost",
) -> list[dict[str, Any]]:
    """What nests of some products take; `keys` are the part, its backend and the element type."""
    rows = [
        (
            {
                "product": name, "compute_precision": keys["compute_precision"], **dict(zip("mnk", product.sizes, strict=True)),
                "gemm_count": product.gemm_count, "taps": product.taps, "image": product.image or product.sizes[0] * product.sizes[2],
                "images": product.images,
            },
            nest,
        )
        for name, product, nest in nests
    ]  # fmt: skip
    connection.register("made_nests", nest_table(rows, keys))
    try:
        connection.execute("CREATE OR REPLACE TEMP TABLE loop_nest AS SELECT * FROM made_nests")
        return Scoped(connection).records(query)
    finally:
        connection.execute("DROP TABLE IF EXISTS temp.loop_nest")
        connection.unregister("made_nests")
