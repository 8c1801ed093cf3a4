"""A hardware family and a backend that nobody has heard of are rows of the catalog, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

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
    "hardware_family": "foo,systolic,false,false,foo1,assumption,assumed",
    "backend": "bar,Bar,bar_unfused,true,false,false,false,false,false,false,false,false,0.1,false,assumption,assumed\n"
    "bar_unfused,Bar one by one,,false,true,false,false,false,false,false,false,false,0.1,false,assumption,assumed",
    "backend_support": "bar,foo,*,true,graph,0,0,5e-05,1,false,true,,false,,assumption,assumed",
    "fusion_rule": "\n".join(
        line.replace("tensorrt,", "bar,", 1)
        for line in (loader.ROOT / "tables/fusion_rule.csv").read_text().splitlines()
        if line.startswith("tensorrt,")
    ),
    "derivation_rule": "foo_kernel_gap,overhead.overhead_s,foo,*,kernel_gap,*,one,1e-06,s,charz_rule,assumed,Usual",
    "tiling_strategy": "foo_tiles,0,foo,,scratchpad,output_stationary,16,16,64,,,1,1,2,,64,100000,,0,1,1,,assumption,assumed",
    "silicon_rule": "foo_lift,lift,foo,*,*,1,ratio,charz_rule,assumed,An array",
    "scenario": "100,1,,,forward,fp16,bar,nchw,1.0,warm,,charz\n101,1,,,forward,fp16,bar_unfused,nchw,1.0,warm,,charz",
}
"""All that a family `foo` and a backend `bar` need, by table."""

MISSING = {
    "backend_support": {"backend"},
    "derivation_rule": {"number"},
    "tiling_strategy": {"tile"},
    "silicon_rule": {"energy"},
    "scenario": {"scenario"},
}
"""What the part lacks without the rows of a table."""


def with_rows(tmp_path: Path, rows: Mapping[str, str]) -> Path:
    """A catalog of one part, of the family `foo`, with these rows beside those that ship."""
    root = tmp_path / "catalog"
    shutil.copytree(loader.ROOT / "tables", root / "tables")
    for name in ("price", "die", "rest_power", "power_range"):
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


def answered(tmp_path: Path, root: Path) -> tuple[set[str], list[tuple[float | None, float | None]]]:
    """What the part lacks before anything is ingested, and then time and energy of a generated model under the new backend."""
    catalog = loader.load(root)
    with file.replace(tmp_path / "foo.duckdb", create=True) as connection:
        sync.write(connection, catalog)
        views.install(connection)
        lacks = {
            lack for (lack,) in connection.execute("SELECT lack FROM part_lack WHERE hardware = 'foo1'").fetchall()
        }
        write.write(connection, [ingested(graph(1), "small", from_rows(catalog.rows))], maintain.add_runs)
        query = "SELECT latency_s, energy_j FROM model_report WHERE hardware = 'foo1' AND backend = 'bar'"
        found = connection.execute(query).fetchall()
        fused = connection.execute(
            "SELECT COUNT(DISTINCT kernel_count) FROM model_report WHERE hardware = 'foo1' AND scenario_id >= 100"
        ).fetchall()
        assert not found or fused == [(2,)]
    return lacks, found


def test_a_family_and_a_backend_are_rows(tmp_path: Path) -> None:
    lacks, ((latency_s, energy_j),) = answered(tmp_path, with_rows(tmp_path, ROWS))
    assert lacks == set()
    assert latency_s and energy_j and 0 < latency_s < 1 and 0 < energy_j < 1


@pytest.mark.parametrize("table", MISSING)
def test_each_row_that_is_missing_is_named(tmp_path: Path, table: str) -> None:
    rows = {name: text for name, text in ROWS.items() if name != table}
    lacks, found = answered(tmp_path, with_rows(tmp_path, rows))
    assert lacks == MISSING[table]
    has_time = any(latency_s is not None for latency_s, _ in found)
    assert has_time == (table == "silicon_rule")


def test_a_family_without_a_row_is_refused_by_name(tmp_path: Path) -> None:
    rows = {name: text for name, text in ROWS.items() if name != "hardware_family"}
    with pytest.raises(
        CatalogError, match=r"family: foo: write one of cpu, gpu, .*or add the family to tables/hardware_family"
    ):
        loader.load(with_rows(tmp_path, rows))
