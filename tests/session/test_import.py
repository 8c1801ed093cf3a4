"""Import of measured rows: the accepted rows, and the report on the others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from charz.session import Messages, Session


def test_what_a_file_says_is_taken_and_what_is_not_is_named(file: Path, tmp_path: Path) -> None:
    """Three rows of a stored model, of a stored model with another batch, and of another model."""
    path = tmp_path / "mine.csv"
    path.write_text(
        "net,device,batch,precision,backend,ms,rig\nsmall,t4,1,amp-fp16,eager,2.0,a\nsmall,t4,12345,amp-fp16,eager,2.0,a\nnone,t4,1,amp-fp16,eager,2.0,a\n"
    )
    warned: list[str] = []
    shutil.copy(file, tmp_path / "mine.duckdb")
    with Session(tmp_path / "mine.duckdb", messages=Messages(warn=warned.append)) as db:
        db.measurements.import_(path, map=["model=net", "hardware=device", "latency_s=ms*1e-3"])
        rows = db.sql("SELECT batch, precision, backend FROM measurement ORDER BY measurement_id").rows()
        scored = db.sql("SELECT DISTINCT measured_s, model, batch, precision FROM prediction_error").rows()
        unscored = db.sql("SELECT reason FROM unscored_measurement ORDER BY ALL")["reason"].to_list()
    assert rows == [(1, "amp-fp16", "eager"), (12345, "amp-fp16", "eager"), (1, "amp-fp16", "eager")]
    assert scored == [(pytest.approx(2e-3), "small", 1, "amp-fp16")]
    assert unscored == ["model not ingested", "no such scenario"]
    said = "\n".join(warned)
    assert "mine.csv: columns left out: rig" in said
    assert "assumed where the file states none: device_count 1, mode run, memory_format nchw" in said
    assert "1 model not ingested, 1 no such scenario" in said


def test_an_import_tells_of_its_own_parts_alone(file: Path, tmp_path: Path) -> None:
    for name, part in (("first", "nosuchgpu"), ("second", "t4")):
        (tmp_path / f"{name}.csv").write_text(f"model,hardware,batch,precision,backend,latency_s\nsmall,{part},1,fp16,eager,2e-3\n")
    warned: list[str] = []
    shutil.copy(file, tmp_path / "mine.duckdb")
    with Session(tmp_path / "mine.duckdb", messages=Messages(warn=warned.append)) as db:
        db.measurements.import_(tmp_path / "first.csv")
        assert "parts not in the catalog: nosuchgpu (" in "\n".join(warned)
        warned.clear()
        db.measurements.import_(tmp_path / "second.csv")
    assert "nosuchgpu" not in "\n".join(warned)


def test_an_imported_trace_tells_how_to_compare_it(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([{"ph": "X", "cat": "cpu_op", "name": "aten::relu", "ts": 0, "dur": 5, "args": {}}]))
    said: list[str] = []
    shutil.copy(file, tmp_path / "mine.duckdb")
    with Session(tmp_path / "mine.duckdb", messages=Messages(remark=said.append)) as db:
        db.measurements.import_(path, hardware="t4", model="small")
        assert db.sql("SELECT model, operator FROM operator_measurement").rows() == [("small", "aten::relu")]
    assert f"next: charz diff small {path} --on t4 --backend eager compares the calls of trace.json" in "\n".join(said)
