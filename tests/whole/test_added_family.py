"""A new hardware family and a new backend need only rows of the catalog."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb
import pytest
from oracle.database import ingested

from charz.hardware_catalog import loader, sync
from charz.hardware_catalog.problem import CatalogError
from charz.ingest import write
from charz.ingest.compile.rules import from_rows
from charz.schema import file
from charz.sql import maintain, views

from .generated import graph

ROWS = {
    "hardware_family": "foo,systolic,,false,false,false,,foo1,,,assumption,assumed",
    "backend": "bar,Bar,bar_unfused,,true,false,false,false,false,false,false,false,false,0.1,false,false,,0,,,,true,assumption,assumed\n"
    "bar_unfused,Bar one by one,,,false,true,false,false,false,false,false,false,false,0.1,false,false,,0,,,,true,assumption,assumed",
    "backend_support": "bar,foo,*,true,fp32,graph,0,0,5e-05,1,false,true,,false,,false,false,,,assumption,assumed",
    "fusion_rule": "\n".join(
        line.replace("tensorrt,", "bar,", 1)
        for line in (loader.ROOT / "tables/fusion_rule.csv").read_text().splitlines()
        if line.startswith("tensorrt,")
    ),
    "derivation_rule": "foo_kernel_gap,overhead.overhead_s,foo,*,kernel_gap,*,one,1e-06,s,charz_rule,assumed,Usual",
    "tiling_strategy": "foo_tiles,0,foo,,scratchpad,output_stationary,16,16,64,,,1,1,2,,64,100000,,0,1,1,,assumption,assumed",
    "silicon_rule": "foo_lift,lift,foo,*,*,1,ratio,charz_rule,assumed,An array",
    "scenario": "100,1,,,forward,fp16,bar,,,,,,,nchw,1.0,warm,,charz\n101,1,,,forward,fp16,bar_unfused,,,,,,,nchw,1.0,warm,,charz",
}
"""All rows that a family `foo` and a backend `bar` need, by table."""

MISSING = {
    "backend_support": ("backend = 'bar'", {"backend"}),
    "derivation_rule": ("derivation_rule = 'foo_kernel_gap'", {"number"}),
    "tiling_strategy": ("family = 'foo'", {"tile"}),
    "silicon_rule": ("family = 'foo'", {"energy"}),
    "scenario": ("scenario_id IN (100, 101)", {"scenario"}),
}
"""Table, and the part's lack without its rows."""


def with_rows(tmp_path: Path, rows: Mapping[str, str]) -> Path:
    """Catalog of one part, of the family `foo`, with these rows and the shipped ones."""
    root = tmp_path / "catalog"
    shutil.copytree(loader.ROOT / "tables", root / "tables")
    for name in ("price", "list_price", "die", "rest_power", "power_range", "usual_host"):
        of_parts = root / f"tables/{name}.csv"
        of_parts.write_text(of_parts.read_text().splitlines()[0] + "\n")
    for table, text in rows.items():
        with (root / f"tables/{table}.csv").open("a") as opened:
            opened.write(text + "\n")
    part = (loader.ROOT / "parts/npu/aic100.yaml").read_text()
    (root / "parts/foo").mkdir(parents=True)
    (root / "parts/foo/foo1.yaml").write_text(
        part.replace("family: npu", "family: foo").replace("id: aic100", "id: foo1")
    )
    return root


@pytest.fixture(scope="module")
def complete(once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File of the part with all its rows, and a generated model."""

    def make(path: Path) -> None:
        catalog = loader.load(with_rows(tmp_path_factory.mktemp("foo"), ROWS))
        with file.replace(path, create=True) as connection:
            sync.write(connection, catalog)
            views.install(connection)
            write.write(connection, [ingested(graph(1), "small", from_rows(catalog.rows))], maintain.add_runs)

    return once("added_family.duckdb", make)


def lacks(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return what the part lacks to answer."""
    return {lack for (lack,) in connection.execute("SELECT lack FROM part_lack WHERE hardware = 'foo1'").fetchall()}


ANSWER = (
    "SELECT latency_s, energy_j, kernel_count, backend FROM model_report WHERE hardware = 'foo1' AND scenario_id >= 100"
)
"""Return time, energy and kernels of the model under the new backend, fused and unfused."""


def test_a_family_and_a_backend_are_rows(complete: Path) -> None:
    with duckdb.connect(str(complete), read_only=True) as connection:
        assert lacks(connection) == set()
        rows = connection.execute(ANSWER).fetchall()
    ((latency_s, energy_j),) = [row[:2] for row in rows if row[3] == "bar"]
    assert 0 < latency_s < 1 and 0 < energy_j < 1
    assert len({kernel_count for _, _, kernel_count, _ in rows}) == 2


@pytest.mark.parametrize("table", MISSING)
def test_each_row_that_is_missing_is_named(complete: Path, tmp_path: Path, table: str) -> None:
    rows, lacking = MISSING[table]
    with duckdb.connect(shutil.copy(complete, tmp_path)) as connection:
        connection.execute(f"DELETE FROM {table} WHERE {rows}")
        assert lacks(connection) == lacking
        found = connection.execute(ANSWER).fetchall()
    has_time = any(latency_s is not None for latency_s, *_ in found)
    assert has_time == (table == "silicon_rule")


def test_a_family_without_a_row_is_refused_by_name(tmp_path: Path) -> None:
    rows = {name: text for name, text in ROWS.items() if name != "hardware_family"}
    with pytest.raises(
        CatalogError, match=r"family: foo: write one of cpu, gpu, .*or add the family to tables/hardware_family"
    ):
        loader.load(with_rows(tmp_path, rows))
