"""Malformed files of measurements are read, or refused in one line."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from charz.ingest.measurements import files, limits
from charz.schema.errors import CharzError

TRACE = files.TraceContext("h100_sxm5_80", "resnet50", "eager")
MAPPING = ("model=net", "hardware=dev", "latency_s=ms*1e-3", "batch=n")


def refused(path: Path, message: str, mapping: Sequence[str] = ()) -> None:
    began = time.process_time()
    with pytest.raises(CharzError, match=message) as caught:
        files.read(path, mapping, None, TRACE)
    assert "\n" not in caught.value.line
    assert time.process_time() - began < 5


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    refused(tmp_path / "pipe.csv", "not a file")
    refused(tmp_path, "not a file")
    refused(tmp_path / "none.csv", "no such file")


def test_a_cell_of_a_gigabyte_takes_neither_time_nor_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.write(b"net,dev,ms,n\n")
        file.truncate(2**30)
    shown = _in_little_memory(path)
    assert "too large for a file of measurements" in shown


def test_a_long_line_of_a_small_file(tmp_path: Path) -> None:
    path = tmp_path / "line.csv"
    path.write_bytes(b"net,dev,ms,n\n" + b"x" * (limits.MOST_LINE_BYTE + 1) + b",b,1,1\n")
    refused(path, "a line of more than 1 MiB")
    path.write_bytes(b"net,dev,ms,n\n" + (b"a" * 2000 + b",b,1,1\n") * 2000)
    assert len(files.read(path, MAPPING, None, TRACE).frame) == 2000, "many lines, none of them long"


def test_a_packed_bomb(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(300):
            file.write(b" " * 2**20)
    assert path.stat().st_size < 2**20
    assert "more when unpacked" in _in_little_memory(path)


def test_a_parquet_file_that_unfolds(tmp_path: Path) -> None:
    path = tmp_path / "wide.parquet"
    pl.DataFrame({"net": [0]}).select(pl.col("net").repeat_by(6_000_000).explode()).write_parquet(path)
    assert path.stat().st_size < 2**20
    refused(path, "6,000,000 rows")


def _in_little_memory(path: Path) -> str:
    """Read a file in a process and return its output. Its memory must grow by less than 100 MiB, and it must take less than 5 s."""
    code = f"""
import resource
from pathlib import Path
from charz.ingest.measurements import files
from charz.schema.errors import CharzError
before = resource.getrusage(resource.RUSAGE_SELF)
try:
    files.read(Path({str(path)!r}), (), None, files.TraceContext("a", "b", "eager"))
except CharzError as error:
    print(error.line)
