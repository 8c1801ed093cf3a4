"""Lints, each with a file that has the fault, and the message: file, field, value, remedy."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from charz.hardware_catalog import loader
from charz.hardware_catalog.loader import Catalog
from charz.hardware_catalog.problem import CatalogError
from charz.schema.catalog.part import HardwarePeak

WritePart = Callable[..., Path]


def number(value: object, unit: str, source: str = "assumption", confidence: str = "assumed") -> str:
    """Format a number as the small part writes it."""
    return f"{{value: {value}, unit: {unit}, source: {source}, confidence: {confidence}}}"


PEAK = "peak_ops_per_s: {value: 1.024e+13"
PEAK_PLACE = "peak.fp16.matrix.fp32.peak_ops_per_s"
TDP = f"tdp_w: {number(40, 'W')}"
LANES = f"lanes: {number(128, 'count')}"
L2_SIZE = f"capacity_byte: {number(4194304, 'byte')}"
L2 = f"""\
  l2:
    scope: chip
    management: hardware
    {L2_SIZE}
"""
UNITS = f"unit_count: {number(10, 'count')}"
INT8_PEAK = f"""\
  - precision: int8
    unit: matrix
    accumulator: int32
    cluster: sm
    peak_ops_per_s: {number("4.096e+13", "ops/s")}
power:
"""
BF16_VECTOR = INT8_PEAK.replace("int8", "bf16").replace("matrix", "vector").replace("int32", "fp32")


def energy(joule: str) -> str:
    """Format a coefficient of the small part's own, before its power modes."""
    return f"energy:\n  op:\n    fp16.matrix: {number(joule, 'J/op')}\npower:\n"


ARRAY = f"    {LANES}\n    array_rows: {number(8, 'count')}\n    array_columns: {number(8, 'count')}\n"
WITH_ARRAY = {f"    {LANES}\n": ARRAY, "market: edge": "market: edge\ndataflow: weight_stationary"}
"""Ten units of 8 x 8 at 1 GHz: 10 x 64 x 2 x 1e9 = 1.28e12 operations a second."""
OPERATIONS = f"ops_per_clock_per_unit: {number(1024, 'ops')}"


