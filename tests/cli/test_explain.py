"""`charz explain`: the chain of one number, down to shapes, efficiency rows and sources."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from charz.cli import display

from .conftest import Charz, assert_one_line_error

TARGET = ("--on", "rtx4090", "--backend", "eager", "--precision", "fp32", "--batch", "1")


def printed(text: str, name: str) -> set[str]:
    """Values a quantity is shown with."""
    return {found.strip() for found in re.findall(rf"^  {name} +(\S+ ?\S*)  ", text, re.MULTILINE)}


@pytest.mark.slow
def test_an_operator_down_to_its_sources(workspace: Path, charz: Charz) -> None:
    done = charz("explain", "resnet18", "conv2d_1", *TARGET, "--db", str(workspace))
    assert done.returncode == 0, done.stderr
    with duckdb.connect(str(workspace), read_only=True) as connection:
        ((latency_s, compute_s, dram_byte),) = connection.sql(
            """
            SELECT l.latency_s, l.compute_s, l.dram_byte
            FROM kernel_latency AS l
            JOIN kernel_operator AS s USING (model, backend, kernel_id)
            JOIN operator AS o USING (model, operator_id)
            WHERE o.operator = 'conv2d_1' AND l.hardware = 'rtx4090' AND l.backend = 'eager'
                AND l.precision = 'fp32' AND l.batch = 1 AND l.phase = 'forward' AND l.memory_format = 'nchw'
            """
        ).fetchall()
        query = "SELECT confidence, source_id FROM hardware_value WHERE hardware = 'rtx4090' AND field = ?"
        (provenance,) = connection.execute(query, ["peak.fp32.vector.fp32.peak_ops_per_s"]).fetchall()
    # The only operator of its kernel: one value for both.
    assert printed(done.stdout, "latency_s") == {display.seconds(latency_s)}
    assert printed(done.stdout, "compute_s") == {display.seconds(compute_s)}
    assert printed(done.stdout, "dram_byte") == {display.size(dram_byte)}
    for needed in ("layer1.0.conv1.weight", "[64, 64, 3, 3]", "[B, 64, 56, 56]", "family:gpu", "power.default.tdp_w"):
        assert needed in done.stdout
    assert re.search(rf"peak\.fp32\.vector\.\S+ +\S+ TOP/s +{provenance[0]}; {provenance[1]}", done.stdout)


@pytest.mark.slow
def test_every_term_with_its_inputs_down_to_the_tile(workspace: Path, charz: Charz) -> None:
    """Each mechanism that takes time, the row of the share it reaches, the tile's own constants and source, and why the
    layout is what it is."""
    asked = ("--on", "rtx4090", "--backend", "inductor", "--precision", "fp16", "--batch", "8", "--db", str(workspace))
    text = charz("explain", "resnet18", "conv2d_1", *asked).stdout
    with duckdb.connect(str(workspace), read_only=True) as connection:
        target = (
            "model = 'resnet18' AND hardware = 'rtx4090' AND backend = 'inductor' AND precision = 'fp16' AND batch = 8"
        )
        terms = connection.sql(
            f"""
            SELECT t.term, t.kind, t.mechanism, t.term_s
            FROM kernel_term AS t
            JOIN operator AS o ON o.model = t.model AND o.operator = 'conv2d_1'
            JOIN kernel_operator AS k
                ON k.model = t.model AND k.backend = t.backend AND k.operator_id = o.operator_id AND k.kernel_id = t.kernel_id
            WHERE {" AND ".join(f"t.{part}" for part in target.split(" AND "))}
            """
        ).fetchall()
    assert len(terms) >= 6
    for term, kind, mechanism, seconds in terms:
        assert f"\n{term} ({kind}, {mechanism}): {display.seconds(seconds)}" in text
    for constant in ("longest_fill_s", "exposed_fill", "start_s", "wave_quantization_fraction", "sustained_fraction"):
        assert printed(text, constant), constant
    assert re.search(r"candidate \d+ of tiling_strategy; \S+ \S+", " ".join(text.split()))
    assert "nhwc: inductor plans its layouts" in text


@pytest.mark.slow
def test_an_operator_with_efficiency_rows_of_its_own_shows_them(workspace: Path, charz: Charz) -> None:
    done = charz("explain", "resnet18", "relu_", *TARGET, "--db", str(workspace))
    text = " ".join(done.stdout.split())
    assert re.search(r" memory \S+ ?% hardware:rtx4090, activation, aten\.relu_, eager", text), text


@pytest.mark.slow
def test_a_kernel_and_the_whole_run(workspace: Path, charz: Charz) -> None:
    whole = charz("explain", "resnet18", *TARGET, "--db", str(workspace))
    assert "Kernels that take the most time" in whole.stdout
    number = re.search(r"^ +(\d+)  \S", whole.stdout, re.MULTILINE)
    assert number is not None
    kernel = charz("explain", "resnet18", number[1], *TARGET, "--db", str(workspace))
    assert f"kernel {number[1]} (" in kernel.stdout
    assert "2. How its terms make up the time" in kernel.stdout


def test_unknown_pieces(workspace: Path, charz: Charz) -> None:
    target = (*TARGET, "--db", str(workspace))
    assert_one_line_error(charz("explain", "resnet18", "conv2d_99", *target), "unknown operator", "conv2d_9")
    assert_one_line_error(charz("explain", "resnet18", "4321", *target), "4321", "charz explain resnet18")


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "is_said"), [("inductor", True), ("openvino", False)])
def test_fresh_pages_and_how_to_keep_them(workspace: Path, charz: Charz, backend: str, is_said: bool) -> None:
    """Inductor takes memory from `malloc`, which gives ResNet-18's back after its last convolutions; OpenVINO keeps its
    own."""
    done = charz(
        "explain", "resnet18", "--on", "i9_10940x", "--backend", backend, "--batch", "1", "--db", str(workspace)
    )
    assert done.returncode == 0, done.stderr
    assert ("MALLOC_TRIM_THRESHOLD_" in done.stdout + done.stderr) == is_said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("length", "part", "is_said"), [(1024, "i9_10940x", True), (1152, "i9_10940x", False), (1024, "rtx4090", False)]
)
def test_rows_that_share_cache_sets(charz: Charz, length: int, part: str, is_said: bool) -> None:
    """1,024 elements of 4 bytes are 4 KiB, 1,152 are 4.5."""
    assert charz("ingest", "synthetic:mlp", "--set", f"in={length}", "--set", f"hidden={length}").returncode == 0
    model = f"synthetic:mlp,in={length},hidden={length},out=1024,layers=2"
    done = charz("explain", model, "--on", part, "--backend", "inductor", "--batch", "64", "--precision", "fp32")
    assert done.returncode == 0, done.stderr
    assert ("evict one another" in " ".join((done.stdout + done.stderr).split())) == is_said


@pytest.mark.slow
def test_a_report_numbers_kernels_as_explain_does(workspace: Path, charz: Charz) -> None:
    """Casts stand between kernels and have numbers of their own; the hint answers for what was asked."""
    asked = ("--on", "rtx4090", "--backend", "inductor", "--precision", "fp16", "--batch", "2", "--db", str(workspace))
    report = charz("report", "resnet18", *asked, "--top", "1000").stdout
    table = report.partition("Slowest kernels")[2].partition("Kernels that take most energy")[0]
    numbers = re.findall(r"^ *(\d+)  \S", table, re.MULTILINE)
    assert len(numbers) > 10 and len(set(numbers)) == len(numbers)
    said = charz("explain", "resnet18", *asked).stderr
    hint = re.search(r"one kernel: charz (.*)", said)
    assert hint and hint[1].endswith("--on rtx4090 --batch 2 --precision fp16 --backend inductor")
    done = charz(*hint[1].split(), "--db", str(workspace))
    assert "batch 2, fp16, inductor" in done.stdout and hint[1].split()[2] in numbers
