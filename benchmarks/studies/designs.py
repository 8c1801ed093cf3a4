"""Published designs and simulators, compared with loop nests on parts of `benchmarks/designs` and on the catalog's TPU v1."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from torch import nn

import charz
from benchmarks.study import Given
from charz.hardware_catalog import loader
from charz.schema import database, file
from charz.schema.row import Row
from charz.session.decide.loop_nests import Nest, Product, Room, candidates
from charz.session.decide.mapping import nest_table
from charz.session.scoped import Scoped
from charz.sql import views

FOLDER = Path(__file__).parents[1]
WEIGHTS = ("weight_stationary",)
_NAMES = ["hardware", "backend", "family", "measured", "predicted"]


@contextlib.contextmanager
def opened(design: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a file whose only part is one of `benchmarks/designs`, or of the catalog."""
    catalog = loader.load()
    path = FOLDER / "designs" / f"{design}.yaml"
    own: Mapping[type[Row], Sequence[Row]] = loader.load_part(path, catalog) if path.exists() else {
        kind: [row for row in rows if getattr(row, "hardware", None) == design] for kind, rows in catalog.rows.items()
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "design.duckdb"
        with file.replace(made, create=True) as connection:
            for row_type in {**catalog.rows, **own}:
                shared = [row for row in catalog.rows.get(row_type, []) if not hasattr(row, "hardware")]
                database.insert(connection, row_type, loader.columns_of(row_type, [*shared, *own.get(row_type, [])]))
            views.install(connection)
        with duckdb.connect(str(made), config={"threads": 1}) as connection:
            yield connection


def costed(
    connection: duckdb.DuckDBPyConnection, nests: Sequence[tuple[str, Product, Nest]], keys: Mapping[str, str], query: str
) -> list[dict[str, Any]]:
    """Answer a query over the loop nests of some products; `keys` are the part, its backend and the element type."""
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


ARRAY = 32
"""Rows and columns of SCALE-Sim's array."""
NEST = """
    INSERT INTO loop_nest BY NAME
    SELECT
        $1 AS loop_nest_id, $2 AS product, 'tpu_v1' AS hardware, 'xla' AS backend, 'int8' AS compute_precision, 1 AS gemm_count, 1 AS images,
        $3 AS m, $4 AS n, $5 AS k, $6 AS dataflow, $3 AS outer_m, $4 AS outer_n, $5 AS outer_k, 'output' AS outer_kept,
        $3 AS inner_m, $4 AS inner_n, $5 AS inner_k, 'output' AS inner_kept
"""
"""Statement that inserts a product as one tile of both levels."""


def scale_sim(given: Given) -> pl.DataFrame:
    """Count the steps of twenty products on an array of 32 x 32 under three dataflows, as SCALE-Sim simulates them.

    Buffers are large enough for all operands. charz's figure is `loop_nest_cost.serial_cycles`, a formula.
    """
    rows = pl.read_csv(FOLDER / "measured" / "scale_sim.csv")
    with opened("tpu_v1") as connection:
        connection.execute(f"UPDATE hardware_cluster SET array_rows = {ARRAY}, array_columns = {ARRAY}")
        connection.execute(f"UPDATE hardware_peak SET ops_per_clock_per_unit = {2 * ARRAY**2}")
        nests = [(number, *row) for number, row in enumerate(rows.select("product", "m", "n", "k", "dataflow").rows())]
        connection.executemany(NEST, nests)
        found = connection.sql("SELECT product, dataflow, serial_cycles AS predicted FROM loop_nest_cost").pl()
    both = rows.join(found, on=["product", "dataflow"])
    return both.select(
        "predicted", measured="steps", family="dataflow", hardware=pl.lit("array of 32 x 32"), backend=pl.lit("-"), standing=pl.lit("nothing fitted")
    )


DRAM_PJ, SRAM_PJ, MAC_PJ = 64.0, 2.0, 0.3
"""Energy of a byte, a byte and a multiply-accumulate in ZigZag's design."""


def zigzag(given: Given) -> pl.DataFrame:
    """Search the best loop nest by energy for ResNet-18's convolutions, as ZigZag does, on `designs/zigzag.yaml`. [pJ]

    ZigZag adds the write of DRAM data into the array's memory; charz buffers both operands twice, ZigZag once. In `conv1` charz
    fills the array's rows with taps, ZigZag with 3 channels.
    """
    keys = {"hardware": "zigzag", "backend": "xla", "compute_precision": "int8"}
    query = f"""
        SELECT MIN({DRAM_PJ} * dram_byte + {SRAM_PJ} * array_byte + {MAC_PJ} * m * n * k * gemm_count) AS energy_pj
        FROM loop_nest_cost WHERE latency_s IS NOT NULL
    """
    found = []
    with opened("zigzag") as connection:
        for row in pl.read_csv(FOLDER / "measured" / "zigzag.csv").iter_rows(named=True):
            side, taps = row["side"], row["window"] ** 2
            product = Product((side**2, row["filters"], row["channels"] * taps), 1, taps, (side * row["stride"]) ** 2 * row["channels"])
            some = [("", product, nest) for nest in candidates(product, Room(32, 32, 1.0, None, 128 * 1024, 1), WEIGHTS)]
            (best,) = costed(connection, some, keys, query)
            found.append(("zigzag", "xla", row["layer"], row["energy_pj"], best["energy_pj"]))
    return pl.DataFrame(found, _NAMES, orient="row").with_columns(standing=pl.lit("nothing fitted"))


SIMBA_S = 1 / 1988
"""ResNet-50 at batch 1 on 36 chiplets: Shao et al., MICRO 2019, abstract (1988 images/s)."""


def simba(given: Given) -> pl.DataFrame:
    """Predict ResNet-50 at batch 1 on Simba: each product in the fastest loop nest, one after another. [s]

    The bandwidth of main memory is assumed (100 GB/s), because the prototype is loaded through a test board.
    """
    keys = {"hardware": "simba", "backend": "xla", "compute_precision": "int8"}
    query = "SELECT product, MIN(latency_s) AS latency_s FROM loop_nest_cost GROUP BY product"
    products = {name: (count, product) for name, count, product in _resnet50()}
    room = Room(8, 8, 1.0, 2359296, 44032, 576)
    some = [(name, product, nest) for name, (_, product) in products.items() for nest in candidates(product, room, WEIGHTS)]
    with opened("simba") as connection:
        found = {row["product"]: row["latency_s"] for row in costed(connection, some, keys, query)}
    total_s = sum(count * found[name] for name, (count, _) in products.items())
    return pl.DataFrame([("simba", "xla", "resnet50", SIMBA_S, total_s)], _NAMES, orient="row").with_columns(standing=pl.lit("nothing fitted"))


def _resnet50() -> Iterator[tuple[str, int, Product]]:
    """List the distinct products of ResNet-50, each with its number of occurrences."""

    def one(name: str, count: int, side: int, filters: int, channels: int, window: int, stride: int = 1) -> tuple[str, int, Product]:
        return name, count, Product((side**2, filters, channels * window**2), 1, window**2, (side * stride) ** 2 * channels)

    yield one("conv1", 1, 112, 64, 3, 7, 2)
    entering = 64
    for stage, (side, width, blocks) in enumerate(((56, 64, 3), (28, 128, 4), (14, 256, 6), (7, 512, 3)), start=1):
        stride = 1 if stage == 1 else 2
        yield one(f"layer{stage}.0.conv1", 1, side * stride, width, entering, 1)
        yield one(f"layer{stage}.0.conv2", 1, side, width, width, 3, stride)
        yield one(f"layer{stage}.0.downsample", 1, side, 4 * width, entering, 1, stride)
        yield one(f"layer{stage}.conv1", blocks - 1, side, width, 4 * width, 1)
        yield one(f"layer{stage}.conv2", blocks - 1, side, width, width, 3)
        yield one(f"layer{stage}.conv3", blocks, side, 4 * width, width, 1)
        entering = 4 * width
    yield "fc", 1, Product((1, 1000, 2048))


TPU_PEAK = 92e12
APPLICATIONS = (
    ("MLP0", (2000,) * 6, 200, 12.3e12, None), ("MLP1", (1118,) * 5, 168, 9.7e12, None), ("LSTM0", (1472,) * 25, 64, 3.7e12, None),
    ("LSTM1", tuple(itertools.islice(itertools.cycle((600, 1532)), 38)), 96, 2.8e12, None), ("CNN0", (236,) * 17, 8, 86.0e12, 19),
)  # fmt: skip
"""Name, widths of the layers from the input on, batch, operations a second, and side of the image of a network of 3 x 3
convolutions: Jouppi et al., ISCA 2017, tables 1 and 3. CNN1 is left out, since its table does not state its depths."""


def tpu_v1(given: Given) -> pl.DataFrame:
    """Predict the share of peak for five of the six applications in the TPU's first paper, built from its tables."""
    found = []
    with charz.open(given.file) as db:
        for name, widths, batch, measured, side in APPLICATIONS:
            pairs = list(itertools.pairwise(widths))
            layers = [nn.Conv2d(a, b, 3, padding=1, bias=False) if side else nn.Linear(a, b, bias=False) for a, b in pairs]
            size = f"B,{widths[0]}" + (f",{side},{side}" if side else "")
            db.ingest(nn.Sequential(*layers), inputs=[size], name=name, no_answers=True)
            row = db.report(name, on="tpu_v1", precision="int8", batch=batch).row(0, named=True)
            found.append(("tpu_v1", row["backend"], name, measured / TPU_PEAK, row["flops"] / row["latency_s"] / TPU_PEAK))
    return pl.DataFrame(found, _NAMES, orient="row").with_columns(standing=pl.lit("nothing fitted"))