FAULTS: dict[str, tuple[dict[str, str], str, str, str]] = {
    # fault: (text replaced, field, value shown, part of the remedy)
    "unresolved source": (
        {UNITS: f"unit_count: {number(10, 'count', source='heard_it')}"},
        "cluster.sm.unit_count.source", "heard_it", "under `sources:`",
    ),
    "unknown confidence": (
        {L2_SIZE: f"capacity_byte: {number(4194304, 'byte', confidence='sure')}"},
        "memory.l2.capacity_byte.confidence", "sure", "write one of",
    ),
    "derived without formula": (
        {LANES: f"lanes: {number(128, 'count', confidence='derived')}"},
        "cluster.sm.lanes.formula", "missing", "formula",
    ),
    "string for a number": (
        {"{value: 1.0e+11,": "{value: much,"},
        "memory.dram.bandwidth_byte_per_s", "'much'", "write a number in byte/s",
    ),
    "bare number": ({TDP: "tdp_w: 40"}, "power.default.tdp_w", "40", "states its source"),
    "peak off its factors": ({PEAK: "peak_ops_per_s: {value: 1.06e+13"}, PEAK_PLACE, "1.06e+13", "conflicts entry"),
    "sparse peak by its factors": ({PEAK: "peak_ops_per_s: {value: 2.048e+13"}, PEAK_PLACE, "2.048e+13", "sparse"),
    "sparse peak by its formats": (
        {"power:\n": INT8_PEAK}, "peak.int8.matrix.int32.peak_ops_per_s", "4.096e+13", "dense",
    ),
    "one half format on vector units": (
        {"power:\n": BF16_VECTOR}, "peak.bf16.vector.fp32.peak_ops_per_s", "fp16 on matrix units", "bf16 matrix peak",
    ),
    "peak declared sparse": (
        {"    accumulator: fp32\n": "    accumulator: fp32\n    sparsity: 2:4\n"}, "peak[0].sparsity", "2:4", "dense",
    ),
    "hotter than its TDP": ({"power:\n": "energy_scope: board\n" + energy("8.0e-12")}, PEAK_PLACE, "81.92 W", "note"),
    "energy without scope": ({"power:\n": energy("1.0e-12")}, "energy_scope", "missing", "board or chip"),
    "another unit": ({"unit: byte/s": "unit: Hz"}, "memory.dram.bandwidth_byte_per_s.unit", "Hz", "byte/s"),
    "zero for unknown": ({"tdp_w: {value: 40": "tdp_w: {value: 0"}, "power.default.tdp_w", "0", "null"),
    "unknown family": ({"family: gpu": "family: apu"}, "family", "apu", "cpu, gpu"),
    "unknown precision": ({"precision: fp16": "precision: half"}, "peak.half.matrix.fp32.precision", "half", "fp16"),
    "unknown cluster": ({"    cluster: sm": "    cluster: cu"}, "peak.fp16.matrix.fp32.cluster", "cu", "sm, all"),
    "unknown column": ({"    lanes:": "    lane:"}, "cluster.sm.lane", "", "unknown column"),
    "no default mode": ({"is_default: true": "is_default: false"}, "power", "missing", "exactly one"),
    "no main memory": ({"  dram:": "  l3:"}, "memory.dram.capacity_byte", "missing", "main memory"),
    "accelerator without memory on chip": ({"family: gpu": "family: dsp", L2: ""}, "memory", "dram", "scratchpad"),
    "unknown memory": ({"technology: LPDDR5": "technology: LPDR5X"}, "memory.dram.technology", "LPDR5X", "write one of DDR3, DDR4"),
    "host memory alone": ({"technology: LPDDR5": "technology: host", L2: ""}, "memory", "dram", "scratchpad"),
    "missing count": ({f"    {UNITS}\n": ""}, "cluster.sm.unit_count", "missing", "state it"),
    "silicon for a simulation": (
        {"status: announced": "status: simulated", TDP: f"tdp_w: {number(40, 'W', confidence='measured')}"},
        "power.default.tdp_w.confidence", "measured", "theoretical",
    ),
    "silicon for an announced part": (
        {TDP: f"tdp_w: {number(40, 'W', confidence='measured')}"}, "power.default.tdp_w.confidence", "measured", "announced",
    ),
    "array without a dataflow": (
        {f"    {LANES}\n": ARRAY}, "dataflow", "missing", "of cluster sm: write one of input_stationary, output_stationary",
    ),
    "half an array": (
        {f"    {LANES}\n": f"    {LANES}\n    array_rows: {number(8, 'count')}\n"},
        "cluster.sm.array_columns", "missing", "array_rows and array_columns",
    ),
    # 1.28e12 / 2.05 = 6.24e11.
    "peak off its array": (
        WITH_ARRAY | {PEAK: "peak_ops_per_s: {value: 6.24e+11", f"    {OPERATIONS}\n": ""},
        PEAK_PLACE, "6.24e+11, 0.487 of units", "state ops_per_clock_per_unit",
    ),
    # Half of the array's rate, and no statement that an element takes two clocks.
    "half its array": (
        WITH_ARRAY | {PEAK: "peak_ops_per_s: {value: 6.4e+11", f"    {OPERATIONS}\n": ""}, PEAK_PLACE, "0.500 of units", "conflicts entry",
    ),
    # Three operations an element at once: 384 of 128.
    "operations off their array": (
        WITH_ARRAY
        | {PEAK: "peak_ops_per_s: {value: 3.84e+12", OPERATIONS: f"ops_per_clock_per_unit: {number(384, 'ops')}"},
        PEAK_PLACE, "3.84e+12, 3.000 of units", "correct one of them",
    ),
    "dataflow without an array": ({"market: edge": "market: edge\ndataflow: wavefront"}, "dataflow", "wavefront", "array_rows"),
    "no such dataflow": (
        {
            "market: edge": "market: edge\ndataflow: sideways",
            f"    {LANES}\n": f"    {LANES}\n    array_rows: {number(8, 'count')}\n    array_columns: {number(8, 'count')}\n",
        },
        "dataflow", "sideways", "write one of input_stationary, output_stationary",
    ),
    "id taken": ({"id: small_gpu": "id: t4"}, "id", "t4", "choose another"),
}  # fmt: skip