after = resource.getrusage(resource.RUSAGE_SELF)
assert after.ru_maxrss - before.ru_maxrss < 100 * 1024, after.ru_maxrss - before.ru_maxrss
assert after.ru_utime - before.ru_utime < 5
"""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"net,dev,ms,n\na,b,inf,1\n", "latency_s is not above 0"),
        ("a.csv", b"net,dev,ms,n\na,b,nan,1\n", "latency_s is not above 0"),
        ("a.csv", b"net,dev,ms,n\na,b,1e400,1\n", "latency_s is not above 0"),
        ("a.csv", b"net,dev,ms,n\na,b,-1,1\n", "latency_s is not above 0"),
        ("a.csv", b"net,dev,ms,n\na,b,1,1e30\n", "batch is not a number"),
        ("a.csv", b"net,dev,ms,n\na,b,x,1\n", "latency_s is not a number"),
        ("a.csv", b"net,dev,ms,n\n\xff\xfe,b,1,1\n", "the file cannot be read"),
        ("a.csv", b"net,dev,ms,n\na,b,1,1,1,1\n", "the file cannot be read"),
        ("a.csv", b"", "the file cannot be read"),
        ("a.csv", b"net,dev,ms,n\n", "no measurements in the file"),
        ("a.parquet", b"PAR1 no parquet PAR1", "the file cannot be read"),
        ("a.parquet", b"", "the file cannot be read"),
        ("a.json", b"[" * 100_000, "nested too deeply|not a JSON trace"),
        ("a.json", b'{"traceEvents": 5}', "not a PyTorch trace"),
        ("a.json", b"\xff", "not a JSON trace"),
        ("a.json.gz", b"\x1f\x8b no gzip", "cannot be unpacked"),
        ("a.json.gz", gzip.compress(b"[]", mtime=0)[:-4], "cannot be unpacked"),
    ],
)
def test_a_broken_file(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    refused(path, message, () if ".json" in name else MAPPING)


_VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | st.lists(st.integers(), max_size=3)
)
_CELLS = (
    st.floats().map(str) | st.integers().map(str) | st.text(max_size=10) | st.sampled_from(["", '"', "null", "1e999"])
)
_EVENTS = st.lists(
    st.fixed_dictionaries(
        {"ph": st.just("X")},
        optional={
            "cat": st.sampled_from(["cpu_op", "kernel", "cuda_runtime"]) | _VALUES,
            "name": st.sampled_from(["aten::mm", "aten::linear", "aten::add"]) | _VALUES,
            "ts": st.integers(0, 100) | _VALUES,
            "dur": st.integers(0, 100) | _VALUES,
            "pid": _VALUES,
            "tid": _VALUES,
            "args": st.dictionaries(
                st.sampled_from(["Input Dims", "Input type", "correlation"]),
                st.lists(st.lists(st.integers(), max_size=3) | _VALUES, max_size=3) | _VALUES,
            )
            | _VALUES,
        },
    ),
    max_size=5,
)
_OPERATORS = ["source_repo", "op", "shape", "precision", "operator_class", "hardware", "latency_ms"]
_FX_NODES = ["node_name", "op", "target", "input_shapes", "output_shape", "dtype", "mode", "model", "hardware", "fw_ms", "latency_ms"]  # fmt: skip
_SHAPES = st.sampled_from(
    ["[2, 3]", "(((((", "[" * 200, "9" * 5000, "[1e400]", "(2, 3) x (3, 4)", "{}", "a=1,b=2", "[" + "9" * 400 + "]",
     "M=1,N=2,K=3", "[[1, 2], [2, 3]]", "-1", "[[]]"]
) | st.text(max_size=20)  # fmt: skip


def read_or_refused(path: Path, mapping: Sequence[str] = ()) -> None:
    began = time.process_time()
    try:
        files.read(path, mapping, None, TRACE)
    except CharzError as error:
        assert "\n" not in error.line
    assert time.process_time() - began < 5


def table(data: st.DataObject, path: Path) -> None:
    header = data.draw(st.just(["net", "dev", "ms", "n"]) | st.lists(st.text(max_size=5), max_size=5))
    rows = data.draw(st.lists(st.lists(_CELLS, max_size=5), max_size=5))
    path.write_text("\n".join(",".join(row) for row in [header, *rows]), encoding="utf-8", errors="surrogatepass")


def trace(data: st.DataObject, path: Path) -> None:
    path.write_text(json.dumps({"traceEvents": data.draw(_EVENTS)}))


def collected(data: st.DataObject, path: Path) -> None:
    names = data.draw(st.sampled_from([_OPERATORS, _FX_NODES]))
    count = data.draw(st.integers(0, 3))

    def column(name: str) -> list[Any]:
        if name in ("latency_ms", "fw_ms"):
            values: st.SearchStrategy[Any] = st.floats() | st.none()
        elif "shape" in name:
            values = _SHAPES
        else:
            values = st.sampled_from(["matmul", "linear", "call_function", "fp32", "conv2d", "float32"]) | st.text(
                max_size=5
            )
        return data.draw(st.lists(values, min_size=count, max_size=count))

    columns = {name: column(name) for name in names}
    text = {name: pl.String for name in names if name not in ("latency_ms", "fw_ms")}
    numbers = {name: pl.Float64 for name in names if name not in text}
    pl.DataFrame(columns, schema=text | numbers).select(names).write_parquet(path)


KINDS = {
    "a.csv": table,
    "benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv": table,
    "a.json": trace,
    "a.parquet": collected,
}
_SETTINGS = {"suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]}


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=300, **_SETTINGS)  # type: ignore[arg-type]
@given(data=st.data())
def test_any_file_is_read_or_refused(tmp_path: Path, name: str, data: st.DataObject) -> None:
    KINDS[name](data, tmp_path / name)
    read_or_refused(tmp_path / name, MAPPING if name == "a.csv" else ())


@pytest.mark.anew
@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=3000, derandomize=False, **_SETTINGS)  # type: ignore[arg-type]
@given(data=st.data())
def test_three_thousand_files(tmp_path: Path, name: str, data: st.DataObject) -> None:
    KINDS[name](data, tmp_path / name)
    read_or_refused(tmp_path / name, MAPPING if name == "a.csv" else ())


@settings(max_examples=300, **_SETTINGS)  # type: ignore[arg-type]
@given(content=st.binary(max_size=300), name=st.sampled_from(["a.csv", "a.tsv", "a.parquet", "a.json", "a.json.gz"]))
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    read_or_refused(path, () if ".json" in name else MAPPING)
