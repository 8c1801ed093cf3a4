"""Designs of other tools become parts that the lints accept."""

from __future__ import annotations

from pathlib import Path

import pytest

import charz
from charz.hardware_catalog import exchange
from charz.hardware_catalog.exchange import Memory
from charz.schema.errors import CharzError

SCALE_SIM = """
[general]
run_name = eyeriss_like
[architecture_presets]
ArrayHeight : 12
ArrayWidth : 14
IfmapSramSzkB : 64
FilterSramSzkB : 32
OfmapSramSzkB : 12
Dataflow : ws
Bandwidth : 10, 10, 5
[run_presets]
InterfaceBandwidth : {mode}
"""

TIMELOOP = """
architecture:
  version: 0.3
  subtree:
    - name: system
      local:
        - {name: DRAM, class: DRAM, attributes: {width: 64, word-bits: 16, read_bandwidth: 2, write_bandwidth: 2}}
      subtree:
        - name: chip
          attributes: {technology: 65nm, global_cycle_seconds: 5.0e-9}
          local:
            - {name: glb, class: SRAM, attributes: {depth: 16384, width: 64, word-bits: 16, read_bandwidth: 16, write_bandwidth: 4}}
          subtree:
            - name: PE[0..167]
              local:
                - {name: spad, class: regfile, attributes: {entries: 224, word-bits: 16}}
                - {name: psum, class: regfile, attributes: {entries: 24, word-bits: 16}}
                - {name: mac, class: intmac, attributes: {datawidth: 16MESH}}
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_scale_sim(tmp_path: Path) -> None:
    """64 + 32 + 12 KiB in total; 25 words of a byte a cycle at 200 MHz are 5 GB/s."""
    found = exchange.of_scale_sim(written(tmp_path, "a.cfg", SCALE_SIM.format(mode="USER")), 200e6, None)
    assert (found.rows, found.columns, found.bits, found.clock_hz) == (12, 14, 8, 200e6)
    assert found.dram_byte_per_s == pytest.approx(5e9)
    assert found.memories == [Memory(108 * 1024, None, 1)]
    assert found.dataflow == "weight_stationary"


def test_what_stays_in_the_array_is_the_parts(tmp_path: Path) -> None:
    """The file decides the dataflow of its part; a part without an entry has that of its family."""
    for word, expected in (("os", "output_stationary"), ("is", "input_stationary"), ("", None)):
        text = SCALE_SIM.format(mode="USER").replace("Dataflow : ws", f"Dataflow : {word}")
        design = exchange.of_scale_sim(written(tmp_path, "a.cfg", text), 200e6, None)
        assert design.dataflow == expected
        assert (f"dataflow: {expected}\n" in exchange.part(design, "a", tmp_path)) == (expected is not None)


def test_timeloop(tmp_path: Path) -> None:
    """168 multipliers, 14 a row; 128 KiB at 20 words of 2 bytes a cycle of 5 ns; (224 + 24) words of 2 bytes at each."""
    found = exchange.of_timeloop(written(tmp_path, "a.yaml", TIMELOOP.replace("MESH", ", meshX: 14")), None, None)
    assert (found.rows, found.columns, found.bits, found.process_nm) == (12, 14, 16, 65)
    assert (found.clock_hz, found.dram_byte_per_s) == pytest.approx((200e6, 4 * 2 * 200e6))
    shared, beside = found.memories
    assert (shared.capacity_byte, shared.bandwidth_byte_per_s, shared.instances) == (
        128 * 1024, pytest.approx(20 * 2 * 200e6), 1,
    )  # fmt: skip
    assert (beside.capacity_byte, beside.bandwidth_byte_per_s, beside.instances) == (168 * 248 * 2, None, 168)


def test_an_array_of_unknown_sides_is_as_square_as_it_can_be(tmp_path: Path) -> None:
    found = exchange.of_timeloop(written(tmp_path, "a.yaml", TIMELOOP.replace("MESH", "")), None, None)
    assert (found.rows, found.columns) == (12, 14)


def test_what_the_caller_states_goes_before_the_file(tmp_path: Path) -> None:
    found = exchange.of_timeloop(written(tmp_path, "a.yaml", TIMELOOP.replace("MESH", "")), 1e9, 64e9)
    assert (found.clock_hz, found.dram_byte_per_s) == (1e9, 64e9)


@pytest.mark.parametrize("kind", ["scale_sim", "timeloop"])
def test_the_part_passes_the_lints_and_answers(kind: str, file: Path, tmp_path: Path) -> None:
    import shutil

    text = SCALE_SIM.format(mode="USER") if kind == "scale_sim" else TIMELOOP.replace("MESH", ", meshX: 14")
    source = written(tmp_path, f"design.{'cfg' if kind == 'scale_sim' else 'yaml'}", text)
    path = shutil.copy(file, tmp_path / "copy.duckdb")
    with charz.open(path) as db:
        out = tmp_path / "part.yaml"
        db.hardware.import_(**{kind: source}, clock="200MHz", id="theirs", out=out)
        assert len(db.hardware.check(out)) == 0
        db.hardware.add(out)
        found = db.mapping("small", on="theirs")
        assert len(found) > 0 and found["latency_s"].null_count() == 0
        assert db.hardware.show("theirs", section="part")["dataflow"].to_list() == ["weight_stationary"]
        report = db.report("small", on="theirs")
        assert report["latency_s"][0] > 0 and report["energy_j"][0] > 0


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.cfg", "[general]\nrun_name = x\n", "not a configuration of SCALE-Sim"),
        ("a.cfg", SCALE_SIM.format(mode="USER").replace("12\nArrayWidth", "many\nArrayWidth"), "not a configuration of SCALE-Sim"),
        ("a.cfg", SCALE_SIM.format(mode="CALC"), "no dram in the file"),
        ("a.yaml", "a: [", "not YAML"),
        ("a.yaml", "architecture: {nodes: []}", "not an architecture of Timeloop"),
        ("a.yaml", TIMELOOP.replace("intmac", "wire"), "no arithmetic"),
        ("a.yaml", TIMELOOP.replace("global_cycle_seconds: 5.0e-9", "other: 1"), "no clock in the file"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(name: str, text: str, line: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, text.replace("MESH", ""))
    with pytest.raises(CharzError, match=line):
        if name.endswith("cfg"):
            exchange.of_scale_sim(path, 1e9, None)
        else:
            exchange.of_timeloop(path, None, None)


def test_one_file_is_named(file: Path, tmp_path: Path) -> None:
    with charz.open(file) as db:
        with pytest.raises(CharzError, match="one file is needed: 0 are named"):
            db.hardware.import_()
        with pytest.raises(CharzError, match="no such file"):
            db.hardware.import_(scale_sim=tmp_path / "none.cfg")