def test_the_small_part_is_right(catalog: Catalog, write_part: WritePart) -> None:
    loader.load_part(write_part(), catalog)


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_named_with_field_value_and_remedy(fault: str, catalog: Catalog, write_part: WritePart) -> None:
    replace, field, value, remedy = FAULTS[fault]
    with pytest.raises(CatalogError) as caught:
        loader.load_part(write_part(replace), catalog)
    lines = [str(problem) for problem in caught.value.problems]
    assert any(
        line.startswith(f"small_gpu.yaml: {field}: ") and value in line and remedy in line and "\n" not in line
        for line in lines
    ), lines


def test_a_conflict_entry_explains_a_peak(catalog: Catalog, write_part: WritePart) -> None:
    explained = """\
        conflicts:
          - field: peak.fp16.matrix.fp32.peak_ops_per_s
            values_by_source: "brochure 10.6, arithmetic 10.2"
            chosen: "10.6"
            reason: stated at a boost clock that is not on record
        """
    loader.load_part(write_part({PEAK: "peak_ops_per_s: {value: 1.06e+13"}, explained), catalog)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({PEAK: "peak_ops_per_s: {value: 1.28e+12", f"    {OPERATIONS}\n": ""}, id="the array's own"),
        pytest.param({}, id="eight at once, by the operations a clock"),  # 1,024 of 128
        # int8 in twos and fp16, which is the array's own: 2.56e12 of 1.28e12.
        pytest.param(
            {PEAK: "peak_ops_per_s: {value: 1.28e+12", f"    {OPERATIONS}\n": "", "power:\n": INT8_PEAK.replace("4.096e+13", "2.56e+12")},
            id="two at once, beside the array's own",
        ),
    ],
)  # fmt: skip
def test_a_peak_that_its_array_gives(changed: dict[str, str], catalog: Catalog, write_part: WritePart) -> None:
    loader.load_part(write_part(WITH_ARRAY | changed), catalog)


def test_a_conflict_entry_explains_a_peak_off_its_array(catalog: Catalog, write_part: WritePart) -> None:
    explained = f"""\
        conflicts:
          - field: {PEAK_PLACE}
            values_by_source: "brochure 0.624, array 1.28"
            chosen: "0.624"
            reason: half of the array is fused off
        """
    off = WITH_ARRAY | {PEAK: "peak_ops_per_s: {value: 6.24e+11", f"    {OPERATIONS}\n": ""}
    loader.load_part(write_part(off, explained), catalog)


def test_a_note_explains_a_half_format_without_matrix_units(catalog: Catalog, write_part: WritePart) -> None:
    noted = BF16_VECTOR.replace("confidence: assumed}", 'confidence: assumed, note: "the matrix units lack bf16"}')
    loader.load_part(write_part({"power:\n": noted}), catalog)


def test_a_sparse_peak_has_a_format_of_its_own(catalog: Catalog, write_part: WritePart) -> None:
    """The sparse format may have twice the dense peak, and does not set a dense one."""
    sparse = INT8_PEAK.replace("int8", "fp16_sparse").replace("int32", "fp32").replace("4.096e+13", "2.048e+13")
    rows = loader.load_part(write_part({"power:\n": sparse}), catalog)
    peaks = {row.precision: row.peak_ops_per_s for row in rows[HardwarePeak]}
    assert peaks == {"fp16": 1.024e13, "fp16_sparse": 2.048e13}


def test_alias_of_another_part(catalog: Catalog, write_part: WritePart) -> None:
    with pytest.raises(CatalogError, match="aliases: NVIDIA T4"):
        loader.load_part(write_part(append="aliases: [NVIDIA T4]\n"), catalog)


def test_duplicate_ids_in_the_catalog(tmp_path: Path) -> None:
    root = _copy_of_catalog(tmp_path, parts=("gpu/t4.yaml",))
    shutil.copy(root / "parts/gpu/t4.yaml", root / "parts/gpu/t4_again.yaml")
    with pytest.raises(CatalogError, match="two parts have this name"):
        loader.load(root)


@pytest.mark.parametrize(
    ("table", "line", "message"),
    [
        ("price", "nowhere,1.0,2025-06,assumption,assumed", r"price.csv: nowhere.hardware: nowhere: no such part"),
        ("price", "t4,1.0,2025-06,heard_it,assumed", r"price.csv: t4.source_id: heard_it"),
        ("price", "t4,1.0,2025-06,assumption,sure", r"price.csv: t4.confidence: sure"),
        ("price", "t4,cheap,2025-06,assumption,assumed", r"price.csv: line \d+, price_usd_per_hour: cheap"),
        (
            "fusion_rule",
            "eager,convolution,aten.add,always,assumption,assumed",
            r"producer_class: convolution: write one",
        ),
        (
            "precision_policy",
            "fp32,nrom:GroupNormAct,drop,fp32,,,assumption,assumed",
            r"operator_class: nrom: write one",
        ),
        ("architectural_modifier", "dense,systolic,true,1.0,assumption,assumed", r"operator_class: dense: write one"),
        ("efficiency", "1,*,*,gemm,*,*,*,matrix,0.5,0,assumption,assumed,", r"kernel_class: gemm: write one"),
        (
            "efficiency",
            "1,*,*,conv,*,*,*,matrix,1.001,0,assumption,assumed,",
            r"maximum_fraction: 1.001: a share of a peak",
        ),
        ("efficiency", "1,*,*,aten.gelu,*,*,*,memory,0.5,0,assumption,assumed,", r"write the class in kernel_class"),
        ("efficiency", "1,*,*,*,aten.gelu,*,*,memory,0.5,0,assumption,assumed,", r"write the class of the operator"),
        (
            "hardware_family",
            "cpu,sequential,,true,false,false,,i7_13700k,,,assumption,assumed",
            r"family: gpu: write one of cpu, or add the family",
        ),
        (
            "library_constant",
            "grain,1.0,byte,memory,heard_it,assumed,",
            r"library_constant.csv: grain.source_id: heard_it",
        ),
        ("efficiency", "1,*,*,*,*,*,*,overlap,0,0,assumption,assumed,", r"maximum_fraction: 0.0: a share of a peak"),
    ],
)
def test_faults_of_a_uniform_table(tmp_path: Path, table: str, line: str, message: str) -> None:
    root = _copy_of_catalog(tmp_path, parts=("gpu/t4.yaml",))
    path = root / f"tables/{table}.csv"
    header = path.read_text().splitlines()[0]
    path.write_text(f"{header}\n{line}\n")
    with pytest.raises(CatalogError, match=message):
        loader.load(root)


def test_repeated_key_of_a_uniform_table(tmp_path: Path) -> None:
    root = _copy_of_catalog(tmp_path, parts=("gpu/t4.yaml",))
    path = root / "tables/confidence.csv"
    path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
    with pytest.raises(CatalogError, match="2 rows: keep one row for each confidence"):
        loader.load(root)


def test_repeated_number_of_an_efficiency(tmp_path: Path) -> None:
    root = _copy_of_catalog(tmp_path, parts=("gpu/t4.yaml",))
    path = root / "tables/efficiency.csv"
    path.write_text(path.read_text() + "1,family:gpu,eager,conv,*,int4,*,matrix,0.5,0,assumption,assumed,\n")
    with pytest.raises(CatalogError, match=r"efficiency_id: 1: 2 rows: give the new ones \d+ and more"):
        loader.load(root)


def test_broken_yaml_and_missing_file(tmp_path: Path, catalog: Catalog) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("id: [1\n")
    with pytest.raises(CatalogError, match=r"broken\.yaml: line 2"):
        loader.load_part(broken, catalog)
    with pytest.raises(CatalogError, match=r"none\.yaml: -: No such file"):
        loader.load_part(tmp_path / "none.yaml", catalog)


def _copy_of_catalog(tmp_path: Path, parts: tuple[str, ...]) -> Path:
    """Copy the shipped tables and a few parts, without table rows of other parts."""
    root = tmp_path / "catalog"
    shutil.copytree(loader.ROOT / "tables", root / "tables")
    for part in parts:
        (root / "parts" / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(loader.ROOT / "parts" / part, root / "parts" / part)
    for name in ("price", "list_price", "die", "rest_power", "power_range", "usual_host"):
        of_parts = root / f"tables/{name}.csv"
        of_parts.write_text(of_parts.read_text().splitlines()[0] + "\n")
    return root
